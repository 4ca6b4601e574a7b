"""The report as JSON, for programs: on a program under watch, on traces, and on a learner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from lawful import __version__
from lawful.diagnostics import all_encodable, encodable
from lawful.engine.findings import plain
from lawful.engine.wording import shortened
from lawful.reports.core import result_message

if TYPE_CHECKING:
    from lawful.engine import LawResult, TraceRun
    from lawful.laws.grammar.wording import Rejection
    from lawful.reports.core import Report
    from lawful.reports.findings import Item

SCHEMA = 1
"""The version of what reports look like: it changes if a program that reads them might have to."""


def render(report: Report) -> bytes:
    """The whole report, with a newline at its end."""
    data = {"check": _traces, "learn": _learned}.get(report.command, _run)(report)
    if report.confidence is not None:
        from lawful.reports.confidence import plain_json

        data["confidence"] = plain_json(report.confidence)
    if report.baseline is not None:
        known = [mark.to_json() for mark in report.hidden]
        data["baseline"] = {"file": encodable(report.baseline), "hidden": len(known), "known": known}
    return _encoded(data)


def _opening(command: str) -> dict[str, Any]:
    return {"report": command, "schema": SCHEMA, "version": __version__}


def _run(report: Report) -> dict[str, Any]:
    data = {
        **_opening("run"),
        "events": report.events,
        "threads": report.threads,
        "processes": report.processes,
        "dropped": report.dropped,
        "omitted": report.omitted,
        "suppressed": report.suppressed,
        "errors": report.errors,
        "warnings": report.warnings,
        "laws": [encodable(judged.law.name) for judged in report.laws],
        "findings": [_finding(item) for item in report.items],
        "violations": report.violations,
        "seconds": report.seconds,
    }
    if report.learner is not None:
        from lawful.learning.learned_json import anomaly_json

        data["learned"] = all_encodable(report.learner.to_json())
        for item, finding in zip(report.items, data["findings"], strict=True):
            if item.finding.anomaly is not None:
                finding["anomaly"] = anomaly_json(item.finding.anomaly, report.learner.numbering)
    return data


def _traces(report: Report) -> dict[str, Any]:
    return {
        **_opening("check"),
        "events": report.events,
        "laws": [_result(run, result) for run in report.runs for result in run.results],
        "findings": [{"trace": encodable(item.trace or ""), **_finding(item)} for item in report.items],
        "violations": report.violations,
        "omitted": report.omitted,
        "suppressed": report.suppressed,
        "traces": [_trace(run) for run in report.runs],
    }


def _result(run: TraceRun, result: LawResult) -> dict[str, Any]:
    return {
        "law": encodable(result.law.name),
        "trace": encodable(run.name),
        "accepted": result.accepted,
        "verdict": result.verdict,
        "rejected_at": result.rejected_at,
        "doomed_at": result.doomed_at,
        "message": result_message(result, run.events),
        "warnings": result.warnings,
    }


def _trace(run: TraceRun) -> dict[str, Any]:
    error = run.error
    where = error and error.where and encodable(error.where)
    return {
        "trace": encodable(run.name),
        "events": run.events,
        "complete": run.complete,
        "skipped_lines": run.bad_lines,
        "error": error and {"slug": error.slug, "message": error.message, "where": where, "hint": error.hint},
    }


def _learned(report: Report) -> dict[str, Any]:
    from lawful.learning.learned_json import anomaly_json

    learner = report.learner
    assert learner is not None
    data: dict[str, Any] = {**learner.to_json(), "traces": report.traces, **_opening("learn")}
    data["anomalies"] = [
        {**anomaly_json(item.finding.anomaly, learner.numbering), "mark": item.mark.to_json()}
        for item in report.items
        if item.finding.anomaly is not None
    ]
    plain_data: dict[str, Any] = all_encodable(data)
    return plain_data


def _finding(item: Item) -> dict[str, Any]:
    finding = item.finding
    data = {**finding.to_json(), "law": encodable(finding.law), "message": item.message, "mark": item.mark.to_json()}
    if finding.rejection is not None:
        data["rejection"] = _rejection(finding.rejection)
    return data


def _rejection(rejection: Rejection) -> dict[str, Any]:
    """Where in its grammar a view was broken."""
    return {
        "group": rejection.group,
        "message": rejection.terminal,
        "position": rejection.rule,
        "assertion": rejection.assertion,
        "where": rejection.where and encodable(rejection.where),
        "reason": rejection.reason,
        "values": {name: plain(value) for name, value in rejection.values.items()},
    }


def _encoded(report: dict[str, Any]) -> bytes:
    try:
        return _encoded_text(report)
    except RecursionError:  # an event that nests as deeply as can be stands deeper in here
        for data in report["findings"]:
            for key in ("event", "doomed_event", "bindings", "history", "rejection", "origin", "messages"):
                if key in data:
                    data[key] = shortened(data[key])
        return _encoded_text(report)


def _encoded_text(report: dict[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(report, enc_hook=plain) + b"\n"
    except UnicodeEncodeError:  # names of files, and texts of the program
        return msgspec.json.encode(all_encodable(report), enc_hook=plain) + b"\n"
