"""A thread that has ended is started again."""

import threading
from contextlib import suppress

ran: list[int] = []
thread = threading.Thread(target=ran.append, args=(1,))
thread.start()
thread.join()
with suppress(RuntimeError):
    thread.start()  # violation
assert ran == [1]
