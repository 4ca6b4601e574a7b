"""Locks are released by who holds them: also one that is used as a signal, a failed attempt, and a Condition's lock."""

import threading
from contextlib import suppress

lock = threading.Lock()
with lock:
    assert not lock.acquire(blocking=False)
lock.acquire()
lock.release()

with suppress(LookupError), lock:
    raise LookupError
assert not lock.locked()

again = threading.RLock()
with again, again:
    again.acquire()
    again.release()

# A plain lock may be released by another thread than the one that acquired it.
signal = threading.Lock()
signal.acquire()
helper = threading.Thread(target=signal.release)
helper.start()
signal.acquire()
helper.join()
signal.release()

condition = threading.Condition(lock)
lock.acquire()
condition.wait(timeout=0.001)
condition.notify_all()
lock.release()
with condition:
    lock.release()
    lock.acquire()
