"""The teacher of all executions: answers, counterexamples, examples, bounds and limits."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from explain.automata_oracle import all_words, random_automaton
from explain.lstar.listed_teachers import Listed, failing_after, random_executions
from lawful.explain.automata import Automaton
from lawful.explain.teacher import Basis, Bounds, Execution, Limits, MembershipAnswer
from lawful.explain.teachers.executions import ExecutionsTeacher

# After a b the program ends well; after a c it may fail or not; longer words go on to d.
EXECUTIONS = [
    Execution((0, 1), False, "passes"),
    Execution((0, 2, 4), True, "fails"),
    Execution((0, 2), False, "passes as well"),
    Execution((0, 2, 3, 3, 4), True, "fails late"),
]


def taught(executions: list[Execution], letters: int, length: int, **options: Any) -> ExecutionsTeacher:
    teacher = ExecutionsTeacher(Listed(letters, executions), **options)
    teacher.bound(Bounds(1, length))
    return teacher


def test_three_answers() -> None:
    teacher = taught(EXECUTIONS, 4, 9)
    assert teacher.member((0, 2, 4)) is teacher.member((0, 2, 3, 3, 4)) is MembershipAnswer.YES
    # It does these events and goes on, or ends well.
    for word in ((4,), (0, 4), (0, 1, 4), (0, 2, 3, 4)):
        assert teacher.member(word) is MembershipAnswer.NO
    assert teacher.member((0, 2)) is teacher.member((0, 1)) is MembershipAnswer.NO
    for word in ((1, 4), (0, 1, 1, 4), (0, 0), (0, 2, 4, 4), ()):  # type: ignore[assignment]
        assert teacher.member(word) is MembershipAnswer.NEVER
    assert teacher.counts.membership == 13 and teacher.counts.executions == 4


def test_words_longer_than_the_bound_are_not_there() -> None:
    source = Listed(4, EXECUTIONS)
    teacher = ExecutionsTeacher(source)
    teacher.bound(Bounds(1, 3))
    assert teacher.member((0, 2, 3, 3, 4)) is teacher.member((0, 2, 3, 4)) is MembershipAnswer.NEVER
    assert set(teacher._current.failures) == {(0, 2, 4)} and set(teacher.passes()) == {(0, 1), (0, 2)}
    teacher.bound(Bounds(1, 5))
    assert teacher.member((0, 2, 3, 3, 4)) is MembershipAnswer.YES
    teacher.bound(Bounds(1, 4))
    assert teacher.member((0, 2, 3, 3, 4)) is MembershipAnswer.NEVER
    teacher.bound(Bounds(2, 4))
    assert teacher.member((0, 2, 4)) is MembershipAnswer.YES
    # Shorter words at the same unwinding need no other run.
    assert source.runs == [Bounds(1, 3), Bounds(1, 5), Bounds(2, 4)]


def test_longer_words_serve_shorter_bounds() -> None:
    source = Listed(4, EXECUTIONS)
    teacher = ExecutionsTeacher(source)
    for length in (5, 3, 4, 6):
        teacher.bound(Bounds(1, length))
        assert set(teacher._current.failures) == {
            each.word for each in EXECUTIONS if each.failed and len(each.word) <= length
        }
    assert source.runs == [Bounds(1, 5), Bounds(1, 6)]


def test_examples() -> None:
    teacher = taught(EXECUTIONS, 4, 9)
    assert teacher.example((0, 2, 4)) == EXECUTIONS[1] and teacher.example((0, 2)) == EXECUTIONS[2]
    assert teacher.example((0, 4)) is None
    assert teacher.shortest() == 3
    assert teacher.failing == Automaton.from_words([(0, 2, 4), (0, 2, 3, 3, 4)], teacher.alphabet.labels)


@pytest.mark.parametrize("trap", (True, False))
@pytest.mark.parametrize("seed", range(40))
def test_counterexamples(seed: int, trap: bool) -> None:
    dice = random.Random(seed)
    executions = random_executions(dice, 2, most=12, longest=4)
    teacher = taught(executions, 2, 5, trap=trap)
    conjecture = failing_after(random_automaton(dice, dice.randint(1, 3)))
    found = teacher.counterexample(conjecture)
    wrong = []
    for word in all_words(3, 5):
        answer = teacher.member(word)
        if (answer is MembershipAnswer.YES) != conjecture.accepts(word) and (
            trap or answer is not MembershipAnswer.NEVER
        ):
            wrong.append(word)
    if found is None:
        assert not wrong
    else:
        assert found.word in wrong and found.accept is not conjecture.accepts(found.word)
        if trap:
            assert found.word == wrong[0]


@pytest.mark.parametrize("trap", (True, False))
def test_what_is_longer_than_the_bound_may_be_accepted(trap: bool) -> None:
    teacher = taught([Execution((0,) * times + (1,), True) for times in range(4)], 1, 4, trap=trap)
    loop = Automaton(("a", "error"), 0, ((0, 1), (2, 2), (2, 2)), frozenset({1}))
    assert teacher.counterexample(loop) is None
    assert teacher.counterexample(Automaton.from_words([], loop.labels)) == ((1,), True)


def test_the_first_execution_of_a_word_is_its_example() -> None:
    teacher = taught([Execution((0, 1), True, "one"), Execution((0, 1), True, "two")], 1, 3)
    example = teacher.example((0, 1))
    assert example is not None and example.example == "one"


@pytest.mark.parametrize(
    ("limits", "reached"),
    (
        (Limits(words=2), ["stopped after 2 words"]),
        (Limits(paths=3), ["stopped after 3 paths"]),
        (Limits(seconds=0), ["stopped after 0 seconds"]),
        (Limits(words=4, paths=4), []),
        (Limits(words=None, paths=None), []),
    ),
)
def test_limits_are_named(limits: Limits, reached: list[str]) -> None:
    teacher = ExecutionsTeacher(Listed(4, EXECUTIONS), limits)
    teacher.bound(Bounds(1, 9))
    seen = len(teacher._current.failures) + len(teacher.passes())
    assert teacher.report.reached == reached
    assert teacher.report.basis is (Basis.SAMPLED if reached else Basis.COMPLETE)
    assert seen == {"stopped after 2 words": 2, "stopped after 3 paths": 3, "stopped after 0 seconds": 1}.get(
        next(iter(reached), ""), 4
    )


def test_what_the_source_says_is_said() -> None:
    source = Listed(4, EXECUTIONS)
    source.report.basis = Basis.SAMPLED
    source.report.reached.append("stopped after 7 inputs")
    source.report.warnings.append("not deterministic")
    report = ExecutionsTeacher(source).report
    assert report.basis is Basis.SAMPLED
    assert (report.reached, report.warnings) == (["stopped after 7 inputs"], ["not deterministic"])


def test_what_was_seen_before_ctrl_c_is_kept() -> None:
    class Pressed(Listed):
        def executions(self, bounds: Bounds, limits: Limits) -> Iterator[Execution]:
            yield from EXECUTIONS[:2]
            raise KeyboardInterrupt

    teacher = ExecutionsTeacher(Pressed(4, []))
    teacher.bound(Bounds(1, 9))
    with pytest.raises(KeyboardInterrupt):
        teacher.member((0, 2, 4))
    assert teacher.member((0, 2, 4)) is MembershipAnswer.YES
    assert teacher.report.reached == ["interrupted"] and teacher.report.basis is Basis.SAMPLED


@pytest.mark.parametrize(
    "wrong", (Execution((0, 4), False), Execution((0,), True), Execution((4, 4), True), Execution((), True))
)
def test_executions_that_break_the_rule_of_the_error_letter(wrong: Execution) -> None:
    with pytest.raises(ValueError, match="error letter"):
        taught([wrong], 4, 9).member((4,))


def test_bounds_come_first() -> None:
    with pytest.raises(ValueError, match="bound"):
        ExecutionsTeacher(Listed(4, [])).member((4,))
