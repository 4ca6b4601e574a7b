"""The memory that an execution may take: a limit that holds while it runs, and how to tell that it was reached."""

from __future__ import annotations

import gc
import os
import resource
from types import TracebackType

from lawful.explain.teachers.python.recorder import opcode_at

_RAISING = ("RAISE_VARARGS", "RERAISE")


class MemoryLimit:
    """A limit on what this process has, from what it has now. Outside of executions there is none: what is ours to do
    must not fail."""

    def __init__(self) -> None:
        self._most: int | None = None
        self._megabytes: int | None = None
        self._filled = False  # an execution has come to the limit, and may have left something behind
        self._usual = resource.getrlimit(resource.RLIMIT_AS)

    def allow(self, megabytes: int | None) -> None:
        """From now on an execution may take so much more."""
        self._megabytes, self._filled = megabytes, False
        now = _taken()
        self._usual = resource.getrlimit(resource.RLIMIT_AS)
        self._most = None if megabytes is None or now is None else now + megabytes * 2**20
        if self._most is not None and self._usual[0] != resource.RLIM_INFINITY:
            self._most = min(self._most, self._usual[0])

    def begin(self) -> None:
        """An execution begins."""
        if self._filled:
            gc.collect()
            self.allow(self._megabytes)
        if self._most is not None:
            resource.setrlimit(resource.RLIMIT_AS, (self._most, self._usual[1]))

    def end(self) -> None:
        """It has ended."""
        if self._most is not None:
            resource.setrlimit(resource.RLIMIT_AS, self._usual)

    def reached(self, error: BaseException) -> bool:
        """Was it the limit that raised this? The program may raise the same for reasons of its own."""
        if self._most is None or not isinstance(error, MemoryError) or _by_statement(error.__traceback__):
            return False
        self._filled = True
        return True


def _taken() -> int | None:
    """The bytes that this process has, where the system tells."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None


def _by_statement(trace: TracebackType | None) -> bool:
    """Does a traceback end at a `raise`?"""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and opcode_at(trace.tb_frame.f_code, trace.tb_lasti) in _RAISING
