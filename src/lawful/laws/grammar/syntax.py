"""Views and grammars as trees, with their places in the text."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from lawful.diagnostics import Span
from lawful.laws.grammar.groups import Binding

Direction = Literal["send", "receive"]


class Name(NamedTuple):
    text: str
    span: Span


# -- views ----------------------------------------------------------------------------------------


class Parameter(NamedTuple):
    """A parameter of a message: its type is for readers, its position says where the value stands."""

    name: Name
    type: str | None


class Message(NamedTuple):
    """One line of a view: which message, and what the grammar calls it."""

    direction: Direction
    reply: bool  # the answer to a call, not the call
    method: Name
    parameters: tuple[Parameter, ...]
    terminal: Name
    span: Span


class View(NamedTuple):
    name: Name
    file: Name | None  # of the grammar, if that is elsewhere
    group: Name | None  # None: any
    messages: tuple[Message, ...]


# -- expressions ----------------------------------------------------------------------------------


class Literal_(NamedTuple):
    value: Any
    span: Span
    depth: int = 1


class Word(NamedTuple):
    """A name alone: a message of the production (its identity), or a constant."""

    name: str
    span: Span
    depth: int = 1


class Attribute(NamedTuple):
    """`st.w`: an attribute of a symbol."""

    owner: Name
    name: Name
    span: Span
    depth: int = 1


class Operation(NamedTuple):
    op: str
    operands: tuple[Expression, ...]
    span: Span
    depth: int = 1


class CallExpression(NamedTuple):
    function: Name
    operands: tuple[Expression, ...]
    span: Span
    depth: int = 1


Expression = Literal_ | Word | Attribute | Operation | CallExpression


# -- grammars -------------------------------------------------------------------------------------


class Definition(NamedTuple):
    """`T.w = st.w;`"""

    owner: Name
    attribute: Name
    value: Expression
    span: Span


class Assertion(NamedTuple):
    condition: Expression

    @property
    def span(self) -> Span:
        return self.condition.span


class Symbol(NamedTuple):
    """A terminal or nonterminal in a production, perhaps with a name of its own: `left:S`."""

    name: Name
    label: Name | None

    @property
    def called(self) -> str:
        """How expressions call it."""
        return (self.label or self.name).text

    @property
    def span(self) -> Span:
        return (self.label or self.name).span[0], self.name.span[1]


class Alternative(NamedTuple):
    symbols: tuple[Symbol, ...]  # none: epsilon
    definitions: tuple[Definition, ...]
    assertions: tuple[Assertion, ...]
    span: Span


class Production(NamedTuple):
    head: Name
    alternatives: tuple[Alternative, ...]


class Start(NamedTuple):
    """`start S (S.n = 0;)`: where a group begins, and with which attributes."""

    name: Name
    definitions: tuple[Definition, ...]


class Constant(NamedTuple):
    """`const ListSchedule = "list";`: what a name in an expression stands for in events."""

    name: Name
    value: Any


class Group(NamedTuple):
    """`group WorkerGroup is class app.Worker;`: what the group is in a running program."""

    name: Name
    bindings: tuple[Binding, ...]


class Class(NamedTuple):
    """`class Worker is app.workers.Worker;`: where a class of the view is."""

    name: Name
    target: Name


class File(NamedTuple):
    """All that one file says."""

    views: tuple[View, ...]
    constants: tuple[Constant, ...]
    starts: tuple[Start, ...]
    productions: tuple[Production, ...]
    groups: tuple[Group, ...] = ()
    classes: tuple[Class, ...] = ()


def conjuncts(expression: Expression) -> list[Expression]:
    """What must hold for the expression to hold: the operands of `&&`."""
    found: list[Expression] = []
    pending = [expression]
    while pending:
        each = pending.pop()
        if isinstance(each, Operation) and each.op == "&&":
            pending += reversed(each.operands)
        else:
            found.append(each)
    return found
