"""Something is put into a queue after it was closed."""

import multiprocessing
from contextlib import suppress

queue = multiprocessing.Queue()
queue.put(1)
assert queue.get() == 1
queue.close()
with suppress(ValueError):
    queue.put(2)  # violation
queue.join_thread()
