"""Finds the fields of its object that a method reads, by its bytecode: nothing of the program is called."""

from __future__ import annotations

import dis
from collections.abc import Iterator
from types import CodeType, FunctionType, MemberDescriptorType
from typing import Final, NamedTuple

from lawful.sources.python import names

_ATTRIBUTE: Final = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
_WRITES: Final = frozenset({"STORE_ATTR", "DELETE_ATTR"})
_WRITERS: Final = frozenset({"setattr", "delattr", "__setattr__", "__delattr__", "__dict__"})
_BETWEEN: Final = frozenset({"EXTENDED_ARG", "PRECALL", "CACHE"})


def fields_read(kind: type, method: str) -> frozenset[str]:
    """What the method reads by `self.x`; also in properties, methods and inherited methods that it uses for it.

    Nothing if one of these writes fields: it may keep what it once found. Nothing if the class has its own
    `__setattr__`: whether that lets a field be written cannot be known.
    """
    setter = names.lookup(kind, "__setattr__")
    start = names.lookup(kind, method)
    if start is None or setter is None or setter[0] is not object:
        return frozenset()
    fields: set[str] = set()
    work = [start]
    seen: set[int] = set()
    while work:
        definer, entry = work.pop()
        function = _function(entry)
        if function is None or id(function) in seen:
            continue
        seen.add(id(function))
        found = _loads(function.__code__)
        if found is None:
            return frozenset()
        for name in found.own:
            used = names.lookup(kind, name)
            if used is not None and _function(used[1]) is not None:
                work.append(used)
            elif not (name.startswith("__") and name.endswith("__")) and (used is None or _is_plain(used[1])):
                fields.add(name)
        work += [used for name in found.inherited if (used := _after(kind, definer, name)) is not None]
    return frozenset(fields)


def _function(entry: object) -> FunctionType | None:
    """The Python function that runs when an object's attribute is called or, of a property, read."""
    if names.inherits(type(entry), property):
        entry = property.__dict__["fget"].__get__(entry)
    return entry if type(entry) is FunctionType else None


def _is_plain(entry: object) -> bool:
    """Is an entry of a class's dictionary a default or a slot, so that a write goes to the object itself?"""
    return type(entry) is MemberDescriptorType or names.lookup(type(entry), "__get__") is None


def _after(kind: type, definer: type, name: str) -> tuple[type, object] | None:
    """What `super()` in a class leads to, for an object of this one."""
    bases = names.mro(kind)
    for each in bases[next(at for at, base in enumerate(bases) if base is definer) + 1 :]:
        entry = names.class_dict(each).get(name, names.MISSING)
        if entry is not names.MISSING:
            return each, entry
    return None


class _Loads(NamedTuple):
    own: set[str]  # attributes of the first argument
    inherited: set[str]  # of `super()`


def _loads(code: CodeType) -> _Loads | None:
    """The attributes that a method loads; None if it writes some."""
    found = _Loads(set(), set())
    if not code.co_argcount:
        return found
    own = code.co_varnames[0]
    supers = ("super", code.co_qualname.split(".")[-2:][0])  # `super()` and `super(Own, self)`
    for part in _parts(code, own):
        if not _WRITERS.isdisjoint(part.co_names):
            return None
        top: object = None  # the variable that was just loaded
        called = False  # was something just called?
        last = ""  # the global that was loaded last
        for each in dis.get_instructions(part):
            name = each.opname
            if name in _WRITES:
                return None
            if name in _BETWEEN:
                continue
            if name in _ATTRIBUTE and top == own:
                found.own.add(each.argval)
            elif name == "LOAD_SUPER_ATTR" or (name in _ATTRIBUTE and called and "super" in part.co_names):
                if last in supers:
                    found.inherited.add(each.argval)
            elif name == "LOAD_GLOBAL":
                last = each.argval
            called = name == "CALL"
            top = None
            if name == "LOAD_DEREF" or "LOAD_FAST" in name:
                top = each.argval[-1] if type(each.argval) is tuple else each.argval
    return found


def _parts(code: CodeType, own: str) -> Iterator[CodeType]:
    """The code, and that of the generators and functions in it that know its object."""
    yield code
    for each in code.co_consts:
        if type(each) is CodeType and own in each.co_freevars:
            yield from _parts(each, own)
