"""A program under watch: tracer, laws, trace file and child processes, from the first event to the last."""

from __future__ import annotations

import atexit
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from lawful.engine.live import LiveRun, OnViolation
from lawful.errors import TraceError
from lawful.sources.python import children, cores, emitting
from lawful.sources.python.flusher import Flusher
from lawful.sources.python.scope import Scope
from lawful.sources.python.wanted import Watched

if TYPE_CHECKING:
    from lawful.engine.findings import Finding
    from lawful.events.writer import TraceWriter
    from lawful.laws.protocol import Law

Event = dict[str, Any]

BUFFER = 4096
"""Events that are gathered before they are judged, if the clock does not come first."""

_TRACE = ".jsonl"
_FINDINGS = ".json"


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


class Session:
    """One process under watch."""

    def __init__(
        self,
        settings: Settings,
        laws: Sequence[Law] = (),
        *,
        on_finding: Callable[[Finding], None] | None = None,
        on_exit: Callable[[int], None] | None = None,
    ) -> None:
        """`on_exit` is told the code when the first process is about to end in `os._exit`."""
        self.settings = settings
        self.laws = tuple(laws)
        self.writer = _writer(settings.trace) if settings.trace is not None else None
        self.live = LiveRun(
            self.laws if settings.judge else (),
            history=settings.history,
            on_violation=settings.on_violation,
            on_finding=on_finding,
            writer=self.writer,
        )
        self.watched = Watched(self.laws, settings.scope, main=settings.main)
        self._watching = children.Watching(self.watched)
        self.core = cores.choose(settings.core or "")
        options: dict[str, Any] = {"flush_at": settings.buffer}
        if settings.drop and self.core.name != "python":  # which always lets the program wait
            options = {"flush_at": settings.buffer + 1, "limit": settings.buffer}
        self.tracer = self.core.make(
            self._watching,
            self._deliver,
            synchronous=settings.on_violation != "report",
            gone=self.watched.gone,
            **options,
        )
        self._adjustable: Any = self.tracer  # if it has a `flush_at` that can be changed
        self._flusher = Flusher(self.tracer.flush)
        self._on_exit = on_exit
        self._folder: children.Folder | None = None
        self._number = 0  # of this process; 0 is the first
        self._forked = False
        self._began = 0.0
        self._late = 0.0  # what is to be added to times, if the tracer began after the first process's
        self._restart = False
        self.finished = False

    # -- begin and end ----------------------------------------------------------------------------

    def start(self) -> None:
        """Watch from now on."""
        self._began = time.monotonic()
        # For children. What is registered first is called last: the program's own handlers are watched.
        atexit.register(self.leave)
        self.tracer.start()
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
        for step in (self._watch_no_more, self.tracer.stop, self._judge_rest, self._close_trace, self._hand_over):
            try:
                step()
            except Exception as error:
                self.live.fail(error)

    def fail(self, error: BaseException) -> None:
        """A fault of ours: tell it in the report, and let the program go on without us."""
        with suppress(Exception):
            self.tracer.stop()
        self.live.fail(error)

    def _watch_no_more(self) -> None:
        atexit.unregister(self.leave)
        emitting.detach(self.tracer)
        self._flusher.stop()
        children.part(self)

    def _judge_rest(self) -> None:
        live = self.live
        for text in self.watched.warnings:
            live.warn(text)
        live.dropped += self.tracer.dropped
        if self.tracer.fault is not None and live.fault is None:
            live.fail(self.tracer.fault)
        live.end(verdict=not self._forked)

    def _close_trace(self) -> None:
        if self.writer is not None:
            try:
                self.writer.close()
            except (TraceError, OSError) as error:
                self.live.faults.append(f"the trace is not complete: {error}")

    def _hand_over(self) -> None:
        if self._number:
            self._hand_in(over=True)
        elif self._folder is not None:
            self._gather(self._folder)

    def _deliver(self, batch: list[Event]) -> None:
        last = batch[-1]
        leaving = last.get("name") == children.EXIT and last.get("event") == "func_pre"
        if leaving and not self._watching.exit_wanted:
            batch = batch[:-1]
        if self._late:
            for event in batch:
                event["time"] += self._late
        self.live.deliver(batch)
        if self._restart:
            self._go_on()
        if self._number and not self.finished:
            self._hand_in()
        if leaving:
            self._leave_at_once(last.get("args"))

    def _leave_at_once(self, args: object) -> None:
        """The last moment before `os._exit`."""
        if self._number:
            self.leave()
        elif self._on_exit is not None:
            code = args[0] if isinstance(args, list) and args else 0
            self._on_exit(code if isinstance(code, int) else 0)

    def _go_on(self) -> None:
        """Let the clock tick again, after a fork."""
        self._restart = False
        self._adjustable.flush_at = self.settings.buffer
        self._flusher.start()

    # -- children.Member --------------------------------------------------------------------------

    def before_fork(self) -> None:
        self._flusher.stop()
        self.tracer.flush()
        if self._folder is None:
            self._folder = children.Folder.make()
        self.live.before_fork()

    def after_fork_in_parent(self) -> None:
        self.live.after_fork_in_parent()
        # A thread that began here would be counted when the interpreter, a moment later, warns of forks with threads.
        try:
            self._adjustable.flush_at = 1  # the next event brings the clock back
        except AttributeError:
            self._flusher.start()
        else:
            self._restart = True

    def after_fork_in_child(self) -> None:
        assert self._folder is not None
        self._flusher.forget()
        self._forked = True
        self._become(self._folder)
        if not self.finished:
            self._flusher.start()

    def _become(self, folder: children.Folder) -> None:
        """Be a child process of the run."""
        self._folder = folder
        try:
            self._number = folder.enter()
        except OSError:  # the first process has ended
            self._give_up()
            return
        self.tracer.after_fork(self._number)
        path = folder.file(self._number, _TRACE)
        self.writer = _writer(path) if self.settings.trace is not None else None
        self.live.after_fork_in_child(writer=self.writer)

    def _give_up(self) -> None:
        self.finished = True
        children.part(self)
        self.tracer.stop()

    def passport(self) -> object:
        if self._folder is None:
            self._folder = children.Folder.make()
        return Passport(self.settings, self.laws, self._folder.path, self._began)

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

    def _hand_in(self, *, over: bool = False) -> None:
        """Leave what was found so far where the first process finds it, also if this one is killed the next moment."""
        import msgspec

        assert self._folder is not None
        path = self._folder.file(self._number, _FINDINGS)
        with suppress(OSError):
            with open(path + ".part", "wb") as file:
                file.write(msgspec.json.encode(self.live.snapshot()))
            os.replace(path + ".part", path)
            if over:
                self._folder.leave(self._number)

    # -- the first process ------------------------------------------------------------------------

    def _gather(self, folder: children.Folder) -> None:
        import msgspec

        killed = running = 0
        parts: list[str] = []
        for number in folder.members():
            with suppress(OSError, msgspec.DecodeError), open(folder.file(number, _FINDINGS), "rb") as file:
                self.live.merge(msgspec.json.decode(file.read()))
            if os.path.exists(folder.file(number, _TRACE)):
                parts.append(folder.file(number, _TRACE))
            if not folder.has_left(number):
                if folder.is_running(number):
                    running += 1
                elif not children.terminates:
                    killed += 1
        for count, what in ((killed, "ended before it could say so"), (running, "is still running")):
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


def _join_traces(path: str, parts: list[str]) -> None:
    """Put the events of child processes into the trace, by time; behind its end, if it is no file but a stream."""
    whole = os.path.isfile(path)
    with _writer(path, atomic=whole) as writer:
        children.merge_traces([path, *parts] if whole else parts, writer.write_many)


def _writer(path: str, *, atomic: bool = False) -> TraceWriter:
    from lawful.events.writer import TraceWriter  # a run without a trace must not wait for it

    return TraceWriter(path, atomic=atomic)
