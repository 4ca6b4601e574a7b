"""The buffer of shared memory is asked for too late."""

from contextlib import suppress
from multiprocessing.shared_memory import SharedMemory

memory = SharedMemory(create=True, size=10)
memory.buf[0] = 7
memory.close()
with suppress(TypeError):
    print(memory.buf[0])  # violation
memory.unlink()
