"""A table keyed by the identity of objects, which it does not keep alive."""

from __future__ import annotations

import weakref
from contextlib import suppress
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class WeakTable(Generic[T]):
    """Values for objects, until these are collected. Values for objects without weak references are not kept."""

    def __init__(self) -> None:
        self.entries: dict[int, tuple[weakref.ref[Any], T]] = {}  # by the ids of objects; the C core reads it

    def get(self, key: Any) -> T | None:
        found = self.entries.get(id(key))
        return found[1] if found is not None and found[0]() is key else None

    def put(self, key: Any, value: T) -> T:
        number, entries = id(key), self.entries
        with suppress(TypeError):  # there may be no weak references to it
            entries[number] = weakref.ref(key, lambda _: entries.pop(number, None) and None), value
        return value
