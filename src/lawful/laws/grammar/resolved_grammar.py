"""A grammar whose names are resolved: what the checker makes of the trees, and the compiler works on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from lawful.diagnostics import Span
from lawful.laws.grammar.functions import Function
from lawful.laws.grammar.syntax import Alternative, Message

END = "the end"
"""What stands for the end of the trace where terminals are listed."""

BUILT_IN: Mapping[str, str] = {
    "callee": "targetId",
    "caller": "callerId",
    "group": "groupId",
    "time": "time",
    "call": "callId",
}
"""Attributes that every message has, with the fields of its event."""

OF_REPLIES: Mapping[str, str] = {"of": "callId", "exception": "exception"}
RESULT = "result"
"""Of a reply: `resultId` of an object, otherwise `res`."""


class Ref(NamedTuple):
    """A value that a rule can speak of."""

    kind: str  # head: given to the rule; given: to a child; child: computed by a child; message: of a terminal
    position: int  # among the symbols; -1: the head
    attribute: str


HEAD, GIVEN, CHILD, MESSAGE = "head", "given", "child", "message"


class Register(NamedTuple):
    """What the compiler puts in the place of a `Ref`.

    The registers of a transition are the values of the frame, then results from above, then what the code computes.
    """

    number: int


class ConstantTerm(NamedTuple):
    value: Any


class OperationTerm(NamedTuple):
    op: str
    operands: tuple[Term, ...]


class CallTerm(NamedTuple):
    function: Function
    operands: tuple[Term, ...]


Term = Ref | Register | ConstantTerm | OperationTerm | CallTerm


def refs(term: Term) -> set[Ref]:
    """All values that a term reads."""
    if isinstance(term, Ref):
        return {term}
    if isinstance(term, ConstantTerm | Register):
        return set()
    return {ref for operand in term.operands for ref in refs(operand)}


class Let(NamedTuple):
    """Give a value to a child, before it begins."""

    ref: Ref
    term: Term


class Check(NamedTuple):
    """An assertion; `number` is its place in `Grammar.assertions`."""

    term: Term
    number: int


Action = Let | Check


@dataclass(frozen=True)
class Rule:
    """One alternative of a production."""

    number: int
    head: int
    symbols: tuple[int, ...]  # terminals are 0, 1, ..., nonterminals -1, -2, ...
    actions: tuple[tuple[Action, ...], ...]  # before each symbol, and after the last
    results: tuple[Term, ...]  # the head's synthesised attributes
    alternative: Alternative

    @cached_property
    def kept(self) -> tuple[tuple[Ref, ...], ...]:
        """The values that must be kept while each symbol comes."""
        found: list[tuple[Ref, ...]] = []
        wanted = {ref for term in self.results for ref in refs(term)}
        for position in range(len(self.symbols) - 1, -1, -1):
            wanted |= {ref for action in self.actions[position + 1] for ref in refs(action.term)}
            found.append(tuple(sorted(ref for ref in wanted if known_at(ref) <= position)))
        return tuple(reversed(found))

    @property
    def ends_idly(self) -> bool:
        """Is there nothing left to do after the last symbol?"""
        return not self.actions[-1] and not self.results


def known_at(ref: Ref) -> int:
    """Before which symbol a value is known at the latest."""
    return ref.position + 1 if ref.kind in (CHILD, MESSAGE) else max(ref.position, 0)


@dataclass(frozen=True)
class LocatedAssertion:
    """An assertion, where it stands, and in words."""

    rule: int
    span: Span
    text: str


@dataclass(frozen=True)
class Grammar:
    """Rules over messages."""

    terminals: tuple[Message, ...]
    nonterminals: tuple[str, ...]
    rules: tuple[Rule, ...]
    start: int
    start_values: tuple[Term, ...]
    inherited: tuple[tuple[str, ...], ...]  # attributes of each nonterminal that are read
    synthesised: tuple[tuple[str, ...], ...]
    assertions: tuple[LocatedAssertion, ...]

    @cached_property
    def alternatives(self) -> tuple[tuple[Rule, ...], ...]:
        """The rules of each nonterminal."""
        found: list[list[Rule]] = [[] for _ in self.nonterminals]
        for rule in self.rules:
            found[rule.head].append(rule)
        return tuple(map(tuple, found))

    @cached_property
    def reached(self) -> set[int]:
        """The nonterminals to which the start leads."""
        reached, pending = {self.start}, [self.start]
        while pending:
            for rule in self.alternatives[pending.pop()]:
                new = {~symbol for symbol in rule.symbols if symbol < 0} - reached
                reached |= new
                pending += new
        return reached

    def terminal_name(self, terminal: int) -> str:
        """The name of a terminal, or of the end of the trace."""
        return END if terminal == len(self.terminals) else self.terminals[terminal].terminal.text

    def rule_text(self, rule: Rule, dot: int | None = None) -> str:
        """The rule without its attributes, as `T ::= id U`, with a dot where it is if that is asked."""
        names = (self.terminal_name(each) if each >= 0 else self.nonterminals[~each] for each in rule.symbols)
        words = [*names] or ["epsilon"]
        if dot is not None:
            words.insert(dot, "•")
        return f"{self.nonterminals[rule.head]} ::= {' '.join(words)}"


def attributes(message: Message) -> list[str]:
    """The attributes that a message has, its parameters first."""
    own = [parameter.name.text for parameter in message.parameters]
    if message.reply:
        own += [RESULT, *OF_REPLIES]
    return list(dict.fromkeys([*own, *BUILT_IN]))
