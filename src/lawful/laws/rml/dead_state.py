"""Which shapes can accept nothing any more: the states in which a law is lost before an event fails.

A shape is alive if it may halt, or if some event leads to parts that are all alive. The shapes that can be reached are
explored within a budget; what was not explored counts as alive. So a law whose states are finitely many is judged
exactly, and elsewhere a shape is called dead only if it is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from lawful.laws.rml import reachability

if TYPE_CHECKING:
    from lawful.laws.rml.planner import Planner

_BUDGET: Final = 8_000  # how much work one law is worth, all in all, in steps of middling terms


class DeadStates:
    """Which shapes of one law are dead, as far as they were explored."""

    def __init__(self, planner: Planner) -> None:
        self._planner = planner
        self._dead: dict[int, bool] = {}
        self._budget = _BUDGET

    def is_dead(self, shape: int) -> bool:
        known = self._dead.get(shape)
        if known is None and self._halts(shape):
            # That is so for nearly all shapes of most laws, which need not be explored then.
            known = self._dead[shape] = False
        if known is None:
            self._explore(shape)
            known = self._dead[shape]
        return known

    def _halts(self, shape: int) -> bool:
        try:
            return self._may_halt(shape)
        except _OutOfBudget:
            return True

    def _may_halt(self, shape: int) -> bool:
        return any(end[0] == "yes" for end in self._ends("halt", shape))

    def _explore(self, start: int) -> None:
        """Decide every shape that can be reached from one."""
        ways: dict[int, list[frozenset[int]]] = {}  # to each shape what its steps lead to
        alive: set[int] = set()
        pending = deque((start,))  # breadth first: what is near decides most
        while pending:
            shape = pending.popleft()
            if shape in ways:
                continue
            known = self._dead.get(shape)
            if known is not None:
                ways[shape] = []
                if not known:
                    alive.add(shape)
                continue
            try:
                if self._may_halt(shape):
                    alive.add(shape)
                ways[shape] = [frozenset(_needed(end[1])) for end in self._ends("step", shape) if end[0] == "plan"]
            except _OutOfBudget:
                alive.add(shape)
                ways[shape] = []
            for way in ways[shape]:
                pending += way
        changed = True
        while changed:
            changed = False
            for shape, targets in ways.items():
                if shape not in alive and any(way <= alive for way in targets):
                    alive.add(shape)
                    changed = True
        for shape in ways:
            self._dead.setdefault(shape, shape not in alive)

    def _ends(self, tree: str, shape: int) -> Iterator[tuple[Any, ...]]:
        return (end for _, end in reachability.ends(self._planner, tree, shape, self._spend))

    def _spend(self, cost: int) -> None:
        self._budget -= cost
        if self._budget < 0:
            raise _OutOfBudget


class _OutOfBudget(Exception):
    pass


def _needed(recipe: tuple[Any, ...]) -> Iterator[int]:
    """The shapes that must all be alive for a recipe to be."""
    match recipe:
        case "leaf", shape, _:
            yield shape
        case "instance_list", entries, core:
            for part in (*(child for _, child in entries), core):
                yield from _needed(part)
        case "sequence", head, *cells:
            yield from _needed(head)
            yield from (shape for shape, _ in cells)
        case "filter", _, body, otherwise:
            yield from _needed(body)
            yield from _needed(otherwise)
