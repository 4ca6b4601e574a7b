"""What a law would have accepted in a state: the event types with their values, and the bindings in force."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

from lawful.laws.protocol import Event, Expectation
from lawful.laws.rml import terms, values
from lawful.laws.rml.event_matcher import Question
from lawful.laws.rml.planner import AND, STEP, Planner, Recipe, machine_form
from lawful.laws.rml.recursion import deep
from lawful.laws.rml.state import Leaf
from lawful.laws.rml.stepper import Stepper
from lawful.laws.rml.terms import Ref, Term
from lawful.laws.rml.tree_walker import TreeWalker
from lawful.laws.rml.values import UNDEFINED

_MOST = 8  # expected events that are listed
_FEW = 3  # instances that can each be named
_LONG = 60  # characters of a value


@deep
def expectation(planner: Planner, state: Recipe, event: Event | None) -> Expectation:
    """The events that would have been accepted. With the rejected event: only those related to it, if any are."""
    probe = _Probe(planner, event)
    leaves = list(probe.leaves(state, True))
    concerned = [leaf for leaf, required in leaves if required and probe.refuses(leaf)]
    if not concerned and event is not None:
        taken = probe.taken()
        concerned = [leaf for leaf, _ in leaves if _mentions(leaf, taken)]
    subjects = concerned or [leaf for leaf, _ in leaves]
    instances = [leaf for leaf in subjects if any(planner.shapes[leaf.shape].names)]
    # Where many instances are unrelated to the event, one entry for each shape says more than eight instances.
    probe.by_name = not concerned and len(instances) > _FEW
    if probe.by_name:
        subjects = list({leaf.shape: leaf for leaf in reversed(subjects)}.values())[::-1]
    expected: dict[str, None] = {}
    for leaf in subjects[: _MOST + 1]:
        for use in probe.firsts(leaf):
            expected.setdefault(use)
    uncounted = sum(probe.count(leaf) for leaf in subjects[_MOST + 1 :])
    omitted = max(0, len(expected) - _MOST) + uncounted
    bindings: dict[str, Any] = {}
    if instances and (concerned or len(leaves) == 1):
        bindings = _bindings(planner, instances[0])
    return Expectation(tuple(expected)[:_MOST], bindings, omitted, len(instances) - 1 if bindings else 0)


@deep
def pending(planner: Planner, state: Recipe, most: int) -> tuple[Expectation, ...]:
    """For each of up to so many instances that keep a trace from ending in this state: what it waits for."""
    probe = _Probe(planner, None)
    waiting = (leaf for leaf, required in probe.leaves(state, True) if required and probe.refuses(leaf))
    found: list[Expectation] = []
    for leaf in islice(waiting, most):
        expected = tuple(dict.fromkeys(probe.firsts(leaf)))
        found.append(Expectation(expected[:_MOST], _bindings(planner, leaf), max(0, len(expected) - _MOST)))
    return tuple(found)


def _bindings(planner: Planner, leaf: Leaf) -> dict[str, Any]:
    named = zip(planner.shapes[leaf.shape].names, leaf.registers, strict=True)
    return {name: value for name, value in named if name}


def _as_leaf(shape: int, operands: tuple[Any, ...]) -> Leaf:
    return Leaf(shape, tuple(operand[1] for operand in operands))


def _short(value: Any) -> str:
    if isinstance(value, str):
        value = value[: _LONG + 1]
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONG else text[: _LONG - 1] + "…"


def _mentions(leaf: Leaf, mentioned: list[Any]) -> bool:
    return any(values.identical(register, value) for register in leaf.registers for value in mentioned)


class _Probe(TreeWalker):
    """Answers for single leaves."""

    def __init__(self, planner: Planner, event: Event | None) -> None:
        super().__init__(planner, lambda message: None)
        self._event = event
        self.stepper = _Concrete(self)
        self.by_name = False  # show what the law calls a value instead of the value
        self._shape = 0
        self._counts: dict[int, int] = {}

    def leaves(self, recipe: Recipe, required: bool) -> Iterator[tuple[Leaf, bool]]:
        """The leaves of a state that this event comes to, and whether each must take it (or, at the end, halt)."""
        kind = recipe[0]
        if kind == "leaf":
            yield _as_leaf(recipe[1], recipe[2]), required
        elif kind == "instance_list":
            # The core first: it is what the law itself says, the others are instances. What stands inside a shuffle
            # need not take an event, but must be able to end.
            inside = required
            children: list[tuple[Leaf, bool]] = []
            for way, child in recipe[1]:
                children += self.leaves(child, inside and (way == AND or self._event is None))
                inside = inside and (way == AND or self._event is None)
            yield from self.leaves(recipe[2], inside)
            yield from children
        elif kind == "sequence":
            at_end = required and self._event is None
            yield from self.leaves(recipe[1], at_end)
            for shape, operands in recipe[2:]:
                yield _as_leaf(shape, operands), at_end
        elif kind == "filter":
            if self._event is None:
                yield from self.leaves(recipe[2], required)
                yield from self.leaves(recipe[3], required)
            else:
                matched = self._end(self._step_trees, STEP, _as_leaf(*recipe[1])).kind == "yes"
                yield from self.leaves(recipe[2 if matched else 3], required)
        else:
            yield from self.leaves(recipe[1], required and self._event is not None)

    def refuses(self, leaf: Leaf) -> bool:
        if self._event is None:
            return not self._halts(leaf)
        return self._end(self._step_trees, STEP, leaf).kind == "fail"

    def taken(self) -> list[Any]:
        """The values that the law's patterns take out of the event."""
        found = (self._captured(number) for number in range(len(self._planner.compiled.patterns.trees)))
        return [value for captured in found if captured is not None for value in captured]

    def count(self, leaf: Leaf) -> int:
        """How many events a leaf would accept; all of one shape are taken to accept as many."""
        known = self._counts.get(leaf.shape)
        if known is None:
            known = self._counts[leaf.shape] = len(set(self.firsts(leaf)))
        return known

    def firsts(self, leaf: Leaf) -> Iterator[str]:
        self._shape = leaf.shape
        self.stepper.registers = leaf.registers
        yield from self._firsts(self._planner.shapes[leaf.shape].term, {})

    def _firsts(self, term: Term, names: dict[int, str]) -> Iterator[str]:
        while term.op == terms.CONCAT:
            yield from self._firsts(term.args[0], names)
            if not self.stepper.may_halt(term.args[0]):
                return
            term = term.args[1]
        op, args = term.op, term.args
        if op == terms.EVENT:
            if self._could_be(args[0], args[1]):
                yield self._shown(args[0], args[1], names)
        elif op == terms.ALL:
            yield "any"
        elif op in terms.NARY:
            for part in args:
                if op != terms.AND or part.op != terms.ALL:
                    yield from self._firsts(part, names)
        elif op == terms.LET:
            yield from self._firsts(args[1], {**names, args[0]: args[2]})
        elif op == terms.FILTER:
            matched = self._event is not None and next(self.stepper.matches(args[0], args[1]), None) is not None
            if matched or self._event is None:
                yield from self._firsts(args[2], names)
            if not matched:
                yield from self._firsts(args[3], names)
        elif op == terms.CALL:
            yield from self._firsts(self.stepper.unfold(term), names)
        elif op == terms.IF:
            yield from self._firsts(args[1] if self.stepper.holds(args[0]) else args[2], names)
        elif op == terms.TIMES and self._value(terms.operand(args[1]), self.stepper.registers) == 0:
            return
        elif op != terms.EMPTY:
            yield from self._firsts(args[0], names)

    def _could_be(self, name: str, refs: tuple[Ref, ...]) -> bool:
        """Can an event of this type come, and is it another than the one that was not accepted?"""
        if not self._planner.compiled.clauses[name, len(refs)]:
            return False  # `none`
        for ref in refs:
            if terms.is_ground(ref) and self._value(terms.operand(ref), self.stepper.registers) is UNDEFINED:
                return False
        return self._event is None or next(self.stepper.matches(name, refs), None) is None

    def _shown(self, name: str, refs: tuple[Ref, ...], names: dict[int, str]) -> str:
        if not refs:
            return name
        return f"{name}({', '.join(self._shown_ref(ref, names) for ref in refs)})"

    def _shown_ref(self, ref: Ref, names: dict[int, str]) -> str:
        kind = ref[0]
        if kind == terms.SLOT and self.by_name and self._planner.shapes[self._shape].names[ref[1]]:
            return self._planner.shapes[self._shape].names[ref[1]]
        if terms.is_ground(ref):
            return _short(self._value(terms.operand(ref), self.stepper.registers))
        if kind == terms.VARIABLE:
            return names.get(ref[1], "_")
        if kind == terms.OBJECT:
            return "{" + ", ".join(f"{key}: {self._shown_ref(part, names)}" for key, part in ref[1]) + "}"
        if kind == terms.LIST:
            items = [self._shown_ref(part, names) for part in ref[1]]
            return f"[{', '.join([*items, '...'] if ref[2] else items)}]"
        if kind == terms.OPERATION:
            return f"{ref[1]}({', '.join(self._shown_ref(part, names) for part in ref[2:])})"
        return "_"


class _Concrete(Stepper):
    """A stepper whose questions are answered by an event and registers instead of a path."""

    def __init__(self, probe: _Probe) -> None:
        super().__init__(probe._planner.compiled, ())
        self._probe = probe
        self.registers: tuple[Any, ...] = ()

    def ask(self, question: Question) -> bool:
        return self._probe._answer(machine_form(question), self.registers)
