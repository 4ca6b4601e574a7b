"""One law on the events of a running program, or of a trace."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from lawful import core
from lawful.engine.findings import Event
from lawful.events.event_kinds import to_dict
from lawful.laws.protocol import Expectation, Law, Monitor, Outcome, Verdict

if TYPE_CHECKING:
    from lawful.engine.sample_tracking import SampleTracking


_NOTED = 16  # events, of one law
_MOST_PREPARATIONS = 3


class LawQueue:
    """The events for one law that are not judged yet, and what routing must know of the law. The C core has a twin."""

    __slots__ = ("events", "ignores_unseen_end", "numbers", "takes_lazy_events", "tracks_objects")

    def __init__(self, tracks_objects: bool, takes_lazy_events: bool) -> None:
        self.tracks_objects = tracks_objects
        self.takes_lazy_events = takes_lazy_events
        self.ignores_unseen_end = False
        self.events: list[Event] = []
        self.numbers: list[int] = []  # that they have in the run

    def take(self) -> tuple[list[Event], list[int]]:
        """The events and their numbers; the queue is empty then."""
        taken = self.events, self.numbers
        self.events, self.numbers = [], []
        return taken


Broken = Callable[["LawJudge", Event, int], bool]
"""Called with an event that broke a law, and its number, before the law takes it; returns whether it is a finding."""


class LawJudge:
    """One law on the events of a running program, or of a trace.

    After an event that it rejects, the law goes on as if that event had not come. A law that can accept nothing more is
    lost: it is over, but on a whole trace it goes on to the event that it rejects, as `Law.check`.
    """

    def __init__(
        self,
        law: Law,
        tracking: SampleTracking | None = None,
        *,
        whole: Law | None = None,
        whole_trace: bool = False,
        first_only: bool = False,
    ) -> None:
        """`whole` is the law of which it may be a part. With `first_only` it is over after one violation."""
        self.law = law
        self.whole = law if whole is None else whole
        self._whole_trace = whole_trace
        self._first_only = first_only
        self.monitor: Monitor = law.monitor()
        self.subjects = None if tracking is None else law.subjects  # if it is sampled
        self.kind = "" if tracking is None or self.subjects is None else tracking.class_of(law)  # of objects
        if self.subjects is not None:
            self.monitor.take_ended()  # from now on somebody asks
        self.verdict = self.monitor.verdict  # after the last batch; an interruption may leave the monitor in a batch
        self.lost = self.monitor.doomed_at is not None
        self.over = self.verdict is Verdict.TRUE or (self.lost and not whole_trace)
        self._first: Outcome | None = None  # with the first rejected event
        kind = LawQueue if core.native is None else core.native.LawQueue
        self.queue: LawQueue = kind(law.tracks_objects, self.monitor.takes_lazy_events)
        self._update_queue()
        self.paused = False
        self.first_events: list[Event] = []  # in a child: the first ones there, which help to prepare the next child
        self.notes = 0  # how many more of these to note
        self.prepared_for = 0  # how often the law was prepared

    def offender(self, event: Event | None) -> int | str | None:
        """The object that has just broken it."""
        if self.subjects is None:
            return None
        offender = self.monitor.offender
        return self.subjects.of(event) if offender is None and event is not None else offender

    def offenders_of(self, expectation: Expectation) -> list[int | str]:
        """The objects, or the group, that the expected event is missing for."""
        binding = None if self.subjects is None else self.subjects.binding
        values = [value for name, value in expectation.bindings.items() if binding is None or name == binding]
        return [value for value in values if isinstance(value, int | str)]

    def judge(self, broken: Broken) -> None:
        """Take the events in the queue; `broken` is called for those that break the law."""
        events, numbers = self.queue.take()
        if self.notes:
            noted = events[: self.notes]
            self.first_events += noted
            self.notes -= len(noted)
        self.judge_events(events, numbers, broken)
        self._update_queue()

    def result(self) -> Outcome:
        """The outcome so far: that of `Law.check`, as far as the trace was judged. `events` are those of the law."""
        return self.monitor.outcome() if self._first is None else self._first

    def after_fork_in_child(self) -> None:
        """Note the first events here, unless the law was prepared often enough."""
        self.first_events = []
        self.notes = _NOTED if self.prepared_for < _MOST_PREPARATIONS and self.monitor.prepares_late else 0

    def prepare_for(self, events: list[Event]) -> None:
        """Do once, before a fork, what each child would do: read the law's text, and try such events on a stand-in."""
        if self.prepared_for < _MOST_PREPARATIONS and self.monitor.prepares_late:
            self.prepared_for += 1
            self.monitor.prepare()
            stand_in = self.law.monitor()
            stand_in.feed(events)
            stand_in.ignores_unseen_end  # noqa: B018  (it is asked for after each batch)

    def _update_queue(self) -> None:
        queue = self.queue
        queue.ignores_unseen_end = queue.tracks_objects and not self.over and self.monitor.ignores_unseen_end

    def judge_events(self, events: list[Event], numbers: Sequence[int], broken: Broken) -> None:
        """Take these events, which have these numbers in the run."""
        monitor, start, span = self.monitor, 0, len(events)
        if self.lost:  # and still to find out which event is rejected
            self.verdict = monitor.feed(events, numbers)
            self.over = monitor.rejected_at is not None
            return
        while start < len(events):
            # Events after a violation are fed again: so, where there are many, few at once.
            if span == len(events):
                verdict = monitor.feed(events, numbers)
            else:
                verdict = monitor.feed(events[start : start + span], numbers[start : start + span])
            self.verdict = verdict
            if verdict is not Verdict.FALSE:
                if verdict is Verdict.TRUE:
                    self.over = True
                    return
                start, span = start + span, 2 * span
                continue
            place = monitor.rejected_at if monitor.doomed_at is None else monitor.doomed_at
            assert isinstance(place, int)
            index = bisect_left(numbers, place, start)
            if self._reject(to_dict(events[index]), place, broken):
                return
            start, span = index + 1, 1

    def _reject(self, event: Event, place: int, broken: Broken) -> bool:
        """An event broke the law; is there nothing more to judge in this batch?"""
        monitor = self.monitor
        found = broken(self, event, place)
        if self._first is None and monitor.doomed_at is None:
            self._first = monitor.outcome()
        if not monitor.forgive():
            self.lost = True
            self.over = not self._whole_trace or self._first_only or monitor.rejected_at is not None
            return True
        while monitor.again():
            found = broken(self, event, place) or found
            monitor.forgive()
        self.over = self._first_only and found
        return self.over
