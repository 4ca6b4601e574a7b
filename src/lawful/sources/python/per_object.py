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
        self._entries: dict[int, _Entry] = {}
        # Of objects that died. No Python function must run then: a trace function of the program would see it.
        self._dead: list[_Entry] = []

    def __len__(self) -> int:
        self._drop_dead()
        return len(self._entries)

    def get(self, key: Any) -> T | None:
        entry = self._entries.get(id(key))
        found: T | None = entry.value if entry is not None and entry() is key else None
        return found

    def put(self, key: object, value: T) -> None:
        self._entries[id(key)] = self._entry(key, value)

    def setdefault(self, key: object, value: T) -> T:
        """The value that is kept: this one, unless another thread was quicker."""
        entry = self._entry(key, value)
        kept = self._entries.setdefault(entry.number, entry)
        if kept() is not key:  # an object that is gone had this id
            kept = self._entries[entry.number] = entry
        found: T = kept.value
        return found

    def items(self) -> list[tuple[Any, T]]:
        return [(key, entry.value) for entry in list(self._entries.values()) if (key := entry()) is not None]

    def _entry(self, key: object, value: T) -> _Entry:
        self._drop_dead()
        entry = _Entry(key, self._dead.append)
        entry.number, entry.value = id(key), value
        return entry

    def _drop_dead(self) -> None:
        with contextlib.suppress(IndexError):  # another thread may do the same
            while self._dead:
                entry = self._dead.pop()
                if self._entries.get(entry.number) is entry:  # another object may have its id by now
                    self._entries.pop(entry.number, None)

    def clear(self) -> None:
        self._entries.clear()
