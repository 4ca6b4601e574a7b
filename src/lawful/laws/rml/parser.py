"""The parser of RML: recursive descent that goes on after an error to find the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from lawful.diagnostics import Diagnostic, LawSourceError, Source, quoted
from lawful.laws.rml import syntax
from lawful.laws.rml.data_parser import LITERALS, DataParser
from lawful.laws.rml.lexer import keyword_hint
from lawful.laws.rml.recursion import with_deep_recursion
from lawful.laws.rml.syntax import (
    EXPRESSION_LEVELS,
    AnyOf,
    Argument,
    Data,
    Declaration,
    Equation,
    EventUse,
    Expression,
    Name,
    Pattern,
    Specification,
)
from lawful.laws.rml.token_reader import MAX_NESTING, NUMBERS, SyntaxFailure

_POSTFIX = (syntax.STAR, syntax.PLUS, syntax.OPTIONAL, syntax.CLOSURE)
_STARTS_PRIMARY = frozenset(("LID", "UID", "(", "{", "empty", "all", "if"))

_EXPRESSION_HINTS = {
    "||": r"shuffle is `|`, union is `\/`",
    "&&": r"intersection is `/\`",
    "/": r"intersection is `/\`, union is `\/`",
    ",": "events follow each other without a comma",
    "->": "events follow each other without an arrow",
    "STRING": "name the event's type, declared with `name matches {...};`",
    "{": "in an expression braces open a `{let x; ...}` or a repetition `{3}`",
    "not": "an event type is negated in its declaration: `name not matches ...;`",
    "_": "the event type `any` matches every event",
}
"""What may have been meant by a token that does not fit into an expression."""
_END_HINTS = {
    ")": "there is no `(` for it",
    "}": "there is no `{` for it",
    ":": "`:` belongs to a filter, as in `event >> A : B`",
    ">>": "the left side of `>>` is an event type, as in `event >> A`",
    "else": "there is no `if` for it",
}


def parse(text: str, *, name: str = "<law>") -> Specification:
    """The syntax tree of a law. Raises a `LawSourceError` with every syntax error found."""
    specification, errors = with_deep_recursion(lambda: _Parser(text).specification())
    if errors:
        # By place; the sort is stable, so errors of one place keep their order.
        raise LawSourceError(sorted(errors, key=lambda each: each.span), Source(text, name))
    return specification


class _ExpressionParser(DataParser):
    """Reads trace expressions."""

    def expression(self) -> Expression:
        """A whole expression, by operator precedence with explicit stacks; spans include a group's parentheses."""
        self.descend()
        operands: list[tuple[Expression, int, int]] = []
        operators: list[str] = []

        def reduce() -> None:
            right, _, end = operands.pop()
            left, start, _ = operands.pop()
            operands.append((syntax.Infix(operators.pop(), left, right, span=(start, end)), start, end))

        while True:
            parts: list[tuple[Expression, int, int]] = []
            while True:
                start = self.token.start
                node = self.primary()
                levels = 0
                while (kind := self.kind) in _POSTFIX or (kind == "{" and self.peek() in NUMBERS):
                    levels += 1
                    if self.depth + levels > MAX_NESTING:
                        self.too_deep()
                    if kind == "{":
                        node = self.times(node, start)
                    else:
                        self.advance()
                        node = syntax.Postfix(kind, node, span=(start, self.last_end))
                parts.append((node, start, self.last_end))
                if self.kind not in _STARTS_PRIMARY or self.at in self.starts:
                    break
            node, start, end = parts.pop()
            while parts:
                left, start, _ = parts.pop()
                node = syntax.Infix(syntax.CONCAT, left, node, span=(start, end))
            operands.append((node, start, end))
            level = EXPRESSION_LEVELS.get(self.kind, 0)
            while operators and EXPRESSION_LEVELS[operators[-1]] >= level:
                reduce()
            if not level:
                self.depth -= 1
                return operands[0][0]
            operators.append(self.advance().kind)

    def times(self, body: Expression, start: int) -> Expression:
        self.advance()
        count = self.token
        if count.kind == "FLOAT":
            self.unexpected("a whole number", "a repetition is written `A{3}`")
        self.advance()
        self.expect(
            "}", hint="a repetition is written `A{3}`; for a range write `A{2} A?`" if self.kind == "," else None
        )
        assert isinstance(count.value, int)
        return syntax.Times(body, count.value, span=(start, self.last_end))

    def primary(self) -> Expression:
        token = self.token
        if self.at in self.starts:
            self.unexpected("an expression")
        match token.kind:
            case "LID":
                return self.event_or_filter()
            case "UID":
                return self.call()
            case "(":
                self.advance()
                inner = self.expression()
                self.expect(")", "an operator or `)`", _EXPRESSION_HINTS.get(self.kind))
                return inner
            case "empty" | "all":
                self.advance()
                return syntax.Empty(span=token.span) if token.kind == "empty" else syntax.All(span=token.span)
            case "{" if self.peek() in ("let", "var"):
                self.at += 2
                names = self.names("a variable", (";",))
                self.advance()
                body = self.expression()
                self.expect("}", "an operator or `}`", _EXPRESSION_HINTS.get(self.kind))
                return syntax.Let(names, body, span=(token.start, self.last_end))
            case "if":
                self.advance()
                self.expect("(", hint="write the condition in parentheses: `if (x > 0) A else B`")
                condition = self.data()
                self.expect(")", "an operator or `)`", "equality is `==`" if self.kind == "=" else None)
                then = self.expression()
                self.expect("else", "an operator or `else`", "write `else empty` if nothing should follow")
                otherwise = self.expression()
                return syntax.If(condition, then, otherwise, span=(token.start, self.last_end))
        self.no_expression()

    def call(self) -> Expression:
        """``G`` or ``G<x, y>``."""
        name = self.advance()
        args: tuple[Data, ...] = ()
        starts_value = ("-", *LITERALS)
        if self.accept("<"):
            args = self.separated(lambda: self.data(angle=True))
            hint = "put a comparison between `<...>` into parentheses"
            self.expect(">", "`,` or `>`", hint if self.kind == ">=" else None)
            if self.kind in starts_value:
                self.unexpected("an operator or `;`", hint)
        elif self.kind == "(" and self.peek() in starts_value:
            self.unexpected("an operator or `;`", "write the arguments of an equation in `<...>`")
        return syntax.EquationCall(name.text, args, span=(name.start, self.last_end))

    def no_expression(self) -> NoReturn:
        kind = self.kind
        hint = _EXPRESSION_HINTS.get(kind)
        if kind in ("let", "var"):
            hint = "variables are declared in braces: `{let x; ...}`"
        elif kind in _POSTFIX:
            hint = f"`{kind}` follows {'what it repeats' if kind in '*+' else 'its operand'}"
        elif kind in (")", ";"):
            hint = "the trace without events is `empty`"
        self.unexpected("an expression", hint)

    def event_or_filter(self) -> Expression:
        name = self.advance()
        args: tuple[Argument, ...] = ()
        if self.kind == "(":
            # `a (b \/ c)` is a concatenation and `p (x)` has an argument: only the whole parenthesis tells.
            before = self.at, self.depth, len(self.errors)
            try:
                args = self.arguments()
            except SyntaxFailure as failure:
                if self.abandoned is None or failure.offset > self.abandoned.offset:
                    self.abandoned = failure
                self.at, self.depth, errors = before
                del self.errors[errors:]
        use = EventUse(name.text, args, span=(name.start, self.last_end))
        if not self.accept(">>"):
            return syntax.Event(use, span=use.span)
        body = self.expression()
        otherwise = self.expression() if self.accept(":") else None
        return syntax.Filter(use, body, otherwise, span=(name.start, self.last_end))


class _Parser(_ExpressionParser):
    """Reads statements."""

    def specification(self) -> tuple[Specification, list[Diagnostic]]:
        declarations: list[Declaration] = []
        equations: list[Equation] = []
        while self.kind != "END":
            start = self.at
            self.depth = 0
            self.abandoned = None
            try:
                if self.kind == "UID" and self._looks_like_declaration():
                    self._wrong_case("an event type", "lower", str.lower)
                    self.declaration()
                elif self.kind == "UID":
                    equations.append(self.equation())
                elif self.kind == "LID" and self.peek() in ("=", "<"):
                    self._wrong_case("an equation", "upper", str.upper)
                    self.equation()
                elif self.kind == "LID":
                    declaration = self.declaration()
                    declarations.append(declaration)
                    if equations:
                        self.report(
                            "rml-declaration-order",
                            f"the event type `{declaration.name}` is declared after an equation",
                            declaration.name_span,
                            f"move it above the equation `{equations[0].name}`",
                        )
                else:
                    self.unexpected(
                        "a declaration `name matches ...;` or an equation `Name = ...;`",
                        "a statement ends with one `;`" if self.kind == ";" else None,
                    )
            except SyntaxFailure as failure:
                self._recover(failure, start)
        return Specification(tuple(declarations), tuple(equations)), self.errors

    def _wrong_case(self, what: str, case: str, change: Callable[[str], str]) -> None:
        name = self.token.text
        message = f"the name of {what} begins with a {case}-case letter, found {quoted(name)}"
        hint = f"did you mean `{change(name[0])}{name[1:]}`?"
        self.report("rml-syntax", message.replace(" a upper", " an upper"), self.token.span, hint)

    def _looks_like_declaration(self) -> bool:
        return self.peek() in ("matches", "not") or (self.peek() == "(" and self.at in self.starts)

    def _recover(self, failure: SyntaxFailure, start: int) -> None:
        """Report why a statement could not be read, and skip to where the next one begins."""
        abandoned = self.abandoned
        if failure.diagnostic and abandoned and abandoned.diagnostic:
            # Of two that got equally far take the one with more to say, as for `a ()`.
            further = (abandoned.offset, abandoned.diagnostic.hint is not None) > (failure.offset, False)
            failure = abandoned if further else failure
        if failure.diagnostic:
            self.errors.append(failure.diagnostic)
        if self.at <= start and self.tokens[start].kind != "END":
            self.at = start + 1
            if self.tokens[start].kind == ";":
                return
        kinds = [token.kind for token in self.tokens[start : self.at]]
        depth = kinds.count("{") - kinds.count("}")
        while self.kind != "END" and self.at not in self.starts:
            kind = self.advance().kind
            depth += (kind == "{") - (kind == "}")
            if kind == ";" and depth <= 0:
                return

    def equation(self) -> Equation:
        name = self.advance()
        params: tuple[str, ...] = ()
        if self.accept("<"):
            params = self.names("a parameter", (">", ">="))
            # Longest match reads the end of `G<x>=` as one token.
            if not self.accept(">="):
                self.expect(">", "`,` or `>`")
                self.expect("=")
        else:
            hint = "write the parameters of an equation in `<...>`" if self.kind == "(" else None
            if self.kind == "==":
                hint = "an equation has a single `=`"
            self.expect("=", hint=hint)
        body = self.expression()
        end = self.end_of_statement()
        return Equation(name.text, params, body, span=(name.start, end))

    def end_of_statement(self) -> int:
        if self.kind != ";":
            hint = _END_HINTS.get(self.kind, _EXPRESSION_HINTS.get(self.kind))
            self.unexpected("`;`", hint)
        return self.advance().end

    def declaration(self) -> Declaration:
        name = self.token
        head = self.event_use()
        negated = self.accept("not")
        if self.kind != "matches":
            close = keyword_hint(self.token)
            if self.kind == "=":
                close = (
                    "an event type is declared with `matches`; the name of an equation begins with an upper-case letter"
                )
            self.unexpected("`matches`" if negated else "`matches` or `not matches`", close)
        self.advance()
        params = self.head_parameters(head)
        body: Pattern | tuple[EventUse, ...]
        if self.kind == "LID":
            body = self.event_types()
        else:
            body = self.pattern(top=True)
            options = body.options if isinstance(body, AnyOf) else (body,)
            for option in options:
                if isinstance(option, Name) and option.name not in params:
                    self.mixed_body(option.span)
        guard = self.data() if self.accept("with") else None
        if guard is None and self.kind == "if":
            self.unexpected("`with` or `;`", "a condition on an event follows `with`")
        if self.kind != ";":
            hint = _EXPRESSION_HINTS.get(self.kind)
            wanted = "an operator or `;`" if guard is not None else "`|`, `with` or `;`"
            if self.kind in ("\\/", "/\\"):
                hint = "alternatives in a declaration are written with `|`"
            elif self.kind in ("LID", "{") and guard is None:
                hint = "a declaration describes one event; sequences are written in equations, `Name = ...;`"
            self.unexpected(wanted, hint)
        return Declaration(name.text, params, negated, body, guard, span=(name.start, self.advance().end))

    def head_parameters(self, head: EventUse) -> tuple[str, ...]:
        params: list[str] = []
        for argument in head.args:
            if not isinstance(argument, Name):
                what = quoted(self.text[argument.span[0] : argument.span[1]])
                self.report(
                    "rml-head-parameter",
                    f"a parameter of a declaration is a plain variable, found {what}",
                    argument.span,
                    "put the value into the pattern, or compare a variable with it after `with`",
                )
                continue
            if argument.name in params:
                self.report("rml-duplicate-name", f"`{argument.name}` is declared twice", argument.span)
            params.append(argument.name)
        return tuple(params)

    def event_types(self) -> tuple[EventUse, ...]:
        uses: list[EventUse] = []
        while True:
            if self.kind in ("{", "[", "(", "_", "-", *LITERALS):
                self.mixed_body(self.token.span)
            if self.kind != "LID":
                self.unexpected("an event type")
            uses.append(self.event_use())
            if not self.accept("|"):
                return tuple(uses)
