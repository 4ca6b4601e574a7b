"""Explanations and comparisons as text: everything is said, in 80 columns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lawful.diagnostics import printable
from lawful.explain.comparison import Comparison
from lawful.explain.explanation import Explanation, Picture
from lawful.explain.teacher import Basis
from lawful.reports import explained
from lawful.reports.text import plain
from reports.explanation_samples import (
    bubble_sort,
    comparison,
    failing,
    hostile,
    of_words,
    outcomes,
    random_explanation,
)


def text(subject: Explanation | Comparison, folder: Path | str = ".", width: int = 80) -> str:
    return plain(explained.lines(subject, folder=folder, width=width))


def test_all_is_said(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "program.py").write_text("\n" * 9 + "    a = open(name)\n", encoding="utf-8")
    assert text(of_words(["a x", "b x", "x"], ("a", "b", "x")), tmp_path).splitlines() == [
        "all ways to AssertionError in program.py:sort",
        "  picture   4 states, 5 edges",
        "  story     x > AssertionError",
        "  always    x, AssertionError",
        "  doomed    state 3 (by the picture alone: not all executions that do not fail",
        "            are known)",
        "  rests on  complete within bounds: no other way exists within them",
        "  bounds    unwind 3, words of up to 12 events",
        "  cost      1,234 membership queries (56 of them worked on), 7 conjectures (6",
        "            of them worked on), 341 executions, 4 pairs of bounds, 1.25 s",
        "  way       x > AssertionError",
        "    input   values=[2, 3]",
        "  way       a > x > AssertionError",
        "    input   values=[0, 2, 3]",
        "  way       b > x > AssertionError",
        "    input   values=[1, 2, 3]",
        "            and 14 other ways",
        "",
        "  edges     * in every word; # the input that takes it",
        "    0 -> 1   a               #1  src/program.py:10  | a = open(name)",
        "    0 -> 1   b               #2  src/program.py:13",
        "    0 -> 2 * x               #3  src/program.py:16",
        "    1 -> 2 * x               #1  src/program.py:16",
        "    2 -> 3 * AssertionError  #1  src/program.py:99",
        "    #1      values=[0, 2, 3]",
        "    #2      values=[1, 2, 3]",
        "    #3      values=[2, 3]",
    ]


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize(
    "subject",
    [
        bubble_sort(),
        hostile(),
        random_explanation(3, 40, 4),
        failing(),
        comparison(),
        comparison(kind="merge"),
        outcomes(),
    ],
    ids=["bubble", "hostile", "random", "failing", "diff", "merge", "outcomes"],
)
def test_it_fits(subject: Explanation | Comparison, width: int) -> None:
    shown = text(subject, width=width)
    for line in shown.splitlines():
        assert len(line) <= width
        assert line == printable(line)


def test_what_it_rests_on() -> None:
    explanation = bubble_sort()
    sampled = replace(explanation, basis=Basis.SAMPLED)
    assert "sampled: there may be ways that no sample took" in text(sampled)
    reached, warnings = ("stopped after 100,000 paths",), ("differs from run to run",)
    limited = text(replace(explanation, reached=reached, warnings=warnings))
    assert "rests on  executions seen before a limit was reached" in limited
    assert "limit     stopped after 100,000 paths" in limited
    assert "warning   differs from run to run" in limited
    assert "larger bounds may show more" in " ".join(text(replace(explanation, converged=False)).split())
    cut = text(replace(explanation, interrupted=True))
    assert "interrupted: the best so far, not everything (complete within bounds until then)" in " ".join(cut.split())


def test_nothing_found() -> None:
    nothing = replace(bubble_sort(), picture=Picture(1, (), ()), ways=(), ways_total=0)
    shown = text(nothing)
    assert "none      AssertionError is not reached within the bounds" in shown
    assert "edges" not in shown
    assert "the end is not reached within the bounds" in text(replace(nothing, ends=True))


def test_very_many_edges_are_counted() -> None:
    shown = text(random_explanation(1, 60, 6, density=2.0))
    assert "other edges" in shown
    assert shown.count(" -> ") == explained.MOST_EDGES


def test_a_difference() -> None:
    shown = text(comparison())
    assert "  DIFFERS   the versions behave differently\n" in shown
    assert (
        "only in old\n  picture   5 states, 5 edges\n  way       open > close > end\n    input   path='<x>'\n" in shown
    )
    assert shown.endswith("only in new: nothing\n")


def test_no_difference() -> None:
    assert "  same      no difference within the bounds\n" in text(comparison(same=True))
    assert "  same      no surprise within the bounds\n" in text(comparison(same=True, kind="merge"))
    narrowed = " ".join(text(replace(comparison(same=True), narrowed=True)).split())
    assert "same no difference within the bounds; only executions that come to their end were compared" in narrowed
    narrowed = " ".join(text(replace(comparison(), narrowed=True, failing=frozenset({3}))).split())
    assert "DIFFERS the versions behave differently; only executions that end in end were compared" in narrowed


def test_what_other_versions_do() -> None:
    said = text(outcomes())
    assert (
        "  way       open > KeyError\n    input   x=1\n"
        "    but     in new <b>, the same input ends well: open > end\n"
        "    but     in new <b>, the same events fail with KeyError or end well\n"
    ) in said
    assert "perhaps only in new\n" in said
    assert "only in old\n  picture   4 states, 5 edges\n  ends      KeyError 2 words (fails), end 1 word\n" in said
    assert "    unsure  an execution that was not followed to its end may do the same\n" in said


def test_what_is_undecided() -> None:
    found = outcomes()
    unsure = replace(found, sides=(replace(found.sides[0], certain=False), found.sides[1]))
    assert "UNSURE    what looks different may be what executions do" in text(unsure)
    doubtful = replace(comparison(same=True), doubts=("nothing to compare",))
    assert "UNSURE    what was not seen may be what" in text(doubtful)
    assert "warning   nothing to compare" in text(doubtful)
    assert "rests on  interrupted: only a part of the executions was compared" in text(replace(found, interrupted=True))


def test_the_errors_of_a_word() -> None:
    said = text(failing())
    assert "fails at  src/program.py:13: KeyError, 2 words, e.g. values=[1]" in said
    assert "  way       open > error\n    errors  KeyError, <b>ValueError</b>\n    input   values=[0]\n" in said
    assert said.count("  errors  ") == 1, "where there is only one, it is not said again"


def test_only_what_matters_is_red() -> None:
    lines = list(explained.lines(comparison()))
    styles = {line[0].text: line[0].style for line in lines if line}
    assert styles["only in old"] == "bold red"
    assert styles["only in new: nothing"] == "bold"
