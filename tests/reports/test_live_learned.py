"""The report on a run that learned: what a newcomer reads, and what programs read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lawful.engine.findings import Finding
from lawful.engine.live_learning import LiveLearner
from lawful.engine.run import LawRun
from lawful.laws.rml import compile
from lawful.learning.parameters import Learning
from lawful.learning.reported_before import ReportedBefore, ReportKey
from lawful.reports import formats, gather
from lawful.reports.sources import SourceLines
from lawful.web import finished_run
from reports.sample_reports import render_json, render_text

MESSAGE = "`Lock.acquire` is followed by `Lock.release` in 40 of 41 uses; not at `app.py:61`"
LAW = compile("a matches {event: 'never'}; Main = a?;", name="never.rml")


def call(name: str, target: int, line: int, file: str = "app.py") -> dict[str, Any]:
    return {"event": "func_pre", "name": name, "targetId": target, "file": file, "line": line}


def a_run(
    *,
    unreleased: bool = True,
    laws: bool = False,
    file: str = "app.py",
    earlier: ReportedBefore | None = None,
    **parameters: Any,
) -> LawRun:
    live = LiveLearner(Learning(**parameters))
    live.learner.reported_before = earlier
    for number in range(40):
        place = 10 * (number % 5)
        used = [call("Lock.acquire", number, place + 1, file), call("Lock.release", number, place + 2, file)]
        live.feed([*used, call("Lock.acquire", 99, 61, file)] if unreleased and number == 20 else used)
    live.finish()
    run = LawRun([LAW] if laws else [])
    run.end()
    run.learned(live)
    return run


def test_nothing_unusual() -> None:
    run = a_run(unreleased=False)
    assert render_text(run) == "nothing unusual in 80 events; 1 rule learned\n"
    run.processes = 2
    assert render_text(run) == "nothing unusual in 80 events, 2 processes; 1 rule learned\n"
    assert render_text(a_run(unreleased=False, laws=True)).startswith("0 findings in 1 law, ")


def test_what_was_found_and_what_the_curious_see() -> None:
    run = a_run()
    text = render_text(run)
    assert text.startswith("1. `Lock.acquire` is followed by `Lock.release` in 40 of 41 uses; not at\n   `app.py:61`\n")
    assert text.splitlines()[-1].startswith("1 finding in 81 events; ")
    details = render_text(run, details=True)
    assert details.startswith(text.rpartition("\n\n")[0])
    assert "enforcing  ab         Lock.acquire Lock.release" in details
    assert "  window    25\n" in details
    assert "learning  " not in details


def test_what_earlier_runs_had_too_is_in_all_reports(tmp_path: Path) -> None:
    key = ReportKey("Lock.acquire", "Lock.release", "app.py", "")
    run = a_run(earlier=ReportedBefore({key: 1}, lambda file, line: ""))
    assert run.findings == [] and not run.failed
    assert render_text(run) == (
        "nothing new in 81 events; 1 rule learned\n1 anomaly that earlier runs had, too; "
        "--set learn.known=true shows it\n"
    )
    shown = render_text(run, known=True)
    assert shown.startswith(
        "Earlier runs had these, too:\n\n1. `Lock.acquire` is followed by `Lock.release` in 40 of 41"
    )
    assert shown.endswith("\n1 anomaly that earlier runs had, too\n")
    data = json.loads(render_json(run))
    assert data["findings"] == data["learned"]["anomalies"] == []
    assert [each["message"] for each in data["learned"]["reported_before"]] == [MESSAGE]
    report = gather.of_live(run, SourceLines(tmp_path))
    assert report.items == [] and report.summary == "0 findings in 0 events; 1 anomaly that earlier runs had, too"
    page = formats.render(report, "html")
    assert "<summary>1 anomaly that earlier runs had, too</summary>" in page and "Nothing new was found." in page
    (tmp_path / "run.json").write_bytes(render_json(run))
    side = finished_run.load(str(tmp_path / "run.json"))
    assert side.state["learning"]["known"] == 1


def test_few_events_and_none() -> None:
    live = LiveLearner(Learning())
    live.feed([call("Lock.acquire", 1, 1)])
    live.finish()
    run = LawRun([])
    run.learned(live)
    assert render_text(run) == "nothing unusual in 1 event; no rules learned yet\n"
    nothing = LawRun([])
    nothing.learned(LiveLearner(Learning()))
    nothing.warn("a warning")
    assert render_text(nothing).splitlines() == [
        "nothing was learned: no event has an object",
        "warning: a warning",
    ]


def test_what_is_over_the_budget_is_counted() -> None:
    run = a_run(budget=0, tune=False)
    assert render_text(run).startswith("nothing unusual (1 more over the budget of 0) in 81 events; ")


def test_json() -> None:
    report = json.loads(render_json(a_run()))
    [finding] = report["findings"]
    assert finding["anomaly"] == report["learned"]["anomalies"][0]
    assert (finding["message"], finding["file"], finding["line"]) == (MESSAGE, "app.py", 61)
    assert finding["anomaly"]["rule"] == {
        "a": "Lock.acquire",
        "b": "Lock.release",
        "pattern": "ab",
        "text": "Lock.acquire Lock.release",
    }
    assert report["learned"]["events"] == 81


def test_names_that_are_no_text() -> None:
    run = a_run(file="e\udcff.py")
    [finding] = json.loads(render_json(run))["findings"]
    assert finding["message"].endswith(".py:61`")
    assert "\udcff" not in render_text(run)


def test_a_finding_with_an_anomaly_travels(tmp_path: Path) -> None:
    [finding] = a_run().findings
    again = Finding.from_json(json.loads(json.dumps(finding.to_json())))
    assert again == finding
    assert again.anomaly is not None and again.anomaly.rule.state is finding.anomaly.rule.state  # type: ignore[union-attr]
    assert again.key == finding.key == ("learned", "Lock.acquire Lock.release")
    other = LawRun([])
    other.merge(a_run().snapshot())
    other.merge(a_run().snapshot())
    assert [each.count for each in other.findings] == [2]
    assert MESSAGE in " ".join(render_text(other, folder=tmp_path).split())
