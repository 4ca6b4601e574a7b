"""What the grammar cannot say about a law: undefined names, endless recursion, and warnings about likely mistakes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lawful.diagnostics import Diagnostic, LawSourceError, Source, Span, did_you_mean, quoted
from lawful.laws.rml.compiler import named_ref
from lawful.laws.rml.equations import (
    Cycle,
    calls_before_events,
    children,
    conditions,
    declared,
    find_cycles,
    free_variables,
    own_arguments,
    own_variables,
    pattern_variables,
    preorder,
    scoped,
    uses,
    values,
)
from lawful.laws.rml.lexer import tokenize
from lawful.laws.rml.printer import format_data
from lawful.laws.rml.recursion import with_deep_recursion
from lawful.laws.rml.syntax import (
    AnyOf,
    Apply,
    Binary,
    Data,
    Declaration,
    Equation,
    EquationCall,
    Event,
    EventUse,
    Expression,
    Filter,
    Let,
    Name,
    Specification,
    Unary,
)
from lawful.laws.rml.terms import operand
from lawful.laws.rml.values import NoValue, evaluate

MAIN = "Main"
PREDEFINED = frozenset((("any", 0), ("none", 0)))

_COMMENT = re.compile(r"//[^\r\n]*")
_MIXED = ({"*", "/"}, {"+", "-"})


def check(specification: Specification, text: str, *, name: str = "<law>") -> list[Diagnostic]:
    """The warnings about a law, by place. Raises a `LawSourceError` with every error found."""
    find_errors(specification, text, name=name)
    return sorted(_Checker(specification, text).warnings(), key=lambda each: each.span)


def find_errors(specification: Specification, text: str, *, name: str = "<law>") -> None:
    """Raises a `LawSourceError` with every error in a law."""
    checker = _Checker(specification, text)
    errors = [*checker.equation_errors(), *checker.event_errors()]
    if not errors:
        errors += checker.recursion_errors()
    if errors:
        raise LawSourceError(sorted(errors, key=lambda each: each.span), Source(text, name))


def _error(slug: str, message: str, span: Span, hint: str | None = None, *notes: tuple[Span, str]) -> Diagnostic:
    return Diagnostic("error", slug, message, span, hint, notes)


def _warning(slug: str, message: str, span: Span, hint: str | None = None, *notes: tuple[Span, str]) -> Diagnostic:
    return Diagnostic("warning", slug, message, span, hint, notes)


def _arguments(count: int) -> str:
    return "no arguments" if not count else "1 argument" if count == 1 else f"{count} arguments"


def _listed(counts: Iterable[int]) -> str:
    ordered = sorted(set(counts))
    words = [str(count) if count else "no" for count in ordered]
    many = "" if ordered == [1] else "s"
    return f"{' or '.join([', '.join(words[:-1]), words[-1]] if len(words) > 1 else words)} argument{many}"


def _name_span(node: Equation | Declaration) -> Span:
    return node.span[0], node.span[0] + len(node.name)


class _Checker:
    def __init__(self, specification: Specification, text: str) -> None:
        self.specification = specification
        self.text = text
        self.declared = declared(specification)
        self.equations: dict[str, Equation] = {}
        for equation in specification.equations:
            self.equations.setdefault(equation.name, equation)

    # -- errors -----------------------------------------------------------------------------------

    def equation_errors(self) -> Iterator[Diagnostic]:
        main = self.equations.get(MAIN)
        if main is None:
            close = did_you_mean(MAIN, self.equations)
            end = len(self.text.rstrip())
            place = _name_span(self.equations[close]) if close else (end, end)
            hint = f"rename `{close}`?" if close else f"a law begins with the equation `{MAIN} = ...;`"
            yield _error("rml-no-main", f"there is no equation `{MAIN}`", place, hint)
        elif main.params:
            hint = f"call the equation by another name, and give its arguments in `{MAIN} = Name<...>;`"
            yield _error("rml-main-parameters", f"`{MAIN}` has no parameters", _name_span(main), hint)
        for equation in self.specification.equations:
            first = self.equations[equation.name]
            if first is not equation:
                yield _error(
                    "rml-duplicate-equation",
                    f"there are two equations for `{equation.name}`",
                    _name_span(equation),
                    r"choose between two expressions with `\/`",
                    (_name_span(first), "the other one is here"),
                )
            for node in preorder(equation.body):
                if isinstance(node, EquationCall):
                    yield from self._call_errors(node)

    def _call_errors(self, call: EquationCall) -> Iterator[Diagnostic]:
        equation = self.equations.get(call.name)
        if equation is None:
            close = did_you_mean(call.name, self.equations)
            hint = f"did you mean `{close}`?" if close else None
            if hint is None and any(call.name.lower() == name.lower() for name, _ in self.declared):
                hint = f"did you mean the event type `{call.name.lower()}`?"
            yield _error("rml-undefined-equation", f"there is no equation `{call.name}`", call.span, hint)
        elif len(call.args) != len(equation.params):
            params = f"<{', '.join(equation.params)}>" if equation.params else ""
            yield _error(
                "rml-equation-arity",
                f"`{call.name}` takes {_arguments(len(equation.params))}, found {len(call.args) or 'none'}",
                call.span,
                f"write `{call.name}{params}`",
                (_name_span(equation), "its parameters are here"),
            )

    def event_errors(self) -> Iterator[Diagnostic]:
        for declaration in self.specification.declarations:
            if (declaration.name, len(declaration.params)) in PREDEFINED:
                what = "matches every event" if declaration.name == "any" else "matches no event"
                yield _error(
                    "rml-predefined-event",
                    f"`{declaration.name}` is predefined: it {what}",
                    _name_span(declaration),
                    "take another name",
                )
            if isinstance(declaration.body, tuple):
                for use in declaration.body:
                    yield from self._use_errors(use, in_equation=False)
        for use in uses(self.specification):
            yield from self._use_errors(use, in_equation=True)
        graph: dict[str, dict[str, EquationCall | EventUse]] = {}
        for (name, arity), declarations in self.declared.items():
            edges = graph.setdefault(f"{name}/{arity}", {})
            for declaration in declarations:
                for use in declaration.body if isinstance(declaration.body, tuple) else ():
                    edges.setdefault(f"{use.name}/{len(use.args)}", use)
        for cycle in find_cycles(graph):
            shown = Cycle(tuple(each.rpartition("/")[0] for each in cycle.names), cycle.steps)
            yield self._cycle_error(
                shown,
                "rml-cyclic-event",
                "the event type `{}` is declared in terms of itself",
                "an event type must come down to patterns such as `{name: 'open'}` in the end",
            )

    def _use_errors(self, use: EventUse, *, in_equation: bool) -> Iterator[Diagnostic]:
        key = (use.name, len(use.args))
        known = self.declared.keys() | PREDEFINED
        if key in known:
            for arg in use.args:
                for value in values(arg):
                    if isinstance(value, AnyOf):
                        hint = "declare an event type for each alternative"
                        if in_equation and (use.name, 0) in known:
                            hint = f"if `{use.name}` is followed by a group, write {self._as_group(use)}"
                        yield _error("rml-argument-alternatives", "an argument has no alternatives", value.span, hint)
                        break
            return
        arities = [arity for name, arity in known if name == use.name]
        found = _arguments(len(use.args))
        if not arities:
            close = did_you_mean(use.name, (name for name, _ in known))
            hint = f"did you mean `{close}`?" if close else f"declare it: `{self._sketch(use)} matches {{...}};`"
            yield _error("rml-undeclared-event", f"no event type `{use.name}` with {found}", use.span, hint)
            return
        hint = ""
        if in_equation and 0 in arities and len(use.args) == 1:
            hint = f"if `{use.name}` is followed by a group, write {self._as_group(use)}"
        notes = [
            (_name_span(each), "declared here") for each in self.specification.declarations if each.name == use.name
        ]
        message = f"the event type `{use.name}` takes {_listed(arities)}, found {len(use.args) or 'none'}"
        yield _error("rml-event-arity", message, use.span, hint or None, *notes[:1])

    def _as_group(self, use: EventUse) -> str:
        return quoted(f"({use.name}) ({', '.join(map(format_data, use.args))})")

    def _sketch(self, use: EventUse) -> str:
        names = [arg.name if isinstance(arg, Name) else f"x{index}" for index, arg in enumerate(use.args, 1)]
        return use.name + (f"({', '.join(names)})" if names else "")

    def recursion_errors(self) -> Iterator[Diagnostic]:
        for cycle in find_cycles(calls_before_events(self.specification)):
            yield self._cycle_error(
                cycle,
                "rml-not-contractive",
                "the equation `{}` calls itself before any event has happened",
                "put something that cannot be empty in front of the call: `event Name`; `event? Name` or `event* Name` "
                "will not do",
            )

    def _cycle_error(self, cycle: Cycle, slug: str, message: str, hint: str) -> Diagnostic:
        names = [*cycle.names, cycle.names[0]]
        if len(names) > 8:
            names = [*names[:4], "...", *names[-3:]]
        message = message.format(cycle.names[0])
        if len(cycle.names) > 1:
            message += f": {' -> '.join(names)}"
        notes = [
            (step.span, f"`{name}` leads on to `{step.name}`")
            for name, step in zip(cycle.names[1:], cycle.steps[1:], strict=True)
        ]
        return _error(slug, message, cycle.steps[0].span, hint, *notes[:7])

    # -- warnings ---------------------------------------------------------------------------------

    def warnings(self) -> Iterator[Diagnostic]:
        from lawful.laws.rml.overlap_warnings import overlap_warnings  # who runs a law does not ask for it

        yield from overlap_warnings(self.specification)
        yield from self._precedence_warnings()
        yield from self._declaration_warnings()
        yield from self._unused_warnings()
        yield from self._variable_warnings()

    def _precedence_warnings(self) -> Iterator[Diagnostic]:
        for root in conditions(self.specification):
            for node in values(root):
                if not isinstance(node, Binary):
                    continue
                # Parentheses leave no trace in the tree; around an operand they stand next to the operator.
                between = _COMMENT.sub("", self.text[node.left.span[1] : node.right.span[0]])
                for child, bracket in ((node.left, ")"), (node.right, "(")):
                    if not isinstance(child, Binary) or bracket in between or child.op == node.op:
                        continue
                    if any({node.op, child.op} == mixed for mixed in _MIXED):
                        yield self._precedence_warning(node, child)

    def _precedence_warning(self, node: Binary, child: Binary) -> Diagnostic:
        group = f"({self._shown(child)})"
        if child is node.left:
            read = f"{group} {node.op} {self._shown(node.right)}"
        else:
            read = f"{self._shown(node.left)} {node.op} {group}"
        return _warning(
            "rml-precedence",
            f"`{child.op}` binds tighter than `{node.op}`: this is read as {quoted(read)}",
            node.span,
            "write the parentheses you mean",
        )

    def _shown(self, data: Data) -> str:
        shown = format_data(data)
        return shown if len(shown) <= 20 else "..."

    def _declaration_warnings(self) -> Iterator[Diagnostic]:
        for declaration in self.specification.declarations:
            body = declaration.body
            bound = pattern_variables(
                *(arg for use in body for arg in use.args) if isinstance(body, tuple) else (body,)
            )
            in_guard = pattern_variables(declaration.guard) if declaration.guard is not None else frozenset()
            for param in declaration.params:
                if param not in bound | in_guard:
                    yield _warning(
                        "rml-unused-variable",
                        f"the parameter `{param}` does not occur in the declaration",
                        self._binder(declaration.span, param),
                        "whatever is given for it, the same events match",
                    )
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
            if not any(isinstance(value, Name) for value in values(declaration.guard)) and not _holds(
                declaration.guard
            ):
                message = f"`{declaration.name}` never matches: {quoted(format_data(declaration.guard))} does not hold"
                yield _warning("rml-never-matches", message, declaration.guard.span)

    def _unused_warnings(self) -> Iterator[Diagnostic]:
        reached: set[tuple[str, int]] = set()
        pending = [(use.name, len(use.args)) for use in uses(self.specification)]
        while pending:
            key = pending.pop()
            if key in reached:
                continue
            reached.add(key)
            for declaration in self.declared.get(key, ()):
                if isinstance(declaration.body, tuple):
                    pending.extend((use.name, len(use.args)) for use in declaration.body)
        for key, declarations in self.declared.items():
            if key not in reached:
                message = f"the event type `{key[0]}` with {_arguments(key[1])} is never used"
                yield _warning("rml-unused", message, _name_span(declarations[0]))
        called = self._reachable()
        for equation in self.specification.equations:
            if equation.name not in called:
                message = f"the equation `{equation.name}` is never used: `{MAIN}` does not lead to it"
                yield _warning("rml-unused", message, _name_span(equation))

    def _reachable(self) -> set[str]:
        reached: set[str] = set()
        pending = [MAIN]
        while pending:
            name = pending.pop()
            if name not in reached:
                reached.add(name)
                pending.extend(
                    node.name for node in preorder(self.equations[name].body) if isinstance(node, EquationCall)
                )
        return reached

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
        computed = not isinstance(node, Event | Filter) or any(
            variable is value
            for arg in own_arguments(node)
            if isinstance(arg, Unary | Binary | Apply)
            for value in values(arg)
        )
        close = did_you_mean(name, scope)
        if computed:
            message = f"`{name}` is not declared and has no value here"
            hint = f"declare it: `{{let {name}; ...}}`"
        else:
            message = f"`{name}` is not declared: it stands for any value, at each place another"
            hint = f"write `_` if that is meant, or declare it: `{{let {name}; ...}}`"
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
    """For the whole tree and the body of each ``let``: the variables used in it, those of called equations included."""
    found: dict[int, set[str]] = {id(root): set()}
    result: dict[int, frozenset[str]] = {}
    # Each expression with the scopes around it, innermost last: a use counts up to the scope that declares the name.
    stack: list[tuple[Expression, tuple[tuple[int, frozenset[str]], ...]]] = [(root, ((id(root), frozenset()),))]
    while stack:
        node, scopes = stack.pop()
        names = {variable.name for variable in own_variables(node)}
        if isinstance(node, EquationCall):
            names |= free[node.name]
        for scope, declared_there in reversed(scopes):
            if not names:
                break
            found[scope] |= names
            names = names - declared_there
        if isinstance(node, Let):
            found.setdefault(id(node.body), set())
            scopes = (*scopes, (id(node.body), frozenset(node.names)))
        stack.extend((child, scopes) for child in children(node))
    for key, names in found.items():
        result[key] = frozenset(names)
    return result


def _holds(guard: Data) -> bool:
    """Does a condition without variables hold?"""
    try:
        return with_deep_recursion(lambda: evaluate(operand(named_ref(guard)), lambda part: part[1])) is True
    except NoValue:
        return False
