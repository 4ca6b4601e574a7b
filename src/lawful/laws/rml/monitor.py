"""The running state of an RML law: a monitor around the machine in Python or in C."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from lawful import core
from lawful.laws.machine_monitor import MachineMonitor
from lawful.laws.protocol import Event, Expectation, Verdict
from lawful.laws.rml import patterns, terms
from lawful.laws.rml.expectation import expectation, pending
from lawful.laws.rml.machine import RmlMachine
from lawful.laws.rml.planner import Planner, Recipe
from lawful.laws.rml.recursion import with_deep_recursion
from lawful.laws.rml.terms import Term, Terms
from lawful.laws.rml.values import identical

if TYPE_CHECKING:
    from lawful.laws.rml.law import RmlLaw  # which makes monitors

_UNSEEN_END: Event = {"event": "gone", "targetId": "<an unseen object>"}  # no object has such an id


class RmlMonitor(MachineMonitor[RmlMachine]):
    """The running state of an RML law."""

    def __init__(self, law: RmlLaw) -> None:
        self.law = law
        super().__init__()
        if law.facts is None and self._machine.dead:
            self.doomed_at = 0

    def _new_machine(self) -> RmlMachine:
        kind = RmlMachine if core.native is None else core.native.RmlMachine
        machine: RmlMachine = kind(self.law.planner, self._warn)
        return machine

    @property
    def _at_first(self) -> Verdict | None:
        return None if self.law.facts is None else Verdict.CURRENTLY_TRUE

    @property
    def _accepts_all(self) -> bool:
        return self._machine.is_all

    def expectation(self, event: Event | None = None) -> Expectation:
        return expectation(self.law.planner, self._machine.dump(), event)

    def pending(self, most: int) -> tuple[Expectation, ...]:
        return pending(self.law.planner, self._machine.dump(), most)

    def relevant(self, event: Event, values: Iterable[Any]) -> bool:
        wanted = list(values)
        for option in self.law.named_patterns:
            found: list[Any] = [None] * len(option.names)
            match = partial(patterns.match, option.tree, event, found)
            if patterns.is_universal(option.tree) or not with_deep_recursion(match):
                continue
            if not wanted or any(identical(value, other) for value in found for other in wanted):
                return True
        return False

    @property
    def ignores_unseen_end(self) -> bool:
        """Would the end of an object that no event has mentioned yet change nothing now?"""
        if self.law.facts is not None and not self.prepared:
            return self.law.facts.ignores_unseen_end
        return self.law.tracks_objects and self._machine.ignores(_UNSEEN_END)

    def prevented(self, number: int) -> None:
        """The broken law did not take the event. Other laws took it, and cannot undo that."""

    def forget(self, object_id: int | str) -> bool:
        return False  # an object without further events costs nothing

    # -- pickling ---------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        state = _pack(self.law.planner, self._machine.dump())
        return super().__getstate__() | {"_state": state, "_failed": self._machine.failed}

    def __setstate__(self, state: dict[str, Any]) -> None:
        packed, failed = state.pop("_state"), state.pop("_failed")
        self.__dict__.update(state)
        self._machine.load(_unpack(self.law.planner, packed))
        self._machine.failed = failed


# A state in a form that another process can load has shapes by their terms, not by their numbers.
_Packed = tuple[tuple[Any, ...], Recipe]


def _pack(planner: Planner, state: Recipe) -> _Packed:
    """The terms that a state uses, each once, and the state over their places."""
    places: dict[int, int] = {}
    packed = _renumbered(state, lambda shape: places.setdefault(shape, len(places)))
    shapes = (planner.shapes[shape] for shape in places)
    return tuple((_packed_term(shape.term), shape.names) for shape in shapes), packed


def _unpack(planner: Planner, packed: _Packed) -> Recipe:
    shapes = [planner.adopt(_unpacked_term(planner.compiled.terms, term), names) for term, names in packed[0]]
    return _renumbered(packed[1], lambda place: shapes[place])


def _renumbered(recipe: Recipe, number: Any) -> Recipe:
    match recipe:
        case "leaf", shape, operands:
            return "leaf", number(shape), operands
        case "instance_list", entries, core:
            renumbered = tuple((way, _renumbered(child, number)) for way, child in entries)
            return "instance_list", renumbered, _renumbered(core, number)
        case "filter", (shape, operands), body, otherwise:
            return "filter", (number(shape), operands), _renumbered(body, number), _renumbered(otherwise, number)
        case kind, head, *cells:  # a sequence, or a closure, which has no cells
            return kind, _renumbered(head, number), *((number(shape), operands) for shape, operands in cells)
    raise ValueError(recipe)


def _packed_term(term: Term) -> tuple[Any, ...]:
    if term.op == terms.CONCAT:  # flat, so that a long one does not nest
        chain = []
        while term.op == terms.CONCAT:
            chain.append(_packed_term(term.args[0]))
            term = term.args[1]
        return terms.CONCAT, (*chain, _packed_term(term))
    return term.op, tuple((True, _packed_term(arg)) if isinstance(arg, Term) else (False, arg) for arg in term.args)


def _unpacked_term(table: Terms, packed: tuple[Any, ...]) -> Term:
    op, args = packed
    if op == terms.CONCAT:
        *chain, result = (_unpacked_term(table, part) for part in args)
        for left in reversed(chain):
            result = table.make(terms.CONCAT, left, result)
        return result
    return table.make(op, *(_unpacked_term(table, arg) if nested else arg for nested, arg in args))
