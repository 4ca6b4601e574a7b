"""A small automaton for a sample, by merging states of its tree where the evidence is strongest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lawful.explain.lstar.sample import Partial, Sample


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
