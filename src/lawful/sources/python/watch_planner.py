"""What is watched: what the laws can match, and what the scopes ask for."""

from __future__ import annotations

import _thread
import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterable
from types import CodeType, FunctionType, MethodType
from typing import Any, Final, NamedTuple

from lawful import core
from lawful.laws.protocol import Law
from lawful.sources.python import names
from lawful.sources.python.identity import PRIMITIVE
from lawful.sources.python.name_resolution import resolve, spellings
from lawful.sources.python.per_object import PerObject
from lawful.sources.python.scope import Scope
from lawful.sources.python.sites import CallMarks, UnknownBytecodeError, loaded_names, probes
from lawful.sources.python.tracer_protocol import (
    CALLS,
    FIELDS,
    LEARNING,
    NEXTS,
    Callee,
    CodePlan,
    Operation,
    Probe,
    Sampling,
    Want,
    WatchPlanner,
)
from lawful.sources.python.watched_names import (
    BIRTH,
    CALL,
    FIELD,
    FUNCTION,
    NOTES,
    NOTHING,
    WatchedName,
    WatchedNames,
    meets,
    united,
)

SCOPE_DETAIL: Final = CALL | Want.NEW | NOTES
"""What is noted of that which only a scope asks for."""

_EVENTS: Final = FUNCTION | FIELD | Want.NEW | Want.NEXT | Want.EXIT | Want.BIRTH | LEARNING
_OF_FUNCTION: Final = FUNCTION | NOTES | Want.LEARN
_OF_CALL: Final = CALL | NOTES | Want.LEARN
_OF_CLASS: Final = CALL | NOTES | Want.NEW | Want.LEARN_NEW
_OF_FIELD: Final = FIELD | Want.RESULT | Want.SITE | Want.LEARN_READ | Want.LEARN_WRITE

NO_NAMES: Final[frozenset[str]] = frozenset()
_NOTHING_DONE: Final[frozenset[Operation]] = frozenset()
_SCOPE_OPERATIONS: Final = CALLS | {Operation.ENTER, Operation.EXIT_RAISED, Operation.ASYNC_ENTER}
_SCOPE_METHODS: Final = frozenset({"__enter__", "__exit__", "__aenter__", "__aexit__"})
_STEP_METHODS: Final = frozenset({"__next__", "__anext__"})

_BINARY: Final = "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and or xor".split()
_OPERATIONS: Final[dict[str, frozenset[Operation]]] = {
    "__enter__": frozenset({Operation.ENTER}),
    "__exit__": CALLS | {Operation.EXIT_RAISED},
    "__aenter__": frozenset({Operation.ASYNC_ENTER}),
    "__aexit__": CALLS | {Operation.EXIT_RAISED},
    "__iter__": frozenset({Operation.ITER}),
    "__next__": frozenset({Operation.NEXT}),
    "__aiter__": frozenset({Operation.ASYNC_ITER}),
    "__anext__": frozenset({Operation.ASYNC_NEXT}),
    "__await__": frozenset({Operation.AWAIT}),
    "__contains__": frozenset({Operation.CONTAINS}),
    "__getitem__": frozenset({Operation.GET_ITEM, Operation.GET_SLICE}),
    "__setitem__": frozenset({Operation.SET_ITEM, Operation.SET_SLICE}),
    "__delitem__": frozenset({Operation.DELETE_ITEM}),
    **{f"__{each}__": frozenset({Operation.COMPARE}) for each in ("lt", "le", "eq", "ne", "gt", "ge")},
    **{f"__{each}__": frozenset({Operation.UNARY}) for each in ("neg", "pos", "invert", "bool")},
    **{f"__{prefix}{each}__": frozenset({Operation.BINARY}) for prefix in ("", "i", "r") for each in _BINARY},
}
_EXIT: Final = os._exit
_IN_PLACE: Final = {f"__i{each}__": f"__{each}__" for each in _BINARY}
_MAKES_LOCK: Final = _thread.allocate_lock  # what `threading.Lock` is before 3.13: a class for all but the interpreter


class _Known(NamedTuple):
    """A code object that was looked at."""

    callee: Callee | None  # what it reports, whatever its first argument is
    perhaps: bool  # it may be a method that a law names by another class
    makes: bool = False  # it is an `__init__` that may tell of new objects
    scoped: Want = NOTHING  # what the scope asks for besides, if laws name it
    may_create: bool = False  # it is an `__init__` in which lives of samples may begin
    sampled: bool = False  # those who want the callee are content with samples

    @property
    def reports(self) -> bool:
        return self.callee is not None or self.perhaps or self.makes or self.may_create


_DISMISSED: Final = _Known(None, False)


class LawWatchPlanner(WatchPlanner):
    """Implements `WatchPlanner`. `main`: the name laws may use for the main module, beside `__main__`.

    `detail` is what is noted of that which a scope asks for, `more` what is noted besides of that which laws name. If
    `learn`, the scope says what is learned from; then nothing is noted of it unless `detail` says so.

    With `sampling`, the tracer tells only of samples where nobody wants more. `groups` are those that it samples; the
    objects of the others are all told of, and who wants samples must choose them. `on_seen`, if there is one when the
    tracer starts, is told of own code that starts, as `Tracer.rearm` says.
    """

    on_seen: Callable[[CodeType], object] | None = None
    library_filter: Any = None

    def __init__(
        self,
        laws: Iterable[Law],
        scope: Scope,
        *,
        main: str | None = None,
        detail: Want | None = None,
        more: Want = NOTHING,
        learn: bool = False,
        sampling: Sampling | None = None,
        on_seen: Callable[[CodeType], object] | None = None,
    ) -> None:
        self.scope = scope
        self.on_seen = on_seen
        self.main = main
        self._learn = learn
        if detail is None:
            detail = NOTHING if learn else SCOPE_DETAIL
        self._only_learn = learn and not detail & (CALL | Want.NEW)
        self._detail = detail | Want.SITE | (LEARNING if learn else NOTHING) | (NOTHING if self._only_learn else FIELD)
        if scope.public or scope.calls or scope.fields or learn:
            sampling = None  # they want to see everything
        self._points = WatchedNames(laws, main, more, sampling)
        self.groups = self._points.groups
        self._births = BIRTH if sampling is not None and sampling.stacks else Want.BIRTH
        self.unnamed = self._points.unnamed  # laws about events of any name: they see only what others cause
        self.gone = self._points.gone  # is a law about the end of objects?
        self._unreadable: list[str] = []  # code with instructions in an order that no compiler writes
        # A scope may report the same `__init__`, or the call of the class, for itself.
        alone = not scope.public and not scope.calls
        self._makers = [point for point in self._points.called if alone and point.only_new]
        points = self._points.by_name.values()
        self._read_names = frozenset(point.last for point in points if meets(point.wants, Want.READ))
        self._written_names = frozenset(point.last for point in points if meets(point.wants, Want.WRITE))
        self._of_any_field = united(point.wants & FIELD for point in self._points.readers)  # whatever its name
        self._planned: PerObject[_Known] = PerObject()  # what was planned cannot be changed any more
        self.exempt_from_filter(NO_NAMES, ())
        self._expected = 0  # of these, that names stood for
        self._sought_at: tuple[int, int] | None = None
        self._sought_now: tuple[frozenset[str], frozenset[Operation]] = (NO_NAMES, _NOTHING_DONE)

    def exempt_from_filter(self, loads: frozenset[str], modules: tuple[str, ...]) -> None:
        every = self.scope.public or self._learn or self.groups or self._makers  # more than names is to be looked at
        if core.native_tracer is not None and not every:
            names = frozenset(point.last for point in self._points.functions)
            self.library_filter = core.native_tracer.LibraryFilter(names, loads | {"_exit"}, modules)
            self._points.library_filter = self.library_filter

    @property
    def warnings(self) -> list[str]:
        """What the user should know of the watching."""
        if not self._unreadable:
            return []
        others = len(self._unreadable) - 1
        more = f" and {others} other function{'s' if others > 1 else ''}" if others else ""
        return [f"not all that {self._unreadable[0]}{more} did was seen: the bytecode is not that of Python's compiler"]

    # -- code that starts -------------------------------------------------------------------------

    def plan(self, code: CodeType, module: str) -> CodePlan | None:
        filename = code.co_filename
        own, lawful = self.scope.own(filename), self.scope.lawful(filename)
        if self.library_filter is not None:
            self.library_filter.files[filename] = None if lawful else not own
        if lawful:
            return None
        self._points.settle()
        known = self._look_at(code, module)
        self._planned.put(code, known)
        self._expected += self._points.stand_for(code)
        callee = known.callee
        if callee is None and (known.perhaps or known.makes or known.may_create):
            mask = (FUNCTION if known.perhaps else NOTHING) | (Want.NEW if known.makes else NOTHING)
            mask |= Want.BIRTH if known.may_create else NOTHING
            callee = Callee(names.code_name(code, module), self._points.wants & (mask | NOTES) | known.scoped)
        callers, operations = self._sought() if own else (NO_NAMES, _NOTHING_DONE)
        found = self._probes(code, operations, callers)
        if callee is None and not found and not own:
            return None
        escapes = bool(found) and not self.scope.calls and _escapes(code, found, callers)
        groups = self._code_groups(code, module, known) if self.groups and callee is not None else ()
        return CodePlan(callee, found, self.scope.event_file(filename), own, escapes, groups, known.may_create)

    def _code_groups(self, code: CodeType, module: str, known: _Known) -> tuple[int, ...]:
        """The groups of all that a function reports; nothing if it may report something else."""
        spelled = spellings(names.code_name(code, module), self.main)
        points = [
            point
            for point in self._points.functions
            if point.name in spelled or point.last == code.co_name or point.has(code)
        ]
        found = self._points.groups_of(points)
        if found is None:
            return ()
        if known.may_create or known.makes:
            if any(not point.sampled for point in self._makers):
                return ()
            kinds = self._kinds(code, module, names.first_code)
            found |= self.groups if kinds is None else {*map(self._group, kinds)} - {0}
            found |= {*self._points.unknown_groups()}
        return tuple(sorted(found))

    def _group(self, kind: type) -> int:
        return self._points.group_of(kind) if self.groups else 0

    def _look_at(self, code: CodeType, module: str) -> _Known:
        """Does the code report itself?"""
        if not code.co_flags & inspect.CO_OPTIMIZED:
            return _Known(None, False)  # the body of a module or a class
        known = self._look_by_name(code, module)
        return known._replace(may_create=True) if self.groups and self._may_create(code, module) else known

    def _look_by_name(self, code: CodeType, module: str) -> _Known:
        name = names.code_name(code, module)
        scoped = self._learned(name, module, code) & _OF_FUNCTION if self._points.functions else NOTHING
        for spelling in spellings(name, self.main):
            point = self._points.by_name.get(spelling)
            if point is not None and meets(point.wants, FUNCTION):
                return _Known(_function(point, scoped), False, scoped=scoped, sampled=point.sampled)
        perhaps = False
        for point in self._points.functions_of(code):
            place = point.place
            if place is None:
                perhaps = perhaps or _may_inherit(point, code, module)
            elif point.has(code):
                if place.definer is None or place.definer is place.holder:
                    return _Known(_function(point, scoped), perhaps, scoped=scoped, sampled=point.sampled)
                perhaps = True
        if self._makers and self._makes(code, module):
            return _Known(None, perhaps, True)
        if self.scope.public and self.scope.reports(spellings(name, self.main), code.co_filename):
            return _Known(Callee(name, self._detail & _OF_FUNCTION), perhaps, scoped=scoped)
        return _Known(None, perhaps, scoped=scoped)

    def _learned(self, name: str, module: str, code: CodeType) -> Want:
        """What the scope asks for of a Python function that laws name: the learner must miss nothing of it."""
        if not self._learn:
            return NOTHING
        scope, filename = self.scope, code.co_filename
        public = bool(scope.public) and scope.reports(spellings(name, self.main), filename)
        called = bool(scope.calls) and scope.called(name, names.main_module(module), own=scope.own(filename))
        return self._detail if public or called else NOTHING

    def _makes(self, code: CodeType, module: str) -> bool:
        """Can it be the `__init__` of a class that laws name, or of one that inherits from it?"""
        if not code.co_argcount:
            return False
        if any(point.maker() is code for point in self._makers):
            return True
        kinds = self._kinds(code, module, names.init_code)
        # A class may inherit its `__init__` from one that the law does not name.
        return kinds is None or any(self._points.of_class(each) in self._makers for each in kinds)

    def _may_create(self, code: CodeType, module: str) -> bool:
        """Can it be the `__init__` of a class that is sampled?"""
        if not code.co_argcount:
            return False
        for name in self._points.classes:
            place = self._points.by_name[name].place
            if place is not None and names.is_class(place.entry) and names.first_code(place.entry) is code:
                return True
        kinds = self._kinds(code, module, names.first_code)
        return kinds is None or any(map(self._group, kinds))

    def _kinds(self, code: CodeType, module: str, init_code: Callable[[type], CodeType | None]) -> list[type] | None:
        """The classes whose `__init__` it is; None: of a class that cannot be found by its name."""
        if code.co_name != "__init__":
            return []
        place = resolve(f"{module}.{code.co_qualname.rpartition('.')[0]}", self.main)
        if place is None or not names.is_class(place.entry):
            return None
        return [each for each in names.subclasses(place.entry) if init_code(each) is code]

    def _known(self, function: FunctionType) -> tuple[_Known, bool]:
        """What is known of a function's code, and whether it has its plan already."""
        found = self._was_planned(function.__code__)
        if found is not None:
            return found, True
        return self._look_at(function.__code__, names.module_of(function)), False

    def _was_planned(self, code: CodeType) -> _Known | None:
        found = self._planned.get(code)
        library = self.library_filter
        return _DISMISSED if found is None and library is not None and library.dismissed(code) else found

    def receiver_callee(self, code: CodeType, receiver: type) -> Callee | None:
        self._points.settle()
        found = self._planned.get(code)
        return None if found is None else self._received(code, receiver, found)

    def _received(self, code: CodeType, receiver: type, known: _Known) -> Callee | None:
        callee, sampled = self._received_by_name(code, receiver, known)
        group = self._group(receiver)
        if not group or not sampled:
            return callee
        if known.may_create and names.first_code(receiver) is code:
            callee = _with(callee or Callee(self._points.class_name(receiver), Want.SITE), Want.RECEIVER | self._births)
        if callee is None or not callee.wants & Want.RECEIVER:
            return callee
        return callee._replace(group=group)

    def _received_by_name(self, code: CodeType, receiver: type, known: _Known) -> tuple[Callee | None, bool]:
        """And are those who want it content with samples?"""
        # The outermost `__init__` tells of the object: when it is over, the object is there.
        if known.makes and names.init_code(receiver) is code:
            made = self._points.of_class(receiver)
            if made is not None and made in self._makers:
                wants = made.wants & (Want.NEW | NOTES)
                return Callee(made.name, wants | Want.RECEIVER) if wants & Want.NEW else None, made.sampled
        found = _find(code, receiver)
        if found is None:
            takes_class = names.inherits(receiver, type) and known.callee is not None
            is_class_method = takes_class and _is_class_method(known.callee, code, self.main)
            return _with(known.callee, Want.RECEIVER if is_class_method else NOTHING), False
        extra = Want.RECEIVER if found.method.receiver else NOTHING
        of_object = not found.method.by_class
        point = self._points.of_method(receiver, found.definer, found.attribute)
        if point is not None and point.wants & FUNCTION:
            return _with(_function(point, known.scoped), extra), point.sampled and of_object
        return _with(known.callee, extra), (known.sampled or known.callee is None) and of_object

    # -- places in own code -----------------------------------------------------------------------

    def _probes(self, code: CodeType, operations: frozenset[Operation], callers: frozenset[str]) -> tuple[Probe, ...]:
        exits = "_exit" in code.co_names
        if not operations and not exits:
            return ()
        marks = CallMarks(callers, not self.scope.calls, self._only_learn and bool(self.scope.calls))
        try:
            kept = probes(code, operations | CALLS if exits else operations, marks)
        except UnknownBytecodeError:
            self._unreadable.append(f"{code.co_qualname} ({self.scope.event_file(code.co_filename)})")
            return ()
        if exits and not operations >= CALLS:
            kept = tuple(probe for probe in kept if probe.operation in operations or probe.name == "_exit")
        if not self.scope.fields and not FIELDS.isdisjoint(operations):
            kept = tuple(probe for probe in kept if probe.operation not in FIELDS or self._is_field(probe))
        if not self.groups:
            return kept
        groups = functools.cache(self._probe_groups)
        return tuple(self._with_groups(probe, groups) for probe in kept)

    def _is_field(self, probe: Probe) -> bool:
        if probe.operation is Operation.GET_FIELD:
            return bool(self._of_any_field & Want.READ) or probe.name in self._read_names
        return bool(self._of_any_field & Want.WRITE) or probe.name in self._written_names

    def _with_groups(self, probe: Probe, find: Callable[[str, bool, bool], tuple[tuple[int, ...], bool]]) -> Probe:
        if probe.name == "_exit" or (probe.operation in NEXTS and self._points.any_next):
            return probe
        is_call = probe.operation in CALLS
        name = probe.name or ""
        if is_call and name not in self._points.by_last:
            name = ""
        groups, may_create = find(name, is_call, probe.operation in FIELDS)
        return probe._replace(groups=groups, may_create=may_create)

    def _probe_groups(self, name: str, is_call: bool, is_field: bool) -> tuple[tuple[int, ...], bool]:
        """The groups of all that a place may tell of, and whether objects are born there. (): something else, too."""
        by_last = self._points.by_last
        if is_field:
            points = [point for point in by_last.get(name, ()) if point.wants & FIELD] + self._points.readers
        elif not is_call:
            points = [*by_last.get(name, ()), *by_last.get(_IN_PLACE.get(name, ""), ())]
        else:  # by its name; otherwise by another, or through a variable
            points = [point for point in self._points.called if name in ("", point.last)]
        groups = self._points.groups_of(points)
        if groups is None:
            return (), False
        may_create = is_call and any(point.wants & (Want.NEW | Want.BIRTH) for point in points)
        return tuple(sorted(groups or self.groups)), may_create

    def _sought(self) -> tuple[frozenset[str], frozenset[Operation]]:
        """Under which names own code calls what does not report itself, and what own code is watched for."""
        # Classes may get subclasses: nothing but asking tells. Otherwise a name must stand for something else, or a
        # function that one stands for have been planned.
        state = (self._points.settled_at, self._expected)
        if self._makers or state != self._sought_at:
            silent = [point for point in self._points.called if not self._reports(point)]
            self._sought_now = frozenset(point.last for point in silent), self._operations(silent)
            self._sought_at = state
        return self._sought_now

    def _operations(self, silent: list[WatchedName]) -> frozenset[Operation]:
        """What own code is watched for: not for calls, if all that laws name reports itself."""
        found: set[Operation] = set(_SCOPE_OPERATIONS if self.scope.calls else ())
        if self.scope.fields or self._read_names or self._written_names:
            found |= FIELDS
        if self._points.any_next:
            found |= NEXTS
        for name in _STEP_METHODS:
            if any(point.wants & Want.NEXT for point in self._points.by_last.get(name, ())):
                found |= NEXTS
        for point in silent:
            found |= CALLS
            found |= _OPERATIONS.get(point.last, frozenset())
        return frozenset(found)

    def _reports(self, point: WatchedName) -> bool:
        """Does what the name stands for report itself, as Python functions do?"""
        if point.in_function:
            return not point.only_new  # a class there may have no `__init__`
        place = point.place
        if place is not None and names.is_class(place.entry):
            return point in self._makers and all(map(self._tells, names.subclasses(place.entry)))
        codes = point.codes
        for code in codes:
            planned = self._was_planned(code)
            if planned is not None and not planned.reports:
                return False
        return bool(codes)

    def _tells(self, kind: type) -> bool:
        """Does a class's `__init__` tell of new objects?"""
        function = names.init(kind)
        return function is not None and self._known(function)[0].makes

    # -- what is called ---------------------------------------------------------------------------

    def callee(self, function: Any, receiver: type | None) -> Callee | None:
        self._points.settle()
        function = names.wrapped(function)
        kind = type(function)
        if kind is MethodType:
            function, receiver = names.unbound(function)
            kind = type(function)
        if kind is FunctionType:
            return self._python(function, receiver)
        if names.is_class(function):
            return self._class(function)
        if names.is_builtin_type(kind):
            found = names.behind(function)
            if found is function:
                return self._builtin(function)
            receiver = type(function.__self__) if receiver is None else receiver
            function = found
        if names.is_method(function):
            definer: type = function.__objclass__
            name: str = function.__name__
            return self._method(definer, name, definer if receiver is None else receiver)
        callee = self._special("__call__", kind)
        return callee and callee._replace(wants=callee.wants & ~Want.RECEIVER)  # the object itself is not passed

    def _python(self, function: FunctionType, receiver: type | None, *, scoped: bool = True) -> Callee | None:
        code = function.__code__
        known, planned = self._known(function)
        if known.reports:
            callee = known.callee if receiver is None else self._received(code, receiver, known)
            if callee is not None:
                return _with(callee, Want.CALLEE_SIDE)
        late: WatchedName | None = None
        if planned and not known.reports:  # it may have come to where a law names it after its plan was made
            late = self._points.called_by(code)
        if late is None and not (scoped and self.scope.calls):
            return None
        module = names.main_module(names.module_of(function))
        name = names.code_name(code, module)
        found = None if receiver is None else _find(code, receiver)
        if found is not None:
            name = f"{self._points.class_name(found.definer)}.{found.attribute}"
        extra = Want.RECEIVER if receiver is not None or _is_method(name, code) else NOTHING
        learned = _OF_CALL if extra else _OF_CALL & ~Want.LEARN
        if late is not None and late.wants & CALL:
            also = self._learned(name, module, code) & learned if scoped else NOTHING
            group = self._group(receiver) if receiver is not None and late.sampled else 0
            return Callee(late.name, late.wants & (CALL | NOTES) | also | extra, group)
        if scoped and self.scope.called(name, module, own=self.scope.own(code.co_filename)):
            return _unless_idle(Callee(name, self._detail & learned | extra))
        return None

    def _class(self, kind: type) -> Callee | None:
        point = self._points.of_class(kind)
        if point is not None:
            if point in self._makers and self._tells(kind):
                return None
            wants = point.wants & (CALL | Want.NEW | NOTES)
            if self._learn and self._class_called(kind):
                wants |= self._detail & _OF_CLASS
            group = self._group(kind) if point.sampled else 0
            if group and not self._begins(kind):
                wants |= self._births
            return _unless_idle(Callee(point.name, wants, group))
        if not self._class_called(kind):
            return None
        mask = _OF_CLASS & ~Want.LEARN_NEW if id(kind) in PRIMITIVE else _OF_CLASS
        return _unless_idle(Callee(self._points.class_name(kind), self._detail & mask))

    def _begins(self, kind: type) -> bool:
        """Do the lives of a class's objects begin in its `__init__`?"""
        function = names.first_init(kind)
        return function is not None and self._known(function)[0].may_create

    def _class_called(self, kind: type) -> bool:
        if not self.scope.calls:
            return False
        module = names.class_module(kind)
        return self.scope.called(self._points.class_name(kind), module, own=self._is_own_module(module))

    def _is_own_module(self, module: str) -> bool:
        namespace = names.module_dict(module)
        filename = None if namespace is None else names.plain(namespace.get("__file__"))
        return filename is not None and self.scope.own(filename)

    def _builtin(self, function: Any) -> Callee | None:
        """A function of a C module, or a static method of a C class."""
        special = function is _EXIT or function is _MAKES_LOCK
        if not special and not self.scope.calls and function.__name__ not in self._points.by_last:
            return None  # so are most
        name = names.function_name(function) or names.UNKNOWN
        masked = _OF_CLASS if function is _MAKES_LOCK else CALL | NOTES
        point = self._points.of_builtin(function, name)
        called = bool(self.scope.calls) and self.scope.called(name, names.owner_module(function), own=False)
        found: Callee | None = None
        group = 0 if point is None else self._made(point, function)
        if point is not None and point.wants & (CALL | Want.NEW | Want.BIRTH) & (masked | Want.BIRTH):
            wants = (point.wants | (self._detail if self._learn and called else NOTHING)) & masked
            found = (
                Callee(point.name, wants | self._births, group) if group else _unless_idle(Callee(point.name, wants))
            )
        elif called:
            found = _unless_idle(Callee(name, self._detail & masked))
        if function is not _EXIT:
            return found
        return Callee(name, Want.EXIT | Want.SITE) if found is None else _with(found, Want.EXIT)

    def _made(self, point: WatchedName, function: object) -> int:
        """The group of the objects that a function makes."""
        if not point.sampled:
            return 0
        if function is _MAKES_LOCK:
            return self._points.classes.get(point.name, 0)
        return self._points.makers.get(point.name, 0)

    def _method(self, definer: type, name: str, receiver: type, *, scoped: bool = True) -> Callee | None:
        """A method of a C class."""
        point = self._points.of_method(receiver, definer, name)
        if point is None and not self.scope.calls:
            return None
        full = f"{self._points.class_name(definer)}.{name}"
        called = scoped and bool(self.scope.calls) and self.scope.called(full, names.class_module(definer), own=False)
        if point is not None and point.wants & CALL:
            also = self._detail if self._learn and called else NOTHING
            group = self._group(receiver) if point.sampled else 0
            return Callee(point.name, point.wants & (CALL | NOTES) | also & _OF_CALL | Want.RECEIVER, group)
        return _unless_idle(Callee(full, self._detail & _OF_CALL | Want.RECEIVER)) if called else None

    # -- what instructions do ---------------------------------------------------------------------

    def operation(self, name: str, owner: type) -> Callee | None:
        self._points.settle()
        if name in _IN_PLACE and names.lookup(owner, name) is None:
            name = _IN_PLACE[name]  # `a += b` is `a = a + b` for what cannot be changed
        callee = self._special(name, owner, scoped=name in _SCOPE_METHODS)
        return self._step(name, owner, callee) if name in _STEP_METHODS else callee

    def _special(self, name: str, owner: type, *, scoped: bool = True) -> Callee | None:
        found = names.lookup(owner, name)
        method = None if found is None else next(names.methods(found[1]), None)
        if found is None or method is None:
            return None
        if type(method.function) is FunctionType:
            return self._python(method.function, owner, scoped=scoped)
        return self._method(found[0], name, owner, scoped=scoped)

    def _step(self, name: str, owner: type, callee: Callee | None) -> Callee | None:
        found = names.lookup(owner, name)
        if found is None:
            return None
        point = self._points.of_method(owner, found[0], name)
        wants = self._points.any_next | (point.wants & (Want.NEXT | NOTES) if point is not None else NOTHING)
        if not wants & Want.NEXT:
            return callee
        full = point.name if point is not None else f"{self._points.class_name(found[0])}.{name}"
        if callee is not None and not callee.wants & Want.CALLEE_SIDE:
            wants |= callee.wants
        sampled = point is not None and point.sampled and not self._points.any_next
        return Callee(full, wants | Want.RECEIVER, self._group(owner) if sampled else 0)

    def field(self, name: str, owner: type) -> Callee | None:
        self._points.settle()
        point = self._points.of_field(owner, name)
        callee = self._scope_field(name, owner) if self.scope.fields and (point is None or self._learn) else None
        if point is None and callee is None and self._points.readers:  # who names the field itself goes first
            point = self._points.of_read_field(owner, name)
        if point is not None:
            also = NOTHING if callee is None else callee.wants
            group = self._group(owner) if point.sampled else 0
            callee = Callee(point.name, point.wants & (FIELD | Want.RESULT | Want.SITE) | also, group)
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
            if any(self.scope.has_field(spelling, name) for spelling in spellings(names.class_name(each), self.main)):
                return Callee(f"{self._points.class_name(each)}.{name}", self._detail & _OF_FIELD)
        return None

    def class_name(self, kind: type) -> str:
        self._points.settle()
        return self._points.class_name(kind)


def _escapes(code: CodeType, found: tuple[Probe, ...], callers: frozenset[str]) -> bool:
    """Does the code take one of these names, or the text of it, for something else than to call it at once?"""
    if callers.isdisjoint(code.co_names) and not any(type(each) is str and each in callers for each in code.co_consts):
        return False
    loaded = sum(name in callers for name in loaded_names(code))
    return loaded > sum(probe.operation in CALLS and probe.name in callers for probe in found)


def _function(point: WatchedName, scoped: Want) -> Callee:
    return Callee(point.name, point.wants & (FUNCTION | NOTES) | scoped)


def _unless_idle(callee: Callee) -> Callee | None:
    """None if there is nothing to tell."""
    return callee if callee.wants & _EVENTS else None


def _with(callee: Callee | None, wants: Want) -> Callee | None:
    return None if callee is None else callee._replace(wants=callee.wants | wants)


def _may_inherit(point: WatchedName, code: CodeType, module: str) -> bool:
    """Can a class that is not there yet inherit this code under the name that the law has?"""
    if not point.prefix or (not code.co_argcount and not code.co_flags & inspect.CO_VARARGS):
        return False
    # Classes of the standard library inherit from nothing else.
    return not point.in_stdlib or module.partition(".")[0] in sys.stdlib_module_names


class _Found(NamedTuple):
    definer: type
    attribute: str
    method: names.Method


def _find(code: CodeType, kind: type) -> _Found | None:
    """Where the classes of an object have this code as a method."""
    for exact in (True, False):  # nearly always it is under its own name
        for each in names.mro(kind):
            if not names.is_python_class(each):
                continue
            own = names.class_dict(each)
            for attribute in (code.co_name,) if exact else tuple(own):
                method = _of_code(own.get(attribute), code)
                if method is not None:
                    return _Found(each, attribute, method)
    return None


def _of_code(entry: object, code: CodeType) -> names.Method | None:
    for method in names.methods(entry):
        if type(method.function) is FunctionType and method.function.__code__ is code:
            return method
    return None


def _is_class_method(callee: Callee | None, code: CodeType, main: str | None) -> bool:
    place = None if callee is None else resolve(callee.name, main)
    method = None if place is None else _of_code(place.entry, code)
    return method is not None and method.by_class


def _is_method(name: str, code: CodeType) -> bool:
    """Is it a function that stands in a class, and takes the object first?"""
    place = resolve(name)
    method = _of_code(place.entry, code) if place is not None and place.definer is not None else None
    return method is not None and method.receiver
