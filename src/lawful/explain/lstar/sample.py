"""The known answers for words as a prefix tree, and small automata for them, by merging states of the tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from lawful.explain.automata import Automaton, minimise
from lawful.explain.teacher import Word


class Sample:
    """The tree of words, without their error letters: what comes after a node, and whether the program fails there."""

    def __init__(self) -> None:
        self.after: list[dict[int, int]] = [{}]
        self.fails: list[bool | None] = [None]  # none: it is not known, or free

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


def merged(sample: Sample) -> Partial:
    """Red and blue state merging: a consistent automaton, not always the smallest.

    A node at the fringe is merged with the state for which most of what is known agrees, and becomes a state of its
    own where there is none. Nodes that lead to no failure are left out, but must not come to fail."""
    return _Merging(sample).run()


class _Merging:
    def __init__(self, sample: Sample) -> None:
        self._after = [dict(after) for after in sample.after]
        self._fails = list(sample.fails)
        self._leading = sample.leading()
        self._undo: list[Callable[[], None]] = []

    def run(self) -> Partial:
        states, numbers = [0], {0: 0}
        # Merging can give new steps to any state, so all of them are looked at again after a change.
        while (found := self._fringe(states, numbers)) is not None:
            source, letter, node = found
            best = self._best(states, source, letter, node)
            if best is None:
                numbers[node] = len(states)
                states.append(node)
            else:
                self._merge(best, source, letter, node)
                self._undo.clear()
        steps = [
            {letter: numbers[target] for letter, target in sorted(self._after[state].items()) if target in numbers}
            for state in states
        ]
        return Partial(steps, {number for number, state in enumerate(states) if self._fails[state]})

    def _fringe(self, states: list[int], numbers: dict[int, int]) -> tuple[int, int, int] | None:
        """The first step from a state to a node that leads to a failure and is not a state yet."""
        for state in states:
            for letter, target in sorted(self._after[state].items()):
                if target not in numbers and self._leading[target]:
                    return state, letter, target
        return None

    def _best(self, states: list[int], source: int, letter: int, node: int) -> int | None:
        best, most = None, -1
        for state in states:
            score = self._merge(state, source, letter, node)
            while self._undo:
                self._undo.pop()()
            if score is not None and score > most:
                best, most = state, score
        return best

    def _merge(self, state: int, source: int, letter: int, node: int) -> int | None:
        """Makes the step lead to the state, which takes over all that is known after the node.

        The number of places where both were known, or None if they contradict each other."""
        self._set(self._after[source], letter, state)
        score, pending = 0, [(state, node)]
        while pending:
            into, other = pending.pop()
            if self._fails[other] is not None:
                if self._fails[into] is None:
                    self._set(self._fails, into, self._fails[other])
                elif self._fails[into] is not self._fails[other]:
                    return None
                else:
                    score += 1
            if self._leading[other] and not self._leading[into]:
                self._set(self._leading, into, True)
            for step, target in self._after[other].items():
                there = self._after[into].get(step)
                if there is None:
                    self._set(self._after[into], step, target)
                elif there != target:
                    pending.append((there, target))
        return score

    def _set(self, kept: Any, key: int, value: Any) -> None:
        if isinstance(kept, dict) and key not in kept:
            self._undo.append(lambda: kept.pop(key))
        else:
            old = kept[key]
            self._undo.append(lambda: kept.__setitem__(key, old))
        kept[key] = value
