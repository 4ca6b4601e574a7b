"""Which instructions of the program's own code are probed, by what laws name and scopes ask for."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import CodeType
from typing import Final

from lawful.sources.python.code_decisions import CodeDecisions
from lawful.sources.python.instructions import UnknownBytecodeError
from lawful.sources.python.scope import Scope
from lawful.sources.python.sites import CallMarks, loaded_names, probes
from lawful.sources.python.stack_walk import WATCHABLE
from lawful.sources.python.tracer_protocol import CALLS, FIELDS, NEXTS, Operation, Probe, Want
from lawful.sources.python.watched_names import FIELD, WatchedName, WatchedNames, overlap, union

NEXT_METHODS: Final = frozenset({"__next__", "__anext__"})
_NO_NAMES: Final[frozenset[str]] = frozenset()
_NO_OPERATIONS: Final[frozenset[Operation]] = frozenset()
_SCOPE_OPERATIONS: Final = CALLS | {Operation.ENTER, Operation.EXIT_RAISED, Operation.ASYNC_ENTER}

_BINARY: Final = "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and or xor".split()
IN_PLACE: Final = {f"__i{each}__": f"__{each}__" for each in _BINARY}
"""Special methods of operators such as `+=`, and those that are called where a class has none."""

_COMPARISONS: Final = ("lt", "le", "eq", "ne", "gt", "ge")
_METHODS: Final = frozenset(method for _, _, method, _ in WATCHABLE.values() if method is not None)
_OPERATIONS: Final[dict[str, frozenset[Operation]]] = {
    **{name: frozenset(each for each, _, method, _ in WATCHABLE.values() if method == name) for name in _METHODS},
    "__exit__": CALLS | {Operation.EXIT_RAISED},
    "__aexit__": CALLS | {Operation.EXIT_RAISED},
    "__bool__": frozenset({Operation.UNARY}),
    **{f"__{each}__": frozenset({Operation.COMPARE}) for each in _COMPARISONS},
    **{f"__{prefix}{each}__": frozenset({Operation.BINARY}) for prefix in ("", "i", "r") for each in _BINARY},
}


class ProbeDecisions:
    """Decides about places in own code."""

    def __init__(self, watched: WatchedNames, scope: Scope, codes: CodeDecisions, *, only_learn: bool) -> None:
        self._watched = watched
        self._scope = scope
        self._codes = codes
        self._only_learn = only_learn
        every = watched.by_name.values()
        self._read_names = frozenset(each.last for each in every if overlap(each.wants, Want.READ))
        self._written_names = frozenset(each.last for each in every if overlap(each.wants, Want.WRITE))
        self._any_field = union(each.wants & FIELD for each in watched.readers)  # whatever its name
        self.unreadable: list[str] = []  # code with instructions in an order that no compiler writes
        self._named_plans = 0  # of code that names refer to
        self._sought_at: tuple[int, int] | None = None
        self._sought_now = (_NO_NAMES, _NO_OPERATIONS)

    def count_plan(self, code: CodeType) -> None:
        """A code object has its plan now. If names refer to it, that can change what own code is probed for."""
        self._named_plans += self._watched.is_named(code)

    def probes(self, code: CodeType, *, own: bool) -> tuple[tuple[Probe, ...], bool]:
        """The probes in a code object, and whether something that is wanted escapes there into a variable."""
        callers, operations = self._sought() if own else (_NO_NAMES, _NO_OPERATIONS)
        found = self._find(code, operations, callers)
        return found, bool(found) and not self._scope.calls and _escapes(code, found, callers)

    def _sought(self) -> tuple[frozenset[str], frozenset[Operation]]:
        """Under which names own code calls what does not report itself, and what own code is watched for."""
        # Classes may get subclasses at any time. Otherwise the answer changes only if a name refers to something else,
        # or a function that a name refers to was planned.
        state = (self._watched.version, self._named_plans)
        if self._codes.new_only or state != self._sought_at:
            silent = [each for each in self._watched.called if not self._codes.self_reporting(each)]
            self._sought_now = frozenset(each.last for each in silent), self._operations(silent)
            self._sought_at = state
        return self._sought_now

    def _operations(self, silent: list[WatchedName]) -> frozenset[Operation]:
        """What own code is watched for: not for calls, if all that laws name reports itself."""
        found: set[Operation] = set(_SCOPE_OPERATIONS if self._scope.calls else ())
        if self._scope.fields or self._read_names or self._written_names:
            found |= FIELDS
        by_last = self._watched.by_last
        nexts = (each for name in NEXT_METHODS for each in by_last.get(name, ()))
        if self._watched.any_next or any(each.wants & Want.NEXT for each in nexts):
            found |= NEXTS
        for each in silent:
            found |= CALLS
            found |= _OPERATIONS.get(each.last, frozenset())
        return frozenset(found)

    def _find(self, code: CodeType, operations: frozenset[Operation], callers: frozenset[str]) -> tuple[Probe, ...]:
        exits = "_exit" in code.co_names
        if not operations and not exits:
            return ()
        marks = CallMarks(callers, not self._scope.calls, self._only_learn and bool(self._scope.calls))
        try:
            kept = probes(code, operations | CALLS if exits else operations, marks)
        except UnknownBytecodeError:
            self.unreadable.append(f"{code.co_qualname} ({self._scope.event_file(code.co_filename)})")
            return ()
        if exits and not operations >= CALLS:
            kept = tuple(probe for probe in kept if probe.operation in operations or probe.name == "_exit")
        if not self._scope.fields and not FIELDS.isdisjoint(operations):
            kept = tuple(probe for probe in kept if probe.operation not in FIELDS or self._is_field(probe))
        if not self._watched.groups:
            return kept
        groups = functools.cache(self._groups)
        return tuple(self._with_groups(probe, groups) for probe in kept)

    def _is_field(self, probe: Probe) -> bool:
        if probe.operation is Operation.GET_FIELD:
            return bool(self._any_field & Want.READ) or probe.name in self._read_names
        return bool(self._any_field & Want.WRITE) or probe.name in self._written_names

    def _with_groups(self, probe: Probe, find: Callable[[str, bool, bool], tuple[tuple[int, ...], bool]]) -> Probe:
        if probe.name == "_exit" or (probe.operation in NEXTS and self._watched.any_next):
            return probe
        is_call = probe.operation in CALLS
        name = probe.name or ""
        if is_call and name not in self._watched.by_last:
            name = ""
        groups, may_create = find(name, is_call, probe.operation in FIELDS)
        return probe._replace(groups=groups, may_create=may_create)

    def _groups(self, name: str, is_call: bool, is_field: bool) -> tuple[tuple[int, ...], bool]:
        """The groups of all that a place may report, and whether objects are born there. (): something else, too."""
        by_last = self._watched.by_last
        if is_field:
            watched = [each for each in by_last.get(name, ()) if each.wants & FIELD] + self._watched.readers
        elif not is_call:
            watched = [*by_last.get(name, ()), *by_last.get(IN_PLACE.get(name, ""), ())]
        else:  # by its name; otherwise by another, or through a variable
            watched = [each for each in self._watched.called if name in ("", each.last)]
        groups = self._watched.groups_of(watched)
        if groups is None:
            return (), False
        may_create = is_call and any(each.wants & (Want.NEW | Want.BIRTH) for each in watched)
        return tuple(sorted(groups or self._watched.groups)), may_create


def _escapes(code: CodeType, found: tuple[Probe, ...], callers: frozenset[str]) -> bool:
    """Does the code take one of these names, or the text of it, for something else than to call it at once?"""
    if callers.isdisjoint(code.co_names) and not any(type(each) is str and each in callers for each in code.co_consts):
        return False
    loaded = sum(name in callers for name in loaded_names(code))
    return loaded > sum(probe.operation in CALLS and probe.name in callers for probe in found)
