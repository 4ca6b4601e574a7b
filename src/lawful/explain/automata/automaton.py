"""A deterministic automaton as integer tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lawful.explain.automata.tables import Rows, acyclic


@dataclass(frozen=True)
class Automaton:
    """A complete deterministic automaton: each state has a next one for each letter; the sink is a state as any other.

    A letter is an index into `labels`. What `minimise` and all operations give is numbered breadth-first, letter by
    letter, from state 0: two such automata over the same labels have the same language just if they are equal."""

    labels: tuple[str, ...]
    initial: int
    transitions: Rows
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
