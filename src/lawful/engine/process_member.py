"""One process of a run: its number, and the reports that it hands in, early enough to survive a kill."""

from __future__ import annotations

import os
import time
from _thread import RLock
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from lawful.diagnostics import all_encodable
from lawful.engine.recording import trace_writer
from lawful.errors import TraceError
from lawful.pristine_os import clock
from lawful.sources.python import children
from lawful.sources.python.run_folder import RunFolder, merge_traces

if TYPE_CHECKING:
    from lawful.engine.live_learning import LiveLearner
    from lawful.engine.run import LawRun
    from lawful.engine.tracer_setup import TracerSetup
    from lawful.sources.python.flusher import Flusher
    from lawful.sources.python.tracer_protocol import Event

_TRACE = ".jsonl"
_FINDINGS = ".json"
_PROGRESS = ".learned"
_LEARNED = "learned"
_FIRSTS = "firsts"
_MOST_LOOKED_AT = 8  # children, at one fork

# Writing the learned state may take so many seconds, and every so many-th second.
_TELLING = 0.1
_SHARE = 20
_CALM = 0.02  # seconds: a process that has just become busy will not be idle sooner


class ProcessMember:
    """Number 0 is the first process, which gathers the reports of the others."""

    def __init__(
        self, live: LawRun, learner: LiveLearner | None, setup: TracerSetup, flusher: Flusher, *, at_once: bool
    ) -> None:
        """`at_once`: each event is handed in alone, without waiting for others."""
        self._live = live
        self._learner = learner
        self.setup = setup
        self._flusher = flusher
        self._at_once = at_once
        self.on_exit: Callable[[int], None] | None = None  # called with the exit code before `os._exit`
        self.on_exec: Callable[[], None] | None = None  # called, in the first process, before an `exec`
        self.folder: RunFolder | None = None
        self.number = 0
        self.over = False  # is it finishing, with a last report?
        self.handing = RLock()
        self._born = 0.0  # when this process began
        self._handed = 0  # events in the last report of the learner
        self._telling = 0.0  # seconds that these reports took
        self.busy = False  # is the process marked as having something to hand in?
        self._settled = 0.0  # when the mark was last removed
        self._taken = 0  # how often events were judged
        self._before = (0, 0)  # the same when the clock last ticked, and events for the learner
        self._forking = False
        self._looked_at = 0  # the number of the last child whose first events were used
        self._gone = False  # is the process marked as ended, because another program was to replace it?

    # -- beginning --------------------------------------------------------------------------------

    def found(self) -> RunFolder:
        """The folder of the run, made when it is first needed."""
        if self.folder is None:
            self.folder = RunFolder.make()
        return self.folder

    def prepared(self) -> bool:
        """Is there a folder for the reports of children? If not, the report says so."""
        try:
            self.found()
        except OSError as error:
            reason = error.strerror or str(error)
            self._live.warn(f"child processes are not watched: no folder can be made for what they see: {reason}")
            return False
        return True

    def pause(self) -> None:
        """The process is about to fork: stop the thread of Lawful."""
        self._forking = True
        self._flusher.stop()

    def before_fork(self) -> None:
        """Judge all events so far, and let no thread hand in anything while the process forks."""
        self.setup.tracer.flush()
        if self.folder is not None:
            self._learn_from_children(self.folder)
        self.handing.acquire()

    def _learn_from_children(self, folder: RunFolder) -> None:
        """Prepare laws for what children did, so that the next one inherits it."""
        for number in range(self._looked_at + 1, self._looked_at + 1 + _MOST_LOOKED_AT):
            report = _read(folder.file(number, _FINDINGS))
            if report is not None:  # some children leave nothing, others are still running
                self._looked_at = number
                self._live.law_set.prepare_for(report.get(_FIRSTS, {}))

    def after_fork_in_parent(self) -> None:
        self.handing.release()
        self._forking = False

    def after_fork_in_child(self) -> None:
        self.handing = RLock()
        self.busy = self._gone = self._forking = False
        self._handed, self._telling = 0, 0.0

    def enter(self, folder: RunFolder) -> bool:
        """Become a child process of the run; false if the first process has ended."""
        self.folder = folder
        try:
            self.number = folder.enter()
        except OSError:
            return False
        self._born = clock.monotonic()
        self.setup.after_fork(self.number)
        if self._learner is not None:
            self._learner.on_progress = self.progress
            self._learner.on_news = self.mark_busy
        self.setup.deliver_next_at_once()  # the first event is handed in
        return True

    @property
    def trace(self) -> str:
        """Where this process, a child, writes its trace."""
        assert self.folder is not None
        return self.folder.file(self.number, _TRACE)

    # -- what a child hands in --------------------------------------------------------------------

    def hand_in(self, *, over: bool = False) -> None:
        """Write the findings so far to where the first process reads them."""
        assert self.folder is not None
        with self.handing, suppress(OSError):
            report = self._live.snapshot() | {_FIRSTS: self._live.law_set.first_events()}
            if over and self._learner is not None:
                report[_LEARNED] = self._learner.learner.snapshot()
            self._put(_FINDINGS, report)
            if over:
                self.folder.leave(self.number)

    def _put(self, suffix: str, report: dict[str, Any]) -> None:
        import msgspec

        assert self.folder is not None
        path = self.folder.file(self.number, suffix)
        try:
            text = msgspec.json.encode(report)
        except UnicodeEncodeError:  # in names of files, or texts of the program
            text = msgspec.json.encode(all_encodable(report))
        with open(path + ".part", "wb") as file:
            file.write(text)
        os.replace(path + ".part", path)

    def took(self, names: Collection[str], *, some: bool, whole: bool, woken: bool) -> None:
        """Events were judged: `some` of the program, a `whole` buffer, and process events of these `names`.

        `woken`: before them, there was nothing to hand in.
        """
        if not self.number or self.over or children.EXIT in names:
            return
        self._taken += 1
        if some:
            self.hand_in()
        calm = not whole and (not woken or clock.monotonic() > self._settled + _CALM)
        if calm or children.SEND in names:
            self._settle()

    def _tell(self, *, always: bool = False) -> bool:
        """Write the learner's state, if that does not take too much time; is everything written?"""
        learner = self._learner
        if learner is None:
            return True
        with self.handing:
            reached = learner.reached
            if reached == self._handed:
                return True
            if not always and self._telling > _TELLING + (clock.monotonic() - self._born) / _SHARE:
                return False
            began = time.thread_time()
            learner.catch_up()
            with suppress(OSError):
                self._put(_PROGRESS, learner.learner.snapshot())
            self._handed = reached
            self._telling += time.thread_time() - began
            return True

    def progress(self) -> None:
        """Called on a thread of Lawful, which must not wait for threads that wait for it."""
        if not self.number or not self.handing.acquire(blocking=False):
            return
        try:
            if self.over:
                return
            reached = 0 if self._learner is None else self._learner.reached
            if reached != self._handed:
                self.mark_busy()
                self._tell()
            elif self.busy and self._before == (self._taken, reached):  # nothing has happened for a while
                self._settle()
            self._before = self._taken, reached
        finally:
            self.handing.release()

    def _settle(self) -> None:
        """Mark that everything is handed in, if so."""
        if self.folder is None or not self._tell():
            return
        self._settled = clock.monotonic()
        if self.busy:
            self.busy = False
            self.folder.mark_idle(self.number)
        self.setup.deliver_next_at_once()  # the next event marks it busy again

    def mark_busy(self) -> None:
        """There is, or soon will be, something to hand in."""
        if not self.number or self.folder is None or self.over:
            return
        if self._gone:
            self._gone = False
            self.folder.mark_idle(self.number)
        if not self._forking:
            self._flusher.start()
        if not self._at_once:
            self.setup.deliver_in_batches()
            if not self.busy:
                self.busy = True
                self.folder.mark_busy(self.number)

    # -- ends -------------------------------------------------------------------------------------

    def on_process_event(self, name: str, event: Event) -> None:
        """This process ends, ends another one, or becomes another program."""
        if event["event"] != "func_pre":
            return
        args = event.get("args")
        first, second = [*args, None, None][:2] if isinstance(args, list) else (None, None)
        if name == children.EXIT:
            if self.on_exit is not None:
                self.on_exit(first if isinstance(first, int) else 0)
        elif name in children.KILLS.values():
            if self.folder is not None and isinstance(first, int):
                self.folder.note_kill(-first if name == "os.killpg" else first, second)
        elif name in children.EXECS.values() and not self.over:
            self._become_another()

    def _become_another(self) -> None:
        """Another program is about to replace this one, if it can be started."""
        if self.number and self.folder is not None:
            self._tell(always=True)
            self._gone = True
            self.folder.leave(self.number)
            self.setup.deliver_next_at_once()  # if there is another event, it failed
        elif self.on_exec is not None:
            self.on_exec()

    # -- the first process ------------------------------------------------------------------------

    def gather(self, trace: str | None) -> None:
        """Merge the reports of children, and their events into this trace."""
        folder = self.folder
        if folder is None:
            return
        killed = running = ended = 0
        parts: list[str] = []
        for number in folder.members():
            self._take_in(folder, number)
            if os.path.exists(folder.file(number, _TRACE)):
                parts.append(folder.file(number, _TRACE))
            if not folder.has_left(number):
                if folder.is_running(number):
                    running += 1
                elif not folder.was_killed(number):
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
                self._live.warn(f"{who} {what}: the last of what it did may be missing here")
        if parts and trace is not None:
            try:
                _join_traces(trace, parts)
            except (TraceError, OSError) as error:
                self._live.errors.append(f"the traces of child processes could not be joined: {error}")
        if not running:
            folder.remove()

    def _take_in(self, folder: RunFolder, number: int) -> None:
        report = _read(folder.file(number, _FINDINGS))
        if report is not None:
            self._live.merge(report)
        else:
            self._live.processes += 1  # it has seen nothing
        if self._learner is not None:
            # The learner's state at the end, or at its last report.
            learned = (report or {}).get(_LEARNED) or _read(folder.file(number, _PROGRESS))
            if learned is not None:
                self._learner.learner.merge(learned)


def _read(path: str) -> dict[str, Any] | None:
    """The report of a child, if it has left one."""
    import msgspec

    try:
        with open(path, "rb") as file:
            return msgspec.json.decode(file.read(), type=dict[str, Any])
    except (OSError, msgspec.DecodeError):
        return None


def _join_traces(path: str, parts: list[str]) -> None:
    """Merge the events of child processes into the trace, by time; append them, if the trace is a stream."""
    whole = os.path.isfile(path)
    with trace_writer(path, atomic=whole) as writer:
        merge_traces([path, *parts] if whole else parts, writer.write_many)
