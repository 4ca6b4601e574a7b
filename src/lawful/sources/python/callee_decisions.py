"""Decides which events of a callee are wanted at a probed place, by what laws name and scopes ask for."""

from __future__ import annotations

import _thread
import os
from types import CodeType, FunctionType, MethodType
from typing import Any, Final

from lawful.sources.python import names
from lawful.sources.python.code_decisions import CodeDecisions, find_method, method_of_code, with_wants
from lawful.sources.python.identity import PRIMITIVE
from lawful.sources.python.name_resolution import resolve, spellings
from lawful.sources.python.probe_decisions import IN_PLACE, NEXT_METHODS
from lawful.sources.python.scope import Scope
from lawful.sources.python.tracer_protocol import LEARNING, Callee, Want
from lawful.sources.python.watched_names import CALL, FIELD, FUNCTION, NOTES, NOTHING, WatchedNames

_EVENTS: Final = FUNCTION | FIELD | Want.NEW | Want.NEXT | Want.EXIT | Want.BIRTH | LEARNING
_OF_CALL: Final = CALL | NOTES | Want.LEARN
_OF_CLASS: Final = CALL | NOTES | Want.NEW | Want.LEARN_NEW
_OF_FIELD: Final = FIELD | Want.RESULT | Want.SITE | Want.LEARN_READ | Want.LEARN_WRITE
_SCOPE_METHODS: Final = frozenset({"__enter__", "__exit__", "__aenter__", "__aexit__"})
_EXIT: Final = os._exit
_MAKES_LOCK: Final = _thread.allocate_lock  # what `threading.Lock` is before 3.13: a class for all but the interpreter


class CalleeDecisions:
    """Decides about functions, classes, special methods and fields."""

    def __init__(self, watched: WatchedNames, scope: Scope, codes: CodeDecisions, detail: Want, *, learn: bool) -> None:
        """`detail`: what the scope asks for, of what it names."""
        self._watched = watched
        self._scope = scope
        self._codes = codes
        self._detail = detail
        self._learn = learn

    def callee(self, function: Any, receiver: type | None) -> Callee | None:
        function = names.unwrapped(function)
        kind = type(function)
        if kind is MethodType:
            function, receiver = names.unwrapped(function.__func__), type(function.__self__)
            kind = type(function)
        if kind is FunctionType:
            return self._python(function, receiver)
        if names.is_class(function):
            return self._class(function)
        if names.is_builtin_type(kind):
            found = names.descriptor_of(function)
            if found is function:
                return self._builtin(function)
            receiver = type(function.__self__) if receiver is None else receiver
            function = found
        if names.is_method_type(type(function)):
            definer: type = function.__objclass__
            return self._method(definer, function.__name__, definer if receiver is None else receiver)
        callee = self._special("__call__", kind)
        return callee and callee._replace(wants=callee.wants & ~Want.RECEIVER)  # the object itself is not passed

    def _python(self, function: FunctionType, receiver: type | None, *, scoped: bool = True) -> Callee | None:
        code = function.__code__
        decision, planned = self._codes.of(function)
        if decision.reports:
            callee = decision.callee
            if receiver is not None:
                callee = self._codes.receiver_callee(code, receiver, decision)
            if callee is not None:
                return with_wants(callee, Want.CALLEE_SIDE)
        # It may have come to where a law names it after its plan was made.
        late = self._watched.called_by(code) if planned and not decision.reports else None
        if late is None and not (scoped and self._scope.calls):
            return None
        module = names.main_module(names.module_of(function))
        name = names.code_name(code, module)
        found = None if receiver is None else find_method(code, receiver)
        if found is not None:
            name = f"{self._watched.class_name(found.definer)}.{found.attribute}"
        extra = Want.RECEIVER if receiver is not None or _is_method(name, code) else NOTHING
        learned = _OF_CALL if extra else _OF_CALL & ~Want.LEARN
        if late is not None and late.wants & CALL:
            also = self._codes.learned(name, module, code) & learned if scoped else NOTHING
            group = self._watched.group_of(receiver) if receiver is not None and late.sampled else 0
            return Callee(late.name, late.wants & (CALL | NOTES) | also | extra, group)
        if scoped and self._scope.called(name, module, own=self._scope.own(code.co_filename)):
            return _unless_idle(Callee(name, self._detail & learned | extra))
        return None

    def _class(self, kind: type) -> Callee | None:
        watched = self._watched.of_class(kind)
        if watched is not None:
            if watched in self._codes.new_only and self._codes.init_reports_new(kind):
                return None
            wants = watched.wants & (CALL | Want.NEW | NOTES)
            if self._learn and self._class_called(kind):
                wants |= self._detail & _OF_CLASS
            group = self._watched.group_of(kind) if watched.sampled else 0
            if group and not self._codes.init_creates(kind):
                wants |= self._watched.births
            return _unless_idle(Callee(watched.name, wants, group))
        if not self._class_called(kind):
            return None
        mask = _OF_CLASS & ~Want.LEARN_NEW if id(kind) in PRIMITIVE else _OF_CLASS
        return _unless_idle(Callee(self._watched.class_name(kind), self._detail & mask))

    def _class_called(self, kind: type) -> bool:
        if not self._scope.calls:
            return False
        module = names.class_module(kind)
        namespace = names.module_dict(module)
        filename = None if namespace is None else names.exact_str(namespace.get("__file__"))
        own = filename is not None and self._scope.own(filename)
        return self._scope.called(self._watched.class_name(kind), module, own=own)

    def _builtin(self, function: Any) -> Callee | None:
        """A function of a C module, or a static method of a C class."""
        special = function is _EXIT or function is _MAKES_LOCK
        if not special and not self._scope.calls and function.__name__ not in self._watched.by_last:
            return None  # as for most functions
        name = names.function_name(function) or names.UNKNOWN
        masked = _OF_CLASS if function is _MAKES_LOCK else CALL | NOTES
        watched = self._watched.of_builtin(function, name)
        called = self._scope.called(name, names.owner_module(function), own=False)
        found: Callee | None = None
        if watched is not None and watched.wants & (CALL | Want.NEW | Want.BIRTH) & (masked | Want.BIRTH):
            wants = (watched.wants | (self._detail if self._learn and called else NOTHING)) & masked
            groups = self._watched.classes if function is _MAKES_LOCK else self._watched.makers
            group = groups.get(watched.name, 0) if watched.sampled else 0  # of the object that it makes
            wants |= self._watched.births if group else NOTHING
            found = _unless_idle(Callee(watched.name, wants, group))
        elif called:
            found = _unless_idle(Callee(name, self._detail & masked))
        if function is not _EXIT:
            return found
        return Callee(name, Want.EXIT | Want.SITE) if found is None else with_wants(found, Want.EXIT)

    def _method(self, definer: type, name: str, receiver: type, *, scoped: bool = True) -> Callee | None:
        """A method of a C class."""
        watched = self._watched.of_method(receiver, definer, name)
        if watched is None and not self._scope.calls:
            return None
        full = f"{self._watched.class_name(definer)}.{name}"
        called = scoped and self._scope.called(full, names.class_module(definer), own=False)
        if watched is not None and watched.wants & CALL:
            also = self._detail if self._learn and called else NOTHING
            group = self._watched.group_of(receiver) if watched.sampled else 0
            return Callee(watched.name, watched.wants & (CALL | NOTES) | also & _OF_CALL | Want.RECEIVER, group)
        return _unless_idle(Callee(full, self._detail & _OF_CALL | Want.RECEIVER)) if called else None

    def operation(self, name: str, owner: type) -> Callee | None:
        if name in IN_PLACE and names.lookup(owner, name) is None:
            name = IN_PLACE[name]  # `a += b` is `a = a + b` for what cannot be changed
        callee = self._special(name, owner, scoped=name in _SCOPE_METHODS)
        return self._next(name, owner, callee) if name in NEXT_METHODS else callee

    def _special(self, name: str, owner: type, *, scoped: bool = True) -> Callee | None:
        found = names.lookup(owner, name)
        method = None if found is None else next(names.methods(found[1]), None)
        if found is None or method is None:
            return None
        if type(method.function) is FunctionType:
            return self._python(method.function, owner, scoped=scoped)
        return self._method(found[0], name, owner, scoped=scoped)

    def _next(self, name: str, owner: type, callee: Callee | None) -> Callee | None:
        found = names.lookup(owner, name)
        if found is None:
            return None
        watched = self._watched.of_method(owner, found[0], name)
        wants = self._watched.any_next | (watched.wants & (Want.NEXT | NOTES) if watched is not None else NOTHING)
        if not wants & Want.NEXT:
            return callee
        full = watched.name if watched is not None else f"{self._watched.class_name(found[0])}.{name}"
        if callee is not None and not callee.wants & Want.CALLEE_SIDE:
            wants |= callee.wants
        sampled = watched is not None and watched.sampled and not self._watched.any_next
        return Callee(full, wants | Want.RECEIVER, self._watched.group_of(owner) if sampled else 0)

    def field(self, name: str, owner: type) -> Callee | None:
        watched = self._watched.of_field(owner, name)
        by_scope = self._scope.fields and (watched is None or self._learn)
        callee = self._scope_field(name, owner) if by_scope else None
        if watched is None and callee is None and self._watched.readers:  # a law that names the field itself goes first
            watched = self._watched.of_read_field(owner, name)
        if watched is not None:
            also = NOTHING if callee is None else callee.wants
            group = self._watched.group_of(owner) if watched.sampled else 0
            callee = Callee(watched.name, watched.wants & (FIELD | Want.RESULT | Want.SITE) | also, group)
        if callee is None:
            return None
        entry = names.lookup(owner, name)
        if entry is not None and names.is_function(entry[1]):  # to fetch a method is not to read a field
            callee = callee._replace(wants=callee.wants & ~(Want.READ | Want.LEARN_READ))
        return _unless_idle(callee)

    def _scope_field(self, name: str, owner: type) -> Callee | None:
        if name.startswith("__") and name.endswith("__"):
            return None
        for each in names.mro(owner):
            spelled = spellings(names.class_name(each), self._watched.main)
            if any(self._scope.has_field(spelling, name) for spelling in spelled):
                return Callee(f"{self._watched.class_name(each)}.{name}", self._detail & _OF_FIELD)
        return None


def _unless_idle(callee: Callee) -> Callee | None:
    """None if there is nothing to report."""
    return callee if callee.wants & _EVENTS else None


def _is_method(name: str, code: CodeType) -> bool:
    """Is it a function of a class, whose first argument is the object?"""
    found = resolve(name)
    method = method_of_code(found.entry, code) if found is not None and found.definer is not None else None
    return method is not None and method.receiver
