"""What laws name, and what they want to know of it."""

from __future__ import annotations

import functools
import operator
import sys
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from types import CodeType
from typing import Any, Final

from lawful.laws.protocol import Law
from lawful.sources.python import names
from lawful.sources.python.model import Sampling, Want
from lawful.sources.python.reads import fields_read

NOTHING: Final = Want(0)
FUNCTION: Final = Want.PRE | Want.POST | Want.RAISE | Want.YIELD
CALL: Final = Want.PRE | Want.POST | Want.RAISE
FIELD: Final = Want.READ | Want.WRITE
NOTES: Final = Want.ARGS | Want.RESULT | Want.SITE
BIRTH: Final = Want.BIRTH | Want.STACK
_UNBORN: Final = Want.PRE | Want.RAISE
"""What is told of a call before there is the object that it makes."""

_KINDS: Final = {
    "func_pre": Want.PRE,
    "func_post": Want.POST,
    "func_raise": Want.RAISE,
    "new": Want.NEW,
    "field_read": Want.READ,
    "field_write": Want.WRITE,
    "iter_next": Want.NEXT,
    "yield": Want.YIELD,
    "resume": Want.YIELD,
}
_GONE: Final = "gone"
_ANY_CLASS: Final = "*"
_ALL_READ: Final = ".*"
_DETAILS: Final = {
    "args": Want.ARGS,
    "argIds": Want.ARGS,
    "kwargs": Want.ARGS,
    "kwargIds": Want.ARGS,
    "res": Want.RESULT,
    "resultId": Want.RESULT,
}


def united(wants: Iterable[Want]) -> Want:
    return functools.reduce(operator.or_, wants, NOTHING)


def spellings(name: str, main: str | None) -> tuple[str, ...]:
    """What a law may call it: the main module has two names."""
    return (name, main + name[len("__main__") :]) if main and name.startswith("__main__.") else (name,)


def means_class(name: str, kind: type, main: str | None) -> bool:
    """Does the name stand for this class, perhaps by way of a module that shows it too?"""
    if name in spellings(names.class_name(kind), main):
        return True
    place = names.resolve(name, main) if name else None
    return place is not None and place.entry is kind


class Point:
    """A name that laws have, and what they want to know of it."""

    changes = 0  # how often a name was found to stand for something else than before

    def __init__(self, name: str, main: str | None) -> None:
        self.name = name
        self.wants = NOTHING
        self.sampled = True  # are those who want it content with samples?
        self.prefix, _, self.last = name.rpartition(".")
        self.in_stdlib = name.partition(".")[0] in sys.stdlib_module_names
        self.in_function = "<locals>" in name  # no way leads there from the module
        self.of_any_class = self.prefix == _ANY_CLASS  # it stands for what an object's own class has of that name
        self._main = main
        self.root = name.partition(".")[0]
        self._place: names.Place | None = None
        self._nothing_at = -1  # with how many modules of its package it stood for nothing
        self._checks: list[tuple[Mapping[str, Any], object]] = []
        self._codes: tuple[CodeType, ...] = ()

    def place(self) -> names.Place | None:
        """What the name stands for now."""
        found = names.resolve(self.name, self._main)
        if found is None:
            self._codes = ()
        elif self._place is None or found.entry is not self._place.entry:
            self._codes = names.python_codes(found.entry)
        if (found and found.entry) is not (self._place and self._place.entry):
            Point.changes += 1
        self._checks = []
        if found is not None:
            definer = found.holder if found.definer is None else found.definer
            # Nothing can be put into a class that was made in C, or taken out of it.
            if not names.is_immutable(definer):
                self._checks.append((names.namespace(definer), found.entry))
            if definer is not found.holder and not names.is_immutable(found.holder):
                self._checks.append((names.namespace(found.holder), names.MISSING))
        self._place = found
        return found

    def loaded(self) -> bool:
        """Is there a module that it could be in?"""
        return self.root in sys.modules or self.root == self._main or names.is_builtin(self.root)

    def look_again(self, modules: int) -> None:
        """See whether a name stands for something by now, with so many modules of its package.

        In the standard library that takes another one.
        """
        if self._nothing_at != modules and self.place() is None and self.in_stdlib and not self._loading():
            self._nothing_at = modules

    def _loading(self) -> bool:
        """Is a module that it is in not complete yet?"""
        parts = self.name.split(".")
        modules = (sys.modules.get(".".join(parts[:end])) for end in range(1, len(parts)))
        specs = (getattr(module, "__spec__", None) for module in modules)
        return any(getattr(spec, "_initializing", False) for spec in specs)

    def settled(self) -> names.Place | None:
        """The same, much faster, but blind to a module that was loaded again."""
        if self._place is None:
            return self.place() if self.loaded() else None
        for namespace, entry in self._checks:
            if namespace.get(self.last, names.MISSING) is not entry:
                return self.place()
        return self._place

    def codes(self) -> tuple[CodeType, ...]:
        """Of the Python functions that the name stands for."""
        self.settled()
        return self._codes

    @property
    def is_known(self) -> bool:
        return self._place is not None

    def checks(self) -> Iterator[tuple[Mapping[str, Any], str, object]]:
        """Where to look whether it stands for the same as when it was last asked."""
        return ((namespace, self.last, entry) for namespace, entry in self._checks)

    @property
    def known_codes(self) -> tuple[CodeType, ...]:
        """The same, when it was last asked."""
        return self._codes

    def has(self, code: CodeType) -> bool:
        for each in self.codes():  # codes that are equal are not the same
            if each is code:
                return True
        return False

    @property
    def only_new(self) -> bool:
        return bool(self.wants & (Want.NEW | Want.BIRTH)) and not self.wants & CALL

    def maker(self) -> CodeType | None:
        """The `__init__` that can tell of new objects of a class, if laws want to know nothing else of it."""
        place = self.settled() if self.only_new else None
        return names.init_code(place.entry) if place is not None and names.is_class(place.entry) else None

    @property
    def is_reader(self) -> bool:
        """Does it stand for the fields that a method reads, as `*.__hash__.*`?"""
        return self.name.endswith(_ALL_READ) and bool(self.wants & FIELD)

    def reads(self, owner: type, field: str) -> bool:
        """Is it one of these fields, of an object of this class?"""
        holder, _, method = self.prefix.rpartition(".")
        if holder != _ANY_CLASS and not any(means_class(holder, each, self._main) for each in names.mro(owner)):
            return False
        return field in fields_read(owner, method)

    def is_in(self, kind: type) -> bool:
        """Does the name without its last part stand for this class?"""
        return self.of_any_class or means_class(self.prefix, kind, self._main)


def _of_objects(point: Point) -> bool:
    """Does what the name stands for always belong to an object, as fields and plain methods do?"""
    place = point.settled()
    methods = () if place is None else tuple(names.methods(place.entry))
    return all(method.receiver and not method.by_class for method in methods)


class Points:
    """All that some laws name. `main`: the name they may use for the main module, beside `__main__`."""

    def __init__(self, laws: Iterable[Law], main: str | None, more: Want, sampling: Sampling | None = None) -> None:
        self.main = main
        self._sampling = sampling
        self.by_name: dict[str, Point] = {}
        self.by_last: dict[str, list[Point]] = {}
        self.class_names: set[str] = set()
        self.any_next = NOTHING  # of `iter_next` with any name
        self.gone = False
        self.unnamed: list[Law] = []
        others = False  # is there a law about any event that is not content with samples?
        for law in laws:
            sampled = sampling is not None and (sampling.laws is None or any(law is each for each in sampling.laws))
            if self._add(law, (more & NOTES) | Want.SITE, sampled):
                self.unnamed.append(law)
                others = others or not sampled
        self.makers: dict[str, int] = {}
        self.classes: dict[str, int] = {}
        self._known_groups: dict[int, tuple[weakref.ref[type], int]] = {}  # by the id of a class
        self._named: dict[str, Point] = {}  # what is asked for by `_kind`
        self._allied: set[tuple[int, int]] = set()  # groups that an object could be of: it is of the first
        if sampling is not None and not others:
            self._add_births(sampling)
        self.groups = frozenset((*self.classes.values(), *self.makers.values()))
        for point in self.by_name.values():
            self.by_last.setdefault(point.last, []).append(point)
            self.class_names.update((point.prefix, point.name))
        self.functions = [point for point in self.by_name.values() if point.wants & FUNCTION]
        self.readers = [point for point in self.by_name.values() if point.is_reader]
        self.called = [point for point in self.by_name.values() if point.wants & (CALL | Want.NEW | Want.BIRTH)]
        self._checks: list[tuple[Mapping[str, Any], str, object]] = []
        self._unknown: dict[str, list[Point]] = {}  # names that stand for nothing yet, by module
        for point in self.by_name.values():
            self._unknown.setdefault(point.root, []).append(point)
        self._modules = -1
        self._packages: Counter[str] = Counter()  # how many modules each has
        self._settled_at = -1
        self._known_changes = -1
        self._by_code: dict[int, list[Point]] = {}

    def settle(self) -> int:
        """See what the names stand for now; a number that is another when one of them stands for something else."""
        missing = names.MISSING
        for namespace, name, entry in self._checks:
            if namespace.get(name, missing) is not entry:
                for point in self.by_name.values():
                    point.settled()
                break
        modules = len(sys.modules)
        if modules != self._modules:
            self._modules = modules
            self._packages = Counter([name.partition(".")[0] for name in list(sys.modules) if type(name) is str])
        for root, points in self._unknown.items():
            # Of most modules that laws are about a program has not heard.
            if points[0].loaded():
                for point in points:
                    point.look_again(self._packages[root])
        if Point.changes != self._settled_at:
            self._settled_at = Point.changes
            self._checks = [check for point in self.by_name.values() for check in point.checks()]
            self._unknown = {}
            for point in self.by_name.values():
                if not point.is_known:
                    self._unknown.setdefault(point.root, []).append(point)
        return Point.changes

    @property
    def settled_at(self) -> int:
        """What `settle` has last said."""
        return self._settled_at

    def functions_of(self, code: CodeType) -> list[Point]:
        """Names of functions that this may be the code of: it has the name, or was put there under another."""
        changes = self.settle()
        if changes != self._known_changes:
            self._by_code = {}
            for point in self.by_name.values():
                for each in point.known_codes:
                    self._by_code.setdefault(id(each), []).append(point)
            self._known_changes = changes
        named = [point for point in self.by_last.get(code.co_name, ()) if point.wants & FUNCTION]
        if all(point in named for point in self._by_code.get(id(code), ())):
            return named
        found = {*named, *self._by_code[id(code)]}
        return [point for point in self.functions if point in found]

    def stand_for(self, code: CodeType) -> bool:
        """Was this code among what names stood for, when it was last asked?"""
        return id(code) in self._by_code

    def _add_births(self, sampling: Sampling) -> None:
        """Which groups can the tracer sample? Not those whose beginnings others want to see, too."""
        named = {**sampling.classes, **sampling.makers}
        out = set()
        for name, group in named.items():
            beginnings = [self.by_name.get(each) for each in (name, f"{name}.__init__", f"{name}.__new__")]
            others = any(point is not None and not point.sampled for point in beginnings)
            made = beginnings[0]
            if others or (made is not None and made.wants & _UNBORN):
                out.add(group)
        self.classes = {name: group for name, group in sampling.classes.items() if group not in out}
        self.makers = {name: group for name, group in sampling.makers.items() if group not in out}
        wants = Want.BIRTH | Want.SITE | (Want.STACK if sampling.stacks else NOTHING)
        for name in (*self.classes, *self.makers):
            self.by_name.setdefault(name, Point(name, self.main)).wants |= wants

    def group_of(self, kind: type) -> int:
        """The group of a class's objects: that of the first class it inherits from that is sampled; 0: none."""
        key = id(kind)
        known = self._known_groups.get(key)
        if known is not None and known[0]() is kind:
            return known[1]
        found = [
            group
            for each in (names.mro(kind) if self.classes else ())
            for name, group in self.classes.items()
            if means_class(name, each, self.main)
        ]
        if not found:
            return 0
        self._known_groups[key] = weakref.ref(kind, lambda _: self._known_groups.pop(key, None) and None), found[0]
        self._allied.update((other, found[0]) for other in found[1:])
        return found[0]

    def groups_of(self, points: Iterable[Point]) -> frozenset[int] | None:
        """The groups of all objects that these names may be about; None: it may be something else, too.

        Where it cannot be known yet, more are given than there will be.
        """
        found: set[int] = set()
        for point in points:
            groups = self._groups_of_point(point)
            if groups is None:
                return None
            found |= groups
        return frozenset(found)

    def _groups_of_point(self, point: Point) -> set[int] | None:
        if not point.sampled:
            return None
        if point.name in self.makers:
            return {self.makers[point.name]}
        kind = self._kind(point.name)
        if kind is None and point.name not in self.classes:  # it is about something in a class
            kind = self._kind(point.prefix)
            if not _of_objects(point) or (kind is None and point.prefix not in self.classes):
                return None
        if kind is None:
            return set(self.groups)
        group = self.group_of(kind)
        if not group:
            return None
        found = {group, *(to for of, to in self._allied if of == group)}
        for name, other in self.classes.items():
            if other not in found:
                named = self._kind(name)
                if named is None or names.inherits(named, kind):
                    found.add(other)
        return found

    def _kind(self, name: str) -> type | None:
        """The class of this name."""
        if not name:
            return None
        point = self._named.get(name)
        if point is None:
            point = self._named[name] = Point(name, self.main)
        place = point.settled()
        return place.entry if place is not None and names.is_class(place.entry) else None

    def unknown_groups(self) -> Iterator[int]:
        """Groups of classes that are not there yet."""
        for name, group in self.classes.items():
            if self._kind(name) is None:
                yield group

    def _add(self, law: Law, details: Want, sampled: bool) -> bool:
        """Is the law about events of any name?"""
        unnamed = law.watches is None
        for watch in law.watches or ():
            keys = dict(watch.keys)
            if not keys:
                continue  # besides what it names, it lets other events pass
            kinds: Iterable[object] = (*_KINDS, _GONE) if keys.get("event") is None else keys["event"] or ()
            wants = united(each for kind, each in _KINDS.items() if kind in kinds)
            notes = united(each for key, each in _DETAILS.items() if key in keys) | details
            self.gone = self.gone or _GONE in kinds
            self.class_names.update(each for each in keys.get("class") or () if isinstance(each, str))
            found = keys.get("name")
            for name in found or ():
                if isinstance(name, str) and name:
                    point = self.by_name.setdefault(name, Point(name, self.main))
                    point.wants |= wants | notes
                    point.sampled = point.sampled and sampled
            if found is None and wants == Want.NEXT:
                self.any_next |= wants | notes
            elif found is None and wants:
                unnamed = True
        return unnamed

    def of_method(self, receiver: type, definer: type, name: str) -> Point | None:
        """The law's name for a method, by the first class on the way from the receiver's to that which defines it."""
        points = self.by_last.get(name)
        if points is None:
            return None
        if not names.inherits(receiver, definer):
            receiver = definer
        for each in names.mro(receiver):
            found = names.lookup(each, name)
            # If a class overrides a method and calls the inherited one, then by the inherited name.
            if found is not None and found[0] is definer:
                for point in points:
                    if point.is_in(each) and (each is receiver or not point.of_any_class):
                        return point
            if each is definer:
                break
        return None

    def of_class(self, kind: type) -> Point | None:
        """The law's name for a class that is called: its own or that of a base class."""
        if not self.called:
            return None
        places = [(place.entry, point) for point in self.called if (place := point.settled()) is not None]
        for each in names.mro(kind):
            for spelling in spellings(names.class_name(each), self.main):
                point = self.by_name.get(spelling)
                if point is not None and point.wants & (CALL | Want.NEW | Want.BIRTH):
                    return point
            for entry, point in places:
                if entry is each:
                    return point
        return None

    def of_builtin(self, function: Any, name: str) -> Point | None:
        """The law's name for a function of a C module; `name` is its own."""
        point = self.by_name.get(name)
        if point is None:
            nearby = self.by_last.get(function.__name__, ())
            point = next((each for each in nearby if (at := each.place()) and at.entry is function), None)
        return point

    def of_field(self, owner: type, name: str) -> Point | None:
        """The law's name for an attribute, by the first class that a law names."""
        points = [point for point in self.by_last.get(name, ()) if point.wants & FIELD]
        for each in names.mro(owner) if points else ():
            for point in points:
                if point.is_in(each):
                    return point
        return None

    def of_read_field(self, owner: type, name: str) -> Point | None:
        """The law's name for an attribute that a method reads."""
        return next((point for point in self.readers if point.reads(owner, name)), None)

    def class_name(self, kind: type) -> str:
        """The name of a class as laws have it, or its own."""
        name = names.class_name(kind)
        for spelling in spellings(name, self.main):
            if spelling in self.class_names:
                return spelling
        last = name.rpartition(".")[2]
        for each in self.class_names:
            if each.rpartition(".")[2] == last and means_class(each, kind, self.main):
                return each
        return name
