"""A semaphore is released twice, and inside its own `with` block."""

import threading
from contextlib import suppress

semaphore = threading.BoundedSemaphore(1)
semaphore.acquire()
semaphore.release()
with suppress(ValueError):
    semaphore.release()  # violation
with suppress(ValueError), semaphore:  # violation
    semaphore.release()
