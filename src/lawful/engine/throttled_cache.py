"""Values that take long to make, and are shown again and again while a program runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Generic, TypeVar

from lawful.pristine_os import clock

T = TypeVar("T")

_SHARE = 400  # to make one takes this part of the time, at most


class Remade(Generic[T]):
    """One such value: made anew if it would be another one, but not so often that the program would notice."""

    def __init__(self, make: Callable[[], T], key: Callable[[], object]) -> None:
        """As long as `key` is the same, so is the value."""
        self._make = make
        self._key = key
        self._made: tuple[object, T] | None = None
        self._due = 0.0

    def get(self) -> T:
        key = self._key()
        if self._made is None or (key != self._made[0] and clock.monotonic() >= self._due):
            began = time.thread_time()  # on a machine that is busy with others, much more time passes
            self._made = key, self._make()
            self._due = clock.monotonic() + (time.thread_time() - began) * _SHARE
        return self._made[1]

    def forget(self) -> None:
        """Somebody has changed something: make it anew next time."""
        self._made = None
