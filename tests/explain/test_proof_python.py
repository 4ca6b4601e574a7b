"""The paper's programs in Python: all ways and learners find all executions on all inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import pytest

from explain import traced
from explain.residuals import dominating, saved, size
from explain.traced import EXAMPLES, Word
from lawful.explain import explain
from lawful.explain.automata import Automaton, words
from lawful.explain.explanation import PictureEdge, WordExample
from lawful.explain.learning_run import LearnerName
from lawful.explain.lstar import TableLearner, ThreeValuedLearner, TreeLearner
from lawful.explain.teacher import Alphabet, Basis, Bounds
from lawful.explain.teachers.executions import ExecutionsTeacher
from lawful.explain.teachers.python.execution_source import PythonSource
from lawful.explain.teachers.python.options import ExplorationWay as Exploring

Inputs = Callable[[int, dict[str, Any]], Iterable[tuple[Any, ...]]]


def lists(longest: int, values: Iterable[Any]) -> Iterable[tuple[list[Any]]]:
    pool = list(values)
    return ((list(each),) for length in range(longest + 1) for each in product(pool, repeat=length))


@dataclass(frozen=True)
class Program:
    """A program, its functions, and its inputs with a bound."""

    name: str
    functions: str
    inputs: Inputs
    sizes: dict[int, tuple[int, int]]
    """For each bound, the states and edges of the smallest automaton of the failing words; none where nothing fails."""

    smallest: tuple[str, ...]
    """What fails with the smallest bound that has a failure."""

    @property
    def first(self) -> int:
        return min(bound for bound, sizes in self.sizes.items() if sizes != (0, 0))


BOTH = (False, True)
SPLIT = "merge_sort split merge_sort merge_sort split merge_sort merge_sort merge"  # of three, until halves are merged
PROGRAMS = {
    each.name: each
    for each in (
        Program(
            "bubble_sort",
            "gl_insert gl_read inspect swap gl_sort",
            lambda bound, _: lists(bound, range(bound)),
            {1: (5, 4), 2: (6, 6), 3: (7, 8)},
            ("gl_read gl_insert inspect",),
        ),
        Program(
            "merge_sort",
            "split take_left take_right merge merge_sort",
            lambda bound, _: lists(bound, range(bound)),
            {2: (0, 0), 3: (16, 16), 4: (32, 35)},
            (
                f"{SPLIT} take_left take_right merge take_left take_right",
                f"{SPLIT} take_right take_left merge take_left take_right",
            ),
        ),
        Program(
            "sll_to_dll",
            "append create link to_doubly step inspect",
            lambda bound, _: ((length,) for length in range(-bound, bound + 1)),
            {1: (0, 0), 2: (9, 8), 3: (14, 14), 4: (20, 21)},
            ("create append append to_doubly link inspect step",),
        ),
        Program(
            "docking",
            "orbit approach align abort latch",
            lambda bound, scope: lists(bound, scope["Signal"]),
            {2: (0, 0), 3: (6, 5), 4: (8, 9), 5: (11, 15)},
            ("orbit approach align latch",),
        ),
        Program(
            "tcas",
            "own_below_threat own_above_threat inhibit_biased_climb non_crossing_climb non_crossing_descend "
            "advise check",
            lambda bound, _: product(*[range(-bound, bound + 1)] * 4, BOTH, BOTH),
            {1: (10, 10), 2: (10, 10)},
            tuple(
                f"advise non_crossing_climb inhibit_biased_climb {asked} "
                "non_crossing_descend inhibit_biased_climb own_above_threat check"
                for asked in ("own_above_threat", "own_below_threat")
            ),
        ),
    )
}
CASES = [(name, bound) for name, program in PROGRAMS.items() for bound in program.sizes]


@cache
def ran(name: str, bound: int) -> tuple[frozenset[Word], frozenset[Word]]:
    """The words of all executions: those that fail, and those that end well."""
    program = PROGRAMS[name]
    found = traced.executions(
        EXAMPLES / f"{name}.py", program.functions.split(), lambda scope: program.inputs(bound, scope)
    )
    return frozenset(word for word, bad in found if bad), frozenset(word for word, bad in found if not bad)


def target(name: str) -> str:
    return f"{EXAMPLES / name}.py:main"


def spelled(automaton: Automaton, alphabet: Alphabet, length: int) -> set[Word]:
    return {alphabet.spelled(word) for word in words(automaton, length)}


@pytest.mark.parametrize(("name", "bound"), CASES)
def test_the_expected_automata_are_those_of_brute_force(name: str, bound: int) -> None:
    program, (failing, _) = PROGRAMS[name], ran(name, bound)
    assert size(failing) == program.sizes[bound]
    if bound == program.first:
        assert tuple(sorted(" ".join(word[:-1]) for word in failing)) == program.smallest


@pytest.mark.parametrize("way", ["exhaustive", "symbolic"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_all_paths_agree(name: str, way: Exploring) -> None:
    """The automaton of the listed words, and those that both learners come to by asking, at several lengths."""
    with PythonSource(target(name), way=way) as source:
        teacher, alphabet = ExecutionsTeacher(source), source.alphabet
        assert set(alphabet.labels) == {*PROGRAMS[name].functions.split(), "error"}
        for bound in PROGRAMS[name].sizes:
            failing, passing = ran(name, bound)
            longest = max(map(len, failing), default=8)
            for length in (longest + 2, longest, longest - 1, longest // 2):
                teacher.bound(Bounds(bound, length))
                expected = {word for word in failing if len(word) <= length}
                assert spelled(teacher.failing, alphabet, length + 5) == expected
                ended = {alphabet.spelled(word) for word in teacher.passes()}
                assert ended == {word for word in passing if len(word) <= length}
                for learner in (TableLearner(), TreeLearner()):
                    assert spelled(learner.learn(teacher), alphabet, length) == expected
        assert source.report.basis is Basis.COMPLETE


@pytest.mark.parametrize("name", PROGRAMS)
def test_dont_care_is_right_about_every_execution(name: str) -> None:
    """The automaton may accept words that no execution has, and is right about those of executions: Eqn. 5."""
    with PythonSource(target(name)) as source:
        teacher, alphabet = ExecutionsTeacher(source, trap=False), source.alphabet
        for bound in PROGRAMS[name].sizes:
            failing, passing = ran(name, bound)
            teacher.bound(Bounds(bound, 40))
            learned = ThreeValuedLearner().learn(teacher)
            assert not any(learned.accepts(alphabet.word(*word)) for word in passing)
            # An execution that does the events of a failing one and goes on says that it did not fail there.
            events = {word[:-1] for word in failing} | passing
            for begun in {word[:place] for word in events for place in range(len(word) + 1)}:
                assert learned.accepts(alphabet.word(*begun, "error")) is ((*begun, "error") in failing)
            assert len(learned) <= size(failing)[0] + 1


@pytest.mark.parametrize("learner", ["words", "table"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_an_explanation_is_right_and_its_inputs_do_what_it_says(name: str, learner: LearnerName) -> None:
    """The bounds are searched; every edge and way is run again with the input that it shows."""
    found = explain(target(name), learner=learner)
    program, bounds, alphabet = PROGRAMS[name], found.bounds, found.alphabet
    failing, passing = ran(name, bounds.unwind)
    assert bounds.unwind == program.first
    assert found.complete and found.converged and found.learner == learner
    assert spelled(found.automaton, alphabet, bounds.word_length) == failing
    assert set(alphabet.spelled(found.picture.dominating)) == dominating(failing)
    assert {alphabet.spelled(way.word) for way in found.ways} == failing
    if learner == "words":
        assert (found.picture.states, len(found.picture.edges)) == size(failing)
        assert set(found.picture.doomed) == set(range(found.picture.states)) - saved(found, passing)
    file = EXAMPLES / f"{name}.py"
    scope = traced.loaded(file)
    shown: list[PictureEdge | WordExample] = [*found.picture.edges, *found.ways]
    for each in shown:
        word, example = each.word, each.example
        assert word is not None and example is not None
        given = eval(f"dict({example})", scope)
        got = traced.word_of(file, scope, program.functions.split(), tuple(given.values()))
        assert got == (alphabet.spelled(word), True)


@pytest.mark.parametrize("name", PROGRAMS)
def test_explaining_the_end_is_what_ends(name: str) -> None:
    """Program explanation: executions that come to their end. One that an exception leaves does not."""
    bound = PROGRAMS[name].first
    _, passing = ran(name, bound)
    length = max(map(len, passing)) + 1
    found = explain(target(name), error="end", unwind=bound, word_length=length)
    assert spelled(found.automaton, found.alphabet, length) == {(*word, "end") for word in passing}
    assert found.ends and found.complete
