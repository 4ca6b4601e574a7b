"""Which ends of a shape's decision trees can be reached: the paths that some event, and some values, can take."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from lawful.laws.rml import patterns, values

if TYPE_CHECKING:
    from lawful.laws.rml.planner import Answers, Node, Operand, Planner

QUESTIONS: Final = ("match", "sub", "same", "guard")

_EVENT: Final = ("object", ())
_MIDDLING: Final = 16


UNKNOWN: Final = object()
"""The value of a register of which nothing is known."""


class _NotKnown(Exception):
    pass


def ends(
    planner: Planner, tree: str, shape: int, spend: Callable[[int], None], known: Sequence[Any] = ()
) -> Iterator[tuple[Answers, Node]]:
    """The ends of a shape's tree that can be reached, each with the answers that lead there.

    ``known`` are the values of the shape's registers, as far as they are known; none means that no value is.
    ``spend`` is told the cost of each node before it is built, and raises where that is too much.
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
