"""Child processes of the watched program are watched too: forked ones, and those that multiprocessing starts."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Set
from contextlib import suppress
from types import CodeType
from typing import Protocol, TypeVar

from lawful.events.event_kinds import to_dict
from lawful.sources.python.instructions import UnknownBytecodeError
from lawful.sources.python.sites import probes
from lawful.sources.python.tracer_protocol import CALLS, Callee, CodePlan, Event, Want, WatchPlanner

_LAST = -1_000_000_000  # the priority of multiprocessing's finalisers after which there is nothing

_LAUNCHERS = frozenset(f"multiprocessing.popen_{way}" for way in ("fork", "forkserver", "spawn_posix", "spawn_win32"))
_CONNECTION = "multiprocessing.connection"
_SEND = "_send_bytes"

# Names of the events of calls after which this process, or another one, may have ended.
EXIT = "os._exit"
SEND = f"{_CONNECTION}.{_SEND}"  # the receiver may end this process at once
KILLS = {function: f"os.{name}" for name in ("kill", "killpg") if (function := getattr(os, name, None)) is not None}
EXECS = {
    getattr(os, name): f"os.{name}"
    for name in ("execl", "execle", "execlp", "execlpe", "execv", "execve", "execvp", "execvpe")
}
_NAMES = frozenset(function.__name__ for function in (*KILLS, *EXECS))

_KINDS = {"func_pre": Want.PRE, "func_post": Want.POST, "func_raise": Want.RAISE}
_ALL = ~Want(0)

T = TypeVar("T")


class ProcessListener(Protocol):
    """Is called when a process is about to have a child, or is one."""

    def before_fork(self) -> None: ...

    def after_fork_in_parent(self) -> None: ...

    def after_fork_in_child(self) -> None: ...

    def join_token(self) -> object | None:
        """What a child that does not share our memory unpickles to join the run; None if it cannot join."""

    def fail(self, error: BaseException) -> None:
        """An internal error, which must not reach the program."""

    def leave(self) -> None:
        """The process is about to end, by multiprocessing's own way out."""


_listeners: list[ProcessListener] = []  # a program may watch several of its parts at once
_registered = False


def add_listener(listener: ProcessListener) -> None:
    """From now on `listener` is called for this process's children."""
    global _registered
    _listeners.append(listener)
    if not _registered:  # it cannot be undone
        os.register_at_fork(
            before=lambda: _tell(lambda each: each.before_fork()),
            after_in_parent=lambda: _tell(lambda each: each.after_fork_in_parent()),
            after_in_child=lambda: _tell(lambda each: each.after_fork_in_child()),
        )
        _registered = True
    if "multiprocessing.util" in sys.modules:
        _reach_multiprocessing()


def remove_listener(listener: ProcessListener) -> None:
    if listener in _listeners:
        _listeners.remove(listener)


def _tell(call: Callable[[ProcessListener], T]) -> list[T]:
    """An internal error in here ends the watching; the program has its child process in any case."""
    answers = []
    for listener in _listeners.copy():
        try:
            answers.append(call(listener))
        except Exception as error:
            listener.fail(error)
    return answers


class ProcessWatchPlanner:
    """Wraps a planner, and adds the places where this process starts children, talks to them, or ends.

    Modules of multiprocessing are reached when their code first runs: no import hook, no cost for those without.
    """

    def __init__(self, planner: WatchPlanner, *, messages: bool = False) -> None:
        """With `messages`, there are events of what is sent to other processes; else only a flush before it."""
        self._planner = planner
        self._messages = messages
        self.receiver_callee = planner.receiver_callee
        self.operation = planner.operation
        self.field = planner.field
        self.class_name = planner.class_name
        self.on_call, self.on_return = planner.on_call, planner.on_return
        self._files: set[str] = set()  # in which only this planner wants something
        self._noted: dict[str, tuple[str, Want]] = {}  # by names of events: our names, and what others want of them

    def plan(self, code: CodeType, module: str) -> CodePlan | None:
        plan = self._planner.plan(code, module)
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
        return _with_calls(plan, code, _NAMES)

    @property
    def on_seen(self) -> Callable[[CodeType], object] | None:
        return self._planner.on_seen

    def callee(self, function: object, receiver: type | None) -> Callee | None:
        callee = self._planner.callee(function, receiver)
        found = self._of_processes(function)
        if found is None:
            return callee
        if callee is None or (found.name == SEND and not callee.wants & Want.CALLEE_SIDE):
            # The scope asks for calls that own code makes, and own code does not call this.
            self._noted[found.name] = found.name, Want(0)
            return found
        self._noted[callee.name] = found.name, callee.wants
        return callee._replace(wants=callee.wants | found.wants)

    def _of_processes(self, function: object) -> Callee | None:
        wants = Want.PRE | Want.EXIT | Want.ARGS
        if function is os._exit:
            return Callee(EXIT, wants)
        try:
            name = KILLS.get(function) or EXECS.get(function)
        except TypeError:  # it is something that can be called, but not hashed
            return None
        if name is not None:
            return Callee(name, wants)
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
    more = []
    with suppress(UnknownBytecodeError):  # the planner reports it, if it has looked
        more = [probe for probe in probes(code, CALLS) if probe.name in names and probe.offset not in known]
    if not more:
        return plan
    if plan is None:
        plan = CodePlan(None, (), code.co_filename, False)
    return plan._replace(probes=tuple(sorted([*plan.probes, *more], key=lambda probe: probe.offset)))


_original: Callable[[str], dict[str, object]] | None = None


def _reach_multiprocessing() -> None:
    """Make multiprocessing's children join, and leave in order."""
    global _original
    from multiprocessing import util

    util.register_after_fork(_leave, _when_bootstrapped)  # it keeps a weak reference to the first
    spawn = sys.modules.get("multiprocessing.spawn")
    if spawn is not None and _original is None:
        _original = spawn.get_preparation_data
        spawn.get_preparation_data = _with_join_tokens  # type: ignore[attr-defined]


def _with_join_tokens(name: str) -> dict[str, object]:
    assert _original is not None
    data = _original(name)
    if tokens := [each for each in _tell(lambda listener: listener.join_token()) if each is not None]:
        data["lawful"] = tokens
    return data


def _when_bootstrapped(leave: Callable[[], None]) -> None:
    from multiprocessing import util

    util.Finalize(None, leave, exitpriority=_LAST)


def _leave() -> None:
    if _listeners:
        # multiprocessing waits for them, too, but later.
        for thread in threading.enumerate():
            if not thread.daemon and thread is not threading.current_thread():
                thread.join()
    for listener in _listeners.copy():
        listener.leave()
