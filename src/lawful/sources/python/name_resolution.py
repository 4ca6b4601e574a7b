"""What qualified names refer to while a program runs.

A name is looked up once, and the steps of the lookup are kept: it is looked up again when one of them changes.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Sequence
from types import CodeType, ModuleType
from typing import Any, NamedTuple

from lawful import core
from lawful.sources.python import names
from lawful.sources.python.names import MISSING


class Resolution(NamedTuple):
    """What a name refers to: the class or module that was searched last, and what was found there."""

    holder: type | ModuleType
    definer: type | None  # the class whose dictionary has it, if the holder is a class
    entry: object  # as it is in the dictionary: a function, a property, a class, ...

    @property
    def kind(self) -> type | None:
        """The class, if it is one."""
        return self.entry if names.is_class(self.entry) else None


# One step of a lookup: the modules, the dictionary of one, or a class; the key, where None is what the class inherits
# from; and what was there.
_Step = tuple[dict[str, Any] | type, str | None, object]


def resolve(name: str, main: str | None = None) -> Resolution | None:
    """What a qualified name refers to in the modules loaded so far. `main`: another name of the main module."""
    return resolve_with_steps(name, main, [])


def means_class(name: str, kind: type, main: str | None) -> bool:
    """Does the name refer to this class, perhaps through a module that also has it?"""
    if name in spellings(names.class_name(kind), main):
        return True
    place = resolve(name, main) if name else None
    return place is not None and place.entry is kind


def spellings(name: str, main: str | None) -> tuple[str, ...]:
    """What a law may call it: the main module has two names."""
    return (name, main + name[len("__main__") :]) if main and name.startswith("__main__.") else (name,)


def resolve_with_steps(name: str, main: str | None, steps: list[_Step]) -> Resolution | None:
    """The same as `resolve`; as long as all the `steps` it adds find the same, so does the lookup."""
    parts = name.split(".")
    for size in range(len(parts) - 1, 0, -1):
        prefix = ".".join(parts[:size])
        for module in (prefix, "__main__") if prefix == main else (prefix,):
            holder = sys.modules.get(module, MISSING)
            steps.append((sys.modules, module, holder))
            found = _inside(holder, parts[size:], steps)
            if found is not None:
                return found
    return _inside(builtins, parts, steps)


def _inside(module: object, parts: list[str], steps: list[_Step]) -> Resolution | None:
    holder: Any = module
    place: Resolution | None = None
    for part in parts:
        if issubclass(type(holder), ModuleType):
            namespace: dict[str, Any] = names.module_namespace(holder)
            entry = namespace.get(part, MISSING)
            steps.append((namespace, part, entry))
            place = None if entry is MISSING else Resolution(holder, None, entry)
        elif names.is_class(holder):
            place = _in_class(holder, part, steps)
        else:
            return None
        if place is None:
            return None
        holder = place.entry
    return place


def _in_class(kind: type, name: str, steps: list[_Step]) -> Resolution | None:
    # Nothing can be put into a class that was made in C, or taken out of it.
    classes = names.mro(kind)
    if not names.is_immutable(kind):
        steps.append((kind, None, classes))
    for each in classes:
        entry = names.class_dict(each).get(name, MISSING)
        if not names.is_immutable(each):
            steps.append((each, name, entry))
        if entry is not MISSING:
            return Resolution(kind, each, entry)
    return None


class ResolvedName:
    """A name, and what it refers to as of the last refresh."""

    resolution: Resolution | None = None
    codes: tuple[CodeType, ...] = ()  # of the Python functions that it refers to
    steps: Sequence[_KeptStep] = ()

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def kind(self) -> type | None:
        """The class that it refers to, if it is a class."""
        return None if self.resolution is None else self.resolution.kind


class _KeptStep(NamedTuple):
    """A step, and the names whose lookups have it. The C core knows the order of the first three."""

    holder: dict[str, Any] | type
    key: str | None
    found: object
    get: Callable[[Any, object], object]  # what it would find now
    names: set[ResolvedName]


class ResolvedNames:
    """Names, and what they refer to as of the last refresh."""

    def __init__(self, main: str | None) -> None:
        self._main = main
        self.names: dict[str, ResolvedName] = {}
        self._kept: dict[tuple[int, str | None, int], _KeptStep] = {}
        self.change_watch: Any = None  # finds the kept steps that have changed; the C core's where there is one
        self._stale: set[ResolvedName] = set()
        self.changes = 0  # how often a name referred to something else than before

    def add(self, name: ResolvedName) -> None:
        if name.name not in self.names:
            self.names[name.name] = name
            self._stale.add(name)

    def refresh(self) -> int:
        """See what the names refer to now; a number that is another when one of them refers to something else."""
        while (changed := self._changed_steps()) or self._stale:
            stale = self._stale.union(*(each.names for each in changed))
            self._stale = set()
            self.change_watch = None
            # In the order in which they were added, so that nothing depends on their hashes.
            for name in [each for each in self.names.values() if each in stale]:
                self._look_up(name)
        return self.changes

    def _changed_steps(self) -> list[_KeptStep]:
        """The steps that would find something else now."""
        if self.change_watch is None:
            watch = _ChangeWatch if core.native is None else core.native.ChangeWatch
            self.change_watch = watch([*self._kept.values()], MISSING)
        changed: list[_KeptStep] = self.change_watch.changed()
        return changed

    def _look_up(self, name: ResolvedName) -> None:
        for kept in name.steps:
            kept.names.discard(name)
            if not kept.names:
                self._kept.pop((id(kept.holder), kept.key, id(kept.found)), None)
        steps: list[_Step] = []
        found, before = resolve_with_steps(name.name, self._main, steps), name.resolution
        name.steps = [self._keep(step, name) for step in steps]
        name.resolution = found
        if (found and found.entry) is not (before and before.entry):
            self.changes += 1
            name.codes = () if found is None else names.python_codes(found.entry)

    def _keep(self, step: _Step, name: ResolvedName) -> _KeptStep:
        holder, key, found = step
        kept = self._kept.get((id(holder), key, id(found)))
        if kept is None:
            kept = self._kept[id(holder), key, id(found)] = _KeptStep(*step, _getter(holder, key), set())
        kept.names.add(name)
        return kept


class _ChangeWatch:
    """The twin of the C core's."""

    def __init__(self, steps: list[_KeptStep], missing: object) -> None:
        self._steps = steps
        self._missing = missing

    def changed(self) -> list[_KeptStep]:
        return [step for step in self._steps if step.get(step.key, self._missing) is not step.found]


def _getter(holder: dict[str, Any] | type, key: str | None) -> Callable[[Any, object], object]:
    if not isinstance(holder, type):
        return holder.get
    return names.class_dict(holder).get if key is not None else lambda *_: names.mro(holder)
