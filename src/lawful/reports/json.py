"""Reports as JSON, for programs: on a program under watch, and on traces."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from lawful import __version__
from lawful.diagnostics import all_encodable, encodable
from lawful.engine.wording import message, trace_message
from lawful.reports.core import plain, result_message, shortened
from lawful.reports.fingerprints import marks
from lawful.reports.sources import SourceLines

if TYPE_CHECKING:
    from lawful.engine import LawResult, LawRun, TraceRun
    from lawful.engine.findings import Finding
    from lawful.laws.grammar.wording import Rejection
    from lawful.reports.fingerprints import Mark
    from lawful.reports.gather import TraceFindings


SCHEMA = 1
"""The version of what reports look like: it changes if a program that reads them might have to."""


def opening(command: str) -> dict[str, Any]:
    """What every report begins with."""
    return {"report": command, "schema": SCHEMA, "version": __version__}


def known_json(baseline: str, known: Sequence[Mark]) -> dict[str, Any]:
    """What a baseline has hidden."""
    return {"file": encodable(baseline), "hidden": len(known), "known": [mark.to_json() for mark in known]}


# -- of a program ------------------------------------------------------------------------------------------------------


def render_run(run: LawRun, *, folder: str | os.PathLike[str] = ".", baseline: str | None = None) -> bytes:
    """The whole report, with a newline at its end.

    `folder`: that of the project, below which the files of events are. `baseline`: the file, if one is used.
    """
    found = marks([*run.findings, *run.log.hidden], SourceLines(folder))
    shown = len(run.findings)
    report: dict[str, Any] = {**opening("run"), **run.snapshot(), "violations": run.violations, "seconds": run.seconds}
    report["laws"] = [encodable(law) for law in report["laws"]]
    report |= _confidence(run)
    report.pop("samples", None)
    report["findings"] = [
        _finding(finding, mark, message(finding)) for finding, mark in zip(run.findings, found[:shown], strict=True)
    ]
    if baseline is not None:
        report["baseline"] = known_json(baseline, found[shown:])
    if run.learner is not None:
        from lawful.learning.learned_json import anomaly_json
        from lawful.reports.learned import plain_json

        learner = run.learner.learner
        report["learned"] = plain_json(learner)
        for at, finding in enumerate(run.findings):
            if finding.anomaly is not None:
                report["findings"][at] = all_encodable(
                    report["findings"][at] | {"anomaly": anomaly_json(finding.anomaly, learner.numbering)}
                )
    return _encoded(report)


# -- of traces ---------------------------------------------------------------------------------------------------------


def render_traces(found: TraceFindings, *, baseline: str | None = None) -> bytes:
    """The whole report, with a newline at its end; `baseline` is the file, if one is used."""
    runs = found.runs
    report: dict[str, Any] = {
        **opening("check"),
        "events": sum(run.events for run in runs),
        "laws": [_result(run, result) for run in runs for result in run.results],
        "findings": [
            {"trace": encodable(run.name), **_finding(finding, mark, trace_message(finding, run.events))}
            for run, finding, mark in found.shown
        ],
        "violations": sum(run.law_run.violations for run in runs),
        "omitted": sum(run.law_run.log.omitted for run in runs),
        "suppressed": sum(run.law_run.log.suppressed for run in runs),
        "traces": [_trace(run) for run in runs],
    }
    for run in runs[-1:]:
        report |= _confidence(run.law_run)
    if baseline is not None:
        report["baseline"] = known_json(baseline, [mark for _, _, mark in found.hidden])
    return _encoded(report)


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


# -- of both -----------------------------------------------------------------------------------------------------------


def _finding(finding: Finding, mark: Mark, text: str) -> dict[str, Any]:
    data = {**finding.to_json(), "law": encodable(finding.law), "message": text, "mark": mark.to_json()}
    if finding.rejection is not None:
        data["rejection"] = rejection_json(finding.rejection)
    return data


def _confidence(run: LawRun) -> dict[str, Any]:
    if run.tracking is None:
        return {}
    from lawful.reports.confidence import plain_json

    return {"confidence": plain_json(run.tracking.confidence.summary())}


def rejection_json(rejection: Rejection) -> dict[str, Any]:
    """Where in its grammar a view was broken."""
    return {
        "group": rejection.group,
        "message": rejection.terminal,
        "position": rejection.rule,
        "assertion": rejection.assertion,
        "where": rejection.where and encodable(rejection.where),
        "reason": rejection.reason,
        "values": {name: _binding(value) for name, value in rejection.values.items()},
    }


def _binding(value: Any) -> Any:
    return value if isinstance(value, dict | list) else plain(value)


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
