"""What all reports of traces share: the one-line message of a case."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lawful.engine.findings import plain
from lawful.engine.wording import count, expected, short, shortened

if TYPE_CHECKING:
    from lawful.engine import Case, Finding, TraceRun

__all__ = ["count", "doomed_place", "expected", "message", "plain", "short", "shortened"]


def message(run: TraceRun, case: Case) -> str:
    """What became of a law on a trace, in one line."""
    finding = case.finding
    if finding is None:
        if case.accepted:
            return "accepted"
        return f"not decided: {case.verdict} after {count(run.events, 'event')}"
    if finding.rejected_at is None:
        return f"lost {doomed_place(finding)}: nothing that follows can be accepted"
    if finding.rejected_at == "end":
        what = "the trace may not end here" if run.events else "the trace may not be empty"
    else:
        what = f"event {finding.rejected_at} is not allowed here"
    wanted = expected(finding.expectation)
    lost = "" if finding.doomed_at is None else f" (the law was lost {doomed_place(finding)})"
    return (f"{what}: expected {wanted}" if wanted else what) + lost


def doomed_place(finding: Finding) -> str:
    return f"at event {finding.doomed_at}" if finding.doomed_at else "before the first event"
