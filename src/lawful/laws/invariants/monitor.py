"""The running state of invariants as a monitor of a law: its verdicts, its violations, and the objects they are of."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from lawful import core
from lawful.events.event_kinds import to_dict
from lawful.laws.invariants.native_tracker import NativeTracker
from lawful.laws.invariants.python_tracker import PythonTracker
from lawful.laws.invariants.tracker import ObjectId, RuleViolation, Tracker, key_of
from lawful.laws.monitor_base import MonitorBase
from lawful.laws.protocol import Event, Expectation, Outcome, Verdict

if TYPE_CHECKING:
    from lawful.laws.invariants.law import InvariantLaw
    from lawful.laws.invariants.rules import Rule


def tracker(rule: Rule, violations: deque[RuleViolation]) -> Tracker:
    """By the C core, if there is one and it can do what the rule asks for."""
    if core.native is not None and rule.native is not None:
        return NativeTracker(rule, violations, core.native.InvariantTracker)
    return PythonTracker(rule, violations)


class InvariantMonitor(MonitorBase):
    """The running state of an invariant, or of several. It can be pickled.

    A write that breaks an invariant happens all the same, so `forgive` only goes on from there. One event can show
    several violations: it is rejected for the first, and once more for each call of `again`; without it, the next
    events or the end are rejected.
    """

    names_offender = True

    def __init__(self, law: InvariantLaw) -> None:
        super().__init__()
        self.law = law
        self._violations: deque[RuleViolation] = deque()
        self._trackers = [tracker(rule, self._violations) for rule in law.rules]

    # -- events -----------------------------------------------------------------------------------

    def _feed(self, events: list[Event], numbers: Sequence[int]) -> None:
        if len(numbers) != len(events):
            raise ValueError("there is not one number for each event")
        if self.rejected_at is None:
            place = self._take(events, numbers)
            if place >= 0:
                self.rejected_at = numbers[place]

    def _take(self, events: list[Event], numbers: Sequence[int]) -> int:
        """The place of the first event with which something is broken, or -1."""
        if len(self._trackers) == 1 and not self._violations:
            return self._trackers[0].feed(events, numbers)
        for place, event in enumerate(map(to_dict, events)):
            key = key_of(event)
            for each in self._trackers:
                each.take(event, key, numbers[place])
            if self._violations:
                return place
        return -1

    @property
    def takes_lazy_events(self) -> bool:
        """Can it be fed with events of the C core's tracer of which no dict was made?"""
        return all(isinstance(each, NativeTracker) for each in self._trackers)

    def forgive(self) -> bool:
        """Go on after the violation: the write or call that broke the invariant has happened."""
        if not isinstance(self.rejected_at, int):
            return False
        self.events = self.rejected_at
        self.rejected_at = None
        self._violations.popleft()
        return True

    def again(self) -> bool:
        """After `forgive`: did the same event show another violation? Then it is rejected once more, for that one."""
        if self._violations and self.rejected_at is None and self._ended is None:
            self.rejected_at = self.events
        return isinstance(self.rejected_at, int)

    def prevented(self, number: int) -> None:
        """The event of this number, the last one, did not happen after all: this or another law raised an exception."""
        for each in self._trackers:
            each.prevented(number)

    # -- objects ----------------------------------------------------------------------------------

    @property
    def offender(self) -> ObjectId | None:
        """The object that broke the invariant at the rejected event."""
        return self._violations[0].object if self._violations else None

    def forget(self, object_id: ObjectId) -> bool:
        """Stop following an object; was there something of it that could not be judged?"""
        unknown = [each.forget(object_id) for each in self._trackers]
        return any(unknown)

    def owes(self, object_id: ObjectId) -> bool:
        """Must something follow of an object, for which there is still time?"""
        return any(tracker.owes(object_id) for tracker in self._trackers)

    def take_ended(self) -> list[ObjectId]:
        """Objects that came to the law's own end (`until`) since the last call. The first call turns this on."""
        return [target for each in self._trackers for target in each.take_ended()]

    # -- verdicts --------------------------------------------------------------------------------

    @property
    def _accepts(self) -> bool:
        """A deadline that has not passed is not a violation. At the end, obligations that became due together are."""
        return not self._violations

    @property
    def _open_verdict(self) -> Verdict:
        if self.rejected_at is not None:
            return Verdict.FALSE
        return Verdict.CURRENTLY_FALSE if self._violations else Verdict.CURRENTLY_TRUE

    def outcome(self) -> Outcome:
        verdict = Verdict.FALSE if self.rejected_at is not None else Verdict.CURRENTLY_TRUE
        return Outcome(self._accepts, verdict, self.rejected_at, None, self.events)

    def expectation(self, event: Event | None = None) -> Expectation:
        return _expectation(self._violations[0]) if self._violations else Expectation((), {})

    def pending(self, most: int) -> tuple[Expectation, ...]:
        return tuple(map(_expectation, list(self._violations)[:most]))

    def relevant(self, event: Event, values: Iterable[Any]) -> bool:
        key = key_of(event)
        if not any(key in rule.keys for rule in self.law.rules):
            return False
        wanted = list(values)
        target = event.get("targetId")
        if wanted:
            return any(type(target) is type(each) and target == each for each in wanted)
        if key[0] != "gone" or target.__class__ not in (int, str):
            return key[0] != "gone"
        return any(each.follows(target) for each in self._trackers)

    def warnings(self) -> tuple[str, ...]:
        """Expressions that could not be judged, and at the end names that no event had."""
        ended = self._ended is not None
        remarks = (remark for each in self._trackers for remark in each.remarks(ended))
        return tuple(dict.fromkeys(f"{slug}: {text}" for slug, text in remarks))

    # -- out and in -------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """Rules are made of functions: they stay with the law. Which core goes on with it is decided anew."""
        return self.__dict__ | {"_trackers": [each.state() for each in self._trackers]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._trackers = [tracker(rule, self._violations) for rule in self.law.rules]
        for each, saved in zip(self._trackers, state["_trackers"], strict=True):
            each.restore(saved)


def _expectation(violation: RuleViolation) -> Expectation:
    # Bindings hold ids only: other values would be taken for objects.
    return Expectation((violation.expected,), {"o": violation.object}, note=violation.note, about=violation.about)
