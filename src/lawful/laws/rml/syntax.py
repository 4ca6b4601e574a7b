"""The syntax tree of an RML specification, as written: every node knows its place in the text."""

from __future__ import annotations

import msgspec

Span = tuple[int, int]
"""Offsets into the source text: first character, one past the last."""

Scalar = str | int | float | bool | None


class Node(msgspec.Struct, frozen=True, kw_only=True, eq=False, gc=False):
    """A part of a law. Two are equal if they say the same, wherever they stand.

    They are in no cycles, so the garbage collector of a watched program need not look through them.
    """

    span: Span = (0, 0)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__struct_fields__ if name != "span")

    def __hash__(self) -> int:
        return hash((type(self), *(getattr(self, name) for name in self.__struct_fields__ if name != "span")))


# -- data expressions and patterns ---------------------------------------------------------------


class Literal(Node, frozen=True, eq=False):
    """A constant, in a data expression or in a pattern."""

    value: Scalar


class Name(Node, frozen=True, eq=False):
    """A variable, in a data expression or in a pattern."""

    name: str


class Unary(Node, frozen=True, eq=False):
    """``-x``."""

    op: str
    operand: Data


class Binary(Node, frozen=True, eq=False):
    """``^ * / + - < <= > >= == != && ||``."""

    op: str
    left: Data
    right: Data


class Apply(Node, frozen=True, eq=False):
    """``abs sin cos tan`` with one argument, ``min max`` with two."""

    function: str
    args: tuple[Data, ...]


Data = Literal | Name | Unary | Binary | Apply


class Wildcard(Node, frozen=True, eq=False):
    """``_``: any value, but there must be one."""


class ObjectPattern(Node, frozen=True, eq=False):
    """``{key: pattern, ...}``: the object has these keys, and perhaps more."""

    fields: tuple[tuple[str, Pattern], ...]


class ListPattern(Node, frozen=True, eq=False):
    """``[p, q]``, or ``[p, q, ...]`` when open; ``[...]`` is open without items and needs one element."""

    items: tuple[Pattern, ...]
    open: bool


class AnyOf(Node, frozen=True, eq=False):
    """``p | q | ...``: ordered alternatives."""

    options: tuple[Pattern, ...]


Pattern = Literal | Name | Wildcard | ObjectPattern | ListPattern | AnyOf
Argument = Data | Pattern


# -- event types ---------------------------------------------------------------------------------


class EventUse(Node, frozen=True, eq=False):
    """An event type with its arguments: ``close(f)``."""

    name: str
    args: tuple[Argument, ...] = ()


class Declaration(Node, frozen=True, eq=False):
    """``name(params) [not] matches body [with guard];`` where the body is a pattern or event types in order."""

    name: str
    params: tuple[str, ...]
    negated: bool
    body: Pattern | tuple[EventUse, ...]
    guard: Data | None


# -- trace expressions ---------------------------------------------------------------------------


class Empty(Node, frozen=True, eq=False):
    """``empty``."""


class All(Node, frozen=True, eq=False):
    """``all``."""


class Event(Node, frozen=True, eq=False):
    """One event of a type."""

    use: EventUse


class Concat(Node, frozen=True, eq=False):
    left: Expression
    right: Expression


class And(Node, frozen=True, eq=False):
    r"""``A /\ B``."""

    left: Expression
    right: Expression


class Or(Node, frozen=True, eq=False):
    r"""``A \/ B``."""

    left: Expression
    right: Expression


class Shuffle(Node, frozen=True, eq=False):
    """``A | B``."""

    left: Expression
    right: Expression


class Star(Node, frozen=True, eq=False):
    body: Expression


class Plus(Node, frozen=True, eq=False):
    body: Expression


class Optional(Node, frozen=True, eq=False):
    """``A?``."""

    body: Expression


class Closure(Node, frozen=True, eq=False):
    """``A!``: every prefix too."""

    body: Expression


class Times(Node, frozen=True, eq=False):
    """``A{n}``."""

    body: Expression
    count: int


class Let(Node, frozen=True, eq=False):
    """``{let x, y; A}``."""

    names: tuple[str, ...]
    body: Expression


class Filter(Node, frozen=True, eq=False):
    """``use >> body : otherwise``; without ``:`` the rest is ``all``."""

    use: EventUse
    body: Expression
    otherwise: Expression | None


class EquationCall(Node, frozen=True, eq=False):
    """``G<args>``, or just ``G``."""

    name: str
    args: tuple[Data, ...] = ()


class If(Node, frozen=True, eq=False):
    condition: Data
    then: Expression
    otherwise: Expression


Expression = (
    Empty
    | All
    | Event
    | Concat
    | And
    | Or
    | Shuffle
    | Star
    | Plus
    | Optional
    | Closure
    | Times
    | Let
    | Filter
    | EquationCall
    | If
)


class Equation(Node, frozen=True, eq=False):
    name: str
    params: tuple[str, ...]
    body: Expression


class Specification(msgspec.Struct, frozen=True):
    """A whole law, parsed."""

    declarations: tuple[Declaration, ...]
    equations: tuple[Equation, ...]
