"""The syntax tree of an RML specification, as written: every node knows its place in the text."""

from __future__ import annotations

import msgspec

Span = tuple[int, int]
"""Offsets into the source text: first character, one past the last."""

Scalar = str | int | float | bool | None

# Operators of trace expressions, each by its symbol.
SHUFFLE, OR, AND, CONCAT = "|", "\\/", "/\\", " "
STAR, PLUS, OPTIONAL, CLOSURE = "*", "+", "?", "!"

# How tightly operators bind, loosest first; all but concatenation are left-associative.
EXPRESSION_LEVELS: dict[str, int] = {SHUFFLE: 1, OR: 2, AND: 3, CONCAT: 4}
# Each operator on its own level, as in the original: `12/2*3` is 2, `10-2+3` is 5.
DATA_LEVELS: dict[str, int] = {
    op: level for level, op in enumerate(("||", "&&", "!=", "==", ">=", ">", "<=", "<", "-", "+", "/", "*", "neg", "^"))
}
FUNCTIONS: dict[str, int] = {"abs": 1, "sin": 1, "cos": 1, "tan": 1, "min": 2, "max": 2}
"""The functions of data, and how many arguments each takes."""


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

    @property
    def key(self) -> EventKey:
        return self.name, len(self.args)


EventKey = tuple[str, int]
"""An event type: its name and how many arguments it takes."""


class Statement(Node, frozen=True, eq=False):
    """A declaration or an equation: it begins with the name that it declares."""

    name: str

    @property
    def name_span(self) -> Span:
        return self.span[0], self.span[0] + len(self.name)


class Declaration(Statement, frozen=True, eq=False):
    """``name(params) [not] matches body [with guard];`` where the body is a pattern or event types in order."""

    params: tuple[str, ...]
    negated: bool
    body: Pattern | tuple[EventUse, ...]
    guard: Data | None

    @property
    def key(self) -> EventKey:
        return self.name, len(self.params)

    @property
    def uses(self) -> tuple[EventUse, ...]:
        """The event types that it is derived from; none if it has a pattern."""
        return self.body if isinstance(self.body, tuple) else ()


# -- trace expressions ---------------------------------------------------------------------------


class Trace(Node, frozen=True, eq=False):
    """What all trace expressions have."""

    @property
    def children(self) -> tuple[Expression, ...]:
        """The expressions directly inside this one, left to right."""
        parts = (getattr(self, name) for name in self.__struct_fields__)
        return tuple(part for part in parts if isinstance(part, Trace))  # type: ignore[misc]


class Empty(Trace, frozen=True, eq=False):
    """``empty``."""


class All(Trace, frozen=True, eq=False):
    """``all``."""


class Event(Trace, frozen=True, eq=False):
    """One event of a type."""

    use: EventUse


class Infix(Trace, frozen=True, eq=False):
    """``CONCAT``, ``AND``, ``OR`` or ``SHUFFLE`` between two operands."""

    op: str
    left: Expression
    right: Expression


class Postfix(Trace, frozen=True, eq=False):
    """``STAR``, ``PLUS``, ``OPTIONAL`` or ``CLOSURE`` (every prefix too) after its only operand."""

    op: str
    body: Expression


class Times(Trace, frozen=True, eq=False):
    """``A{n}``."""

    body: Expression
    count: int


class Let(Trace, frozen=True, eq=False):
    """``{let x, y; A}``."""

    names: tuple[str, ...]
    body: Expression


class Filter(Trace, frozen=True, eq=False):
    """``use >> body : otherwise``; without ``:`` the rest is ``all``."""

    use: EventUse
    body: Expression
    otherwise: Expression | None


class EquationCall(Trace, frozen=True, eq=False):
    """``G<args>``, or just ``G``."""

    name: str
    args: tuple[Data, ...] = ()


class If(Trace, frozen=True, eq=False):
    condition: Data
    then: Expression
    otherwise: Expression


Expression = Empty | All | Event | Infix | Postfix | Times | Let | Filter | EquationCall | If


class Equation(Statement, frozen=True, eq=False):
    params: tuple[str, ...]
    body: Expression


class Specification(msgspec.Struct, frozen=True):
    """A whole law, parsed."""

    declarations: tuple[Declaration, ...]
    equations: tuple[Equation, ...]

    @property
    def bodies(self) -> tuple[Expression, ...]:
        return tuple(equation.body for equation in self.equations)
