"""Recursion without Python's limit, for laws that nest deeply: on the heap (`run`), or with the limit raised."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from functools import wraps
from typing import Any, Final, ParamSpec, TypeAlias, TypeVar

from lawful.errors import LawError

P = ParamSpec("P")
T = TypeVar("T")

_DEEP: Final = 1_000_000  # the parser has refused what could really be too deep

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


def deep(function: Callable[P, T]) -> Callable[P, T]:
    """The function, which changes nothing, with the recursion limit raised if it must be."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        return with_deep_recursion(lambda: function(*args, **kwargs))

    return call


def with_deep_recursion(work: Callable[[], T]) -> T:
    """The result of `work`, which changes nothing: it is done again if the recursion limit stopped it."""
    try:
        return work()
    except RecursionError:
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(max(_DEEP, before))
        try:
            return work()
        except RecursionError:  # some versions of CPython have a limit of their own that cannot be raised
            raise LawError(
                "rml-too-deep",
                "patterns or arithmetic are nested too deeply for this version of Python",
                hint="declare a part of it as an event type of its own",
            ) from None
        finally:
            sys.setrecursionlimit(before)
