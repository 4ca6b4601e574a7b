"""What automata accept, beside all words up to a length and beside automata-lib."""

from __future__ import annotations

import random
from itertools import islice

import pytest

from explain.automata_oracle import accepted, all_words, in_automata_lib, live_edges, random_automaton, random_words
from lawful.explain.automata import (
    Automaton,
    count,
    is_empty,
    live,
    reachable,
    words,
)


@pytest.mark.parametrize("seed", range(40))
def test_words_in_order(seed: int) -> None:
    dice = random.Random(seed)
    automaton = random_automaton(dice, dice.randint(1, 6), accepting=0.2)
    kept = accepted(automaton, 7)
    expected = [word for word in all_words(2, 7) if word in kept]
    assert list(words(automaton, 7)) == expected
    assert [count(automaton, length) for length in range(8)] == [
        sum(len(word) <= length for word in expected) for length in range(8)
    ]
    assert next(words(automaton), None) == (expected[0] if expected else None)
    assert is_empty(automaton) is (not expected)


@pytest.mark.parametrize("seed", range(40))
def test_finite_or_not(seed: int) -> None:
    dice = random.Random(seed)
    if seed % 2:
        automaton = random_automaton(dice, dice.randint(1, 5), accepting=0.15)
    else:
        automaton = Automaton.from_words(random_words(dice, 2, 6, 5), "ab")
    peer = in_automata_lib(automaton)
    assert is_empty(automaton) is peer.isempty()
    if peer.isfinite():
        every = list(words(automaton))
        assert set(every) == accepted(automaton, 6) and len(every) == len(set(every)) == peer.cardinality()
    else:
        assert len(list(islice(words(automaton), 50))) == 50


def test_no_words() -> None:
    nothing = Automaton.from_words([], "ab")
    assert list(words(nothing)) == list(words(nothing, 5)) == [] and count(nothing, 5) == 0
    assert live(nothing) == frozenset() and live_edges(nothing) == []
    assert list(words(Automaton.from_words([()], "ab"))) == [()]


def test_words_far_apart_come_without_a_search_through_all_others() -> None:
    one = Automaton.from_words([(0, 1, 2) * 300, (2,)], "abc")
    assert [len(word) for word in words(one)] == [1, 900]


@pytest.mark.parametrize("seed", range(20))
def test_live_states_and_edges(seed: int) -> None:
    automaton = random_automaton(random.Random(seed), 6, accepting=0.2)
    ways = {(state, target) for state, row in enumerate(automaton.transitions) for target in row}
    while len(more := ways | {(a, d) for a, b in ways for c, d in ways if b == c}) > len(ways):
        ways = more
    ways |= {(state, state) for state in range(6)}
    reached = {state for state in range(6) if (automaton.initial, state) in ways}
    assert set(reachable(automaton)) == reached
    alive = {state for state in reached if any((state, end) in ways for end in automaton.accepting)}
    assert live(automaton) == alive
    assert set(live_edges(automaton)) == {
        (state, letter, target)
        for state in alive
        for letter, target in enumerate(automaton.transitions[state])
        if target in alive
    }
