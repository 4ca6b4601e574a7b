"""Child processes of the watched program: forked ones, and those that multiprocessing starts. They are watched too.

What a child has seen lies in the folder of the run, which the first process makes before it has its first child:
`NUMBER.pid` says that there is (or was) a child process, which, and when it began, and by its mode how far it is; it is
`new.PID` until it is whole. Whatever else a child leaves there also begins with its number. Numbers are 1, 2, ... in
the order in which children, and children of children, begin. `kill.PID` is left by a process that is about to end
another one, and says when that began; `halt` by one after which all are to end; those who want to be told of that leave
`halt.PID`.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Set
from contextlib import suppress
from itertools import count
from types import CodeType
from typing import Protocol

from lawful import pristine_os
from lawful.events.event_kinds import to_dict
from lawful.sources.python.sites import probes
from lawful.sources.python.tracer_protocol import CALLS, Callee, CodePlan, Event, Want, WatchPlanner

_LAST = -1_000_000_000  # the priority of multiprocessing's finalisers after which there is nothing

_LAUNCHERS = frozenset(f"multiprocessing.popen_{way}" for way in ("fork", "forkserver", "spawn_posix", "spawn_win32"))
_CONNECTION = "multiprocessing.connection"
_SEND = "_send_bytes"

EXIT = "os._exit"
"""The name of the event after which there is nothing."""

SEND = f"{_CONNECTION}.{_SEND}"
"""The name of the event of a message that is about to be sent: who gets it may end us at once."""

KILLS = {function: f"os.{name}" for name in ("kill", "killpg") if (function := getattr(os, name, None)) is not None}
"""Functions with which a process ends another one, and the names of their events."""

EXECS = {
    getattr(os, name): f"os.{name}"
    for name in ("execl", "execle", "execlp", "execlpe", "execv", "execve", "execvp", "execvpe")
}
"""Functions after which this process is another program, and the names of their events."""

_NAMES = frozenset(function.__name__ for function in (*KILLS, *EXECS))

# What a process survives if it has no handler for it.
_MILD = frozenset(
    number
    for name in ("SIGCHLD", "SIGCONT", "SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGURG", "SIGWINCH")
    if (number := getattr(signal, name, None)) is not None
)

_KINDS = {"func_pre": Want.PRE, "func_post": Want.POST, "func_raise": Want.RAISE}
_ALL = ~Want(0)

_PID = ".pid"
_NEW = "new."
_KILL = "kill."
_HALT = "halt"

# Modes of the first file: it is much quicker to change one than to make another file.
_RESTS = 0o600
_BUSY = 0o700
_LEFT = 0o400

_BEGUN = 19  # the place of a process's beginning in what Linux says of its state

_BATCH = 1000


class ProcessListener(Protocol):
    """What is told when a process is about to have a child, or is one."""

    def before_fork(self) -> None: ...

    def after_fork_in_parent(self) -> None: ...

    def after_fork_in_child(self) -> None: ...

    def join_token(self) -> object | None:
        """What a child that does not share our memory needs: when it is unpickled there, the child joins the run.

        None if it cannot.
        """
        ...

    def fail(self, error: BaseException) -> None:
        """A fault of ours, which must not reach the program."""
        ...

    def leave(self) -> None:
        """The process is about to end, by multiprocessing's own way out."""
        ...


_listeners: list[ProcessListener] = []  # a program may watch several of its parts at once
_registered = False


def add_listener(listener: ProcessListener) -> None:
    """From now on `listener` is told of this process's children."""
    global _registered
    _listeners.append(listener)
    if not _registered:  # it cannot be undone
        os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
        _registered = True
    if "multiprocessing.util" in sys.modules:
        _reach_multiprocessing()


def remove_listener(listener: ProcessListener) -> None:
    """No more."""
    if listener in _listeners:
        _listeners.remove(listener)


def _before() -> None:
    for listener in _listeners:
        with _safely(listener):
            listener.before_fork()


def _in_parent() -> None:
    for listener in _listeners:
        with _safely(listener):
            listener.after_fork_in_parent()


def _in_child() -> None:
    for listener in _listeners.copy():
        with _safely(listener):
            listener.after_fork_in_child()


class _safely:
    """A fault in here ends the watching; the program has its child process in any case."""

    def __init__(self, listener: ProcessListener) -> None:
        self._listener = listener

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, Exception):
            self._listener.fail(error)
            return True
        return False


class ProcessWatchPlanner:
    """What another `WatchPlanner` wants, and the places where this process starts children, talks to them, or ends.

    Modules of multiprocessing are reached when their code first runs: no import hook, no cost for those without.
    """

    def __init__(self, wanted: WatchPlanner, *, messages: bool = False) -> None:
        """With `messages`, there are events of what is sent to other processes; else only a flush before it."""
        self._wanted = wanted
        self._messages = messages
        self.receiver_callee = wanted.receiver_callee
        self.operation = wanted.operation
        self.field = wanted.field
        self.class_name = wanted.class_name
        self.on_call = wanted.on_call
        self.on_return = wanted.on_return
        wanted.exempt_from_filter(_NAMES, ("multiprocessing.",))
        self.library_filter = wanted.library_filter
        self._exits = False  # own code ends the process by itself, perhaps
        self._files: set[str] = set()  # that are of interest only to us
        self._noted: dict[str, tuple[str, Want]] = {}  # by names of events: our own names, and what others want of them

    def plan(self, code: CodeType, module: str) -> CodePlan | None:
        plan = self._wanted.plan(code, module)
        if module.startswith("multiprocessing."):
            if module in _LAUNCHERS:
                _reach_multiprocessing()
            elif module == _CONNECTION:
                # Whoever gets this may end us at once, as a pool does with its workers when it has their results.
                return _with_calls(plan, code, {_SEND})
        if _NAMES.isdisjoint(code.co_names) or module.partition(".")[0] == "lawful":
            return plan
        if plan is None:
            self._files.add(code.co_filename)
        elif plan.own:
            self._exits = True
        return _with_calls(plan, code, _NAMES)

    @property
    def on_seen(self) -> Callable[[CodeType], object] | None:
        return self._wanted.on_seen

    def exempt_from_filter(self, loads: frozenset[str], modules: tuple[str, ...]) -> None:
        self._wanted.exempt_from_filter(loads, modules)

    def callee(self, function: object, receiver: type | None) -> Callee | None:
        callee = self._wanted.callee(function, receiver)
        found = self._of_processes(function)
        if found is None:
            return callee
        if callee is None or (found.name == SEND and not callee.wants & Want.CALLEE_SIDE):
            # What the scope asks for is meant for own code, which does not call it.
            self._noted[found.name] = found.name, Want(0)
            return found
        self._noted[callee.name] = found.name, callee.wants
        return callee._replace(wants=callee.wants | found.wants)

    def _of_processes(self, function: object) -> Callee | None:
        told = Want.PRE | Want.EXIT | Want.ARGS
        if function is os._exit:
            return Callee(EXIT, told)
        try:
            name = KILLS.get(function) or EXECS.get(function)
        except TypeError:  # it is something that can be called, but not hashed
            return None
        if name is not None:
            return Callee(name, told)
        if getattr(function, "__name__", None) == _SEND and getattr(function, "__module__", None) == _CONNECTION:
            return Callee(SEND, Want.PRE | Want.EXIT if self._messages else Want.EXIT)
        return None

    def split(self, batch: list[Event]) -> tuple[list[Event], list[tuple[str, Event]]]:
        """The events that others want, and those that are about processes, with their names."""
        if not self._noted:
            return batch, []
        wanted, ours = [], []
        for event in map(to_dict, batch):
            name, others = self._noted.get(event.get("name", ""), ("", _ALL))
            if name:
                ours.append((name, event))
            if others & _KINDS.get(event["event"], _ALL) and not (name and event.get("file") in self._files):
                wanted.append(event)
        return wanted, ours


def _with_calls(plan: CodePlan | None, code: CodeType, names: Set[str]) -> CodePlan | None:
    """The plan, with probes at the calls of what has such a name."""
    if names.isdisjoint(code.co_names):
        return plan
    known = {probe.offset for probe in plan.probes} if plan is not None else ()
    more = [probe for probe in probes(code, CALLS) if probe.name in names and probe.offset not in known]
    if not more:
        return plan
    if plan is None:
        plan = CodePlan(None, (), code.co_filename, False)
    return plan._replace(probes=tuple(sorted([*plan.probes, *more], key=lambda probe: probe.offset)))


class _Here:
    """What multiprocessing's list of things to do after a fork refers to, weakly."""


_here = _Here()
_original: Callable[[str], dict[str, object]] | None = None


def _reach_multiprocessing() -> None:
    """Make multiprocessing's children join, and leave in order."""
    global _original
    from multiprocessing import util

    util.register_after_fork(_here, _when_bootstrapped)
    spawn = sys.modules.get("multiprocessing.spawn")
    if spawn is not None and _original is None:
        _original = spawn.get_preparation_data
        spawn.get_preparation_data = _with_join_tokens  # type: ignore[attr-defined]


def _with_join_tokens(name: str) -> dict[str, object]:
    assert _original is not None
    data = _original(name)
    tokens = []
    for listener in _listeners:
        with _safely(listener):
            tokens.append(listener.join_token())
    if tokens := [each for each in tokens if each is not None]:
        data["lawful"] = tokens
    return data


def _when_bootstrapped(here: object) -> None:
    from multiprocessing import util

    util.Finalize(None, _leave, exitpriority=_LAST)


def _leave() -> None:
    if _listeners:
        # multiprocessing waits for them, too, but later.
        for thread in threading.enumerate():
            if not thread.daemon and thread is not threading.current_thread():
                thread.join()
    for listener in _listeners.copy():
        listener.leave()


class RunFolder:
    """The folder of a run, seen from one of its processes."""

    def __init__(self, path: str) -> None:
        self.path = path

    @classmethod
    def make(cls) -> RunFolder:
        """A new one, where there is room for temporary files.

        `tempfile` is not asked: it imports modules of which the program may have others, and the laws are about it.
        """
        named = [os.environ[name] for name in ("TMPDIR", "TEMP", "TMP") if os.environ.get(name)]
        reason = OSError("there is no place for temporary files")
        for place in (*named, "/tmp", "/var/tmp", "/usr/tmp", "."):
            try:
                path = os.path.join(os.path.abspath(place), f"lawful-{os.urandom(8).hex()}")
                os.mkdir(path, 0o700)
            except OSError as error:
                reason = error
            else:
                return cls(path)
        raise reason

    def enter(self) -> int:
        """Say that this process is there; its number."""
        pid = os.getpid()
        path = os.path.join(self.path, f"{_NEW}{pid}")
        _write(path, f"{pid} {_begun(pid)}")
        # A process may be killed at any moment: what the others see of it is whole.
        try:
            for number in count(self._free()):
                with suppress(FileExistsError):
                    os.link(path, self.file(number, _PID))
                    return number
            raise AssertionError
        finally:
            os.unlink(path)

    def _free(self) -> int:
        """A number before which there is none that is free, and which may be so itself. They are given without gaps."""
        taken, free = 0, 1
        while pristine_os.exists(self.file(free, _PID)):
            taken, free = free, 2 * free
        while free - taken > 1:
            middle = (taken + free) // 2
            taken, free = (middle, free) if pristine_os.exists(self.file(middle, _PID)) else (taken, middle)
        return free

    def leave(self, number: int) -> None:
        """Say that this process has handed over all it had, and ends."""
        self._say(number, _LEFT)

    def mark_busy(self, number: int) -> None:
        """Say that this process has something to hand over."""
        self._say(number, _BUSY)

    def mark_idle(self, number: int) -> None:
        """Say that it has nothing, but goes on."""
        self._say(number, _RESTS)

    def _say(self, number: int, mode: int) -> None:
        with suppress(OSError):  # the run may be over
            os.chmod(self.file(number, _PID), mode)

    def _said(self, number: int) -> int:
        try:
            return os.stat(self.file(number, _PID)).st_mode & 0o700
        except OSError:
            return _RESTS

    def note_kill(self, pid: int, number: int | None) -> None:
        """Say that this process is about to send a signal, as `os.kill` would do. The signal may be unknown."""
        if number == 0 or number in _MILD:
            return
        if pid > 0:
            pids = [pid]
        else:
            group = -pid or os.getpgrp()
            pids = [each for each in map(self._pid, self.members()) if each and group in (1, _group(each))]
        for each in pids:
            if each != os.getpid() and _is_alive(each):
                with suppress(OSError):  # the run may be over
                    _write(os.path.join(self.path, f"{_KILL}{each}"), _begun(each))

    def was_killed(self, number: int) -> bool:
        """Has a process of the program sent it a signal of which it may have died?

        That may have been before it was known here. Another process may have had the same id before.
        """
        pid, begun = self._who(number)
        try:
            with open(os.path.join(self.path, f"{_KILL}{pid}"), encoding="ascii") as file:
                return file.read() == begun
        except OSError:
            return False

    def listen_for_stop(self, pid: int) -> None:
        """Say that this process wants to be told if all are to end."""
        self._mark(f"{_HALT}.{pid}")

    def request_stop(self) -> list[int]:
        """Say that all processes of the run are to end. Those that want to be told."""
        self._mark(_HALT)
        try:
            names = os.listdir(self.path)
        except OSError:
            return []
        return [int(name.removeprefix(f"{_HALT}.")) for name in names if name.startswith(f"{_HALT}.")]

    def _mark(self, name: str) -> None:
        with suppress(OSError):  # the run may be over
            os.close(os.open(os.path.join(self.path, name), os.O_CREAT | os.O_WRONLY, 0o600))

    def stop_requested(self) -> bool:
        return pristine_os.exists(os.path.join(self.path, _HALT))

    def file(self, number: int, suffix: str) -> str:
        return os.path.join(self.path, f"{number}{suffix}")

    def members(self) -> list[int]:
        """The numbers of all child processes there were."""
        with suppress(FileNotFoundError):
            return sorted(int(name.removesuffix(_PID)) for name in os.listdir(self.path) if name.endswith(_PID))
        return []

    def has_left(self, number: int) -> bool:
        return self._said(number) == _LEFT

    def is_busy(self, number: int) -> bool:
        return self._said(number) == _BUSY

    def is_running(self, number: int) -> bool:
        pid = self._pid(number)
        return bool(pid) and _is_alive(pid)

    def _pid(self, number: int) -> int:
        """Its process id, or 0."""
        return self._who(number)[0]

    def _who(self, number: int) -> tuple[int, str]:
        """Its process id, or 0, and when it began."""
        try:
            with open(self.file(number, _PID), encoding="ascii") as file:
                pid, _, begun = file.read().partition(" ")
                return int(pid), begun
        except (OSError, ValueError):
            return 0, ""

    def remove(self) -> None:
        import shutil

        shutil.rmtree(self.path, ignore_errors=True)


def _group(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except OSError:
        return 0


def _is_alive(pid: int) -> bool:
    """Is there such a process, and has it not ended, even if nobody has waited for it yet?"""
    try:
        os.kill(pid, 0)
    except PermissionError:
        pass
    except OSError:
        return False
    return not _state(pid).startswith("Z")


def _begun(pid: int) -> str:
    """When the process with this id began, in the system's words; empty if it does not tell."""
    return "".join(_state(pid).split()[_BEGUN : _BEGUN + 1])


def _state(pid: int) -> str:
    """What Linux says of a process behind its name, which may have blanks and parentheses."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].lstrip()
    except OSError:
        return ""


def _write(path: str, text: str) -> None:
    file = os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, _RESTS)
    try:
        os.write(file, text.encode("ascii"))
    finally:
        os.close(file)


def merge_traces(parts: list[str], write: Callable[[list[Event]], None]) -> None:
    """Give all events of several traces in the order of their times; in each the order stays."""
    import heapq

    batch: list[Event] = []
    for _, _, event in heapq.merge(*map(_timed, parts, count()), key=lambda each: each[:2]):
        batch.append(event)
        if len(batch) == _BATCH:
            write(batch)
            batch = []
    write(batch)


def _timed(path: str, rank: int) -> Iterator[tuple[float, int, Event]]:
    """Events with the latest time so far, so that they are in order, and with the rank of their trace."""
    from lawful.events.reader import open_trace

    latest = 0.0
    with open_trace(path, skip_bad=True) as reader:  # a child that was killed may leave half a line
        for batch in reader.batches():
            for event in batch:
                latest = max(latest, event.get("time", latest))
                yield latest, rank, event
