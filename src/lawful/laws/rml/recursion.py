"""Recursive work on laws that nest deeply: the recursion limit is raised for a moment, and only if it must be."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final, TypeVar

from lawful.errors import LawError

T = TypeVar("T")

_DEEP: Final = 1_000_000  # the parser has refused what could really be too deep


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
