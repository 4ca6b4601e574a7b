"""A monitor's state in a form that another process can load: shapes by their terms, not by their numbers."""

from __future__ import annotations

from typing import Any

from lawful.laws.rml import terms
from lawful.laws.rml.planner import Planner, Recipe
from lawful.laws.rml.terms import Term, Terms

Packed = tuple[tuple[Any, ...], Recipe]


def pack(planner: Planner, state: Recipe) -> Packed:
    """The terms that a state uses, each once, and the state over their places."""
    places: dict[int, int] = {}
    packed = _renumbered(state, lambda shape: places.setdefault(shape, len(places)))
    shapes = (planner.shapes[shape] for shape in places)
    return tuple((_packed_term(shape.term), shape.names) for shape in shapes), packed


def unpack(planner: Planner, packed: Packed) -> Recipe:
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
