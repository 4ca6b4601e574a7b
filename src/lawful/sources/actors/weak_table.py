"""A table keyed by the identity of objects, which it does not keep alive."""

from __future__ import annotations

import weakref
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class WeakTable(Generic[T]):
    """Values for objects, until these are collected. Values for objects without weak references are not kept."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[Any], T]] = {}

    @property
    def entries(self) -> dict[int, tuple[weakref.ref[Any], T]]:
        """By the ids of objects, for the C core."""
        return self._known

    def get(self, key: Any) -> T | None:
        found = self._known.get(id(key))
        return found[1] if found is not None and found[0]() is key else None

    def put(self, key: Any, value: T) -> T:
        number = id(key)
        known = self._known
        try:
            known[number] = weakref.ref(key, lambda _: known.pop(number, None) and None), value
        except TypeError:  # there are no weak references to it
            return value
        return value

    def pop(self, key: Any) -> T | None:
        found = self.get(key)
        self._known.pop(id(key), None)
        return found
