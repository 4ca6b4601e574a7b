"""Dominating events, doomed states, the story and the edges' words, against all words of random automata."""

from __future__ import annotations

import random
from itertools import combinations, islice

import pytest

from explain.automata_oracle import live_edges
from explain.toys import all_words, random_automaton
from lawful.explain import postprocess
from lawful.explain.automata import Automaton, live
from lawful.explain.teacher import Alphabet, Execution, LabelledEvent, Word

LETTERS = 3
LENGTH = 7  # more than the states of the automata here, so that every state, edge and simple path has a word


def accepted(automaton: Automaton, length: int = LENGTH) -> list[Word]:
    return [word for word in all_words(len(automaton.labels), length) if automaton.accepts(word)]


def alphabet_of(automaton: Automaton) -> Alphabet:
    return Alphabet(tuple(LabelledEvent(label, "toy.c", 10 + at) for at, label in enumerate(automaton.labels)))


def has_subsequence(word: Word, part: Word) -> bool:
    rest = iter(word)
    return all(letter in rest for letter in part)


@pytest.mark.parametrize("seed", range(60))
def test_dominating_letters_are_in_every_word(seed: int) -> None:
    automaton = random_automaton(random.Random(seed), LETTERS, 5)
    words = accepted(automaton)
    common = set.intersection(*map(set, words)) if words else set()
    assert set(postprocess.dominating(automaton)) == common


@pytest.mark.parametrize("seed", range(60))
def test_doomed_states_accept_whatever_follows(seed: int) -> None:
    automaton = random_automaton(random.Random(seed), 2, 5)
    # Inevitable: on every word that is longer than there are states, an accepting state is met.
    long = [word for word in all_words(2, 6) if len(word) == 6]

    def inevitable(state: int) -> bool:
        return all(any(automaton.state(word[:n], state) in automaton.accepting for n in range(7)) for word in long)

    assert postprocess.doomed(automaton) == {state for state in live(automaton) if inevitable(state)}


@pytest.mark.parametrize("seed", range(60))
def test_doomed_states_are_met_by_no_passing_execution(seed: int) -> None:
    chance = random.Random(seed)
    words = {tuple(chance.randrange(2) for _ in range(chance.randrange(5))) for _ in range(8)}
    failing = {(*word, 2) for word in words if chance.random() < 0.5}
    passing = {word for word in words if chance.random() < 0.5}
    automaton = Automaton.from_words(failing, "abe")
    expected = set()
    for state in live(automaton):
        prefixes = [word[:n] for word in passing for n in range(len(word) + 1)]
        if not any(automaton.state(prefix) == state for prefix in prefixes):
            expected.add(state)
    passing_states = postprocess.visited(automaton, Automaton.from_words(passing, "abe"))
    assert postprocess.doomed(automaton, passing_states) == expected


@pytest.mark.parametrize("seed", range(80))
def test_the_story_is_the_longest_common_sequence(seed: int) -> None:
    chance = random.Random(seed)
    core = [chance.randrange(LETTERS) for _ in range(chance.randrange(5))]
    words = set()
    for _ in range(chance.randrange(1, 5)):
        word = list(core)
        for _ in range(chance.randrange(4)):
            word.insert(chance.randrange(len(word) + 1), chance.randrange(LETTERS))
        words.add(tuple(word))
    automaton = Automaton.from_words(words, "abc")
    shortest = min(words, key=len)
    longest = max(
        len(part)
        for size in range(len(shortest) + 1)
        for part in combinations(shortest, size)
        if all(has_subsequence(word, part) for word in words)
    )
    found = postprocess.story(automaton)
    assert len(found) == longest
    assert all(has_subsequence(word, found) for word in words)


@pytest.mark.parametrize("seed", range(40))
def test_the_story_of_an_automaton_with_loops(seed: int) -> None:
    automaton = random_automaton(random.Random(seed), LETTERS, 4)
    words = accepted(automaton)
    found = postprocess.story(automaton)
    assert all(has_subsequence(word, found) for word in words)
    for letter in range(LETTERS):  # no longer one begins like it
        assert not words or any(not has_subsequence(word, (*found, letter)) for word in words)


def test_a_story_with_too_many_sets_is_still_common(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postprocess, "_STORY_WORK", 8)
    words = {(0, 1, 2, 0, 1), (0, 2, 1, 0, 1), (0, 0, 1, 1)}
    found = postprocess.story(Automaton.from_words(words, "abc"))
    assert found
    assert all(has_subsequence(word, found) for word in words)


@pytest.mark.parametrize("seed", range(60))
def test_back_edges_leave_an_accepting_state(seed: int) -> None:
    automaton = random_automaton(random.Random(seed), 2, 4)
    words = set(accepted(automaton, 8))
    longer = any(word != other and word == other[: len(word)] for word in words for other in words)
    assert postprocess.back_edges(automaton) is longer


@pytest.mark.parametrize("seed", range(30))
def test_words_through_an_edge_come_by_length(seed: int) -> None:
    automaton = random_automaton(random.Random(seed), 2, 4)
    words, routes = accepted(automaton, 6), postprocess.EdgeWords(automaton)
    for source, letter, _ in live_edges(automaton):
        expected = [
            word
            for word in words
            if any(automaton.state(word[:n]) == source and word[n] == letter for n in range(len(word)))
        ]
        found = list(routes.through((source, letter), 6))
        assert sorted(found) == sorted(expected)
        assert [len(word) for word in found] == sorted(len(word) for word in found)
        assert next(islice(routes.through((source, letter), None), 1))


@pytest.mark.parametrize("seed", range(40))
def test_a_picture_accepts_the_same_words(seed: int) -> None:
    automaton = random_automaton(random.Random(seed), LETTERS, 5)
    drawn = postprocess.picture(automaton, alphabet_of(automaton))
    table = drawn.table(LETTERS)
    assert drawn.states == max(1, len(live(automaton)))
    assert len(drawn.edges) == len(live_edges(automaton))

    def accepts(word: Word) -> bool:
        state: int | None = drawn.initial
        for letter in word:
            if state is not None:
                state = table[state][letter]
        return state in drawn.accepting

    assert all(accepts(word) is automaton.accepts(word) for word in all_words(LETTERS, 5))
    assert all(edge.dominating is (edge.letter in drawn.dominating) for edge in drawn.edges)
    for edge in drawn.edges:
        assert edge.word is not None and automaton.accepts(edge.word)
        assert (edge.file, edge.line) == ("toy.c", 10 + edge.letter)


def test_an_edge_has_the_input_and_the_place_of_an_execution() -> None:
    # Two loops, of which the program takes only one; the place of `b` is known from the execution alone.
    automaton = Automaton(("a", "b", "e"), 0, ((0, 1, 3), (3, 1, 2), (3, 3, 3), (3, 3, 3)), frozenset({2}))
    executions = {
        (0, 1, 2): Execution((0, 1, 2), True, "f(1)", (None, ("b.c", 7), None)),
        (0, 0, 1, 2): Execution((0, 0, 1, 2), True, "f(2)"),
    }
    asked: list[Word] = []

    def find(word: Word) -> Execution | None:
        asked.append(word)
        return executions.get(word)

    drawn = postprocess.picture(automaton, alphabet_of(automaton), length=6, find=find)
    found = {(edge.source, edge.letter): edge for edge in drawn.edges}
    assert found[0, 0].example == "f(1)" and found[0, 0].word == (0, 1, 2)
    assert (found[0, 1].file, found[0, 1].line) == ("b.c", 7)
    assert (found[1, 2].file, found[1, 2].line) == ("toy.c", 12)
    assert found[1, 1].word is None and found[1, 1].example is None, "no execution takes this loop"
    assert len(asked) == len(set(asked))


def test_the_picture_of_nothing_is_its_first_state() -> None:
    drawn = postprocess.picture(Automaton.from_words((), "abe"), Alphabet(tuple(map(LabelledEvent, "abe"))))
    assert (drawn.states, drawn.edges, drawn.empty) == (1, (), True)
    assert drawn.story == drawn.dominating == drawn.doomed == ()
