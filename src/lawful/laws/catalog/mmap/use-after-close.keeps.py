"""Maps are used while they are open, and closed twice; the bytes that were read stay."""

import mmap

for _ in range(2):
    with mmap.mmap(-1, 10) as memory:
        memory.write(b"hello")
        memory.seek(0)
        text = memory.read(5)
    memory.close()
    assert memory.closed
    assert text == b"hello"
