"""The JSON of reports is what the schema says that comes with Lawful, and the schema knows every key."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from lawful.engine import TraceRun, TraceSettings
from lawful.reports import gather
from lawful.reports import json as json_report
from lawful.reports.sources import SourceLines
from reports.sample_reports import a_learner, a_run, closed, opened, render_json, wrote
from reports.sample_reports import files as files_law

SCHEMA = json.loads(files("lawful.reports").joinpath("schema", "report-1.json").read_text())


def strict(part: Any) -> Any:
    """The schema with nothing allowed that it does not name."""
    if isinstance(part, list):
        return [strict(each) for each in part]
    if not isinstance(part, dict):
        return part
    closed_part = {key: strict(each) for key, each in part.items()}
    return closed_part | ({"additionalProperties": False} if "required" in part else {})


def errors(report: dict[str, Any]) -> list[str]:
    schema = strict(SCHEMA) | {"oneOf": [{"$ref": f"#/$defs/{report['report']}"}]}
    found = jsonschema.Draft202012Validator(schema).iter_errors(report)
    return [f"{list(each.absolute_path)}: {each.message}" for top in found for each in (top, *(top.context or ()))]


def a_live_report(folder: Path) -> bytes:
    return render_json(a_run(), folder=folder, baseline="known.json")


def a_trace_report(folder: Path) -> bytes:
    path = folder / "t.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in (opened(1, 2), closed(1, 4), wrote(1, 6))))
    run = TraceRun([files_law()], str(path), TraceSettings())
    run.run()
    found = gather.TraceFindings(SourceLines(folder), None)
    found.add(run)
    return json_report.render(gather.of_traces(found, baseline="known.json"))


def a_learned_report(folder: Path) -> bytes:
    learner = a_learner()
    found = gather.anomaly_findings(learner.anomalies())
    report = gather.of_learner(
        learner, found, ["t.jsonl"], SourceLines(folder), hidden=found[1:], baseline="known.json"
    )
    return json_report.render(report)


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("make", [a_live_report, a_trace_report, a_learned_report], ids=lambda make: make.__name__)
def test_it_fits(make: Callable[[Path], bytes], tmp_path: Path) -> None:
    report = json.loads(make(tmp_path))
    assert errors(report) == []
    jsonschema.Draft202012Validator(SCHEMA).validate(report)
    assert report["baseline"]["file"] == "known.json"


def test_it_refuses(tmp_path: Path) -> None:
    report = json.loads(a_live_report(tmp_path))
    assert errors(report | {"schema": 2})
    assert errors(report | {"surprise": 1})
    del report["findings"][0]["mark"]["fingerprint"]
    assert errors(report)


def test_what_the_commands_write_fits(gold_reports: list[dict[str, Any]]) -> None:
    assert len(gold_reports) >= 6
    for report in gold_reports:
        assert errors(report) == []


@pytest.fixture
def gold_reports() -> list[dict[str, Any]]:
    """The gold files of the commands that are JSON."""
    found = []
    for path in sorted((Path(__file__).parents[1] / "cli" / "gold").glob("*_json.txt")):
        text = path.read_text()
        found.append(json.loads(text[text.index("\n") : text.index("--- standard error")]))
    return found
