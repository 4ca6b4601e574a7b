"""Data in the text of a law: computed values, and the arguments of event types, which may be patterns."""

from __future__ import annotations

from lawful.laws.rml.lexer import CONSTANTS
from lawful.laws.rml.pattern_parser import PatternParser
from lawful.laws.rml.recursion import Step
from lawful.laws.rml.syntax import (
    DATA_LEVELS,
    FUNCTIONS,
    AnyOf,
    Apply,
    Argument,
    Binary,
    Data,
    EventUse,
    Literal,
    Name,
    Pattern,
    Unary,
)
from lawful.laws.rml.token_reader import MAX_NESTING, NUMBERS


class DataParser(PatternParser):
    """Reads data expressions and arguments."""

    def event_use(self) -> Step[EventUse]:
        """An event type where a parenthesis can only be its arguments."""
        name = self.advance()
        args: tuple[Argument, ...] = ()
        if self.kind == "(":
            args = yield self.arguments()
        return EventUse(name.text, args, span=(name.start, self.last_end))

    def arguments(self) -> Step[tuple[Argument, ...]]:
        self.advance()
        args: list[Argument] = []
        if self.kind == ")":
            self.unexpected("an argument", "an event type without arguments is written without parentheses")
        while True:
            argument: Argument = yield self.argument()
            args.append(argument)
            if not self.accept(","):
                self.expect(")", "`,` or `)`")
                return tuple(args)

    def argument(self) -> Step[Argument]:
        """``p | q``, or a data expression."""
        start = self.token.start
        first: Argument = yield self.data(argument=True)
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
            option = yield self.data(argument=True)

    def data(self, *, argument: bool = False, angle: bool = False) -> Step[Argument]:
        """
        A data expression, by operator precedence with explicit stacks. As an argument it may be a pattern;
        between the angle brackets of a call ``>`` is the closing bracket, never a comparison.
        """
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
                if self.kind in NUMBERS and self.peek() != "^":
                    literal = self.negative(token, self.advance())
                    operands.append((literal, *literal.span))
                else:
                    operators.append(("neg", token.start))
                    continue
            else:
                operand: Argument = yield self.data_primary(argument)
                operands.append((operand, token.start, self.last_end))
            op = self.kind
            level = DATA_LEVELS.get(op, -1)
            if angle and op in (">", ">="):
                level = -1
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
        self.fail("rml-syntax", "a pattern is not a value to compute with", operand.span)

    def data_primary(self, argument: bool) -> Step[Argument]:
        token = self.token
        kind = token.kind
        if kind == "LID":
            self.advance()
            return Name(token.text, span=token.span)
        if kind in NUMBERS or kind == "STRING" or kind in CONSTANTS:
            self.advance()
            return Literal(token.value, span=token.span)
        if kind in FUNCTIONS:
            self.advance()
            self.expect("(", hint=f"write `{kind}({'x' if FUNCTIONS[kind] == 1 else 'x, y'})`")
            args: list[Data] = []
            while True:
                value: Data = yield self.data()
                args.append(value)
                if not self.accept(","):
                    break
            self.expect(")", "`,` or `)`")
            if len(args) != FUNCTIONS[kind]:
                wanted = "1 argument" if FUNCTIONS[kind] == 1 else f"{FUNCTIONS[kind]} arguments"
                self.report(
                    "rml-function-arity", f"`{kind}` takes {wanted}, found {len(args)}", (token.start, self.last_end)
                )
            return Apply(kind, tuple(args), span=(token.start, self.last_end))
        if kind == "(":
            self.advance()
            inner: Argument
            if argument:
                inner = yield self.argument()
            else:
                inner = yield self.data()
            self.expect(")", "an operator or `)`")
            return inner
        if argument and kind in ("{", "[", "_"):
            pattern: Pattern = yield self.pattern_primary()
            return pattern
        hint = None
        if kind in ("!", "not"):
            hint = "there is no negation in RML: turn the comparison round, or write `x == false`"
        elif kind == "=":
            hint = "equality is `==`"
        elif kind == "UID":
            hint = "names of variables begin with a lower-case letter"
        self.unexpected("an argument" if argument else "a value", hint)
