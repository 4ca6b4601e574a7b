"""One law on the events of a running program."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lawful.engine.findings import Event
from lawful.events.event_kinds import to_dict
from lawful.laws.protocol import Expectation, Law, Monitor, Verdict

if TYPE_CHECKING:
    from lawful.engine.sample_tracking import Lives


_NOTED = 16  # events, of one law
_REHEARSALS = 3


class LiveLaw:
    """One law on the events of a running program: only those that it can match, so that laws do not disturb each other.

    After an event that it rejects, the law goes on as if that event had not come.
    """

    def __init__(self, law: Law, lives: Lives | None = None) -> None:
        self.law = law
        self.monitor: Monitor = law.monitor()
        self.subjects = None if lives is None else law.subjects  # if it is sampled
        self.kind = "" if lives is None or self.subjects is None else lives.class_of(law)  # of objects
        if self.subjects is not None:
            self.ended()  # from now on somebody asks
        self.over = self.monitor.verdict is Verdict.TRUE or self.monitor.doomed_at is not None
        self.hears = bool(getattr(law, "tracks_objects", False))  # must it be told of the end of what it has heard of?
        self.aloof = self._is_aloof()  # now: the end of a stranger does not concern it
        self.brief = bool(getattr(self.monitor, "brief", False))  # can it judge events of which no dict was made?
        self.paused = False
        self.first: list[Event] = []  # in a child: the first that it was given there, for the next child's sake
        self.notes = 0  # how many of these are still to be noted
        self.rehearsed = 0  # how often that was made use of
        self.events: list[Event] = []  # that have come
        self.numbers: list[int] = []  # that they have in the run

    def offender(self, event: Event | None) -> int | str | None:
        """The object that has just broken it."""
        if self.subjects is None:
            return None
        offender = getattr(self.monitor, "offender", None)
        if offender is None and event is not None:
            return self.subjects.of(event)
        return offender

    def offenders_of(self, expectation: Expectation) -> list[int | str]:
        """The objects, or the group, that lack what is expected."""
        bound: str | None = getattr(self.subjects, "bound", None)  # the one name, if others stand for data
        values = [value for name, value in expectation.bindings.items() if bound is None or name == bound]
        return [value for value in values if isinstance(value, int | str)]

    @property
    def tells_offenders(self) -> bool:
        """Does it say at once which object has broken it, also by what it did not do?"""
        return hasattr(self.monitor, "offender")

    def owes(self, target: int | str) -> bool:
        """Does it wait for something that an object must do in time?"""
        owes = getattr(self.monitor, "owes", None)
        return owes is not None and owes(target)

    def ended(self) -> list[int | str]:
        """Objects whose lives, as far as this law goes, have come to an end since this was last asked."""
        take_ended = getattr(self.monitor, "take_ended", None)
        return take_ended() if take_ended is not None else []

    def judge(self, broken: Callable[[LiveLaw, Event, int], None]) -> None:
        """Take the events that have come, and tell of those that break the law while it is as it was before them."""
        numbers, events = self.numbers, self.events
        self.numbers, self.events = [], []
        if self.notes:
            noted = events[: self.notes]
            self.first += noted
            self.notes -= len(noted)
        self._judge(events, numbers, broken)
        self.aloof = self._is_aloof()

    def after_fork_in_child(self) -> None:
        """Note what would be of use to other children, unless it was to this one."""
        self.first = []
        self.notes = _NOTED if self.rehearsed < _REHEARSALS and hasattr(self.monitor, "begin") else 0

    def rehearse(self, events: list[Event]) -> None:
        """Do once, in front of a fork, what would be done in each child: read the law, and see what such events do.

        That changes nothing but what is known of the law's text.
        """
        if self.rehearsed < _REHEARSALS and hasattr(self.monitor, "begin"):
            self.rehearsed += 1
            self.monitor.begin()
            stand_in: Any = self.law.monitor()
            stand_in.feed(events)
            stand_in.aloof  # noqa: B018  (it is asked for after each batch)

    def _is_aloof(self) -> bool:
        return self.hears and not self.over and bool(getattr(self.monitor, "ignores_unseen_end", False))

    def _judge(self, events: list[Event], numbers: list[int], broken: Callable[[LiveLaw, Event, int], None]) -> None:
        monitor, start, span = self.monitor, 0, len(events)
        while start < len(events):
            # What is fed behind a violation is fed again: so, where there are many, little at once.
            if span == len(events):
                verdict = monitor.feed(events, numbers)
            else:
                verdict = monitor.feed(events[start : start + span], numbers[start : start + span])
            if verdict is not Verdict.FALSE:
                if verdict is Verdict.TRUE:
                    self.over = True
                    return
                start, span = start + span, 2 * span
                continue
            place = monitor.rejected_at if monitor.doomed_at is None else monitor.doomed_at
            assert isinstance(place, int)
            index = bisect_left(numbers, place, start)
            event = to_dict(events[index])
            broken(self, event, place)
            if not monitor.forgive():
                self.over = True
                return
            while monitor.again():
                broken(self, event, place)
                monitor.forgive()
            start, span = index + 1, 1
