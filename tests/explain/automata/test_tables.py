"""The loops in C and in Python give the same tables, large or odd as they may be."""

from __future__ import annotations

import random
from typing import Any

import pytest

from explain.automata_oracle import CORES, NATIVE, counting, random_automaton, using
from lawful.explain.automata import Automaton, difference, equivalent, minimise, union
from lawful.explain.automata.tables import (
    BOTH,
    LEFT,
    NEITHER,
    RIGHT,
    Tables,
    python_minimal,
    python_product,
    python_search,
)

native = pytest.mark.skipif(NATIVE is None, reason="the C core is not built")


def tables(automaton: Automaton) -> Tables:
    return automaton.initial, automaton.transitions, automaton.accepting


@native
@pytest.mark.parametrize("taken", range(16))
def test_both_cores_agree(taken: int) -> None:
    made: Any = NATIVE
    for seed in range(12):
        dice = random.Random(f"{taken} {seed}")
        labels = "abcd"[: dice.randint(1, 4)]
        left = tables(random_automaton(dice, dice.randint(1, 40), labels, 0.1))
        right = tables(random_automaton(dice, dice.randint(1, 40), labels, 0.1))
        assert made.automaton_minimal(*left) == python_minimal(left)
        assert made.automaton_product(*left, *right, taken) == python_product(left, right, taken)
        for longest in (None, 0, 1, 3, 20):
            found = made.automaton_search(*left, *right, taken, -1 if longest is None else longest)
            assert found == python_search(left, right, taken, longest)


@pytest.mark.parametrize("which", CORES)
def test_states_that_differ_only_in_long_words(which: str) -> None:
    with using(which):
        assert minimise(counting(997)) == counting(997)
        # What is a multiple of one number and not of the other, beyond the rounds over all states at once.
        both = union(counting(30), counting(42))
        assert len(both) == 210
        assert [both.accepts((0,) * length) for length in range(500)] == [
            length % 30 == 0 or length % 42 == 0 for length in range(500)
        ]
        assert equivalent(counting(499), Automaton.from_words([()], "a")) == (0,) * 499
        assert equivalent(counting(499), Automaton.from_words([()], "a"), 498) is None


@pytest.mark.parametrize("which", CORES)
def test_many_pairs(which: str) -> None:
    dice = random.Random(3)
    left, right = random_automaton(dice, 70, "abc", 0.5), random_automaton(dice, 70, "abc", 0.5)
    with using(which):
        made = difference(left, right)
        assert len(made) > 2_000
        for _ in range(300):
            word = tuple(dice.randrange(3) for _ in range(dice.randint(0, 30)))
            assert made.accepts(word) is (left.accepts(word) and not right.accepts(word))
        assert minimise(made) == made


@pytest.mark.parametrize("which", CORES)
def test_no_letters(which: str) -> None:
    with using(which):
        empty = Automaton.from_words([()], ())
        assert minimise(Automaton((), 1, ((), ()), frozenset({1}))) == empty
        assert difference(empty, empty) == Automaton((), 0, ((),), frozenset())


def test_what_is_taken_is_four_bits() -> None:
    assert LEFT | RIGHT | BOTH | NEITHER == 0b1111 and LEFT & RIGHT & BOTH & NEITHER == 0


GOOD = (0, ((0,),), frozenset({0}))


@native
@pytest.mark.parametrize(
    "bad",
    (
        (0, (), frozenset()),
        (0, [(0,)], frozenset()),
        (0, ([0],), frozenset()),
        (0, ((1,),), frozenset()),
        (0, ((-1,),), frozenset()),
        (0, ((1 << 70,),), frozenset()),
        (0, ((0,), (0, 0)), frozenset()),
        (1, ((0,),), frozenset()),
        (0, ((0,),), frozenset({1})),
        (0, ((0, 0),), frozenset()),
    ),
)
def test_the_c_core_refuses_what_is_no_automaton(bad: Any) -> None:
    made: Any = NATIVE
    with pytest.raises(ValueError):
        made.automaton_product(*GOOD, *bad, LEFT)
    with pytest.raises(ValueError):
        made.automaton_search(*bad, *GOOD, LEFT, -1)


@native
def test_the_c_core_refuses_other_types() -> None:
    made: Any = NATIVE
    bad: tuple[Any, ...]
    for bad in (
        (0, (("a",),), frozenset()),
        ("a", ((0,),), frozenset()),
        (0, ((0,),), 5),
        (0, ((0,),), frozenset("a")),
    ):
        with pytest.raises(TypeError):
            made.automaton_minimal(*bad)
