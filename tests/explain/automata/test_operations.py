"""Operations against all words up to a length, and against automata-lib, in both cores."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Iterator

import pytest

from explain.automata_oracle import (
    CORES,
    accepted,
    all_words,
    classes,
    from_automata_lib,
    in_automata_lib,
    random_automaton,
    random_words,
    using,
)
from lawful.errors import LawfulError
from lawful.explain.automata import (
    Automaton,
    aligned,
    difference,
    disjoint,
    equivalent,
    included,
    intersection,
    minimise,
    project,
    relabelled,
    union,
)

LENGTH = 7

Rule = Callable[[bool, bool], bool]


@pytest.fixture(params=CORES, autouse=True)
def core(request: pytest.FixtureRequest) -> Iterator[None]:
    with using(request.param):
        yield


PAIRS: dict[str, tuple[Callable[[Automaton, Automaton], Automaton], Rule]] = {
    "intersection": (intersection, operator.and_),
    "union": (union, operator.or_),
    "difference": (difference, lambda left, right: left and not right),
    "symmetric_difference": (lambda left, right: union(difference(left, right), difference(right, left)), operator.xor),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("seed", range(15))
def test_of_two(name: str, seed: int) -> None:
    dice, (operation, rule) = random.Random(seed), PAIRS[name]
    left, right = random_automaton(dice, dice.randint(1, 6)), random_automaton(dice, dice.randint(1, 6))
    made = operation(left, right)
    ours, theirs = accepted(left, LENGTH), accepted(right, LENGTH)
    assert accepted(made, LENGTH) == {word for word in all_words(2, LENGTH) if rule(word in ours, word in theirs)}
    assert classes(made) == len(made)
    peer = getattr(in_automata_lib(left), name)(in_automata_lib(right))
    assert minimise(from_automata_lib(peer, ("a", "b"))) == made


@pytest.mark.parametrize("seed", range(40))
def test_minimise(seed: int) -> None:
    dice = random.Random(seed)
    automaton = random_automaton(dice, dice.randint(1, 9), "abc"[: dice.randint(1, 3)], dice.random())
    made = minimise(automaton)
    assert len(made) == classes(automaton)
    longest = 2 * len(automaton) if len(automaton.labels) == 1 else 6
    assert accepted(made, longest) == accepted(automaton, longest)


@pytest.mark.parametrize("seed", range(20))
def test_equal_languages_give_equal_automata(seed: int) -> None:
    dice = random.Random(seed)
    small = minimise(random_automaton(dice, 6))
    # Each state three times over, in any order, and each step to any of the three.
    places = list(range(3 * len(small)))
    dice.shuffle(places)
    rows: list[tuple[int, ...]] = [()] * len(places)
    for state, row in enumerate(small.transitions):
        for copy in range(3):
            rows[places[3 * state + copy]] = tuple(places[3 * target + dice.randrange(3)] for target in row)
    accepting = frozenset(places[3 * state + copy] for state in small.accepting for copy in range(3))
    assert minimise(Automaton(small.labels, places[0], tuple(rows), accepting)) == small


@pytest.mark.parametrize("seed", range(40))
def test_words_that_tell_two_apart(seed: int) -> None:
    dice = random.Random(seed)
    left, right = random_automaton(dice, dice.randint(1, 4)), random_automaton(dice, dice.randint(1, 4))
    ours, theirs = accepted(left, 10), accepted(right, 10)

    def first(words: set[tuple[int, ...]]) -> tuple[int, ...] | None:
        return min(words, key=lambda word: (len(word), word), default=None)

    # Two automata of at most four states differ in a word shorter than their states together, if at all.
    assert equivalent(left, right) == first(ours ^ theirs)
    assert included(left, right) == first(ours - theirs)
    assert disjoint(left, right) == first(ours & theirs)
    for longest in range(4):
        some = {word for word in ours ^ theirs if len(word) <= longest}
        assert equivalent(left, right, longest) == first(some)


def test_the_empty_word_tells_apart() -> None:
    nothing, empty = Automaton.from_words([], "a"), Automaton.from_words([()], "a")
    assert equivalent(nothing, empty) == () and equivalent(nothing, empty, 0) == ()
    assert equivalent(nothing, nothing) is None


@pytest.mark.parametrize("hidden", ("", "a", "b", "ac", "abc"))
@pytest.mark.parametrize("seed", range(8))
def test_project_a_finite_language(hidden: str, seed: int) -> None:
    words = random_words(random.Random(seed), 3, 20, 5)
    made = project(Automaton.from_words(words, "abc"), hidden)
    kept = [letter for letter, label in enumerate("abc") if label not in hidden]
    seen = {tuple(kept.index(letter) for letter in word if letter in kept) for word in words}
    assert made == Automaton.from_words(seen, [label for label in "abc" if label not in hidden])


@pytest.mark.parametrize("seed", range(10))
def test_project_through_loops(seed: int) -> None:
    automaton = random_automaton(random.Random(seed), 4, "ab", 0.2)
    made = project(automaton, ["b"])
    # Between two letters that are seen, no more steps are hidden than there are states.
    reached, found = {automaton.initial}, set()
    for length in range(6):
        while len(more := reached | {automaton.transitions[state][1] for state in reached}) > len(reached):
            reached = more
        if reached & automaton.accepting:
            found.add((0,) * length)
        reached = {automaton.transitions[state][0] for state in reached}
    assert accepted(made, 5) == found


def test_project_an_unknown_label() -> None:
    with pytest.raises(ValueError, match="'z'"):
        project(Automaton.from_words([], "ab"), ["z"])


def test_project_into_too_many_states() -> None:
    # An a stands eight letters before the end: easy to know if a c comes before it, hard without the c.
    rows = ((0, 0, 1), (2, 10, 10), *((state + 1, state + 1, 10) for state in range(2, 10)), (10, 10, 10))
    marked = Automaton(("a", "b", "c"), 0, rows, frozenset({9}))
    assert len(project(marked, "c")) > 200
    with pytest.raises(LawfulError, match="without c the automaton would have more than 100 states") as caught:
        project(marked, "c", most=100)
    assert caught.value.slug == "explain-too-large"


def test_aligned_by_label_with_the_shared_error_last() -> None:
    left = Automaton.from_words([(0, 2), (1, 2)], ("f", "g", "error"))
    right = Automaton.from_words([(1, 0, 2)], ("h", "f", "error"))
    one, other = aligned(left, right)
    assert one.labels == other.labels == ("f", "g", "h", "error")
    assert accepted(one, 3) == {(0, 3), (1, 3)} and accepted(other, 3) == {(0, 2, 3)}
    assert accepted(union(left, right), 3) == {(0, 3), (1, 3), (0, 2, 3)}


def test_aligned_with_other_last_labels() -> None:
    one, other = aligned(Automaton.from_words([], ("f", "end")), Automaton.from_words([], ("f", "error")))
    assert one.labels == other.labels == ("f", "end", "error")
    assert aligned(one, other)[0] is one


def test_relabelled_must_keep_the_labels() -> None:
    with pytest.raises(ValueError, match="does not include"):
        relabelled(Automaton.from_words([], "ab"), "ac")
