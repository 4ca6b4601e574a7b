"""A barrier is reset while a thread waits in it."""

import threading
import time
from contextlib import suppress

barrier = threading.Barrier(2)


def work() -> None:
    with suppress(threading.BrokenBarrierError):
        barrier.wait()


helper = threading.Thread(target=work)
helper.start()
while not barrier.n_waiting:
    time.sleep(0.001)
barrier.reset()  # violation
helper.join()
