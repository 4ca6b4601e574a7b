"""One program in C and in Python: the teachers of both see the same words. And the merge of Fig. 7 in both."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from explain import compiled, traced
from explain.programs import BASE, BRANCH_A, BRANCH_B, MERGED
from explain.teachers.c.requirements import needs_cbmc
from lawful.explain import Comparison, explain, merge
from lawful.explain.automata import Automaton, equivalent, minimise, project, words
from lawful.explain.teacher import Alphabet, Bounds
from lawful.explain.teachers.c import c_teacher
from lawful.explain.teachers.c.one_run_teacher import OneRunTeacher
from lawful.explain.teachers.executions import ExecutionsTeacher
from lawful.explain.teachers.python.execution_source import PythonSource
from lawful.explain.teachers.python.options import EventChoice

pytestmark = needs_cbmc
TWINS = Path(__file__).resolve().parent / "twins"
MERGING = traced.EXAMPLES / "merging"

Words = set[tuple[str, ...]]


def in_c(name: str, unwind: int, length: int) -> Words:
    teacher = c_teacher(compiled.EXAMPLES / f"{name}.c")
    assert isinstance(teacher, OneRunTeacher)
    teacher.bound(Bounds(unwind, length))
    return spelled(teacher.failing, teacher.alphabet, length)


def in_python(file: Path, bound: int, length: int, inputs: str | None = None, events: tuple[str, ...] = ()) -> Words:
    with PythonSource(f"{file}:main", error="AssertionError", inputs=inputs, events=EventChoice(events)) as source:
        teacher = ExecutionsTeacher(source)
        teacher.bound(Bounds(bound, length))
        return spelled(teacher.failing, source.alphabet, length)


def spelled(automaton: Automaton, alphabet: Alphabet, length: int) -> Words:
    """Failing words, without the error: each language has its own name for it."""
    return {alphabet.spelled(word)[:-1] for word in words(automaton, length)}


# Program, unwinding of C and bound of Python that are enough for all words up to a length, how many those are.
@pytest.mark.parametrize(
    ("name", "unwind", "bound", "length", "many"),
    [("docking", 5, 9, 6, 3), ("merge_sort", 4, 3, 13, 3), ("tcas", 1, 1, 7, 4)],
)
def test_the_same_program_in_both_languages(name: str, unwind: int, bound: int, length: int, many: int) -> None:
    file = TWINS / f"{name}.py"
    found = in_python(
        file, bound, length, f"{file}:inputs", c_teacher(compiled.EXAMPLES / f"{name}.c").alphabet.labels[:-1]
    )
    assert found == in_c(name, unwind, length)
    assert len(found) == many


# The examples are programs of their own in each language. Two of them make the same mistake with the same steps.
def test_both_lists_miss_the_same_link() -> None:
    names = dict(zip("make_list prepend both_ways link_back walk_back step_back".split(), LINKING, strict=True))
    for bound in (2, 3, 4):
        found = in_python(traced.EXAMPLES / "sll_to_dll.py", bound, 30)
        assert found == {tuple(names[event] for event in word) for word in in_c("sll_to_dll", bound, 30)}
        assert len(found) == bound - 1


LINKING = ("create", "append", "to_doubly", "link", "inspect", "step")


@pytest.mark.parametrize("unwind", [2, 3])
def test_both_bubble_sorts_fail_after_any_insertion(unwind: int) -> None:
    """One sorts before it looks, the other after: without what the sorting does, they are the same."""
    ring = explain(str(compiled.EXAMPLES / "bubble_sort.c"), unwind=unwind)
    plain = explain(f"{traced.EXAMPLES / 'bubble_sort.py'}:main", unwind=unwind - 1)
    one = only(ring.automaton, ring.alphabet, {"insert": "insert", "inspect": "inspect", "assert": "error"})
    other = only(plain.automaton, plain.alphabet, {"gl_insert": "insert", "inspect": "inspect", "error": "error"})
    assert equivalent(one, other) is None
    found = {tuple(one.labels[letter] for letter in word) for word in words(one, 40)}
    assert found == {(*["insert"] * times, "inspect", "error") for times in range(1, unwind)}


def only(automaton: Automaton, alphabet: Alphabet, names: Mapping[str, str]) -> Automaton:
    """An automaton without other events, over labels in one order."""
    left = project(automaton, [label for label in alphabet.labels if label not in names])
    order = sorted(range(len(left.labels)), key=lambda letter: names[left.labels[letter]])
    rows = tuple(tuple(row[letter] for letter in order) for row in left.transitions)
    labels = tuple(names[left.labels[letter]] for letter in order)
    return minimise(Automaton(labels, left.initial, rows, left.accepting))


FIG_7 = {"base": BASE, "branch_a": BRANCH_A, "branch_b": BRANCH_B, "merged": MERGED}


@pytest.mark.parametrize("language", ["c", "python"])
def test_the_merge_of_fig_7_is_reported_as_in_figs_8_and_9(language: str, tmp_path: Path) -> None:
    if language == "c":
        for name, text in FIG_7.items():
            (tmp_path / f"{name}.c").write_text(text)
        targets = [str(tmp_path / f"{name}.c") for name in FIG_7]
        new = ("functionA", "functionZ", "functionB", "functionC", "end")
    else:
        targets = [f"{MERGING / name}.py:main" for name in FIG_7]
        new = ("function_a", "function_z", "function_b", "function_c", "end")
    found = merge(*targets, max_unwind=1)
    assert side(found, "not_in_a") == {new}, "Fig. 8"
    assert side(found, "not_in_b") == {new}, "Fig. 9"
    assert side(found, "in_neither") == {new} and not found.same and found.complete
    # functionZ calling functionC is what is new: neither branch has the two in one execution.
    z, c = new[1], new[3]
    for part in ("not_in_a", "not_in_b", "in_neither"):
        drawn = found.side(part).picture
        labels = [found.alphabet.labels[edge.letter] for edge in drawn.edges]
        assert (drawn.states, labels) == (6, list(new)) and all(edge.dominating for edge in drawn.edges)
        assert labels.index(z) < labels.index(c)
    for word in side(found, "lost"):
        assert not {z, c} <= set(word)


def side(found: Comparison, key: str) -> Words:
    return {found.alphabet.spelled(way.word) for way in found.side(key).ways}
