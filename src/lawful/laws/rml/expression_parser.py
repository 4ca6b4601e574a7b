"""Trace expressions in the text of a law."""

from __future__ import annotations

from typing import NoReturn

from lawful.laws.rml import syntax
from lawful.laws.rml.data_parser import LITERALS, DataParser
from lawful.laws.rml.syntax import EXPRESSION_LEVELS, Argument, Data, EventUse, Expression
from lawful.laws.rml.token_reader import MAX_NESTING, NUMBERS, SyntaxFailure

_POSTFIX = (syntax.STAR, syntax.PLUS, syntax.OPTIONAL, syntax.CLOSURE)
_STARTS_PRIMARY = frozenset(("LID", "UID", "(", "{", "empty", "all", "if"))

EXPRESSION_HINTS = {
    "||": r"shuffle is `|`, union is `\/`",
    "&&": r"intersection is `/\`",
    "/": r"intersection is `/\`, union is `\/`",
    ",": "events follow each other without a comma",
    "->": "events follow each other without an arrow",
    "STRING": "an event is named by its event type, declared with `name matches {...};`",
    "{": "in an expression braces open a `{let x; ...}` or a repetition `{3}`",
    "not": "an event type is negated in its declaration: `name not matches ...;`",
    "_": "the event type `any` matches every event",
}
"""What may have been meant by a token that does not fit into an expression."""


class ExpressionParser(DataParser):
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
                self.expect(")", "an operator or `)`", EXPRESSION_HINTS.get(self.kind))
                return inner
            case "empty" | "all":
                self.advance()
                return syntax.Empty(span=token.span) if token.kind == "empty" else syntax.All(span=token.span)
            case "{" if self.peek() in ("let", "var"):
                self.at += 2
                names = self.names("a variable", (";",))
                self.advance()
                body = self.expression()
                self.expect("}", "an operator or `}`", EXPRESSION_HINTS.get(self.kind))
                return syntax.Let(names, body, span=(token.start, self.last_end))
            case "if":
                self.advance()
                self.expect("(", hint="a condition stands in parentheses: `if (x > 0) A else B`")
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
            self.unexpected("an operator or `;`", "arguments of an equation stand in `<...>`")
        return syntax.EquationCall(name.text, args, span=(name.start, self.last_end))

    def no_expression(self) -> NoReturn:
        kind = self.kind
        hint = EXPRESSION_HINTS.get(kind)
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
