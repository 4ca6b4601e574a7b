"""Code objects that the pure-Python tracer watches, and what the planner says about code, callees and classes."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from types import CodeType, FrameType, FunctionType
from typing import Any, Final

from lawful.sources.python.frames import stack_bottom
from lawful.sources.python.identity import IdentityCache
from lawful.sources.python.tracer_protocol import Callee, CodePlan, Event, Operation, Want, WatchPlanner, as_events

_WITHOUT_END: Final = (Operation.SET_FIELD, Operation.DELETE_FIELD)
_STACK: Final = 8
"""Places that `born` has."""
_DEPTH: Final = 200
"""Frames among which they are looked for."""


class WatchedCode:
    """A code object with a plan, and what its hooks must know of it."""

    __slots__ = (
        "__weakref__", "armed", "bottom", "callee", "cells", "file", "groups", "has_disabled", "may_create", "own",
        "probes", "ref", "results", "second_tool", "second_tool_start", "start_unreported",
    )  # fmt: skip

    def __init__(self, code: CodeType, plan: CodePlan, forget: Callable[[object], None] | None = None) -> None:
        self.ref = weakref.ref(code, forget)
        self.own = self.start_unreported = plan.own
        self.groups = plan.groups
        self.may_create = plan.may_create
        self.second_tool = False  # the second tool of `sys.monitoring` gets its starts and ends
        self.second_tool_start = False  # the second tool gets its starts, which say nothing but that it runs
        self.has_disabled = False  # the interpreter skips something in it
        self.armed = False  # the interpreter reports the wanted places in it
        self.callee = _as_events(plan.callee)
        self.file = plan.file
        self.probes = {probe.offset: probe for probe in plan.probes}
        ended = (probe for probe in self.probes.values() if probe.result >= 0 and probe.operation not in _WITHOUT_END)
        self.results = {probe.result: probe for probe in ended}
        self.bottom = stack_bottom(code)
        self.cells = frozenset(code.co_cellvars)


class WatchedCodes:
    """The watched code objects of a tracer, as long as these live."""

    def __init__(self, planner: WatchPlanner) -> None:
        self._planner = planner
        self._codes: dict[int, WatchedCode] = {}
        self._places: IdentityCache[WatchedCode | None] = IdentityCache()

    def get(self, code: CodeType) -> WatchedCode | None:
        known = self._codes.get(id(code))
        return known if known is not None and known.ref() is code else None

    def plan(self, frame: FrameType) -> WatchedCode | None:
        """Ask the planner about the code of a frame, if it was not seen before or was of no interest."""
        plan = self._ask(frame)
        if plan is None:
            return None
        code = frame.f_code
        key = id(code)

        def forget(_: object, codes: dict[int, WatchedCode] = self._codes) -> None:
            codes.pop(key, None)

        made = WatchedCode(code, plan, forget)
        known = self._codes.setdefault(key, made)
        if known.ref() is not code:  # a code object that is gone had this address
            known = self._codes[key] = made
        return known  # another thread may have been quicker

    def _ask(self, frame: FrameType) -> CodePlan | None:
        module = frame.f_globals.get("__name__")
        return self._planner.plan(frame.f_code, module if type(module) is str else "?")

    def report_start(self, known: WatchedCode, code: CodeType) -> None:
        """Own code starts: report that once."""
        if known.start_unreported:
            known.start_unreported = False
            if (on_seen := self._planner.on_seen) is not None:
                on_seen(code)

    @property
    def reports_starts(self) -> bool:
        """Does somebody want to know which code starts?"""
        return self._planner.on_seen is not None

    def rearm(self) -> list[tuple[CodeType, WatchedCode]]:
        """The code whose next start is to be reported."""
        found = []
        for code, known in self.living() if self.reports_starts else ():
            if known.own and not known.start_unreported:
                known.start_unreported = True
                found.append((code, known))
        return found

    def living(self) -> list[tuple[CodeType, WatchedCode]]:
        return [(code, known) for known in list(self._codes.values()) if (code := known.ref()) is not None]

    def clear(self) -> None:
        """The planner is asked anew about all code if watching begins again."""
        self._codes.clear()
        self._places.clear()

    # -- places ----------------------------------------------------------------------------------

    def site(self, frame: FrameType, wants: Want) -> Event:
        """File and line of the nearest caller that is own code, else of the direct one."""
        if not wants & Want.SITE:
            return {}
        direct = caller = frame.f_back
        while caller is not None:
            known = self._place(caller)
            if known is not None and known.own:
                return {"file": known.file, "line": caller.f_lineno or 0}
            caller = caller.f_back
        return {} if direct is None else {"file": direct.f_code.co_filename, "line": direct.f_lineno or 0}

    def stack(self, frame: FrameType | None) -> list[str]:
        """The innermost places of own code; without own code, the innermost place."""
        found: list[str] = []
        first = frame
        for _ in range(_DEPTH):
            if frame is None or len(found) == _STACK:
                break
            known = self._place(frame)
            if known is not None and known.own:
                found.append(f"{known.file}:{frame.f_lineno or 0} {frame.f_code.co_qualname}")
            frame = frame.f_back
        if not found and first is not None:
            found.append(f"{first.f_code.co_filename}:{first.f_lineno or 0} {first.f_code.co_qualname}")
        return found

    def _place(self, frame: FrameType) -> WatchedCode | None:
        """The code of a frame. If the frame began before the tracer it has no hooks, but it may be a place."""
        code = frame.f_code
        known = self.get(code)
        if known is not None:
            return known

        def ask() -> WatchedCode | None:
            plan = self._ask(frame)
            return None if plan is None else WatchedCode(code, plan)

        return self._places.find(ask, code)


class PlannerAnswers:
    """Asks the planner once about each function, class or attribute, and remembers the answer while these live."""

    def __init__(self, planner: WatchPlanner) -> None:
        self._planner = planner
        self._callees: IdentityCache[Callee | None] = IdentityCache()
        self._receivers: IdentityCache[Callee | None] = IdentityCache()
        self._operations: IdentityCache[Callee | None] = IdentityCache()
        self._fields: IdentityCache[Callee | None] = IdentityCache()
        self._class_names: IdentityCache[str] = IdentityCache()

    def callee(self, function: Any, receiver: type | None) -> Callee | None:
        subject = function
        if type(function) is FunctionType and not function.__code__.co_freevars:
            # Functions that close over something may be a decorator's: these share their code, but not their name.
            subject = function.__code__
        return self._callees.find(lambda: _as_events(self._planner.callee(function, receiver)), subject, receiver)

    def receiver_callee(self, code: CodeType, kind: type) -> Callee | None:
        return self._receivers.find(lambda: _as_events(self._planner.receiver_callee(code, kind)), code, kind)

    def operation(self, name: str, kind: type) -> Callee | None:
        return self._operations.find(lambda: _as_events(self._planner.operation(name, kind)), kind, name=name)

    def field(self, name: str, kind: type) -> Callee | None:
        return self._fields.find(lambda: _as_events(self._planner.field(name, kind)), kind, name=name)

    def class_name(self, kind: type) -> str:
        return self._class_names.find(lambda: self._planner.class_name(kind), kind)


def _as_events(callee: Callee | None) -> Callee | None:
    return None if callee is None else callee._replace(wants=as_events(callee.wants))
