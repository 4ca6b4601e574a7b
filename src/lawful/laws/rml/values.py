"""Data in RML: strict equality, sub-object matching, arithmetic that never stops a monitor."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Final


class Undefined(Enum):
    """The value of an expression that has none, as ``1 + 'a'``: it equals nothing, not even itself."""

    UNDEFINED = "undefined"

    def __repr__(self) -> str:
        return self.value


UNDEFINED: Final = Undefined.UNDEFINED

MAX_BITS: Final = 10_000
"""Operations give no integers of more bits: event data must not be able to stop a monitor."""


def identical(a: Any, b: Any) -> bool:
    """Strict equality: 1, 1.0 and true all differ, at any depth."""
    return _alike(a, b, part_of=False)


def matches(pattern: Any, value: Any) -> bool:
    """Does a bound value, used as a pattern, match? Objects match as deep sub-objects."""
    return _alike(pattern, value, part_of=True)


def _alike(a: Any, b: Any, *, part_of: bool) -> bool:
    pending = [(a, b)]  # events may nest more deeply than recursion can go
    while pending:
        a, b = pending.pop()
        if a.__class__ is not b.__class__ or a is UNDEFINED:
            return False
        if isinstance(a, dict):
            if not (part_of or len(a) == len(b)) or not all(key in b for key in a):
                return False
            pending += ((part, b[key]) for key, part in a.items())
        elif isinstance(a, list):
            if len(a) != len(b):
                return False
            pending += zip(a, b, strict=True)
        elif a != b:
            return False
    return True


class NoValue(Exception):
    """The expression has no value for these operands; the message says why."""


def _number(value: Any, what: str) -> int | float:
    kind = value.__class__
    if kind is int or kind is float:
        return value  # type: ignore[no-any-return]
    raise NoValue(f"`{what}` wants numbers, not {describe(value)}")


def _divide(a: int | float, b: int | float) -> int | float:
    if b == 0:
        raise NoValue("division by zero")
    if isinstance(a, int) and isinstance(b, int) and a % b == 0:
        return a // b
    return a / b


def _power(a: int | float, b: int | float) -> int | float:
    if isinstance(a, int) and isinstance(b, int) and b >= 0:
        if (a.bit_length() - 1) * b > MAX_BITS:
            raise NoValue("`^` gives too large a number")
        return int(a**b)
    result = a**b if a != 0 or b >= 0 else None
    if result is None or isinstance(result, complex):
        raise NoValue(f"{a} ^ {b} has no value")
    return result


_ARITHMETIC: Final[Mapping[str, Callable[..., int | float]]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _divide,
    "^": _power,
    "neg": lambda a: -a,
    "abs": abs,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "min": min,
    "max": max,
}

_ORDER: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}

_SYMBOLS: Final = {"neg": "-"}


def apply(op: str, *operands: Any) -> Any:
    """One operation on values. Raises NoValue if it has no value."""
    for operand in operands:
        if operand is UNDEFINED:
            raise NoValue("an operand has no value")
    arithmetic = _ARITHMETIC.get(op)
    if arithmetic is not None:
        for operand in operands:
            _number(operand, _SYMBOLS.get(op, op))
        try:
            result = arithmetic(*operands)
        except (OverflowError, ValueError) as error:
            raise NoValue(f"`{_SYMBOLS.get(op, op)}`: {error}") from None
        if isinstance(result, float) and not math.isfinite(result):
            raise NoValue(f"`{_SYMBOLS.get(op, op)}` gives no finite number")
        if isinstance(result, int) and result.bit_length() > MAX_BITS:
            raise NoValue(f"`{_SYMBOLS.get(op, op)}` gives too large a number")
        return result
    if op in ("==", "!="):
        return equal(*operands) is (op == "==")
    left, right = operands
    if isinstance(left, str) and isinstance(right, str):
        return _ORDER[op](left, right)
    return _ORDER[op](_number(left, op), _number(right, op))


def evaluate(operand: tuple[Any, ...], value_of: Callable[[tuple[Any, ...]], Any]) -> Any:
    """The value of an operand: ``("operation", op, operands)``, or anything that `value_of` knows the value of."""
    if operand[0] != "operation":
        return value_of(operand)
    _, op, operands = operand
    if op not in ("&&", "||"):
        return apply(op, *(evaluate(part, value_of) for part in operands))
    result = None
    for part in operands:
        result = evaluate(part, value_of)
        if result.__class__ is not bool:
            raise NoValue(f"`{op}` wants conditions, not {describe(result)}")
        if result is (op == "||"):
            break
    return result


def equal(a: Any, b: Any) -> bool:
    """``==`` of the language: numbers by value, everything else strictly."""
    if a.__class__ in (int, float) and b.__class__ in (int, float):
        return bool(a == b)
    return identical(a, b)


def describe(value: Any) -> str:
    """A value's type in the words of JSON, for messages."""
    if value is None:
        return "null"
    names = {bool: "a boolean", str: "a string", dict: "an object", list: "a list", int: "a number", float: "a number"}
    return names.get(value.__class__, "an undefined value")
