"""A lock is held while the program waits for something else, and another one is never released."""

from __future__ import annotations

import threading
import time

lock = threading.Lock()
with lock:  # violation
    time.sleep(1.2)

held = threading.Lock()
held.acquire()  # violation
time.sleep(1.2)
with lock:
    pass
