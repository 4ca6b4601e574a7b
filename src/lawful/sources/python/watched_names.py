"""The names in laws, and the events that laws want of each."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable
from types import CodeType
from typing import Any, Final

from lawful.laws.protocol import Law
from lawful.sources.python import names
from lawful.sources.python.field_reads import fields_read
from lawful.sources.python.name_resolution import ResolvedName, ResolvedNames, spellings
from lawful.sources.python.per_object import PerObject
from lawful.sources.python.tracer_protocol import Sampling, Want

NOTHING: Final = Want(0)
FUNCTION: Final = Want.PRE | Want.POST | Want.RAISE | Want.YIELD
CALL: Final = Want.PRE | Want.POST | Want.RAISE
FIELD: Final = Want.READ | Want.WRITE
NOTES: Final = Want.ARGS | Want.RESULT | Want.SITE
_CREATED: Final = Want.NEW | Want.BIRTH
_BEFORE_OBJECT: Final = Want.PRE | Want.RAISE  # events of a call before its object exists

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


def union(wants: Iterable[Want]) -> Want:
    return Want(functools.reduce(int.__or__, wants, 0))


def overlap(wants: Want, others: Want) -> bool:
    """Have they something in common? An operator of `IntFlag` takes twenty times as long."""
    return int.__and__(wants, others) != 0


class WatchedName(ResolvedName):
    """A name that laws use, and the events they want of it."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.wants = NOTHING
        self.sampled = True  # are samples enough for all laws that want it?
        self.prefix, _, self.last = name.rpartition(".")
        self.in_stdlib = name.partition(".")[0] in sys.stdlib_module_names
        self.in_function = "<locals>" in name  # it cannot be looked up from the module
        self.of_any_class = self.prefix == _ANY_CLASS  # it refers to what an object's own class has of that name

    def has(self, code: CodeType) -> bool:
        return any(each is code for each in self.codes)  # codes that are equal are not the same

    @property
    def only_new(self) -> bool:
        return overlap(self.wants, _CREATED) and not overlap(self.wants, CALL)

    @property
    def is_of_object(self) -> bool:
        """Does what the name refers to always belong to an object, as fields and plain methods do?"""
        methods = () if self.resolution is None else names.methods(self.resolution.entry)
        return all(method.receiver and not method.by_class for method in methods)

    @property
    def is_reader(self) -> bool:
        """Does it refer to the fields that a method reads, as `*.__hash__.*`?"""
        return self.name.endswith(_ALL_READ) and overlap(self.wants, FIELD)

    @property
    def reader(self) -> tuple[str, str]:
        """The class whose method reads them, and the method."""
        holder, _, method = self.prefix.rpartition(".")
        return holder, method


class WatchedNames:
    """All names in some laws. `main`: the name they may use for the main module, beside `__main__`."""

    def __init__(self, laws: Iterable[Law], main: str | None, sampling: Sampling | None = None) -> None:
        self.main = main
        self._resolved = ResolvedNames(main)
        stacks = sampling is not None and sampling.stacks
        self.births = Want.BIRTH | (Want.STACK if stacks else NOTHING)  # what samples need where they are made
        self.by_name: dict[str, WatchedName] = {}
        self.by_last: dict[str, list[WatchedName]] = {}
        self.class_names: set[str] = set()
        self.any_next = NOTHING  # of `iter_next` with any name
        self.gone = False
        self.unnamed: list[Law] = []
        others = False  # is there a law about any event for which samples are not enough?
        for law in laws:
            sampled = sampling is not None and (sampling.laws is None or any(law is each for each in sampling.laws))
            if self._add(law, sampled):
                self.unnamed.append(law)
                others = others or not sampled
        self.makers: dict[str, int] = {}
        self.classes: dict[str, int] = {}
        self._known_groups: PerObject[int] = PerObject()  # of classes
        self._allied: set[tuple[int, int]] = set()  # groups that an object could be of: it is of the first
        if sampling is not None and not others:
            self._add_births(sampling)
        self.groups = frozenset((*self.classes.values(), *self.makers.values()))
        for watched in self.by_name.values():
            self.by_last.setdefault(watched.last, []).append(watched)
            self.class_names.update((watched.prefix, watched.name))
        self.wants = union(watched.wants for watched in self.by_name.values())  # all together
        self.functions = [watched for watched in self.by_name.values() if overlap(watched.wants, FUNCTION)]
        self._function_names: dict[str, list[WatchedName]] = {}
        for watched in self.functions:
            self._function_names.setdefault(watched.last, []).append(watched)
        self.readers = [watched for watched in self.by_name.values() if watched.is_reader]
        self.called = [watched for watched in self.by_name.values() if overlap(watched.wants, CALL | _CREATED)]
        for name in (*self.class_names, *self.classes, *(watched.reader[0] for watched in self.readers)):
            if name:
                self._resolved.add(ResolvedName(name))
        self.version = -1  # another number when a name refers to something else
        self._by_code: dict[int, list[WatchedName]] = {}
        self._by_class: dict[int, set[str]] = {}  # the names that a class has besides its own
        self._called_class: dict[int, WatchedName] = {}

    def refresh(self) -> None:
        """See what the names refer to now. All other answers are as of then. Sets `version`."""
        changes = self._resolved.refresh()
        if changes != self.version:
            self.version = changes
            self._by_code = {}
            for watched in self.by_name.values():
                for code in watched.codes:
                    self._by_code.setdefault(id(code), []).append(watched)
            self._by_class = {}
            for each in self._resolved.names.values():
                if each.kind is not None:
                    self._by_class.setdefault(id(each.kind), set()).add(each.name)
            self._called_class = {}
            for watched in self.called:
                if watched.kind is not None:
                    self._called_class.setdefault(id(watched.kind), watched)

    def means(self, name: str, kind: type) -> bool:
        """Does a name that laws have refer to this class, perhaps through a module that also has it?"""
        return name in self._by_class.get(id(kind), ()) or name in spellings(names.class_name(kind), self.main)

    def functions_of(self, code: CodeType) -> list[WatchedName]:
        """Names of functions that this may be the code of: it has the name, or was put there under another."""
        named = self._function_names.get(code.co_name, [])
        if all(watched in named for watched in self._by_code.get(id(code), ())):
            return named
        found = {*named, *self._by_code[id(code)]}
        return [watched for watched in self.functions if watched in found]

    def called_by(self, code: CodeType) -> WatchedName | None:
        """The first name of a called thing that refers to this code."""
        resolved = self._by_code.get(id(code), ())
        return next((watched for watched in self.called if watched in resolved), None) if resolved else None

    def is_named(self, code: CodeType) -> bool:
        """Does a name refer to this code?"""
        return id(code) in self._by_code

    def _add_births(self, sampling: Sampling) -> None:
        """Which groups can the tracer sample? Not those whose beginnings others want to see, too."""
        out = set()
        for name, group in (*sampling.classes.items(), *sampling.makers.items()):
            made = self.by_name.get(name)
            beginnings = (made, self.by_name.get(f"{name}.__init__"), self.by_name.get(f"{name}.__new__"))
            others = any(watched is not None and not watched.sampled for watched in beginnings)
            if others or (made is not None and made.wants & _BEFORE_OBJECT):
                out.add(group)
        self.classes = {name: group for name, group in sampling.classes.items() if group not in out}
        self.makers = {name: group for name, group in sampling.makers.items() if group not in out}
        for name in (*self.classes, *self.makers):
            self._named(name).wants |= self.births | Want.SITE

    def group_of(self, kind: type) -> int:
        """The group of a class's objects: that of the first class it inherits from that is sampled; 0: none."""
        known = self._known_groups.get(kind)
        if known is not None:
            return known
        found = [
            group
            for each in (names.mro(kind) if self.classes else ())
            for name, group in self.classes.items()
            if self.means(name, each)
        ]
        if not found:
            return 0
        self._known_groups.put(kind, found[0])
        self._allied.update((other, found[0]) for other in found[1:])
        return found[0]

    def groups_of(self, several: Iterable[WatchedName]) -> frozenset[int] | None:
        """The groups of all objects that these names may be about, perhaps more; None: other objects, too."""
        found = [self._groups_of_one(watched) for watched in several]
        known = [groups for groups in found if groups is not None]
        return frozenset().union(*known) if len(known) == len(found) else None

    def _groups_of_one(self, watched: WatchedName) -> set[int] | None:
        if not watched.sampled:
            return None
        if watched.name in self.makers:
            return {self.makers[watched.name]}
        kind = self._kind(watched.name)
        if kind is None and watched.name not in self.classes:  # it is about something in a class
            kind = self._kind(watched.prefix)
            if not watched.is_of_object or (kind is None and watched.prefix not in self.classes):
                return None
        if kind is None:
            return set(self.groups)
        group = self.group_of(kind)
        if not group:
            return None
        inherits = (
            other
            for name, other in self.classes.items()
            if (named := self._kind(name)) is None or names.inherits(named, kind)
        )
        return {group, *(to for of, to in self._allied if of == group), *inherits}

    def _kind(self, name: str) -> type | None:
        """The class of this name."""
        return self._resolved.names[name].kind if name else None

    def unknown_groups(self) -> set[int]:
        """Groups of classes that are not there yet."""
        return {group for name, group in self.classes.items() if self._kind(name) is None}

    def _add(self, law: Law, sampled: bool) -> bool:
        """Is the law about events of any name?"""
        unnamed = law.watches is None
        for watch in law.watches or ():
            keys = dict(watch.keys)
            if not keys:
                continue  # besides what it names, it lets other events pass
            kinds: Iterable[object] = (*_KINDS, _GONE) if keys.get("event") is None else keys["event"] or ()
            wants = union(each for kind, each in _KINDS.items() if kind in kinds)
            notes = union(each for key, each in _DETAILS.items() if key in keys) | Want.SITE
            self.gone = self.gone or _GONE in kinds
            self.class_names.update(each for each in keys.get("class") or () if isinstance(each, str))
            every = wants | notes
            found = keys.get("name")
            for name in found or ():
                if isinstance(name, str) and name:
                    watched = self._named(name)
                    if int.__or__(watched.wants, every) != watched.wants:
                        watched.wants |= every
                    watched.sampled = watched.sampled and sampled
            if found is None and wants == Want.NEXT:
                self.any_next |= wants | notes
            elif found is None and wants:
                unnamed = True
        return unnamed

    def _named(self, name: str) -> WatchedName:
        if name not in self.by_name:
            self.by_name[name] = WatchedName(name)
            self._resolved.add(self.by_name[name])
        return self.by_name[name]

    def of_method(self, receiver: type, definer: type, name: str) -> WatchedName | None:
        """The law's name for a method, by the first class on the way from the receiver's to that which defines it."""
        several = self.by_last.get(name)
        if several is None:
            return None
        if not names.inherits(receiver, definer):
            receiver = definer
        for each in names.mro(receiver):
            found = names.lookup(each, name)
            # If a class overrides a method and calls the inherited one, then by the inherited name.
            if found is not None and found[0] is definer:
                for watched in several:
                    if each is receiver if watched.of_any_class else self.means(watched.prefix, each):
                        return watched
            if each is definer:
                break
        return None

    def of_class(self, kind: type) -> WatchedName | None:
        """The law's name for a class that is called: its own or that of a base class."""
        for each in names.mro(kind) if self.called else ():
            for spelling in spellings(names.class_name(each), self.main):
                watched = self.by_name.get(spelling)
                if watched is not None and watched.wants & (CALL | _CREATED):
                    return watched
            watched = self._called_class.get(id(each))
            if watched is not None:
                return watched
        return None

    def of_builtin(self, function: Any, name: str) -> WatchedName | None:
        """The law's name for a function of a C module; `name` is its own."""
        watched = self.by_name.get(name)
        if watched is None:
            nearby = self.by_last.get(function.__name__, ())
            watched = next((each for each in nearby if (at := each.resolution) and at.entry is function), None)
        return watched

    def of_field(self, owner: type, name: str) -> WatchedName | None:
        """The law's name for an attribute, by the first class that a law names."""
        several = [watched for watched in self.by_last.get(name, ()) if watched.wants & FIELD]
        for each in names.mro(owner) if several else ():
            for watched in several:
                if watched.of_any_class or self.means(watched.prefix, each):
                    return watched
        return None

    def of_read_field(self, owner: type, name: str) -> WatchedName | None:
        """The law's name for an attribute that a method reads."""
        return next((watched for watched in self.readers if self._reads(watched, owner, name)), None)

    def _reads(self, watched: WatchedName, owner: type, field: str) -> bool:
        holder, method = watched.reader
        if holder != _ANY_CLASS and not any(self.means(holder, each) for each in names.mro(owner)):
            return False
        return field in fields_read(owner, method)

    def class_name(self, kind: type) -> str:
        """The name of a class as laws have it, or its own."""
        name = names.class_name(kind)
        spelled = [each for each in spellings(name, self.main) if each in self.class_names]
        last = name.rpartition(".")[2]
        shown = (each for each in self.class_names if each.rpartition(".")[2] == last and self.means(each, kind))
        return spelled[0] if spelled else next(shown, name)
