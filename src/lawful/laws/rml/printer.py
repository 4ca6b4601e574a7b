"""RML text from syntax trees, with no more parentheses than the parser needs to read the same tree again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Union

from lawful.laws.rml import syntax
from lawful.laws.rml.syntax import DATA_LEVELS, EXPRESSION_LEVELS, Argument, EventUse, Expression, Scalar, Specification

_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
_ESCAPED = str.maketrans({"\t": r"\t", "\r": r"\r", "\n": r"\n", "'": r"\'", "\\": r"\\"})

_ATOM = 5

Pieces = Iterator[Union[str, "Pieces"]]
"""Text, and what makes more of it, in order. `_text` walks it with a stack: trees may be tens of thousands deep."""


class _BareEvent(str):
    """An event type without arguments."""


def format_expression(expression: Expression) -> str:
    """One trace expression on one line."""
    return _text(_expression(expression))


def format_event(use: EventUse) -> str:
    """An event type with its arguments."""
    return _text(_use(use))


def format_data(argument: Argument) -> str:
    """A data expression or a pattern."""
    return _text(_argument(argument))


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
    statements = (*map(_declaration, specification.declarations), *map(_equation, specification.equations))
    return "".join(_text(each) + ";\n" for each in statements)


def _text(pieces: Pieces) -> str:
    stack = [pieces]
    found: list[str] = []
    while stack:
        piece = next(stack[-1], None)
        if piece is None:
            stack.pop()
        elif not isinstance(piece, str):
            stack.append(piece)
        else:
            # A parenthesis right after a bare event type might be read as its arguments; one around that event type
            # might be read as those of an event type before it.
            event = len(found) - 2
            while piece == "(" and event >= 0 and isinstance(found[event], _BareEvent) and found[event + 1] == " ":
                found[event] = f"({found[event]})"
                event -= 2
            found.append(piece)
    return "".join(found)


def _separated(separator: str, parts: Iterable[Pieces]) -> Pieces:
    for number, part in enumerate(parts):
        if number:
            yield separator
        yield part


# -- statements and trace expressions -------------------------------------------------------------


def _declaration(declaration: syntax.Declaration) -> Pieces:
    yield declaration.name + (f"({', '.join(declaration.params)})" if declaration.params else "")
    yield " not matches " if declaration.negated else " matches "
    body = declaration.body
    if isinstance(body, tuple):
        yield _separated(" | ", map(_use, body))
    else:
        # A name that opens a declaration's body would be read as an event type.
        first = body.options[0] if isinstance(body, syntax.AnyOf) else body
        named = isinstance(first, syntax.Name)
        yield from ("(", _argument(body), ")") if named else (_argument(body),)
    if declaration.guard is not None:
        yield " with "
        yield _argument(declaration.guard)


def _equation(equation: syntax.Equation) -> Pieces:
    yield equation.name + (f"<{', '.join(equation.params)}>" if equation.params else "")
    yield " = "
    yield _expression(equation.body)


def _expression(node: Expression, level: int = 0, *, last: bool = True, colon: bool = False) -> Pieces:
    """
    ``last``: the node ends its group, so that a filter or an ``if`` can swallow nothing that is not its own.
    ``colon``: a ``:`` follows that belongs to a filter further out.
    """
    if _needs_group(node, level, last, colon):
        yield from ("(", _expression(node), ")")
        return
    match node:
        case syntax.Empty():
            yield "empty"
        case syntax.All():
            yield "all"
        case syntax.Event(use):
            yield _use(use) if use.args else _BareEvent(use.name)
        case syntax.EquationCall(name, args):
            yield name
            if args:
                yield from ("<", _arguments(args, angle=True), ">")
        case syntax.Postfix(op, body):
            yield from (_expression(body, _ATOM, last=False), op)
        case syntax.Times(body, count):
            yield from (_expression(body, _ATOM, last=False), f"{{{count}}}")
        case syntax.Let(names, body):
            yield from (f"{{let {', '.join(names)}; ", _expression(body), "}")
        case syntax.Infix(op, left, right):
            own = EXPRESSION_LEVELS[op]
            to_right = op == syntax.CONCAT
            symbol = op if to_right else f" {op} "
            yield from (_expression(left, own + to_right, last=False), symbol)
            yield _expression(right, own + (not to_right), last=last, colon=colon)
        case syntax.Filter(use, body, otherwise):
            yield from (_use(use), " >> ", _expression(body, colon=otherwise is not None))
            if otherwise is not None:
                yield from (" : ", _expression(otherwise, colon=colon))
        case syntax.If(condition, then, otherwise):
            yield from ("if (", _argument(condition), ") ", _expression(then))
            yield from (" else ", _expression(otherwise, colon=colon))


def _needs_group(node: Expression, level: int, last: bool, colon: bool) -> bool:
    if isinstance(node, syntax.Infix):
        return EXPRESSION_LEVELS[node.op] < level
    if isinstance(node, syntax.Filter) and colon and node.otherwise is None:
        return True
    return isinstance(node, syntax.Filter | syntax.If) and (not last or level == _ATOM)


def _use(use: EventUse) -> Pieces:
    yield use.name
    if use.args:
        yield from ("(", _arguments(use.args), ")")


# -- data and patterns ----------------------------------------------------------------------------


def _arguments(args: tuple[Argument, ...], *, angle: bool = False) -> Pieces:
    return _separated(", ", (_argument(arg, angle=angle) for arg in args))


def _argument(node: Argument, level: int = -1, *, angle: bool = False) -> Pieces:
    """``angle``: between the brackets of a call, where ``>`` would close them."""
    match node:
        case syntax.Literal(value):
            text = format_scalar(value)
            negative = isinstance(value, int | float) and text.startswith("-")
            yield f"({text})" if negative and level >= DATA_LEVELS["^"] else text  # `-2^2` is -(2^2)
        case syntax.Name(name):
            yield name
        case syntax.Wildcard():
            yield "_"
        case syntax.Unary(_, operand):
            own = DATA_LEVELS["neg"]
            if level > own:
                yield from ("(", _argument(node), ")")
            elif isinstance(operand, syntax.Literal) and type(operand.value) in (int, float):
                yield from ("-(", _argument(operand), ")")  # `-2` is a constant, `-(2)` computes one
            else:
                yield from ("-", _argument(operand, own, angle=angle))
        case syntax.Binary(op, left, right):
            own = DATA_LEVELS[op]
            if own < level or (angle and op in (">", ">=")):
                yield from ("(", _argument(node), ")")
                return
            yield from (_argument(left, own, angle=angle), op if op == "^" else f" {op} ")
            yield _argument(right, own + 1, angle=angle)
        case syntax.Apply(function, args):
            yield from (f"{function}(", _arguments(args), ")")
        case syntax.ObjectPattern(fields):
            yield from ("{", _separated(", ", (_field(key, value) for key, value in fields)), "}")
        case syntax.ListPattern(items, is_open):
            end = ("..." if not items else ", ...") if is_open else ""
            yield from ("[", _arguments(items), f"{end}]")
        case syntax.AnyOf(options):
            alternatives = _separated(" | ", (_argument(one, 0) for one in options))
            yield from ("(", alternatives, ")") if level >= 0 else (alternatives,)


def _field(key: str, value: syntax.Pattern) -> Pieces:
    yield f"{key if _KEY.match(key) else format_scalar(key)}: "
    yield _argument(value)
