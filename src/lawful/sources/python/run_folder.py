"""The folder of a run, in which its processes leave what they saw and how far they are.

The first process makes it before it has its first child. The file `NUMBER.pid` has the id of a child process and the
time when it began; its mode says how far the child is. It is `new.PID` until it is complete. All files of a child begin
with its number: 1, 2, ... in the order in which children, and their children, begin. A process that is about to kill
another one leaves `kill.PID`, with the time when that one began. A process that wants all others to end leaves `halt`;
processes that want a signal then leave `halt.PID`.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count

from lawful import pristine_os
from lawful.sources.python.tracer_protocol import Event

# Signals that a process without a handler survives.
_HARMLESS = frozenset(
    number
    for name in ("SIGCHLD", "SIGCONT", "SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGURG", "SIGWINCH")
    if (number := getattr(signal, name, None)) is not None
)

_PID = ".pid"
_NEW = "new."
_KILL = "kill."
_HALT = "halt"

# Modes of the first file: it is much quicker to change one than to make another file.
_IDLE = 0o600
_BUSY = 0o700
_LEFT = 0o400

_BEGUN = 19  # the index of the start time in what Linux reports about a process

_BATCH = 1000


class RunFolder:
    """The folder of a run, seen from one of its processes."""

    def __init__(self, path: str) -> None:
        self.path = path

    @classmethod
    def make(cls) -> RunFolder:
        """A new one. `tempfile` would import modules of which the program may have others, and laws are about it."""
        named = [os.environ[name] for name in ("TMPDIR", "TEMP", "TMP") if os.environ.get(name)]
        reason = OSError("no folder for temporary files is writable")
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
        """Register this process; its number."""
        pid = os.getpid()
        path = os.path.join(self.path, f"{_NEW}{pid}")
        _write(path, f"{pid} {_begun(pid)}")
        # A process may be killed at any moment: the others must see complete files.
        try:
            for number in count(self._free()):
                with suppress(FileExistsError):
                    os.link(path, self.file(number, _PID))
                    return number
            raise AssertionError
        finally:
            os.unlink(path)

    def _free(self) -> int:
        """The lowest number that may be free. Numbers are given without gaps."""
        taken, free = 0, 1
        while pristine_os.exists(self.file(free, _PID)):
            taken, free = free, 2 * free
        while free - taken > 1:
            middle = (taken + free) // 2
            taken, free = (middle, free) if pristine_os.exists(self.file(middle, _PID)) else (taken, middle)
        return free

    def leave(self, number: int) -> None:
        """Mark this process as ended, with all its events delivered."""
        self._say(number, _LEFT)

    def mark_busy(self, number: int) -> None:
        """Mark this process as having events that are not delivered."""
        self._say(number, _BUSY)

    def mark_idle(self, number: int) -> None:
        """Mark it as having none, and going on."""
        self._say(number, _IDLE)

    def _say(self, number: int, mode: int) -> None:
        with suppress(OSError):  # the run may be over
            os.chmod(self.file(number, _PID), mode)

    def _said(self, number: int) -> int:
        try:
            return os.stat(self.file(number, _PID)).st_mode & 0o700
        except OSError:
            return _IDLE

    def note_kill(self, pid: int, number: int | None) -> None:
        """Note that this process is about to send a signal, with the arguments of `os.kill`."""
        if number == 0 or number in _HARMLESS:
            return
        if pid > 0:
            pids = [pid]
        else:
            group = -pid or os.getpgrp()
            members = (self._who(each)[0] for each in self.members())
            pids = [each for each in members if each and group in (1, _group(each))]
        for each in pids:
            if each != os.getpid() and _is_alive(each):
                with suppress(OSError):  # the run may be over
                    _write(os.path.join(self.path, f"{_KILL}{each}"), _begun(each))

    def was_killed(self, number: int) -> bool:
        """Has a process of the program sent it, and not an earlier process with its id, a deadly signal?"""
        pid, begun = self._who(number)
        try:
            with open(os.path.join(self.path, f"{_KILL}{pid}"), encoding="ascii") as file:
                return file.read() == begun
        except OSError:
            return False

    def listen_for_stop(self, pid: int) -> None:
        """Ask for a signal to this process when all processes must end."""
        self._mark(f"{_HALT}.{pid}")

    def request_stop(self) -> list[int]:
        """Ask all processes of the run to end. Returns those that want a signal."""
        self._mark(_HALT)
        try:
            names = os.listdir(self.path)
        except OSError:
            return []
        return [int(name.removeprefix(f"{_HALT}.")) for name in names if name.startswith(f"{_HALT}.")]

    def _mark(self, name: str) -> None:
        with suppress(OSError):  # the run may be over
            _write(os.path.join(self.path, name), "")

    def stop_requested(self) -> bool:
        return pristine_os.exists(os.path.join(self.path, _HALT))

    def file(self, number: int, suffix: str) -> str:
        return os.path.join(self.path, f"{number}{suffix}")

    def members(self) -> list[int]:
        """The numbers of all child processes, also ended ones."""
        with suppress(FileNotFoundError):
            return sorted(int(name.removesuffix(_PID)) for name in os.listdir(self.path) if name.endswith(_PID))
        return []

    def has_left(self, number: int) -> bool:
        return self._said(number) == _LEFT

    def is_busy(self, number: int) -> bool:
        return self._said(number) == _BUSY

    def is_running(self, number: int) -> bool:
        pid, _ = self._who(number)
        return bool(pid) and _is_alive(pid)

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
    """When the process with this id began, in clock ticks; empty if it is unknown."""
    return "".join(_state(pid).split()[_BEGUN : _BEGUN + 1])


def _state(pid: int) -> str:
    """What Linux reports about a process after its name, which may have blanks and parentheses."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].lstrip()
    except OSError:
        return ""


def _write(path: str, text: str) -> None:
    file = os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, _IDLE)
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
