"""Locks are released that are not held: twice, inside their own `with` block, by the wrong thread."""

import threading
from contextlib import suppress

lock = threading.Lock()
lock.acquire()
lock.release()
with suppress(RuntimeError):
    lock.release()  # violation

with suppress(RuntimeError), lock:  # violation
    lock.release()


def meddle() -> None:
    with suppress(RuntimeError):
        again.release()  # violation


again = threading.RLock()
with again:
    helper = threading.Thread(target=meddle)
    helper.start()
    helper.join()
