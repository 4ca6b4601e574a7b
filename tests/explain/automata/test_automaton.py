"""The class of automata: words in, tables out, and back from JSON."""

from __future__ import annotations

import random

import pytest
from automata.fa.dfa import DFA

from explain.automata_oracle import accepted, classes, from_automata_lib, random_words
from lawful.explain.automata import Automaton, minimise

EVEN = Automaton(("a", "b"), 0, ((1, 0), (0, 1)), frozenset({0}))


def test_accepts() -> None:
    assert EVEN.accepts(()) and EVEN.accepts((0, 1, 0)) and not EVEN.accepts((0, 1))
    assert EVEN.state((0, 1)) == 1 and EVEN.state((0,), start=1) == 0
    assert len(EVEN) == 2 and list(EVEN.letters) == [0, 1]


@pytest.mark.parametrize("seed", range(60))
def test_from_words_is_the_smallest_automaton_of_just_these_words(seed: int) -> None:
    dice = random.Random(seed)
    labels = tuple("abc"[: dice.randint(1, 3)])
    words = random_words(dice, len(labels), 25, 5)
    made = Automaton.from_words(words, labels)
    assert accepted(made, 6) == words
    assert classes(made) == len(made)
    assert made == minimise(made)
    if words:
        theirs = DFA.from_finite_language(set(labels), {"".join(labels[letter] for letter in word) for word in words})
        assert minimise(from_automata_lib(theirs, labels)) == made


def test_from_words_of_nothing() -> None:
    assert Automaton.from_words([], ("a",)) == Automaton(("a",), 0, ((0,),), frozenset())
    assert Automaton.from_words([()], ("a",)) == Automaton(("a",), 0, ((1,), (1,)), frozenset({0}))
    assert Automaton.from_words([()], ()) == Automaton((), 0, ((),), frozenset({0}))


def test_from_words_takes_lists_and_repetitions() -> None:
    assert Automaton.from_words([[0, 1], (0, 1)], "ab") == Automaton.from_words([(0, 1)], ("a", "b"))


@pytest.mark.parametrize("letter", (-1, 2))
def test_from_words_with_an_unknown_letter(letter: int) -> None:
    with pytest.raises(ValueError, match="letter that the alphabet does not have"):
        Automaton.from_words([(0, letter)], "ab")


def test_from_words_of_one_very_long_word() -> None:
    word = (0, 1) * 5_000
    made = Automaton.from_words([word], "ab")
    assert made.accepts(word) and not made.accepts(word[:-1]) and len(made) == len(word) + 2
