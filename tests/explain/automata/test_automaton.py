"""The class of automata: words in, tables out, and back from JSON."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from automata.fa.dfa import DFA

from explain.automata_oracle import accepted, classes, from_automata_lib, random_automaton, random_words
from lawful.errors import LawfulError
from lawful.explain.automata import Automaton, minimise

EVEN = Automaton(("a", "b"), 0, ((1, 0), (0, 1)), frozenset({0}))


def test_accepts() -> None:
    assert EVEN.accepts(()) and EVEN.accepts((0, 1, 0)) and not EVEN.accepts((0, 1))
    assert EVEN.state((0, 1)) == 1 and EVEN.state((0,), start=1) == 0
    assert len(EVEN) == 2 and list(EVEN.letters) == [0, 1] and EVEN.spelled((1, 0)) == ("b", "a")


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


@pytest.mark.parametrize("seed", range(10))
def test_json(seed: int) -> None:
    automaton = random_automaton(random.Random(seed), 5)
    data = json.loads(json.dumps(automaton.to_json()))
    assert Automaton.from_json(data | {"story": []}) == automaton
    assert data["states"] == 5 and data["alphabet"] == ["a", "b"]


@pytest.mark.parametrize(
    ("change", "message"),
    (
        ({"alphabet": "ab"}, "alphabet is no list of names"),
        ({"alphabet": ["a", 1]}, "alphabet is no list of names"),
        ({"alphabet": ["a", "a"]}, "names a letter twice"),
        ({"transitions": []}, "one for each state"),
        ({"transitions": [[0, 0, 0]]}, "one state for each letter"),
        ({"transitions": [3]}, "one state for each letter"),
        ({"transitions": [[0, 2], [0, 1]]}, "a number from 0 to 1"),
        ({"transitions": [[0, True], [0, 1]]}, "a number from 0 to 1"),
        ({"initial": None}, "a number from 0 to 1"),
        ({"initial": -1}, "a number from 0 to 1"),
        ({"accepting": [2]}, "a number from 0 to 1"),
        ({"accepting": 0}, "accepting is no list"),
    ),
)
def test_json_of_no_automaton(change: dict[str, Any], message: str) -> None:
    with pytest.raises(LawfulError, match=message) as caught:
        Automaton.from_json(EVEN.to_json() | change)
    assert caught.value.slug == "explain-automaton"


@pytest.mark.parametrize(("data", "message"), (([], "no object"), ({"initial": 0}, "accepting, alphabet, transitions")))
def test_json_of_something_else(data: object, message: str) -> None:
    with pytest.raises(LawfulError, match=message):
        Automaton.from_json(data)
