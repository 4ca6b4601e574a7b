"""Shared memory is used, closed and unlinked; another object for it stays open."""

from multiprocessing.shared_memory import SharedMemory

memory = SharedMemory(create=True, size=10)
other = SharedMemory(name=memory.name)
memory.buf[0] = 7
memory.close()
memory.close()
assert other.buf[0] == 7
assert memory.size >= 10
other.close()
memory.unlink()
