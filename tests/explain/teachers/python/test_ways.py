"""The three ways see the same words, and they are those of brute force."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from explain import brute
from lawful.explain.teacher import Basis, Bounds
from lawful.explain.teachers.python.execution_source import PythonSource
from lawful.explain.teachers.python.options import ExplorationWay

BOOLEANS = (False, True)

# Example, its functions, inputs up to a bound, the bound.
PROGRAMS: list[tuple[str, tuple[str, ...], int, Any]] = [
    ("merge_sort", ("split", "take_left", "take_right", "merge", "merge_sort"), 4, lambda _: brute.lists(4, range(4))),
    ("bubble_sort", ("gl_insert", "gl_read", "inspect", "swap", "gl_sort"), 3, lambda _: brute.lists(3, range(3))),
    (
        "sll_to_dll",
        ("append", "create", "link", "to_doubly", "step", "inspect"),
        4,
        lambda _: [(n,) for n in range(-4, 5)],
    ),
    ("docking", ("orbit", "approach", "align", "abort", "latch"), 4, lambda module: brute.lists(4, module.Signal)),
    (
        "tcas",
        (
            "own_below_threat",
            "own_above_threat",
            "inhibit_biased_climb",
            "non_crossing_climb",
            "non_crossing_descend",
            "advise",
            "check",
        ),
        1,
        lambda _: list(product((-1, 0, 1), (-1, 0, 1), (-1, 0, 1), (-1, 0, 1), BOOLEANS, BOOLEANS)),
    ),
]


@pytest.mark.parametrize("way", ["exhaustive", "symbolic", "testing"])
@pytest.mark.parametrize(("name", "functions", "bound", "inputs"), PROGRAMS, ids=[each[0] for each in PROGRAMS])
def test_words_are_those_of_brute_force(
    name: str, functions: tuple[str, ...], bound: int, inputs: Any, way: ExplorationWay
) -> None:
    file = brute.EXAMPLES / f"{name}.py"
    expected = brute.words(file, functions, inputs)
    with PythonSource(f"{file}:main", way=way) as source:
        assert set(source.alphabet.labels) == {*functions, "error"}
        assert brute.spelled(source, bound) == expected
        assert source.way == way
        assert source.report.basis is Basis.COMPLETE  # the sample is larger than the scope
        assert source.report.reached == []
    assert brute.failing(expected)


def test_examples_give_the_words_they_are_examples_for() -> None:
    with PythonSource(f"{brute.EXAMPLES / 'merge_sort.py'}:main") as source:
        for each in source.executions(Bounds(3, 60)):
            expected = each.failed
            values = eval(each.example.removeprefix("values="))  # type: ignore[union-attr]
            module = brute.load(brute.EXAMPLES / "merge_sort.py")
            assert (len(module.merge_sort(list(values))) != len(values)) is expected


def test_the_merge_example_says_what_each_version_does() -> None:
    expected = {
        "base": ("function_a", "function_b"),
        "branch_a": ("function_a", "function_z", "function_b"),
        "branch_b": ("function_a", "function_b", "function_c"),
        "merged": ("function_a", "function_z", "function_b", "function_c"),
    }
    for name, word in expected.items():
        with PythonSource(f"{brute.EXAMPLES / 'merging' / name}.py:main", error="end") as source:
            assert brute.spelled(source, 1) == {((*word, "end"), True)}
            assert source.report.basis is Basis.COMPLETE


def test_an_execution_says_where_the_error_was_raised() -> None:
    file = brute.EXAMPLES / "bubble_sort.py"
    line = next(n for n, text in enumerate(file.read_text().splitlines(), 1) if "assert node is None" in text)
    with PythonSource(f"{file}:main") as source:
        failed = [each for each in source.executions(Bounds(2, 20)) if each.failed]
        assert failed
        for each in failed:
            assert each.places is not None
            assert each.places[-1] == ("examples/explain/python/bubble_sort.py", line)
    event = source.alphabet.events[source.alphabet.labels.index("inspect")]
    assert event.file == "examples/explain/python/bubble_sort.py"
    assert event.line is not None and "def inspect" in file.read_text().splitlines()[event.line - 1]


def test_runs_are_kept_for_shorter_words_and_counted_once() -> None:
    with PythonSource(f"{brute.EXAMPLES / 'merge_sort.py'}:main") as source:
        long = brute.spelled(source, 3, 60)
        ran = source.counts.executions
        assert ran == 40
        short = brute.spelled(source, 3, 7)
        assert source.counts.executions == ran
        assert short == {each for each in long if len(each[0]) <= 7}
        assert any("longer than 7 and left out" in each for each in source.report.warnings)
        assert source.report.basis is Basis.COMPLETE


def test_the_shortest_failing_word_is_where_a_search_begins() -> None:
    with PythonSource(f"{brute.EXAMPLES / 'bubble_sort.py'}:main") as source:
        assert source.shortest() == len(("gl_read", "gl_insert", "inspect", "error"))
