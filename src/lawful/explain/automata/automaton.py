"""A deterministic automaton as integer tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from lawful.errors import LawfulError
from lawful.explain.automata.acyclic import acyclic

Transitions = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Automaton:
    """A complete deterministic automaton: each state has a next one for each letter; the sink is a state as any other.

    A letter is an index into `labels`. What `minimise` and all operations give is numbered breadth-first, letter by
    letter, from state 0: two such automata over the same labels have the same language just if they are equal."""

    labels: tuple[str, ...]
    initial: int
    transitions: Transitions
    accepting: frozenset[int]

    @classmethod
    def from_words(cls, words: Iterable[Sequence[int]], labels: Sequence[str]) -> Automaton:
        """The smallest automaton that accepts these words and no others."""
        transitions, accepting = acyclic(words, len(labels))
        return cls(tuple(labels), 0, transitions, accepting)

    @property
    def letters(self) -> range:
        """All letters."""
        return range(len(self.labels))

    def __len__(self) -> int:
        """How many states there are, the sink included."""
        return len(self.transitions)

    def state(self, word: Iterable[int], start: int | None = None) -> int:
        """Where a word leads, from the initial state or another one."""
        at, table = self.initial if start is None else start, self.transitions
        for letter in word:
            at = table[at][letter]
        return at

    def accepts(self, word: Iterable[int]) -> bool:
        """Whether a word belongs to the language."""
        return self.state(word) in self.accepting

    def spelled(self, word: Iterable[int]) -> tuple[str, ...]:
        """The labels of a word."""
        return tuple(self.labels[letter] for letter in word)

    def to_json(self) -> dict[str, Any]:
        """The automaton as plain data."""
        return {
            "alphabet": list(self.labels),
            "states": len(self),
            "initial": self.initial,
            "accepting": sorted(self.accepting),
            "transitions": [list(row) for row in self.transitions],
        }

    @classmethod
    def from_json(cls, data: object) -> Automaton:
        """The automaton that `to_json` gave; other keys are passed over."""
        problem = _problem(data)
        if problem is not None:
            raise LawfulError("explain-automaton", f"not an automaton: {problem}")
        assert isinstance(data, dict)
        rows = tuple(tuple(row) for row in data["transitions"])
        return cls(tuple(data["alphabet"]), data["initial"], rows, frozenset(data["accepting"]))


def _problem(data: object) -> str | None:
    """Why this is not the data of an automaton."""
    if not isinstance(data, dict):
        return "it is no object"
    missing = {"alphabet", "initial", "accepting", "transitions"} - data.keys()
    if missing:
        return f"{', '.join(sorted(missing))} missing"
    labels, rows = data["alphabet"], data["transitions"]
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        return "alphabet is no list of names"
    if len(set(labels)) != len(labels):
        return "alphabet names a letter twice"
    if not isinstance(rows, list) or not rows:
        return "transitions is no list of rows, one for each state"
    if any(not isinstance(row, list) or len(row) != len(labels) for row in rows):
        return "a row of transitions must have one state for each letter"
    if not isinstance(data["accepting"], list):
        return "accepting is no list of states"
    named = [data["initial"], *data["accepting"], *(state for row in rows for state in row)]
    if any(type(state) is not int or not 0 <= state < len(rows) for state in named):
        return f"a state is a number from 0 to {len(rows) - 1}"
    return None
