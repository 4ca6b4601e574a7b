"""A generator asks itself for the next value, and two threads ask one at once."""

import threading
from collections.abc import Iterator
from contextlib import suppress

inside, go = threading.Event(), threading.Event()


def numbers() -> Iterator[int]:
    with suppress(ValueError):
        next(itself)  # violation
    yield 1


def slow() -> Iterator[int]:
    inside.set()
    go.wait()
    yield 1


itself = numbers()
assert next(itself) == 1

shared = slow()
thread = threading.Thread(target=lambda: next(shared))
thread.start()
inside.wait()
with suppress(ValueError):
    next(shared)  # violation
go.set()
thread.join()
