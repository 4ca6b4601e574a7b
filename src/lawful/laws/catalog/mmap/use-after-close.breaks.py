"""A map is read after it was closed."""

import mmap
from contextlib import suppress

with mmap.mmap(-1, 10) as memory:
    memory.write(b"hello")
with suppress(ValueError):
    memory.seek(0)  # violation
memory = mmap.mmap(-1, 10)
memory.close()
with suppress(ValueError):
    memory.read(5)  # violation
