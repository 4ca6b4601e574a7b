"""Warnings about likely mistakes in a law without errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from lawful.diagnostics import Diagnostic, Span, did_you_mean, quoted
from lawful.laws.rml import syntax
from lawful.laws.rml.checker import MAIN, arguments, find_errors
from lawful.laws.rml.compiler import named_ref
from lawful.laws.rml.equations import (
    call_graph,
    computed,
    conditions,
    declared,
    derivations,
    free_variables,
    own_arguments,
    own_variables,
    pattern_variables,
    postorder,
    reachable,
    scoped,
    uses,
    values,
)
from lawful.laws.rml.lexer import tokenize
from lawful.laws.rml.overlap_warnings import overlap_warnings
from lawful.laws.rml.printer import format_data
from lawful.laws.rml.recursion import with_deep_recursion
from lawful.laws.rml.syntax import Data, Equation, EquationCall, Expression, Let, Name, Specification
from lawful.laws.rml.terms import operand
from lawful.laws.rml.values import NoValue, evaluate

_COMMENT = re.compile(r"//[^\r\n]*")
_MIXED = ({"*", "/"}, {"+", "-"})


def check(specification: Specification, text: str, *, name: str = "<law>") -> list[Diagnostic]:
    """The warnings about a law, by place. Raises a `LawSourceError` with every error found."""
    find_errors(specification, text, name=name)
    found = chain(overlap_warnings(specification), _WarningFinder(specification, text).warnings())
    return sorted(found, key=lambda each: each.span)


def _warning(slug: str, message: str, span: Span, hint: str | None = None, *notes: tuple[Span, str]) -> Diagnostic:
    return Diagnostic("warning", slug, message, span, hint, notes)


class _WarningFinder:
    def __init__(self, specification: Specification, text: str) -> None:
        self.specification = specification
        self.text = text

    def warnings(self) -> Iterator[Diagnostic]:
        yield from self._precedence_warnings()
        yield from self._declaration_warnings()
        yield from self._unused_warnings()
        yield from self._variable_warnings()

    def _precedence_warnings(self) -> Iterator[Diagnostic]:
        for root in conditions(self.specification):
            for node in values(root):
                if not isinstance(node, syntax.Binary):
                    continue
                # Parentheses leave no trace in the tree; around an operand they stand next to the operator.
                between = _COMMENT.sub("", self.text[node.left.span[1] : node.right.span[0]])
                for child, bracket in ((node.left, ")"), (node.right, "(")):
                    if not isinstance(child, syntax.Binary) or bracket in between or child.op == node.op:
                        continue
                    if any({node.op, child.op} == mixed for mixed in _MIXED):
                        yield self._precedence_warning(node, child)

    def _precedence_warning(self, node: syntax.Binary, child: syntax.Binary) -> Diagnostic:
        group = f"({self._shown(child)})"
        if child is node.left:
            read = f"{group} {node.op} {self._shown(node.right)}"
        else:
            read = f"{self._shown(node.left)} {node.op} {group}"
        message = f"`{child.op}` binds tighter than `{node.op}`: this is read as {quoted(read)}"
        return _warning("rml-precedence", message, node.span, "write the parentheses you mean")

    def _shown(self, data: Data) -> str:
        shown = format_data(data)
        return shown if len(shown) <= 20 else "..."

    def _declaration_warnings(self) -> Iterator[Diagnostic]:
        for declaration in self.specification.declarations:
            used = (arg for use in declaration.uses for arg in use.args)
            bound = pattern_variables(*used if isinstance(declaration.body, tuple) else (declaration.body,))
            in_guard = pattern_variables(declaration.guard) if declaration.guard is not None else frozenset()
            for param in declaration.params:
                if param not in bound | in_guard:
                    message = f"the parameter `{param}` does not occur in the declaration"
                    hint = "whatever is given for it, the same events match"
                    yield _warning("rml-unused-variable", message, self._binder(declaration.span, param), hint)
            if declaration.guard is None:
                continue
            reported: set[str] = set()
            candidates = sorted(bound.union(declaration.params))
            for value in values(declaration.guard):
                if isinstance(value, Name) and value.name not in {*candidates, *reported}:
                    reported.add(value.name)
                    close = did_you_mean(value.name, candidates)
                    hint = f"did you mean `{close}`?" if close else "bind it in the pattern, or make it a parameter"
                    message = f"`{value.name}` has no value here: neither the body nor the parameters bind it"
                    yield _warning("rml-unbound-guard", message, value.span, hint)
            if not in_guard and not _holds(declaration.guard):
                message = f"`{declaration.name}` never matches: {quoted(format_data(declaration.guard))} does not hold"
                yield _warning("rml-never-matches", message, declaration.guard.span)

    def _unused_warnings(self) -> Iterator[Diagnostic]:
        reached = reachable((use.key for use in uses(*self.specification.bodies)), derivations(self.specification))
        for key, declarations in declared(self.specification).items():
            if key not in reached:
                message = f"the event type `{key[0]}` with {arguments(key[1])} is never used"
                yield _warning("rml-unused", message, declarations[0].name_span)
        called = reachable((MAIN,), call_graph(self.specification))
        for equation in self.specification.equations:
            if equation.name not in called:
                message = f"the equation `{equation.name}` is never used: `{MAIN}` does not lead to it"
                yield _warning("rml-unused", message, equation.name_span)

    def _variable_warnings(self) -> Iterator[Diagnostic]:
        free = free_variables(self.specification)
        captures = self._captures(free)
        for equation in self.specification.equations:
            params = frozenset(equation.params)
            used = _used_variables(equation.body, free)
            for param in equation.params:
                if param not in used[id(equation.body)]:
                    place = self._binder(equation.span, param)
                    yield _warning(
                        "rml-unused-variable", f"the parameter `{param}` of `{equation.name}` is never used", place
                    )
            reported: set[str] = set()
            for node, scope in scoped(equation.body, params):
                if isinstance(node, Let):
                    yield from self._let_warnings(node, scope, params, used)
                for variable in own_variables(node):
                    if variable.name not in scope and variable.name not in reported:
                        reported.add(variable.name)
                        capture = captures.get((equation.name, variable.name))
                        yield self._free_warning(equation, node, variable, capture, sorted(scope))

    def _let_warnings(
        self, let: Let, scope: frozenset[str], params: frozenset[str], used: dict[int, frozenset[str]]
    ) -> Iterator[Diagnostic]:
        for name in let.names:
            place = self._binder((let.span[0], let.body.span[0]), name)
            if name not in used[id(let.body)]:
                yield _warning("rml-unused-variable", f"the variable `{name}` is never used", place)
            elif name in scope:
                what = "the parameter" if name in params else "the outer variable"
                yield _warning(
                    "rml-shadow", f"`{name}` hides {what} of the same name", place, "give one of them another name"
                )

    def _free_warning(
        self, equation: Equation, node: Expression, variable: Name, capture: tuple[Span, str] | None, scope: list[str]
    ) -> Diagnostic:
        name = variable.name
        if capture is not None:
            params = ", ".join((*equation.params, name))
            return _warning(
                "rml-captured-variable",
                f"`{name}` is not declared in `{equation.name}`: it takes its caller's value",
                variable.span,
                f"make it a parameter: `{equation.name}<{params}>`",
                capture,
            )
        in_data = not isinstance(node, syntax.Event | syntax.Filter) or any(
            variable is value for value in values(*computed(own_arguments(node)))
        )
        close = did_you_mean(name, scope)
        if in_data:
            message = f"`{name}` is not declared and has no value here"
            hint = f"declare it: `{{let {name}; ...}}`"
        else:
            message = f"`{name}` is not declared: it stands for any value, at each place another"
            hint = f"write `_` to match any value, or declare it: `{{let {name}; ...}}`"
        return _warning(
            "rml-undeclared-variable", message, variable.span, f"did you mean `{close}`?" if close else hint
        )

    def _captures(self, free: dict[str, frozenset[str]]) -> dict[tuple[str, str], tuple[Span, str]]:
        """For each free variable of an equation, where a caller binds it."""
        found: dict[tuple[str, str], tuple[Span, str]] = {}
        passed: dict[tuple[str, str], list[tuple[str, str]]] = {}
        for equation in self.specification.equations:
            for node, scope in scoped(equation.body, frozenset(equation.params)):
                if not isinstance(node, EquationCall):
                    continue
                for name in free[node.name]:
                    if name in scope:
                        note = (node.span, f"`{equation.name}`, which declares `{name}`, calls `{node.name}` here")
                        found.setdefault((node.name, name), note)
                    else:
                        passed.setdefault((equation.name, name), []).append((node.name, name))
        pending = list(found)
        while pending:
            key = pending.pop()
            for inner in passed.get(key, ()):
                if inner not in found:
                    found[inner] = found[key]
                    pending.append(inner)
        return found

    def _binder(self, span: Span, name: str) -> Span:
        """Where a name is declared: the tree keeps the name only, so look for it in the text."""
        tokens, _ = tokenize(self.text[span[0] : span[1]])
        for token in tokens[1:]:
            if token.kind == "LID" and token.text == name:
                return span[0] + token.start, span[0] + token.end
        return span


def _used_variables(root: Expression, free: dict[str, frozenset[str]]) -> dict[int, frozenset[str]]:
    """For each expression, by its id: the variables used in it, those of called equations included."""
    found: dict[int, frozenset[str]] = {}
    for node in postorder(root):
        names = frozenset(variable.name for variable in own_variables(node))
        names = names.union(*(found[id(child)] for child in node.children))
        if isinstance(node, EquationCall):
            names |= free[node.name]
        elif isinstance(node, Let):
            names -= set(node.names)
        found[id(node)] = names
    return found


def _holds(guard: Data) -> bool:
    """Does a condition without variables hold?"""
    try:
        return with_deep_recursion(lambda: evaluate(operand(named_ref(guard)), lambda part: part[1])) is True
    except NoValue:
        return False
