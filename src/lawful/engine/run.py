"""A program under the eyes of several laws while it runs: events come in batches, findings come out."""

from __future__ import annotations

import re
from _thread import allocate_lock, get_ident
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from lawful import core
from lawful.engine.dispatch import SeenBy, dispatch
from lawful.engine.evidence import RecentEvents, by_object, values_of
from lawful.engine.findings import Event, Finding, Numbered, finding_key, has_place, is_message, time_of
from lawful.engine.internal_errors import in_words, is_programs
from lawful.engine.law_judge import LawJudge
from lawful.engine.routing import Routes
from lawful.engine.violations import AFTER, AT_ONCE, OnViolation, Stop, Violation
from lawful.errors import TraceError
from lawful.events.event_kinds import mentioned_ids, to_dict
from lawful.laws.protocol import Expectation, Law, Monitor, Verdict

if TYPE_CHECKING:
    from lawful.engine.live_learning import LiveLearner
    from lawful.engine.sample_tracking import SampleTracking
    from lawful.engine.suppressions import Suppressions
    from lawful.events.writer import TraceWriter

_MOST_FINDINGS = 1_000  # of one law
_MOST_PENDING = 10_000  # instances that were left open at the end, of one law
_MOST_TURNS = 16  # that laws may take for a message without an event
_MOST_TAKEN_BACK = 2  # of these, that one law can take back
_NOTHING = Expectation((), {})
_UNSEEN = re.compile(r"invariant-(\w+)-unseen:")


class LawRun:
    """Laws, what they have found so far, and what has gone wrong in watching.

    `deliver` takes the events of a tracer, on any thread. With `on_violation` `raise` or `stop` it must be given each
    event alone, at the moment it happens: then it raises `Violation` (in front of what is about to happen) or `Stop`.
    Whatever else goes wrong in here is kept in `fault`, and ends the watching. If a signal of the program strikes in
    the middle of the judging, what its handler raises is passed on, and the watching ends too, because no law can be
    sure any more what it has seen.
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
    ) -> None:
        """`on_finding` is told of each finding once, when it is first made; its count may still grow.

        With `messages`, findings about views have so many earlier messages, for a diagram. With `tracking`, laws about
        objects see only what those objects do that are followed.
        """
        self.tracking = tracking
        self.laws = [LawJudge(part, tracking) for law in laws for part in law.parts]
        if tracking is not None:
            tracking.look_after(self.laws)
        # Messages that need no event are judged by it where they are sent. It is open only while nobody else judges.
        self._court: Any = None if core.native is None or tracking is not None else core.native.Court()
        self._barred = False  # it stays closed: a child process has to tell of all that it judges
        self._events = 0
        self._threads = 0
        self.dropped = 0  # events that a tracer has lost; whoever runs it says so here
        self.omitted = 0  # violations at further places, of laws that were broken at very many
        self.processes = 1  # that are in this report
        self.seconds: float | None = None  # that the program ran under watch; whoever runs it says so here
        self.judging = 0.0  # seconds of these that judging took, in this process
        self.suppressed = 0  # violations that the source, or the project, calls meant
        self._suppressions = suppressions
        self.hidden: list[Finding] = []  # that are known, and of which nobody wants to hear
        self.context: str | None = None  # what the program is at, as the id of a test
        self.fault: BaseException | None = None
        self.faults: list[str] = []  # of this and of merged runs, in words
        self.ended = False
        self.learner: LiveLearner | None = None  # at the end, if rules were learned
        self.on_violation = on_violation
        self._on_finding = on_finding
        self._writer = writer
        self._findings: dict[tuple[object, ...], Finding] = {}
        self._by_law: dict[str, int] = {}
        self._warnings: dict[str, None] = {}
        self._history = history
        self._messages = messages
        # Where it began is told in any case. One more message than is shown tells whether there are more.
        self._recollection = RecentEvents(max(history, messages and messages + 1, 1), shown=max(history, 1))
        if self._court is not None:
            self._court.most, self._court.others = self._recollection.most, self._recollection.others
        self._routes = self._awake()
        self._seen: SeenBy | None = {} if tracking is None else None
        self._kept: list[tuple[int, Event]] = []  # events of the batch that laws have to do with
        self._recent: dict[Hashable, list[Numbered]] | None = None  # the same, by object, if somebody asked
        self._unexplained: list[tuple[int, Finding, LawJudge, list[Any]]] = []
        self._offence: tuple[Finding, Event] | None = None
        self._stopping: Finding | None = None
        self._stopped: set[int] = set()  # threads that were told so
        self._number = 0  # of the last event; a forked child counts on
        self._lock = allocate_lock()
        self._judging: int | None = None  # the thread that has the lock
        self._forking = False
        self._late: list[Event] = []  # of a signal handler that ran in the middle of the judging
        for each in self.laws:
            if each.monitor.doomed_at is not None:
                self._broken(each, None, 0)
        self._explain()
        self._reopen()

    # -- what is known ----------------------------------------------------------------------------

    @property
    def findings(self) -> list[Finding]:
        """All findings, in the order in which they were made."""
        return list(self._findings.values())

    @property
    def events(self) -> int:
        """How many were judged."""
        return self._events + (0 if self._court is None else int(self._court.count))

    @property
    def threads(self) -> int:
        """How many there were, as far as something was seen of them."""
        return self._threads if self._court is None or self._barred else max(self._threads, self._court.thread)

    @property
    def violations(self) -> int:
        """How often laws were broken."""
        return sum(finding.count for finding in self._findings.values()) + self.omitted

    @property
    def failed(self) -> bool:
        """Was something found; or, where violations are only counted, are there too many?"""
        return bool(self._findings) or (
            self.on_violation == "count" and self.tracking is not None and self.tracking.confidence.refuted
        )

    @property
    def warnings(self) -> list[str]:
        """What went wrong without stopping anything."""
        own = [
            f"{each.law.name}: {text}"
            for each in self.laws
            for text in each.monitor.warnings()
            if not ((unseen := _UNSEEN.match(text)) and self._seen_elsewhere(each, unseen[1]))
        ]
        return list(dict.fromkeys([*own, *self._warnings]))

    def _seen_elsewhere(self, live: LawJudge, what: str) -> bool:
        """May what a law has not seen here have been seen in another process, or in an earlier run that was enough?

        Of the objects that were followed nothing may have come but that they were born.
        """
        if self.processes > 1:
            return True
        kind = None if self.tracking is None else self.tracking.confidence.groups.get(live.kind)
        return kind is not None and bool(kind.before or (kind.taken and what == "class"))

    def warn(self, message: str) -> None:
        """Note something that the report should say, once."""
        self._warnings.setdefault(message)

    def hide(self, known: Iterable[Finding]) -> None:
        """These are known: they are findings no more."""
        gone = {id(finding) for finding in known}
        self.hidden += [finding for finding in self._findings.values() if id(finding) in gone]
        self._findings = {key: each for key, each in self._findings.items() if id(each) not in gone}

    # -- events -----------------------------------------------------------------------------------

    def deliver(self, batch: list[Event]) -> None:
        """Judge the next events."""
        if self.fault is not None or self.ended:
            return
        if self._judging == get_ident():
            self._late += batch
            return
        new: list[Finding] = []
        try:
            with self._lock:
                self._judging = get_ident()
                try:
                    self._close()
                    offence = self._judge(batch, new)
                    if offence is not None and self._prevents(offence[1]):
                        self._take_back(len(batch))
                    while self._late:
                        late, self._late = self._late, []
                        self._judge(late, new)
                finally:
                    self._judging = None
                    self._reopen()
            if self._on_finding is not None:
                for finding in new:
                    self._on_finding(finding)
        except BaseException as error:
            self.fail(error)
            # A tracer that gathers events is stopped by an exception, which goes no further. One that hands over each
            # event at once passes it on to the program.
            if self.on_violation not in AT_ONCE or not isinstance(error, Exception) or is_programs(error):
                raise
            return
        if self.on_violation in AT_ONCE:
            self._act(offence, batch[-1] if batch else None)

    def _judge(self, batch: list[Event], new: list[Finding]) -> tuple[Finding, Event] | None:
        """Judge a batch; the last violation in it."""
        self._write(batch)
        known = len(self._findings)
        routes, tracking = self._routes, self.tracking
        first = self._number + 1
        if core.native is None:
            thread = dispatch(batch, first, routes, self._kept, tracking, self._seen)
        else:
            admit, ways = (None, None) if tracking is None else (tracking.admit, tracking.follows_all)
            thread = core.native.dispatch(batch, first, routes, self._kept, admit, ways, self._seen)
        self._threads = max(self._threads, thread)
        self._events += len(batch)
        self._number += len(batch)
        self._offence = None
        for each in self.laws:
            if each.queue.events:
                each.judge(self._broken)
                if each.over:
                    routes.drop(each)
                    self._change()
        if tracking is not None:
            tracking.settle(self.laws)
        self._explain()
        if len(self._findings) > known:
            new += list(self._findings.values())[known:]
        return self._offence

    def _write(self, batch: list[Event]) -> None:
        if self._writer is not None:
            try:
                if core.native is None or self._writer.format != "jsonl":
                    self._writer.write_many([to_dict(event) for event in batch])
                else:
                    self._writer.write_lines(core.native.json_lines(batch, self._writer.lines), len(batch))
            except (TraceError, OSError) as error:
                self._writer = None
                message = error.message if isinstance(error, TraceError) else error.strerror or str(error)
                self.faults.append(f"the trace is not complete: {message}")

    def _broken(self, live: LawJudge, event: Event | None, number: int) -> None:
        """A law was broken by an event, and still is as it was before it."""
        monitor = live.monitor
        lost = monitor.doomed_at is not None
        rejected_at = None if lost else number
        life = None
        if self.tracking is not None and live.subjects is not None:
            life = self.tracking.violated(live, live.offender(event))
            if self.on_violation == "count":
                return
        contexts = {self.context: 1} if self.context is not None else {}
        origin: Event | None = None
        if live.law.every is not None:
            # What did not come in time is shown by an event that has nothing to do with it.
            about = monitor.expectation(event).about
            origin = about if about is not event else None
        if origin is None and event is not None and not has_place(event):
            origin = self._origin(monitor, list(mentioned_ids(event)), number)
        if self._is_meant(live.law.name, origin or event):
            return
        key = finding_key(live.law.name, rejected_at, origin or event)
        finding = self._findings.get(key)
        if finding is not None:
            finding.again(1, time_of(event), contexts)
        elif self._by_law.get(live.law.name, 0) >= _MOST_FINDINGS:
            self.omitted += 1
            return
        else:
            expectation = _NOTHING if lost else monitor.expectation(event)
            finding = Finding(
                rejected_at,
                None if lost else event,
                expectation,
                number if lost else None,
                event if lost else None,
                law=live.law.name,
                last_time=time_of(event),
                contexts=contexts,
                origin=origin,
                made=None if life is None or is_message(life.birth) else life.birth,
            )
            if not lost:
                finding.rejection = monitor.rejection(event)
            self._add(key, finding)
            self._unexplained.append((number, finding, live, values_of(monitor, expectation, event)))
        if event is not None:
            self._offence = finding, event

    def _is_meant(self, law: str, event: Event | None) -> bool:
        """Does the source, or the project, say that nobody wants to hear of this?"""
        if self._suppressions is None or event is None:
            return False
        file, line = event.get("file"), event.get("line")
        if not self._suppressions.cover(
            law, file if isinstance(file, str) else None, line if isinstance(line, int) else None
        ):
            return False
        self.suppressed += 1
        return True

    def _add(self, key: tuple[object, ...], finding: Finding) -> None:
        self._findings[key] = finding
        self._by_law[finding.law] = self._by_law.get(finding.law, 0) + 1

    def _origin(self, monitor: Monitor, values: list[Any], number: int) -> Event | None:
        if self._recent is None:
            self._recent = by_object(self._kept)
        return self._recollection.origin(monitor, values, number, self._recent)

    def _explain(self) -> None:
        """Give the new findings their history, and take the batch into the recollection, each in its turn."""
        kept, done = self._kept, 0
        self._kept, self._recent = [], None
        for number, finding, live, values in sorted(self._unexplained, key=lambda each: each[0]):
            index = done
            while index < len(kept) and kept[index][0] < number:
                index += 1
            self._recollection.add(kept[done:index])
            done = index
            self._give_history(finding, live, values, number)
        self._unexplained.clear()
        self._recollection.add(kept[done:] if done else kept)

    def _give_history(self, finding: Finding, live: LawJudge, values: list[Any], number: int) -> None:
        monitor = live.monitor
        if self._messages and live.law.language == "view":
            event = finding.event or finding.doomed_event or {}
            group = event.get("groupId") if finding.rejection is None else finding.rejection.group
            finding.messages = self._recollection.messages(monitor, group, number)
        if self._history:
            finding.history = self._recollection.about(monitor, values, number)
            if len(finding.history) < self._history and self._recollection.forgot:
                finding.history_note = "events of objects not used for long were forgotten"

    # -- what a violation leads to ----------------------------------------------------------------

    def _prevents(self, event: Event) -> bool:
        """Will what has broken a law not happen?"""
        return self.on_violation == "raise" and event.get("event") not in AFTER

    def _take_back(self, batch: int) -> None:
        """The last events will not happen: a message has one for its sender, and one for its receiver."""
        for number in range(self._number, self._number - batch, -1):
            for each in self.laws:
                each.monitor.prevented(number)

    def _act(self, offence: tuple[Finding, Event] | None, event: Event | None) -> None:
        if self.on_violation == "raise":
            if offence is not None and self._prevents(offence[1]):
                raise Violation(offence[0])
            return
        if offence is not None:
            self._stop_for(offence[0])
        # Ending one thread does not end the others: each ends where it next is seen. An object is reclaimed anywhere,
        # also where an exception would be lost.
        if self._stopping is not None and event is not None and event.get("event") != "gone":
            me = get_ident()
            if me not in self._stopped:
                self._stopped.add(me)
                raise Stop(self._stopping)

    def _stop_for(self, finding: Finding) -> None:
        if self._stopping is None:
            self._stopping = finding
            if self._court is not None:
                self._court.open = False

    def tick(self, time: float) -> None:
        """So much time has passed since the run began, and all events up to then were delivered.

        That is for laws that wait for something. It is called on a thread of ours, where there is nothing to raise.
        """
        if self.fault is not None or self.ended or not self._routes["tick", None]:
            return
        new: list[Finding] = []
        try:
            with self._lock:
                self._judging = get_ident()
                try:
                    self._close()
                    offence = self._judge([{"event": "tick", "time": time}], new)
                    self._events -= 1  # it is not the program's
                finally:
                    self._judging = None
                    self._reopen()
            if offence is not None and self.on_violation == "stop":
                self._stop_for(offence[0])
            if self._on_finding is not None:
                for finding in new:
                    self._on_finding(finding)
        except Exception as error:
            self.fail(error)

    def fail(self, error: BaseException) -> None:
        """Something went wrong in watching, here or in the tracer: from now on nothing is judged."""
        if self.fault is None:
            self.fault = error
            self.faults.append(in_words(error))
        if self._court is not None:
            self._court.open = False

    # -- messages that need no event --------------------------------------------------------------

    @property
    def court(self) -> Any:
        """Where messages are judged without events; None: nowhere."""
        return self._court

    def turns(self, heads: Sequence[Event]) -> tuple[tuple[tuple[int, Any, int], ...] | None, int]:
        """What laws make of messages whose events begin like this, and of which version of the laws that is told.

        None: somebody wants to see the events. Otherwise each turn has the event's place, the machine and the terminal.
        """
        version = self._court.version
        found: list[tuple[int, Any, int]] = []
        for place, head in enumerate(heads):
            concerned = self._routes[head["event"], head["name"]]
            turns = [each.monitor.inline_step(head) for each in concerned]
            if not turns or None in turns:
                return None, version
            found += ((place, *turn) for turn in turns if turn is not None)
        machines = Counter(id(machine) for _, machine, _ in found)
        if not found or len(found) > _MOST_TURNS or max(machines.values()) > _MOST_TAKEN_BACK:
            return None, version
        return tuple(found), version

    def settle(self) -> None:
        """Take the messages that were judged without events to the others, so that few of them are kept."""
        if self._court is not None and self._court.count and self._judging != get_ident():
            with self._lock:
                self._absorb()

    def _absorb(self) -> None:
        if self._court is None or not self._court.count:
            return
        count, entries = self._court.take(self._number + 1)
        self._events += count
        self._number += count
        self._recollection.add(entries)
        self.judging += self._court.spent
        self._court.spent = 0.0

    def _close(self) -> None:
        """From now on, messages wait for us. What was judged before has come before."""
        if self._court is not None:
            self._court.open = False
            self._absorb()

    def _reopen(self) -> None:
        if self._court is not None:
            wanted = self._writer is not None or bool(self._late)  # by others, or not in its turn
            over = self._barred or self.ended or self.fault is not None or self._stopping is not None
            self._court.open = not wanted and not over

    def _change(self) -> None:
        """Laws have come, or gone."""
        if self._court is not None:
            self._court.version += 1

    # -- laws that come and go --------------------------------------------------------------------

    def add(self, laws: Sequence[Law]) -> None:
        """Judge by these laws, too. They begin with the next event."""
        with self._changing():
            added = [LawJudge(part, self.tracking) for law in laws for part in law.parts]
            self.laws += added
            for each in added:
                if each.monitor.doomed_at is not None:
                    self._broken(each, None, self._number)
            self._explain()
            self._routes = self._awake()

    def remove(self, name: str) -> None:
        """Judge by the law of this name no more. What it has found stays."""
        with self._changing():
            self.laws = [each for each in self.laws if each.law.name != name]
            self._routes = self._awake()

    def pause(self, name: str, paused: bool) -> None:
        """Let a law rest; or wake it. Then it begins anew, since it does not know what it has missed."""
        with self._changing():
            for at, each in enumerate(self.laws):
                if each.law.name == name and each.paused != paused:
                    if not paused:
                        each = self.laws[at] = LawJudge(each.law, self.tracking)
                    each.paused = paused
            self._routes = self._awake()

    @contextmanager
    def _changing(self) -> Iterator[None]:
        with self._lock:
            self._close()
            try:
                yield
            finally:
                self._change()
                self._reopen()

    def _awake(self) -> Routes[LawJudge]:
        # A law that tells at once which object has broken it has nothing to say of one that is gone.
        self._recollection.keeps_gone = not all(each.monitor.names_offender for each in self.laws)
        return Routes((each, each.law) for each in self.laws if not (each.over or each.paused))

    def record(self, writer: TraceWriter | None) -> TraceWriter | None:
        """Write events there from now on, or nowhere; where they went until now."""
        with self._changing():
            before, self._writer = self._writer, writer
            return before

    # -- the end ----------------------------------------------------------------------------------

    def end(self, *, verdict: bool = True) -> None:
        """The program is over, or no more of it will be seen. Without `verdict`, laws are not asked if it may end here.

        That is for a forked child, which ends in the middle of what its parent goes on with.
        """
        if self.ended:
            return
        new: list[Finding] = []
        try:
            with self._lock:
                self._close()
                if verdict and self.fault is None and not self.dropped:
                    known = len(self._findings)
                    for each in self.laws:
                        self._judge_end(each)
                    if self.tracking is not None:
                        self.tracking.end()
                    new += list(self._findings.values())[known:]
            if self._on_finding is not None:
                for finding in new:
                    self._on_finding(finding)
        except Exception as error:
            self.fail(error)
        self.ended = True

    def discount(self, events: int) -> None:
        """So many of the events that were learned from are an earlier run's."""
        self._events -= events

    def learned(self, learner: LiveLearner) -> None:
        """Take over what was learned. Events that only the learner saw are events like the others."""
        if learner.direct:
            self._events += learner.learner.events
        self.learner = learner
        for finding in learner.findings():
            if self._is_meant(finding.law, finding.place_event):
                continue
            self._add((finding.law, str(finding.anomaly and finding.anomaly.rule)), finding)

    def _judge_end(self, live: LawJudge) -> None:
        monitor = live.monitor
        if live.over or live.paused or monitor.end() is not Verdict.FALSE:
            return
        contexts = {self.context: 1} if self.context is not None else {}
        most = _MOST_PENDING
        if self.tracking is not None and live.subjects is not None:
            most = max(most, self.tracking.seemed_clean(live))
        for expectation in monitor.pending(most) or (monitor.expectation(),):
            if self.tracking is not None and live.subjects is not None:
                for target in live.offenders_of(expectation):
                    self.tracking.violated(live, target)
                if self.on_violation == "count":
                    continue
            finding = Finding("end", None, expectation, None, None, law=live.law.name, contexts=dict(contexts))
            finding.rejection = monitor.rejection_at_end(expectation.bindings.get("groupId"))
            values = values_of(monitor, expectation, None)
            finding.origin = self._origin(monitor, values, self._number + 1)
            self._give_history(finding, live, values, self._number + 1)
            if self._is_meant(finding.law, finding.place_event):
                continue
            known = self._findings.get(finding.key)
            if known is not None:
                known.again(1, None, contexts)
            elif self._by_law.get(live.law.name, 0) >= _MOST_FINDINGS:
                self.omitted += 1
            else:
                self._add(finding.key, finding)

    # -- several processes ------------------------------------------------------------------------

    def firsts(self) -> dict[str, list[Event]]:
        """The first events that laws were given in this process, a child."""
        return {each.law.name: each.first for each in self.laws if each.first}

    def rehearse(self, firsts: Mapping[str, list[Event]]) -> None:
        """Prepare for what a child has done: those that are forked from now on have it from here."""
        for each in self.laws:
            if each.law.name in firsts:
                with suppress(Exception):  # who does it in earnest will see it
                    each.rehearse(firsts[each.law.name])

    def before_fork(self) -> None:
        """No other thread is judging while the process forks."""
        self._forking = self._judging != get_ident()
        if self._forking:
            self._lock.acquire()
            self._close()  # until the next event, which brings the clock back

    def after_fork_in_parent(self) -> None:
        if self._forking:
            self._lock.release()

    def after_fork_in_child(self, *, writer: TraceWriter | None = None) -> None:
        """Go on in a child, where its laws are, with nothing found or counted yet; the trace goes elsewhere."""
        if self._forking:
            self._lock = allocate_lock()
        self._barred = True
        self._reopen()
        self._events = self._threads = self.dropped = self.omitted = self.suppressed = 0
        self.processes = 1
        self._findings.clear()
        self._by_law.clear()
        self._warnings.clear()
        self.faults.clear()
        self._writer = writer
        for each in self.laws:
            each.after_fork_in_child()

    def snapshot(self) -> dict[str, Any]:
        """All that was found, in JSON's types, to be merged into another run or to be reported."""
        return {
            "events": self.events,
            "threads": self.threads,
            "processes": self.processes,
            "dropped": self.dropped,
            "omitted": self.omitted,
            "suppressed": self.suppressed,
            "faults": list(self.faults),
            "warnings": self.warnings,
            "laws": [each.law.name for each in self.laws],
            "findings": [finding.to_json() for finding in self._findings.values()],
        } | ({} if self.tracking is None else {"samples": self.tracking.confidence.snapshot()})

    def merge(self, other: Mapping[str, Any]) -> None:
        """Add what another process has found: its `snapshot`. Threads of other processes are other threads."""
        with self._lock:
            self._absorb()
            self._events += other["events"]
            self._threads = self.threads + other["threads"]
            self.processes += other["processes"]
            self.dropped += other["dropped"]
            self.omitted += other["omitted"]
            self.suppressed += other["suppressed"]
            self.faults += [text for text in other["faults"] if text not in self.faults]
            for text in other["warnings"]:
                self._warnings.setdefault(text)
            if self.tracking is not None and "samples" in other:
                self.tracking.confidence.merge(other["samples"])
            for data in other["findings"]:
                finding = Finding.from_json(data)
                known = self._findings.get(finding.key)
                if known is not None:
                    known.again(finding.count, finding.last_time, finding.contexts)
                elif self._by_law.get(finding.law, 0) >= _MOST_FINDINGS:
                    self.omitted += finding.count
                else:
                    self._add(finding.key, finding)
