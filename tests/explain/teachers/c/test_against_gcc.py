"""Both C teachers against all executions of the compiled program, on random programs and on the examples."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from explain.one_run_words import executions
from explain.teachers.c.gcc_oracle import RandomProgram, Runs, runs
from explain.teachers.c.requirements import needs_cbmc
from lawful.explain.automata import Automaton, words
from lawful.explain.lstar import TableLearner
from lawful.explain.teacher import (
    Alphabet,
    Bounds,
    Execution,
    Limits,
    MembershipAnswer,
    QueryCounts,
    TeacherReport,
    Word,
)
from lawful.explain.teachers.c import c_teacher
from lawful.explain.teachers.c.one_run_teacher import OneRunTeacher
from lawful.explain.teachers.executions import ExecutionsTeacher

pytestmark = needs_cbmc
LONGEST = 7


def program(seed: int, folder: Path) -> Path:
    path = folder / f"random_{seed}.c"
    path.write_text(RandomProgram(seed).text)
    return path


def spelled(alphabet: Alphabet, word: tuple[str, ...], failed: bool) -> Word | None:
    """A word of the compiled program in the teacher's letters."""
    return (*alphabet.word(*word), *([alphabet.error] if failed else []))


class Compiled:
    """What the compiled program does, as a source of executions."""

    def __init__(self, found: Runs, alphabet: Alphabet) -> None:
        self.alphabet = alphabet
        self.found = found
        self.counts = QueryCounts()
        self.report = TeacherReport()

    def shortest(self) -> int:
        return 1

    def executions(self, bounds: Bounds, limits: Limits) -> list[Execution]:
        return [
            Execution(spelled(self.alphabet, word, failed) or (), failed)
            for failed, found in ((True, self.found.failing), (False, self.found.passing))
            for word in sorted(found)
        ]


@pytest.mark.parametrize("seed", [3, 6, 12, 27, 28, 31])
@pytest.mark.parametrize("unwind", [1, 3])
def test_one_run_has_the_words_of_the_compiled_program(seed: int, unwind: int, tmp_path: Path) -> None:
    path = program(seed, tmp_path)
    want = runs(path, unwind, LONGEST)
    teacher = c_teacher(path)
    assert isinstance(teacher, OneRunTeacher)
    alphabet = teacher.alphabet
    got = {(one.word, one.failed) for one in executions(teacher, Bounds(unwind, LONGEST))}
    assert got == {
        (spelled(alphabet, word, failed), failed)
        for failed, found in ((True, want.failing), (False, want.passing))
        for word in found
    }
    # The text alone never rules out the word of an execution, and its shortest way is not longer than any.
    for word in want.failing:
        assert teacher.flow.allows(spelled(alphabet, word, True) or ())
        assert teacher.shortest() <= len(word) + 1


@pytest.mark.parametrize("seed", [4, 32])
@pytest.mark.parametrize("way", ["one-run", "asking"])
def test_what_is_learned_is_what_the_compiled_program_does(seed: int, way: str, tmp_path: Path) -> None:
    path = program(seed, tmp_path)
    longest = 5
    want = runs(path, 2, longest)
    teacher = c_teacher(path, way=way)  # type: ignore[arg-type]
    teacher.bound(Bounds(2, longest))
    learned = TableLearner().learn(teacher)
    failing = {spelled(teacher.alphabet, word, True) for word in want.failing}
    assert failing
    assert set(words(learned, longest)) == failing
    for word in failing:
        example = teacher.example(word or ())
        assert example is not None and example.failed and example.word == word


@pytest.mark.parametrize("way", ["one-run", "asking"])
def test_three_valued_answers_are_those_of_the_compiled_program(way: str, tmp_path: Path) -> None:
    """Without the trap: a word is a failure, denied by an execution, or free."""
    path, bounds = program(9, tmp_path), Bounds(2, 5)
    teacher = c_teacher(path, way=way)  # type: ignore[arg-type]
    teacher.trap = False
    teacher.bound(bounds)
    compiled = ExecutionsTeacher(Compiled(runs(path, 2, 5), teacher.alphabet), trap=False)  # type: ignore[arg-type]
    compiled.bound(bounds)
    shuffled = random.Random(1)
    asked = [(), (teacher.alphabet.error,), *compiled._current.failures, *compiled.passes()]
    asked = shuffled.sample(asked, min(len(asked), 8))
    for _ in range(12):
        letters = [shuffled.randrange(teacher.alphabet.error) for _ in range(shuffled.randrange(5))]
        asked.append((*letters, *([teacher.alphabet.error] if shuffled.random() < 0.7 else [])))
    answers = [teacher.member(word) for word in asked]
    assert answers == [compiled.member(word) for word in asked]
    assert MembershipAnswer.YES in answers and MembershipAnswer.NO in answers and MembershipAnswer.NEVER in answers


@pytest.mark.parametrize("way", ["one-run", "asking"])
def test_without_the_trap_conjectures_are_judged_by_executions_alone(way: str, tmp_path: Path) -> None:
    path, bounds = program(9, tmp_path), Bounds(2, 5)
    teacher = c_teacher(path, way=way)  # type: ignore[arg-type]
    teacher.trap = False
    teacher.bound(bounds)
    compiled = ExecutionsTeacher(Compiled(runs(path, 2, 5), teacher.alphabet), trap=False)  # type: ignore[arg-type]
    compiled.bound(bounds)
    labels, error = teacher.alphabet.labels, teacher.alphabet.error
    failing = compiled.failing
    everything = Automaton(labels, 0, ((0,) * error + (1,), (1,) * (error + 1)), frozenset({1}))
    fewer = Automaton.from_words(sorted(compiled._current.failures)[1:], labels)
    never = Automaton.from_words([*sorted(compiled._current.failures), (0, 0, 0, 0, error)], labels)
    assert compiled.member((0, 0, 0, 0, error)) is MembershipAnswer.NEVER
    assert teacher.counterexample(failing) is None
    assert teacher.counterexample(never) is None
    missed = teacher.counterexample(fewer)
    assert missed is not None and missed.accept and missed.word in compiled._current.failures
    denied = teacher.counterexample(everything)
    assert denied is not None and not denied.accept
    assert compiled.member(denied.word) is MembershipAnswer.NO


@pytest.mark.parametrize("seed", [9, 12, 31])
def test_states_that_executions_get_away_from(seed: int, tmp_path: Path) -> None:
    path, bounds = program(seed, tmp_path), Bounds(2, LONGEST)
    teacher = c_teacher(path)
    assert isinstance(teacher, OneRunTeacher)
    teacher.bound(bounds)
    automaton = teacher.failing
    passes = [spelled(teacher.alphabet, word, False) or () for word in runs(path, 2, LONGEST).passing]
    seen = {automaton.state(word[:length]) for word in passes for length in range(len(word) + 1)}
    assert teacher.passing_states(automaton) == seen
    # Asked again, and after other questions, it is the same.
    assert teacher.counterexample(automaton) is None
    assert teacher.passing_states(automaton) == seen


def test_too_many_words_are_asked_for_one_by_one(tmp_path: Path) -> None:
    """Where the failures cannot all be listed, the solver answers, and the automaton stays the same."""
    path, bounds = program(12, tmp_path), Bounds(2, 5)
    all_of_them = c_teacher(path)
    few = c_teacher(path, limits=Limits(words=2))
    for teacher in (all_of_them, few):
        teacher.bound(bounds)
    assert isinstance(all_of_them, OneRunTeacher) and isinstance(few, OneRunTeacher)
    want = set(words(all_of_them.failing, 5))
    assert len(want) > 2
    assert few.counterexample(all_of_them.failing) is None or few.report.reached
    missing = Automaton.from_words(sorted(want)[1:], all_of_them.alphabet.labels)
    found = few.counterexample(missing)
    assert found is not None and found.accept and found.word == min(want)
    for word in [*want, (0, all_of_them.alphabet.error)]:
        assert (few.member(word) is MembershipAnswer.YES) is (word in want)
    assert any("the solver is asked" in warning for warning in few.report.warnings)


@pytest.mark.parametrize("way", ["one-run", "asking"])
def test_bounds_may_shrink_again(way: str, tmp_path: Path) -> None:
    """A failure that was found with more unwinding does not count with less."""
    path = tmp_path / "loop.c"
    path.write_text(
        """
        #include <assert.h>
        extern int __VERIFIER_nondet_int(void);
        int main(void) { int n = 0; while (__VERIFIER_nondet_int()) { Learn(1); n++; } assert(n < 2); }
        """
    )
    teacher = c_teacher(path, way=way)  # type: ignore[arg-type]
    word = (0, 0, 1)
    for unwind, answer in ((4, MembershipAnswer.YES), (2, MembershipAnswer.NO), (3, MembershipAnswer.YES)):
        teacher.bound(Bounds(unwind, 4))
        assert teacher.member(word) is answer
    teacher.bound(Bounds(4, 2))
    assert teacher.member(word) is MembershipAnswer.NO
