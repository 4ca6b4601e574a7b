"""From a teacher to an explanation: every learner says the same, and the result says what it rests on."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from explain.toys import Toy, all_words
from lawful.errors import LawfulError
from lawful.explain import postprocess
from lawful.explain.automata import Automaton, minimise
from lawful.explain.bounds import OutOfTime, Range
from lawful.explain.explanation import Explanation
from lawful.explain.learning_run import (
    LearnerName,
    SearchSettings,
    explanation,
    found_nothing,
    learn_from,
    nothing_failed_error,
)
from lawful.explain.teacher import (
    Alphabet,
    Basis,
    Bounds,
    Counterexample,
    Execution,
    Limits,
    MembershipAnswer,
    QueryCounts,
    Teacher,
    TeacherReport,
    Word,
)
from lawful.explain.teachers.executions import ExecutionsTeacher


def sorting(unwind: int) -> Iterator[tuple[Word, bool]]:
    """`a` in a loop; then `b` fails, or `c` does not, and after `a b` nothing else can happen."""
    for turns in range(unwind + 1):
        before = (0,) * turns
        yield (*before, 1), turns > 0
        yield (*before, 2), False


class Asking(Teacher):
    """A teacher that only answers, by way of one that knows."""

    def __init__(self, toy: Toy) -> None:
        self._knowing = ExecutionsTeacher(toy)
        self.examples = 0

    @property
    def alphabet(self) -> Alphabet:  # type: ignore[override]
        return self._knowing.alphabet

    @property
    def counts(self) -> QueryCounts:  # type: ignore[override]
        return self._knowing.counts

    @property
    def report(self) -> TeacherReport:  # type: ignore[override]
        return self._knowing.report

    def shortest(self) -> int:
        return self._knowing.shortest()

    def bound(self, bounds: Bounds) -> None:
        self._knowing.bound(bounds)

    def member(self, word: Word) -> MembershipAnswer:
        return self._knowing.member(word)

    def counterexample(self, automaton: Automaton) -> Counterexample | None:
        return self._knowing.counterexample(automaton)

    def example(self, word: Word) -> Execution | None:
        self.examples += 1
        return self._knowing.example(word)


def explained(learner: LearnerName = "auto", within: Range = Range(), ends: bool = False) -> Explanation:  # noqa: B008
    return explanation(
        learn_from(ExecutionsTeacher(Toy("abc", sorting)), SearchSettings(learner=learner, within=within)),
        "toy",
        ends=ends,
    )


def test_an_explanation_says_everything() -> None:
    found = explained()
    assert found.bounds == Bounds(1, 4) and found.complete and found.converged and found.learner == "words"
    assert found.alphabet.spelled(found.picture.story) == ("a", "b", "error")
    assert found.picture.dominating == (0, 1, 3)
    assert [(way.word, way.example) for way in found.ways] == [((0, 1, 3), "f(01)")] and found.ways_total == 1
    assert found.iterations == len(found.snapshots) == 4
    assert [edge.example for edge in found.picture.edges] == ["f(01)"] * 3
    assert [edge.line for edge in found.picture.edges] == [10, 11, 99]


def test_doomed_is_what_every_execution_fails_from() -> None:
    # After `a` there is still `c`. After `a b` there is nothing but the error.
    assert explained().picture.doomed == (2, 3)
    assert explained(ends=True).picture.doomed == (3,), "where all executions count, all states would be doomed"


def test_a_longer_execution_that_passes_saves_a_state() -> None:
    def program(unwind: int) -> Iterator[tuple[Word, bool]]:
        yield (0,), True
        yield (0, 1, 1, 1, 1, 1), False

    found = explanation(learn_from(ExecutionsTeacher(Toy("ab", program))), "toy")
    assert found.bounds.word_length < 6 and found.picture.doomed == (2,)


def test_the_same_with_every_learner() -> None:
    words = explained("words", Range(unwind=3, word_length=6))
    learners: tuple[LearnerName, ...] = ("table", "tree")
    for learner in learners:
        other = explained(learner, Range(unwind=3, word_length=6))
        assert all(other.automaton.accepts(word) is words.automaton.accepts(word) for word in all_words(4, 6))
        assert other.learner == learner and other.counts.membership > 0
        assert other.ways == words.ways and other.ways_total == words.ways_total


@pytest.mark.parametrize("learner", ["table", "tree", "dont-care"])
@pytest.mark.parametrize("seed", range(8))
def test_random_programs_with_every_learner(seed: int, learner: LearnerName) -> None:
    chance = random.Random(seed)
    runs = [(tuple(chance.randrange(2) for _ in range(chance.randrange(5))), chance.random() < 0.6) for _ in range(6)]
    runs.append(((0,), True))
    bounds = Range(unwind=1, word_length=6)
    found = explanation(
        learn_from(ExecutionsTeacher(Toy("ab", lambda unwind: runs)), SearchSettings(learner=learner, within=bounds)),
        "toy",
    )
    failing = {(*word, 2) for word, failed in runs if failed}
    for word, failed in runs:
        assert found.automaton.accepts((*word, 2)) is ((*word, 2) in failing)
        assert failed or not found.automaton.accepts(word)
    assert all(found.automaton.accepts(word) for word in failing)
    assert {way.word for way in found.ways} == failing and found.ways_total == len(failing)


@pytest.mark.parametrize("seed", range(25))
def test_every_search_ends_with_all_failures_within_its_bounds(seed: int) -> None:
    chance = random.Random(seed)
    ends = [(tuple(chance.randrange(3) for _ in range(chance.randrange(4))), chance.random() < 0.5) for _ in range(4)]
    loop, least = tuple(chance.randrange(3) for _ in range(chance.randrange(1, 3))), chance.randrange(3)

    def program(unwind: int) -> Iterator[tuple[Word, bool]]:
        for turns in range(unwind + 1):
            for end, fails in ends:
                yield loop * turns + end, fails and turns >= least

    learners: tuple[LearnerName, ...] = ("words", "table", "tree")
    bounds: set[Any] = set()
    for learner in learners:
        done = learn_from(
            ExecutionsTeacher(Toy("abc", program)),
            SearchSettings(learner=learner, within=Range(max_unwind=3, max_word_length=14)),
        )
        if found_nothing(done):
            bounds.add(None)
            continue
        accepted = {word for word in all_words(4, 6) if done.automaton.accepts(word)}
        length = done.bounds.word_length
        failing = Toy("abc", program).failing(done.bounds)
        assert {word for word in accepted if len(word) <= length} == {word for word in failing if len(word) <= 6}
        bounds.add(done.bounds.unwind)
    assert len(bounds) == 1


def test_a_teacher_that_only_answers() -> None:
    teacher = Asking(Toy("abc", sorting))
    found = explanation(learn_from(teacher), "toy")
    assert found.learner == "table" and found.automaton == explained().automaton
    assert [edge.example for edge in found.picture.edges] == ["f(01)"] * 3
    assert teacher.examples == 1, "one execution takes all the edges, and to find an execution can take long"
    assert [(way.word, way.example) for way in found.ways] == [((0, 1, 3), "f(01)")] and found.ways_total == 1


class Sparing(Asking):
    """One that lists no executions, but knows where those come through that do not fail."""

    def passing_states(self, automaton: Automaton) -> frozenset[int]:
        passing = Automaton.from_words(self._knowing.passes(), self.alphabet.labels)
        return frozenset(postprocess.visited(automaton, passing))


def test_a_teacher_may_know_what_is_doomed_without_listing_executions() -> None:
    assert explanation(learn_from(Asking(Toy("abc", sorting))), "toy").picture.doomed == (3,)
    assert explanation(learn_from(Sparing(Toy("abc", sorting))), "toy").picture.doomed == (2, 3)


def test_learners_that_there_are_not() -> None:
    with pytest.raises(LawfulError) as caught:
        explained("guess")  # type: ignore[arg-type]
    assert caught.value.slug == "explain-learner" and "dont-care" in str(caught.value.hint)


def test_words_need_a_teacher_that_knows_them() -> None:
    with pytest.raises(LawfulError) as caught:
        learn_from(Asking(Toy("abc", sorting)), SearchSettings(learner="words"))
    assert caught.value.slug == "explain-learner"


def test_words_that_are_too_many_to_be_listed_are_learned_by_asking() -> None:
    class Forgetful(ExecutionsTeacher):
        @property
        def failing(self) -> Automaton:
            return Automaton.from_words((), self.alphabet.labels)

    done = learn_from(Forgetful(Toy("abc", sorting)))
    assert done.learner == "table" and done.automaton == explained().automaton


def test_ctrl_c_while_examples_are_looked_for() -> None:
    class Impatient(Asking):
        def example(self, word: Word) -> Execution | None:
            raise KeyboardInterrupt

    found = explanation(learn_from(Impatient(Toy("abc", sorting))), "toy")
    assert found.interrupted and not found.complete
    assert found.automaton == explained().automaton and found.picture.edges[0].example is None


def test_out_of_time_while_examples_are_looked_for() -> None:
    class Late(Asking):
        def example(self, word: Word) -> Execution | None:
            raise OutOfTime

    found = explanation(learn_from(Late(Toy("abc", sorting))), "toy")
    assert not found.interrupted and found.automaton == explained().automaton
    assert found.picture.edges[0].example is None


def test_ctrl_c_while_learning() -> None:
    class Impatient(Asking):
        def counterexample(self, automaton: Automaton) -> Counterexample | None:
            if automaton.accepting and automaton.accepts((0, 1, 3)):
                raise KeyboardInterrupt
            return super().counterexample(automaton)

    found = explanation(learn_from(Impatient(Toy("abc", sorting))), "toy")
    assert found.interrupted and found.automaton.accepts((0, 1, 3))


def test_limits_that_were_reached_are_named() -> None:
    teacher = ExecutionsTeacher(Toy("abc", sorting), Limits(paths=3))
    found = explanation(learn_from(teacher), "toy")
    assert found.reached == ("stopped after 3 paths",)
    assert found.basis is Basis.SAMPLED and not found.complete


def test_nothing_fails() -> None:
    within = Range(max_unwind=2, max_word_length=9)
    done = learn_from(ExecutionsTeacher(Toy("ab", lambda unwind: [((0,), False)])), SearchSettings(within=within))
    assert found_nothing(done)
    error = nothing_failed_error(done, within, "toy")
    assert error.slug == "explain-unreachable"
    assert "'error'" in error.message and "up to 2" in error.message and "up to 9" in error.message


def test_nothing_failed_before_a_limit() -> None:
    teacher = ExecutionsTeacher(Toy("ab", lambda unwind: [((0,), False), ((1,), True)]), Limits(paths=1))
    done = learn_from(teacher, SearchSettings(within=Range(unwind=1)))
    error = nothing_failed_error(done, Range(unwind=1), "toy")
    assert error.message.count("stopped after 1 paths") == 1 and "explain.max-paths" in str(error.hint)


def test_json_has_what_programs_need() -> None:
    found = json.loads(json.dumps(explained().to_json()))
    assert found["alphabet"] == ["a", "b", "c", "error"]
    assert (found["states"], found["initial"], found["accepting"]) == (4, 0, [3])
    rows = tuple(map(tuple, found["transitions"]))
    read = Automaton(tuple(found["alphabet"]), found["initial"], rows, frozenset(found["accepting"]))
    assert minimise(read) == explained().automaton, "it can be read again"
    assert len(found["edges"]) == 3 and found["edges"][0] == {
        "from": 0,
        "event": "a",
        "to": 1,
        "dominating": True,
        "file": "toy.c",
        "line": 10,
        "word": ["a", "b", "error"],
        "input": "f(01)",
    }
    assert found["dominating"] == ["a", "b", "error"] and found["doomed"] == [2, 3]
    assert found["bounds"] == {"unwind": 1, "word_length": 4} and found["complete"] is True
    assert found["queries"]["executions"] == 4, "the program was run through once"
    assert found["words"] == [{"word": ["a", "b", "error"], "input": "f(01)", "errors": []}]
    assert [each["states"] for each in found["snapshots"]] == [1, 1, 4, 4]


def test_the_watcher_hears_how_it_goes() -> None:
    heard: list[tuple[Bounds, int, int]] = []
    learn_from(
        ExecutionsTeacher(Toy("abc", sorting)),
        SearchSettings(
            learner="table",
            within=Range(unwind=1, word_length=3),
            watcher=lambda bounds, states, asked: heard.append((bounds, states, asked)),
        ),
    )
    assert [bounds for bounds, _, _ in heard] == [Bounds(1, 3)] * 2
    assert heard[0][1:] == (0, 0) and heard[1][1] == 5 and heard[1][2] > 0


def test_the_automaton_of_a_picture_is_there_too() -> None:
    assert explained().automaton == Automaton.from_words([(0, 1, 3)], ("a", "b", "c", "error"))


class Leaving(Toy):
    """A toy that reports executions that nobody followed to their end."""

    def __init__(self, left_out: bool, *warnings: str) -> None:
        super().__init__("abc", sorting)
        self.report = TeacherReport(warnings=list(warnings), left_out=left_out)


def test_executions_that_were_left_out_may_save_any_state() -> None:
    seen = explanation(learn_from(ExecutionsTeacher(Leaving(False)), SearchSettings(within=Range(unwind=2))), "toy")
    assert seen.picture.doomed_reading == seen.to_json()["doomed_reading"] == "program"
    assert set(seen.picture.doomed) > set(seen.picture.accepting)
    left = Leaving(True, "1 execution did not end", "never seen: c")
    less = explanation(learn_from(ExecutionsTeacher(left), SearchSettings(within=Range(unwind=2))), "toy")
    assert less.picture.doomed_reading == less.to_json()["doomed_reading"] == "paper"
    assert less.picture.doomed == less.picture.accepting
    assert less.warnings[0] == "1 execution did not end" and not any("never seen" in each for each in less.warnings)


def test_a_limit_leaves_executions_out() -> None:
    teacher = ExecutionsTeacher(Toy("abc", sorting), Limits(words=3))
    found = explanation(learn_from(teacher, SearchSettings(within=Range(unwind=2))), "toy")
    assert found.reached and found.picture.doomed_reading == "paper"


def test_who_only_answers_reads_as_the_paper_does() -> None:
    found = explanation(learn_from(Asking(Toy("abc", sorting)), SearchSettings(within=Range(unwind=2))), "toy")
    assert found.picture.doomed_reading == "paper" and found.picture.doomed == found.picture.accepting


def test_failures_are_told_by_exception_and_line() -> None:
    class Raising(Toy):
        def executions(self, bounds: Bounds, limits: Limits) -> Iterator[Execution]:
            for word, error, line in (((0, 2), "KeyError", 3), ((1, 2), "KeyError", 5), ((0, 1, 2), "ValueError", 5)):
                yield Execution(word, True, f"f({line})", (*[None] * (len(word) - 1), ("toy.py", line)), error)

    found = explanation(
        learn_from(ExecutionsTeacher(Raising("ab", sorting)), SearchSettings(within=Range(unwind=1))), "toy"
    )
    reported = {(each.error, each.line, each.words) for each in found.failures}
    assert reported == {("KeyError", 3, 1), ("KeyError", 5, 1), ("ValueError", 5, 1)}
    assert {each["error"] for each in found.to_json()["failures"]} == {"KeyError", "ValueError"}
