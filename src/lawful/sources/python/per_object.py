"""Something kept for each of some objects as long as they live."""

from __future__ import annotations

import contextlib
import weakref
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class _Entry(weakref.ref[Any]):
    """A reference that knows what is kept: one object for the collector to visit, where a callback each makes five."""

    __slots__ = ("number", "value")

    number: int
    value: Any


class PerObject(Generic[T]):
    """By identity: objects may be equal and not the same, or have a `__hash__` and an `__eq__` of their own."""

    def __init__(self) -> None:
        self._ties: dict[int, _Entry] = {}
        # Of objects that died. No function of ours runs then: a trace function of the program would see it.
        self._loose: list[_Entry] = []

    def __len__(self) -> int:
        self._let_go()
        return len(self._ties)

    def get(self, key: object) -> T | None:
        tie = self._ties.get(id(key))
        found: T | None = tie.value if tie is not None and tie() is key else None
        return found

    def put(self, key: object, value: T) -> None:
        self._let_go()
        tie = _Entry(key, self._loose.append)
        tie.number, tie.value = id(key), value
        self._ties[tie.number] = tie

    def _let_go(self) -> None:
        with contextlib.suppress(IndexError):  # another thread may do the same
            while self._loose:
                tie = self._loose.pop()
                if self._ties.get(tie.number) is tie:  # another object may have its id by now
                    self._ties.pop(tie.number, None)

    def clear(self) -> None:
        self._ties.clear()
