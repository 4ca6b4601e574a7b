"""Semaphores are given back once each, also by another thread; a plain one may grow."""

import threading

bounded = threading.BoundedSemaphore(2)
for _ in range(3):
    with bounded, bounded:
        assert not bounded.acquire(blocking=False)
bounded.acquire()
helper = threading.Thread(target=bounded.release)
helper.start()
helper.join()

plain = threading.Semaphore(0)
plain.release()
plain.release()
with plain:
    pass
