"""Child processes of the watched program: forked ones, and those that multiprocessing starts. They are watched too.

What a child has seen lies in the folder of the run, which the first process makes before it has its first child:
`NUMBER.pid` says that there is (or was) a child process and which; whatever else a child leaves there also begins with
its number. Numbers are 1, 2, ... in the order in which children, and children of children, begin.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from types import CodeType
from typing import Protocol

from lawful.sources.python.model import Callee, CodePlan, Event, Operation, Want, Wanted
from lawful.sources.python.sites import probes

_LAST = -1_000_000_000  # the priority of multiprocessing's finalisers after which there is nothing

_LAUNCHERS = frozenset(f"multiprocessing.popen_{way}" for way in ("fork", "forkserver", "spawn_posix", "spawn_win32"))
_CONNECTION = "multiprocessing.connection"
_SEND = "_send_bytes"
_CALLS = frozenset({Operation.CALL, Operation.CALL_EX})

EXIT = "os._exit"
"""The name of the event after which there is nothing."""

_ENDED = ".end"
_PID = ".pid"
_BATCH = 1000


class Member(Protocol):
    """What is told when a process is about to have a child, or is one."""

    def before_fork(self) -> None: ...

    def after_fork_in_parent(self) -> None: ...

    def after_fork_in_child(self) -> None: ...

    def passport(self) -> object:
        """What a child that does not share our memory needs: when it is unpickled there, the child joins the run."""
        ...

    def leave(self) -> None:
        """The process is about to end, by multiprocessing's own way out."""
        ...


_members: list[Member] = []  # a program may watch several of its parts at once
_registered = False


def join(member: Member) -> None:
    """From now on `member` is told of this process's children."""
    global _registered
    _members.append(member)
    if not _registered:  # it cannot be undone
        os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
        _registered = True
    if "multiprocessing.util" in sys.modules:
        _reach_multiprocessing()


def part(member: Member) -> None:
    """No more."""
    if member in _members:
        _members.remove(member)


def _before() -> None:
    for member in _members:
        member.before_fork()


def _in_parent() -> None:
    for member in _members:
        member.after_fork_in_parent()


def _in_child() -> None:
    for member in _members.copy():
        member.after_fork_in_child()


class Watching:
    """What another `Wanted` wants, and the places where this process starts children, talks to them, or ends.

    Modules of multiprocessing are reached when their code first runs: no import hook, no cost for those without.
    """

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self.receiver_callee = wanted.receiver_callee
        self.operation = wanted.operation
        self.field = wanted.field
        self.class_name = wanted.class_name
        self.exit_wanted = False
        """Is somebody interested in the event of `os._exit`? It is there in any case."""

    def plan(self, code: CodeType, module: str) -> CodePlan | None:
        plan = self._wanted.plan(code, module)
        if module.startswith("multiprocessing."):
            if module in _LAUNCHERS:
                _reach_multiprocessing(code.co_name)
            elif module == _CONNECTION and _SEND in code.co_names:
                # Whoever gets this may end us at once, as a pool does with its workers when it has their results.
                return _with_calls(plan, code, _SEND)
        return plan

    def callee(self, function: object, receiver: type | None) -> Callee | None:
        callee = self._wanted.callee(function, receiver)
        if function is os._exit:
            self.exit_wanted = callee is not None and bool(callee.wants & Want.PRE)
            wants = Want.PRE | Want.EXIT | Want.ARGS
            return Callee(EXIT, wants) if callee is None else callee._replace(wants=callee.wants | wants)
        if getattr(function, "__name__", None) == _SEND and getattr(function, "__module__", None) == _CONNECTION:
            name = f"{_CONNECTION}.{_SEND}"
            return Callee(name, Want.EXIT) if callee is None else callee._replace(wants=callee.wants | Want.EXIT)
        return callee


def _with_calls(plan: CodePlan | None, code: CodeType, name: str) -> CodePlan:
    """The plan, with probes at the calls of what has this name."""
    if plan is None:
        plan = CodePlan(None, (), code.co_filename, False)
    known = {probe.offset for probe in plan.probes}
    more = [probe for probe in probes(code, _CALLS) if probe.name == name and probe.offset not in known]
    return plan._replace(probes=tuple(sorted([*plan.probes, *more], key=lambda probe: probe.offset)))


class _Here:
    """What multiprocessing's list of things to do after a fork refers to, weakly."""


_here = _Here()
_original: Callable[[str], dict[str, object]] | None = None

terminates = False
"""Has the program ended a child of its own, as pools do? It is not said of these that somebody killed them."""


def _reach_multiprocessing(function: str = "") -> None:
    """Make multiprocessing's children join, and leave in order."""
    global _original, terminates
    if function in ("terminate", "kill", "_send_signal"):
        terminates = True
    from multiprocessing import util

    util.register_after_fork(_here, _when_bootstrapped)
    spawn = sys.modules.get("multiprocessing.spawn")
    if spawn is not None and _original is None:
        _original = spawn.get_preparation_data
        spawn.get_preparation_data = _with_passport  # type: ignore[attr-defined]


def _with_passport(name: str) -> dict[str, object]:
    assert _original is not None
    data = _original(name)
    if _members:
        data["lawful"] = [member.passport() for member in _members]
    return data


def _when_bootstrapped(here: object) -> None:
    from multiprocessing import util

    util.Finalize(None, _leave, exitpriority=_LAST)


def _leave() -> None:
    if _members:
        # multiprocessing waits for them, too, but later.
        for thread in threading.enumerate():
            if not thread.daemon and thread is not threading.current_thread():
                thread.join()
    for member in _members.copy():
        member.leave()


class Folder:
    """The folder of a run, seen from one of its processes."""

    def __init__(self, path: str) -> None:
        self.path = path

    @classmethod
    def make(cls) -> Folder:
        import tempfile

        return cls(tempfile.mkdtemp(prefix="lawful-"))

    def enter(self) -> int:
        """Say that this process is there; its number."""
        for number in count(1):
            try:
                file = os.open(self.file(number, _PID), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            except FileExistsError:
                continue
            os.write(file, str(os.getpid()).encode())
            os.close(file)
            return number
        raise AssertionError

    def leave(self, number: int) -> None:
        """Say that this process has handed over all it had."""
        with open(self.file(number, _ENDED), "wb"):
            pass

    def file(self, number: int, suffix: str) -> str:
        return os.path.join(self.path, f"{number}{suffix}")

    def members(self) -> list[int]:
        """The numbers of all child processes there were."""
        with suppress(FileNotFoundError):
            return sorted(int(name.removesuffix(_PID)) for name in os.listdir(self.path) if name.endswith(_PID))
        return []

    def has_left(self, number: int) -> bool:
        return os.path.exists(self.file(number, _ENDED))

    def is_running(self, number: int) -> bool:
        try:
            with open(self.file(number, _PID), "rb") as file:
                pid = int(file.read() or b"0")
            if not pid:
                return False
            os.kill(pid, 0)
        except (OSError, ValueError):
            return False
        return not _is_zombie(pid)

    def remove(self) -> None:
        import shutil

        shutil.rmtree(self.path, ignore_errors=True)


def _is_zombie(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] == b"Z"
    except (OSError, IndexError):
        return False


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
