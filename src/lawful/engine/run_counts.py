"""What a run has counted, and what went wrong in it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Final

_PACKAGE: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_LIBRARY: Final = os.path.dirname(os.path.abspath(os.__file__)) + os.sep


class RunCounts:
    """The counts of one process, until others are merged."""

    def __init__(self) -> None:
        self.dropped = 0  # events that a tracer has lost; the session sets it
        self.processes = 1  # that are in this report
        self.seconds: float | None = None  # that the program was watched; the session sets it
        self.judging = 0.0  # seconds that judging took, in this process
        self.errors: list[str] = []  # of this and of merged runs, in words
        self._warnings: dict[str, None] = {}
        self._events = 0
        self._threads = 0

    def warn(self, message: str) -> None:
        """Note something that the report should say, once."""
        self._warnings.setdefault(message)

    def discount(self, events: int) -> None:
        """Take off events that are an earlier run's."""
        self._events -= events

    def _clear_counts(self) -> None:
        """Begin from zero, in a child process."""
        self._events = self._threads = self.dropped = 0
        self.processes = 1
        self._warnings.clear()
        self.errors.clear()

    def _merge_counts(self, other: Mapping[str, Any], threads: int) -> None:
        """Add the counts of another process; `threads`: how many this process has."""
        self._events += other["events"]
        self._threads = threads + other["threads"]
        self.processes += other["processes"]
        self.dropped += other["dropped"]
        self.errors += [text for text in other["errors"] if text not in self.errors]
        self._warnings |= dict.fromkeys(other["warnings"])


def is_programs(error: BaseException) -> bool:
    """Did a signal handler of the program raise this exception while Lawful was working?"""
    trace = _innermost(error)
    return trace is not None and not trace.tb_frame.f_code.co_filename.startswith((_PACKAGE, _LIBRARY, "<"))


def in_words(error: BaseException) -> str:
    """An internal error, for the report."""
    if not isinstance(error, Exception):
        return f"interrupted by {type(error).__name__} while events were being judged"
    trace = _innermost(error)
    place = f" ({os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno})" if trace else ""
    text = " ".join(str(error).split())
    return f"internal error in Lawful: {type(error).__name__}: {text}{place}"


def _innermost(error: BaseException) -> TracebackType | None:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace
