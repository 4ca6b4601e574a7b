"""Facts about a law's equations that hold on any trace: nullability, free variables, calls before any event."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import TypeVar, assert_never

from lawful.laws.rml import syntax
from lawful.laws.rml.syntax import (
    Argument,
    Data,
    Declaration,
    EquationCall,
    EventKey,
    EventUse,
    Expression,
    Specification,
)

# Everything here walks trees with explicit stacks: a flat chain of 20,000 events is a tree of that depth.

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def postorder(root: Expression) -> list[Expression]:
    """All expressions in a tree, each after those inside it."""
    found: list[Expression] = []
    stack: list[Expression] = [root]
    while stack:
        node = stack.pop()
        found.append(node)
        stack.extend(node.children)
    found.reverse()  # a node before its children, right to left, read backwards
    return found


def preorder(*roots: Expression) -> Iterator[Expression]:
    """All expressions in some trees in the order of the text."""
    stack: list[Expression] = list(reversed(roots))
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.children))


def flatten(node: Expression) -> list[Expression]:
    """The operands of a chain of one associative operator, in order, however long the chain."""
    operands: list[Expression] = []
    pending = [node]
    while pending:
        current = pending.pop()
        if isinstance(node, syntax.Infix) and isinstance(current, syntax.Infix) and current.op == node.op:
            pending += (current.right, current.left)
        else:
            operands.append(current)
    return operands


def values(*roots: Argument) -> Iterator[Argument]:
    """All data expressions and patterns in some of them, in the order of the text."""
    stack: list[Argument] = list(reversed(roots))
    while stack:
        node = stack.pop()
        yield node
        match node:
            case syntax.Unary(_, operand):
                stack.append(operand)
            case syntax.Binary(_, left, right):
                stack += (right, left)
            case syntax.Apply(_, parts) | syntax.ListPattern(parts, _) | syntax.AnyOf(parts):
                stack.extend(reversed(parts))
            case syntax.ObjectPattern(fields):
                stack.extend(value for _, value in reversed(fields))


def own_arguments(node: Expression) -> tuple[Argument, ...]:
    """The data expressions and patterns that stand directly in an expression."""
    match node:
        case syntax.Event(use) | syntax.Filter(use, _, _):
            return use.args
        case EquationCall(_, args):
            return args
        case syntax.If(condition, _, _):
            return (condition,)
        case _:
            return ()


def own_variables(node: Expression) -> Iterator[syntax.Name]:
    """The variables that stand directly in an expression, in the order of the text."""
    return (value for value in values(*own_arguments(node)) if isinstance(value, syntax.Name))


def pattern_variables(*roots: Argument) -> frozenset[str]:
    """The names of all variables in data expressions and patterns."""
    return frozenset(value.name for value in values(*roots) if isinstance(value, syntax.Name))


def scoped(root: Expression, outer: frozenset[str]) -> Iterator[tuple[Expression, frozenset[str]]]:
    """All expressions in the order of the text, each with the variables in scope there."""
    stack: list[tuple[Expression, frozenset[str]]] = [(root, outer)]
    while stack:
        node, scope = stack.pop()
        yield node, scope
        inner = scope | frozenset(node.names) if isinstance(node, syntax.Let) else scope
        stack.extend((child, inner) for child in reversed(node.children))


# -- what leads to what ---------------------------------------------------------------------------


def declared(specification: Specification) -> dict[EventKey, list[Declaration]]:
    """The declarations of each event type, in order."""
    found: dict[EventKey, list[Declaration]] = {}
    for declaration in specification.declarations:
        found.setdefault(declaration.key, []).append(declaration)
    return found


def derivations(specification: Specification) -> dict[EventKey, dict[EventKey, EventUse]]:
    """The event types that each one is derived from, with their first uses there."""
    found: dict[EventKey, dict[EventKey, EventUse]] = {}
    for declaration in specification.declarations:
        edges = found.setdefault(declaration.key, {})
        for use in declaration.uses:
            edges.setdefault(use.key, use)
    return found


def uses(*roots: Expression) -> Iterator[EventUse]:
    """All event types used in expressions, in the order of the text."""
    return (node.use for node in preorder(*roots) if isinstance(node, syntax.Event | syntax.Filter))


def calls(*roots: Expression) -> Iterator[EquationCall]:
    """All calls of equations in expressions, in the order of the text."""
    return (node for node in preorder(*roots) if isinstance(node, EquationCall))


def call_graph(specification: Specification) -> dict[str, set[str]]:
    """The equations that each one calls."""
    return {equation.name: {call.name for call in calls(equation.body)} for equation in specification.equations}


def reachable(starts: Iterable[K], edges: Mapping[K, Iterable[K]]) -> set[K]:
    """All that some nodes of a graph lead to, and they themselves."""
    pending = list(starts)
    found = set(pending)
    while pending:
        new = set(edges.get(pending.pop(), ())) - found
        found |= new
        pending += new
    return found


def _callers(specification: Specification) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for caller, called in call_graph(specification).items():
        for name in called:
            found.setdefault(name, set()).add(caller)
    return found


def solve(specification: Specification, step: Callable[[str], bool]) -> None:
    """Work on equations until nothing changes: where `step` changes one, those that call it are looked at again."""
    callers = _callers(specification)
    pending = dict.fromkeys(equation.name for equation in specification.equations)
    while pending:
        name = next(iter(pending))
        del pending[name]
        if step(name):
            pending.update(dict.fromkeys(callers.get(name, ())))


# -- facts ----------------------------------------------------------------------------------------


def nullable(specification: Specification) -> set[str]:
    """The equations that may halt before any event. An ``if`` may if one of its branches may."""
    trees = {equation.name: postorder(equation.body) for equation in specification.equations}
    found: set[str] = set()

    def step(name: str) -> bool:
        halts = name not in found and nullability(trees[name], found)[id(trees[name][-1])]
        found.update((name,) if halts else ())
        return halts

    solve(specification, step)
    return found


def nullability(tree: list[Expression], equations: set[str]) -> dict[int, bool]:
    """For each expression of a tree in postorder, by its id: may it halt, given the equations that may?"""
    may: dict[int, bool] = {}
    for node in tree:
        match node:
            case syntax.Empty() | syntax.All():
                value = True
            case syntax.Event():
                value = False
            case syntax.Infix(syntax.OR) | syntax.If():
                value = any(may[id(child)] for child in node.children)
            case syntax.Postfix(op, body):
                value = op != syntax.PLUS or may[id(body)]
            case syntax.Infix() | syntax.Let() | syntax.Filter():
                value = all(may[id(child)] for child in node.children)
            case syntax.Times(body, count):
                value = count == 0 or may[id(body)]
            case EquationCall(name, _):
                value = name in equations
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
    called: dict[str, set[tuple[str, frozenset[str]]]] = {}
    for equation in specification.equations:
        own: set[str] = set()
        edges = called.setdefault(equation.name, set())
        for node, scope in scoped(equation.body, frozenset(equation.params)):
            own.update(name.name for name in own_variables(node) if name.name not in scope)
            if isinstance(node, EquationCall):
                edges.add((node.name, scope))
        found[equation.name] = frozenset(own)

    def step(name: str) -> bool:
        total = found[name].union(*(found.get(callee, frozenset()) - scope for callee, scope in called[name]))
        changed, found[name] = total != found[name], total
        return changed

    solve(specification, step)
    return found


def find_cycles(graph: Mapping[K, Mapping[K, V]]) -> list[tuple[V, ...]]:
    """One cycle for each group of nodes that lead to each other: its edges, the last one back to the first node."""
    cycles: list[tuple[V, ...]] = []
    done: set[K] = set()
    on_cycle: set[K] = set()
    for root in graph:
        if root in done:
            continue
        path = [root]
        place = {root: 0}
        iterators = [iter(graph[root])]
        while path:
            for name in iterators[-1]:
                if name in place:
                    names = path[place[name] :]
                    if not on_cycle.intersection(names):  # one report for each knot is enough
                        on_cycle.update(names)
                        cycles.append(tuple(graph[a][b] for a, b in zip(names, [*names[1:], name], strict=True)))
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


def calls_before_events(specification: Specification) -> dict[str, dict[str, EquationCall]]:
    """
    For each equation those it calls before any event must have happened. Only a concatenation whose left operand
    cannot halt puts an event in between.
    """
    equations = nullable(specification)
    graph: dict[str, dict[str, EquationCall]] = {}
    for equation in specification.equations:
        may = nullability(postorder(equation.body), equations)
        edges = graph.setdefault(equation.name, {})
        stack: list[Expression] = [equation.body]
        while stack:
            node = stack.pop()
            if isinstance(node, EquationCall):
                edges.setdefault(node.name, node)
            elif isinstance(node, syntax.Infix) and node.op == syntax.CONCAT and not may[id(node.left)]:
                stack.append(node.left)
            else:
                stack.extend(reversed(node.children))
    return graph


def conditions(specification: Specification) -> Iterator[Data]:
    """Every data expression of a law that is not a pattern: guards, conditions, arguments."""
    for declaration in specification.declarations:
        if declaration.guard is not None:
            yield declaration.guard
        yield from computed(arg for use in declaration.uses for arg in use.args)
    yield from computed(arg for node in preorder(*specification.bodies) for arg in own_arguments(node))


def computed(args: Iterable[Argument]) -> Iterator[Data]:
    """Those of some arguments that are computed."""
    return (arg for arg in args if isinstance(arg, syntax.Unary | syntax.Binary | syntax.Apply))
