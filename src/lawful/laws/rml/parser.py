"""The parser of RML: recursive descent on a heap-allocated stack, going on after an error to find the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from lawful.diagnostics import Diagnostic, LawSourceError, Source, Span, quoted
from lawful.laws.rml.lexer import CONSTANTS, KEYWORDS, Token, keyword_hint, tokenize
from lawful.laws.rml.syntax import (
    All,
    And,
    AnyOf,
    Apply,
    Argument,
    Binary,
    Call,
    Closure,
    Concat,
    Data,
    Declaration,
    Empty,
    Equation,
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
    Pattern,
    Plus,
    Shuffle,
    Specification,
    Star,
    Times,
    Unary,
    Wildcard,
)
from lawful.laws.rml.trampoline import Failure, Step, run

MAX_NESTING = 2_000
"""Groups, filters, branches or postfix operators inside each other; flat chains of operators may be of any length."""

# Loosest first; all are left-associative. Concatenation binds tighter and has no symbol.
EXPRESSION_LEVELS: dict[str, int] = {"|": 1, "\\/": 2, "/\\": 3}
# Each operator on its own level, as in the original: `12/2*3` is 2, `10-2+3` is 5.
DATA_LEVELS: dict[str, int] = {
    op: level for level, op in enumerate(("||", "&&", "!=", "==", ">=", ">", "<=", "<", "-", "+", "/", "*", "neg", "^"))
}
FUNCTIONS: dict[str, int] = {"abs": 1, "sin": 1, "cos": 1, "tan": 1, "min": 2, "max": 2}

_BINARY: dict[str, Callable[..., Expression]] = {"|": Shuffle, "\\/": Or, "/\\": And}
_POSTFIX: dict[str, Callable[..., Expression]] = {"*": Star, "+": Plus, "?": Optional, "!": Closure}
_STARTS_PRIMARY = frozenset(("LID", "UID", "(", "{", "empty", "all", "if"))
_NUMBERS = ("INT", "FLOAT")

_EXPRESSION_HINTS = {
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


def parse(text: str, *, name: str = "<law>") -> Specification:
    """The syntax tree of a law. Raises a `LawSourceError` with every syntax error found."""
    parser = _Parser(text)
    specification = parser.specification()
    if parser.errors:
        # By place; the sort is stable, so errors of one place keep their order.
        raise LawSourceError(sorted(parser.errors, key=lambda each: each.span), Source(text, name))
    return specification


class _SyntaxFailure(Failure):
    """Parsing cannot go on here. Without a diagnostic the reason was already reported."""

    def __init__(self, diagnostic: Diagnostic | None, offset: int) -> None:
        super().__init__()
        self.diagnostic = diagnostic
        self.offset = offset


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens, self.errors = tokenize(text)
        self.at = 0
        self.depth = 0
        # The failure of a parenthesis read as arguments that got furthest: the better explanation if nothing else fits.
        self.abandoned: _SyntaxFailure | None = None
        self.starts = self._statement_starts()

    # -- tokens -----------------------------------------------------------------------------------

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    @property
    def kind(self) -> str:
        return self.tokens[self.at].kind

    def peek(self, ahead: int = 1) -> str:
        index = self.at + ahead
        return self.tokens[index].kind if index < len(self.tokens) else "END"

    def advance(self) -> Token:
        token = self.tokens[self.at]
        if token.kind != "END":
            self.at += 1
        return token

    def accept(self, kind: str) -> bool:
        if self.kind == kind:
            self.at += 1
            return True
        return False

    def expect(self, kind: str, wanted: str | None = None, hint: str | None = None) -> Token:
        if self.kind != kind:
            self.unexpected(wanted or f"`{kind}`", hint)
        return self.advance()

    @property
    def last_end(self) -> int:
        """Where the last token read ends."""
        return self.tokens[self.at - 1].end if self.at else 0

    # -- errors -----------------------------------------------------------------------------------

    def report(self, slug: str, message: str, span: Span, hint: str | None = None) -> None:
        """Note an error after which parsing goes on as if nothing had happened."""
        self.errors.append(Diagnostic("error", slug, message, span, hint))

    def fail(self, slug: str, message: str, span: Span, hint: str | None = None) -> NoReturn:
        raise _SyntaxFailure(Diagnostic("error", slug, message, span, hint), span[0])

    def unexpected(self, wanted: str, hint: str | None = None) -> NoReturn:
        token = self.token
        if token.kind == "BAD":
            raise _SyntaxFailure(None, token.start)
        if token.kind == "END" or self.at in self.starts:
            # What is missing is missing at the end of this statement, not at the start of the next one.
            place = self.last_end
            before = "the end of the text" if token.kind == "END" else f"the next statement, {quoted(token.text)}"
            self.fail("rml-syntax", f"expected {wanted} before {before}", (place, place), hint)
        self.fail("rml-syntax", f"expected {wanted}, found {token.describe()}", token.span, hint or keyword_hint(token))

    def descend(self) -> None:
        self.depth += 1
        if self.depth > MAX_NESTING:
            self.too_deep()

    def too_deep(self) -> NoReturn:
        message = f"nested more than {MAX_NESTING:,} levels deep"
        self.fail("rml-too-deep", message, self.token.span, "give a part of it a name of its own: `Part = ...;`")

    # -- statements -------------------------------------------------------------------------------

    def _statement_starts(self) -> frozenset[int]:
        """The tokens that begin a statement beyond doubt: `matches` and `=` occur nowhere else."""
        starts: set[int] = set()
        tokens = self.tokens
        open_groups: list[int] = []
        opened_by: dict[int, int] = {}
        for index, token in enumerate(tokens):
            kind = token.kind
            if kind == "(":
                open_groups.append(index)
            elif kind == ")" and open_groups:
                opened_by[index] = open_groups.pop()
            elif kind == "matches" and index:
                head = index - 1
                if tokens[head].kind == "not" and head:
                    head -= 1
                if tokens[head].kind == ")":
                    head = opened_by.get(head, 0) - 1
                # `matches: 1` is a key of an object.
                if head >= 0 and tokens[head].kind in ("LID", "UID") and tokens[index + 1].kind != ":":
                    starts.add(head)
            elif kind in ("=", ">=") and index:
                head = index - 1
                if tokens[head].kind == ">" or kind == ">=":
                    head -= kind == "="
                    while head > 0 and tokens[head].kind in ("LID", ","):
                        head -= 1
                    if tokens[head].kind != "<" or not head:
                        continue
                    head -= 1
                if tokens[head].kind not in ("UID", "LID") or (kind == ">=" and not self._opens_line(head)):
                    continue
                starts.add(head)
        return frozenset(starts)

    def _opens_line(self, index: int) -> bool:
        if not index or self.tokens[index - 1].kind == ";":
            return True
        return "\n" in self.text[self.tokens[index - 1].end : self.tokens[index].start]

    def specification(self) -> Specification:
        declarations: list[Declaration] = []
        equations: list[Equation] = []
        while self.kind != "END":
            start = self.at
            self.depth = 0
            self.abandoned = None
            try:
                if self.kind == "UID" and self._looks_like_declaration():
                    name = self.token.text
                    self.report(
                        "rml-syntax",
                        f"the name of an event type begins with a lower-case letter, found {quoted(name)}",
                        self.token.span,
                        f"did you mean `{name[0].lower()}{name[1:]}`?",
                    )
                    run(self.declaration())
                elif self.kind == "UID":
                    equations.append(run(self.equation()))
                elif self.kind == "LID" and self.peek() in ("=", "<"):
                    name = self.token.text
                    self.report(
                        "rml-syntax",
                        f"the name of an equation begins with an upper-case letter, found {quoted(name)}",
                        self.token.span,
                        f"did you mean `{name[0].upper()}{name[1:]}`?",
                    )
                    run(self.equation())
                elif self.kind == "LID":
                    declaration = run(self.declaration())
                    declarations.append(declaration)
                    if equations:
                        self.report(
                            "rml-declaration-order",
                            f"the event type `{declaration.name}` is declared after an equation",
                            (declaration.span[0], declaration.span[0] + len(declaration.name)),
                            f"move it above the equation `{equations[0].name}`",
                        )
                else:
                    self.unexpected(
                        "a declaration `name matches ...;` or an equation `Name = ...;`",
                        "a statement ends with one `;`" if self.kind == ";" else None,
                    )
            except _SyntaxFailure as failure:
                self._recover(failure, start)
        return Specification(tuple(declarations), tuple(equations))

    def _looks_like_declaration(self) -> bool:
        return self.peek() in ("matches", "not") or (self.peek() == "(" and self.at in self.starts)

    def _recover(self, failure: _SyntaxFailure, start: int) -> None:
        """Report why a statement could not be read, and skip to where the next one begins."""
        abandoned = self.abandoned
        if failure.diagnostic and abandoned and abandoned.diagnostic:
            # Of two that got equally far take the one with more to say, as for `a ()`.
            further = (abandoned.offset, abandoned.diagnostic.hint is not None) > (failure.offset, False)
            failure = abandoned if further else failure
        if failure.diagnostic:
            self.errors.append(failure.diagnostic)
        self.at = max(self.at, start)
        depth = 0
        for token in self.tokens[start : self.at]:
            depth += (token.kind == "{") - (token.kind == "}")
        if self.at == start and self.kind != "END":
            depth += (self.kind == "{") - (self.kind == "}")
            at_end = self.accept(";")
            if at_end:
                return
            self.at += 1
        while self.kind != "END" and self.at not in self.starts:
            token = self.advance()
            depth += (token.kind == "{") - (token.kind == "}")
            if token.kind == ";" and depth <= 0:
                return

    def equation(self) -> Step[Equation]:
        name = self.advance()
        params: tuple[str, ...] = ()
        if self.accept("<"):
            params = self.names("a parameter", (">", ">="))
            # Longest match reads the end of `G<x>=` as one token.
            if not self.accept(">="):
                self.expect(">", "`,` or `>`")
                self.expect("=")
        else:
            hint = "parameters of an equation stand in `<...>`" if self.kind == "(" else None
            if self.kind == "==":
                hint = "an equation has a single `=`"
            self.expect("=", hint=hint)
        body: Expression = yield self.expression()
        end = self.end_of_statement()
        return Equation(name.text, params, body, span=(name.start, end))

    def end_of_statement(self) -> int:
        if self.kind != ";":
            hint = _EXPRESSION_HINTS.get(self.kind)
            if self.kind == ")":
                hint = "there is no `(` for it"
            elif self.kind == "}":
                hint = "there is no `{` for it"
            elif self.kind == ":":
                hint = "`:` belongs to a filter, as in `event >> A : B`"
            elif self.kind == ">>":
                hint = "on the left of `>>` stands an event type, as in `event >> A`"
            elif self.kind == "else":
                hint = "there is no `if` for it"
            self.unexpected("`;`", hint)
        return self.advance().end

    def names(self, what: str, closing: tuple[str, ...]) -> tuple[str, ...]:
        """``x, y``, all different."""
        names: list[str] = []
        while True:
            token = self.token
            if token.kind in KEYWORDS:
                self.unexpected(what, f"`{token.text}` is a keyword: take another name")
            self.expect(
                "LID", what, "names of variables begin with a lower-case letter" if self.kind == "UID" else None
            )
            if token.text in names:
                self.report("rml-duplicate-name", f"`{token.text}` stands here twice", token.span)
            names.append(token.text)
            if not self.accept(","):
                if self.kind not in closing:
                    self.unexpected(f"`,` or `{closing[0]}`")
                return tuple(names)

    def declaration(self) -> Step[Declaration]:
        name = self.token
        head: EventUse = yield self.event_use()
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
            body = yield self.event_types()
        else:
            body = yield self.pattern(top=True)
            options = body.options if isinstance(body, AnyOf) else (body,)
            for option in options:
                if isinstance(option, Name) and option.name not in params:
                    self.mixed_body(option.span)
        guard: Data | None = None
        if self.accept("with"):
            guard = yield self.data()
        elif self.kind == "if":
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
                self.report("rml-duplicate-name", f"`{argument.name}` stands here twice", argument.span)
            params.append(argument.name)
        return tuple(params)

    def event_types(self) -> Step[tuple[EventUse, ...]]:
        uses: list[EventUse] = []
        while True:
            if self.kind in ("{", "[", "(", "STRING", "_", "-", *_NUMBERS, *CONSTANTS):
                self.mixed_body(self.token.span)
            if self.kind != "LID":
                self.unexpected("an event type")
            use: EventUse = yield self.event_use()
            uses.append(use)
            if not self.accept("|"):
                return tuple(uses)

    def mixed_body(self, span: Span) -> NoReturn:
        self.fail(
            "rml-mixed-body",
            "a declaration has either event types or patterns as its alternatives, not both",
            span,
            "write two declarations of this event type, one with the event types and one with the patterns",
        )

    # -- event types and patterns -----------------------------------------------------------------

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

    def pattern(self, *, top: bool = False) -> Step[Pattern]:
        """``p | q``; at the top of a declaration a variable was meant to be an event type."""
        self.descend()
        start = self.token.start
        options: list[Pattern] = []
        while True:
            if top and options and self.kind == "LID" and self.peek() == "(":
                self.mixed_body(self.token.span)
            option: Pattern = yield self.pattern_primary()
            options.append(option)
            if self.kind in DATA_LEVELS and self.kind not in ("||", "<"):
                self.unexpected(
                    "the end of the pattern",
                    "nothing is computed in a pattern: bind a variable, and compare it after `with`",
                )
            if not self.accept("|"):
                break
        self.depth -= 1
        return options[0] if len(options) == 1 else AnyOf(tuple(options), span=(start, self.last_end))

    def pattern_primary(self) -> Step[Pattern]:
        token = self.token
        match token.kind:
            case "{":
                found: Pattern = yield self.object_pattern()
                return found
            case "[":
                found = yield self.list_pattern()
                return found
            case "(":
                self.advance()
                found = yield self.pattern()
                self.expect(")", "`|` or `)`")
                return found
            case "_":
                self.advance()
                return Wildcard(span=token.span)
            case "LID":
                self.advance()
                return Name(token.text, span=token.span)
            case "-" if self.peek() in _NUMBERS:
                self.advance()
                return self.negative(token, self.advance())
        if token.kind in _NUMBERS or token.kind in ("STRING", *CONSTANTS):
            self.advance()
            return Literal(token.value, span=token.span)
        hint = "names of variables begin with a lower-case letter" if token.kind == "UID" else None
        self.unexpected("a pattern", hint)

    def negative(self, minus: Token, number: Token) -> Literal:
        value = number.value
        if not isinstance(value, int | float):  # unreachable: tokens of these kinds carry numbers
            raise TypeError(value)
        return Literal(-value, span=(minus.start, number.end))

    def object_pattern(self) -> Step[ObjectPattern]:
        start = self.advance().start
        fields: list[tuple[str, Pattern]] = []
        keys: set[str] = set()
        if not self.accept("}"):
            while True:
                key = self.token
                if key.kind not in ("LID", "UID", "STRING") and key.kind not in KEYWORDS:
                    hint = "quote a key that is not a name: `'a key': ...`" if key.kind in _NUMBERS else None
                    self.unexpected("a key", hint)
                self.advance()
                text = key.value if key.kind == "STRING" else key.text
                if not isinstance(text, str):  # unreachable: string tokens carry strings
                    raise TypeError(text)
                self.expect(":", hint="an object pattern is `{key: pattern, ...}`")
                value: Pattern = yield self.pattern()
                if text in keys:
                    self.report("rml-duplicate-key", f"the key {quoted(text)} stands here twice", key.span)
                keys.add(text)
                fields.append((text, value))
                if not self.accept(","):
                    self.expect("}", "`,` or `}`")
                    break
                if self.kind == "...":
                    self.unexpected("a key", "an object may always have more keys: leave the dots out")
        return ObjectPattern(tuple(fields), span=(start, self.last_end))

    def list_pattern(self) -> Step[ListPattern]:
        start = self.advance().start
        items: list[Pattern] = []
        is_open = False
        if not self.accept("]"):
            while True:
                if self.accept("..."):
                    is_open = True
                    self.expect("]", hint="`...` is the last item of a list")
                    break
                item: Pattern = yield self.pattern()
                items.append(item)
                if not self.accept(","):
                    self.expect("]", "`,` or `]`", "write `, ...`" if self.kind == "..." else None)
                    break
        return ListPattern(tuple(items), is_open, span=(start, self.last_end))

    # -- data expressions -------------------------------------------------------------------------

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
                if self.kind in _NUMBERS and self.peek() != "^":
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
        if kind in _NUMBERS or kind == "STRING" or kind in CONSTANTS:
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

    # -- trace expressions ------------------------------------------------------------------------

    def expression(self) -> Step[Expression]:
        """A whole expression, by operator precedence with explicit stacks; spans include a group's parentheses."""
        self.descend()
        operands: list[tuple[Expression, int, int]] = []
        operators: list[str] = []

        def reduce() -> None:
            right, _, end = operands.pop()
            left, start, _ = operands.pop()
            operands.append((_BINARY[operators.pop()](left, right, span=(start, end)), start, end))

        while True:
            parts: list[tuple[Expression, int, int]] = []
            while True:
                start = self.token.start
                node: Expression = yield self.primary()
                levels = 0
                while (kind := self.kind) in _POSTFIX or (kind == "{" and self.peek() in _NUMBERS):
                    levels += 1
                    if self.depth + levels > MAX_NESTING:
                        self.too_deep()
                    if kind == "{":
                        node = self.times(node, start)
                    else:
                        self.advance()
                        node = _POSTFIX[kind](node, span=(start, self.last_end))
                parts.append((node, start, self.last_end))
                if self.kind not in _STARTS_PRIMARY or self.at in self.starts:
                    break
            node, start, end = parts.pop()
            while parts:
                left, start, _ = parts.pop()
                node = Concat(left, node, span=(start, end))
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
        if not isinstance(count.value, int):  # unreachable: tokens of this kind carry whole numbers
            raise TypeError(count.value)
        return Times(body, count.value, span=(start, self.last_end))

    def primary(self) -> Step[Expression]:
        token = self.token
        if self.at in self.starts:
            self.unexpected("an expression")
        match token.kind:
            case "LID":
                event: Expression = yield self.event_or_filter()
                return event
            case "UID":
                self.advance()
                args: list[Data] = []
                if self.kind == "<":
                    self.advance()
                    while True:
                        value: Data = yield self.data(angle=True)
                        args.append(value)
                        if not self.accept(","):
                            break
                    hint = "put a comparison between `<...>` into parentheses" if self.kind == ">=" else None
                    self.expect(">", "`,` or `>`", hint)
                    if self.kind in _NUMBERS or self.kind in ("STRING", "-", *CONSTANTS):
                        self.unexpected("an operator or `;`", "put a comparison between `<...>` into parentheses")
                elif self.kind == "(" and self.peek() in (*_NUMBERS, "STRING", "-", *CONSTANTS):
                    self.unexpected("an operator or `;`", "arguments of an equation stand in `<...>`")
                return Call(token.text, tuple(args), span=(token.start, self.last_end))
            case "(":
                self.advance()
                inner: Expression = yield self.expression()
                self.expect(")", "an operator or `)`", _EXPRESSION_HINTS.get(self.kind))
                return inner
            case "empty":
                self.advance()
                return Empty(span=token.span)
            case "all":
                self.advance()
                return All(span=token.span)
            case "{" if self.peek() in ("let", "var"):
                self.at += 2
                names = self.names("a variable", (";",))
                self.advance()
                body: Expression = yield self.expression()
                self.expect("}", "an operator or `}`", _EXPRESSION_HINTS.get(self.kind))
                return Let(names, body, span=(token.start, self.last_end))
            case "if":
                self.advance()
                self.expect("(", hint="a condition stands in parentheses: `if (x > 0) A else B`")
                condition: Data = yield self.data()
                self.expect(")", "an operator or `)`", "equality is `==`" if self.kind == "=" else None)
                then: Expression = yield self.expression()
                self.expect("else", "an operator or `else`", "write `else empty` if nothing should follow")
                otherwise: Expression = yield self.expression()
                return If(condition, then, otherwise, span=(token.start, self.last_end))
        hint = _EXPRESSION_HINTS.get(token.kind)
        if token.kind in ("let", "var"):
            hint = "variables are declared in braces: `{let x; ...}`"
        elif token.kind in _POSTFIX:
            hint = (
                f"`{token.kind}` follows what it repeats"
                if token.kind in "*+"
                else f"`{token.kind}` follows its operand"
            )
        elif token.kind in (")", ";"):
            hint = "the trace without events is `empty`"
        self.unexpected("an expression", hint)

    def event_or_filter(self) -> Step[Expression]:
        name = self.advance()
        args: tuple[Argument, ...] = ()
        if self.kind == "(":
            # `a (b \/ c)` is a concatenation and `p (x)` has an argument: only the whole parenthesis tells.
            before = self.at, self.depth, len(self.errors)
            try:
                args = yield self.arguments()
            except _SyntaxFailure as failure:
                if self.abandoned is None or failure.offset > self.abandoned.offset:
                    self.abandoned = failure
                self.at, self.depth, errors = before
                del self.errors[errors:]
        use = EventUse(name.text, args, span=(name.start, self.last_end))
        if not self.accept(">>"):
            return Event(use, span=use.span)
        body: Expression = yield self.expression()
        otherwise: Expression | None = None
        if self.accept(":"):
            otherwise = yield self.expression()
        return Filter(use, body, otherwise, span=(name.start, self.last_end))
