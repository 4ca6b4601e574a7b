"""What a law says, as data: its event types, its equations and how they grow, and the events it looks at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from lawful.laws.protocol import Watch
from lawful.laws.rml import syntax
from lawful.laws.rml.equations import call_graph, declared, reachable
from lawful.laws.rml.law import RmlLaw
from lawful.laws.rml.printer import format_data, format_expression, format_spec
from lawful.laws.rml.watches import named_watches

Growth = Literal["beside", "and", "before", "repeated", "filter"]
"""Where an equation calls itself so that every turn leaves something behind."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """One declaration of an event type."""

    text: str  # the whole, in normal form
    params: tuple[str, ...]
    matches: str  # its body
    derived: bool  # from other event types
    negated: bool
    guard: str | None


@dataclass(frozen=True, slots=True)
class EventType:
    name: str
    arity: int
    declarations: tuple[Declaration, ...]


@dataclass(frozen=True, slots=True)
class Recursion:
    """A call that leads back to the equation it stands in."""

    callee: str
    growth: Growth | None  # none: nothing is left behind
    beside: str | None  # the expression that is


@dataclass(frozen=True, slots=True)
class Equation:
    name: str
    params: tuple[str, ...]
    text: str  # the whole, in normal form
    recursion: tuple[Recursion, ...]


@dataclass(frozen=True, slots=True)
class Outline:
    event_types: tuple[EventType, ...]
    equations: tuple[Equation, ...]
    watches: tuple[Watch, ...]
    everything: bool  # it can match any event at all, whatever the watches say


def outline(law: RmlLaw) -> Outline:
    specification = law.specification
    watches, everything = named_watches(law.planner.compiled, specification)
    return Outline(
        tuple(
            EventType(name, arity, tuple(map(_declaration, group)))
            for (name, arity), group in declared(specification).items()
        ),
        tuple(_equations(specification)),
        watches,
        everything,
    )


def _declaration(declaration: syntax.Declaration) -> Declaration:
    text = format_spec(syntax.Specification((declaration,), ())).rstrip()
    guard = None if declaration.guard is None else format_data(declaration.guard)
    end = len(text) - 1 if guard is None else len(text) - len(f" with {guard};")
    body = text[text.index(" matches ") + len(" matches ") : end]
    return Declaration(text, declaration.params, body, isinstance(declaration.body, tuple), declaration.negated, guard)


# -- recursion -----------------------------------------------------------------------------------


def _equations(specification: syntax.Specification) -> Iterator[Equation]:
    called = call_graph(specification)
    for equation in specification.equations:
        text = format_spec(syntax.Specification((), (equation,))).rstrip()
        returning = {name for name in called[equation.name] if equation.name in reachable((name,), called)}
        found = dict.fromkeys(_recursions(equation.body, returning)) if returning else {}
        yield Equation(equation.name, equation.params, text, tuple(found))


_Context = tuple[Growth, syntax.Expression | None]


def _recursions(body: syntax.Expression, returning: set[str]) -> Iterator[Recursion]:
    """The calls of some equations, each with the innermost operator that leaves something behind."""
    pending: list[tuple[syntax.Expression, _Context | None]] = [(body, None)]
    while pending:
        node, context = pending.pop()
        match node:
            case syntax.EquationCall(name) if name in returning:
                growth, other = context or (None, None)
                yield Recursion(name, growth, None if other is None else format_expression(other))
            case syntax.Infix(syntax.SHUFFLE, left, right):
                pending += ((right, ("beside", left)), (left, ("beside", right)))
            case syntax.Infix(syntax.AND, left, right):
                pending += ((right, ("and", left)), (left, ("and", right)))
            case syntax.Infix(syntax.CONCAT, left, right):
                pending += ((right, context), (left, ("before", right)))
            case syntax.Postfix(op, inner) if op != syntax.OPTIONAL:
                pending.append((inner, ("repeated", None)))
            case syntax.Times(inner):
                pending.append((inner, ("repeated", None)))
            case syntax.Filter(_, inner, otherwise):
                pending += [(part, ("filter", None)) for part in (otherwise, inner) if part is not None]
            case _:
                pending += [(part, context) for part in reversed(node.children)]
