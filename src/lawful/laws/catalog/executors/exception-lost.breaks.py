"""Work is submitted, fails, and nobody notices."""

import threading
from concurrent.futures import ThreadPoolExecutor

go = threading.Event()


def fail() -> None:
    go.wait()
    raise LookupError


with ThreadPoolExecutor(max_workers=1) as executor:
    executor.submit(fail)  # violation
    go.set()
