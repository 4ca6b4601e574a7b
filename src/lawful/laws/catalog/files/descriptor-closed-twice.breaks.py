"""A descriptor is closed twice."""

import os
from contextlib import suppress

reader, writer = os.pipe()
os.close(writer)
os.close(reader)
with suppress(OSError):
    os.close(reader)  # violation
