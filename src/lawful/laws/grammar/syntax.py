"""Views and grammars as trees, with their places in the text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from lawful.diagnostics import Span
from lawful.laws.grammar.groups import Binding

Direction = Literal["send", "receive"]


@dataclass(frozen=True, slots=True)
class Name:
    text: str
    span: Span


# -- views ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a message: its type is for readers, its position says where the value stands."""

    name: Name
    type: str | None


@dataclass(frozen=True, slots=True)
class Message:
    """One line of a view: which message, and what the grammar calls it."""

    direction: Direction
    reply: bool  # the answer to a call, not the call
    method: Name
    parameters: tuple[Parameter, ...]
    terminal: Name
    span: Span


@dataclass(frozen=True, slots=True)
class View:
    name: Name
    file: Name | None  # of the grammar, if that is elsewhere
    group: Name | None  # None: any
    messages: tuple[Message, ...]


# -- expressions ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Literal_:
    value: Any
    span: Span
    depth: int = 1


@dataclass(frozen=True, slots=True)
class Word:
    """A name alone: a message of the production (its identity), or a constant."""

    name: str
    span: Span
    depth: int = 1


@dataclass(frozen=True, slots=True)
class Attribute:
    """`st.w`: an attribute of a symbol."""

    owner: Name
    name: Name
    span: Span
    depth: int = 1


@dataclass(frozen=True, slots=True)
class Operation:
    op: str
    operands: tuple[Expression, ...]
    span: Span
    depth: int = 1


@dataclass(frozen=True, slots=True)
class CallExpression:
    function: Name
    operands: tuple[Expression, ...]
    span: Span
    depth: int = 1


Expression = Literal_ | Word | Attribute | Operation | CallExpression


# -- grammars -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Definition:
    """`T.w = st.w;`"""

    owner: Name
    attribute: Name
    value: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class Assertion:
    condition: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class Symbol:
    """A terminal or nonterminal in a production, perhaps with a name of its own: `left:S`."""

    name: Name
    label: Name | None


@dataclass(frozen=True, slots=True)
class Alternative:
    symbols: tuple[Symbol, ...]  # none: epsilon
    definitions: tuple[Definition, ...]
    assertions: tuple[Assertion, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Production:
    head: Name
    alternatives: tuple[Alternative, ...]


@dataclass(frozen=True, slots=True)
class Start:
    """`start S (S.n = 0;)`: where a group begins, and with which attributes."""

    name: Name
    definitions: tuple[Definition, ...]


@dataclass(frozen=True, slots=True)
class Constant:
    """`const ListSchedule = "list";`: what a name in an expression stands for in events."""

    name: Name
    value: Any


@dataclass(frozen=True, slots=True)
class Group:
    """`group WorkerGroup is class app.Worker;`: what the group is in a running program."""

    name: Name
    bindings: tuple[Binding, ...]


@dataclass(frozen=True, slots=True)
class Class:
    """`class Worker is app.workers.Worker;`: where a class of the view is."""

    name: Name
    target: Name


@dataclass(frozen=True, slots=True)
class File:
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
