"""Traces as a source of events: each is read once, and judged by laws as the events of a program are."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Literal

from lawful.engine.findings import Event, Finding, time_of
from lawful.engine.run import LawRun
from lawful.errors import TraceError
from lawful.events.reader import TraceReader, open_trace
from lawful.laws.protocol import Law, Verdict

if TYPE_CHECKING:
    from lawful.engine.evidence import Evidence
    from lawful.engine.law_judge import LawJudge
    from lawful.engine.sample_tracking import SampleTracking
    from lawful.engine.suppressions import Suppressions

# The limits of what is kept of a stream until something is found: events may be many and small, or few and large.
_KEPT_EVENTS = 10_000
_KEPT_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True)
class TraceSettings:
    """How traces are read and judged."""

    skip_bad: bool = False
    first_only: bool = False  # stop at the first violation
    history: int = 10  # how many earlier events a finding shows
    messages: int = 0  # how many earlier messages a diagram of a view shows


@dataclass(frozen=True, slots=True)
class LawResult:
    """What became of one law on one trace: the outcome of `Law.check`, as far as the trace was judged."""

    law: Law
    whole: Law  # of which it may be a part
    accepted: bool | None  # None: not decided
    verdict: Verdict
    rejected_at: int | Literal["end"] | None
    doomed_at: int | None
    warnings: tuple[str, ...]


class TraceRun:
    """One trace: reads it, and gives its events to a run of laws."""

    def __init__(
        self,
        laws: Sequence[Law],
        source: str,
        settings: TraceSettings | None = None,
        *,
        on_finding: Callable[[Finding], None] | None = None,
        tracking: SampleTracking | None = None,
        suppressions: Suppressions | None = None,
    ) -> None:
        """`on_finding` is called for each finding of a stream when it is made; a file's are known when it is read."""
        self._settings = settings or TraceSettings()
        self._on_finding = on_finding
        self.law_run = LawRun(
            laws,
            history=self._settings.history,
            messages=self._settings.messages,
            on_finding=self._found,
            tracking=tracking,
            suppressions=suppressions,
            whole_trace=tracking is None,
            first_only=self._settings.first_only,
        )
        self.name = source if source != "-" else "<stdin>"
        self.bad_lines = 0
        self.seconds = 0.0  # that it took to read and judge it
        self.complete = False  # was it judged to its end? Not if all was decided before, or after an error
        self.drained = False  # was the rest of a stream read, but not judged?
        self.error: TraceError | None = None
        self.disorder: list[str] = []  # warnings about messages that could not be put in order
        self._ordered = any(law.language == "view" for law in laws)
        self._source = source
        self._stream: _LastBatches | None = None

    @property
    def events(self) -> int:
        """How many events were judged; more may have been read."""
        return self.law_run.events

    @property
    def findings(self) -> list[Finding]:
        return self.law_run.findings

    @property
    def results(self) -> list[LawResult]:
        return [self._result(each) for each in self.law_run.laws]

    def _result(self, judge: LawJudge) -> LawResult:
        outcome = judge.result()
        decided = self.complete or outcome.rejected_at is not None or judge.verdict is Verdict.TRUE
        accepted = outcome.accepted if decided else False if judge.lost else None
        verdict = outcome.verdict if decided else judge.verdict
        warnings = judge.monitor.warnings()
        return LawResult(judge.law, judge.whole, accepted, verdict, outcome.rejected_at, outcome.doomed_at, warnings)

    def _found(self, finding: Finding) -> None:
        if self._on_finding is not None and self._stream is not None:
            self._on_finding(finding)

    def run(self, watched: Callable[[TraceReader], Iterable[list[Event]]] = TraceReader.batches) -> None:
        """Read and judge; `error` keeps what is wrong with the trace. `watched` may observe the reader's progress."""
        began = perf_counter()
        try:
            with self._open() as reader:
                try:
                    self._judge(reader, watched)
                finally:
                    self.bad_lines = reader.bad_lines
                    if reader.order is not None:
                        self.disorder = list(reader.order.warnings())
                    self.seconds = perf_counter() - began
        except TraceError as error:
            self.error = error
        except KeyboardInterrupt:
            self.law_run.evidence.explain()  # the findings of the interrupted batch
            raise

    def _open(self) -> TraceReader:
        return open_trace(self._source, skip_bad=self._settings.skip_bad, ordered=self._ordered)

    def _judge(self, reader: TraceReader, watched: Callable[[TraceReader], Iterable[list[Event]]]) -> None:
        run, sampled = self.law_run, self.law_run.tracking is not None
        if self._source == "-" or reader.size is None:
            self._stream = _LastBatches(run.evidence)
        if not sampled:  # samples are followed as they come
            run.evidence.read_before = self._read_again if self._stream is None else self._stream.before
        for batch in watched(reader):
            run.deliver(batch)
            if sampled and batch and (time := time_of(batch[-1])) is not None:
                run.tick(time)  # events that do not concern a law tell it the time
            if self._stream is not None:
                self._stream.add(batch, reader.bytes_read)
            if all(each.over for each in run.laws) or (self._settings.first_only and run.log):
                self.complete = self._stream is None and _is_over(reader)
                break
        else:
            self.complete = True
        if not self.complete and reader.size is None and not self._settings.first_only:
            reader.drain()  # leaving a pipe would kill the program that writes to it
            self.drained = True
        if self.complete:
            run.end()
            if run.fault is not None:
                raise run.fault

    def _read_again(self, first: int) -> Iterator[list[tuple[int, Event]]]:
        """All events before that of this number."""
        try:
            with self._open() as reader:
                start = 1
                for batch in reader.batches():
                    if start >= first:
                        return
                    yield list(enumerate(batch[: first - start], start))
                    start += len(batch)
        except TraceError as error:
            self.law_run.evidence.missing = f"the trace could not be read again: {error.message}"


class _LastBatches:
    """The last events of a stream, which cannot be read again."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._batches: deque[tuple[int, list[Event], int]] = deque()
        self._events = 0
        self._bytes = 0
        self._next = 1
        self._needed = True

    def add(self, batch: list[Event], read: int) -> None:
        """Keep a batch, if nothing was found yet, and drop the oldest that are too many; `read`: bytes so far."""
        if not self._needed:
            return
        self._batches.append((self._next, batch, read))
        self._next += len(batch)
        self._events += len(batch)
        while len(self._batches) > 1 and (self._events > _KEPT_EVENTS or read - self._batches[0][2] > _KEPT_BYTES):
            self._events -= len(self._batches.popleft()[1])

    def before(self, first: int) -> Iterator[list[tuple[int, Event]]]:
        """The kept events before that of this number, for the first finding; then the run keeps events itself."""
        if self._batches and self._batches[0][0] > 1:
            self._evidence.missing = f"events before #{self._batches[0][0]} are not kept from a stream"
        yield from (list(enumerate(batch, start)) for start, batch, _ in self._batches)
        self._batches.clear()
        self._needed = False


def _is_over(reader: TraceReader) -> bool:
    """Was the last batch the end of the file? Small traces are read to their end, whatever their laws say."""
    try:
        return next(reader.batches(), None) is None
    except TraceError:
        return False
