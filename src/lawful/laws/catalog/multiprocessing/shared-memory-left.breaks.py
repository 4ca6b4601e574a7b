"""A block is made and closed, and stays."""

from multiprocessing.shared_memory import SharedMemory


def work() -> str:
    memory = SharedMemory(create=True, size=10)  # violation
    memory.buf[0] = 7
    memory.close()
    return memory.name


name = work()
memory = SharedMemory(name=name)
memory.close()
memory.unlink()
