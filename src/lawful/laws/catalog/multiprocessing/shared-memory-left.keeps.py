"""Blocks are unlinked by who has made them; who only opens one does not."""

from multiprocessing.shared_memory import SharedMemory

memory = SharedMemory(create=True, size=10)
other = SharedMemory(name=memory.name)
other.close()
del other
memory.close()
memory.unlink()
del memory
