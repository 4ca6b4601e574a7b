"""Facts about a law's equations that hold on any trace: nullability, free variables, calls before any event."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from lawful.laws.rml.syntax import (
    All,
    And,
    AnyOf,
    Apply,
    Argument,
    Binary,
    Closure,
    Concat,
    Data,
    Declaration,
    Empty,
    EquationCall,
    Event,
    EventUse,
    Expression,
    Filter,
    If,
    Let,
    ListPattern,
    Literal,
    Name,
    ObjectPattern,
    Optional,
    Or,
    Plus,
    Shuffle,
    Specification,
    Star,
    Times,
    Unary,
    Wildcard,
)

# Everything here walks trees with explicit stacks: a flat chain of 20,000 events is a tree of that depth.


def children(node: Expression) -> tuple[Expression, ...]:
    """The expressions directly inside an expression, left to right."""
    match node:
        case Concat(left, right) | And(left, right) | Or(left, right) | Shuffle(left, right):
            return left, right
        case Star(body) | Plus(body) | Optional(body) | Closure(body) | Times(body, _) | Let(_, body):
            return (body,)
        case Filter(_, body, otherwise):
            return (body,) if otherwise is None else (body, otherwise)
        case If(_, then, otherwise):
            return then, otherwise
        case Empty() | All() | Event() | EquationCall():
            return ()


def postorder(root: Expression) -> list[Expression]:
    """All expressions in a tree, each after those inside it."""
    found: list[Expression] = []
    stack: list[Expression] = [root]
    while stack:
        node = stack.pop()
        found.append(node)
        stack.extend(children(node))
    found.reverse()  # a node before its children, right to left, read backwards
    return found


def preorder(root: Expression) -> Iterator[Expression]:
    """All expressions in a tree in the order of the text."""
    stack: list[Expression] = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))


def values(*roots: Argument) -> Iterator[Argument]:
    """All data expressions and patterns in some of them, in the order of the text."""
    stack: list[Argument] = list(reversed(roots))
    while stack:
        node = stack.pop()
        yield node
        match node:
            case Unary(_, operand):
                stack.append(operand)
            case Binary(_, left, right):
                stack += [right, left]
            case Apply(_, args):
                stack.extend(reversed(args))
            case ObjectPattern(fields):
                stack.extend(value for _, value in reversed(fields))
            case ListPattern(items, _):
                stack.extend(reversed(items))
            case AnyOf(options):
                stack.extend(reversed(options))
            case Literal() | Name() | Wildcard():
                pass


def own_arguments(node: Expression) -> tuple[Argument, ...]:
    """The data expressions and patterns that stand directly in an expression."""
    match node:
        case Event(use) | Filter(use, _, _):
            return use.args
        case EquationCall(_, args):
            return args
        case If(condition, _, _):
            return (condition,)
        case _:
            return ()


def own_variables(node: Expression) -> Iterator[Name]:
    """The variables that stand directly in an expression, in the order of the text."""
    return (value for value in values(*own_arguments(node)) if isinstance(value, Name))


def pattern_variables(*roots: Argument) -> frozenset[str]:
    """The names of all variables in data expressions and patterns."""
    return frozenset(value.name for value in values(*roots) if isinstance(value, Name))


def declared(specification: Specification) -> dict[tuple[str, int], list[Declaration]]:
    """The declarations of each event type, in order, by name and number of arguments."""
    found: dict[tuple[str, int], list[Declaration]] = {}
    for declaration in specification.declarations:
        found.setdefault((declaration.name, len(declaration.params)), []).append(declaration)
    return found


def scoped(root: Expression, outer: frozenset[str]) -> Iterator[tuple[Expression, frozenset[str]]]:
    """All expressions in the order of the text, each with the variables in scope there."""
    stack: list[tuple[Expression, frozenset[str]]] = [(root, outer)]
    while stack:
        node, scope = stack.pop()
        yield node, scope
        inner = scope | frozenset(node.names) if isinstance(node, Let) else scope
        stack.extend((child, inner) for child in reversed(children(node)))


def _callers(specification: Specification) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for equation in specification.equations:
        for node in preorder(equation.body):
            if isinstance(node, EquationCall):
                found.setdefault(node.name, set()).add(equation.name)
    return found


def nullable(specification: Specification) -> set[str]:
    """The equations that may halt before any event. An ``if`` may if one of its branches may."""
    trees = {equation.name: postorder(equation.body) for equation in specification.equations}
    callers = _callers(specification)
    found: set[str] = set()
    pending = list(trees)
    while pending:
        name = pending.pop()
        if name not in found and nullability(trees[name], found)[id(trees[name][-1])]:
            found.add(name)
            pending.extend(callers.get(name, ()))
    return found


def nullability(tree: list[Expression], equations: set[str]) -> dict[int, bool]:
    """For each expression of a tree in postorder, by its id: may it halt, given the equations that may?"""
    may: dict[int, bool] = {}
    for node in tree:
        match node:
            case Empty() | All() | Star() | Optional() | Closure():
                value = True
            case Event():
                value = False
            case Or(left, right):
                value = may[id(left)] or may[id(right)]
            case Concat(left, right) | And(left, right) | Shuffle(left, right):
                value = may[id(left)] and may[id(right)]
            case Plus(body) | Let(_, body):
                value = may[id(body)]
            case Times(body, count):
                value = count == 0 or may[id(body)]
            case Filter(_, body, otherwise):
                value = may[id(body)] and (otherwise is None or may[id(otherwise)])
            case EquationCall(name, _):
                value = name in equations
            case If(_, then, otherwise):
                value = may[id(then)] or may[id(otherwise)]
            case _:
                assert_never(node)
        may[id(node)] = value
    return may


def free_variables(specification: Specification) -> dict[str, frozenset[str]]:
    """
    The variables an equation leaves to its caller's ``let`` or parameters (scope is dynamic): those of its own text
    and those of the equations it calls, without what is a parameter or under a ``let`` where it stands.
    """
    found: dict[str, frozenset[str]] = {}
    calls: dict[str, set[tuple[str, frozenset[str]]]] = {}
    for equation in specification.equations:
        own: set[str] = set()
        edges = calls.setdefault(equation.name, set())
        for node, scope in scoped(equation.body, frozenset(equation.params)):
            own.update(name.name for name in own_variables(node) if name.name not in scope)
            if isinstance(node, EquationCall):
                edges.add((node.name, scope))
        found[equation.name] = frozenset(own)
    callers = _callers(specification)
    pending = list(found)
    while pending:
        name = pending.pop()
        total = found[name].union(*(found.get(callee, frozenset()) - scope for callee, scope in calls[name]))
        if total != found[name]:
            found[name] = total
            pending.extend(callers.get(name, ()))
            pending.append(name)
    return found


@dataclass(frozen=True, slots=True)
class Cycle:
    """Names that lead to each other in a circle, with the call or use that makes each step."""

    names: tuple[str, ...]
    steps: tuple[EquationCall | EventUse, ...]


def find_cycles(graph: dict[str, dict[str, EquationCall | EventUse]]) -> list[Cycle]:
    """One cycle for each group of names that lead to each other."""
    cycles: list[Cycle] = []
    done: set[str] = set()
    on_cycle: set[str] = set()
    for root in graph:
        if root in done:
            continue
        path: list[str] = [root]
        place = {root: 0}
        iterators = [iter(graph[root])]
        while path:
            for name in iterators[-1]:
                if name in place:
                    names = path[place[name] :]
                    if not on_cycle.intersection(names):  # one report for each knot is enough
                        on_cycle.update(names)
                        steps = tuple(graph[a][b] for a, b in zip(names, [*names[1:], name], strict=True))
                        cycles.append(Cycle(tuple(names), steps))
                elif name not in done and name in graph:
                    place[name] = len(path)
                    path.append(name)
                    iterators.append(iter(graph[name]))
                    break
            else:
                done.add(path[-1])
                del place[path.pop()]
                iterators.pop()
    return cycles


def calls_before_events(specification: Specification) -> dict[str, dict[str, EquationCall | EventUse]]:
    """
    For each equation those it calls before any event must have happened. Only a concatenation whose left operand
    cannot halt puts an event in between.
    """
    equations = nullable(specification)
    graph: dict[str, dict[str, EquationCall | EventUse]] = {}
    for equation in specification.equations:
        may = nullability(postorder(equation.body), equations)
        edges = graph.setdefault(equation.name, {})
        stack: list[Expression] = [equation.body]
        while stack:
            node = stack.pop()
            if isinstance(node, EquationCall):
                edges.setdefault(node.name, node)
            elif isinstance(node, Concat) and not may[id(node.left)]:
                stack.append(node.left)
            else:
                stack.extend(reversed(children(node)))
    return graph


def uses(specification: Specification) -> Iterator[EventUse]:
    """All event types used in equations, in the order of the text."""
    for equation in specification.equations:
        for node in preorder(equation.body):
            if isinstance(node, Event | Filter):
                yield node.use


def conditions(specification: Specification) -> Iterator[Data]:
    """Every data expression of a law that is not a pattern: guards, conditions, arguments."""
    for declaration in specification.declarations:
        if declaration.guard is not None:
            yield declaration.guard
        if isinstance(declaration.body, tuple):
            for use in declaration.body:
                yield from (arg for arg in use.args if isinstance(arg, Unary | Binary | Apply))
    for equation in specification.equations:
        for node in preorder(equation.body):
            yield from (arg for arg in own_arguments(node) if isinstance(arg, Unary | Binary | Apply))
