"""The report as JSON, for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import msgspec

from lawful import __version__
from lawful.diagnostics import encodable
from lawful.engine.findings import Event
from lawful.reports.core import message, plain, shortened

if TYPE_CHECKING:
    from lawful.engine import Case, TraceRun
    from lawful.laws.grammar.wording import Rejection
    from lawful.reports.fingerprints import Mark
    from lawful.reports.gather import Found


@runtime_checkable
class Explaining(Protocol):
    """The monitor of a view, which can say where in its grammar it is. (Importing those takes a while.)"""

    def rejection(self, event: Event | None = None) -> Rejection | None: ...


SCHEMA = 1
"""The version of what reports look like: it changes if a program that reads them might have to."""


def opening(command: str) -> dict[str, Any]:
    """What every report begins with."""
    return {"report": command, "schema": SCHEMA, "version": __version__}


def known_json(baseline: str, known: Sequence[Mark]) -> dict[str, Any]:
    """What a baseline has hidden."""
    return {"file": encodable(baseline), "hidden": len(known), "known": [mark.to_json() for mark in known]}


def render(
    runs: Sequence[TraceRun],
    diagrams: Mapping[Case, str] = MappingProxyType({}),
    *,
    found: Sequence[Found] = (),
    baseline: str | None = None,
) -> bytes:
    """The whole report, with a newline at its end; `diagrams` are the files that show some of it as pictures.

    `found` says by what violations are known; `baseline` is the file that knows some, if one is used.
    """
    marks = {each.case: each for each in found}
    report: dict[str, Any] = {
        **opening("check"),
        "events": sum(run.events for run in runs),
        "laws": [
            _case(run, case) | _beyond(case, diagrams.get(case)) | _known(marks.get(case), baseline)
            for run in runs
            for case in run.cases
        ],
        "traces": [_trace(run) for run in runs],
    }
    if baseline is not None:
        report["baseline"] = known_json(baseline, [each.mark for each in found if each.known])
    try:
        return msgspec.json.encode(report, enc_hook=plain) + b"\n"
    except RecursionError:
        # An event that could just be decoded stands deeper in here than in its trace. Its depth is what must go.
        for law in report["laws"]:
            law["event"], law["doomed_event"] = shortened(law["event"]), shortened(law["doomed_event"])
            law["bindings"], law["history"] = shortened(law["bindings"]), shortened(law["history"])
            if "rejection" in law:
                law["rejection"] = shortened(law["rejection"])
        return msgspec.json.encode(report, enc_hook=plain) + b"\n"


def _case(run: TraceRun, case: Case) -> dict[str, Any]:
    finding = case.finding
    return {
        "law": encodable(case.law.name),
        "trace": encodable(run.name),
        "accepted": False if finding else case.accepted,
        "verdict": case.verdict,
        "rejected_at": finding.rejected_at if finding else None,
        "doomed_at": finding.doomed_at if finding else None,
        "event": finding.event if finding else None,
        "doomed_event": finding.doomed_event if finding else None,
        "expected": finding.expectation.expected if finding else (),
        "expected_omitted": finding.expectation.omitted if finding else 0,
        "bindings": {name: _binding(value) for name, value in finding.expectation.bindings.items()} if finding else {},
        "other_instances": finding.expectation.others if finding else 0,
        "history": [{"number": number, "event": event} for number, event in finding.history] if finding else (),
        "history_note": finding.history_note if finding else None,
        "message": message(run, case),
        "warnings": case.monitor.warnings(),
    }


def _beyond(case: Case, diagram: str | None) -> dict[str, Any]:
    """What is said only where there is something to say."""
    found: dict[str, Any] = {}
    if case.finding is not None and case.finding.expectation.note:
        found["note"] = encodable(case.finding.expectation.note)
    if case.finding is not None and case.finding.rejected_at is not None and isinstance(case.monitor, Explaining):
        rejection = case.monitor.rejection(case.finding.event)
        if rejection is not None:
            found["rejection"] = rejection_json(rejection)
    if diagram is not None:
        found["diagram"] = encodable(diagram)
    return found


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


def _known(found: Found | None, baseline: str | None) -> dict[str, Any]:
    """By what a violation is known, and, where there is a baseline, whether it is known."""
    if found is None:
        return {}
    return {"mark": found.mark.to_json()} | ({} if baseline is None else {"known": found.known})


def _binding(value: Any) -> Any:
    return value if isinstance(value, dict | list) else plain(value)


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
