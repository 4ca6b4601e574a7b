"""Locks are acquired again when they were released, by other threads, without waiting; an RLock may be held twice."""

import threading

lock = threading.Lock()
with lock:
    pass
with lock:
    assert not lock.acquire(blocking=False)
    assert not lock.acquire(timeout=0.001)

again = threading.RLock()
with again, again:
    pass


def work() -> None:
    with lock:
        pass


threads = [threading.Thread(target=work) for _ in range(3)]
with lock:
    for thread in threads:
        thread.start()
for thread in threads:
    thread.join()
lock.acquire()
lock.release()
