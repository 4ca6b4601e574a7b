"""Recursion on the heap: functions written as generators that call each other by ``yield``, however deep."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")

Step: TypeAlias = Generator[Any, Any, T]
"""A call in progress: it yields the calls it makes, receives their results, and returns its own."""


class Failure(Exception):
    """An exception that travels from call to call, as it would through ordinary calls."""


def run(step: Step[T]) -> T:
    """The result of a call. Python's own stack does not grow with the depth of the calls."""
    stack: list[Step[Any]] = [step]
    value: Any = None
    failure: Failure | None = None
    while stack:
        top = stack[-1]
        try:
            call = top.send(value) if failure is None else top.throw(failure)
        except StopIteration as stop:
            stack.pop()
            value, failure = stop.value, None
        except Failure as raised:
            stack.pop()
            # The traceback would grow by a frame at each level.
            value, failure = None, raised.with_traceback(None)
        else:
            stack.append(call)
            value, failure = None, None
    if failure is not None:
        raise failure
    result: T = value
    return result
