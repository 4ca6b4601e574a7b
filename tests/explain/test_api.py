"""The functions that Python programs call: `lawful.explain.explain`, `diff` and `merge`."""

from __future__ import annotations

from pathlib import Path

import pytest

import lawful
from explain.programs import BASE, BRANCH_A, BRANCH_B, MERGED, REPAIRED, SORT, in_python
from lawful.errors import LawfulError
from lawful.explain import Comparison, ExplainSettings, Explanation, Limits, Range, diff, explain, merge
from lawful.explain.teacher import Bounds


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
    settings = ExplainSettings(events=("merge",), within=Range(unwind=2, word_length=9), limits=Limits(words=50))
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
        lawful.explain.guess  # noqa: B018


ENDLESS = """
def begin(): pass
def more(): pass

def forever(n: int):
    begin()
    while n > 0:
        more()
    raise ValueError

def spin(n: int):
    begin()
    while n > 0:
        pass
    raise ValueError

def several(n: int):
    begin()
    if n < 0:
        more()
        raise KeyError
    if n > 0:
        raise ValueError
"""


@pytest.fixture
def endless(tmp_path: Path) -> str:
    (tmp_path / "endless.py").write_text(ENDLESS)
    return str(tmp_path)


@pytest.mark.parametrize("name", ["forever", "spin"])
def test_an_execution_without_an_end_is_not_doomed(endless: str, name: str) -> None:
    found = explain(f"endless.py:{name}", folder=endless, unwind=1, seconds_per_execution=0.2)
    assert found.picture.doomed == found.picture.accepting and found.picture.doomed_reading == "paper"
    assert not any("never seen" in each for each in found.warnings)


def test_where_it_fails(endless: str) -> None:
    found = explain("endless.py:several", folder=endless, unwind=1)
    assert {(each.line, each.words, each.example) for each in found.failures} == {(21, 1, "n=-1"), (23, 1, "n=1")}
    assert {each["line"] for each in found.to_json()["failures"]} == {21, 23}


def test_two_errors_after_the_same_events(tmp_path: Path) -> None:
    (tmp_path / "two.py").write_text(
        "def begin(): pass\n\ndef f(n: int):\n    begin()\n    if n < 0:\n        raise KeyError\n"
        "    if n > 1:\n        raise ValueError\n    if n > 0:\n        raise KeyError\n"
    )
    found = explain("two.py:f", folder=str(tmp_path), unwind=2)
    begun = found.alphabet.word("begin", "error")
    assert {(each.error, each.line, each.words, each.first, each.example) for each in found.failures} == {
        ("KeyError", 6, 1, (begun,), "n=-1"),
        ("KeyError", 10, 1, (begun,), "n=1"),
        ("ValueError", 8, 1, (begun,), "n=2"),
    }
    (way,) = found.ways
    assert way.word == begun and set(way.errors) == {"KeyError", "ValueError"} and found.ways_total == 1
    reported = found.to_json()
    assert sorted(reported["words"][0]["errors"]) == ["KeyError", "ValueError"]
    assert [each["first_words"] for each in reported["failures"]] == [[["begin", "error"]]] * 3


def test_events_that_match_nothing(endless: str) -> None:
    with pytest.raises(LawfulError) as caught:
        explain("endless.py:several", folder=endless, unwind=1, events="nonsense")
    assert caught.value.slug == "explain-events" and "nonsense" in caught.value.message
    found = explain("endless.py:several", folder=endless, unwind=1, events="more", error="ValueError")
    assert found.alphabet.labels == ("more", "ValueError"), "it never fails after that, but does happen"


def test_no_events_of_its_own() -> None:
    found = explain("json:loads", unwind=1, inputs=["1", "x"])
    assert found.alphabet.labels == ("error",)
    assert "--event-kind calls" in found.warnings[0]


def test_options_of_other_languages(endless: str) -> None:
    for changes in ({"include": "headers"}, {"define": "A=1"}):
        with pytest.raises(LawfulError) as caught:
            explain("endless.py:several", folder=endless, **changes)  # type: ignore[arg-type]
        assert caught.value.slug == "usage" and "C programs" in caught.value.message
    with pytest.raises(LawfulError) as caught:
        explain("endless.py:several", folder=endless, seconds=float("nan"))
    assert caught.value.slug == "usage"


def test_a_trace_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text('{"event": "x", "name": "a"}\n{bad\n{"event": "x", "name": "a"}\n')
    (tmp_path / "good.jsonl").write_text('{"event": "x", "name": "a"}\n')
    with pytest.raises(LawfulError) as caught:
        explain(traces=[str(tmp_path / "bad.jsonl"), str(tmp_path / "good.jsonl")])
    assert caught.value.hint is not None and "lawful trace convert" in caught.value.hint
