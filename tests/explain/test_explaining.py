"""The functions that Python programs call: `lawful.explain.explain`, `diff` and `merge`."""

from __future__ import annotations

from pathlib import Path

import pytest

import lawful
from explain.programs import BASE, BRANCH_A, BRANCH_B, MERGED, REPAIRED, SORT, in_python
from lawful.errors import LawfulError
from lawful.explain import Comparison, Explanation, Limits, Range, Settings, diff, explain, merge
from lawful.explain.model import Bounds


@pytest.fixture
def sort(tmp_path: Path) -> str:
    (tmp_path / "sort.py").write_text(SORT)
    (tmp_path / "repaired.py").write_text(REPAIRED)
    return str(tmp_path)


def halve(numbers: list[int]) -> None:
    for number in numbers:
        shift(number)
    assert len(numbers) < 2


def shift(number: int) -> None:
    assert number >> 1 <= number


def test_a_target_in_a_folder(sort: str) -> None:
    found = explain("sort.py:merge_sort", folder=sort, unwind=2)
    assert isinstance(found, Explanation) and found.complete and found.bounds.unwind == 2
    assert found.target == "sort.py:merge_sort"
    assert found.alphabet.spelled(found.picture.story)[-1] == "error"
    assert found.picture.edges[0].file == str(Path(sort) / "sort.py"), "it is not below the current folder"


def test_a_function() -> None:
    found = explain(halve, error="AssertionError")
    assert found.bounds.unwind == 2 and found.target == f"{halve.__module__}:halve"
    assert [found.alphabet.spelled(way.word) for way in found.ways] == [("shift", "shift", "AssertionError")]


def test_settings_and_changes(sort: str) -> None:
    settings = Settings(events=("merge",), within=Range(unwind=2, word_length=9), limits=Limits(words=50))
    found = explain("sort.py:merge_sort", folder=sort, settings=settings)
    assert found.alphabet.labels == ("merge", "error") and found.bounds == Bounds(2, 9)
    other = explain("sort.py:merge_sort", folder=sort, settings=settings, word_length=5, events="take", learner="tree")
    assert other.alphabet.labels == ("take", "error") and other.bounds == Bounds(2, 5) and other.learner == "tree"


def test_inputs_of_the_callers_own(sort: str) -> None:
    found = explain("sort.py:merge_sort", folder=sort, inputs=[[1], [2, 1], [3, 3]], unwind=1)
    assert {way.example for way in found.ways} == {"[3, 3]"}


def test_what_there_is_not(sort: str) -> None:
    with pytest.raises(TypeError):
        explain("sort.py:merge_sort", folder=sort, colour="red")
    with pytest.raises(LawfulError) as caught:
        explain("sort.py:merge_sort", folder=sort, unwind=0)
    assert caught.value.slug == "explain-bounds"
    with pytest.raises(LawfulError) as caught:
        explain()
    assert caught.value.slug == "usage"


def test_nothing_fails(sort: str) -> None:
    with pytest.raises(LawfulError) as caught:
        explain("repaired.py:merge_sort", folder=sort, max_unwind=2)
    assert caught.value.slug == "explain-unreachable"


def test_two_versions(sort: str) -> None:
    found = diff("sort.py:merge_sort", "repaired.py:merge_sort", folder=sort, error="AssertionError")
    assert isinstance(found, Comparison) and not found.same and not found.ends
    assert not found.side("only_old").empty and found.side("only_new").empty


def test_no_event_is_left_out_of_a_comparison(tmp_path: Path) -> None:
    # More functions than a picture would show; the new version has one more, far from the end.
    names = [f"f{number}" for number in range(20)]
    old = "".join(f"def {name}() -> None: ...\n\n\n" for name in names)
    (tmp_path / "old.py").write_text(old + "def main() -> None:\n" + "".join(f"    {name}()\n" for name in names))
    new = old + "def more() -> None: ...\n\n\ndef main() -> None:\n    more()\n"
    (tmp_path / "new.py").write_text(new + "".join(f"    {name}()\n" for name in names))
    found = diff("old.py:main", "new.py:main", folder=str(tmp_path), unwind=1)
    assert len(found.alphabet) == 22
    [way] = found.side("only_new").ways
    assert found.alphabet.spelled(way.word) == ("more", *names, "end")


def test_a_merge(tmp_path: Path) -> None:
    for name, text in {"base": BASE, "a": BRANCH_A, "b": BRANCH_B, "merged": MERGED}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "program.py").write_text(in_python(text))
    found = merge("base", "a", "b", "merged", target="program.py:main", folder=str(tmp_path))
    assert not found.same and found.versions == {"base": "base", "a": "a", "b": "b", "merged": "merged"}


def test_a_revision_needs_a_target(tmp_path: Path) -> None:
    with pytest.raises(LawfulError) as caught:
        diff(halve, halve, target="sort.py:merge_sort", folder=str(tmp_path))
    assert caught.value.slug == "usage"


def test_the_package_offers_it() -> None:
    assert lawful.explain.explain is explain and "explain" in lawful.__all__
    assert all(getattr(lawful.explain, name) is not None for name in lawful.explain.__all__)
    with pytest.raises(AttributeError):
        lawful.explain.guess  # type: ignore[attr-defined]  # noqa: B018
