"""Something kept for each of some objects as long as they live."""

from __future__ import annotations

import weakref
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class _Tie(weakref.ref[Any]):
    """A reference that knows what is kept: one object for the collector to visit, where a callback each makes five."""

    __slots__ = ("number", "value")

    number: int
    value: Any


class Attached(Generic[T]):
    """By identity: objects may be equal and not the same, or have a `__hash__` and an `__eq__` of their own."""

    def __init__(self) -> None:
        ties = self._ties = dict[int, _Tie]()

        def forget(tie: _Tie) -> None:
            if ties.get(tie.number) is tie:  # another object may have its id by now
                del ties[tie.number]

        self._forget = forget

    def __len__(self) -> int:
        return len(self._ties)

    def get(self, key: object) -> T | None:
        tie = self._ties.get(id(key))
        found: T | None = tie.value if tie is not None and tie() is key else None
        return found

    def put(self, key: object, value: T) -> None:
        tie = _Tie(key, self._forget)
        tie.number, tie.value = id(key), value
        self._ties[tie.number] = tie

    def clear(self) -> None:
        self._ties.clear()
