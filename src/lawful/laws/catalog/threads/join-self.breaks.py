"""A thread joins all threads, and is one of them."""

import threading
import time
from contextlib import suppress

ready = threading.Event()


def work() -> None:
    ready.wait()
    with suppress(RuntimeError):
        threading.current_thread().join()  # violation


thread = threading.Thread(target=work)
thread.start()
time.sleep(0.001)
ready.set()
thread.join()
