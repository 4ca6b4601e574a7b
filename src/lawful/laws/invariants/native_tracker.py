"""One rule and its objects, with their state in the C core."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lawful.laws.invariants.expressions import MISSING, Key, Ref, Step
from lawful.laws.invariants.tracker import LATE, NEVER, ObjectId, Observed, RuleViolation, Tracker
from lawful.laws.protocol import Event

if TYPE_CHECKING:
    from lawful._native._core import InvariantTracker
    from lawful.laws.invariants.rules import Rule

_Parts = tuple[Key, Event, dict[str, Any], str, tuple[Any, ...], dict[str, Any] | None]


class NativeTracker(Tracker):
    """The C core holds the objects. It calls `judge`, `violated`, `overdue` and `unjudged` for rare cases."""

    def __init__(self, rule: Rule, violations: deque[RuleViolation], kind: type[InvariantTracker]) -> None:
        super().__init__(rule, violations)
        self._core = kind(rule.native, Ref)
        self._core.plain = self.plain
        self._expressions = tuple(rule.expressions.values())

    def take(self, event: Event, key: Key, number: int) -> None:
        self._core.feed(self, [event], (number,))

    def feed(self, events: list[Event], numbers: Sequence[int]) -> int:
        return self._core.feed(self, events, numbers)

    # -- for the C core ---------------------------------------------------------------------------

    def judge(
        self, expression: int, parts: _Parts, target: ObjectId, number: int, if_unknown: bool | None
    ) -> bool | None:
        """Judge an expression that it cannot."""
        return self.verdict(self._expressions[expression], _step(parts, target, number), if_unknown)

    def violated(self, expression: int, parts: _Parts, target: ObjectId) -> None:
        self.broken(self._expressions[expression], _step(parts, target))

    def overdue(self, target: ObjectId, event: Event, gone: bool) -> None:
        self.owed(target, event, NEVER if gone else LATE)

    # -- objects ----------------------------------------------------------------------------------

    def prevented(self, number: int) -> None:
        self._core.prevented(number)

    def follows(self, target: ObjectId) -> bool:
        return target in self._core

    def forget(self, target: ObjectId) -> bool:
        self._core.forget(target)
        return bool(self.unknown or self.departed) and super().forget(target)

    def owes(self, target: ObjectId) -> bool:
        return self._core.owes(target)

    def take_ended(self) -> list[ObjectId]:
        return self._core.take_ended()

    def observed(self) -> Observed:
        seen, judgements, timeless, now = self._core.observed()
        return Observed(seen, self.judgements + judgements, timeless, now)

    # -- out and in -------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        objects, obligations = self._core.dump()
        own = {
            "objects": objects,
            "obligations": obligations,
            "ended": self._core.ended,
            "reports_ends": self._core.reports_ends,
        }
        return super().state() | own

    def restore(self, state: Mapping[str, Any]) -> None:
        super().restore(state)
        core = self._core
        seen, _, timeless, now = state["observed"]
        core.load(state["objects"], state["obligations"], self.unknown, seen, timeless, now)
        core.ended.extend(state["ended"])
        core.reports_ends = state["reports_ends"]


def _step(parts: _Parts, target: ObjectId, number: int = 0) -> Step:
    key, event, values, field, replaced, snapshot = parts
    return Step(key, event, values, target, number, field, replaced[0] if replaced else MISSING, snapshot)
