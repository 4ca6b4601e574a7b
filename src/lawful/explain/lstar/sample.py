"""The known answers for words as a prefix tree, and partial automata that have states for failing words only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lawful.explain.automata import Automaton, minimise
from lawful.explain.teacher import Word


class Sample:
    """The tree of words, without their error letters: what comes after a node, and whether the program fails there."""

    def __init__(self) -> None:
        self.after: list[dict[int, int]] = [{}]
        self.fails: list[bool | None] = [None]
        """None: it is not known, or free."""

    def add(self, word: Word, fails: bool) -> bool:
        """Puts a word in; whether the contrary was said of it before, which is forgotten."""
        node = 0
        for letter in word:
            if letter not in self.after[node]:
                self.after[node][letter] = len(self.after)
                self.after.append({})
                self.fails.append(None)
            node = self.after[node][letter]
        before, self.fails[node] = self.fails[node], fails
        return before is not None and before is not fails

    def __len__(self) -> int:
        return len(self.after)

    def edges(self) -> Iterator[tuple[int, int, int]]:
        """Node, letter, node after; a node comes before what is after it."""
        for node, after in enumerate(self.after):
            for letter, target in after.items():
                yield node, letter, target

    def leading(self) -> list[bool]:
        """For each node whether a failure lies there or further on. These nodes must have a state."""
        found = [fails is True for fails in self.fails]
        for node in range(len(self.after) - 1, -1, -1):
            found[node] = found[node] or any(found[target] for target in self.after[node].values())
        return found


@dataclass
class Partial:
    """States from 0, the initial one, with the steps that there are; all other steps lead nowhere."""

    steps: list[dict[int, int]]
    fails: set[int]

    def pruned(self, sample: Sample) -> Partial:
        """Without the steps that no failing word of the sample takes."""
        leading, at = sample.leading(), {0: 0}
        steps: list[dict[int, int]] = [{} for _ in self.steps]
        for node, letter, target in sample.edges():
            if leading[target]:
                at[target] = steps[at[node]][letter] = self.steps[at[node]][letter]
        return Partial(steps, {at[node] for node, fails in enumerate(sample.fails) if fails})

    def automaton(self, labels: tuple[str, ...], error: int) -> Automaton:
        """Failing states have the error letter as a step to the one accepting state."""
        end, sink = len(self.steps), len(self.steps) + 1
        rows = [
            tuple(
                (end if state in self.fails else sink) if letter == error else steps.get(letter, sink)
                for letter in range(len(labels))
            )
            for state, steps in enumerate(self.steps)
        ]
        rows += [(sink,) * len(labels)] * 2
        return minimise(Automaton(labels, 0, tuple(rows), frozenset({end})))
