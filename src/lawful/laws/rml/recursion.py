"""Recursive work on laws that nest deeply: the recursion limit is raised for a moment, and only if it must be."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

_DEEP: Final = 1_000_000  # the parser has refused what could really be too deep


def deeply(work: Callable[[], T]) -> T:
    """The result of `work`, which changes nothing: it is done again if the recursion limit stopped it."""
    try:
        return work()
    except RecursionError:
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(max(_DEEP, before))
        try:
            return work()
        finally:
            sys.setrecursionlimit(before)
