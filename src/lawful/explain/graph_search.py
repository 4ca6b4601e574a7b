"""Breadth-first search, for graphs of any kind."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def distances(starts: Iterable[Node], neighbours: Callable[[Node], Iterable[Node]]) -> dict[Node, int]:
    """How many steps lead from the nearest start to each node that can be reached, in the order of the search."""
    found = dict.fromkeys(starts, 0)
    order = list(found)
    for node in order:
        steps = found[node] + 1
        for other in neighbours(node):
            if other not in found:
                found[other] = steps
                order.append(other)
    return found
