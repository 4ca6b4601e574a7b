"""RML text from syntax trees, with no more parentheses than the parser needs to read the same tree again."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal

from lawful.laws.rml.operators import DATA_LEVELS
from lawful.laws.rml.syntax import (
    All,
    And,
    AnyOf,
    Apply,
    Argument,
    Binary,
    Closure,
    Concat,
    Declaration,
    Empty,
    Equation,
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
    Scalar,
    Shuffle,
    Specification,
    Star,
    Times,
    Unary,
    Wildcard,
)

_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
_ESCAPED = str.maketrans({"\t": r"\t", "\r": r"\r", "\n": r"\n", "'": r"\'", "\\": r"\\"})

_SYMBOL: dict[type, tuple[str, int]] = {Shuffle: (" | ", 1), Or: (" \\/ ", 2), And: (" /\\ ", 3), Concat: (" ", 4)}
_SUFFIX: dict[type, str] = {Star: "*", Plus: "+", Optional: "?", Closure: "!"}
_ATOM = 5


def format_expression(expression: Expression) -> str:
    """One trace expression on one line."""
    printer = _Printer()
    printer.expression(expression)
    return printer.text()


def format_event(use: EventUse) -> str:
    """An event type with its arguments."""
    printer = _Printer()
    printer.use(use)
    return printer.text()


def format_data(argument: Argument) -> str:
    """A data expression or a pattern."""
    printer = _Printer()
    printer.argument(argument)
    return printer.text()


def format_scalar(value: Scalar) -> str:
    """A constant as it stands in a law."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return f"'{value.translate(_ESCAPED)}'"
        case int():
            return str(value)
        case float():
            digits = format(Decimal(repr(value)), "f")  # the language has no exponents
            return digits if "." in digits else digits + ".0"


def format_spec(specification: Specification) -> str:
    """A whole law, one statement per line."""
    lines = [_format_declaration(each) for each in specification.declarations]
    lines += [_format_equation(each) for each in specification.equations]
    return "".join(line + "\n" for line in lines)


def _format_declaration(declaration: Declaration) -> str:
    printer = _Printer()
    if declaration.guard is not None:
        guard = declaration.guard
        printer.push(" with ", lambda: printer.argument(guard))
    body = declaration.body
    if isinstance(body, tuple):
        printer.separated(" | ", [lambda use=use: printer.use(use) for use in body])  # type: ignore[misc]
    else:
        # A name that opens a declaration's body would be read as an event type.
        first = body.options[0] if isinstance(body, AnyOf) else body
        if isinstance(first, Name):
            printer.push("(", lambda: printer.argument(body), ")")
        else:
            printer.argument(body)
    head = declaration.name + (f"({', '.join(declaration.params)})" if declaration.params else "")
    return f"{head} {'not ' if declaration.negated else ''}matches {printer.text()};"


def _format_equation(equation: Equation) -> str:
    params = f"<{', '.join(equation.params)}>" if equation.params else ""
    return f"{equation.name}{params} = {format_expression(equation.body)};"


class _Printer:
    """Pieces of text and calls yet to make, on an explicit stack: trees may be tens of thousands of levels deep."""

    def __init__(self) -> None:
        self.stack: list[str | Callable[[], None]] = []
        self.pieces: list[str] = []
        self.bare_events: set[int] = set()  # the pieces that are an event type without arguments

    def push(self, *parts: str | Callable[[], None]) -> None:
        self.stack.extend(reversed(parts))

    def separated(self, separator: str, parts: list[Callable[[], None]]) -> None:
        mixed: list[str | Callable[[], None]] = []
        for part in parts:
            mixed += [separator, part] if mixed else [part]
        self.push(*mixed)

    def text(self) -> str:
        while self.stack:
            part = self.stack.pop()
            if isinstance(part, str):
                # A parenthesis right after a bare event type might be read as its arguments; one around that event
                # type might be read as those of an event type before it.
                event = len(self.pieces) - 2
                while part == "(" and event in self.bare_events and self.pieces[event + 1] == " ":
                    self.pieces[event] = f"({self.pieces[event]})"
                    self.bare_events.remove(event)
                    event -= 2
                self.pieces.append(part)
            else:
                part()
        return "".join(self.pieces)

    # -- trace expressions ------------------------------------------------------------------------

    def expression(self, node: Expression, level: int = 0, *, last: bool = True, colon: bool = False) -> None:
        """
        ``last``: the node ends its group, so that a filter or an ``if`` can swallow nothing that is not its own.
        ``colon``: a ``:`` follows that belongs to a filter further out.
        """
        match node:
            case Empty():
                self.push("empty")
            case All():
                self.push("all")
            case Event(use):
                if not use.args:
                    self.stack.append(lambda: self.event_name(use.name))
                else:
                    self.use(use)
            case EquationCall(name, args):
                self.push(name, *(("<", lambda: self.arguments(args, angle=True), ">") if args else ()))
            case Star(body) | Plus(body) | Optional(body) | Closure(body):
                self.push(lambda: self.expression(body, _ATOM, last=False), _SUFFIX[type(node)])
            case Times(body, count):
                self.push(lambda: self.expression(body, _ATOM, last=False), f"{{{count}}}")
            case Let(names, body):
                self.push(f"{{let {', '.join(names)}; ", lambda: self.expression(body), "}")
            case Concat(left, right) | And(left, right) | Or(left, right) | Shuffle(left, right):
                symbol, own = _SYMBOL[type(node)]
                if own < level:
                    self.group(node)
                    return
                to_right = isinstance(node, Concat)
                self.push(
                    lambda: self.expression(left, own + to_right, last=False),
                    symbol,
                    lambda: self.expression(right, own + (not to_right), last=last, colon=colon),
                )
            case Filter(use, body, otherwise):
                if not last or level == _ATOM or (colon and otherwise is None):
                    self.group(node)
                    return
                if otherwise is not None:
                    rest = otherwise
                    self.push(
                        lambda: self.use(use),
                        " >> ",
                        lambda: self.expression(body, colon=True),
                        " : ",
                        lambda: self.expression(rest, colon=colon),
                    )
                else:
                    self.push(lambda: self.use(use), " >> ", lambda: self.expression(body))
            case If(condition, then, otherwise):
                if not last or level == _ATOM:
                    self.group(node)
                    return
                self.push(
                    "if (",
                    lambda: self.argument(condition),
                    ") ",
                    lambda: self.expression(then),
                    " else ",
                    lambda: self.expression(otherwise, colon=colon),
                )

    def group(self, node: Expression) -> None:
        self.push("(", lambda: self.expression(node), ")")

    def event_name(self, name: str) -> None:
        self.bare_events.add(len(self.pieces))
        self.pieces.append(name)

    def use(self, use: EventUse) -> None:
        self.push(use.name, *(("(", lambda: self.arguments(use.args), ")") if use.args else ()))

    # -- data and patterns ------------------------------------------------------------------------

    def arguments(self, args: tuple[Argument, ...], *, angle: bool = False) -> None:
        self.separated(", ", [lambda arg=arg: self.argument(arg, angle=angle) for arg in args])  # type: ignore[misc]

    def argument(self, node: Argument, level: int = -1, *, angle: bool = False) -> None:
        """``angle``: between the brackets of a call, where ``>`` would close them."""
        match node:
            case Literal(value):
                negative = isinstance(value, int | float) and format_scalar(value).startswith("-")
                # `-2^2` is -(2^2).
                self.push(
                    f"({format_scalar(value)})" if negative and level >= DATA_LEVELS["^"] else format_scalar(value)
                )
            case Name(name):
                self.push(name)
            case Wildcard():
                self.push("_")
            case Unary(_, operand):
                own = DATA_LEVELS["neg"]
                if level > own:
                    self.push("(", lambda: self.argument(node), ")")
                elif isinstance(operand, Literal) and type(operand.value) in (int, float):
                    # `-2` is a constant, `-(2)` computes one.
                    self.push("-(", lambda: self.argument(operand), ")")
                else:
                    self.push("-", lambda: self.argument(operand, own, angle=angle))
            case Binary(op, left, right):
                own = DATA_LEVELS[op]
                if own < level or (angle and op in (">", ">=")):
                    self.push("(", lambda: self.argument(node), ")")
                    return
                self.push(
                    lambda: self.argument(left, own, angle=angle),
                    op if op == "^" else f" {op} ",
                    lambda: self.argument(right, own + 1, angle=angle),
                )
            case Apply(function, args):
                self.push(function, "(", lambda: self.arguments(args), ")")
            case ObjectPattern(fields):
                self.push("{", lambda: self.fields(node), "}") if fields else self.push("{}")
            case ListPattern(items, is_open):
                end = ("..." if not items else ", ...") if is_open else ""
                self.push("[", lambda: self.arguments(items), f"{end}]")
            case AnyOf(options):
                if level >= 0:
                    self.push("(", lambda: self.argument(node), ")")
                else:
                    self.separated(" | ", [lambda one=one: self.argument(one, 0) for one in options])  # type: ignore[misc]

    def fields(self, node: ObjectPattern) -> None:
        parts: list[Callable[[], None]] = []
        for key, value in node.fields:
            shown = key if _KEY.match(key) else format_scalar(key)
            parts.append(lambda shown=shown, value=value: self.push(f"{shown}: ", lambda: self.argument(value)))  # type: ignore[misc]
        self.separated(", ", parts)
