"""Recorded traces as executions."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from lawful.errors import LawfulError, TraceError
from lawful.explain.teacher import Basis, Bounds, Limits, MembershipAnswer
from lawful.explain.teachers.executions import ExecutionsTeacher
from lawful.explain.teachers.traces import TraceSource


def call(name: str, line: int = 1, kind: str = "func_pre") -> dict[str, Any]:
    return {"event": kind, "name": name, "file": "app.py", "line": line}


def written(path: Path, *events: dict[str, Any]) -> Path:
    text = "".join(json.dumps(each) + "\n" for each in events)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path


def words(source: TraceSource, length: int = 99, limits: Limits | None = None) -> set[tuple[tuple[str, ...], bool]]:
    found = source.executions(Bounds(1, length), limits)
    return {(source.alphabet.spelled(each.word), each.failed) for each in found}


def test_each_file_is_an_execution(tmp_path: Path) -> None:
    bad = written(
        tmp_path / "bad.jsonl",
        call("app.File.open", 3),
        call("app.File.open", 3, "func_post"),
        call("app.File.close", 5),
        call("app.File.read", 6),
        {"event": "gone", "targetId": 1},
        {"event": "crashed"},
    )
    good = written(tmp_path / "good.jsonl.gz", call("app.File.open", 3), call("app.File.read", 4))
    source = TraceSource([bad], [good])
    assert source.alphabet.labels == ("open", "close", "read", "crashed", "error")
    assert source.alphabet.events[1].file == "app.py" and source.alphabet.events[1].line == 5
    assert words(source) == {(("open", "close", "read", "crashed", "error"), True), (("open", "read"), False)}
    assert source.report.basis is Basis.SAMPLED and source.report.warnings == []
    assert source.shortest() == 5
    [failed] = [each for each in source.executions(Bounds(1, 99)) if each.failed]
    assert failed.example == str(bad)
    assert failed.places == (("app.py", 3), ("app.py", 5), ("app.py", 6), None, None)


def test_they_teach(tmp_path: Path) -> None:
    bad = written(tmp_path / "bad.jsonl", call("a"), call("b"))
    good = written(tmp_path / "good.jsonl", call("a"))
    teacher = ExecutionsTeacher(TraceSource([bad], [good]))
    teacher.bound(Bounds(1, 9))
    word = teacher.alphabet.word
    assert teacher.member(word("a", "b", "error")) is MembershipAnswer.YES
    assert teacher.member(word("a", "error")) is MembershipAnswer.NO
    assert teacher.member(word("b", "error")) is MembershipAnswer.NEVER


def test_events_by_pattern_and_by_distance(tmp_path: Path) -> None:
    bad = written(tmp_path / "bad.jsonl", *(call(f"f{n}") for n in range(30)), call("f0"))
    assert TraceSource([bad], events=["f1?", "f0"]).alphabet.labels == (
        "f0",
        *(f"f{n}" for n in range(10, 20)),
        "error",
    )
    near = TraceSource([bad], most=3)
    assert near.alphabet.labels == ("f0", "f28", "f29", "error")
    assert len(TraceSource([bad]).alphabet) == 13
    with pytest.raises(LawfulError) as caught:
        TraceSource([bad], events=["nothing"])
    assert caught.value.slug == "explain-events" and "f0, f1" in str(caught.value.hint)


def test_names_are_short_and_distinct(tmp_path: Path) -> None:
    bad = written(tmp_path / "b.jsonl", call("a.File.open"), call("b.File.open"), call("a.close"), call("error"))
    assert TraceSource([bad]).alphabet.labels == ("a.File.open", "b.File.open", "close", "error", "error (error)")
    ends = written(tmp_path / "c.jsonl", call("a", kind="func_post"), call("b", kind="func_raise"))
    assert TraceSource([ends]).alphabet.labels == ("func_post a", "func_raise b", "error")


def test_bounds_and_limits(tmp_path: Path) -> None:
    folder = tmp_path / "bad"
    folder.mkdir()
    for n in range(5):
        written(folder / f"{n}.jsonl", *[call("a")] * n)
    source = TraceSource([folder])
    assert words(source, 3) == {(("a",) * n + ("error",), True) for n in range(3)}
    assert source.report.warnings == [f"2 traces are longer than 3 events and left out, e.g. {folder / '3.jsonl'}"]
    assert len(words(source, 9, Limits(words=2))) == 2
    assert source.report.reached == ["stopped after 2 words"]


def test_a_trace_that_is_far_too_long_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lawful.explain.teachers.traces._LONGEST", 3)
    long = written(tmp_path / "long.jsonl", *[call("a")] * 9)
    short = written(tmp_path / "short.jsonl", *[call("a")] * 3)
    source = TraceSource([long, short])
    assert words(source) == {(("a", "a", "a", "error"), True)}
    assert source.report.warnings == ["1 execution has more than 3 events, and no word"]


def test_bad_traces(tmp_path: Path) -> None:
    good = written(tmp_path / "good.jsonl", call("a"))
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.jsonl").write_text("no json\n")
    for failing, passing in (([], [good]), ([tmp_path / "empty"], [good])):
        with pytest.raises(LawfulError) as caught:
            TraceSource(failing, passing)
        assert caught.value.slug == "explain-traces"
    for path in (tmp_path / "missing.jsonl", tmp_path / "text.jsonl"):
        with pytest.raises(TraceError):
            TraceSource([path])
