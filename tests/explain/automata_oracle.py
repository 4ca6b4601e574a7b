"""Random automata and languages, and slow but plain ways to know what the automata should be."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any

import pytest
from automata.fa.dfa import DFA

from lawful import core
from lawful.explain.automata import Automaton, live

NATIVE = core.native
CORES = [pytest.param("native", marks=pytest.mark.skipif(NATIVE is None, reason="the C core is not built")), "python"]

Word = tuple[int, ...]


@contextmanager
def using(which: str) -> Iterator[None]:
    """One of the cores, whatever was chosen."""
    before: Any = core.native
    core.native = NATIVE if which == "native" else None
    try:
        yield
    finally:
        core.native = before


def random_automaton(dice: random.Random, states: int, labels: str = "ab", accepting: float = 0.4) -> Automaton:
    rows = tuple(tuple(dice.randrange(states) for _ in labels) for _ in range(states))
    chosen = frozenset(state for state in range(states) if dice.random() < accepting)
    return Automaton(tuple(labels), dice.randrange(states), rows, chosen)


def random_words(dice: random.Random, letters: int, most: int, longest: int) -> set[Word]:
    return {
        tuple(dice.randrange(letters) for _ in range(dice.randint(0, longest))) for _ in range(dice.randint(0, most))
    }


def all_words(letters: int, longest: int) -> list[Word]:
    """In order of length, and of letters within a length."""
    return [word for length in range(longest + 1) for word in product(range(letters), repeat=length)]


def accepted(automaton: Automaton, longest: int) -> set[Word]:
    """Step by step, with nothing of the class but its tables."""
    found = set()
    for word in all_words(len(automaton.labels), longest):
        state = automaton.initial
        for letter in word:
            state = automaton.transitions[state][letter]
        if state in automaton.accepting:
            found.add(word)
    return found


def classes(automaton: Automaton) -> int:
    """How many of the reachable states some word distinguishes: it marks pairs until no pair is new."""
    reached = {automaton.initial}
    while len(more := reached | {target for state in reached for target in automaton.transitions[state]}) > len(
        reached
    ):
        reached = more
    apart = {(p, q) for p in reached for q in reached if (p in automaton.accepting) != (q in automaton.accepting)}
    rows = automaton.transitions
    while True:
        more_apart = {
            (p, q)
            for p in reached
            for q in reached
            if any(pair in apart for pair in zip(rows[p], rows[q], strict=True))
        }
        if more_apart <= apart:
            break
        apart |= more_apart
    return len({frozenset(q for q in reached if (p, q) not in apart) for p in reached})


def in_automata_lib(automaton: Automaton) -> DFA:
    labels = automaton.labels
    return DFA(
        states=set(range(len(automaton))),
        input_symbols=set(labels),
        transitions={state: dict(zip(labels, row, strict=True)) for state, row in enumerate(automaton.transitions)},
        initial_state=automaton.initial,
        final_states=set(automaton.accepting),
    )


def from_automata_lib(dfa: DFA, labels: tuple[str, ...]) -> Automaton:
    """Also of an automaton in which steps are missing."""
    states = {state: number for number, state in enumerate(sorted(dfa.states, key=str))}
    sink = len(states)
    rows = [
        tuple(states[dfa.transitions[state][label]] if label in dfa.transitions[state] else sink for label in labels)
        for state in states
    ]
    rows.append((sink,) * len(labels))
    final = frozenset(states[state] for state in dfa.final_states)
    return Automaton(labels, states[dfa.initial_state], tuple(rows), final)


def counting(length: int) -> Automaton:
    """A ring: words whose length is a multiple of this. Its states differ only in long words."""
    return Automaton(("a",), 0, tuple(((state + 1) % length,) for state in range(length)), frozenset({0}))


def live_edges(automaton: Automaton) -> list[tuple[int, int, int]]:
    """Source, letter and target of each step between live states: the automaton without its sink."""
    alive = live(automaton)
    return [
        (state, letter, target)
        for state in sorted(alive)
        for letter, target in enumerate(automaton.transitions[state])
        if target in alive
    ]
