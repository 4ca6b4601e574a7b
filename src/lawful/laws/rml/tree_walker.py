"""What a state has to say to the present event: decision trees, walked with the answers that the event gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lawful.laws.rml import patterns, values
from lawful.laws.rml.planner import AND, HALT, STEP, Operand, Planner
from lawful.laws.rml.reachability import QUESTIONS
from lawful.laws.rml.state import FilterPart, InstanceList, Leaf, Part, SequencePart
from lawful.laws.rml.values import UNDEFINED, NoValue


class TreeNode:
    """A node of a decision tree; its branches are built when they are first taken."""

    __slots__ = ("_branches", "answers", "kind", "question", "shape", "tree", "triggers")

    def __init__(self, planner: Planner, tree: str, shape: int, answers: tuple[bool, ...]) -> None:
        self.question = planner.node(tree, shape, answers)  # or an end
        self.kind: str = self.question[0]
        self.tree = tree
        self.shape = shape
        self.answers = answers
        self._branches: list[TreeNode | None] = [None, None]  # for no, for yes
        self.triggers: tuple[Trigger, ...] | None = None  # at an end: the questions about the event on the way here

    def branch(self, planner: Planner, answer: bool) -> TreeNode:
        found = self._branches[answer]
        if found is None:
            found = self._branches[answer] = TreeNode(planner, self.tree, self.shape, (*self.answers, answer))
        return found


Trigger = tuple[tuple[int, tuple[int, ...]], tuple[Operand, ...]]
"""A question that could wake a child: the pattern with the captures that are compared, and what with."""


class TreeWalker:
    """Looks at one event after the other, and changes nothing."""

    def __init__(self, planner: Planner, warn: Callable[[str], None]) -> None:
        self._planner = planner
        self._warn = warn
        self._step_trees: dict[int, TreeNode] = planner.trees[STEP]
        self._halt_trees: dict[int, TreeNode] = planner.trees[HALT]
        self._event: Any = None
        self._captures: dict[int, list[Any] | None] = {}

    # -- values -----------------------------------------------------------------------------------

    def _captured(self, pattern: int) -> list[Any] | None:
        """What the present event has at the captures of a pattern; None if it does not match."""
        try:
            return self._captures[pattern]
        except KeyError:
            tree, size = self._planner.pattern(pattern)
            found: list[Any] | None = [None] * size
            if not patterns.match(tree, self._event, found):  # type: ignore[arg-type]
                found = None
            self._captures[pattern] = found
            return found

    def _value(self, operand: Operand, registers: tuple[Any, ...]) -> Any:
        kind = operand[0]
        if kind == "slot":
            return registers[operand[1]]
        if kind == "capture":
            captured = self._captured(operand[1])
            assert captured is not None
            return captured[operand[2]]
        if kind == "constant":
            return operand[1]
        try:
            return values.evaluate(operand, lambda part: self._value(part, registers))
        except NoValue as error:
            self._warn(str(error))
            return UNDEFINED

    def _holds(self, operand: Operand, registers: tuple[Any, ...]) -> bool:
        result = self._value(operand, registers)
        if result.__class__ is not bool and result is not UNDEFINED:
            self._warn(f"a condition must be true or false, not {values.describe(result)}")
        return result is True

    # -- trees ------------------------------------------------------------------------------------

    def _answer(self, question: tuple[Any, ...], registers: tuple[Any, ...]) -> bool:
        kind = question[0]
        if kind == "match":
            _, pattern, constraints = question
            captured = self._captured(pattern)
            if captured is None:
                return False
            return all(values.matches(self._value(ref, registers), captured[i]) for i, ref in constraints)
        if kind == "guard":
            return self._holds(question[1], registers)
        a, b = (self._value(operand, registers) for operand in question[1:])
        return values.matches(a, b) if kind == "sub" else values.identical(a, b)

    def _end(self, trees: dict[int, TreeNode], tree: str, leaf: Leaf) -> TreeNode:
        """Walk a leaf's tree with the present event to its end."""
        node = self._tree_root(trees, tree, leaf.shape)
        while node.kind in QUESTIONS:
            node = node.branch(self._planner, self._answer(node.question, leaf.registers))
        return node

    def _tree_root(self, trees: dict[int, TreeNode], tree: str, shape: int) -> TreeNode:
        node = trees.get(shape)
        if node is None:
            node = trees[shape] = TreeNode(self._planner, tree, shape, ())
        return node

    def _end_if_unmatched(self, leaf: Leaf) -> TreeNode:
        """The end of a leaf's tree for an event that matches nothing it asks for, with what it asked on the way."""
        node = self._tree_root(self._step_trees, STEP, leaf.shape)
        asked: list[Trigger] = []
        while node.kind in QUESTIONS:
            answer = False
            if node.kind == "match":
                _, pattern, constraints = node.question
                kind = (pattern, tuple(index for index, _ in constraints))
                asked.append((kind, tuple(operand for _, operand in constraints)))
            else:
                answer = self._answer(node.question, leaf.registers)
            node = node.branch(self._planner, answer)
        if node.triggers is None:
            node.triggers = tuple(asked)
        return node

    # -- properties of parts ----------------------------------------------------------------------

    def _halts(self, part: Part) -> bool:
        if isinstance(part, Leaf):
            return self._end(self._halt_trees, HALT, part).kind == "yes"
        if isinstance(part, InstanceList):
            return not part.waiting
        if isinstance(part, SequencePart):
            return part.rest.halts and self._halts(part.head)
        if isinstance(part, FilterPart):
            return self._halts(part.body) and self._halts(part.otherwise)
        return True

    def _is_dead(self, part: Part) -> bool:
        if isinstance(part, Leaf):
            return self._planner.is_dead(part.shape)
        if isinstance(part, InstanceList):
            return part.dead > 0
        if isinstance(part, SequencePart):
            return part.rest.dead or self._is_dead(part.head)
        if isinstance(part, FilterPart):
            return self._is_dead(part.body) or self._is_dead(part.otherwise)
        return False

    def _is_empty(self, part: Part) -> bool:
        return isinstance(part, Leaf) and self._planner.is_empty(part.shape)

    def _is_inert(self, kind: str, part: Part) -> bool:
        """Will the child do nothing, whatever comes, as ``e >> all : all`` does?"""
        if not isinstance(part, Leaf):
            return False
        end = self._end_if_unmatched(part)
        if end.answers or end.kind != ("self" if kind == AND else "fail"):
            return False
        return self._halts(part) and not self._is_dead(part)

    def _is_neutral(self, kind: str, part: Part) -> bool:
        r"""``all /\ A`` and ``empty | A`` are A."""
        if not isinstance(part, Leaf):
            return False
        return self._planner.is_exactly_all(part.shape) if kind == AND else self._planner.is_empty(part.shape)
