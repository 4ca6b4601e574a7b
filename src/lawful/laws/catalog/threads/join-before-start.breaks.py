"""A thread is joined that nobody started."""

import threading
from contextlib import suppress

ran: list[int] = []
thread = threading.Thread(target=ran.append, args=(1,))
with suppress(RuntimeError):
    thread.join()  # violation
thread.start()
thread.join()
assert ran == [1]
