"""Learning while a program runs: passes events from the tracer to the learner, and makes findings of anomalies."""

from __future__ import annotations

from _thread import RLock, get_native_id, start_new_thread
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from time import sleep
from typing import TYPE_CHECKING, Any

from lawful.engine.findings import Event, Finding
from lawful.errors import LawfulError
from lawful.laws.protocol import Expectation
from lawful.learning.learner import Learner
from lawful.learning.parameters import Learning
from lawful.pristine_os import clock
from lawful.sources.python.flusher import Flusher, block_signals, wait_until_gone

if TYPE_CHECKING:
    from lawful.learning.window_protocol import Anomaly
    from lawful.sources.python.tracer_protocol import Tracer

LAW = "learned"  # in place of the name of a law

_PATIENCE = 1.0  # seconds
_MOMENT = 0.0005
_PERIOD = 0.1  # seconds for which events wait at most, if the program does little
_NOTHING = Expectation((), {})


class LiveLearner:
    """The learner of one watched process.

    With the C core, the program only appends to a buffer. A thread of the window works it off without the interpreter's
    lock, and a thread of Lawful serves the ticks. Otherwise `feed` takes the events that are delivered.
    """

    def __init__(self, parameters: Learning) -> None:
        self.learner = Learner(parameters)
        self.fault: BaseException | None = None
        self.on_progress: Callable[[], None] | None = None  # called now and then, on a thread of Lawful, if `direct`
        self.on_news: Callable[[], None] | None = None  # called when an event comes from a new place
        self._parameters = parameters
        self._tracer: Any = None  # if it writes into the window itself
        self._stream: Any = None  # the window it writes into
        self._server = Flusher(self._serve, 0, self._ready)
        self._working = False  # do the threads run?
        self._waking = False  # will they begin by themselves when there is work for them?
        self._waker: int | None = None  # the system's number of the thread that began them
        self._state = RLock()  # of these
        self._ticking = RLock()
        self._due = False
        self._reported = 0  # events, when progress was last reported

    # -- lawful.sources.python.tracer_protocol.LearnerFeed ------------------------------------------------------

    @property
    def window(self) -> object:
        return self.learner.window

    def word(self, event: str, name: str) -> int:
        return self.learner.numbering.word(event, name)

    def site(self, file: str | None, line: int | None) -> int:
        if self.on_news is not None:
            self.on_news()
        return self.learner.numbering.site(file, line)

    # -- events -----------------------------------------------------------------------------------

    @property
    def direct(self) -> bool:
        """Do events come as numbers, and not through `feed`?"""
        return self._tracer is not None

    @property
    def reached(self) -> int:
        """How many events have come for the learner, whether it has taken them in or not."""
        return self._stream.pushed if self.direct else self.learner.numbering.read

    def start(self, tracer: Tracer) -> None:
        """The tracer is about to start."""
        if tracer.learns:
            self._tracer = tracer
            self._attach()
            self._begin()

    def goes_on_with(self, tracer: Tracer) -> None:
        """Another tracer takes over."""
        if self._tracer is not None:
            self._tracer = tracer

    def _attach(self) -> None:
        self._stream = self.learner.window
        self._stream.tick_every = self.learner.parameters.tune_every
        self.learner.on_new_window = self._renewed

    def _begin(self, *, serve: bool = True) -> None:
        """Start the threads; or, if not `serve`, only that of the window."""
        if self._working:
            return
        with self._state:
            self._stream.wake = None
            if not self._working:
                self._stream.start()
                self._working = True
                if serve:
                    self._server.start()

    def _rest(self) -> None:
        """Stop the threads, if they run, when they have worked off everything."""
        self._await_waker()
        if self._working:
            self.catch_up()
        with self._state:
            if self._working:
                native = self._stream.thread
                self._stream.stop()
                self._server.stop()
                wait_until_gone(native)
                self._working = False

    def _sleep(self) -> None:
        """Start the threads when there is work."""
        # The program's thread finds work. It must not run Python code of Lawful, in which signal handlers would run.
        self._waking = True
        self._stream.wake = partial(start_new_thread, self._wake, ())

    def _wake(self) -> None:
        self._waker = get_native_id()
        block_signals()
        try:
            with suppress(OSError):  # no more threads can be made: events wait in memory for the end
                self._begin()
        finally:
            self._waking = False

    def _await_waker(self) -> None:
        """Wait until the thread that starts the others is gone, or keep it from starting."""
        waking = self._waking and self._stream.wake is None
        self._stream.wake = None
        end = clock.monotonic() + _PATIENCE  # the thread may never have started
        while waking and self._waking and clock.monotonic() < end:
            sleep(0)
        self._waking = False
        if waking:
            wait_until_gone(self._waker)

    def _renewed(self, window: object) -> None:
        """Changed parameters have made a new window."""
        old = self._stream
        self._attach()
        if self._working:
            self._stream.start()
        elif self._waking:
            self._sleep()
        self._tracer.learner = self
        old.wake = None
        old.stop()

    def _ready(self) -> bool:
        """Wait until a tick is due, or for a short while; is there something to do?"""
        self._due = self._stream.wait(_PERIOD, False) == 1
        return self._due or (self.on_progress is not None and self._stream.events != self._reported)

    def _serve(self) -> None:
        if self._due:
            self._tick(self._stream)
        elif self.on_progress is not None:
            self._reported = self._stream.events
            self.on_progress()

    def _tick(self, stream: Any) -> None:
        with self._ticking:
            if stream is not self._stream or stream.wait(0, False) != 1:
                return  # another thread was quicker
            try:
                self.learner.tick()
                stream.tick_every = self.learner.parameters.tune_every
            except Exception as error:
                self.fault = error
                stream.tick_every = 0  # or the program would wait for ever
            stream.resume()

    def catch_up(self) -> None:
        """Wait until the learner has taken in all events so far."""
        if not self.direct:
            return
        stream, aim = self._stream, self._stream.pushed
        if stream.events < aim:
            self._begin()
        # A tick may be due with the last event.
        while stream is self._stream and (stream.worked < aim or stream.wait(0, False) == 1):
            if stream.wait(_PERIOD) != 1:
                continue
            if self._server.running:
                # Not on a thread of the program: finalisers there would wait for the tick.
                sleep(_MOMENT)
            else:
                self._tick(stream)

    def feed(self, batch: Sequence[Event]) -> None:
        """Learn from events."""
        self.learner.feed(batch)

    def finish(self) -> None:
        """No more events come."""
        if self.direct:
            self._await_waker()
            if self._stream.events < self._stream.pushed:
                self._begin(serve=False)
            self._rest()
        with suppress(LawfulError):  # if no event had an object, there is nothing to learn
            self.learner.finish()
        if self.fault is not None:
            raise self.fault

    # -- several processes ------------------------------------------------------------------------

    def before_fork(self) -> None:
        """Stop the threads and take the locks, so that the process can fork."""
        if self.direct:
            self._rest()
        self.learner.hold_lock()

    def after_fork_in_parent(self) -> None:
        self.learner.release_lock()
        if self.direct:
            self._sleep()

    def after_fork_in_child(self) -> None:
        """Begin anew."""
        self.learner.release_lock()
        self._server.forget()
        self._state, self._ticking = RLock(), RLock()  # threads that are not here may have had them
        self._working = self._waking = False
        self._reported = 0
        self.learner = Learner(replace(self.learner.parameters, thresholds=self._parameters.thresholds))
        if self.direct:
            self._attach()
            self._tracer.learner = self
            self._sleep()

    # -- findings ---------------------------------------------------------------------------------

    def findings(self) -> list[Finding]:
        """The anomalies as findings, the best first."""
        return [as_finding(anomaly) for anomaly in self.learner.anomalies()]


def as_finding(anomaly: Anomaly) -> Finding:
    """An anomaly as a finding like all others: the last event of the failing scenario, and those before it."""
    scene = anomaly.bad[0] if anomaly.bad else None
    events = [_event(name, site.file, site.line, scene.object) for name, site in scene.events] if scene else []
    count = sum(each.count for each in anomaly.bad) or anomaly.rule.failed
    return Finding("end", None, _NOTHING, None, None, law=LAW, count=count, origin=events[-1] if events else None,
                   anomaly=anomaly)  # fmt: skip


def _event(name: str, file: str | None, line: int | None, target: int) -> Event:
    event: Event = {"event": "func_pre", "name": name, "targetId": target}
    if file is not None:
        event["file"] = file
        if line is not None:
            event["line"] = line
    return event
