"""One run: the events of a program, or of a trace, go through laws, and findings come out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lawful.engine.dispatch import LawSet
from lawful.engine.evidence import Evidence
from lawful.engine.finding_log import FindingLog
from lawful.engine.findings import Event, Finding, is_message
from lawful.engine.inline_messages import InlineMessages, JudgingLock
from lawful.engine.law_judge import LawJudge
from lawful.engine.recording import write_batch
from lawful.engine.run_counts import RunCounts, in_words, is_programs
from lawful.engine.violations import Offence, OnViolation, ViolationResponse
from lawful.laws.protocol import Law, Verdict

if TYPE_CHECKING:
    from lawful.engine.live_learning import LiveLearner
    from lawful.engine.sample_tracking import SampleTracking
    from lawful.engine.suppressions import Suppressions
    from lawful.events.writer import TraceWriter

_MOST_PENDING = 10_000  # instances that were left open at the end, of one law


class LawRun(RunCounts):
    """Laws, their findings, and internal errors.

    `deliver` takes events on any thread. With `on_violation` `raise` or `stop` it must get each event alone, when it
    happens, and raises `Violation` or `Stop`. Another error is kept in `fault`, and ends the watching. So does an
    exception that a signal handler of the program raises here: it is passed on, and laws may have missed events.
    """

    def __init__(
        self,
        laws: Sequence[Law],
        *,
        history: int = 10,
        on_violation: OnViolation = "report",
        on_finding: Callable[[Finding], None] | None = None,
        writer: TraceWriter | None = None,
        tracking: SampleTracking | None = None,
        messages: int = 0,
        suppressions: Suppressions | None = None,
        whole_trace: bool = False,
        first_only: bool = False,
    ) -> None:
        """`on_finding` is called once for each finding, when it is first made; its count may still grow.

        `messages`: how many earlier ones a finding about a view shows. `tracking`: laws about objects see samples only.
        `whole_trace`: laws judge as `Law.check` does. `first_only`: a law is over after one violation.
        """
        super().__init__()
        self.tracking = tracking
        self._whole_trace = whole_trace
        self.law_set = LawSet(laws, tracking, whole_trace=whole_trace, first_only=first_only)
        self.fault: BaseException | None = None
        self.ended = False
        self.learner: LiveLearner | None = None  # at the end, if rules were learned
        self.on_violation: OnViolation = on_violation
        self._response = ViolationResponse(on_violation)
        self._on_finding = on_finding
        self._writer = writer
        self.evidence = Evidence(history, messages)
        self.log = FindingLog(self.evidence, suppressions)
        enabled = tracking is None and not whole_trace
        self.inline = InlineMessages(self.evidence.recent, lambda: self.law_set.router.routes, enabled=enabled)
        self._number = 0  # of the last event; a forked child counts on
        self._laws_changed()
        self._offence: Offence | None = None  # the last violation in the batch
        self._lock = JudgingLock(self.inline, lambda: self._take_inline(), self._may_open)
        self._late: list[Event] = []  # of a signal handler that ran in the middle of the judging
        self._find_lost(self.laws)
        self._lock.reopen()

    # -- results ----------------------------------------------------------------------------------

    @property
    def laws(self) -> list[LawJudge]:
        return self.law_set.judges

    @property
    def findings(self) -> list[Finding]:
        """All findings, in the order in which they were made."""
        return self.log.findings

    @property
    def events(self) -> int:
        """How many events were judged."""
        return self._events + self.inline.count

    @property
    def threads(self) -> int:
        """How many threads had events."""
        return max(self._threads, self.inline.threads)

    @property
    def violations(self) -> int:
        """How often laws were broken."""
        return self.log.violations

    @property
    def failed(self) -> bool:
        """Are there findings or, where violations are only counted, too many of these?"""
        return bool(self.log) or (
            self.on_violation == "count" and self.tracking is not None and self.tracking.confidence.refuted
        )

    @property
    def warnings(self) -> list[str]:
        """What went wrong without stopping anything."""
        own = self.law_set.warnings(elsewhere=self.processes > 1)
        return list(dict.fromkeys([*own, *self._warnings]))

    # -- events -----------------------------------------------------------------------------------

    def deliver(self, batch: list[Event]) -> None:
        """Judge the next events."""
        if self.fault is not None or self.ended:
            return
        if self._lock.mine:
            self._late += batch
            return
        try:
            with self._reporting():
                offence = self._judge(batch)
                if self._response.prevents(offence):
                    self._take_back(len(batch))
                while self._late:
                    late, self._late = self._late, []
                    self._judge(late)
        except BaseException as error:
            self.fail(error)
            # An exception stops a tracer that gathers events, and goes no further. A tracer that hands over each event
            # at once passes it on to the program.
            if not self._response.at_once or not isinstance(error, Exception) or is_programs(error):
                raise
            return
        self._stop_for(offence)
        self._response.act(offence, batch[-1] if batch else None)

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        """Judge while no other thread does, and then report the findings that are new."""
        with self._lock.judge():
            known = len(self.log)
            yield
            new = self.findings[known:] if len(self.log) > known else []
        if self._on_finding is not None:
            for finding in new:
                self._on_finding(finding)

    def _judge(self, batch: list[Event]) -> Offence | None:
        """Judge a batch; the last violation in it."""
        if self._writer is not None and (fault := write_batch(self._writer, batch)) is not None:
            self._writer = None
            self.errors.append(fault)
        router, first = self.law_set.router, self._number + 1
        if self._whole_trace:
            self.evidence.keep_batch(first, batch)
        thread = router.dispatch(batch, first, [] if self._whole_trace else self.evidence.kept)
        self._threads = max(self._threads, thread)
        self._events += len(batch)
        self._number += len(batch)
        self._offence = None
        for each in self.laws:
            if each.queue.events:
                each.judge(self._broken)
            elif each in router.direct and batch:
                each.judge_events(batch, range(first, first + len(batch)), self._broken)
            else:
                continue
            if each.over:
                router.drop(each)
                self.inline.laws_changed()
        if self.tracking is not None:
            self.tracking.settle(self.laws)
        self.evidence.explain()
        return self._offence

    def _broken(self, judge: LawJudge, event: Event | None, number: int) -> bool:
        """An event broke a law, which is still in the state before it. Is that a finding?"""
        made: Event | None = None
        if self.tracking is not None and judge.subjects is not None:
            life = self.tracking.violated(judge, judge.offender(event))
            if self.on_violation == "count":
                return False
            made = None if life is None or is_message(life.birth) else life.birth
        finding = self.log.violation(judge, event, number, made)
        if finding is not None and event is not None:
            self._offence = finding, event
        return finding is not None

    def _find_lost(self, laws: Iterable[LawJudge]) -> None:
        """Report laws that are lost before the first event."""
        for each in laws:
            if each.lost:
                self._broken(each, None, self._number)
        self.evidence.explain()

    def _take_back(self, batch: int) -> None:
        """The last events will not happen; a message has two, for sender and receiver."""
        for number in range(self._number, self._number - batch, -1):
            for each in self.laws:
                each.monitor.prevented(number)

    def _stop_for(self, offence: Offence | None) -> None:
        self._response.stop_for(offence)
        if self._response.stopping is not None:
            self.inline.close()

    def tick(self, time: float) -> None:
        """Tell laws that wait for something how much time has passed; all events up to then were delivered."""
        if self.fault is not None or self.ended or not self.law_set.router.routes["tick", None]:
            return
        try:
            with self._reporting():
                offence = self._judge([{"event": "tick", "time": time}])
                self._events -= 1  # the program did not make it
            self._stop_for(offence)
        except Exception as error:
            self.fail(error)

    def fail(self, error: BaseException) -> None:
        """Keep an internal error, of the run or of the tracer, and stop judging."""
        if self.fault is None:
            self.fault = error
            self.errors.append(in_words(error))
        self.inline.close()

    def settle(self) -> None:
        """Take over messages that were judged without events, so that few of them wait."""
        self._lock.settle()

    def _take_inline(self) -> None:
        count, seconds = self.inline.take(self._number + 1)
        self._events += count
        self._number += count
        self.judging += seconds

    def _may_open(self) -> bool:
        """May messages be judged without events while no thread judges?"""
        wanted = self._writer is not None or bool(self._late)  # the trace needs the events, or earlier ones wait
        return not (wanted or self.ended or self.fault is not None or self._response.stopping is not None)

    # -- laws that come and go --------------------------------------------------------------------

    def add(self, laws: Sequence[Law]) -> None:
        """Judge by these laws, too, from the next event on."""
        with self._changing():
            self._find_lost(self.law_set.add(laws))

    def remove(self, name: str) -> None:
        """Remove a law. Its findings stay."""
        with self._changing():
            self.law_set.remove(name)

    def pause(self, name: str, paused: bool) -> None:
        """Pause a law, or resume it in its first state, since it has missed events."""
        with self._changing():
            self.law_set.pause(name, paused)

    @contextmanager
    def _changing(self) -> Iterator[None]:
        with self._lock.change():
            try:
                yield
                self.law_set.route()
                self._laws_changed()
            finally:
                self.inline.laws_changed()

    def _laws_changed(self) -> None:
        # Laws that name the offending object at once report nothing about objects that are gone.
        self.evidence.recent.keeps_gone = not all(each.monitor.names_offender for each in self.laws)

    def record(self, writer: TraceWriter | None) -> TraceWriter | None:
        """Write events there from now on, or nowhere; returns the writer before."""
        with self._changing():
            before, self._writer = self._writer, writer
            return before

    # -- the end ----------------------------------------------------------------------------------

    def end(self, *, verdict: bool = True) -> None:
        """The program, or the watching, is over. Without `verdict`, as in a forked child, laws do not judge the end."""
        if self.ended:
            return
        try:
            with self._reporting():
                if verdict and self.fault is None and not self.dropped:
                    for each in self.laws:
                        self._judge_end(each)
                    if self.tracking is not None:
                        self.tracking.end()
        except Exception as error:
            self.fail(error)
        self.ended = True
        self._lock.reopen()

    def _judge_end(self, judge: LawJudge) -> None:
        monitor = judge.monitor
        if judge.over or judge.paused or monitor.end() is not Verdict.FALSE or judge.lost:
            return
        most = _MOST_PENDING
        tracking = None if judge.subjects is None else self.tracking  # if it is sampled
        if tracking is not None:
            most = max(most, tracking.seemed_clean(judge))
        for expectation in monitor.pending(most) or (monitor.expectation(),):
            if tracking is not None:
                for target in judge.offenders_of(expectation):
                    tracking.violated(judge, target)
                if self.on_violation == "count":
                    continue
            self.log.violation_at_end(judge, expectation, self._number + 1)

    def learned(self, learner: LiveLearner) -> None:
        """Take over the learner's anomalies, and count the events that only the learner saw."""
        if learner.direct:
            self._events += learner.learner.events
        self.learner = learner
        for finding in learner.findings():
            self.log.add_anomaly(finding)

    # -- several processes ------------------------------------------------------------------------

    def before_fork(self) -> None:
        """No other thread is judging while the process forks."""
        self._lock.before_fork()

    def after_fork_in_parent(self) -> None:
        self._lock.after_fork_in_parent()

    def after_fork_in_child(self, *, writer: TraceWriter | None = None) -> None:
        """Go on in a child with the laws as they are, without findings and counts, and with another trace."""
        self._lock.after_fork_in_child()
        self._clear_counts()
        self.log.clear()
        self._writer = writer
        for each in self.laws:
            each.after_fork_in_child()

    def snapshot(self) -> dict[str, Any]:
        """Findings and counts in JSON's types, to merge into another run."""
        tracking = self.tracking
        return {
            "events": self.events,
            "threads": self.threads,
            "processes": self.processes,
            "dropped": self.dropped,
            "omitted": self.log.omitted,
            "suppressed": self.log.suppressed,
            "errors": list(self.errors),
            "warnings": self.warnings,
            "laws": [each.law.name for each in self.laws],
            "findings": [finding.to_json() for finding in self.findings],
        } | ({} if tracking is None else {"samples": tracking.confidence.snapshot()})

    def merge(self, other: Mapping[str, Any]) -> None:
        """Add the `snapshot` of another process."""
        with self._lock.change():
            self._merge_counts(other, self.threads)
            if self.tracking is not None and "samples" in other:
                self.tracking.confidence.merge(other["samples"])
            self.log.merge(other)
