"""From the syntax tree to what the engine runs: equations as terms, event types as clauses over base patterns.

Scope is dynamic in RML: a variable free in an equation is captured by the `let` around the call. Here every such
variable becomes one more parameter, handed on at each call, which makes the scope syntactic.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from lawful.laws.rml import patterns, syntax, terms
from lawful.laws.rml.equations import flatten, free_variables, reachable
from lawful.laws.rml.patterns import Direct
from lawful.laws.rml.terms import Ref, Term, Terms


@dataclass(frozen=True, slots=True)
class Use:
    """An event type in a derived declaration; its references name variables of the declaration."""

    name: str
    args: tuple[NamedRef, ...]


NamedRef = Ref
"""A reference whose variables are names: ``(VARIABLE, "x")``."""


@dataclass(frozen=True, slots=True)
class Clause:
    """One declaration of an event type."""

    params: tuple[str, ...]
    negated: bool
    options: tuple[Direct | Use, ...]
    guard: NamedRef | None


Clauses = Mapping[syntax.EventKey, tuple[Clause, ...]]


@dataclass(frozen=True, slots=True)
class Equation:
    params: tuple[int, ...]  # variable ids: those written, then those free in the body
    body: Term
    names: tuple[str, ...]  # of the parameters


@dataclass(slots=True)
class CompiledLaw:
    """A compiled law."""

    terms: Terms
    equations: Mapping[str, Equation]
    clauses: Clauses
    patterns: patterns.PatternTable
    main: Term
    variables: int  # ids from here on are free to use
    undeclared: frozenset[int]  # variables that no `let` captures


def compile_specification(spec: syntax.Specification) -> CompiledLaw:
    """Compile a specification that the checker has passed."""
    return _Compiler(spec).compiled()


class _Compiler:
    def __init__(self, spec: syntax.Specification) -> None:
        self.spec = spec
        self.free = free_variables(spec)
        undeclared = self.free["Main"]
        # A binding of an undeclared variable is seen by the whole term, which therefore cannot be taken apart.
        growing = frozenset() if undeclared else growing_equations(spec)
        self.terms = Terms(growing)
        self.variables = 0
        self.undeclared = {name: self.fresh() for name in sorted(undeclared)}

    def fresh(self) -> int:
        self.variables += 1
        return self.variables - 1

    def compiled(self) -> CompiledLaw:
        equations = {equation.name: self.equation(equation) for equation in self.spec.equations}
        clauses = compile_event_types(self.spec)
        main = self.terms.make(terms.CALL, "Main", self.extra("Main", self.undeclared))
        undeclared = frozenset(self.undeclared.values())
        return CompiledLaw(self.terms, equations, clauses, patterns.PatternTable(), main, self.variables, undeclared)

    def extra(self, name: str, scope: Mapping[str, int]) -> tuple[Ref, ...]:
        return tuple((terms.VARIABLE, scope[free]) for free in sorted(self.free[name]))

    def equation(self, equation: syntax.Equation) -> Equation:
        names = (*equation.params, *sorted(self.free[equation.name]))
        params = tuple(self.fresh() for _ in names)
        body = self.term(equation.body, dict(zip(names, params, strict=True)))
        return Equation(params, body, names)

    def ref(self, node: syntax.Argument, scope: Mapping[str, int]) -> Ref:
        def rename(ref: Ref) -> Ref:
            if ref[0] == terms.VARIABLE:
                return terms.VARIABLE, scope[ref[1]]
            return terms.rebuild(ref, rename)

        return rename(named_ref(node))

    def term(self, node: syntax.Expression, scope: Mapping[str, int]) -> Term:
        make = self.terms.make
        match node:
            case syntax.Empty():
                return self.terms.empty
            case syntax.All():
                return self.terms.all
            case syntax.Event(use):
                return make(terms.EVENT, use.name, tuple(self.ref(arg, scope) for arg in use.args))
            case syntax.Infix(op):
                parts = [self.term(part, scope) for part in flatten(node)]
                if op != syntax.CONCAT:
                    return make(op, *parts)
                result = parts.pop()
                while parts:
                    result = make(terms.CONCAT, parts.pop(), result)
                return result
            case syntax.Postfix(op, body):
                return make(op, self.term(body, scope))
            case syntax.Times(body, count):
                return make(terms.TIMES, self.term(body, scope), terms.constant(count))
            case syntax.Let(names, body):
                ids = [self.fresh() for _ in names]
                result = self.term(body, {**scope, **dict(zip(names, ids, strict=True))})
                for variable, name in zip(reversed(ids), reversed(names), strict=True):
                    result = make(terms.LET, variable, result, name)
                return result
            case syntax.Filter(use, body, otherwise):
                rest = self.terms.all if otherwise is None else self.term(otherwise, scope)
                refs = tuple(self.ref(arg, scope) for arg in use.args)
                return make(terms.FILTER, use.name, refs, self.term(body, scope), rest)
            case syntax.EquationCall(name, args):
                return make(terms.CALL, name, (*(self.ref(arg, scope) for arg in args), *self.extra(name, scope)))
            case syntax.If(condition, then, otherwise):
                return make(terms.IF, self.ref(condition, scope), self.term(then, scope), self.term(otherwise, scope))


def named_ref(node: syntax.Argument) -> NamedRef:
    """Data or a pattern as a reference over variable names."""
    match node:
        case syntax.Literal(value):
            return terms.constant(value)
        case syntax.Name(name):
            return terms.VARIABLE, name
        case syntax.Unary(_, operand):
            return terms.OPERATION, "neg", named_ref(operand)
        case syntax.Binary(op, left, right):
            return terms.OPERATION, op, named_ref(left), named_ref(right)
        case syntax.Apply(function, args):
            return (terms.OPERATION, function, *map(named_ref, args))
        case syntax.ObjectPattern(fields):
            return terms.OBJECT, tuple((key, named_ref(part)) for key, part in fields)
        case syntax.ListPattern(items, is_open):
            return terms.LIST, tuple(map(named_ref, items)), is_open
        case syntax.AnyOf(options):
            return terms.CHOICE, tuple(map(named_ref, options))
        case _:
            return terms.WILDCARD


# -- event types --------------------------------------------------------------------------------------


def compile_event_types(spec: syntax.Specification) -> Clauses:
    """The declarations of each event type, and those of ``any`` and ``none``."""
    clauses: dict[syntax.EventKey, tuple[Clause, ...]] = {("none", 0): ()}
    clauses["any", 0] = (Clause((), False, (_pattern(syntax.ObjectPattern(())),), None),)
    for declaration in spec.declarations:
        clauses[declaration.key] = (*clauses.get(declaration.key, ()), _clause(declaration))
    return _telling_fields_first(clauses)


def _clause(declaration: syntax.Declaration) -> Clause:
    options: list[Direct | Use] = [Use(use.name, tuple(map(named_ref, use.args))) for use in declaration.uses]
    if not isinstance(declaration.body, tuple):
        options += map(_pattern, patterns.alternatives(declaration.body))
    guard = None if declaration.guard is None else named_ref(declaration.guard)
    return Clause(declaration.params, declaration.negated, tuple(options), guard)


def _pattern(pattern: syntax.Pattern) -> Direct:
    names: list[str] = []

    def capture(ref: NamedRef) -> patterns.PatternTree:
        names.append(ref[1])
        return "capture", len(names) - 1

    return Direct(patterns.of_ref(named_ref(pattern), capture), tuple(names))


def _telling_fields_first(clauses: Clauses) -> Clauses:
    """The same patterns with their fields in an order that tells events apart soonest.

    A key under which the law names many different values, as `name`, comes before one with few, as `event`.
    """
    values: dict[str, set[str]] = {}
    for group in clauses.values():
        for clause in group:
            for option in clause.options:
                if isinstance(option, Direct) and option.tree[0] == "object":
                    for key, part in option.tree[1]:
                        if part[0] in ("literal", "choice"):
                            values.setdefault(key, set()).add(repr(part))

    def ordered(option: Direct | Use) -> Direct | Use:
        if isinstance(option, Use) or option.tree[0] != "object":
            return option
        order = {"literal": 0, "choice": 0, "object": 1, "list": 1}
        fields = sorted(option.tree[1], key=lambda field: (order.get(field[1][0], 2), -len(values.get(field[0], ()))))
        return Direct(("object", tuple(fields)), option.names)

    return {
        name: tuple(replace(clause, options=tuple(map(ordered, clause.options))) for clause in group)
        for name, group in clauses.items()
    }


# -- which equations grow ---------------------------------------------------------------------------


def _calls(equation: syntax.Equation) -> Iterator[tuple[str, bool]]:
    """The equations that one calls, and whether the call stands where terms grow."""
    pending: list[tuple[syntax.Expression, bool]] = [(equation.body, False)]
    while pending:
        node, growing = pending.pop()
        match node:
            case syntax.EquationCall(name):
                yield name, growing
            case syntax.Infix(syntax.CONCAT, left, right):
                pending += ((left, True), (right, growing))
            case syntax.Infix(syntax.OR) | syntax.Postfix(syntax.OPTIONAL) | syntax.Let() | syntax.If():
                pending += ((child, growing) for child in node.children)
            case _:
                pending += ((child, True) for child in node.children)


def growing_equations(spec: syntax.Specification) -> frozenset[str]:
    """The equations that lead to one that calls itself where terms grow, as in ``A | Main``."""
    calls = {equation.name: set(_calls(equation)) for equation in spec.equations}
    targets = {name: {callee for callee, _ in found} for name, found in calls.items()}
    reach = {name: reachable((name,), targets) for name in calls}
    cyclic = {
        caller for caller, found in calls.items() for callee, growing in found if growing and caller in reach[callee]
    }
    return frozenset(name for name in calls if reach[name] & cyclic)
