"""Methods are referred to by WeakMethod; objects and functions by plain weak references, which die with them."""

import weakref


class Door:
    def open(self) -> str:
        return "open"


def knock() -> str:
    return "knock"


door = Door()
method = weakref.WeakMethod(door.open)
reference = weakref.ref(door)
function = weakref.ref(knock)
bound = method()
assert bound is not None
assert bound() == "open"
kept = door.open
weak = weakref.ref(kept)
again = weak()
assert again is not None
assert again() == "open"
del kept, again, bound, door
assert reference() is None
assert method() is None
assert function() is knock
