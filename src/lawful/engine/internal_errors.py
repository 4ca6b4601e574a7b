"""What goes wrong in watching: whose fault it is, and how to say it."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Final

_PACKAGE: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_LIBRARY: Final = os.path.dirname(os.path.abspath(os.__file__)) + os.sep


def is_programs(error: BaseException) -> bool:
    """Does an exception come from the program: was it raised by a signal handler that ran in the middle of our work?"""
    trace = _innermost(error)
    return trace is not None and not trace.tb_frame.f_code.co_filename.startswith((_PACKAGE, _LIBRARY, "<"))


def in_words(error: BaseException) -> str:
    """A fault, for the report."""
    if not isinstance(error, Exception):
        return f"interrupted by {type(error).__name__} while events were being judged"
    trace = _innermost(error)
    place = f" ({os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno})" if trace else ""
    text = " ".join(str(error).split())
    return f"a fault in Lawful: {type(error).__name__}: {text}{place}"


def _innermost(error: BaseException) -> TracebackType | None:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace
