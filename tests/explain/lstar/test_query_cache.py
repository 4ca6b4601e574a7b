"""Which words the cache answers itself, which it asks once, and what a teacher may not say."""

from __future__ import annotations

import random

import pytest

from explain.automata_oracle import all_words
from explain.lstar.listed_teachers import Knowing, random_target
from lawful.explain.automata import Automaton
from lawful.explain.lstar.learner import CachedQueries
from lawful.explain.teacher import Counterexample, MembershipAnswer, QueryCounts

ERROR = 2
TARGET = Automaton.from_words([(0, 1, ERROR), (1, ERROR)], ("a", "b", "error"))


def test_only_words_that_can_fail_come_to_the_teacher() -> None:
    teacher, counts = Knowing(TARGET), QueryCounts()
    questions = CachedQueries(teacher, counts)
    every = all_words(3, 4)
    for _ in range(2):
        for word in every:
            assert questions.accepts(word) is TARGET.accepts(word)
    shaped = [word for word in every if word.count(ERROR) == 1 and word[-1] == ERROR]
    assert sorted(teacher.asked) == sorted(shaped)
    assert (counts.membership, counts.membership_worked) == (len(every), len(shaped))


def test_three_answers() -> None:
    questions = CachedQueries(Knowing(TARGET), QueryCounts())
    assert questions.answer((1, ERROR)) is MembershipAnswer.YES
    assert questions.answer((0, ERROR)) is MembershipAnswer.NEVER
    assert questions.answer((0,)) is questions.answer((ERROR, ERROR)) is questions.answer(()) is MembershipAnswer.NO


@pytest.mark.parametrize("seed", range(20))
def test_an_automaton_of_words_that_cannot_fail_is_refused_without_the_teacher(seed: int) -> None:
    dice = random.Random(seed)
    rows = tuple(tuple(dice.randrange(3) for _ in range(3)) for _ in range(3))
    wrong = Automaton(TARGET.labels, 0, rows, frozenset({dice.randrange(3)}))
    teacher, counts = Knowing(TARGET), QueryCounts()
    found = CachedQueries(teacher, counts).counterexample(wrong)
    bad = [word for word in all_words(3, 4) if wrong.accepts(word) and (word.count(ERROR) != 1 or word[-1] != ERROR)]
    if bad:
        assert found == (bad[0], False)
        assert (counts.conjectures, counts.conjectures_worked, teacher.counts.conjectures) == (1, 0, 0)
    else:
        assert (counts.conjectures, counts.conjectures_worked, teacher.counts.conjectures) == (1, 1, 1)


class Saying(Knowing):
    def __init__(self, *said: Counterexample) -> None:
        super().__init__(random_target(random.Random(1), 3, 2))
        self.said = list(said)

    def counterexample(self, automaton: Automaton) -> Counterexample | None:
        return self.said.pop(0)


NOTHING = Automaton.from_words([], TARGET.labels)


@pytest.mark.parametrize(
    ("said", "message"),
    (
        (Counterexample((0, ERROR), False), "takes the teacher's counterexample rightly"),
        (Counterexample((0,), True), "only error letter"),
        (Counterexample((ERROR, ERROR), True), "only error letter"),
    ),
)
def test_counterexamples_that_cannot_be(said: Counterexample, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CachedQueries(Saying(said), QueryCounts()).counterexample(NOTHING)


def test_counterexamples_that_contradict_each_other() -> None:
    word = (0, ERROR)
    questions = CachedQueries(Saying(Counterexample(word, True), Counterexample(word, False)), QueryCounts())
    assert questions.counterexample(NOTHING) == (word, True)
    with pytest.raises(ValueError, match="contradict"):
        questions.counterexample(Automaton.from_words([word], TARGET.labels))


def test_a_counterexample_is_remembered() -> None:
    teacher = Saying(Counterexample((0, 0, 0, ERROR), True))
    teacher.target = NOTHING
    questions = CachedQueries(teacher, QueryCounts())
    assert not questions.accepts((0, 0, 0, ERROR))
    questions.counterexample(NOTHING)
    assert questions.accepts((0, 0, 0, ERROR)) and questions.revisions == 1
