"""An item is reported as done twice."""

import queue
from contextlib import suppress

todo: queue.Queue[int] = queue.Queue()
todo.put(1)
todo.get()
todo.task_done()
with suppress(ValueError):
    todo.task_done()  # violation
