"""A thread is made a daemon when it runs."""

import threading
from contextlib import suppress

go = threading.Event()
thread = threading.Thread(target=go.wait)
thread.start()
with suppress(RuntimeError):
    thread.daemon = True  # violation
go.set()
thread.join()
