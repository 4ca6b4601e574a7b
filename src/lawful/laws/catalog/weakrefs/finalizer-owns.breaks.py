"""A finalizer gets the object whose end it waits for."""

import weakref


class Handle:
    def close(self) -> None:
        closed.append(1)


closed: list[int] = []
handle = Handle()
weakref.finalize(handle, Handle.close, handle)  # violation
del handle
assert closed == []
