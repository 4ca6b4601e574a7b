"""The paper's programs in C: all teachers and learners find what the compiled program does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import pytest

from explain.compiled import EXAMPLES, compiled
from explain.one_run_words import executions
from explain.residuals import dominating, saved, size
from explain.teachers.c.requirements import needs_cbmc
from lawful.explain import Explanation, explain
from lawful.explain.automata import Automaton, words
from lawful.explain.explanation import PictureEdge, WordExample
from lawful.explain.lstar import AutomatonLearner, TableLearner, TreeLearner
from lawful.explain.teacher import Alphabet, Bounds
from lawful.explain.teachers.c import c_teacher
from lawful.explain.teachers.c.one_run_teacher import OneRunTeacher

pytestmark = needs_cbmc

FUNCTIONS = {
    "bubble_sort": "make_ring insert swap pass inspect",
    "merge_sort": "take_left take_right merge sort check",
    "sll_to_dll": "prepend make_list link_back both_ways step_back walk_back",
    "docking": "approach align close_in contact retreat abort_mission",
    "tcas": "is_below is_above may_climb may_descend climbing_is_better agree advise check",
    "defroster": "switch_on switch_off press voltage_falls voltage_returns tick",
}

# Program, unwinding, longest failing word; states, edges, and how many words fail and end well.
BOUNDED = [
    ("bubble_sort", 1, 0, (0, 0), (0, 1)),
    ("bubble_sort", 2, 5, (6, 5), (1, 1)),
    ("bubble_sort", 3, 8, (9, 10), (3, 1)),
    ("bubble_sort", 4, 12, (13, 17), (8, 1)),
    ("merge_sort", 2, 0, (0, 0), (0, 1)),
    ("merge_sort", 3, 7, (8, 7), (1, 2)),
    ("merge_sort", 4, 13, (14, 15), (3, 5)),
    ("sll_to_dll", 2, 8, (9, 8), (1, 1)),
    ("sll_to_dll", 4, 14, (20, 21), (3, 1)),
    ("docking", 3, 5, (6, 5), (1, 1)),
    ("docking", 4, 6, (7, 8), (3, 4)),
    ("docking", 5, 7, (9, 13), (6, 9)),
    ("tcas", 1, 7, (10, 11), (4, 11)),
    ("defroster", 3, 5, (6, 5), (1, 13)),
    ("defroster", 4, 8, (13, 16), (5, 39)),
]
# The formula of merge sort grows fast: its next unwinding is compared with the same program in Python, elsewhere.
CHECKED = [each for each in BOUNDED if each[:2] != ("merge_sort", 4)]
FAILING = [each for each in CHECKED if each[2]]

# What all failing executions are, spelled out for the smallest unwinding that shows the mistake.
SMALLEST = {
    ("bubble_sort", 2): ["make_ring insert pass inspect"],
    ("merge_sort", 3): ["sort sort sort merge take_left check"],
    ("sll_to_dll", 2): ["make_list prepend prepend both_ways link_back walk_back step_back"],
    ("docking", 3): ["approach close_in abort_mission retreat"],
    ("tcas", 1): [
        "advise agree may_climb check is_below",
        "advise agree may_descend check is_below is_above",
        "advise climbing_is_better may_climb check is_below",
        "advise climbing_is_better may_descend check is_below is_above",
    ],
    ("defroster", 3): ["voltage_falls press switch_on tick"],
}


@cache
def ran(name: str, unwind: int) -> tuple[set[tuple[str, ...]], set[tuple[str, ...]]]:
    """The words of the compiled program: those that fail, and those that end well."""
    found = compiled(name).executions(unwind, FUNCTIONS[name].split())
    return {word for word, failed in found if failed}, {word for word, failed in found if not failed}


@cache
def one_run(name: str) -> OneRunTeacher:
    """One for all tests of a program: what it knows of other bounds must not get in its way."""
    teacher = c_teacher(EXAMPLES / f"{name}.c")
    assert isinstance(teacher, OneRunTeacher)
    return teacher


@pytest.fixture(scope="module", autouse=True)
def let_go() -> Iterator[None]:
    """Solvers are freed by a library that may be gone at the very end."""
    yield
    one_run.cache_clear()


def spelled(automaton: Automaton, alphabet: Alphabet, length: int) -> set[tuple[str, ...]]:
    return {alphabet.spelled(word) for word in words(automaton, length)}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_events_are_the_functions(name: str) -> None:
    assert set(one_run(name).alphabet.labels) == {*FUNCTIONS[name].split(), "assert"}


@pytest.mark.parametrize(("name", "unwind", "longest", "sizes", "counts"), BOUNDED)
def test_the_expected_automata_are_those_of_brute_force(
    name: str, unwind: int, longest: int, sizes: tuple[int, int], counts: tuple[int, int]
) -> None:
    failing, passing = ran(name, unwind)
    assert (len(failing), len(passing)) == counts
    assert size(failing) == sizes and max(map(len, failing), default=0) == longest
    if (name, unwind) in SMALLEST:
        assert sorted(" ".join(word[:-1]) for word in failing) == SMALLEST[name, unwind]


@pytest.mark.parametrize(("name", "unwind", "longest"), [each[:3] for each in CHECKED])
def test_one_run_sees_the_executions_of_the_compiled_program(name: str, unwind: int, longest: int) -> None:
    failing, passing = ran(name, unwind)
    teacher = one_run(name)
    length = max(longest, 8)
    got = {(teacher.alphabet.spelled(each.word), each.failed) for each in executions(teacher, Bounds(unwind, length))}
    assert {word for word, failed in got if failed} == failing
    assert {word for word, failed in got if not failed} == {word for word in passing if len(word) <= length}


@pytest.mark.parametrize(("name", "unwind", "longest", "sizes"), [each[:4] for each in FAILING])
def test_all_paths_through_the_one_run_teacher_agree(
    name: str, unwind: int, longest: int, sizes: tuple[int, int]
) -> None:
    """The automaton of the listed words, and those that both learners come to by asking, at every length of words."""
    failing, _ = ran(name, unwind)
    teacher = one_run(name)
    for length in sorted({longest // 2, longest - 1, longest, longest + 2}):
        teacher.bound(Bounds(unwind, length))
        listed = teacher.failing
        expected = {word for word in failing if len(word) <= length}
        assert spelled(listed, teacher.alphabet, length + 5) == expected
        for learner in (TableLearner(), TreeLearner()):
            learned = learner.learn(teacher)
            assert spelled(learned, teacher.alphabet, length) == expected
        if length == longest:
            assert (len(listed) - 1, sum(to != sink(listed) for row in listed.transitions for to in row)) == sizes


def sink(automaton: Automaton) -> int:
    """The state that words do not come back from."""
    (found,) = (
        state
        for state, row in enumerate(automaton.transitions)
        if set(row) == {state} and state not in automaton.accepting
    )
    return found


# Each question is a process: the smallest bounds that fail, and one learner for each program.
ASKED: list[tuple[str, int, int, type[AutomatonLearner]]] = [
    ("bubble_sort", 2, 6, TreeLearner),
    ("merge_sort", 3, 7, TreeLearner),
    ("sll_to_dll", 2, 9, TableLearner),
    ("docking", 3, 5, TreeLearner),
    ("tcas", 1, 7, TableLearner),
    ("defroster", 3, 5, TableLearner),
]


@pytest.mark.parametrize(("name", "unwind", "length", "kind"), ASKED, ids=[each[0] for each in ASKED])
def test_the_papers_teacher_agrees(name: str, unwind: int, length: int, kind: type[AutomatonLearner]) -> None:
    teacher = c_teacher(EXAMPLES / f"{name}.c", way="asking")
    teacher.bound(Bounds(unwind, length))
    learned = kind().learn(teacher)
    assert spelled(learned, teacher.alphabet, length) == ran(name, unwind)[0]
    assert teacher.counts.membership_worked < teacher.counts.membership / 3, "most questions need no process"


@cache
def explained(name: str) -> Explanation:
    return explain(str(EXAMPLES / f"{name}.c"))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_explanation_is_right_and_its_inputs_do_what_it_says(name: str) -> None:
    """The bounds are searched; every edge and way is run again with the input that it shows."""
    found = explained(name)
    bounds, alphabet = found.bounds, found.alphabet
    failing, passing = ran(name, bounds.unwind)
    assert found.complete and found.converged
    assert spelled(found.automaton, alphabet, bounds.word_length) == failing
    assert (found.picture.states, len(found.picture.edges)) == size(failing)
    assert set(alphabet.spelled(found.picture.dominating)) == dominating(failing)
    assert set(found.picture.doomed) == set(range(found.picture.states)) - saved(found, passing)
    shown: list[PictureEdge | WordExample] = [*found.picture.edges, *found.ways]
    assert {alphabet.spelled(way.word) for way in found.ways} == failing
    for each in shown:
        word, example = each.word, each.example
        assert word is not None and example is not None
        inputs = [int(value) for value in re.findall(r"choose\(\) = (-?\d+)", example)]
        assert compiled(name).replay(bounds.unwind, inputs, FUNCTIONS[name].split()) == alphabet.spelled(word)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_edges_stand_where_the_functions_do(name: str) -> None:
    source = (EXAMPLES / f"{name}.c").read_text().splitlines()
    found = explained(name)
    for edge in found.picture.edges:
        assert edge.line is not None and edge.file is not None and edge.file.endswith(f"{name}.c")
        label = found.alphabet.labels[edge.letter]
        assert re.search(rf"\b{label}\(", source[edge.line - 1])


@pytest.mark.parametrize(("name", "unwind"), [("merge_sort", 3), ("docking", 4), ("tcas", 1), ("defroster", 3)])
def test_explaining_the_end_is_what_ends(name: str, unwind: int) -> None:
    """Program explanation: executions that come to their end. One at which the assertion fails does not."""
    _, passing = ran(name, unwind)
    length = max(map(len, passing)) + 1
    found = explain(str(EXAMPLES / f"{name}.c"), error="end", unwind=unwind, word_length=length)
    assert spelled(found.automaton, found.alphabet, length) == {(*word, "end") for word in passing}
    assert found.ends and found.complete
