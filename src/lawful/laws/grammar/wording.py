"""Why a message was rejected, in words: the place in the grammar, the values, the assertion that failed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lawful.diagnostics import Source
from lawful.laws.grammar.evaluation import loader
from lawful.laws.grammar.machine import Key
from lawful.laws.grammar.steps import Failure, Stack, Steps
from lawful.laws.protocol import Event
from lawful.laws.rml.values import UNDEFINED

_LONGEST = 60
_MOST_FRAMES = 5  # of a deep stack: their values are shown


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a message, or the end, was not accepted."""

    group: Key
    terminal: str | None  # what the grammar calls the message; None: the end
    rule: str | None  # the place in the grammar, as `T ::= • id U`
    assertion: str | None  # that failed; None: the message may not come here at all
    where: str | None  # the assertion's place in the text
    reason: str | None  # why the assertion has no value
    values: Mapping[str, Any]  # attributes, by name
    expected: tuple[str, ...]  # messages that would be accepted here

    def to_json(self) -> dict[str, Any]:
        """All of it in JSON's types; values as they are."""
        return {name: getattr(self, name) for name in self.__slots__} | {
            "values": dict(self.values),
            "expected": list(self.expected),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Rejection:
        """What `to_json` has made of it."""
        return cls(**{**data, "expected": tuple(data["expected"])})

    @property
    def note(self) -> str:
        """What was found in place of the assertion's truth."""
        if self.assertion is None:
            return ""
        if self.reason is not None:
            return self.reason
        read = [f"{name} is {_shown(value)}" for name, value in self.values.items() if _mentions(self.assertion, name)]
        return ", ".join(read) or "it does not hold"


class Words:
    """Describes the states of a compiled grammar."""

    def __init__(self, steps: Steps, source: Source) -> None:
        self._steps = steps
        self._compiled = steps.compiled
        self._grammar = steps.compiled.grammar
        self._source = source
        self._loaders = [(load, loader(load)) for load in self._compiled.attributes]

    def rejection(self, key: Key, stack: Stack, terminal: int | None, event: Event | None) -> Rejection:
        """Why the message, or without one the end, is not accepted on this stack."""
        column = self._compiled.columns - 1 if terminal is None else terminal
        failed = self._failure(stack, column, event)
        assertion = where = reason = None
        rule: str | None
        expected: tuple[str, ...]
        if failed is not None:
            error = failed.error
            found = self._grammar.assertions[error.assertion]
            assertion, where, reason = found.text, self._source.where(found.span[0]), error.reason
            rule = self._grammar.rule_text(self._grammar.rules[found.rule])
            name = self._grammar.terminal_name(column)
            expected = (f"{name} with {assertion} ({where}, in {rule})",)
        else:
            rule = self.position(stack)
            expected = tuple(
                self.message(stack, each) for each in self._steps.expected(stack) if each < self._compiled.columns - 1
            )
        values = self.values(stack) if failed is None else self._values_there(failed)
        if event is not None and terminal is not None:
            values |= self.attributes(terminal, event)
        name_or_none = None if terminal is None else self._grammar.terminal_name(terminal)
        return Rejection(key, name_or_none, rule, assertion, where, reason, values, expected)

    def _failure(self, stack: Stack, column: int, event: Event | None) -> Failure | None:
        if not self._steps.is_expected(stack, column):
            return None
        return self._steps.failure(stack, column, {} if event is None else event)

    def _values_there(self, failed: Failure) -> dict[str, Any]:
        """The attributes in the rule whose assertion failed, and in those around it."""
        cell = failed.cell
        state = self._compiled.states[cell.state]
        found = _defined(reversed(failed.known.items()))
        found |= _defined(each for each in zip(state.names, cell.values, strict=True) if each[0] not in found)
        if failed.results and state.rule is not None:
            rule = self._grammar.rules[state.rule]
            owner = rule.alternative.symbols[state.position].called
            names = self._grammar.synthesised[~rule.symbols[state.position]]
            found |= _defined(zip((f"{owner}.{name}" for name in names), failed.results, strict=False))
        for name, value in self.values(cell.below, _MOST_FRAMES - 1).items():
            found.setdefault(name, value)
        return found

    def message(self, stack: Stack, terminal: int) -> str:
        """A message that may come here, as `id (receive Worker.sendCurrentId) in T ::= • id U`."""
        message = self._grammar.terminals[terminal]
        reply = "reply to " if message.reply else ""
        text = f"{message.terminal.text} ({message.direction} {reply}{message.method.text})"
        place = self.position(stack, terminal)
        return f"{text} in {place}" if place else text

    def position(self, stack: Stack, terminal: int | None = None) -> str | None:
        """The place in the grammar; with a message, in the rule that it chooses."""
        if stack is None:
            return None
        state = self._compiled.states[stack.state]
        if state.rule is not None:
            return self._grammar.rule_text(self._grammar.rules[state.rule], state.position)
        rule = None if terminal is None else self._compiled.choices[state.nonterminal].get(terminal)
        if rule is None:
            return None if terminal is not None else f"• {self._grammar.nonterminals[state.nonterminal]}"
        return self._grammar.rule_text(rule, 0) if rule.symbols else None

    def values(self, stack: Stack, most: int = _MOST_FRAMES) -> dict[str, Any]:
        """The attributes that are kept on the stack, innermost first."""
        found: dict[str, Any] = {}
        for _ in range(most):
            if stack is None:
                break
            found = _defined(zip(self._compiled.states[stack.state].names, stack.values, strict=True)) | found
            stack = stack.below
        return found

    def attributes(self, terminal: int, event: Event) -> dict[str, Any]:
        """The attributes of a message that the grammar takes up."""
        name = self._grammar.terminal_name(terminal)
        return _defined((str(load), value_of(event)) for load, value_of in self._loaders if load.owner == name)


def _defined(values: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    return {name: value for name, value in values if value is not UNDEFINED}


def _mentions(assertion: str, name: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", assertion) is not None


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
