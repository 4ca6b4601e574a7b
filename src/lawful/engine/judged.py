"""One law on the events of a running program."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import TYPE_CHECKING

from lawful.engine.findings import Event
from lawful.laws.protocol import Law, Monitor, Verdict

if TYPE_CHECKING:
    from lawful.engine.sampling import Lives


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
        self.hears = bool(getattr(law, "acquainted", False))  # must it be told of the end of what it has heard of?
        self.aloof = self._is_aloof()  # now: the end of a stranger does not concern it
        self.paused = False
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
        self._judge(events, numbers, broken)
        self.aloof = self._is_aloof()

    def _is_aloof(self) -> bool:
        return self.hears and not self.over and bool(getattr(self.monitor, "aloof", False))

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
            broken(self, events[index], place)
            if not monitor.forgive():
                self.over = True
                return
            while monitor.again():
                broken(self, events[index], place)
                monitor.forgive()
            start, span = index + 1, 1
