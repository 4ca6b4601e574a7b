"""Which laws an event has to do with: found once for each kind and name that events have."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, TypeVar

from lawful.laws.protocol import Law, Watch

T = TypeVar("T", bound=Hashable)

_MOST_ROUTES = 100_000  # names may be without end


class Routes(dict[tuple[Any, Any], tuple[T, ...]]):
    """For a kind and a name those whose laws can match an event of this kind about something of this name, in order.

    What is not there yet is found when it is asked for. Kinds and names that are no words, and cannot be keys, are
    for `find`.
    """

    def __init__(self, laws: Iterable[tuple[T, Law]]) -> None:
        self._watches: dict[T, tuple[Watch, ...] | None] = {}
        self._by_name: dict[Any, list[T]] = {}
        self._order: dict[T, int] = {}
        self._of_any_name: list[T] = []
        for number, (each, law) in enumerate(laws):
            self._watches[each], self._order[each] = law.watches, number
            names = _names(law.watches)
            if names is None:
                self._of_any_name.append(each)
            else:
                for name in names:
                    self._by_name.setdefault(name, []).append(each)

    def __missing__(self, key: tuple[Any, Any]) -> tuple[T, ...]:
        if len(self) >= _MOST_ROUTES:
            self.clear()
        found = self[key] = self.find(*key)
        return found

    def find(self, kind: Any, name: Any) -> tuple[T, ...]:
        try:
            named = self._by_name.get(name, ())
        except TypeError:
            named = ()
        found = (each for each in (*self._of_any_name, *named) if _fits(self._watches[each], kind, name))
        return tuple(sorted(found, key=self._order.__getitem__))

    def drop(self, each: T) -> None:
        """One of them has nothing more to say."""
        self._watches[each] = ()
        self.clear()


def _names(watches: tuple[Watch, ...] | None) -> set[Any] | None:
    """The names of all that can be matched; None: any."""
    found: set[Any] = set()
    for watch in (Watch(()),) if watches is None else watches:
        names = dict(watch.keys).get("name")
        if names is None:
            return None
        found.update(names)
    return found


def _fits(watches: tuple[Watch, ...] | None, kind: Any, name: Any) -> bool:
    given = {"event": kind, "name": name}
    return watches is None or any(
        all(values is None or key not in given or given[key] in values for key, values in watch.keys)
        for watch in watches
    )
