"""Locks that are held as long as they must be."""

from __future__ import annotations

import threading

lock = threading.Lock()
with lock:
    total = 1
lock.acquire()
try:
    refused = lock.acquire(blocking=False)  # which is False: nothing was acquired
finally:
    lock.release()
assert not refused
