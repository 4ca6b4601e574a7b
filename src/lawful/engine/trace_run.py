"""One trace under the eyes of several laws: a single pass, whatever their number."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from lawful.engine.evidence import merged, met, values_of
from lawful.engine.findings import Event, Finding
from lawful.engine.history import Recent, Search, read_again
from lawful.engine.routing import Routes
from lawful.errors import TraceError
from lawful.events.reader import TraceReader, open_trace
from lawful.laws.protocol import Expectation, Law, Monitor, Verdict

_NOTHING = Expectation((), {})
_FEW_LAWS = 3  # a law passes over an event as fast as one can tell whether it would


@dataclass
class Settings:
    """How traces are read and judged."""

    skip_bad: bool = False
    fail_fast: bool = False  # stop at the first event that some law rejects
    history: int = 10  # how many earlier events a finding shows


class Case:
    """One law on one trace."""

    def __init__(self, law: Law, whole: Law | None = None) -> None:
        self.law = law
        self.whole = law if whole is None else whole  # of which it may be a part
        self.monitor: Monitor = law.monitor()
        # The monitor may be in the middle of a batch when the run is interrupted: this is what it said last.
        self.verdict: Verdict = self.monitor.verdict
        self.accepted: bool | None = None  # None: not decided
        self.finding: Finding | None = None
        self.event: Event | None = None
        self.doomed_event: Event | None = None

    @property
    def broken(self) -> bool:
        return self.verdict is Verdict.FALSE or self.accepted is False

    def feed(self, events: list[Event], numbers: Sequence[int]) -> bool:
        """Judge further events, which have these numbers in the trace; is this law decided now?"""
        monitor = self.monitor
        self.verdict = monitor.feed(events, numbers)
        if self.verdict is not Verdict.FALSE:
            return self.verdict is Verdict.TRUE
        if self.doomed_event is None and monitor.doomed_at is not None and monitor.doomed_at >= numbers[0]:
            self.doomed_event = events[bisect_left(numbers, monitor.doomed_at)]
        if isinstance(monitor.rejected_at, int):
            self.event = events[bisect_left(numbers, monitor.rejected_at)]
            self.accepted = False
            return True
        return False

    def end(self) -> None:
        """The trace is over."""
        self.monitor.end()
        outcome = self.monitor.outcome()
        self.accepted, self.verdict = outcome.accepted, outcome.verdict


class TraceRun:
    """Judges one trace by several laws."""

    def __init__(
        self,
        laws: Sequence[Law],
        source: str,
        settings: Settings,
        *,
        on_finding: Callable[[Case], None] | None = None,
    ) -> None:
        """`on_finding` is told of the violations of a stream when they happen; a file's are known when it is read.

        It can be told twice of a law: when it is lost, and when an event is rejected.
        """
        self.cases = [Case(part, law) for law in laws for part in law.parts]
        self.name = source if source != "-" else "<stdin>"
        self.events = 0
        """How many were judged; more may have been read."""
        self.bad_lines = 0
        self.seconds = 0.0
        """How long it took to read and judge it."""
        self.complete = False
        """Was the trace judged to its end? Not if everything was decided before, or if something went wrong."""
        self.drained = False
        """Was the rest of a stream read, but not judged?"""
        self.error: TraceError | None = None
        self.disorder: list[str] = []
        """What could not be put in order, where events say in which order they were sent."""
        self._ordered = any(case.law.language == "view" for case in self.cases)  # laws about messages
        self._source = source
        self._settings = settings
        self._on_finding = on_finding
        self._recent: Recent | None = None

    @property
    def broken(self) -> list[Case]:
        return [case for case in self.cases if case.broken]

    def run(self, watched: Callable[[TraceReader], Iterable[list[Event]]] = TraceReader.batches) -> None:
        """Read and judge. A fault of the trace is kept in `error`; what was decided before it stays decided.

        `watched` gives the reader's batches, and may look at how far it is.
        """
        began = perf_counter()
        try:
            with open_trace(self._source, skip_bad=self._settings.skip_bad, ordered=self._ordered) as reader:
                if self._source == "-" or reader.size is None:
                    self._recent = Recent()
                try:
                    self._judge(reader, watched)
                finally:
                    self.bad_lines = reader.bad_lines
                    if reader.order is not None:
                        self.disorder = list(reader.order.warnings())
                    self.seconds = perf_counter() - began
        except TraceError as error:
            self.error = error
        self.conclude()

    def _judge(self, reader: TraceReader, watched: Callable[[TraceReader], Iterable[list[Event]]]) -> None:
        shares = _Shares(self.cases)
        size = 0
        for batch in watched(reader):
            fed, decided = [], []
            for case, events, numbers in shares.of(batch, self.events + 1):
                fed.append(case)
                if case.feed(events, numbers):
                    decided.append(case)
            self.events += len(batch)
            if self._recent is not None:
                self._recent.add(batch, reader.bytes_read - size)
                size = reader.bytes_read
                self._report_live(fed)
            if decided:
                shares.leave(decided)
                if not shares.cases or (self._settings.fail_fast and any(case.broken for case in decided)):
                    self.complete = self._recent is None and _is_over(reader)
                    break
        else:
            self.complete = True
        if not self.complete and reader.size is None and not self._settings.fail_fast:
            reader.drain()  # leaving a pipe would kill the program that writes to it
            self.drained = True
        if self.complete:
            for case in self.cases:
                case.end()

    def _report_live(self, cases: list[Case]) -> None:
        for case in cases:
            # Lost before and not rejected yet: that was told.
            if case.broken and (case.finding is None or case.event is not None):
                self._find([case])
                if self._on_finding is not None:
                    self._on_finding(case)

    def conclude(self) -> None:
        """Find the evidence for all violations that have none yet. (After an interruption, this is left to do.)"""
        for case in self.cases:
            # What is true stays true: that needs no end of the trace.
            if case.accepted is None and case.verdict is Verdict.TRUE:
                case.end()
        self._find([case for case in self.broken if case.finding is None or case.finding.rejected_at is None])

    def _find(self, cases: list[Case]) -> None:
        searches: list[tuple[Finding, Search]] = []
        for case in cases:
            case.finding, search = self._finding(case)
            if self._settings.history and search.before > 1:
                searches.append((case.finding, search))
        self._search([search for _, search in searches])
        # Values that came up for the first time have no past: then what the law saw last is the best there is.
        searches = [(finding, search if search.found else search.for_anything()) for finding, search in searches]
        self._search([search for _, search in searches if not search.found])
        # What these objects have met may have brought the law here: a collection is changed under its iterator.
        further = []
        for _, search in searches:
            if others := met(search.monitor, search.values, search.found):
                further.append(Search(search.monitor, others, search.before, search.most))
        self._search(further)
        for finding, search in searches:
            related = next((each.found for each in further if each.monitor is search.monitor), ())
            finding.history, finding.history_note = merged(search.found, related, search.most), search.note

    def _search(self, searches: list[Search]) -> None:
        if not searches:
            return
        if self._recent is None:
            read_again(self._source, searches, skip_bad=self._settings.skip_bad, ordered=self._ordered)
        else:
            self._recent.search(searches)

    def _finding(self, case: Case) -> tuple[Finding, Search]:
        monitor = case.monitor
        rejected_at, doomed_at = monitor.rejected_at, monitor.doomed_at
        # Once lost, what the law would still take leads nowhere.
        expectation = _NOTHING if rejected_at is None else monitor.expectation(case.event)
        finding = Finding(rejected_at, case.event, expectation, doomed_at, case.doomed_event, law=case.law.name)
        event = case.event if rejected_at is not None else case.doomed_event
        values = values_of(monitor, expectation, event)
        return finding, Search(monitor, values, self._place(monitor), self._settings.history)

    def earlier(self, case: Case, values: Sequence[Any], most: int) -> Search:
        """The last events before a violation that the law takes notice of, with one of these values (any, if none)."""
        search = Search(case.monitor, values, self._place(case.monitor), most)
        self._search([search])
        return search

    def _place(self, monitor: Monitor) -> int:
        """The number of the event at which the law broke; at the end, the one that would have come."""
        if monitor.rejected_at == "end":
            return self.events + 1
        return monitor.rejected_at if monitor.rejected_at is not None else monitor.doomed_at or 0


class _Shares:
    """Which events of a batch each law is given: all, or where the law does not mind, only those that it can match."""

    def __init__(self, cases: Sequence[Case]) -> None:
        self.cases = list(cases)  # that are not decided
        selective = [case for case in cases if case.law.selective]
        self._routes = Routes((case, case.law) for case in selective) if len(selective) > _FEW_LAWS else None
        self._inboxes: dict[Case, list[int]] = {case: [] for case in selective} if self._routes is not None else {}

    def of(self, batch: list[Event], start: int) -> Iterator[tuple[Case, list[Event], Sequence[int]]]:
        """The laws that are concerned, in order, with their events and the numbers of these."""
        if not batch:
            return
        self._sort(batch, start)
        every = range(start, start + len(batch))
        for case in self.cases:
            numbers = self._inboxes.get(case)
            if numbers is None:
                yield case, batch, every
            elif numbers:
                self._inboxes[case] = []
                yield case, [batch[number - start] for number in numbers], numbers

    def _sort(self, batch: list[Event], start: int) -> None:
        routes, inboxes = self._routes, self._inboxes
        if routes is None:
            return
        if start == 1:  # which every law must be given
            for inbox in inboxes.values():
                inbox.append(1)
        for number, event in enumerate(batch[1:] if start == 1 else batch, 2 if start == 1 else start):
            try:
                concerned = routes[event["event"], event.get("name")]
            except (KeyError, TypeError):  # it has no kind, or its name is no word
                concerned = routes.find(event.get("event"), event.get("name"))
            for case in concerned:
                inboxes[case].append(number)

    def leave(self, decided: Iterable[Case]) -> None:
        """These need no more events."""
        gone = set(decided)
        self.cases = [case for case in self.cases if case not in gone]
        for case in gone:
            if self._routes is not None and self._inboxes.pop(case, None) is not None:
                self._routes.drop(case)


def _is_over(reader: TraceReader) -> bool:
    """Was the last batch the end of the file? Small traces are read to their end, whatever their laws say."""
    try:
        return next(reader.batches(), None) is None
    except TraceError:
        return False
