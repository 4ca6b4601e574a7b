"""Numbers and truth values that stand for all they could be; asked for a definite answer, they fork the execution."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import z3

if TYPE_CHECKING:
    from lawful.explain.teachers.python.symbolic_paths import SymbolicPaths

_literals: dict[int, Any] = {}


def _literal(value: int) -> Any:
    found = _literals.get(value)
    if found is None:
        found = _literals[value] = z3.IntVal(value)
    return found


def _term(value: Any) -> Any:
    """The term of an operand, or None if it is not an integer."""
    kind = type(value)
    if kind is SymbolicInt:
        return value.term
    if kind is SymbolicBool:
        return z3.If(value.term, _literal(1), _literal(0))
    return _literal(int(value)) if kind is int or kind is bool else None


def _arithmetic(
    operation: Callable[[Any, Any, SymbolicPaths], Any], name: str
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """A binary operator and its reflected form. With another operand than an integer, a concrete number takes over."""

    def applied(self: Any, other: Any, reflected: bool) -> Any:
        here, there, paths = _term(self), _term(other), self.paths
        if there is not None:
            return SymbolicInt(operation(there, here, paths) if reflected else operation(here, there, paths), paths)
        if not isinstance(other, float | complex):
            return NotImplemented
        value, apply = paths.concretise(here, f"{name} with {type(other).__name__}"), getattr(operator, name)
        return apply(other, value) if reflected else apply(value, other)

    return lambda self, other: applied(self, other, False), lambda self, other: applied(self, other, True)


def _only_real(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """An operator without a symbolic form."""

    def real(self: Any, value: Any) -> Any:
        return self.paths.concretise(_term(value), name) if type(value) in (SymbolicInt, SymbolicBool) else value

    apply = getattr(operator, name)
    return (
        lambda self, other: apply(real(self, self), real(self, other)),
        lambda self, other: apply(real(self, other), real(self, self)),
    )


def _compared(operation: Callable[[Any, Any], Any], name: str) -> Callable[..., Any]:
    def compare(self: Any, other: Any) -> Any:
        term = _term(other)
        if term is None:
            if isinstance(other, float):
                return getattr(operator, name)(self.paths.concretise(_term(self), f"{name} with float"), other)
            return NotImplemented
        return SymbolicBool(operation(_term(self), term), self.paths)

    return compare


def _divided(one: Any, other: Any, paths: SymbolicPaths) -> Any:
    """Python's floor division. That of z3 rounds so that the rest is never negative."""
    if paths.fork(other == 0):
        raise ZeroDivisionError("integer division or modulo by zero")
    return z3.If(other > 0, one / other, (-one) / (-other))


def _rest(one: Any, other: Any, paths: SymbolicPaths) -> Any:
    return one - other * _divided(one, other, paths)


def _masked(one: Any, other: Any, paths: SymbolicPaths) -> Any:
    """The last bits of a number, if the other number is a known mask of these."""
    for left, right in ((one, other), (other, one)):
        size = right.as_long() + 1 if z3.is_int_value(right) else 0
        if size > 0 and size & (size - 1) == 0:
            return left % _literal(size)
    return _literal(paths.concretise(one, "and_") & paths.concretise(other, "and_"))


def _shifted(left: bool) -> Callable[[Any, Any, SymbolicPaths], Any]:
    def shift(one: Any, other: Any, paths: SymbolicPaths) -> Any:
        size = paths.value(other)
        if size < 0:
            raise ValueError("negative shift count")
        return one * _literal(2**size) if left else one / _literal(2**size)

    return shift


def _power(one: Any, other: Any, paths: SymbolicPaths) -> Any:
    size = paths.value(other)
    if size < 0:
        return _literal(paths.concretise(one, "pow"))
    result = _literal(1)
    for _ in range(size):
        result = result * one
    return result


class _Symbolic:
    """What numbers and truth values have in common: a truth value is a number too."""

    __slots__ = ("paths", "term")

    def __init__(self, term: Any, paths: SymbolicPaths) -> None:
        self.term = term
        self.paths = paths

    __add__, __radd__ = _arithmetic(lambda one, other, _: one + other, "add")
    __sub__, __rsub__ = _arithmetic(lambda one, other, _: one - other, "sub")
    __mul__, __rmul__ = _arithmetic(lambda one, other, _: one * other, "mul")
    __floordiv__, __rfloordiv__ = _arithmetic(_divided, "floordiv")
    __mod__, __rmod__ = _arithmetic(_rest, "mod")
    __pow__, __rpow__ = _arithmetic(_power, "pow")
    __lshift__, __rlshift__ = _arithmetic(_shifted(True), "lshift")
    __rshift__, __rrshift__ = _arithmetic(_shifted(False), "rshift")
    __and__, __rand__ = _arithmetic(_masked, "and_")
    __or__, __ror__ = _only_real("or_")
    __xor__, __rxor__ = _only_real("xor")
    __truediv__, __rtruediv__ = _only_real("truediv")

    __lt__ = _compared(lambda one, other: one < other, "lt")
    __le__ = _compared(lambda one, other: one <= other, "le")
    __gt__ = _compared(lambda one, other: one > other, "gt")
    __ge__ = _compared(lambda one, other: one >= other, "ge")
    __eq__ = _compared(lambda one, other: one == other, "eq")
    __ne__ = _compared(lambda one, other: one != other, "ne")

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __hash__(self) -> int:
        return hash(self.paths.value(_term(self)))

    def __index__(self) -> int:
        return self.paths.value(_term(self))

    __int__ = __trunc__ = __index__

    def __float__(self) -> float:
        return float(self.paths.concretise(_term(self), "float"))

    def __neg__(self) -> Any:
        return SymbolicInt(-_term(self), self.paths)

    def __pos__(self) -> Any:
        return SymbolicInt(_term(self), self.paths)

    __floor__ = __ceil__ = __pos__

    def __round__(self, digits: int | None = None) -> Any:
        return +self if digits is None or digits >= 0 else round(self.paths.concretise(_term(self), "round"), digits)

    def __abs__(self) -> Any:
        term = _term(self)
        return SymbolicInt(z3.If(term >= 0, term, -term), self.paths)

    def __invert__(self) -> Any:
        return SymbolicInt(-_term(self) - 1, self.paths)

    def __str__(self) -> str:
        return self.paths.text(self.term)

    __repr__ = __str__

    def __format__(self, how: str) -> str:
        return format(int(self.paths.text(_term(self))), how) if how else str(self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(int, name):
            raise AttributeError(f"'int' object has no attribute {name!r}", name=name, obj=self)
        return getattr(self.paths.concretise(_term(self), name), name)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self


class SymbolicInt(_Symbolic):
    """An integer."""

    __slots__ = ()

    __class__ = property(lambda _: int)  # so that the program takes it for one

    def __bool__(self) -> bool:
        return self.paths.fork(self.term != 0)


def _logical(operation: Callable[[Any, Any], Any], arithmetic: Callable[..., Any]) -> Callable[..., Any]:
    """An operator that is logical between truth values, and arithmetic with a number."""

    def apply(self: Any, other: Any) -> Any:
        if type(other) not in (bool, SymbolicBool):
            return arithmetic(self, other)
        term = other.term if type(other) is SymbolicBool else z3.BoolVal(other)
        return SymbolicBool(operation(self.term, term), self.paths)

    return apply


class SymbolicBool(_Symbolic):
    """A truth value."""

    __slots__ = ()

    __class__ = property(lambda _: bool)

    def __bool__(self) -> bool:
        return self.paths.fork(self.term)

    __and__ = _logical(z3.And, _Symbolic.__and__)
    __or__ = _logical(z3.Or, _Symbolic.__or__)
    __xor__ = _logical(z3.Xor, _Symbolic.__xor__)
    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__
