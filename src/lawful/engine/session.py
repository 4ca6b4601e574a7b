"""A program under watch: tracer, laws, trace file and child processes, from the first event to the last."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from lawful.engine.live import LiveRun, OnViolation
from lawful.engine.suppressions import Suppressions
from lawful.errors import LawfulError, TraceError
from lawful.sources.python import children, cores, emitting
from lawful.sources.python.flusher import INTERVAL, Flusher
from lawful.sources.python.scope import Scope
from lawful.sources.python.wanted import Watched

if TYPE_CHECKING:
    from lawful.confidence.engine import Demand
    from lawful.engine.findings import Finding
    from lawful.engine.learned import LiveLearner
    from lawful.engine.sampler import Sampler
    from lawful.events.writer import TraceWriter
    from lawful.laws.grammar.groups import Binding
    from lawful.laws.protocol import Law
    from lawful.learning.parameters import Parameters
    from lawful.sources.actors.exchange import Exchange
    from lawful.sources.python.model import Tracer

Event = dict[str, Any]

BUFFER = 4096
"""Events that are gathered before they are judged, if the clock does not come first."""

_TRACE = ".jsonl"
_FINDINGS = ".json"
_PROGRESS = ".learned"
_LEARNED = "learned"

# To tell what was learned takes time, which grows with it: so many seconds, and every so many-th second.
_TELLING = 0.1
_SHARE = 20
_CALM = 0.02  # seconds: a process that was at rest and is not, is not soon so again


@dataclass(frozen=True)
class Settings:
    """What is watched and how. They can be pickled: they travel to child processes."""

    scope: Scope = field(default_factory=Scope)
    main: str | None = None  # the name that laws may use for the main module
    trace: str | None = None
    history: int = 10
    on_violation: OnViolation = "report"
    buffer: int = BUFFER
    drop: bool = False  # events that find the buffer full, rather than let the program wait
    core: str | None = None
    judge: bool = True  # or only see what the laws can match
    learn: Parameters | None = None  # learn rules, this way
    tests: bool = False  # the program is a session of tests: errors that these ask for are meant
    ignore: tuple[str, ...] = ()  # laws, or `law: files`, of which nobody wants to hear
    demand: Demand | None = None  # be so sure of laws about objects, and follow no more of these than that takes
    groups: tuple[tuple[str, tuple[Binding, ...]], ...] = ()  # what groups are, in place of what views say
    messages: int = 0  # of a group before it broke a view that are kept, for diagrams


class Attendant(Protocol):
    """Somebody who looks on while the program runs: the dashboard. Called on a thread of ours; it must never wait."""

    def beat(self) -> None:
        """Ten times a second."""
        ...

    def end(self) -> None:
        """The run is over, and all is in the report."""
        ...

    def after_fork_in_child(self) -> None:
        """This process is a child now, which nobody looks at."""
        ...


class Session:
    """One process under watch."""

    def __init__(
        self,
        settings: Settings,
        laws: Sequence[Law] = (),
        *,
        on_finding: Callable[[Finding], None] | None = None,
        on_exit: Callable[[int], None] | None = None,
        on_exec: Callable[[], None] | None = None,
    ) -> None:
        """`on_exit` is told the code when the first process is about to end in `os._exit`, `on_exec` when another
        program is about to take its place.
        """
        self.settings = settings
        self.laws = tuple(laws)
        self.writer = _writer(settings.trace) if settings.trace is not None else None
        self.learner = _learner(settings.learn)
        self.sampler = _sampler(settings.demand, self.laws)
        self.watched = self._look_out()
        self.live = LiveRun(
            self.laws if settings.judge else (),
            history=settings.history,
            on_violation=settings.on_violation,
            on_finding=on_finding,
            writer=self.writer,
            lives=None if self.sampler is None else self.sampler.lives,
            suppressions=Suppressions(settings.ignore, settings.scope.project, in_tests=settings.tests),
            messages=settings.messages,
        )
        self._watching = children.Watching(self._listen(self.watched), messages=self.learner is not None)
        self.core = cores.choose(settings.core or "")
        self.tracer = self._make_tracer(self._watching)
        self._adjustable: Any = self.tracer  # if it has a `flush_at` that can be changed
        self._retired: list[Tracer] = []  # threads may still be in the middle of what these do
        self.attendant: Attendant | None = None
        self._recorder: Tracer | None = None  # if the trace needs one of its own
        if self.sampler is not None:
            self.sampler.attach(self.tracer, self.watched)
        periods = [every for law in self.laws if (every := law.every) is not None]
        self._ticks = bool(periods) and settings.judge
        self._flusher = Flusher(self._beat, min([INTERVAL, *periods]) if self._ticks else INTERVAL)
        self._on_exit = on_exit
        self._on_exec = on_exec
        self._folder: children.Folder | None = None
        self._number = 0  # of this process; 0 is the first
        self._forked = False
        self._began = 0.0
        self._started = 0.0  # when the tracer's clock had begun
        self._born = 0.0  # when this process began
        self._late = 0.0  # what is to be added to times, if the tracer began after the first process's
        self._restart = False
        self._deliverer: int | None = None  # the thread that delivers
        self._handing = threading.RLock()
        self._handed = 0  # events of which the learner has told
        self._telling = 0.0  # seconds that this took
        self._busy = False  # is it said that there is something that was not handed in?
        self._settled = 0.0  # when that was last taken back
        self._before = 0  # events for the learner, when the clock last ticked
        self._forking = False
        self._gone = False  # is it said that this process has ended, by becoming another program?
        self.finished = False

    @property
    def _detail(self) -> bool:
        """What is written into a trace, and what joins objects, is told with all its parts."""
        settings = self.settings
        return settings.trace is not None or (settings.learn is not None and bool(settings.learn.joins))

    def _look_out(self) -> Watched:
        return Watched(
            self.laws,
            self.settings.scope,
            main=self.settings.main,
            learn=self.learner is not None and not self._detail,
            sampling=None if self.sampler is None else self.sampler.sampling,
        )

    def _listen(self, watched: Watched) -> Watched | Exchange:
        """The same, and messages between groups if there are views."""
        self.exchange = None
        if not any(hasattr(law, "view") for law in self.laws):
            return watched
        from lawful.sources.actors.exchange import Exchange  # a run without views must not wait for it

        self.exchange = Exchange(
            watched, self.laws, dict(self.settings.groups), numbered=self.settings.trace is not None
        )
        self.exchange.passport = self._passport_file
        return self.exchange

    def _make_tracer(self, watching: children.Watching) -> Tracer:
        settings = self.settings
        options: dict[str, Any] = {"flush_at": settings.buffer}
        if settings.drop and self.core.name != "python":  # which always lets the program wait
            options = {"flush_at": settings.buffer + 1, "limit": settings.buffer}
        tracer: Tracer = self.core.make(
            watching,
            self._deliver,
            synchronous=settings.on_violation in ("raise", "stop"),
            gone=self.watched.gone or self.sampler is not None,
            learner=None if self._detail else self.learner,
            **options,
        )
        if self.exchange is not None:
            self.exchange.identify = tracer.identify
        return tracer

    # -- begin and end ----------------------------------------------------------------------------

    def start(self) -> None:
        """Watch from now on."""
        self._began = time.monotonic()
        # For children. What is registered first is called last: the program's own handlers are watched.
        atexit.register(self.leave)
        if self.learner is not None:
            self.learner.start(self.tracer)
        if self.sampler is not None:
            self.sampler.begin()
        self.tracer.start()
        self._started = time.monotonic()
        children.join(self)
        emitting.attach(self.tracer, self.settings.scope, self.fail)
        self._flusher.start()

    def finish(self) -> None:
        """Watch no more, judge what is left, take in what the children found. It can be called again.

        What goes wrong here is in the report; it is not the program's trouble.
        """
        if self.finished:
            return
        self.finished = True
        self.live.seconds = time.monotonic() - self._began if self._began else None
        for step in (
            self._watch_no_more,
            self._record_no_more,
            self.tracer.stop,
            self._learn_rest,
            self._judge_rest,
            self._close_trace,
            self._hand_over,
            self._take_leave,
        ):
            try:
                step()
            except Exception as error:
                self.live.fail(error)

    def change_laws(self, add: Sequence[Law] = (), remove: str | None = None) -> None:
        """Judge by other laws from now on, on a thread of ours.

        What a law can match is decided when code is first seen. So another tracer takes over, which looks anew; what
        happens in the moment between the two is not seen, and the report says so.
        """
        if self.sampler is not None:
            raise LawfulError(
                "control-sampling",
                "laws cannot be added or removed while objects are sampled",
                hint="pause the law, or begin another run",
            )
        if self.core.name == "python" and sys.version_info < (3, 12):
            raise LawfulError(
                "control-core",
                "laws cannot be added or removed by the pure-Python core on CPython 3.11",
                hint="another tracer would not see threads that run already; build the C core, or use a newer Python",
            )
        if self.finished or self.live.fault is not None:
            raise LawfulError("control-over", "the program is not watched any more")
        kept = tuple(law for law in self.laws if law.name != remove)
        self.laws = (*kept, *add)
        old = self.tracer
        emitting.detach(old)
        began = time.monotonic()
        self.watched, before = self._look_out(), self.watched
        for text in before.warnings:
            self.live.warn(text)
        watching = children.Watching(self._listen(self.watched), messages=self.learner is not None)
        tracer = self._make_tracer(watching)
        tracer.follow(old)
        old.stop()  # what it had gathered is judged by the laws of before
        self._retired.append(old)
        self._watching = watching
        if remove is not None:
            self.live.remove(remove)
        self.live.add(add)
        self.tracer = self._adjustable = tracer
        if self.learner is not None:
            self.learner.goes_on_with(tracer)
        tracer.start()
        emitting.attach(tracer, self.settings.scope, self.fail)
        blind = (time.monotonic() - began) * 1000
        self.live.warn(f"laws were changed while the program ran: for {blind:.0f} ms it was not watched")

    def pause_law(self, name: str, paused: bool) -> None:
        """Let a law rest from now on, or wake it: then it begins anew."""
        self.tracer.flush()  # what happened before is judged as it was then
        self.live.pause(name, paused)

    @property
    def recording(self) -> bool:
        """Is a trace being written?"""
        return self.writer is not None

    def record(self, path: str | None) -> None:
        """Write the events to this file from now on; None: no more."""
        self.tracer.flush()
        if path is None:
            self._stop_recording()
        elif self.writer is None:
            self.writer = _writer(path)
            if self.learner is not None and self.learner.direct:
                # Events that are learned from never become events: another tracer is there to tell of them.
                self._recorder = self.core.make(
                    Watched(self.laws, self.settings.scope, main=self.settings.main),
                    self.writer.write_many,
                    gone=True,
                    flush_at=self.settings.buffer,
                )
                self._recorder.follow(self.tracer)
                self._recorder.start()
            else:
                self.live.record(self.writer)

    def _stop_recording(self) -> None:
        if self._recorder is not None:
            self._recorder.stop()
            self._recorder = None
        else:
            self.live.record(None)
        self._close_trace()
        self.writer = None

    def fail(self, error: BaseException) -> None:
        """A fault of ours: tell it in the report, and let the program go on without us."""
        if self.sampler is not None:
            self.sampler.stop()
        with suppress(Exception):
            self.tracer.stop()
        self.live.fail(error)

    def _watch_no_more(self) -> None:
        atexit.unregister(self.leave)
        emitting.detach(self.tracer)
        if self.sampler is not None:
            self.sampler.stop()
        # In the middle of a delivery, at `os._exit`, the clock may wait for it to be over.
        self._flusher.stop(wait=self._deliverer != threading.get_ident())
        children.part(self)

    def _learn_rest(self) -> None:
        if self.learner is not None:
            with self._handing:
                self.learner.finish()

    def _judge_rest(self) -> None:
        live = self.live
        for text in (*self.watched.warnings, *(() if self.exchange is None else self.exchange.warnings)):
            live.warn(text)
        for tracer in (*self._retired, self.tracer):
            live.dropped += tracer.dropped
            if tracer.fault is not None and live.fault is None:
                live.fail(tracer.fault)
        if self._ticks:
            live.tick(time.monotonic() - self._started + self._late)
        live.end(verdict=not self._forked)
        if self.sampler is not None:
            self.sampler.end()

    def _close_trace(self) -> None:
        if self.writer is not None:
            try:
                self.writer.close()
            except (TraceError, OSError) as error:
                self.live.faults.append(f"the trace is not complete: {error}")

    def _hand_over(self) -> None:
        if self._number:
            self._hand_in(over=True)
            return
        if self._folder is not None:
            self._gather(self._folder)
        if self.learner is not None:
            self.live.learned(self.learner)

    def _record_no_more(self) -> None:
        if self._recorder is not None:
            self._stop_recording()

    def _take_leave(self) -> None:
        if self.attendant is not None:
            self.attendant.end()

    def _beat(self) -> None:
        """Ten times a second."""
        now = time.monotonic()
        self.tracer.flush()
        if self._ticks:
            self.live.tick(now - self._started + self._late)
        if self.sampler is not None:
            self.sampler.beat()
        self._progress()
        if self._recorder is not None:
            self._recorder.flush()
        if self.attendant is not None:
            self.attendant.beat()

    def _deliver(self, batch: list[Event]) -> None:
        self._deliverer = threading.get_ident()
        began = time.perf_counter()
        try:
            self._take(batch)
        finally:
            self._deliverer = None
            self.live.judging += time.perf_counter() - began

    def _take(self, batch: list[Event]) -> None:
        whole = len(batch) >= self.settings.buffer
        batch, ours = self._watching.part(batch)
        woken = not self._busy
        self._stir()
        if self._late:
            for event in batch:
                event["time"] += self._late
        if batch:
            self.live.deliver(batch)
            if self.learner is not None and not self.learner.direct:
                self.learner.feed(batch)
        if self._restart:
            self._go_on()
        names = {name for name, _ in ours}
        if self._number and not self.finished and children.EXIT not in names:
            if batch:
                self._hand_in()
            calm = not whole and (not woken or time.monotonic() > self._settled + _CALM)
            if calm or children.SEND in names:
                self._settle()
        for name, event in ours:
            self._heed(name, event)

    def _heed(self, name: str, event: Event) -> None:
        """This process ends, ends another one, or becomes another program."""
        if event["event"] != "func_pre":
            return
        args = event.get("args")
        first, second = [*args, None, None][:2] if isinstance(args, list) else (None, None)
        if name == children.EXIT:
            self._leave_at_once(first if isinstance(first, int) else 0)
        elif name in children.KILLS.values():
            if self._folder is not None and isinstance(first, int):
                self._folder.condemn(-first if name == "os.killpg" else first, second)
        elif name in children.EXECS.values():
            self._become_another()

    def _leave_at_once(self, code: int) -> None:
        """The last moment before `os._exit`."""
        if self._number:
            self.leave()
        elif self._on_exit is not None:
            self._on_exit(code)

    def _become_another(self) -> None:
        """The last moment before another program takes the place of this one, if it is there and can."""
        if not self._number and self._on_exec is not None and not self.finished:
            self._on_exec()
            return
        if self._number and self._folder is not None and not self.finished:
            self._tell(always=True)
            self._gone = True
            self._folder.leave(self._number)
            self._adjustable.flush_at = 1  # the next event, if there is one, is told

    def _go_on(self) -> None:
        """Let the clock tick again, after a fork."""
        self._restart = False
        self._adjustable.flush_at = self.settings.buffer
        self._flusher.start()

    # -- children.Member --------------------------------------------------------------------------

    def before_fork(self) -> None:
        self._forking = True
        self._flusher.stop()
        self.tracer.flush()
        if self._folder is None:
            self._folder = children.Folder.make()
        self._handing.acquire()
        self.live.before_fork()
        if self.learner is not None:
            self.learner.before_fork()

    def after_fork_in_parent(self) -> None:
        if self.learner is not None:
            self.learner.after_fork_in_parent()
        self.live.after_fork_in_parent()
        self._handing.release()
        self._forking = False
        # A thread that began here would be counted when the interpreter, a moment later, warns of forks with threads.
        try:
            self._adjustable.flush_at = 1  # the next event brings the clock back
        except AttributeError:
            self._flusher.start()
        else:
            self._restart = True

    def after_fork_in_child(self) -> None:
        assert self._folder is not None
        self._handing = threading.RLock()
        self._flusher.forget()
        self._forked = True
        if self.attendant is not None:
            self.attendant.after_fork_in_child()
            self.attendant = None
        if self._recorder is not None:
            self._recorder.after_fork(0)  # what it had gathered is the parent's
            self._recorder.stop()
            self._recorder = None
        self._deliverer = None
        self._busy = self._gone = self._forking = False
        self._handed, self._telling = 0, 0.0
        if self.learner is not None:
            self.learner.after_fork_in_child()
        self._become(self._folder)

    def _become(self, folder: children.Folder) -> None:
        """Be a child process of the run."""
        self._folder = folder
        try:
            self._number = folder.enter()
        except OSError:  # the first process has ended
            self._give_up()
            return
        self.tracer.after_fork(self._number)
        if self.exchange is not None:
            self.exchange.after_fork(self._number)
        self._born = time.monotonic()
        if self.learner is not None:
            self.learner.on_progress = self._progress
            self.learner.on_news = self._stir
        self._adjustable.flush_at = 1  # the first event is told
        path = folder.file(self._number, _TRACE)
        self.writer = _writer(path) if self.settings.trace is not None else None
        self.live.after_fork_in_child(writer=self.writer)
        if self.sampler is not None:
            self.sampler.lives.after_fork_in_child(self._number)

    def _give_up(self) -> None:
        self.finished = True
        children.part(self)
        self.tracer.stop()

    def passport(self) -> object:
        if self._folder is None:
            self._folder = children.Folder.make()
        return Passport(self.settings, self.laws, self._folder.path, self._began)

    def _passport_file(self) -> str:
        """The same in a file, for processes that somebody else starts. They judge nothing: they see a part only."""
        import pickle

        passport = self.passport()
        assert isinstance(passport, Passport) and self._folder is not None
        path = os.path.join(self._folder.path, "passport")
        with open(path, "wb") as file:
            file.write(pickle.dumps(replace(passport, settings=replace(self.settings, judge=False))))
        return path

    def leave(self) -> None:
        if self._number:
            self.finish()

    def _arrive(self) -> None:
        try:
            self.start()
        except Exception as error:
            self.live.fail(error)
            self.finish()
            raise

    # -- what a child hands in, also for the case that it is killed the next moment ----------------

    def _hand_in(self, *, over: bool = False) -> None:
        """Leave what was found so far where the first process finds it."""
        assert self._folder is not None
        with self._handing, suppress(OSError):
            report = self.live.snapshot()
            if over and self.learner is not None:
                report[_LEARNED] = self.learner.learner.snapshot()
            self._put(_FINDINGS, report)
            if over:
                self._folder.leave(self._number)

    def _put(self, suffix: str, report: dict[str, Any]) -> None:
        import msgspec

        assert self._folder is not None
        path = self._folder.file(self._number, suffix)
        with open(path + ".part", "wb") as file:
            file.write(msgspec.json.encode(report))
        os.replace(path + ".part", path)

    def _tell(self, *, always: bool = False) -> bool:
        """Leave what was learned so far, if that may take time; is there nothing that was not told?"""
        learner = self.learner
        if learner is None:
            return True
        with self._handing:
            reached = learner.reached
            if reached == self._handed:
                return True
            if not always and self._telling > _TELLING + (time.monotonic() - self._born) / _SHARE:
                return False
            began = time.thread_time()
            learner.catch_up()
            with suppress(OSError):
                self._put(_PROGRESS, learner.learner.snapshot())
            self._handed = reached
            self._telling += time.thread_time() - began
            return True

    def _progress(self) -> None:
        """On a thread of ours, which must not wait for those of the program while these wait for it."""
        learner = self.learner
        if learner is None or not self._number or not self._handing.acquire(blocking=False):
            return
        try:
            if self.finished:
                return
            reached = learner.reached
            if reached != self._handed:
                self._stir()
                self._tell()
            elif reached == self._before:  # nothing has happened for a while
                self._settle()
            self._before = reached
        finally:
            self._handing.release()

    def _settle(self) -> None:
        """Say that all is handed in, if it is so."""
        if self._folder is None or not self._tell():
            return
        self._settled = time.monotonic()
        if self._busy:
            self._busy = False
            self._folder.rest(self._number)
        self._adjustable.flush_at = 1  # the next event ends it

    def _stir(self) -> None:
        """There is something new to hand in, or will be soon."""
        if not self._number or self._folder is None or self.finished:
            return
        if self._gone:
            self._gone = False
            self._folder.rest(self._number)
        if not self._forking:
            self._flusher.start()
        if self.settings.on_violation not in ("raise", "stop"):  # otherwise each event is handed in at once
            self._adjustable.flush_at = self.settings.buffer
            if not self._busy:
                self._busy = True
                self._folder.stir(self._number)

    # -- the first process ------------------------------------------------------------------------

    def _gather(self, folder: children.Folder) -> None:
        killed = running = ended = 0
        parts: list[str] = []
        for number in folder.members():
            report = _read(folder.file(number, _FINDINGS))
            if report is not None:
                self.live.merge(report)
            else:
                self.live.processes += 1  # it has seen nothing
            if self.learner is not None:
                # What was learned up to the end, or up to the last time that there was time to tell it.
                learned = (report or {}).get(_LEARNED) or _read(folder.file(number, _PROGRESS))
                if learned is not None:
                    self.learner.learner.merge(learned)
            if os.path.exists(folder.file(number, _TRACE)):
                parts.append(folder.file(number, _TRACE))
            if not folder.has_left(number):
                if folder.is_running(number):
                    running += 1
                elif not folder.is_condemned(number):
                    killed += 1
                elif folder.is_busy(number):
                    ended += 1
        for count, what in (
            (killed, "ended before it could say so"),
            (ended, "was ended by the program"),
            (running, "is still running"),
        ):
            if count:
                who = "a child process" if count == 1 else f"each of {count} child processes"
                self.live.warn(f"{who} {what}: the last of what it did may be missing here")
        if parts and self.settings.trace is not None:
            try:
                _join_traces(self.settings.trace, parts)
            except (TraceError, OSError) as error:
                self.live.faults.append(f"the traces of child processes could not be joined: {error}")
        if not running:
            folder.remove()


@dataclass(frozen=True)
class Passport:
    """What a child process needs to join the run; it does so when it unpickles this."""

    settings: Settings
    laws: tuple[Law, ...]
    folder: str
    began: float

    def __reduce__(self) -> tuple[object, ...]:
        return arrive, (self.settings, self.laws, self.folder, self.began)


_arrived: Session | None = None


def arrive(settings: Settings, laws: tuple[Law, ...], folder: str, began: float) -> str:
    """In a new process: join the run. Whatever goes wrong here must not be the program's trouble."""
    global _arrived
    try:
        # Its trace lies in the folder.
        session = Session(replace(settings, trace=None), laws)
        session.settings = settings
        if session.exchange is not None:
            session.exchange.numbered = settings.trace is not None
        session._late = time.monotonic() - began
        session._become(children.Folder(folder))
        if not session.finished:
            _arrived = session
            session._arrive()
    except Exception:
        if os.environ.get("LAWFUL_DEBUG") == "1":
            import traceback

            traceback.print_exc()
    return "lawful"


def _read(path: str) -> dict[str, Any] | None:
    """What a child has left there, if it could."""
    import msgspec

    try:
        with open(path, "rb") as file:
            return msgspec.json.decode(file.read(), type=dict[str, Any])
    except (OSError, msgspec.DecodeError):
        return None


def _join_traces(path: str, parts: list[str]) -> None:
    """Put the events of child processes into the trace, by time; behind its end, if it is no file but a stream."""
    whole = os.path.isfile(path)
    with _writer(path, atomic=whole) as writer:
        children.merge_traces([path, *parts] if whole else parts, writer.write_many)


def _learner(parameters: Parameters | None) -> LiveLearner | None:
    if parameters is None:
        return None
    from lawful.engine.learned import LiveLearner  # a run that learns nothing must not wait for it

    return LiveLearner(parameters)


def _sampler(demand: Demand | None, laws: Sequence[Law]) -> Sampler | None:
    if demand is None:
        return None
    from lawful.engine.sampler import Sampler  # a run that samples nothing must not wait for it

    return Sampler(demand, laws)


def _writer(path: str, *, atomic: bool = False) -> TraceWriter:
    from lawful.events.writer import TraceWriter  # a run without a trace must not wait for it

    return TraceWriter(path, atomic=atomic)
