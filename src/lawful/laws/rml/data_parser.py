"""Data in the text of a law: patterns of events, computed values, and arguments, which may be either."""

from __future__ import annotations

from typing import NoReturn

from lawful.diagnostics import Span, quoted
from lawful.laws.rml.lexer import CONSTANTS, KEYWORDS, Token
from lawful.laws.rml.syntax import (
    DATA_LEVELS,
    FUNCTIONS,
    AnyOf,
    Apply,
    Argument,
    Binary,
    Data,
    EventUse,
    ListPattern,
    Literal,
    Name,
    ObjectPattern,
    Pattern,
    Unary,
    Wildcard,
)
from lawful.laws.rml.token_reader import MAX_NESTING, NUMBERS, TokenReader

LITERALS = (*NUMBERS, "STRING", *CONSTANTS)
"""The kinds of tokens that are values."""


class DataParser(TokenReader):
    """Reads patterns, data expressions and arguments."""

    # -- patterns ---------------------------------------------------------------------------------

    def pattern(self, *, top: bool = False) -> Pattern:
        """``p | q``; at the top of a declaration a variable was meant to be an event type."""
        self.descend()
        start = self.token.start
        options: list[Pattern] = []
        while not options or self.accept("|"):
            if top and options and self.kind == "LID" and self.peek() == "(":
                self.mixed_body(self.token.span)
            options.append(self.pattern_primary())
            if self.kind in DATA_LEVELS and self.kind not in ("||", "<"):
                self.unexpected(
                    "the end of the pattern",
                    "a pattern cannot compute: bind a variable, and compare it after `with`",
                )
        self.depth -= 1
        return options[0] if len(options) == 1 else AnyOf(tuple(options), span=(start, self.last_end))

    def pattern_primary(self) -> Pattern:
        token = self.token
        match token.kind:
            case "{":
                return self.object_pattern()
            case "[":
                return self.list_pattern()
            case "(":
                self.advance()
                found = self.pattern()
                self.expect(")", "`|` or `)`")
                return found
            case "_":
                self.advance()
                return Wildcard(span=token.span)
            case "LID":
                self.advance()
                return Name(token.text, span=token.span)
            case "-" if self.peek() in NUMBERS:
                self.advance()
                return self.negative(token, self.advance())
        if token.kind in LITERALS:
            self.advance()
            return Literal(token.value, span=token.span)
        hint = "names of variables begin with a lower-case letter" if token.kind == "UID" else None
        self.unexpected("a pattern", hint)

    def negative(self, minus: Token, number: Token) -> Literal:
        value = number.value
        assert isinstance(value, int | float)
        return Literal(-value, span=(minus.start, number.end))

    def object_pattern(self) -> ObjectPattern:
        start = self.advance().start
        fields: dict[str, Pattern] = {}
        while not self.accept("}"):
            if fields:
                self.expect(",", "`,` or `}`")
            if self.kind == "...":
                self.unexpected("a key", "an object may always have more keys: leave the dots out" if fields else None)
            key = self.token
            if key.kind not in ("LID", "UID", "STRING") and key.kind not in KEYWORDS:
                hint = "quote a key that is not a name: `'a key': ...`" if key.kind in NUMBERS else None
                self.unexpected("a key", hint)
            self.advance()
            text = str(key.value) if key.kind == "STRING" else key.text
            self.expect(":", hint="an object pattern is `{key: pattern, ...}`")
            value = self.pattern()
            if text in fields:
                self.report("rml-duplicate-key", f"the key {quoted(text)} occurs twice", key.span)
            fields[text] = value
        return ObjectPattern(tuple(fields.items()), span=(start, self.last_end))

    def list_pattern(self) -> ListPattern:
        start = self.advance().start
        items: list[Pattern] = []
        is_open = False
        while not self.accept("]"):
            if items:
                self.expect(",", "`,` or `]`", "write `, ...`" if self.kind == "..." else None)
            if self.accept("..."):
                is_open = True
                self.expect("]", hint="`...` is the last item of a list")
                break
            items.append(self.pattern())
        return ListPattern(tuple(items), is_open, span=(start, self.last_end))

    def mixed_body(self, span: Span) -> NoReturn:
        self.fail(
            "rml-mixed-body",
            "a declaration has either event types or patterns as its alternatives, not both",
            span,
            "write two declarations of this event type, one with the event types and one with the patterns",
        )

    # -- arguments --------------------------------------------------------------------------------

    def event_use(self) -> EventUse:
        """An event type where a parenthesis can only be its arguments."""
        name = self.advance()
        args = self.arguments() if self.kind == "(" else ()
        return EventUse(name.text, args, span=(name.start, self.last_end))

    def arguments(self) -> tuple[Argument, ...]:
        self.advance()
        if self.kind == ")":
            self.unexpected("an argument", "an event type without arguments is written without parentheses")
        args = self.separated(self.argument)
        self.expect(")", "`,` or `)`")
        return args

    def argument(self) -> Argument:
        """``p | q``, or a data expression."""
        start = self.token.start
        first = self.operation(argument=True)
        if self.kind != "|":
            return first
        options: list[Pattern] = []
        option = first
        while True:
            if isinstance(option, Unary | Binary | Apply):
                self.fail("rml-syntax", "alternatives are patterns, and this is a computed value", option.span)
            options.append(option)
            if not self.accept("|"):
                return AnyOf(tuple(options), span=(start, self.last_end))
            option = self.operation(argument=True)

    # -- data expressions -------------------------------------------------------------------------

    def data(self, *, angle: bool = False) -> Data:
        """A data expression; between the angle brackets of a call ``>`` closes them and never compares."""
        return self.computable(self.operation(angle=angle))

    def operation(self, *, argument: bool = False, angle: bool = False) -> Argument:
        """A data expression, by operator precedence with explicit stacks. As an argument it may be a pattern."""
        self.descend()
        operands: list[tuple[Argument, int, int]] = []
        operators: list[tuple[str, int]] = []

        def reduce() -> None:
            op, place = operators.pop()
            right, start, end = operands.pop()
            if op == "neg":
                operands.append((Unary("-", self.computable(right), span=(place, end)), place, end))
                return
            left, start, _ = operands.pop()
            node = Binary(op, self.computable(left), self.computable(right), span=(start, end))
            operands.append((node, start, end))

        while True:
            token = self.token
            if token.kind == "-":
                if len(operators) + self.depth > MAX_NESTING:
                    self.too_deep()
                self.advance()
                if self.kind not in NUMBERS or self.peek() == "^":
                    operators.append(("neg", token.start))
                    continue
                operand: Argument = self.negative(token, self.advance())
            else:
                operand = self.data_primary(argument)
            operands.append((operand, token.start, self.last_end))
            op = self.kind
            level = -1 if angle and op in (">", ">=") else DATA_LEVELS.get(op, -1)
            while operators and DATA_LEVELS[operators[-1][0]] >= level:
                reduce()
            if level < 0:
                self.depth -= 1
                return operands[0][0]
            operators.append((op, self.token.start))
            self.advance()

    def computable(self, operand: Argument) -> Data:
        if isinstance(operand, Literal | Name | Unary | Binary | Apply):
            return operand
        self.fail("rml-syntax", "a pattern cannot be an operand", operand.span)

    def data_primary(self, argument: bool) -> Argument:
        kind = self.kind
        if kind in ("LID", *LITERALS) or (argument and kind in ("{", "[", "_")):
            return self.pattern_primary()
        if kind in FUNCTIONS:
            return self.application()
        if kind == "(":
            self.advance()
            inner = self.argument() if argument else self.data()
            self.expect(")", "an operator or `)`")
            return inner
        hint = None
        if kind in ("!", "not"):
            hint = "RML has no negation: reverse the comparison, or write `x == false`"
        elif kind == "=":
            hint = "equality is `==`"
        elif kind == "UID":
            hint = "names of variables begin with a lower-case letter"
        self.unexpected("an argument" if argument else "a value", hint)

    def application(self) -> Apply:
        function = self.advance()
        arity = FUNCTIONS[function.kind]
        self.expect("(", hint=f"write `{function.kind}({'x' if arity == 1 else 'x, y'})`")
        args = self.separated(self.data)
        self.expect(")", "`,` or `)`")
        span = function.start, self.last_end
        if len(args) != arity:
            wanted = "1 argument" if arity == 1 else f"{arity} arguments"
            self.report("rml-function-arity", f"`{function.kind}` takes {wanted}, found {len(args)}", span)
        return Apply(function.kind, args, span=span)
