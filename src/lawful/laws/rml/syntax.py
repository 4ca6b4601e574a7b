"""The syntax tree of an RML specification, as written: every node knows its place in the text."""

from __future__ import annotations

from dataclasses import dataclass, field

Span = tuple[int, int]
"""Offsets into the source text: first character, one past the last."""

Scalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Node:
    span: Span = field(compare=False, kw_only=True, default=(0, 0))


# -- data expressions and patterns ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """A constant, in a data expression or in a pattern."""

    value: Scalar


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A variable, in a data expression or in a pattern."""

    name: str


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """``-x``."""

    op: str
    operand: Data


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """``^ * / + - < <= > >= == != && ||``."""

    op: str
    left: Data
    right: Data


@dataclass(frozen=True, slots=True)
class Apply(Node):
    """``abs sin cos tan`` with one argument, ``min max`` with two."""

    function: str
    args: tuple[Data, ...]


Data = Literal | Name | Unary | Binary | Apply


@dataclass(frozen=True, slots=True)
class Wildcard(Node):
    """``_``: any value, but there must be one."""


@dataclass(frozen=True, slots=True)
class ObjectPattern(Node):
    """``{key: pattern, ...}``: the object has these keys, and perhaps more."""

    fields: tuple[tuple[str, Pattern], ...]


@dataclass(frozen=True, slots=True)
class ListPattern(Node):
    """``[p, q]``, or ``[p, q, ...]`` when open; ``[...]`` is open without items and needs one element."""

    items: tuple[Pattern, ...]
    open: bool


@dataclass(frozen=True, slots=True)
class AnyOf(Node):
    """``p | q | ...``: ordered alternatives."""

    options: tuple[Pattern, ...]


Pattern = Literal | Name | Wildcard | ObjectPattern | ListPattern | AnyOf
Argument = Data | Pattern


# -- event types ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EventUse(Node):
    """An event type with its arguments: ``close(f)``."""

    name: str
    args: tuple[Argument, ...] = ()


@dataclass(frozen=True, slots=True)
class Declaration(Node):
    """``name(params) [not] matches body [with guard];`` where the body is a pattern or event types in order."""

    name: str
    params: tuple[str, ...]
    negated: bool
    body: Pattern | tuple[EventUse, ...]
    guard: Data | None


# -- trace expressions ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Empty(Node):
    """``empty``."""


@dataclass(frozen=True, slots=True)
class All(Node):
    """``all``."""


@dataclass(frozen=True, slots=True)
class Event(Node):
    """One event of a type."""

    use: EventUse


@dataclass(frozen=True, slots=True)
class Concat(Node):
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class And(Node):
    r"""``A /\ B``."""

    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Or(Node):
    r"""``A \/ B``."""

    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Shuffle(Node):
    """``A | B``."""

    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Star(Node):
    body: Expression


@dataclass(frozen=True, slots=True)
class Plus(Node):
    body: Expression


@dataclass(frozen=True, slots=True)
class Optional(Node):
    """``A?``."""

    body: Expression


@dataclass(frozen=True, slots=True)
class Closure(Node):
    """``A!``: every prefix too."""

    body: Expression


@dataclass(frozen=True, slots=True)
class Times(Node):
    """``A{n}``."""

    body: Expression
    count: int


@dataclass(frozen=True, slots=True)
class Let(Node):
    """``{let x, y; A}``."""

    names: tuple[str, ...]
    body: Expression


@dataclass(frozen=True, slots=True)
class Filter(Node):
    """``use >> body : otherwise``; without ``:`` the rest is ``all``."""

    use: EventUse
    body: Expression
    otherwise: Expression | None


@dataclass(frozen=True, slots=True)
class Call(Node):
    """``G<args>``, or just ``G``."""

    name: str
    args: tuple[Data, ...] = ()


@dataclass(frozen=True, slots=True)
class If(Node):
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
    | Call
    | If
)


@dataclass(frozen=True, slots=True)
class Equation(Node):
    name: str
    params: tuple[str, ...]
    body: Expression


@dataclass(frozen=True, slots=True)
class Specification:
    """A whole law, parsed."""

    declarations: tuple[Declaration, ...]
    equations: tuple[Equation, ...]
