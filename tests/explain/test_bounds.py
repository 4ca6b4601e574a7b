"""The search for bounds on programs whose failing words can be listed."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from explain.toys import Toy
from lawful.errors import LawfulError
from lawful.explain.automata import Automaton, is_empty
from lawful.explain.bounds import OutOfTime, Range, learn_up_to_bound
from lawful.explain.teacher import Basis, Bounds, Counterexample, Limits, TeacherReport, Word
from lawful.explain.teachers.executions import ExecutionsTeacher


def by_words(teacher: object) -> Automaton:
    assert isinstance(teacher, ExecutionsTeacher)
    return teacher.failing


def loop(unwind: int) -> Iterator[tuple[Word, bool]]:
    """`a` in a loop, then `b`, which fails after two turns or more."""
    for turns in range(unwind + 1):
        yield (*(0,) * turns, 1), turns >= 2


def gap(unwind: int) -> Iterator[tuple[Word, bool]]:
    """Fails after one event, or after five."""
    yield (0,), True
    yield (0, 1, 1, 1, 1), True


def never(unwind: int) -> Iterator[tuple[Word, bool]]:
    yield (0,) * unwind, False


def literal_fig_10(toy: Toy, unwinds: range, lengths: range) -> tuple[Bounds, Automaton] | None:
    """The loop of the paper's Fig. 10, where an empty automaton is not yet one."""
    previous = None
    for unwind in unwinds:
        for length in lengths:
            bounds = Bounds(unwind, length)
            automaton = Automaton.from_words(toy.failing(bounds), toy.alphabet.labels)
            if automaton == previous and not is_empty(automaton):
                return bounds, automaton
            previous = automaton
    return None


def test_unwindings_without_failures_are_passed_over() -> None:
    toy = Toy("ab", loop, shortest=2)
    search = learn_up_to_bound(ExecutionsTeacher(toy), by_words)
    assert search.converged and not search.interrupted and not search.reached
    assert search.last.bounds == Bounds(2, 5), "the word has four letters, and one more changes nothing"
    assert search.last.automaton == Automaton.from_words([(0, 0, 1, 2)], ("a", "b", "error"))
    assert search.steps[0].bounds == Bounds(1, 40) and is_empty(search.steps[0].automaton)
    assert search.first_length == 2


def test_a_gap_between_lengths_is_not_the_end() -> None:
    search = learn_up_to_bound(ExecutionsTeacher(Toy("ab", gap)), by_words)
    assert search.last.bounds == Bounds(1, 7) and search.converged
    assert search.last.automaton.accepts((0, 1, 1, 1, 1, 2)) and search.last.automaton.accepts((0, 2))
    assert [step.bounds.word_length for step in search.steps] == list(range(1, 8))


def random_program(seed: int) -> Toy:
    chance = random.Random(seed)
    words = {
        unwind: [
            (tuple(chance.randrange(2) for _ in range(chance.randrange(2 * unwind + 1))), chance.random() < 0.6)
            for _ in range(chance.randrange(4))
        ]
        for unwind in (1, 2, 3)
    }

    def program(unwind: int) -> Iterator[tuple[Word, bool]]:
        for at in range(1, unwind + 1):
            yield from words.get(at, [])

    return Toy("ab", program)


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_against_all_their_executions(seed: int) -> None:
    toy = random_program(seed)
    search = learn_up_to_bound(ExecutionsTeacher(toy), by_words, Range(max_unwind=3, max_word_length=10))
    for step in search.steps:
        assert step.automaton == Automaton.from_words(toy.failing(step.bounds), toy.alphabet.labels)
    unwind = next((n for n in (1, 2, 3) if toy.failing(Bounds(n, 10))), None)
    if unwind is None:
        assert search.empty and not search.converged
    else:
        # The smallest unwinding with a failure, and all of its failing words, however long.
        assert search.last.bounds.unwind == unwind
        assert search.last.automaton == Automaton.from_words(toy.failing(Bounds(unwind, 10)), toy.alphabet.labels)
        paper = literal_fig_10(toy, range(1, 4), range(1, 11))
        assert paper is not None
        assert search.last.bounds.word_length >= paper[0].word_length, "never earlier than the paper's test"
        if not toy.failing(Bounds(unwind, 10)) - toy.failing(paper[0]):
            assert (search.last.bounds, search.last.automaton) == paper


def test_fixed_bounds_are_one_step() -> None:
    toy = Toy("ab", loop)
    search = learn_up_to_bound(ExecutionsTeacher(toy), by_words, Range(unwind=4, word_length=5))
    assert [step.bounds for step in search.steps] == [Bounds(4, 5)]
    assert search.converged
    assert search.last.automaton == Automaton.from_words(toy.failing(Bounds(4, 5)), toy.alphabet.labels)


def test_one_bound_fixed_and_the_other_searched() -> None:
    lengths = learn_up_to_bound(ExecutionsTeacher(Toy("ab", loop)), by_words, Range(unwind=3))
    assert lengths.last.bounds == Bounds(3, 6)
    unwinds = learn_up_to_bound(ExecutionsTeacher(Toy("ab", loop)), by_words, Range(word_length=4))
    assert unwinds.last.bounds == Bounds(3, 4) and unwinds.converged, "the same as with two turns"


def test_every_bound_goes_on_after_convergence() -> None:
    search = learn_up_to_bound(ExecutionsTeacher(Toy("ab", loop)), by_words, Range(max_unwind=3, every=True))
    assert search.last.bounds == Bounds(3, 6) and search.converged
    assert {step.bounds.unwind for step in search.steps} == {1, 2, 3}


def test_words_that_are_still_longer_do_not_converge() -> None:
    search = learn_up_to_bound(ExecutionsTeacher(Toy("ab", loop)), by_words, Range(unwind=9, max_word_length=7))
    assert not search.converged
    assert search.last.bounds == Bounds(9, 7)


def test_nothing_fails() -> None:
    search = learn_up_to_bound(ExecutionsTeacher(Toy("ab", never)), by_words)
    assert search.empty and not search.converged
    assert [step.bounds.unwind for step in search.steps] == [1, 2, 3, 4]


def test_back_edges_are_no_end() -> None:
    # An automaton that goes on after the error is not believed, however often it comes.
    class Guess(ExecutionsTeacher):
        def counterexample(self, automaton: object) -> Counterexample | None:
            return (
                super().counterexample(automaton)
                if isinstance(automaton, Automaton) and not automaton.accepting
                else None
            )

    onward = Automaton(("a", "b", "error"), 0, ((0, 0, 1), (0, 0, 1)), frozenset({1}))
    search = learn_up_to_bound(Guess(Toy("ab", gap)), lambda teacher: onward, Range(unwind=1, max_word_length=6))
    assert not search.converged and len(search.steps) == 6


class Interrupting:
    """Learns by words, and is interrupted after some steps."""

    def __init__(self, steps: int, stop: type[BaseException]) -> None:
        self.steps = steps
        self.stop = stop

    def __call__(self, teacher: object) -> Automaton:
        if not self.steps:
            raise self.stop
        self.steps -= 1
        return by_words(teacher)


def test_ctrl_c_gives_what_was_learned_last() -> None:
    teacher = ExecutionsTeacher(Toy("ab", gap))
    search = learn_up_to_bound(teacher, Interrupting(3, KeyboardInterrupt))
    assert search.interrupted and not search.converged
    assert search.last.bounds == Bounds(1, 3) and search.last.automaton.accepts((0, 2))


def test_ctrl_c_in_the_first_step_gives_the_conjecture() -> None:
    conjecture = Automaton.from_words([(0, 2)], ("a", "b", "error"))
    teacher = ExecutionsTeacher(Toy("ab", gap))
    search = learn_up_to_bound(teacher, Interrupting(0, KeyboardInterrupt), best=lambda: conjecture)
    assert search.interrupted and search.last.automaton == conjecture


def test_ctrl_c_before_there_is_anything_is_an_interruption() -> None:
    with pytest.raises(KeyboardInterrupt):
        learn_up_to_bound(ExecutionsTeacher(Toy("ab", gap)), Interrupting(0, KeyboardInterrupt))


def test_out_of_time_is_named() -> None:
    search = learn_up_to_bound(ExecutionsTeacher(Toy("ab", gap)), Interrupting(3, OutOfTime), seconds=30)
    assert search.reached == ["stopped after 30 seconds"] and not search.interrupted
    none_left = learn_up_to_bound(ExecutionsTeacher(Toy("ab", gap)), by_words, seconds=0)
    assert none_left.reached == ["stopped after 0 seconds"] and not none_left.converged


def test_progress_is_told_before_and_after() -> None:
    told: list[tuple[Bounds, bool]] = []
    learn_up_to_bound(
        ExecutionsTeacher(Toy("ab", loop), Limits()),
        by_words,
        Range(unwind=2, word_length=4),
        progress=lambda bounds, automaton: told.append((bounds, automaton is not None)),
    )
    assert told == [(Bounds(2, 4), False), (Bounds(2, 4), True)]


@pytest.mark.parametrize("bound", ["unwind", "word_length", "max_unwind", "max_word_length"])
def test_bounds_begin_with_one(bound: str) -> None:
    with pytest.raises(LawfulError) as caught:
        Range(**{bound: 0})  # type: ignore[arg-type]
    assert caught.value.slug == "explain-bounds"


def test_a_step_keeps_what_it_rests_on() -> None:
    toy = Toy("ab", loop)

    def learn(teacher: object) -> Automaton:
        if toy.report.warnings:
            toy.report.basis = Basis.SAMPLED
        toy.report.warnings.append(f"step {len(toy.report.warnings)}")
        return by_words(teacher)

    teacher = Reporting(toy)
    search = learn_up_to_bound(teacher, learn, Range(unwind=2, max_word_length=6))
    first, second = (step.report for step in search.steps[:2])
    assert (first.basis, first.warnings) == (Basis.COMPLETE, ["step 0"])
    assert (second.basis, second.warnings) == (Basis.SAMPLED, ["step 0", "step 1"])


class Reporting(ExecutionsTeacher):
    """Has one report, which grows."""

    @property
    def report(self) -> TeacherReport:  # type: ignore[override]
        return self.source.report
