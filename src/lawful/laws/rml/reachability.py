"""Which ends of a shape's decision trees some event can reach, and which shapes can accept nothing any more.

A shape is alive if it may halt, or if some event leads to parts that are all alive. The shapes that can be reached are
explored within a budget; what was not explored counts as alive. So a law whose states are finitely many is judged
exactly, and elsewhere a shape is called dead only if it is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from lawful.laws.rml import patterns, values

if TYPE_CHECKING:
    from lawful.laws.rml.planner import Answers, Node, Operand, Planner

QUESTIONS: Final = frozenset(("match", "sub", "same", "guard"))

_EVENT: Final = ("object", ())
_MIDDLING: Final = 16
_BUDGET: Final = 8_000  # how much work one law is worth, all in all, in steps of middling terms

UNKNOWN: Final = object()
"""The value of a register of which nothing is known."""


class _NotKnown(Exception):
    pass


def ends(
    planner: Planner, tree: str, shape: int, spend: Callable[[int], None], known: Sequence[Any] = ()
) -> Iterator[tuple[Answers, Node]]:
    """The ends of a shape's tree that can be reached, each with the answers that lead there.

    ``known`` are the values of the shape's registers, as far as they are known; none means that no value is.
    ``spend`` gets the cost of each node before it is built, and raises an exception where that is too much.
    """
    size = planner.shapes[shape].term.size
    pending: list[Answers] = [()]
    while pending:
        answers = pending.pop()
        # A node is found by running the step again from its start, along the answers.
        spend(1 + (1 + len(answers)) * size // _MIDDLING)
        node = planner.node(tree, shape, answers)
        if node[0] not in QUESTIONS:
            yield answers, node
            continue
        answer = decided(node, known)
        for path in ((*answers, True), (*answers, False)):
            if path[-1] is answer or (answer is None and _possible(planner, tree, shape, path, known)):
                pending.append(path)


def decided(question: Node, known: Sequence[Any]) -> bool | None:
    """The answer to a question, if the known registers alone give it."""
    try:
        if question[0] == "match":
            # A register without a value matches nothing.
            lacking = any(value_of(operand, known) is values.UNDEFINED for _, operand in question[2])
            return False if lacking else None
        if question[0] == "guard":
            return value_of(question[1], known) is True
        a, b = (value_of(operand, known) for operand in question[1:])
    except _NotKnown:
        return None
    return values.matches(a, b) if question[0] == "sub" else values.identical(a, b)


def value_or_unknown(operand: Operand, known: Sequence[Any]) -> Any:
    """The value of an operand as far as the known registers give it."""
    try:
        return value_of(operand, known)
    except _NotKnown:
        return UNKNOWN


def value_of(operand: Operand, known: Sequence[Any]) -> Any:
    def look_up(part: Operand) -> Any:
        if part[0] == "constant":
            return part[1]
        value = known[part[1]] if part[0] == "slot" and part[1] < len(known) else UNKNOWN
        if value is UNKNOWN:
            raise _NotKnown
        return value

    try:
        return values.evaluate(operand, look_up)
    except values.NoValue:
        return values.UNDEFINED


def _possible(planner: Planner, tree: str, shape: int, answers: Answers, known: Sequence[Any]) -> bool:
    """Can one event give these answers? What depends on values that are not known is taken as possible."""
    positive: list[patterns.PatternTree] = [_EVENT]
    negative: list[patterns.PatternTree] = []
    for place, answer in enumerate(answers):
        node = planner.node(tree, shape, answers[:place])
        if node[0] == "match":
            pattern, _ = planner.pattern(node[1])
            fixed = {index: value_or_unknown(operand, known) for index, operand in node[2]}
            if answer:
                positive.append(_with_values(pattern, fixed))
            elif UNKNOWN not in fixed.values() and values.UNDEFINED not in fixed.values():
                negative.append(_with_values(pattern, fixed))
    return patterns.satisfiable(positive, negative)


def _with_values(tree: patterns.PatternTree, fixed: dict[int, Any]) -> patterns.PatternTree:
    """A pattern whose captures have to be these values."""
    known = {index: ("literal", value) for index, value in fixed.items() if value is not UNKNOWN}
    return patterns.fill(tree, lambda index: known.get(index, ("capture", index))) if known else tree


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
        return (end for _, end in ends(self._planner, tree, shape, self._spend))

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
