"""One rule on the objects that it is about, with their state in pure Python.

The C core keeps the same state (`native_tracker.py`). The two give the same verdicts, and each loads what the other
has pickled: tests/laws/invariants/test_invariants_cores.py compares them.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from lawful.laws.invariants.expressions import GONE, MISSING, Expression, Key, Step, value_of
from lawful.laws.invariants.rules import KeyPlan, Rule
from lawful.laws.invariants.tracker import LATE, NEVER, ObjectId, Observed, RuleViolation, Tracker
from lawful.laws.protocol import Event

_END_OF_TIME: Final = 1e15


class Obligation(NamedTuple):
    """Something has to follow."""

    deadline: float
    event: Event  # that asks for it


@dataclass(slots=True)
class _TrackedObject:
    """The state of one object."""

    begun: bool  # is it judged now?
    over: bool = False  # is it not judged any more?
    broken: bool = False  # is its state?
    values: dict[str, Any] = field(default_factory=dict)
    snapshot: dict[str, Any] | None = None  # its values when a transition was last judged

    def saved(self) -> tuple[Any, ...]:
        """Its fields, to make a copy."""
        return self.begun, self.over, self.broken, self.values, self.snapshot


class _PreviousState(NamedTuple):
    """How an object was before a step; its values are those of the step."""

    step: Step
    object: _TrackedObject
    obligation: Obligation | None


class PythonTracker(Tracker):
    """The objects of one rule."""

    def __init__(self, rule: Rule, violations: deque[RuleViolation]) -> None:
        super().__init__(rule, violations)
        self.objects: dict[ObjectId, _TrackedObject] = {}
        self.obligations: OrderedDict[ObjectId, Obligation] = OrderedDict()  # the next deadline first
        self.now: float | None = None
        self.ended: list[ObjectId] = []
        self.reports_ends = False
        self.seen: set[Key] = set()
        self.timeless = 0
        self._last: _PreviousState | None = None

    # -- events -----------------------------------------------------------------------------------

    def take(self, event: Event, key: Key, number: int) -> None:
        if self.rule.within is not None:
            self._pass_time(event)
        plan = self.rule.plans.get(key)
        target = event.get("targetId")
        if plan is None or target.__class__ not in (int, str):
            return
        known = self.objects.get(target)
        if known is None:
            if key is GONE:  # of another class, or without any event before
                if self.plain and self.reports_ends:
                    self.unjudged(target)
                return
            known = self.objects[target] = _TrackedObject(self.rule.from_ is None)
        self.seen.add(key)
        step = Step(key, event, known.values, target, number)
        name = plan.writes
        if name:
            step.field, step.replaced = name, known.values.get(name, MISSING)
            value = value_of(event)
            if value is MISSING:
                known.values.pop(name, None)  # it was deleted
            else:
                known.values[name] = value
        self._last = _PreviousState(step, _TrackedObject(*known.saved()), self.obligations.get(target))
        if not known.over:
            self._judge(plan, known, step)
        if key is GONE:
            self._gone(target)

    def _pass_time(self, event: Event) -> None:
        time = event.get("time")
        if time.__class__ in (float, int) and -_END_OF_TIME < time < _END_OF_TIME:
            if self.now is None or time > self.now:
                self.now = float(time)
        else:
            self.timeless += 1
        while self.obligations:
            target, obligation = next(iter(self.obligations.items()))
            if self.now is None or self.now <= obligation.deadline:
                break
            del self.obligations[target]
            self.owed(target, obligation.event, LATE)

    def _gone(self, target: ObjectId) -> None:
        obligation = self.obligations.pop(target, None)
        if obligation is not None:
            self.owed(target, obligation.event, NEVER)
        known = self.objects.pop(target)
        if self.plain and self.rule.always is not None and not self.rule.always.fields.keys() <= known.values.keys():
            self.unjudged(target)
        self.departs(target)

    def _judge(self, plan: KeyPlan, known: _TrackedObject, step: Step) -> None:
        target = step.target
        if not known.begun:
            if not self._holds(plan.begins, step):
                return
            known.begun = True
        if plan.state is not None:
            self._judge_state(plan.state, known, step)
        elif plan.transition is not None:
            self._judge_transition(plan.transition, known, step)
        elif target in self.obligations and self._holds(plan.pays, step, if_unknown=True):
            del self.obligations[target]
        if self._holds(plan.ends, step, if_unknown=True):
            self.obligations.pop(target, None)
            known.broken, known.snapshot, known.begun = False, None, False
            known.over = self.rule.from_ is None
            if self.reports_ends:
                self.ended.append(target)
        elif self._holds(plan.asks, step) and self.now is not None and target not in self.obligations:
            # An earlier obligation is due sooner. A step that fulfils it may begin a new one.
            self.obligations[target] = Obligation(self.now + (self.rule.within or 0.0), step.event)

    def _judge_state(self, law: Expression, known: _TrackedObject, step: Step) -> None:
        if self.rule.on is not None and not self._holds(self.rule.on, step):
            return
        holds = self.verdict(law, step)
        if holds is None:
            return
        # A state that stays broken is one violation, until it holds again; each forbidden call is another.
        if not holds and not (known.broken and step.field):
            self.broken(law, step)
        known.broken = not holds

    def _judge_transition(self, law: Expression, known: _TrackedObject, step: Step) -> None:
        if self.rule.on is not None:
            if not self._holds(self.rule.on, step):
                return
            step.snapshot, known.snapshot = known.snapshot, dict(known.values)
            if step.snapshot is None:
                return
        if self.verdict(law, step) is False:
            self.broken(law, step)
        step.snapshot = None

    def _holds(self, condition: Expression | None, step: Step, *, if_unknown: bool = False) -> bool:
        """Does a condition hold? Where that is unknown, the answer is the one that leads to no violation."""
        return condition is not None and self.verdict(condition, step, if_unknown) is True

    # -- objects ----------------------------------------------------------------------------------

    def prevented(self, number: int) -> None:
        last, self._last = self._last, None
        if last is None or last.step.number != number or last.step.target not in self.objects:
            return
        target, name, values = last.step.target, last.step.field, last.step.values
        if name:
            values.pop(name, None)
            if last.step.replaced is not MISSING:
                values[name] = last.step.replaced
        self.objects[target] = last.object
        if last.obligation is not self.obligations.get(target):
            self.obligations.pop(target, None)
            if last.obligation is not None:  # it was fulfilled
                self.obligations[target] = last.obligation
                self.obligations = OrderedDict(sorted(self.obligations.items(), key=lambda each: each[1].deadline))

    def follows(self, target: ObjectId) -> bool:
        return target in self.objects

    def forget(self, target: ObjectId) -> bool:
        self.objects.pop(target, None)
        self.obligations.pop(target, None)
        return super().forget(target)

    def owes(self, target: ObjectId) -> bool:
        return target in self.obligations

    def take_ended(self) -> list[ObjectId]:
        self.reports_ends = True
        found, self.ended = self.ended, []
        return found

    def observed(self) -> Observed:
        return Observed(self.seen, self.judgements, self.timeless, self.now)

    # -- pickling ---------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        objects = {target: each.saved() for target, each in self.objects.items()}
        obligations = {target: tuple(obligation) for target, obligation in self.obligations.items()}
        own = {"objects": objects, "obligations": obligations, "ended": self.ended, "reports_ends": self.reports_ends}
        return super().state() | own

    def restore(self, state: Mapping[str, Any]) -> None:
        super().restore(state)
        self.objects.update((target, _TrackedObject(*saved)) for target, saved in state["objects"].items())
        self.obligations.update((target, Obligation(*saved)) for target, saved in state["obligations"].items())
        self.ended, self.reports_ends = state["ended"], state["reports_ends"]
        self.seen, _, self.timeless, self.now = state["observed"]
