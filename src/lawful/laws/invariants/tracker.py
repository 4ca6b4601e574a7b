"""One rule and its objects: the part that the trackers in Python and in the C core share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from lawful.diagnostics import printable
from lawful.laws.invariants.expressions import FAULTS, GONE, MISSING, Expression, Key, NotYet, Step, shown
from lawful.laws.invariants.rules import Rule
from lawful.laws.protocol import Event

ObjectId = int | str

_NOTHING = ("", "")
_MOST_DEPARTED = 100_000
_MOST_SHOWN = 4  # values of fields in a message

LATE = "it did not come in time"
NEVER = "the object is gone without it"


class RuleViolation(NamedTuple):
    """An invariant was broken."""

    object: ObjectId
    expected: str
    note: str  # what was found in its place
    about: Event  # the event to blame; if something did not come in time, the event that asked for it


class Observed(NamedTuple):
    """Statistics of a tracker, for warnings."""

    seen: set[Key]
    judgements: int
    timeless: int  # events without a time
    now: float | None  # the latest time


class Tracker(ABC):
    """Judges one rule on its objects, and warns its author."""

    def __init__(self, rule: Rule, violations: deque[RuleViolation]) -> None:
        self.rule = rule
        self.violations = violations  # of all rules, in the order in which they came up
        self.unknown: dict[ObjectId, None] = {}  # objects that could not be judged completely
        self.departed: dict[ObjectId, None] = {}  # those of them that are gone
        self.judgements = 0
        self.faults = 0
        self.first_fault = ""
        # Is an object judged exactly if all its fields are known?
        self.plain = rule.always is not None and rule.on is None and rule.from_ is None and rule.until is None

    # -- events and objects -----------------------------------------------------------------------

    @abstractmethod
    def take(self, event: Event, key: Key, number: int) -> None: ...

    def feed(self, events: list[Event], numbers: Sequence[int]) -> int:
        """Take events up to one that breaks the rule; its place, or -1."""
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
        """Stop following an object; was something about it not judged?"""
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
        """Objects that came to the law's own end since the last call. The first call turns this on."""

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

    def verdict(self, expression: Expression, step: Step, if_unknown: bool | None = None) -> bool | None:
        """None: a value is not known yet. If the expression raises, the verdict is `if_unknown`."""
        try:
            verdict = bool(expression.evaluate(step))
        except NotYet:
            return None
        except FAULTS as error:
            self.faults += 1
            self.unknown[step.target] = None
            if self.faults == 1:
                text = printable(" ".join(str(error).split()))[:200]
                self.first_fault = f"`{expression.text}` on object {step.target} at event {step.number}: {text}"
            return if_unknown
        self.judgements += 1
        return verdict

    def broken(self, law: Expression, step: Step) -> None:
        self.violations.append(RuleViolation(step.target, law.text, _found(law, step), step.event))

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

    # -- warnings ---------------------------------------------------------------------------------

    def remarks(self, ended: bool) -> Iterator[tuple[str, str]]:
        """Warnings for the author of the rule: slugs and texts."""
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
    return "not known" if value is MISSING else printable(shown(value))


def key_of(event: Mapping[str, Any]) -> Key:
    kind, name = event.get("event"), event.get("name")
    if kind == "gone":
        return GONE
    return (kind, name) if kind.__class__ is str and name.__class__ is str else _NOTHING
