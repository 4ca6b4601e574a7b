"""Which Python functions report themselves where they start, by what laws name and scopes ask for."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable
from types import CodeType, FunctionType
from typing import Final, NamedTuple

from lawful.sources.python import names
from lawful.sources.python.name_resolution import resolve, spellings
from lawful.sources.python.per_object import PerObject
from lawful.sources.python.scope import Scope
from lawful.sources.python.tracer_protocol import Callee, Want
from lawful.sources.python.watched_names import FUNCTION, NOTES, NOTHING, WatchedName, WatchedNames, overlap

_OF_FUNCTION: Final = FUNCTION | NOTES | Want.LEARN


class CodeDecision(NamedTuple):
    """The decision about a code object."""

    callee: Callee | None  # what it reports, whatever its first argument is
    may_be_method: bool = False  # a law may name it as a method of another class
    reports_new: bool = False  # it is an `__init__` that may report new objects
    scope_wants: Want = NOTHING  # what the scope asks for besides, if laws name it
    may_create: bool = False  # it is an `__init__` in which lives of samples may begin
    sampled: bool = False  # samples are enough for all laws about the callee

    @property
    def reports(self) -> bool:
        return self.callee is not None or self.may_be_method or self.reports_new or self.may_create


class CodeDecisions:
    """Decides about code objects. A decision does not change once the code has its plan."""

    def __init__(self, watched: WatchedNames, scope: Scope, detail: Want, *, learn: bool) -> None:
        """`detail`: what the scope asks for, of functions that it names."""
        self._watched = watched
        self._scope = scope
        self._detail = detail
        self._learn = learn
        # A scope may report the same `__init__`, or the call of the class, for itself.
        alone = not scope.public and not scope.calls
        self.new_only = [each for each in watched.called if alone and each.only_new]
        """Classes of which laws want to know nothing but new objects."""
        self._planned: PerObject[CodeDecision] = PerObject()

    def plan(self, code: CodeType, module: str) -> CodeDecision:
        """Decide about code that starts for the first time."""
        decision = self._decide(code, module)
        self._planned.put(code, decision)
        return decision

    def planned(self, code: CodeType) -> CodeDecision | None:
        return self._planned.get(code)

    def of(self, function: FunctionType) -> tuple[CodeDecision, bool]:
        """The decision about a function's code, and whether it has its plan already."""
        found = self.planned(function.__code__)
        if found is not None:
            return found, True
        return self._decide(function.__code__, names.module_of(function)), False

    def init_reports_new(self, kind: type) -> bool:
        """Does a class's `__init__` report new objects?"""
        function = names.init(kind)
        return function is not None and self.of(function)[0].reports_new

    def init_creates(self, kind: type) -> bool:
        """Do the lives of a class's objects begin in its `__init__`?"""
        function = names.any_init(kind)
        return function is not None and self.of(function)[0].may_create

    def self_reporting(self, watched: WatchedName) -> bool:
        """Does what the name refers to report itself, as Python functions do?"""
        if watched.in_function:
            return not watched.only_new  # a class there may have no `__init__`
        if watched.kind is not None:
            return watched in self.new_only and all(map(self.init_reports_new, names.subclasses(watched.kind)))
        planned = map(self.planned, watched.codes)
        return bool(watched.codes) and all(each is None or each.reports for each in planned)

    def _decide(self, code: CodeType, module: str) -> CodeDecision:
        if not code.co_flags & inspect.CO_OPTIMIZED:
            return CodeDecision(None)  # the body of a module or a class
        decision = self._decide_by_name(code, module)
        sampled = [self._watched.by_name[name] for name in self._watched.classes]
        if self._watched.groups and self._is_init(code, module, names.any_init, sampled, self._watched.group_of):
            return decision._replace(may_create=True)
        return decision

    def _decide_by_name(self, code: CodeType, module: str) -> CodeDecision:
        name = names.code_name(code, module)
        spelled = spellings(name, self._watched.main)
        scope_wants = self.learned(name, module, code) & _OF_FUNCTION if self._watched.functions else NOTHING
        for spelling in spelled:
            watched = self._watched.by_name.get(spelling)
            if watched is not None and overlap(watched.wants, FUNCTION):
                own = _function(watched, scope_wants)
                return CodeDecision(own, scope_wants=scope_wants, sampled=watched.sampled)
        perhaps = False
        for watched in self._watched.functions_of(code):
            resolution = watched.resolution
            if resolution is None:
                perhaps = perhaps or _may_inherit(watched, code, module)
            elif watched.has(code):
                if resolution.definer is None or resolution.definer is resolution.holder:
                    own = _function(watched, scope_wants)
                    return CodeDecision(own, perhaps, scope_wants=scope_wants, sampled=watched.sampled)
                perhaps = True
        if self.new_only and self._is_init(code, module, names.init, self.new_only, self._is_new_only):
            return CodeDecision(None, perhaps, True)
        reported = self._scope.public and self._scope.reports(spelled, code.co_filename)
        callee = Callee(name, self._detail & _OF_FUNCTION) if reported else None
        return CodeDecision(callee, perhaps, scope_wants=scope_wants)

    def learned(self, name: str, module: str, code: CodeType) -> Want:
        """What the scope asks for of a Python function that laws name: the learner must miss nothing of it."""
        if not self._learn:
            return NOTHING
        scope, filename = self._scope, code.co_filename
        public = bool(scope.public) and scope.reports(spellings(name, self._watched.main), filename)
        called = bool(scope.calls) and scope.called(name, names.main_module(module), own=scope.own(filename))
        return self._detail if public or called else NOTHING

    def _is_init(
        self,
        code: CodeType,
        module: str,
        init: Callable[[type], FunctionType | None],
        named: Iterable[WatchedName],
        wanted: Callable[[type], object],
    ) -> bool:
        """Can it be the `__init__` of one of the named classes, or of another wanted one?"""
        if not code.co_argcount:
            return False
        if any(names.has_code(init(watched.kind), code) for watched in named if watched.kind is not None):
            return True
        kinds = self._classes_of_init(code, module, init)
        # A class may inherit its `__init__` from one that the law does not name.
        return kinds is None or any(map(wanted, kinds))

    def _is_new_only(self, kind: type) -> bool:
        return self._watched.of_class(kind) in self.new_only

    def _classes_of_init(
        self, code: CodeType, module: str, init: Callable[[type], FunctionType | None]
    ) -> list[type] | None:
        """The classes that have this `__init__`; None if no class is found by its name."""
        if code.co_name != "__init__":
            return []
        found = resolve(f"{module}.{code.co_qualname.rpartition('.')[0]}", self._watched.main)
        if found is None or found.kind is None:
            return None
        return [each for each in names.subclasses(found.kind) if names.has_code(init(each), code)]

    def groups(self, code: CodeType, module: str, decision: CodeDecision) -> tuple[int, ...]:
        """The groups of all that a function reports; nothing if it may report something else."""
        spelled = spellings(names.code_name(code, module), self._watched.main)
        watched = [
            each
            for each in self._watched.functions
            if each.name in spelled or each.last == code.co_name or each.has(code)
        ]
        found = self._watched.groups_of(watched)
        if found is None:
            return ()
        if decision.may_create or decision.reports_new:
            if any(not each.sampled for each in self.new_only):
                return ()
            kinds = self._classes_of_init(code, module, names.any_init)
            found |= self._watched.groups if kinds is None else {*map(self._watched.group_of, kinds)} - {0}
            found |= self._watched.unknown_groups()
        return tuple(sorted(found))

    def receiver_callee(self, code: CodeType, receiver: type, decision: CodeDecision) -> Callee | None:
        """What a function reports for this type of first argument."""
        callee, sampled = self._receiver_callee(code, receiver, decision)
        group = self._watched.group_of(receiver)
        if not group or not sampled:
            return callee
        if decision.may_create and names.has_code(names.any_init(receiver), code):
            callee = callee or Callee(self._watched.class_name(receiver), Want.SITE)
            callee = callee._replace(wants=callee.wants | Want.RECEIVER | self._watched.births)
        if callee is None or not callee.wants & Want.RECEIVER:
            return callee
        return callee._replace(group=group)

    def _receiver_callee(self, code: CodeType, receiver: type, decision: CodeDecision) -> tuple[Callee | None, bool]:
        """The callee, and whether samples are enough for all laws about it."""
        # The outermost `__init__` reports the object: when it is over, the object is there.
        if decision.reports_new and names.has_code(names.init(receiver), code):
            made = self._watched.of_class(receiver)
            if made is not None and made in self.new_only:
                wants = made.wants & (Want.NEW | NOTES)
                return Callee(made.name, wants | Want.RECEIVER) if wants & Want.NEW else None, made.sampled
        found = find_method(code, receiver)
        if found is None:
            takes_class = names.inherits(receiver, type) and decision.callee is not None
            is_class_method = takes_class and _is_class_method(decision.callee, code, self._watched.main)
            return with_wants(decision.callee, Want.RECEIVER if is_class_method else NOTHING), False
        extra = Want.RECEIVER if found.method.receiver else NOTHING
        of_object = not found.method.by_class
        watched = self._watched.of_method(receiver, found.definer, found.attribute)
        if watched is not None and watched.wants & FUNCTION:
            return with_wants(_function(watched, decision.scope_wants), extra), watched.sampled and of_object
        return with_wants(decision.callee, extra), (decision.sampled or decision.callee is None) and of_object


def with_wants(callee: Callee | None, wants: Want) -> Callee | None:
    return None if callee is None else callee._replace(wants=callee.wants | wants)


def _function(watched: WatchedName, scope_wants: Want) -> Callee:
    return Callee(watched.name, watched.wants & (FUNCTION | NOTES) | scope_wants)


def _may_inherit(watched: WatchedName, code: CodeType, module: str) -> bool:
    """Can a class that is not there yet inherit this code under the name that the law has?"""
    if not watched.prefix or (not code.co_argcount and not code.co_flags & inspect.CO_VARARGS):
        return False
    # Classes of the standard library inherit from nothing else.
    return not watched.in_stdlib or module.partition(".")[0] in sys.stdlib_module_names


class FoundMethod(NamedTuple):
    definer: type
    attribute: str
    method: names.Method


def find_method(code: CodeType, kind: type) -> FoundMethod | None:
    """Where the classes of an object have this code as a method."""
    for exact in (True, False):  # nearly always it is under its own name
        for each in names.mro(kind):
            if not names.is_python_class(each):
                continue
            own = names.class_dict(each)
            for attribute in (code.co_name,) if exact else tuple(own):
                method = method_of_code(own.get(attribute), code)
                if method is not None:
                    return FoundMethod(each, attribute, method)
    return None


def method_of_code(entry: object, code: CodeType) -> names.Method | None:
    for method in names.methods(entry):
        if type(method.function) is FunctionType and method.function.__code__ is code:
            return method
    return None


def _is_class_method(callee: Callee | None, code: CodeType, main: str | None) -> bool:
    found = None if callee is None else resolve(callee.name, main)
    method = None if found is None else method_of_code(found.entry, code)
    return method is not None and method.by_class
