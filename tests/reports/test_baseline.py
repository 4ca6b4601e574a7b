"""Baselines: written, read again, put together, and what they hide."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lawful.engine.live_learning import as_finding
from lawful.errors import LawfulError
from lawful.reports import baseline
from lawful.reports.fingerprints import Mark, marks
from lawful.reports.sources import SourceLines
from reports.sample_reports import a_learner, a_run, project, render_json, render_text

ONE = Mark("1" * 16, "a.rml", "app.py", "work", "func_pre f")
TWO = Mark("2" * 16, "learned", None, "", "open close?", ("app.py a", "app.py b"))


def test_it_reads_what_it_has_written(tmp_path: Path) -> None:
    path = tmp_path / "known.json"
    baseline.write(str(path), [TWO, ONE, ONE])
    assert baseline.parse(path.read_bytes(), str(path)) == [ONE, TWO]
    assert [each.name for each in tmp_path.iterdir()] == ["known.json"]


def test_its_text_does_not_depend_on_the_order() -> None:
    assert baseline.render([ONE, TWO]) == baseline.render([TWO, ONE, TWO])
    assert json.loads(baseline.render([])) == {"lawful-baseline": 1, "findings": []}


def test_an_anomaly_at_a_further_place_is_new() -> None:
    known = baseline.Baseline("known.json", [TWO])
    assert known.knows(TWO)
    assert known.knows(TWO._replace(places=("app.py b",)))
    assert not known.knows(TWO._replace(places=("app.py b", "app.py c")))
    assert not known.knows(ONE)


def test_both_together() -> None:
    more = TWO._replace(places=("app.py c",))
    assert baseline.merged([ONE, TWO], [more]) == [ONE, TWO._replace(places=("app.py a", "app.py b", "app.py c"))]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"lawful-baseline": 1}',
        '{"lawful-baseline": 1, "findings": [{}]}',
        '{"lawful-baseline": 1, "findings": [{"fingerprint": 1}]}',
        '{"lawful-baseline": 1, "findings": [{"fingerprint": "1", "places": [1]}]}',
        '{"lawful-baseline": 1, "findings": 3}',
        '{"lawful-baseline": 2, "findings": []}',
        "[" * 100_000,
        "\udc80",
    ],
)
def test_what_is_no_baseline(text: str) -> None:
    with pytest.raises(LawfulError) as caught:
        baseline.parse(text.encode("utf-8", "surrogateescape"), "known.json")
    assert caught.value.slug == "baseline-bad"
    assert caught.value.where == "known.json"


def test_where_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(LawfulError) as caught:
        baseline.load(str(tmp_path / "known.json"))
    assert caught.value.slug == "baseline-not-found"


def test_it_hides_what_is_known_also_when_lines_move(tmp_path: Path) -> None:
    known = baseline.Baseline("known.json", marks(a_run().findings, project(tmp_path)))
    run = a_run(shift=5)
    known.hide(run, project(tmp_path, shift=5))
    assert run.findings == []
    assert len(run.log.hidden) == 2
    assert not run.failed
    assert "0 findings, 2 known and hidden in 2 laws" in render_text(run)


def test_one_more_of_the_same_kind_is_new(tmp_path: Path) -> None:
    source = SourceLines(tmp_path)  # without its text, nothing tells the places in a file apart
    run = a_run()
    events = [finding.event for finding in run.findings if finding.event is not None]
    known = baseline.Baseline("known.json", marks(run.findings, source))
    again = a_run()
    again.ended = False
    again.deliver([events[0] | {"line": 99}])
    known.hide(again, source)
    assert [finding.line for finding in again.findings] == [99]


def test_what_was_hidden_is_in_the_json(tmp_path: Path) -> None:
    source = project(tmp_path)
    found = marks(a_run().findings, source)
    run = a_run()
    baseline.Baseline("known.json", found[:1]).hide(run, source)
    report = json.loads(render_json(run, folder=tmp_path, baseline="known.json"))
    assert report["baseline"] == {"file": "known.json", "hidden": 1, "known": [found[0].to_json()]}
    assert [each["mark"] for each in report["findings"]] == [found[1].to_json()]
    assert {mark.fingerprint for mark in baseline.marks_in(report, "r.json")} == {mark.fingerprint for mark in found}


@pytest.mark.parametrize("report", [{}, [], 3, {"version": "1", "findings": [{"mark": 3}]}, {"version": 1, "laws": 3}])
def test_what_is_no_report(report: object) -> None:
    with pytest.raises(LawfulError) as caught:
        baseline.marks_in(report, "r.json")
    assert caught.value.slug == "baseline-report"


def test_anomalies_are_hidden(tmp_path: Path) -> None:
    findings = [as_finding(each) for each in a_learner().anomalies()]
    source = project(tmp_path)
    known = baseline.Baseline("known.json", marks(findings, source))
    assert known.known(findings, source) == findings


def test_nothing_is_left_where_it_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(LawfulError) as caught:
        baseline.write(str(tmp_path / "no" / "known.json"), [ONE])
    assert caught.value.slug == "file"
    (tmp_path / "folder").mkdir()
    with pytest.raises(LawfulError):
        baseline.write(str(tmp_path / "folder"), [ONE])
    assert [each.name for each in tmp_path.iterdir()] == ["folder"]
