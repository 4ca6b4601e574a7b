"""Open files of Lawful in the process of a program, which may close them, and open others in their place."""

from __future__ import annotations

import fcntl
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress

# A table of open files grows to its highest number, and `select` takes none above.
_HIGHEST = 1024
_ROOM = 32  # numbers for ours, at the end

Identity = tuple[int, int]


def identity(number: int) -> Identity | None:
    """Which file is open under this number, if any."""
    try:
        found = os.fstat(number)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def duplicate(number: int) -> int:
    """The same open file under a high number, which child programs do not inherit.

    So the program's own files get the usual numbers, and loops that close files from 3 upwards mostly end below.
    """
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    highest = _HIGHEST if limit == resource.RLIM_INFINITY else min(limit, _HIGHEST)
    return fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, max(3, highest - _ROOM))


def move(number: int) -> int:
    """The same open file under a high number only; under its own, if there is no such number left."""
    try:
        moved = duplicate(number)
    except OSError:
        return number
    os.close(number)
    return moved


def opener(path: str, flags: int) -> int:
    """For `open`: the file gets a high number."""
    return move(os.open(path, flags | os.O_CLOEXEC, 0o666))


@contextmanager
def more_room() -> Iterator[None]:
    """Let this process open further files, where the program has opened as many as it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        yield
    finally:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class Outlet:
    """An open file that is written to when the program has ended, if it is still open then."""

    def __init__(self, number: int) -> None:
        found = identity(number)
        if found is None:
            raise OSError(f"no file is open under {number}")
        self.identity: Identity = found
        self._number: int | None = duplicate(number)
        os.register_at_fork(after_in_child=self.let_go)

    @property
    def number(self) -> int | None:
        """Under which it is open, if it still is."""
        number = self._number
        return number if number is not None and identity(number) == self.identity else None

    def let_go(self) -> None:
        """Close it in a child: a reader of the pipe would wait for the child."""
        if self.number is not None:
            os.close(self.number)
        self._number = None
