"""A thread sets a handler for itself."""

import signal
import threading
from contextlib import suppress


def work() -> None:
    with suppress(ValueError):
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # violation


thread = threading.Thread(target=work)
thread.start()
thread.join()
