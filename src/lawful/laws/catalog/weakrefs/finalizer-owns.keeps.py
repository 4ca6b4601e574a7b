"""Finalizers get what they need and not the object."""

import weakref


class Handle:
    def __init__(self, number: int) -> None:
        self.number = number


closed: list[int] = []
handle = Handle(1)
finalizer = weakref.finalize(handle, closed.append, handle.number)
other = Handle(2)
weakref.finalize(handle, print, other, other)
del handle
assert closed == [1]
assert not finalizer.alive
