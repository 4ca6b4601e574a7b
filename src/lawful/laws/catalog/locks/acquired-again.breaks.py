"""A thread acquires a lock twice, and is saved by another thread."""

import threading

lock = threading.Lock()
lock.acquire()
helper = threading.Timer(0.02, lock.release)
helper.start()
lock.acquire()  # violation
lock.release()
helper.join()
