"""Recursion beyond Python's usual limit, for laws that nest deeply."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Final, ParamSpec, TypeVar

from lawful.errors import LawError

P = ParamSpec("P")
T = TypeVar("T")

_DEEP: Final = 1_000_000  # the parser has refused what could really be too deep


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
