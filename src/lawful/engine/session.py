"""A program under watch: tracer, laws, trace file and child processes, from the first event to the last."""

from __future__ import annotations

import atexit
from _thread import get_ident
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from lawful.engine.process_member import ProcessMember
from lawful.engine.recording import Recording
from lawful.engine.run import LawRun
from lawful.engine.suppressions import Suppressions
from lawful.engine.tracer_setup import TracerSetup
from lawful.engine.watch_settings import JoinToken, WatchSettings
from lawful.pristine_os import clock
from lawful.sources.python import children, emitting, tracer_choice
from lawful.sources.python.flusher import INTERVAL, Flusher
from lawful.sources.python.run_folder import RunFolder

if TYPE_CHECKING:
    from lawful.confidence.engine import Demand
    from lawful.engine.findings import Finding
    from lawful.engine.live_learning import LiveLearner
    from lawful.engine.remote_judge import RemoteJudge, RemoteJudgeServer
    from lawful.engine.stop_all import StopAll
    from lawful.engine.tracer_sampling import TracerSampler
    from lawful.laws.protocol import Law
    from lawful.learning.parameters import Learning
    from lawful.sources.python.tracer_protocol import Tracer

Event = dict[str, Any]


class ObserverHook(Protocol):
    """The dashboard, which looks on while the program runs. Called on a thread of Lawful; it must never wait."""

    def beat(self) -> None:
        """Called ten times a second."""

    def end(self) -> None:
        """The run is over, and the report is complete."""

    def after_fork_in_child(self) -> None:
        """This process is now a child, which nobody looks at."""


class Session:
    """One process under watch."""

    def __init__(
        self,
        settings: WatchSettings,
        laws: Sequence[Law] = (),
        *,
        on_finding: Callable[[Finding], None] | None = None,
        on_exit: Callable[[int], None] | None = None,
        on_exec: Callable[[], None] | None = None,
        joins: bool = False,
    ) -> None:
        """`on_exit` gets the code when the first process is about to call `os._exit`; `on_exec` is called when another
        program is about to replace it. A process that `joins` a run must `arrive` first.
        """
        self.settings = settings
        self.laws = tuple(laws)
        self.recording = Recording(None if joins else settings.trace)
        self.learner = _learner(settings.learn)
        self.sampler = _sampler(settings.demand, self.laws)
        self.core = tracer_choice.choose(settings.core or "")
        self.setup = self._new_setup()
        self._suppressions = Suppressions(settings.ignore, settings.scope.project, in_tests=settings.tests)
        self.live = LawRun(
            self.laws if settings.judge else (),
            history=settings.history,
            on_violation=settings.on_violation,
            on_finding=on_finding,
            writer=self.recording.writer,
            tracking=None if self.sampler is None else self.sampler.tracking,
            suppressions=self._suppressions,
            messages=settings.messages,
        )
        self._retired: list[Tracer] = []  # threads may still be inside them
        self.observer_hook: ObserverHook | None = None
        periods = [every for law in self.laws if (every := law.every) is not None]
        self._ticks = bool(periods) and settings.judge
        self._flusher = Flusher(self._beat, min([INTERVAL, *periods]) if self._ticks else INTERVAL)
        self._member = ProcessMember(self.live, self.learner, self.setup, self._flusher, at_once=settings.at_once)
        self._member.on_exit, self._member.on_exec = self._leave_at_once, on_exec
        self._on_exit = on_exit
        self._client = _remote_judge(self.live, self._member) if settings.refers and settings.at_once else None
        self._server: RemoteJudgeServer | None = None  # judges what processes that others start are about to send
        stops = settings.on_violation == "stop"
        self._stop_all = _stop_all(self._member, self._leave_at_once) if stops else None
        self._forked = False
        self._began = 0.0
        self._started = 0.0  # when the tracer's clock had begun
        self._late = 0.0  # by how much this tracer began after that of the first process
        self._restart = False  # the clock, with the next event
        self._deliverer: int | None = None  # the thread that delivers
        self.finished = False

    @property
    def tracer(self) -> Tracer:
        """The present one: other laws take another tracer."""
        return self.setup.tracer

    def _new_setup(self) -> TracerSetup:
        return TracerSetup(
            self.settings,
            self.laws,
            self.core,
            self._deliver,
            learner=self.learner,
            sampler=self.sampler,
            join_token=lambda: self._join_token().to_file(),
            serve=self._serve,
        )

    def _enable_fast_paths(self) -> None:
        """Judge messages without events, and make no dicts of events, as far as nobody else needs these."""
        settings, messages, learns = self.settings, self.setup.messages, self.learner is not None
        if messages is not None and settings.judge and not settings.refers and not learns:
            messages.enable_inline(self.live.inline)
        others = learns or self._client is not None or settings.at_once or bool(self._late)
        lazy = not self.live.laws or any(each.queue.takes_lazy_events for each in self.live.laws)
        if lazy and not others:
            self.setup.use_lazy_events()

    # -- begin and end ----------------------------------------------------------------------------

    def start(self) -> None:
        """Watch from now on."""
        self._began = clock.monotonic()
        # For children. The handler registered first is called last: the program's own handlers are watched.
        atexit.register(self.leave)
        if self.learner is not None:
            self.learner.start(self.tracer)
        if self.sampler is not None:
            self.sampler.begin()
        self._enable_fast_paths()
        self.tracer.start()
        self._started = clock.monotonic()
        children.add_listener(self)
        emitting.attach(self.tracer, self.settings.scope, self.fail)
        self._flusher.start()

    def finish(self) -> None:
        """Stop watching, judge the rest, and merge the findings of children. An error here only goes to the report."""
        if self.finished:
            return
        self.finished = self._member.over = True
        self.live.seconds = clock.monotonic() - self._began if self._began else None
        for step in (
            self._watch_no_more,
            lambda: self.recording.end_apart(self.live),
            self.tracer.stop,
            self._learn_rest,
            self._judge_rest,
            lambda: self.recording.close(self.live),
            self._hand_over,
            self._take_leave,
        ):
            try:
                step()
            except Exception as error:
                self.live.fail(error)

    def fail(self, error: BaseException) -> None:
        """Report an internal error, and let the program run on unwatched."""
        if self.sampler is not None:
            self.sampler.stop()
        with suppress(Exception):
            self.tracer.stop()
        self.live.fail(error)

    def _watch_no_more(self) -> None:
        # At `os._exit` in the middle of a delivery, other threads may wait for that delivery to end.
        wait = self._deliverer != get_ident()
        if self._server is not None:
            self._server.stop(wait=wait)
        self.setup.emit_rest()
        atexit.unregister(self.leave)
        emitting.detach(self.tracer)
        if self.sampler is not None:
            self.sampler.stop()
        self._flusher.stop(wait=wait)
        children.remove_listener(self)

    def _learn_rest(self) -> None:
        if self.learner is not None:
            with self._member.handing:
                self.learner.finish()

    def _judge_rest(self) -> None:
        live = self.live
        for text in (*self.setup.warnings, *self._suppressions.warnings(law.name for law in self.laws)):
            live.warn(text)
        for tracer in (*self._retired, self.tracer):
            live.dropped += tracer.dropped
            if tracer.fault is not None and live.fault is None:
                live.fail(tracer.fault)
        if self._ticks:
            live.tick(clock.monotonic() - self._started + self._late)
        live.end(verdict=not self._forked)
        if self.sampler is not None:
            self.sampler.end()

    def _hand_over(self) -> None:
        if self._member.number:
            self._member.hand_in(over=True)
            return
        self._member.gather(self.settings.trace)
        if self.learner is not None:
            self.live.learned(self.learner)

    def _take_leave(self) -> None:
        if self.observer_hook is not None:
            self.observer_hook.end()

    # -- commands while the program runs ----------------------------------------------------------

    def trace_for(self, laws: Sequence[Law]) -> None:
        """Watch for these laws, with a new tracer, which the caller starts."""
        old, self.laws = self.setup, tuple(laws)
        new = self._new_setup()
        new.tracer.take_over(old.tracer)
        old.tracer.stop()  # the old laws judge what it had gathered
        self._retired.append(old.tracer)
        self.setup = self._member.setup = new
        self._enable_fast_paths()
        if self.learner is not None:
            self.learner.goes_on_with(new.tracer)

    def pause_law(self, name: str, paused: bool) -> None:
        """Pause a law, or resume it in its first state."""
        self.tracer.flush()  # earlier events are judged as before
        self.live.pause(name, paused)

    def record(self, path: str | None) -> None:
        """Write events to this file from now on; None: stop writing."""
        self.tracer.flush()
        if path is None:
            self.recording.end(self.live)
        elif not self.recording.on:
            apart = self.learner is not None and self.learner.direct
            self.recording.begin(path, self.live, self.setup, apart=apart)

    # -- events -----------------------------------------------------------------------------------

    def _beat(self) -> None:
        """Called ten times a second."""
        now = clock.monotonic()
        self.tracer.flush()
        self.live.settle()
        if self._ticks:
            self.live.tick(now - self._started + self._late)
        if self.sampler is not None:
            self.sampler.beat()
        self._member.progress()
        if self._stop_all is not None:
            self._stop_all.check_stop()
        self.recording.flush()
        if self.observer_hook is not None:
            self.observer_hook.beat()

    def _deliver(self, batch: list[Event]) -> None:
        self._deliverer = get_ident()
        began = clock.perf_counter()
        try:
            self._take(batch)
        finally:
            self._deliverer = None
            self.live.judging += clock.perf_counter() - began

    def _take(self, batch: list[Event]) -> None:
        whole = len(batch) >= min(self.settings.buffer, self.setup.gathered)
        batch, ours = self.setup.watching.split(batch)
        woken = not self._member.busy
        self._member.mark_busy()
        if self._late:
            for event in batch:
                event["time"] += self._late
        if batch:
            self._judge(batch)
            if self.learner is not None and not self.learner.direct:
                self.learner.feed(batch)
        if self._restart:
            self._restart = False
            self.setup.deliver_in_batches()
            self._flusher.start()
        self._member.took({name for name, _ in ours}, some=bool(batch), whole=whole, woken=woken)
        for name, event in ours:
            self._member.on_process_event(name, event)

    def _judge(self, batch: list[Event]) -> None:
        try:
            self.live.deliver(batch if self._client is None else self._client.ask(batch))
        except SystemExit:
            if self._stop_all is not None:
                self._stop_all.call()
            raise

    def _serve(self) -> None:
        """Judge, from now on, what processes that others start are about to send."""
        if not self.settings.judge or self.finished or self._server is not None:
            return
        from lawful.engine.remote_judge import RemoteJudgeServer

        try:
            self._server = RemoteJudgeServer(self.live, self._member.found().path)
        except OSError as error:
            self.live.warn(f"messages of other processes cannot be judged before they go out: {error}")

    def _leave_at_once(self, code: int) -> None:
        if self._member.number:
            self.leave()
        elif self._on_exit is not None:
            self._on_exit(code)

    # -- children.ProcessListener --------------------------------------------------------------------------

    def before_fork(self) -> None:
        self.tracer.suspend()
        self._member.pause()  # first of all: with another thread, the interpreter warns of forks
        if self._member.prepared() and self._stop_all is not None:
            self._stop_all.before_child()
        self._member.before_fork()
        self.live.before_fork()
        if self.learner is not None:
            self.learner.before_fork()

    def after_fork_in_parent(self) -> None:
        if self.learner is not None:
            self.learner.after_fork_in_parent()
        self.live.after_fork_in_parent()
        self._member.after_fork_in_parent()
        # The interpreter would warn of a thread that begins here: the next event restarts the clock.
        self.setup.deliver_next_at_once()
        self._restart = True
        self.tracer.resume()

    def after_fork_in_child(self) -> None:
        self._member.after_fork_in_child()
        if self._stop_all is not None:
            self._stop_all.after_fork_in_child()
        self._flusher.forget()
        if self._server is not None:
            self._server.after_fork_in_child()
            self._server = None
        self._forked = True
        if self.observer_hook is not None:
            self.observer_hook.after_fork_in_child()
            self.observer_hook = None
        self.recording.after_fork_in_child()
        self._deliverer = None
        if self.learner is not None:
            self.learner.after_fork_in_child()
        self._become(self._member.folder)
        self.tracer.resume()

    def _become(self, folder: RunFolder | None) -> None:
        """Become a child process of the run."""
        if folder is None or not self._member.enter(folder):
            self.finished = self._member.over = True
            children.remove_listener(self)
            self.tracer.stop()
            return
        self.recording = Recording(self._member.trace if self.settings.trace is not None else None)
        self.live.after_fork_in_child(writer=self.recording.writer)
        if self.sampler is not None:
            self.sampler.tracking.after_fork_in_child(self._member.number)

    def join_token(self) -> JoinToken | None:
        return self._join_token() if self._member.prepared() else None

    def _join_token(self) -> JoinToken:
        if self._stop_all is not None:
            self._stop_all.before_child()
        return JoinToken(self.settings, self.laws, self._member.found().path, self._began)

    def arrive(self, folder: str, began: float) -> bool:
        """Join a run that began then, in a new process; false if it is over."""
        self._late = clock.monotonic() - began
        self._become(RunFolder(folder))
        if self.finished:
            return False
        try:
            self.start()
        except Exception as error:
            self.live.fail(error)
            self.finish()
            raise
        return True

    def leave(self) -> None:
        if self._member.number:
            self.finish()


def _learner(parameters: Learning | None) -> LiveLearner | None:
    if parameters is None:
        return None
    from lawful.engine.live_learning import LiveLearner  # only runs that learn wait for it

    return LiveLearner(parameters)


def _sampler(demand: Demand | None, laws: Sequence[Law]) -> TracerSampler | None:
    if demand is None:
        return None
    from lawful.engine.tracer_sampling import TracerSampler  # only runs that sample wait for it

    return TracerSampler(demand, laws)


def _remote_judge(live: LawRun, member: ProcessMember) -> RemoteJudge:
    from lawful.engine.remote_judge import RemoteJudge  # only such processes wait for it

    return RemoteJudge(live, lambda: member.found().path)


def _stop_all(member: ProcessMember, on_exit: Callable[[int], None]) -> StopAll:
    from lawful.engine.stop_all import StopAll  # only runs that can stop wait for it

    return StopAll(member, on_exit)
