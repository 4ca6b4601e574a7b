"""What a law says, as data: its event types, its equations and how they grow, and the events it looks at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from lawful.laws.protocol import Watch
from lawful.laws.rml import patterns, syntax, terms
from lawful.laws.rml.compiler import CompiledLaw, Direct, named_ref
from lawful.laws.rml.equations import children, declared, preorder
from lawful.laws.rml.event_types import extent
from lawful.laws.rml.printer import format_data, format_expression, format_spec
from lawful.laws.rml.terms import Ref

if TYPE_CHECKING:
    from lawful.laws.rml.law import RmlLaw

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
    watches, everything = _watches(law.planner.compiled, specification)
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


def watches(law: RmlLaw) -> tuple[Watch, ...] | None:
    """As the protocol of laws has it."""
    compiled = law.planner.compiled
    found, everything = _watches(compiled, law.specification)
    if not everything:
        return found
    # What an event type does not match, the law is about all the same.
    denied = (_watch(tree) for tree in _flat(_denied(compiled)) if tree[0] == "object" and tree[1])
    found = tuple(dict.fromkeys((*found, *denied)))
    return (*found, Watch(())) if found else None


def is_selective(specification: syntax.Specification) -> bool:
    """As the protocol of laws has it: is `Main` a filter that lets everything else pass, or an intersection of such?

    A filter stays around what becomes of its body. So, once `Main` has been replaced by what it stands for, which the
    first event does, an event that it does not match leaves the very same state. The names of what it matches are among
    the law's watches.
    """
    bodies = {equation.name: equation.body for equation in specification.equations}
    pending: list[syntax.Expression] = [bodies.pop("Main")]
    while pending:
        match pending.pop():
            case syntax.Filter(_, _, None | syntax.All()) | syntax.All():
                pass
            case syntax.And(left, right):
                pending += (left, right)
            case syntax.Let(_, body):
                pending.append(body)
            case syntax.EquationCall(name):
                if name in bodies:  # not seen yet
                    pending.append(bodies.pop(name))
            case _:
                return False
    return True


# -- recursion -----------------------------------------------------------------------------------


def _equations(specification: syntax.Specification) -> Iterator[Equation]:
    calls = {
        equation.name: {node.name for node in preorder(equation.body) if isinstance(node, syntax.EquationCall)}
        for equation in specification.equations
    }
    for equation in specification.equations:
        text = format_spec(syntax.Specification((), (equation,))).rstrip()
        returning = {name for name in calls[equation.name] if equation.name in _reached(name, calls)}
        found = dict.fromkeys(_recursions(equation.body, returning)) if returning else {}
        yield Equation(equation.name, equation.params, text, tuple(found))


def _reached(start: str, calls: dict[str, set[str]]) -> set[str]:
    found = {start}
    pending = [start]
    while pending:
        new = calls[pending.pop()] - found
        found |= new
        pending += new
    return found


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
            case syntax.Shuffle(left, right):
                pending += ((right, ("beside", left)), (left, ("beside", right)))
            case syntax.And(left, right):
                pending += ((right, ("and", left)), (left, ("and", right)))
            case syntax.Concat(left, right):
                pending += ((right, context), (left, ("before", right)))
            case syntax.Star(inner) | syntax.Plus(inner) | syntax.Times(inner) | syntax.Closure(inner):
                pending.append((inner, ("repeated", None)))
            case syntax.Filter(_, inner, otherwise):
                pending += [(part, ("filter", None)) for part in (otherwise, inner) if part is not None]
            case _:
                pending += [(part, context) for part in reversed(children(node))]


# -- what it looks at ----------------------------------------------------------------------------


def _watches(compiled: CompiledLaw, specification: syntax.Specification) -> tuple[tuple[Watch, ...], bool]:
    """From the event types that can be reached from `Main`, with the arguments they have there."""
    bodies = {equation.name: equation.body for equation in specification.equations}
    calls = {
        name: {node.name for node in preorder(body) if isinstance(node, syntax.EquationCall)}
        for name, body in bodies.items()
    }
    reached = _reached("Main", calls)
    found: dict[Watch, None] = {}
    everything = False
    for name, body in bodies.items():
        for node in preorder(body) if name in reached else ():
            if not isinstance(node, syntax.Event | syntax.Filter):
                continue
            args = tuple(_static(named_ref(arg)) for arg in node.use.args)
            for tree in _flat(extent(compiled, node.use.name, args).outer):
                if patterns.is_universal(tree):
                    everything = True
                elif tree[0] == "object":  # an event is nothing else
                    found.setdefault(_watch(tree))
    return tuple(found), everything


def _watch(tree: patterns.PatternTree) -> Watch:
    return Watch(tuple((key, _literals(part)) for key, part in tree[1]))


def _denied(compiled: CompiledLaw) -> Iterator[patterns.PatternTree]:
    """The patterns behind event types that `not matches`."""
    pending = [clause for group in compiled.clauses.values() for clause in group if clause.negated]
    seen: set[tuple[str, int]] = set()
    while pending:
        for option in pending.pop().options:
            if isinstance(option, Direct):
                yield option.tree
            elif (key := (option.name, len(option.args))) not in seen:
                seen.add(key)
                pending += compiled.clauses[key]


def _static(ref: Ref) -> Ref:
    """What is computed when the law runs can be anything."""
    return terms.WILDCARD if ref[0] == terms.OPERATION else terms.rebuild(ref, _static)


def _flat(trees: Iterable[patterns.PatternTree]) -> Iterator[patterns.PatternTree]:
    for tree in trees:
        if tree[0] == "choice":
            yield from _flat(tree[1])
        else:
            yield tree


def _literals(tree: patterns.PatternTree) -> tuple[syntax.Scalar, ...] | None:
    values = list(_flat((tree,)))
    return tuple(each[1] for each in values) if all(each[0] == "literal" for each in values) else None
