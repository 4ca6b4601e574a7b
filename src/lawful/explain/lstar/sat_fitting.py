"""The smallest automaton for a sample, by a SAT solver."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product
from typing import Any

from lawful.explain.lstar.sample import Partial, Sample


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
