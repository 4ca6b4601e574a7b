"""Data, patterns and terms of the oracle, and what can be done with them; nothing is shared with the engine."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any


class RmlError(ValueError):
    """The text is not a law of RML."""


class TooLong(RuntimeError):
    """One step visited more terms than it was allowed to: literal backtracking can be exponential."""


# --- data expressions and patterns -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Val:
    """A value. As a pattern: a scalar equals, an object is a sub-object, a list matches element by element."""

    value: Any


@dataclass(frozen=True, slots=True)
class Var:
    name: str


@dataclass(frozen=True, slots=True)
class Undef:
    """What an expression in error evaluates to as an argument; it equals nothing."""


@dataclass(frozen=True, slots=True)
class Op:
    name: str
    args: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Wild:
    """``_``"""


@dataclass(frozen=True, slots=True)
class Obj:
    items: tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Lst:
    items: tuple[Any, ...]
    open: bool


@dataclass(frozen=True, slots=True)
class Or:
    left: Any
    right: Any


Env = dict[str, Any]


class DataError(Exception):
    """Wrong type, unbound variable, division by zero: the expression has no value."""


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def same(left: Any, right: Any) -> bool:
    """Strict equality: 1, 1.0 and true all differ, at any depth."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


def equal(left: Any, right: Any) -> bool:
    """``==`` of data expressions: numbers by value, everything else strictly."""
    if is_number(left) and is_number(right):
        return bool(left == right)
    return same(left, right)


def evaluate(expr: Any, env: Mapping[str, Any]) -> Any:
    """The value of a data expression, or DataError."""
    if isinstance(expr, Val):
        return expr.value
    if isinstance(expr, Var):
        if expr.name not in env:
            raise DataError(f"{expr.name} is unbound")
        return env[expr.name]
    if not isinstance(expr, Op):
        raise DataError("no value")
    if expr.name in ("&&", "||"):
        left = evaluate(expr.args[0], env)
        if not isinstance(left, bool):
            raise DataError("not a boolean")
        if left is (expr.name == "||"):
            return left
        right = evaluate(expr.args[1], env)
        if not isinstance(right, bool):
            raise DataError("not a boolean")
        return right
    args = [evaluate(arg, env) for arg in expr.args]
    if expr.name == "==":
        return equal(*args)
    if expr.name == "!=":
        return not equal(*args)
    numbers = all(map(is_number, args))
    if expr.name in ("<", "<=", ">", ">="):
        if not numbers and not all(isinstance(arg, str) for arg in args):
            raise DataError("not comparable")
        left, right = args
        return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[expr.name]
    if not numbers:
        raise DataError("not a number")
    try:
        return arithmetic(expr.name, args)
    except (ArithmeticError, ValueError) as error:
        raise DataError(str(error)) from None


def arithmetic(op: str, args: list[Any]) -> Any:
    if len(args) == 1:
        unary = {"neg": lambda x: -x, "abs": abs, "sin": math.sin, "cos": math.cos, "tan": math.tan}
        return unary[op](args[0])
    left, right = args
    whole = isinstance(left, int) and isinstance(right, int)
    if op == "/":
        return left // right if whole and left % right == 0 else left / right
    if op == "^":
        if whole and right >= 0:
            return left**right
        power = float(left) ** float(right)
        if isinstance(power, complex):
            raise DataError("complex")
        return power
    if op in ("min", "max"):
        return min(left, right) if op == "min" else max(left, right)
    return {"*": lambda: left * right, "+": lambda: left + right, "-": lambda: left - right}[op]()


def holds(guard: Any, env: Mapping[str, Any]) -> bool:
    try:
        return evaluate(guard, env) is True
    except DataError:
        return False


def settle(arg: Any, env: Mapping[str, Any]) -> Any:
    """An argument as it is passed on: an unbound variable or a pattern stays, anything else becomes a value."""
    if isinstance(arg, Obj):
        return Obj(tuple((key, settle(item, env)) for key, item in arg.items))
    if isinstance(arg, Lst):
        return Lst(tuple(settle(item, env) for item in arg.items), arg.open)
    if isinstance(arg, Wild) or (isinstance(arg, Var) and arg.name not in env):
        return arg
    try:
        return Val(evaluate(arg, env))
    except DataError:
        return Undef()


def put(expr: Any, args: Mapping[str, Any]) -> Any:
    """Replace variables in a data expression or a pattern."""
    if isinstance(expr, Var):
        return args.get(expr.name, expr)
    if isinstance(expr, Op):
        return Op(expr.name, tuple(put(arg, args) for arg in expr.args))
    if isinstance(expr, Obj):
        return Obj(tuple((key, put(item, args)) for key, item in expr.items))
    if isinstance(expr, Lst):
        return Lst(tuple(put(item, args) for item in expr.items), expr.open)
    if isinstance(expr, Or):
        return Or(put(expr.left, args), put(expr.right, args))
    return expr


def variables(expr: Any) -> Iterator[str]:
    if isinstance(expr, Var):
        yield expr.name
    elif isinstance(expr, Op):
        for arg in expr.args:
            yield from variables(arg)
    elif isinstance(expr, Obj):
        for _, item in expr.items:
            yield from variables(item)
    elif isinstance(expr, Lst):
        for item in expr.items:
            yield from variables(item)
    elif isinstance(expr, Or):
        yield from variables(expr.left)
        yield from variables(expr.right)


def match(pattern: Any, value: Any, env: Env) -> Iterator[Env]:
    """Every way in which the pattern matches the value, as the environment extended by it."""
    if isinstance(pattern, Wild):
        yield env
    elif isinstance(pattern, Var):
        if pattern.name in env:
            yield from match(Val(env[pattern.name]), value, env)
        else:
            yield {**env, pattern.name: value}
    elif isinstance(pattern, Or):
        yield from match(pattern.left, value, env)
        yield from match(pattern.right, value, env)
    elif isinstance(pattern, Obj):
        yield from match_object(pattern.items, value, env)
    elif isinstance(pattern, Lst):
        # An open list needs an element in place of the dots only where it names none: `[...]`, but `[1,...]` fits [1].
        fits = isinstance(value, list) and (
            len(value) >= max(1, len(pattern.items)) if pattern.open else len(value) == len(pattern.items)
        )
        if fits:
            yield from match_items(pattern.items, value, env)
    elif isinstance(pattern, Val):
        if isinstance(pattern.value, dict):
            yield from match_object(tuple((key, Val(item)) for key, item in pattern.value.items()), value, env)
        elif isinstance(pattern.value, list):
            yield from match(Lst(tuple(map(Val, pattern.value)), False), value, env)
        elif same(pattern.value, value):
            yield env


def match_object(items: Sequence[tuple[str, Any]], value: Any, env: Env) -> Iterator[Env]:
    if isinstance(value, dict) and all(key in value for key, _ in items):
        yield from match_items([item for _, item in items], [value[key] for key, _ in items], env)


def match_items(patterns: Sequence[Any], values: Sequence[Any], env: Env) -> Iterator[Env]:
    if not patterns:
        yield env
        return
    for extended in match(patterns[0], values[0], env):
        yield from match_items(patterns[1:], values[1:], extended)


# --- terms ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Empty:
    pass


@dataclass(frozen=True, slots=True)
class All:
    pass


@dataclass(frozen=True, slots=True)
class Use:
    """An event type with its arguments."""

    name: str
    args: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """A term of two terms. Terms of two classes are never equal."""

    left: Any
    right: Any


class Union(Pair):
    __slots__ = ()


class Shuffle(Pair):
    __slots__ = ()


class Cat(Pair):
    __slots__ = ()


class And(Pair):
    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Body:
    """A term around another one."""

    body: Any


class Star(Body):
    __slots__ = ()


class Plus(Body):
    __slots__ = ()


class Opt(Body):
    __slots__ = ()


class Closure(Body):
    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Times:
    body: Any
    count: int


@dataclass(frozen=True, slots=True)
class Let:
    name: str
    body: Any


@dataclass(frozen=True, slots=True)
class Filter:
    use: Use
    body: Any
    other: Any


@dataclass(frozen=True, slots=True)
class Call:
    name: str
    args: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class If:
    condition: Any
    then: Any
    other: Any


@dataclass(frozen=True, slots=True)
class Declaration:
    name: str
    params: tuple[str, ...]
    negated: bool
    uses: tuple[Use, ...]  # empty where the declaration gives a pattern
    pattern: Any
    guard: Any


@dataclass(frozen=True, slots=True)
class Equation:
    name: str
    params: tuple[str, ...]
    body: Any


def free(term: Any) -> set[str]:
    """The variables of a term that no let inside it binds."""
    if isinstance(term, (Use, Call)):
        return {name for arg in term.args for name in variables(arg)}
    if isinstance(term, Pair):
        return free(term.left) | free(term.right)
    if isinstance(term, (Body, Times)):
        return free(term.body)
    if isinstance(term, Let):
        return free(term.body) - {term.name}
    if isinstance(term, Filter):
        return free(term.use) | free(term.body) | free(term.other)
    if isinstance(term, If):
        return set(variables(term.condition)) | free(term.then) | free(term.other)
    return set()


def substitute(term: Any, args: Mapping[str, Any]) -> Any:
    """Replace free variables by values or by other variables, renaming a let that would capture one of these."""
    if not args or isinstance(term, (Empty, All)):
        return term
    if isinstance(term, (Use, Call)):
        return replace(term, args=tuple(put(arg, args) for arg in term.args))
    if isinstance(term, Pair):
        return replace(term, left=substitute(term.left, args), right=substitute(term.right, args))
    if isinstance(term, (Body, Times)):
        return replace(term, body=substitute(term.body, args))
    if isinstance(term, Filter):
        return Filter(*(substitute(part, args) for part in (term.use, term.body, term.other)))
    if isinstance(term, If):
        return If(put(term.condition, args), substitute(term.then, args), substitute(term.other, args))
    names = free(term)
    args = {name: arg for name, arg in args.items() if name in names}
    arriving = {name for arg in args.values() for name in variables(arg)}
    if term.name not in arriving:
        return Let(term.name, substitute(term.body, args))
    taken = arriving | free(term.body) | set(args)
    fresh = next(name for i in itertools.count() if (name := f"{term.name}'{i}") not in taken)
    return Let(fresh, substitute(substitute(term.body, {term.name: Var(fresh)}), args))


def cat(left: Any, right: Any) -> Any:
    return right if left == Empty() else left if right == Empty() else Cat(left, right)


def shuffle(left: Any, right: Any) -> Any:
    return right if left == Empty() else left if right == Empty() else Shuffle(left, right)


def conjoin(left: Any, right: Any) -> Any:
    return right if left == All() else left if right == All() else And(left, right)


def merge(left: Env, right: Env) -> Env | None:
    """The union of two bindings, or None where they give a variable two values."""
    if any(name in right and not same(value, right[name]) for name, value in left.items()):
        return None
    return {**left, **right}
