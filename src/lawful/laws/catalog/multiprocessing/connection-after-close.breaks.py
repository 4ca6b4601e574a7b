"""The ends of a pipe are used after they were closed."""

from contextlib import suppress
from multiprocessing import Pipe

left, right = Pipe()
with left:
    left.send(1)
with suppress(OSError):
    left.send(2)  # violation
right.close()
with suppress(OSError):
    right.recv()  # violation
