"""Shapes and their decision trees, built on demand: what the running machine executes.

A running instance is a *shape*, a term whose data are numbered registers, and the registers' values. A shape's tree
asks questions of the event; each path ends in FAIL, SELF (nothing changes) or a plan of what the instance becomes.
The machines, Python and C, walk the trees and ask the planner for nodes that are not built yet. They get plain tuples:

- a node: ``("match", pattern, ((capture, operand), ...))``, ``("sub", a, b)``, ``("same", a, b)``,
  ``("guard", operand)``, or an end: ``("fail",)``, ``("self",)``, ``("plan", recipe)``, ``("yes",)``, ``("no",)``;
- an operand: ``("slot", i)``, ``("capture", pattern, i)``, ``("constant", value)``, ``("operation", op, operands)``;
- a recipe: ``("leaf", shape, operands)``, ``("instance_list", ((kind, recipe), ...), core)``,
  ``("sequence", head, (shape, operands), ...)``, ``("filter", (shape, operands), body, otherwise)``,
  ``("closure", recipe)``.
"""

from __future__ import annotations

from _thread import RLock
from collections.abc import Callable
from functools import cached_property
from itertools import count
from typing import Any, Final, TypeVar

import msgspec

from lawful.laws.rml import terms
from lawful.laws.rml.compiler import CompiledLaw, compile_specification
from lawful.laws.rml.event_matcher import Unanswered
from lawful.laws.rml.reachability import DeadStates
from lawful.laws.rml.recursion import deep, with_deep_recursion
from lawful.laws.rml.stepper import Stepper
from lawful.laws.rml.syntax import Specification
from lawful.laws.rml.terms import Ref, Term

Answers = tuple[bool, ...]
Node = tuple[Any, ...]
Operand = tuple[Any, ...]
Recipe = tuple[Any, ...]

FAIL: Final[Node] = ("fail",)
SELF: Final[Node] = ("self",)
YES: Final[Node] = ("yes",)
NO: Final[Node] = ("no",)

# How a child stands around the core of an instance list, outermost first.
AND: Final = "and"  # child /\ rest
LEFT: Final = "left"  # child | rest
RIGHT: Final = "right"  # rest | child

STEP: Final = "step"  # the trees of a shape: one step,
HALT: Final = "halt"  # may it end here?

_AHEAD: Final = 64
"""How many nodes are built at once."""

_LONG_COUNT: Final = 50
"""``A{n}`` is a shape for each n up to here, and a shape with a register beyond."""

_CANONICAL: Final = 1 << 40
"""Variables that a shape binds are numbered from here, so that equal shapes are one term."""

T = TypeVar("T")


@deep
def plan(specification: Specification) -> Planner:
    """A planner for a specification that the checker has passed."""
    return Planner(compile_specification(specification))


class TermShape(msgspec.Struct, frozen=True):
    """A term with registers in the place of its data."""

    id: int
    term: Term
    names: tuple[str, ...]  # the variable behind each register, for messages; "" for a register without a name


class Planner:
    """Everything that is known of one law's shapes. Shared by all its monitors."""

    def __init__(self, compiled: CompiledLaw) -> None:
        self.compiled = compiled
        self.shapes: list[TermShape] = []
        self._numbers: dict[Term, int] = {}
        self._nodes: dict[tuple[str, int, Answers], Node] = {}
        self._dead_states = DeadStates(self)
        self._lock = RLock()  # monitors of one law may run in several threads
        self.trees: dict[str, dict[int, Any]] = {STEP: {}, HALT: {}}  # what the Python machines keep of this law
        self.native: Any = None  # what the C core keeps of this law
        self.initial: Recipe = self.locked(lambda: self._recipe(self._unfolded(compiled.main, set()), {}))

    # -- what the machines ask --------------------------------------------------------------------

    def node(self, tree: str, shape: int, answers: Answers) -> Node:
        """The node of a shape's tree at the end of a path of answers."""
        key = (tree, shape, answers)
        node = self._nodes.get(key)
        if node is None:
            self.locked(lambda: self._extend(tree, self.shapes[shape], answers))
            node = self._nodes[key]
        return node

    def pattern(self, number: int) -> tuple[Any, int]:
        """A base pattern and how many values it captures."""
        table = self.compiled.patterns
        return table.trees[number], table.captures[number]

    def expand(self, shape: int) -> Recipe:
        """The recipe of a shape that becomes active, its own registers being the operands."""
        return self.locked(lambda: self._recipe(self.shapes[shape].term, self._register_names(shape)))

    def is_all(self, shape: int) -> bool:
        """Is the term `all`, perhaps behind equations?"""
        term = self.shapes[shape].term
        seen = set()
        while term.op == terms.CALL and term not in seen:
            seen.add(term)
            term = self.compiled.equations[term.args[0]].body
        return term is self.compiled.terms.all

    def is_exactly_all(self, shape: int) -> bool:
        return self.shapes[shape].term is self.compiled.terms.all

    def is_empty(self, shape: int) -> bool:
        return self.shapes[shape].term is self.compiled.terms.empty

    def is_dead(self, shape: int) -> bool:
        """Can nothing be accepted any more from here? False where that is not known."""
        with self._lock:
            return self._dead_states.is_dead(shape)

    @cached_property
    def main(self) -> Recipe:
        """The start by its name, as drawings show it."""
        return self.locked(lambda: self._recipe(self.compiled.main, {}))

    @cached_property
    def inert(self) -> int:
        """A shape that accepts everything, but is not `all`: it stands for the inert children that a list dropped."""
        every = self.compiled.terms.all
        return self._shape(self.compiled.terms.make(terms.FILTER, "any", (), every, every), ())

    # -- building trees ---------------------------------------------------------------------------

    def _extend(self, tree: str, shape: TermShape, answers: Answers) -> None:
        """Build the node at the end of a path, and those that follow it as long as the answer is no."""
        stepper = Stepper(self.compiled, answers, most_ahead=_AHEAD)
        stepper.names |= self._register_names(shape.id)
        end = self._run(tree, shape, stepper)
        for question in stepper.ahead:
            self._nodes.setdefault((tree, shape.id, answers), machine_form(question))
            answers = (*answers, False)
        self._nodes.setdefault((tree, shape.id, answers), end)

    def _run(self, tree: str, shape: TermShape, stepper: Stepper) -> Node:
        try:
            if tree == HALT:
                return YES if stepper.may_halt(shape.term) else NO
            if shape.term.op == terms.TEST:
                return YES if next(stepper.matches(*shape.term.args), None) is not None else NO
            solution = stepper.first(shape.term)
        except Unanswered as stop:
            return machine_form(stop.question)
        if solution is None:
            return FAIL
        recipe = self._recipe(solution[0], stepper.names)
        return SELF if recipe == _same(shape) else ("plan", recipe)

    def _register_names(self, shape: int) -> dict[Ref, str]:
        return {(terms.SLOT, i): name for i, name in enumerate(self.shapes[shape].names)}

    def _unfolded(self, term: Term, seen: set[str]) -> Term:
        """What `Main` stands for, so that an event which changes nothing leaves it as it is, even if it is the first.

        An equation is unfolded once: variables that are bound twice must not be the same.
        """
        op, args, make = term.op, term.args, self.compiled.terms.make
        if op == terms.CALL and not args[1] and args[0] not in seen:
            seen.add(args[0])
            return self._unfolded(self.compiled.equations[args[0]].body, seen)
        if op == terms.FILTER:
            return make(op, *args[:2], *(self._unfolded(part, seen) for part in args[2:]))
        if op == terms.AND:
            return make(op, *(self._unfolded(part, seen) for part in args))
        return term

    # -- taking a term apart ----------------------------------------------------------------------

    def _recipe(self, term: Term, names: dict[Ref, str]) -> Recipe:
        """How to build a term's state: growing intersections, shuffles and sequences are kept in parts."""
        if not term.grows:
            return self._leaf(term, names)
        op, args = term.op, term.args
        if op in (terms.AND, terms.SHUFFLE):
            return self._instance_list(term, names)
        if op == terms.CONCAT and args[0].grows:
            return "sequence", self._recipe(args[0], names), self._leaf(args[1], names)[1:]
        if op == terms.CLOSURE:
            return "closure", self._recipe(args[0], names)
        if op == terms.FILTER and (args[2].grows or args[3].grows):
            test = self.compiled.terms.make(terms.TEST, args[0], args[1])
            return (
                "filter",
                self._leaf(test, names)[1:],
                self._recipe(args[2], names),
                self._recipe(args[3], names),
            )
        return self._leaf(term, names)

    def _instance_list(self, term: Term, names: dict[Ref, str]) -> Recipe:
        """The operand that grows last is the core; the others stand around it."""
        parts = term.args
        core = max(index for index, part in enumerate(parts) if part.grows)
        entries: list[tuple[str, Recipe]] = []
        if term.op == terms.AND:
            # The core should be what nests: an operand that is itself a growing shuffle, if there is one.
            nested = [index for index, part in enumerate(parts) if part.op == terms.SHUFFLE and part.grows]
            core = nested[-1] if nested else core
            entries += [(AND, self._recipe(part, names)) for index, part in enumerate(parts) if index != core]
        else:
            entries += [(LEFT, self._recipe(part, names)) for part in parts[:core]]
            # Of the right-hand operands the first is tried first, so it stands innermost.
            entries += [(RIGHT, self._recipe(part, names)) for part in reversed(parts[core + 1 :])]
        inner = self._recipe(parts[core], names)
        if inner[0] == "instance_list":
            return "instance_list", (*entries, *inner[1]), inner[2]
        return "instance_list", tuple(entries), inner

    def _leaf(self, term: Term, names: dict[Ref, str]) -> Recipe:
        shape, operands = self._canonical(term, names)
        return "leaf", shape, operands

    def _canonical(self, term: Term, names: dict[Ref, str]) -> tuple[int, tuple[Operand, ...]]:
        """Number a term's data: the shape, and what to put into its registers."""
        if term.plain and not term.variables:
            return self._shape(term, ()), ()
        registers: dict[Ref, int] = {}
        binders: dict[int, int] = {}
        numbers = count(_CANONICAL)

        def change(ref: Ref, op: str) -> Ref:
            kind = ref[0]
            if kind == terms.VARIABLE:
                return terms.VARIABLE, binders.get(ref[1], ref[1])
            if (
                kind in (terms.SLOT, terms.CAPTURE)
                # Constants too, as arguments: `Size<0>`, `Size<1>`, ... are one shape. So are long countdowns.
                or (kind == terms.CONSTANT and op == terms.CALL)
                or (kind == terms.CONSTANT and op == terms.TIMES and ref[2] > _LONG_COUNT)
                # An operation is carried out now, but a condition stays: it is a question of the step.
                or (kind == terms.OPERATION and op != terms.IF and terms.is_ground(ref))
            ):
                return terms.SLOT, registers.setdefault(ref, len(registers))
            return terms.rebuild(ref, lambda part: change(part, terms.IF))

        def binder(variable: int) -> int:
            binders[variable] = next(numbers)
            return binders[variable]

        shape = self.compiled.terms.map_refs(term, change, binder)
        return self._shape(shape, tuple(names.get(ref, "") for ref in registers)), tuple(map(terms.operand, registers))

    def adopt(self, term: Term, names: tuple[str, ...]) -> int:
        """The number of a shape that another planner of the same law made."""
        with self._lock:
            return self._shape(term, names)

    def _shape(self, term: Term, names: tuple[str, ...]) -> int:
        number = self._numbers.get(term)
        if number is None:
            number = self._numbers[term] = len(self.shapes)
            self.shapes.append(TermShape(number, term, names))
        return number

    # -- deep terms -------------------------------------------------------------------------------

    def locked(self, work: Callable[[], T]) -> T:
        """Do recursive work, one thread at a time."""
        with self._lock:
            return with_deep_recursion(work)


def _same(shape: TermShape) -> Recipe:
    return "leaf", shape.id, tuple(("slot", i) for i in range(len(shape.names)))


def machine_form(question: tuple[Any, ...]) -> Node:
    """A question in the form in which machines take it."""
    if question[0] == "match":
        return "match", question[1], tuple((index, terms.operand(ref)) for index, ref in question[2])
    return (question[0], *map(terms.operand, question[1:]))
