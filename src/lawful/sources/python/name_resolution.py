"""What qualified names stand for while a program runs.

Each is looked up once, and what lay on the way is kept. Names are looked up again when something else lies there.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, ModuleType
from typing import Any, Final, NamedTuple

from lawful import core
from lawful.sources.python import names
from lawful.sources.python.names import MISSING

_NO_CODES: Final[tuple[CodeType, ...]] = ()


class Place(NamedTuple):
    """Where a name leads: the class or module that was asked last, and what was found there."""

    holder: type | ModuleType
    definer: type | None  # the class whose dictionary has it, if the holder is a class
    entry: object  # as it lies in the dictionary: a function, a property, a class, ...


class Check(NamedTuple):
    """What lay somewhere on the way from a name to what it stands for."""

    holder: dict[str, Any] | type  # the modules, the dictionary of one, or a class
    key: str | None  # None: what the class inherits from
    found: object


def resolve(name: str, main: str | None = None) -> Place | None:
    """What a qualified name stands for in the modules loaded so far. `main`: another name of the main module."""
    return follow(name, main, [])


def means_class(name: str, kind: type, main: str | None) -> bool:
    """Does the name stand for this class, perhaps by way of a module that shows it too?"""
    if name in spellings(names.class_name(kind), main):
        return True
    place = resolve(name, main) if name else None
    return place is not None and place.entry is kind


def spellings(name: str, main: str | None) -> tuple[str, ...]:
    """What a law may call it: the main module has two names."""
    return (name, main + name[len("__main__") :]) if main and name.startswith("__main__.") else (name,)


def follow(name: str, main: str | None, checks: list[Check]) -> Place | None:
    """The same as `resolve`; as long as all the `checks` added hold, it would find the same again."""
    parts = name.split(".")
    for size in range(len(parts) - 1, 0, -1):
        prefix = ".".join(parts[:size])
        for module in (prefix, "__main__") if prefix == main else (prefix,):
            holder = sys.modules.get(module, MISSING)
            checks.append(Check(sys.modules, module, holder))
            found = _inside(holder, parts[size:], checks)
            if found is not None:
                return found
    return _inside(builtins, parts, checks)


def _inside(module: object, parts: list[str], checks: list[Check]) -> Place | None:
    holder: Any = module
    place: Place | None = None
    for part in parts:
        if issubclass(type(holder), ModuleType):
            namespace: dict[str, Any] = names.module_namespace(holder)
            entry = namespace.get(part, MISSING)
            checks.append(Check(namespace, part, entry))
            place = None if entry is MISSING else Place(holder, None, entry)
        elif names.is_class(holder):
            place = _in_class(holder, part, checks)
        else:
            return None
        if place is None:
            return None
        holder = place.entry
    return place


def _in_class(kind: type, name: str, checks: list[Check]) -> Place | None:
    # Nothing can be put into a class that was made in C, or taken out of it.
    classes = names.mro(kind)
    if not names.is_immutable(kind):
        checks.append(Check(kind, None, classes))
    for each in classes:
        entry = names.class_dict(each).get(name, MISSING)
        if not names.is_immutable(each):
            checks.append(Check(each, name, entry))
        if entry is not MISSING:
            return Place(kind, each, entry)
    return None


class _Kept(NamedTuple):
    """A check, and the names on whose ways it lies. The C core knows the order of the first three."""

    holder: dict[str, Any] | type
    key: str | None
    found: object
    get: Callable[[Any, object], object]  # what lies there now
    names: set[str]


class ResolvedNames:
    """What the names that it was given stand for, as it was when it was last refreshed."""

    def __init__(self, main: str | None) -> None:
        self._main = main
        self._places: dict[str, Place | None] = {}
        self._codes: dict[str, tuple[CodeType, ...]] = {}
        self._ways: dict[str, list[_Kept]] = {}
        self._kept: dict[tuple[int, str | None, int], _Kept] = {}
        self._change_watch: Any = None  # looks after what was kept
        self._stale: list[str] = []
        self.changes = 0  # how often a name was found to stand for something else than before

    def add(self, name: str) -> None:
        if name not in self._places:
            self._places[name] = None
            self._stale.append(name)

    def place(self, name: str) -> Place | None:
        return self._places[name]

    def codes(self, name: str) -> tuple[CodeType, ...]:
        """Of the Python functions that the name stands for."""
        return self._codes.get(name, _NO_CODES)

    def places(self) -> Iterator[tuple[str, Place]]:
        """The names that stand for something."""
        return ((name, place) for name, place in self._places.items() if place is not None)

    def refresh(self) -> int:
        """See what the names stand for now; a number that is another when one of them stands for something else."""
        while (changed := self._look_after()) or self._stale:
            stale = {*self._stale}.union(*(each.names for each in changed))
            self._stale = []
            # In the order in which they were added, so that nothing depends on the hashes of names.
            self._look_up([name for name in self._places if name in stale])
        return self.changes

    @property
    def change_watch(self) -> Any:
        """What tells when this is to be asked again, if the C core does."""
        return self._change_watch

    def _look_after(self) -> list[_Kept]:
        """What was kept of places where something else lies now."""
        if self._change_watch is None:
            kept = [*self._kept.values()]
            native = core.native_tracer
            self._change_watch = _ChangeWatch(kept, MISSING) if native is None else native.ChangeWatch(kept, MISSING)
        changed: list[_Kept] = self._change_watch.changed()
        return changed

    def _look_up(self, stale: Iterable[str]) -> None:
        self._change_watch = None
        for name in stale:
            for kept in self._ways.get(name, ()):
                self._drop(kept, name)
            checks: list[Check] = []
            found, before = follow(name, self._main, checks), self._places[name]
            self._ways[name] = [self._keep(check, name) for check in checks]
            self._places[name] = found
            if (found and found.entry) is not (before and before.entry):
                self.changes += 1
                self._codes[name] = _NO_CODES if found is None else names.python_codes(found.entry)

    def _keep(self, check: Check, name: str) -> _Kept:
        key = id(check.holder), check.key, id(check.found)
        kept = self._kept.get(key)
        if kept is None:
            kept = self._kept[key] = _Kept(*check, _getter(check.holder, check.key), set())
        kept.names.add(name)
        return kept

    def _drop(self, kept: _Kept, name: str) -> None:
        kept.names.discard(name)
        if not kept.names:
            self._kept.pop((id(kept.holder), kept.key, id(kept.found)), None)


class _ChangeWatch:
    """The twin of the C core's."""

    def __init__(self, checks: list[_Kept], missing: object) -> None:
        self._checks = checks
        self._missing = missing

    def changed(self) -> list[_Kept]:
        return [check for check in self._checks if check.get(check.key, self._missing) is not check.found]


def _getter(holder: dict[str, Any] | type, key: str | None) -> Callable[[Any, object], object]:
    if not isinstance(holder, type):
        return holder.get
    return names.class_dict(holder).get if key is not None else lambda *_: names.mro(holder)
