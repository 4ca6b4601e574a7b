"""A condition is notified and waited on without its lock."""

import threading
from contextlib import suppress

condition = threading.Condition()
with suppress(RuntimeError):
    condition.notify_all()  # violation
with suppress(RuntimeError):
    condition.wait(timeout=0.001)  # violation
