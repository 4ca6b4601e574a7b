"""The table and the tree learn what there is to learn: beside AALpy, and beside lists of words."""

from __future__ import annotations

import random
from typing import Any

import pytest
from aalpy.base import SUL, Oracle
from aalpy.learning_algs import run_KV, run_Lstar

from explain.automata_oracle import CORES, using
from explain.lstar.listed_teachers import Knowing, Listed, failing_after, random_executions, random_target
from lawful.explain.automata import Automaton, equivalent, minimise, words
from lawful.explain.lstar import AutomatonLearner, LearningInterrupted, TableLearner, TreeLearner
from lawful.explain.teacher import Bounds, Counterexample, Execution, MembershipAnswer, QueryCounts, Word
from lawful.explain.teachers.executions import ExecutionsTeacher

LEARNERS = (TableLearner, TreeLearner)


class Stepping(SUL):  # type: ignore[misc]
    """An automaton as AALpy asks for it."""

    def __init__(self, target: Automaton) -> None:
        super().__init__()
        self.target, self.state = target, target.initial

    def pre(self) -> None:
        self.state = self.target.initial

    def post(self) -> None:
        """Nothing to put away."""

    def step(self, letter: int | None) -> bool:
        if letter is not None:
            self.state = self.target.transitions[self.state][letter]
        return self.state in self.target.accepting


def from_aalpy(dfa: Any, labels: tuple[str, ...]) -> Automaton:
    numbers = {state.state_id: number for number, state in enumerate(dfa.states)}
    rows = tuple(
        tuple(numbers[state.transitions[letter].state_id] for letter in range(len(labels))) for state in dfa.states
    )
    accepting = frozenset(number for number, state in enumerate(dfa.states) if state.is_accepting)
    return minimise(Automaton(labels, numbers[dfa.initial_state.state_id], rows, accepting))


class Comparing(Oracle):  # type: ignore[misc]
    def find_cex(self, hypothesis: Any) -> tuple[int, ...] | None:
        target = self.sul.target
        return equivalent(target, from_aalpy(hypothesis, target.labels))


@pytest.mark.parametrize("which", CORES)
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("seed", range(10))
def test_a_regular_language(learner: type[AutomatonLearner], seed: int, which: str) -> None:
    dice = random.Random(seed)
    target = random_target(dice, dice.randint(1, 12), dice.randint(1, 3))
    teacher, learning = Knowing(target), learner()
    with using(which):
        found = learning.learn(teacher)
    assert found == minimise(target) == learning.best
    assert len(teacher.asked) == len(set(teacher.asked)) == learning.counts.membership_worked
    assert learning.counts.conjectures_worked == teacher.counts.conjectures
    peers: dict[Any, Any] = {TableLearner: run_Lstar, TreeLearner: run_KV}
    letters, system = list(range(len(target.labels))), Stepping(target)
    theirs = peers[learner](letters, system, Comparing(letters, system), "dfa", print_level=0)
    assert from_aalpy(theirs, target.labels) == found


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("seed", range(25))
def test_a_finite_language_within_bounds(learner: type[AutomatonLearner], seed: int) -> None:
    dice = random.Random(seed)
    letters = dice.randint(1, 3)
    executions = random_executions(dice, letters)
    failing = {each.word for each in executions if each.failed}
    teacher = ExecutionsTeacher(Listed(letters, executions))
    for length in (2, 4, 7):
        teacher.bound(Bounds(1, length))
        found = learner().learn(teacher)
        assert set(words(found, length)) == {word for word in failing if len(word) <= length}
        assert found == minimise(found)


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_language_that_the_bound_cuts_off(learner: type[AutomatonLearner]) -> None:
    # Fails after any number of a's and one b; the bound allows four a's.
    runs = {(0,) * times + (1, 2) for times in range(5)}
    teacher = ExecutionsTeacher(Listed(2, [Execution(word, True) for word in runs]))
    teacher.bound(Bounds(4, 6))
    assert set(words(learner().learn(teacher), 6)) == runs


def test_the_tree_asks_less() -> None:
    target = random_target(random.Random(1), 60, 4)
    table, tree = TableLearner(), TreeLearner()
    assert table.learn(Knowing(target)) == tree.learn(Knowing(target))
    assert tree.counts.membership < table.counts.membership


class Surprised(Knowing):
    """Says no to every word, and only finds failures when it looks for the fault of an automaton."""

    def member(self, word: Word) -> MembershipAnswer:
        return MembershipAnswer.NEVER


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("seed", range(8))
def test_a_teacher_that_takes_its_answers_back(learner: type[AutomatonLearner], seed: int) -> None:
    dice = random.Random(seed)
    failing = {each.word for each in random_executions(dice, 2, most=12, longest=4) if each.failed}
    target = Automaton.from_words(failing, ("a", "b", "error"))
    assert learner().learn(Surprised(target)) == target


@pytest.mark.parametrize("learner", LEARNERS)
def test_what_there_is_when_learning_is_stopped(learner: type[AutomatonLearner]) -> None:
    target = random_target(random.Random(3), 10, 2)
    seen: list[tuple[Automaton, int]] = []

    def progress(automaton: Automaton, counts: QueryCounts) -> None:
        seen.append((automaton, counts.conjectures))
        if len(seen) == 3:
            raise LearningInterrupted

    learning = learner()
    assert learning.best is None
    with pytest.raises(LearningInterrupted):
        learning.learn(Knowing(target), progress=progress)
    assert learning.best == seen[-1][0] and [count for _, count in seen] == [0, 1, 2]


@pytest.mark.parametrize("learner", LEARNERS)
def test_ctrl_c_goes_through(learner: type[AutomatonLearner]) -> None:
    class Pressed(Knowing):
        def counterexample(self, automaton: Automaton) -> Counterexample | None:
            raise KeyboardInterrupt

    learning = learner()
    with pytest.raises(KeyboardInterrupt):
        learning.learn(Pressed(random_target(random.Random(3), 10, 2)))
    assert learning.best is not None


@pytest.mark.parametrize("learner", LEARNERS)
def test_nothing_fails_and_everything_fails(learner: type[AutomatonLearner]) -> None:
    for core in (Automaton.from_words([], "ab"), Automaton(("a", "b"), 0, ((0, 0),), frozenset({0}))):
        target = minimise(failing_after(core))
        assert learner().learn(Knowing(target)) == target
