"""Code objects that the pure-Python tracer watches, and the planner's answers about code, callees and classes."""

from __future__ import annotations

from types import CodeType, FrameType, FunctionType
from typing import Any, Final

from lawful.sources.python.frames import stack_bottom
from lawful.sources.python.identity import IdentityCache
from lawful.sources.python.per_object import PerObject
from lawful.sources.python.sites import lines
from lawful.sources.python.tracer_protocol import Callee, CodePlan, Event, Operation, Want, WatchPlanner, as_events

_WITHOUT_END: Final = (Operation.SET_FIELD, Operation.DELETE_FIELD)
_STACK: Final = 8  # places that `born` has
_DEPTH: Final = 200  # frames among which they are looked for


class WatchedCode:
    """A code object with a plan, and what its hooks must know of it."""

    def __init__(self, code: CodeType, plan: CodePlan) -> None:
        self.own = self.start_unreported = plan.own
        self.groups = plan.groups
        self.may_create = plan.may_create
        self.second_tool = False  # the second tool of `sys.monitoring` gets its starts and ends
        self.second_tool_start = False  # the second tool gets its starts, only to report that it runs
        self.has_disabled = False  # the interpreter skips something in it
        self.armed = False  # the interpreter reports the wanted places in it
        self.callee = _as_events(plan.callee)
        self.file = plan.file
        self.probes = {probe.offset: probe for probe in plan.probes}
        self.lines = lines(code) if self.probes else {}
        ended = (probe for probe in self.probes.values() if probe.result >= 0 and probe.operation not in _WITHOUT_END)
        self.results = {probe.result: probe for probe in ended}
        self.bottom = stack_bottom(code)
        self.cells = frozenset(code.co_cellvars)


class WatchedCodes:
    """The watched code objects of a tracer, as long as these live."""

    def __init__(self, planner: WatchPlanner) -> None:
        self._planner = planner
        self._codes: PerObject[WatchedCode] = PerObject()
        self._own_files: PerObject[str] = PerObject()  # of code that the hooks do not watch; "": it is not own code
        self.get, self.living = self._codes.get, self._codes.items

    def plan(self, frame: FrameType) -> WatchedCode | None:
        """Ask the planner about the code of a frame, if it was not seen before or was of no interest."""
        plan = self._ask(frame)
        return None if plan is None else self._codes.setdefault(frame.f_code, WatchedCode(frame.f_code, plan))

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
        """The code whose next start the hooks must report."""
        found = []
        for code, known in self.living() if self.reports_starts else ():
            if known.own and not known.start_unreported:
                known.start_unreported = True
                found.append((code, known))
        return found

    def clear(self) -> None:
        """The planner is asked anew about all code if watching begins again."""
        self._codes.clear()
        self._own_files.clear()

    def site(self, frame: FrameType, wants: Want) -> Event:
        """File and line of the nearest caller that is own code, else of the direct one."""
        if not wants & Want.SITE:
            return {}
        direct = caller = frame.f_back
        while caller is not None:
            if file := self._own_file(caller):
                return {"file": file, "line": caller.f_lineno or 0}
            caller = caller.f_back
        return {} if direct is None else {"file": direct.f_code.co_filename, "line": direct.f_lineno or 0}

    def stack(self, frame: FrameType | None) -> list[str]:
        """The innermost places of own code; without own code, the innermost place."""
        found: list[str] = []
        first = frame
        for _ in range(_DEPTH):
            if frame is None or len(found) == _STACK:
                break
            if file := self._own_file(frame):
                found.append(_place(file, frame))
            frame = frame.f_back
        return found if found or first is None else [_place(first.f_code.co_filename, first)]

    def _own_file(self, frame: FrameType) -> str:
        """The file of a frame if its code is own code. It has no hooks if it began before the tracer."""
        code = frame.f_code
        known = self.get(code)
        if known is not None:
            return known.file if known.own else ""
        file = self._own_files.get(code)
        if file is None:
            plan = self._ask(frame)
            file = plan.file if plan is not None and plan.own else ""
            self._own_files.put(code, file)
        return file


def _place(file: str, frame: FrameType) -> str:
    return f"{file}:{frame.f_lineno or 0} {frame.f_code.co_qualname}"


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
