"""Decides which code and which callees are watched: what laws can match, and what scopes ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import CodeType
from typing import Any, Final

from lawful.laws.protocol import Law
from lawful.sources.python import names
from lawful.sources.python.callee_decisions import CalleeDecisions
from lawful.sources.python.code_decisions import CodeDecisions
from lawful.sources.python.probe_decisions import ProbeDecisions
from lawful.sources.python.scope import Scope
from lawful.sources.python.tracer_protocol import LEARNING, Callee, CodePlan, Sampling, Want, WatchPlanner
from lawful.sources.python.watched_names import CALL, FIELD, FUNCTION, NOTES, NOTHING, WatchedNames

SCOPE_DETAIL: Final = CALL | Want.NEW | NOTES
"""The details of events that only a scope asks for."""


class LawWatchPlanner(WatchPlanner):
    """Implements `WatchPlanner`. `main`: the name laws may use for the main module, beside `__main__`.

    `detail`: the events and fields of callees that only a scope asks for. If `learn`, Lawful learns from the scope,
    whose callees then have no events unless `detail` says so. With `sampling`, the tracer reports only samples where
    nobody wants more. It samples the `groups`; it reports all objects of other groups.
    """

    on_seen: Callable[[CodeType], object] | None = None

    def __init__(
        self,
        laws: Iterable[Law],
        scope: Scope,
        *,
        main: str | None = None,
        detail: Want | None = None,
        learn: bool = False,
        sampling: Sampling | None = None,
    ) -> None:
        self.scope = scope
        self.main = main
        if detail is None:
            detail = NOTHING if learn else SCOPE_DETAIL
        only_learn = learn and not detail & (CALL | Want.NEW)
        detail |= Want.SITE | (LEARNING if learn else NOTHING) | (NOTHING if only_learn else FIELD)
        if scope.public or scope.calls or scope.fields or learn:
            sampling = None  # they want to see everything
        self._watched = watched = WatchedNames(laws, main, sampling)
        self.groups = watched.groups
        self.unnamed = watched.unnamed  # laws about events of any name: they see only what others cause
        self.gone = watched.gone  # is a law about the end of objects?
        self.codes = CodeDecisions(watched, scope, detail, learn=learn)
        self._probes = ProbeDecisions(watched, scope, self.codes, only_learn=only_learn)
        self._callees = CalleeDecisions(watched, scope, self.codes, detail, learn=learn)

    @property
    def warnings(self) -> list[str]:
        """What Lawful could not watch, for the user."""
        unreadable = self._probes.unreadable
        if not unreadable:
            return []
        others = len(unreadable) - 1
        more = f" and {others} other function{'s' if others > 1 else ''}" if others else ""
        return [f"Lawful did not see all that {unreadable[0]}{more} did: Python's compiler did not make the bytecode"]

    def plan(self, code: CodeType, module: str) -> CodePlan | None:
        filename = code.co_filename
        if self.scope.lawful(filename):
            return None
        own = self.scope.own(filename)
        self._watched.refresh()
        decision = self.codes.plan(code, module)
        self._probes.count_plan(code)
        callee = decision.callee
        if callee is None and decision.reports:
            mask = FUNCTION if decision.may_be_method else NOTHING
            mask |= Want.NEW if decision.reports_new else NOTHING
            mask |= Want.BIRTH if decision.may_create else NOTHING
            wants = self._watched.wants & (mask | NOTES) | decision.scope_wants
            callee = Callee(names.code_name(code, module), wants)
        found, escapes = self._probes.probes(code, own=own)
        if callee is None and not found and not own:
            return None
        groups = self.codes.groups(code, module, decision) if self.groups and callee is not None else ()
        return CodePlan(callee, found, self.scope.event_file(filename), own, escapes, groups, decision.may_create)

    def callee(self, function: Any, receiver: type | None) -> Callee | None:
        self._watched.refresh()
        return self._callees.callee(function, receiver)

    def receiver_callee(self, code: CodeType, receiver: type) -> Callee | None:
        self._watched.refresh()
        decision = self.codes.planned(code)
        return None if decision is None else self.codes.receiver_callee(code, receiver, decision)

    def operation(self, name: str, owner: type) -> Callee | None:
        self._watched.refresh()
        return self._callees.operation(name, owner)

    def field(self, name: str, owner: type) -> Callee | None:
        self._watched.refresh()
        return self._callees.field(name, owner)

    def class_name(self, kind: type) -> str:
        self._watched.refresh()
        return self._watched.class_name(kind)
