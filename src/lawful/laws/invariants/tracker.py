"""One rule on the objects that it is about: its violations, and its running state in pure Python.

The C core keeps the same state (`native_tracker.py`). The two give the same verdicts, and each loads what the other
has pickled.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict, deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from lawful.diagnostics import printable
from lawful.laws.invariants.expressions import FAULTS, GONE, MISSING, Expression, Key, NotYet, Step, value_of
from lawful.laws.invariants.rules import KeyPlan, Rule
from lawful.laws.protocol import Event

ObjectId = int | str

_NOTHING = ("", "")
_MOST_DEPARTED = 100_000
_END_OF_TIME = 1e15
_MOST_SHOWN = 4  # values of fields in a message

LATE = "it did not come in time"
NEVER = "the object is gone without it"


class RuleViolation(NamedTuple):
    """An invariant was broken."""

    object: ObjectId
    expected: str
    note: str  # what was found in its place
    about: Event  # what is to blame: for what did not come in time, that which asked for it


class Obligation(NamedTuple):
    """Something has to follow."""

    deadline: float
    event: Event  # that asks for it


class _TrackedObject:
    """The state of one object."""

    __slots__ = ("begun", "broken", "over", "snapshot", "values")

    def __init__(self, begun: bool) -> None:
        self.values: dict[str, Any] = {}
        self.begun = begun  # is it judged now?
        self.over = False  # for good
        self.broken = False  # is its state?
        self.snapshot: dict[str, Any] | None = None  # at the last step at which a transition was judged


class _PreviousState(NamedTuple):
    """How it was before an event."""

    number: int
    target: ObjectId
    step: Step
    begun: bool
    over: bool
    broken: bool
    snapshot: dict[str, Any] | None
    obligation: Obligation | None


class Observed(NamedTuple):
    """What a tracker has met with."""

    seen: set[Key]
    judgements: int
    timeless: int  # events without a time
    now: float | None  # the latest time


class Tracker(ABC):
    """One rule on the objects that it is about, whoever keeps them; and what its author should know."""

    def __init__(self, rule: Rule, violations: deque[RuleViolation]) -> None:
        self.rule = rule
        self.violations = violations  # of all rules, in the order in which they came up
        self.unknown: dict[ObjectId, None] = {}  # objects of which something could not be judged
        self.departed: dict[ObjectId, None] = {}  # those of them that are gone
        self.judgements = 0
        self.faults = 0
        self.first_fault = ""
        # Is it so simple that whoever knows an object's fields has judged it, and whoever does not has not?
        self.plain = rule.always is not None and rule.on is None and rule.from_ is None and rule.until is None

    # -- events and objects -----------------------------------------------------------------------

    @abstractmethod
    def take(self, event: Event, key: Key, number: int) -> None: ...

    def feed(self, events: list[Event], numbers: Sequence[int]) -> int:
        """Take events up to one with which something is broken; its place, or -1."""
        for place, event in enumerate(events):
            self.take(event, key_of(event), numbers[place])
            if self.violations:
                return place
        return -1

    @abstractmethod
    def prevented(self, number: int) -> None:
        """Go back to before the event of this number, if it is the last."""

    @abstractmethod
    def follows(self, target: ObjectId) -> bool: ...

    def forget(self, target: ObjectId) -> bool:
        """Stop following an object; was there something of it that could not be judged?"""
        if not self.unknown and not self.departed:
            return False
        unknown = target in self.unknown or target in self.departed
        self.unknown.pop(target, None)
        self.departed.pop(target, None)
        return unknown

    @abstractmethod
    def owes(self, target: ObjectId) -> bool:
        """Must something follow of an object?"""

    @abstractmethod
    def take_ended(self) -> list[ObjectId]:
        """Objects that came to the law's own end since this was last asked; to ask turns it on."""

    @abstractmethod
    def observed(self) -> Observed: ...

    # -- out and in -------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """All but the rule, as plain values."""
        return {
            "unknown": self.unknown,
            "departed": self.departed,
            "faults": self.faults,
            "first_fault": self.first_fault,
            "observed": tuple(self.observed()),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up a state, at the beginning."""
        self.unknown, self.departed = state["unknown"], state["departed"]
        self.faults, self.first_fault = state["faults"], state["first_fault"]
        self.judgements = state["observed"][1]

    # -- judging ----------------------------------------------------------------------------------

    def verdict(
        self, expression: Expression, step: Step, target: ObjectId, number: int, if_unknown: bool | None = None
    ) -> bool | None:
        """None: a value is not known yet. If the expression raises, the verdict is `if_unknown`."""
        try:
            verdict = bool(expression.evaluate(step))
        except NotYet:
            return None
        except FAULTS as error:
            self.faults += 1
            self.unknown[target] = None
            if self.faults == 1:
                text = printable(" ".join(str(error).split()))[:200]
                self.first_fault = f"`{expression.text}` on object {target} at event {number}: {text}"
            return if_unknown
        self.judgements += 1
        return verdict

    def broken(self, law: Expression, target: ObjectId, step: Step) -> None:
        self.violations.append(RuleViolation(target, law.text, _found(law, step), step.event))

    def owed(self, target: ObjectId, event: Event, note: str) -> None:
        then, within = self.rule.then, self.rule.given.within
        assert then is not None
        limit = within if isinstance(within, str) else f"{within}s"
        self.violations.append(RuleViolation(target, f"{then.text} within {limit}", note, event))

    def unjudged(self, target: ObjectId) -> None:
        """An object is gone, and was never judged."""
        self.unknown[target] = None
        self.departs(target)

    def departs(self, target: ObjectId) -> None:
        """An object is gone."""
        if target in self.unknown:
            del self.unknown[target]
            self.departed[target] = None
            if len(self.departed) > _MOST_DEPARTED:
                del self.departed[next(iter(self.departed))]

    # -- what its author should know --------------------------------------------------------------

    def remarks(self, ended: bool) -> Iterator[tuple[str, str]]:
        """Slugs and what is to be said."""
        if self.faults:
            times = "once" if self.faults == 1 else f"{self.faults} times"
            yield "invariant-unknown", f"it could not be judged {times}, first {self.first_fault}"
        if not ended:
            return
        rule, name = self.rule, self.rule.class_name
        seen, judgements, timeless, now = self.observed()
        if not seen:
            yield "invariant-class-unseen", f"{self._at('class')}no object of {name} was seen"
            return
        for key, each in rule.expressions.items():
            for field in each.fields:
                if ("field_write", f"{name}.{field}") not in seen:
                    place = self._at(f"{key}.{field}")
                    yield "invariant-field-unseen", f"{place}nothing wrote {name}.{field}, so nothing is known of it"
        if not judgements:
            for key, each in rule.expressions.items():
                for kind, call in each.calls:
                    if (kind, call) not in seen:
                        yield "invariant-call-unseen", f"{self._at(key)}no call of {call} was seen"
        if timeless and now is None and rule.within is not None:
            yield "invariant-timeless", "the events have no `time`, so no deadline can be judged"

    def _at(self, key: str) -> str:
        place = self.rule.places.get(key)
        return f"{place}: " if place else ""


class PythonTracker(Tracker):
    """The objects of one rule, in pure Python."""

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
            if key is GONE:  # another object's, or that of one of which nothing was seen
                if self.plain and self.reports_ends:
                    self.unjudged(target)
                return
            known = self.objects[target] = _TrackedObject(self.rule.from_ is None)
        self.seen.add(key)
        step = Step(key, event, known.values)
        name = plan.writes
        if name:
            step.field, step.replaced = name, known.values.get(name, MISSING)
            value = value_of(event)
            if value is MISSING:
                known.values.pop(name, None)  # it was deleted
            else:
                known.values[name] = value
        self._last = _PreviousState(
            number, target, step, known.begun, known.over, known.broken, known.snapshot, self.obligations.get(target)
        )
        if not known.over:
            self._judge(plan, target, known, step, number)
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

    def _judge(self, plan: KeyPlan, target: ObjectId, known: _TrackedObject, step: Step, number: int) -> None:
        if not known.begun:
            if not self._holds(plan.begins, step, target, number):
                return
            known.begun = True
        if plan.state is not None:
            self._judge_state(plan.state, target, known, step, number)
        elif plan.transition is not None:
            self._judge_transition(plan.transition, target, known, step, number)
        elif target in self.obligations and self._holds(plan.pays, step, target, number, if_unknown=True):
            del self.obligations[target]
        if self._holds(plan.ends, step, target, number, if_unknown=True):
            self.obligations.pop(target, None)
            known.broken, known.snapshot, known.begun = False, None, False
            known.over = self.rule.from_ is None
            if self.reports_ends:
                self.ended.append(target)
        elif self._holds(plan.asks, step, target, number):
            self._owe(target, step.event)

    def _owe(self, target: ObjectId, event: Event) -> None:
        # An earlier obligation is due sooner. A step that fulfils it may begin a new one.
        if self.now is not None and self.rule.within is not None and target not in self.obligations:
            self.obligations[target] = Obligation(self.now + self.rule.within, event)

    def _judge_state(self, law: Expression, target: ObjectId, known: _TrackedObject, step: Step, number: int) -> None:
        if self.rule.on is not None and not self._holds(self.rule.on, step, target, number):
            return
        holds = self.verdict(law, step, target, number)
        if holds is None:
            return
        # A state that stays broken is one violation, until it holds again; each call that should not be is another.
        if not holds and not (known.broken and step.field):
            self.broken(law, target, step)
        known.broken = not holds

    def _judge_transition(
        self, law: Expression, target: ObjectId, known: _TrackedObject, step: Step, number: int
    ) -> None:
        if self.rule.on is not None:
            if not self._holds(self.rule.on, step, target, number):
                return
            before, known.snapshot = known.snapshot, dict(known.values)
            if before is None:
                return
            step.snapshot = before
        if self.verdict(law, step, target, number) is False:
            self.broken(law, target, step)
        step.snapshot = None

    def _holds(
        self, condition: Expression | None, step: Step, target: ObjectId, number: int, *, if_unknown: bool = False
    ) -> bool:
        """Does a condition hold? Where that is unknown, the answer is the one that leads to no violation."""
        return condition is not None and self.verdict(condition, step, target, number, if_unknown) is True

    # -- objects ----------------------------------------------------------------------------------

    def prevented(self, number: int) -> None:
        last, self._last = self._last, None
        known = self.objects.get(last.target) if last is not None and last.number == number else None
        if last is None or known is None:
            return
        name = last.step.field
        if name:
            known.values.pop(name, None)
            if last.step.replaced is not MISSING:
                known.values[name] = last.step.replaced
        known.begun, known.over, known.broken, known.snapshot = last.begun, last.over, last.broken, last.snapshot
        if last.obligation is not self.obligations.get(last.target):
            self.obligations.pop(last.target, None)
            if last.obligation is not None:  # it was paid
                self.obligations[last.target] = last.obligation
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

    # -- out and in -------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        objects = {
            target: (known.begun, known.over, known.broken, known.values, known.snapshot)
            for target, known in self.objects.items()
        }
        obligations = {target: tuple(obligation) for target, obligation in self.obligations.items()}
        own = {"objects": objects, "obligations": obligations, "ended": self.ended, "reports_ends": self.reports_ends}
        return super().state() | own

    def restore(self, state: Mapping[str, Any]) -> None:
        super().restore(state)
        for target, (begun, over, broken, values, snapshot) in state["objects"].items():
            known = self.objects[target] = _TrackedObject(begun)
            known.over, known.broken, known.values, known.snapshot = over, broken, values, snapshot
        self.obligations.update(
            (target, Obligation(*obligation)) for target, obligation in state["obligations"].items()
        )
        self.ended, self.reports_ends = state["ended"], state["reports_ends"]
        self.seen, _, self.timeless, self.now = state["observed"]


def _found(law: Expression, step: Step) -> str:
    """The values that broke it."""
    names = sorted(law.fields)[:_MOST_SHOWN]
    before = step.values | ({step.field: step.replaced} if step.field else {})
    before = before if step.snapshot is None else step.snapshot
    shown: list[str] = []
    for name in names:
        if "old" in law.states:
            shown += [f"old.{name} is {_value(before.get(name, MISSING))}"]
        if "old" not in law.states or law.states - {"old"}:
            state = "new" if "new" in law.states else "o"
            shown += [f"{state}.{name} is {_value(step.values.get(name, MISSING))}"]
    return ", ".join(shown)


def _value(value: Any) -> str:
    if value is MISSING:
        return "not known"
    text = f"{value!r}" if not isinstance(value, int) or value.bit_length() < 1000 else "a large number"
    return printable(text if len(text) <= 60 else text[:59] + "…")


def key_of(event: Mapping[str, Any]) -> Key:
    kind, name = event.get("event"), event.get("name")
    if kind == "gone":
        return GONE
    return (kind, name) if kind.__class__ is str and name.__class__ is str else _NOTHING
