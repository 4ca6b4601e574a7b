"""A barrier is passed, broken by a time-out, and reset when nobody waits."""

import threading
from contextlib import suppress

barrier = threading.Barrier(2)
helper = threading.Thread(target=barrier.wait)
helper.start()
barrier.wait()
helper.join()
with suppress(threading.BrokenBarrierError):
    barrier.wait(timeout=0.001)
assert barrier.broken
barrier.reset()
assert not barrier.broken
