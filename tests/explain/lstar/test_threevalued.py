"""Learning with don't-cares: right about every execution, and as small as can be."""

from __future__ import annotations

import random
from itertools import product

import pytest

from explain.lstar.listed_teachers import Knowing, Listed, random_executions, random_target
from lawful.explain.automata import Automaton, live, minimise, words
from lawful.explain.lstar import LearningInterrupted, TableLearner, ThreeValuedLearner
from lawful.explain.lstar.sample import Fitting, Partial, Sample, different, merged, solver
from lawful.explain.teacher import Bounds, Execution, MembershipAnswer, QueryCounts, Word
from lawful.explain.teachers.executions import ExecutionsTeacher

pytest.importorskip("pysat.solvers")


def known(executions: list[Execution]) -> tuple[set[Word], set[Word]]:
    """Words without the error letter after which some execution fails, and after which one goes on and none fails."""
    fails = {each.word[:-1] for each in executions if each.failed}
    done = {each.word[:-1] if each.failed else each.word for each in executions}
    return fails, {word[:length] for word in done for length in range(len(word) + 1)} - fails


def runs(partial: Partial, word: Word) -> bool:
    state = 0
    for letter in word:
        if letter not in partial.steps[state]:
            return False
        state = partial.steps[state][letter]
    return state in partial.fails


def sampled(fails: set[Word], goes_on: set[Word]) -> Sample:
    sample = Sample()
    for word in sorted(fails | goes_on):
        sample.add(word, word in fails)
    return sample


def fewest(fails: set[Word], goes_on: set[Word], letters: int, most: int) -> int | None:
    """The least number of states, by trying all automata with missing steps."""
    for states in range(1, most + 1):
        targets = [None, *range(states)]
        for flat in product(targets, repeat=states * letters):
            steps = [
                {letter: to for letter in range(letters) if (to := flat[state * letters + letter]) is not None}
                for state in range(states)
            ]
            for chosen in range(1 << states):
                tried = Partial(steps, {state for state in range(states) if chosen >> state & 1})
                if all(runs(tried, word) for word in fails) and not any(runs(tried, word) for word in goes_on):
                    return states
    return None


@pytest.mark.parametrize("solver", (True, False))
@pytest.mark.parametrize("seed", range(30))
def test_right_about_every_execution(seed: int, solver: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not solver:
        monkeypatch.setattr("lawful.explain.lstar.threevalued.solver", lambda: None)
    dice = random.Random(seed)
    letters = dice.randint(1, 3)
    executions = random_executions(dice, letters)
    fails, goes_on = known(executions)
    teacher = ExecutionsTeacher(Listed(letters, executions), trap=False)
    teacher.bound(Bounds(1, 9))
    learning = ThreeValuedLearner()
    found = learning.learn(teacher)
    assert found == minimise(found) == learning.best
    assert all(found.accepts((*word, letters)) for word in fails)
    assert not any(found.accepts((*word, letters)) for word in goes_on)
    assert all(word.count(letters) == 1 and word[-1] == letters for word in words(found, 5))
    if solver:
        assert learning.smallest
        assert len(live(found)) <= len(live(TableLearner().learn(teacher)))


@pytest.mark.parametrize("seed", range(25))
def test_the_smallest(seed: int) -> None:
    dice = random.Random(seed)
    letters = dice.randint(1, 2)
    executions = random_executions(dice, letters, most=8 if letters == 2 else 5, longest=4)
    fails, goes_on = known(executions)
    least = fewest(fails, goes_on, letters, 2 if letters == 2 else 4)
    teacher = ExecutionsTeacher(Listed(letters, executions), trap=False)
    teacher.bound(Bounds(1, 9))
    learning = ThreeValuedLearner()
    found = learning.learn(teacher)
    # The accepting state comes to those that are counted here; without failures there is nothing to draw.
    if not fails:
        assert least == 1 and not live(found)
    elif least is not None:
        assert len(live(found)) == least + 1
    else:
        assert len(live(found)) > (2 if letters == 2 else 4) + 1
    assert learning.smallest


def fitted(sample: Sample, states: int) -> Partial | None:
    make = solver()
    assert make is not None
    fitting = Fitting(sample, states, make)
    try:
        return fitting.solve(100_000)[0]
    finally:
        fitting.close()


@pytest.mark.parametrize("seed", range(20))
def test_both_ways_to_fit_a_sample(seed: int) -> None:
    dice = random.Random(seed)
    fails, goes_on = known(random_executions(dice, 2, most=12, longest=5))
    sample = sampled(fails, goes_on)
    greedy = merged(sample)
    fits = [fitted(sample, states) for states in range(len(different(sample)), len(greedy.steps) + 1)]
    # What can be done with some states can be done with more, and what is done greedily can be done.
    assert [fit is not None for fit in fits] == sorted(fit is not None for fit in fits) and fits[-1] is not None
    for partial in (greedy, greedy.pruned(sample), *(fit for fit in fits if fit is not None)):
        assert all(runs(partial, word) for word in fails)
        assert not any(runs(partial, word) for word in goes_on)


@pytest.mark.parametrize("seed", range(10))
def test_a_solver_follows_a_sample_that_grows(seed: int) -> None:
    dice, make = random.Random(seed), solver()
    assert make is not None
    fails, goes_on = known(random_executions(dice, 2, most=20, longest=5))
    sample = Sample()
    fitting = Fitting(sample, 4, make)
    order = sorted(fails | goes_on)
    dice.shuffle(order)
    for word in order:
        sample.add(word, word in fails)
        found, _ = fitting.solve(100_000)
        if len(different(sample)) <= 4:
            assert (found is None) is (fitted(sample, 4) is None)
        else:
            assert found is None
    fitting.close()


def test_nodes_that_must_be_different_states() -> None:
    # After nothing and after one a it goes on; after two it fails: three states, and no loop of a's.
    sample = sampled({(0, 0)}, {(), (0,)})
    assert different(sample) == [0, 1, 2]
    assert fitted(sample, 3) == Partial([{0: 1}, {0: 2}, {}], {2})


def test_free_words_make_a_loop() -> None:
    executions = [Execution((0, 1, 2), True), Execution((0, 0, 1, 2), True), Execution((1,), False)]
    teacher = ExecutionsTeacher(Listed(2, executions), trap=False)
    teacher.bound(Bounds(1, 9))
    found = ThreeValuedLearner().learn(teacher)
    assert all(found.accepts((0,) * times + (1, 2)) for times in range(1, 30)) and not found.accepts((1, 2))
    assert len(live(found)) < len(live(Automaton.from_words([each.word for each in executions[:2]], found.labels)))


def test_with_a_trap_only_executions_are_accepted() -> None:
    executions = [Execution((0, 1, 2), True), Execution((0, 0, 1, 2), True), Execution((1,), False)]
    teacher = ExecutionsTeacher(Listed(2, executions))
    teacher.bound(Bounds(1, 5))
    assert set(words(ThreeValuedLearner().learn(teacher), 5)) == {(0, 1, 2), (0, 0, 1, 2)}


def test_a_spent_solver_is_named() -> None:
    dice = random.Random(120)
    executions = [each for _ in range(6) for each in random_executions(dice, 3, most=60, longest=7)]
    fails, goes_on = known(executions)
    teacher = ExecutionsTeacher(Listed(3, executions), trap=False)
    teacher.bound(Bounds(1, 12))
    learning = ThreeValuedLearner(conflicts=1)
    found = learning.learn(teacher)
    assert not learning.smallest and learning.counts.solver_calls > 0
    assert all(found.accepts((*word, 3)) for word in fails)
    assert not any(found.accepts((*word, 3)) for word in goes_on)


def test_the_best_stays_without_fault_while_smaller_ones_are_tried() -> None:
    dice = random.Random(60)
    executions = [each for _ in range(3) for each in random_executions(dice, 3, most=40, longest=6)]
    teacher = ExecutionsTeacher(Listed(3, executions), trap=False)
    teacher.bound(Bounds(1, 12))
    learning, tried = ThreeValuedLearner(), 0

    def progress(_: Automaton, counts: QueryCounts) -> None:
        nonlocal tried
        if counts.solver_calls:
            tried += 1
            if tried == 3:
                raise LearningInterrupted

    with pytest.raises(LearningInterrupted):
        learning.learn(teacher, progress=progress)
    assert learning.best is not None and teacher.counterexample(learning.best) is None


class Surprised(Knowing):
    """Says of every word that it never comes, and only finds failures when it looks for the fault of an automaton."""

    def member(self, word: Word) -> MembershipAnswer:
        return MembershipAnswer.NEVER


def test_a_teacher_that_takes_its_answers_back() -> None:
    target = Automaton.from_words([(0, 1, 2), (1, 1, 1, 2)], ("a", "b", "error"))
    found = ThreeValuedLearner().learn(Surprised(target))
    assert found == target


class Reluctant(Knowing):
    """Denies at first what it must grant in the end."""

    def member(self, word: Word) -> MembershipAnswer:
        return MembershipAnswer.NO


def test_a_denied_word_that_fails_after_all() -> None:
    target = Automaton.from_words([(2,), (0, 2), (0, 0, 2)], ("a", "b", "error"))
    assert ThreeValuedLearner().learn(Reluctant(target)) == target


def test_a_regular_language_without_free_words() -> None:
    class Sure(Knowing):
        def member(self, word: Word) -> MembershipAnswer:
            return MembershipAnswer.YES if self.target.accepts(word) else MembershipAnswer.NO

    target = random_target(random.Random(5), 5, 2)
    assert ThreeValuedLearner().learn(Sure(target)) == minimise(target)
