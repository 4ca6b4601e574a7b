"""The known answers for words as a prefix tree, and small automata for them: by merging states, or by a SAT solver."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
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

    It merges a node at the fringe with the state that agrees with most known answers. A node with which no state
    agrees becomes a state. Nodes that do not lead to a failure are left out, but must not come to fail."""
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


class OutOfConflicts(Exception):
    """The solver spent its conflicts before it knew."""


def solver() -> Callable[..., Any] | None:
    """What makes a SAT solver, if python-sat is installed."""
    try:
        found: Callable[..., Any] = importlib.import_module("pysat.solvers").Glucose4
    except ImportError:
        return None
    return found


def different(sample: Sample) -> list[int]:
    """Nodes that must all be different states, found greedily: as many states are needed at least."""
    leading = sample.leading()
    chosen = [0]
    for node in range(1, len(sample)):
        if leading[node] and all(_apart(sample, node, other) for other in chosen):
            chosen.append(node)
    return chosen


def _apart(sample: Sample, one: int, other: int) -> bool:
    """Whether a word is known to fail after one of the nodes, and not to fail after the other."""
    pending = [(one, other)]
    while pending:
        left, right = pending.pop()
        said = (sample.fails[left], sample.fails[right])
        if said in ((True, False), (False, True)):
            return True
        for letter, target in sample.after[left].items():
            if letter in sample.after[right]:
                pending.append((target, sample.after[right][letter]))
    return False


class Fitting:
    """Looks for an automaton with so many states that agrees with a sample, also as the sample grows.

    Heule and Verwer's encoding, for automata in which steps may be missing: a node that leads to no failure needs
    no state, but if its word can be followed it must not end in a failing state. What was once said of a word
    must not be taken back."""

    def __init__(self, sample: Sample, states: int, make: Callable[..., Any]) -> None:
        self.sample = sample
        self.states = range(states)
        self._sat = make()
        self._steps: dict[tuple[int, int, int], int] = {}
        self._at: list[range] = []
        self._fails = range(1, states + 1)
        self._last = states
        self._said: list[bool | None] = []
        self._leads: list[bool] = []
        self._fixed = different(sample)

    def solve(self, conflicts: int) -> tuple[Partial | None, int]:
        """An automaton, or None if none fits, and the conflicts it took; `OutOfConflicts` if they were too few."""
        for clause in self._new():
            self._sat.add_clause(clause)
        before = self._sat.accum_stats()["conflicts"]
        self._sat.conf_budget(conflicts)
        found = self._sat.solve_limited()
        if found is None:
            raise OutOfConflicts
        spent = self._sat.accum_stats()["conflicts"] - before
        return self._read(set(self._sat.get_model())) if found else None, spent

    def close(self) -> None:
        """Gives the solver's memory back."""
        self._sat.delete()

    def _new(self) -> Iterator[list[int]]:
        """What was not yet said of the sample."""
        sample, states, first = self.sample, self.states, len(self._at)
        for node in range(first, len(sample)):
            self._at.append(range(self._last + 1, self._last + 1 + len(states)))
            self._last += len(states)
            self._said.append(None)
            self._leads.append(False)
            yield from _at_most_one(self._at[node])
        if not first:
            # Which of the states these are is all the same, so it is fixed.
            yield from ([self._at[node][state]] for state, node in enumerate(self._fixed))
        for node, leads in enumerate(sample.leading()):
            if leads and not self._leads[node]:
                self._leads[node] = True
                yield list(self._at[node])
            fails = sample.fails[node]
            if fails is not None and self._said[node] is None:
                self._said[node] = fails
                for at, failing in zip(self._at[node], self._fails, strict=True):
                    yield [-at, failing if fails else -failing]
        for node, letter, after in sample.edges():
            if after >= first:
                yield from self._edge(node, letter, after)

    def _edge(self, node: int, letter: int, after: int) -> Iterator[list[int]]:
        """The node after has the state to which the step leads."""
        if (letter, 0, 0) not in self._steps:
            for state, target in product(self.states, self.states):
                self._last += 1
                self._steps[letter, state, target] = self._last
            for state in self.states:
                yield from _at_most_one([self._steps[letter, state, target] for target in self.states])
        here, there = self._at[node], self._at[after]
        for state, target in product(self.states, self.states):
            step = self._steps[letter, state, target]
            yield [-here[state], -step, there[target]]
            yield [-here[state], -there[target], step]

    def _read(self, true: set[int]) -> Partial:
        steps: list[dict[int, int]] = [{} for _ in self.states]
        for (letter, state, target), step in self._steps.items():
            if step in true:
                steps[state][letter] = target
        return Partial(steps, {state for state in self.states if self._fails[state] in true})


def _at_most_one(literals: Sequence[int]) -> Iterator[list[int]]:
    return ([-one, -other] for one, other in combinations(literals, 2))
