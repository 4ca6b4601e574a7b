"""A listener is kept by a weak reference to its method."""

import weakref


class Door:
    def open(self) -> str:
        return "open"


door = Door()
reference = weakref.ref(door.open)  # violation
assert reference() is None
