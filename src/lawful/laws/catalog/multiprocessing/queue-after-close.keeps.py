"""A queue is closed when all is in, and joined."""

import multiprocessing

queue = multiprocessing.Queue()
queue.put(1)
assert queue.get() == 1
queue.close()
queue.join_thread()
queue.close()
other = multiprocessing.Queue()
other.put(1)
assert other.get(timeout=10) == 1
other.cancel_join_thread()
other.close()
