"""A condition is used with its lock held: one thread waits for another, a wait times out, a predicate raises."""

import threading
from contextlib import suppress

condition = threading.Condition()
ready: list[int] = []


def produce() -> None:
    with condition:
        ready.append(1)
        condition.notify_all()


def refuse() -> bool:
    raise RuntimeError("not now")


helper = threading.Thread(target=produce)
with condition:
    helper.start()
    condition.wait_for(lambda: ready)
    assert not condition.wait(timeout=0.001)
    with suppress(RuntimeError):
        condition.wait_for(refuse)
helper.join()

condition.acquire()
condition.notify()
condition.release()
