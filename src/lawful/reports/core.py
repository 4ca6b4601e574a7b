"""What all reports share: the one-line message of a case, and values as short JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from lawful.diagnostics import printable

if TYPE_CHECKING:
    from lawful.engine import Case, Finding, TraceRun
    from lawful.laws.protocol import Expectation

_LONGEST_STRING = 60
_MOST_PARTS = 12
_DEEPEST = 4


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


def expected(expectation: Expectation) -> str:
    """What would have been accepted, as `read(2), close(2) or 3 others`; nothing if nothing would have been."""
    items = [printable(item) for item in expectation.expected]
    if expectation.omitted:
        items.append(count(expectation.omitted, "other"))
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} or {items[-1]}"


def count(number: int, what: str) -> str:
    """A number with its noun: `1 event`, `2,000 events`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def short(value: Any) -> str:
    """A value as compact JSON on one line that cannot steer a terminal; long strings and lists are cut."""
    return printable(msgspec.json.encode(shortened(value)).decode())


def shortened(value: Any, depth: int = 0) -> Any:
    """A value with its long and deep parts cut."""
    if isinstance(value, str):
        return value if len(value) <= _LONGEST_STRING else value[: _LONGEST_STRING - 1] + "…"
    if isinstance(value, dict | list) and value and depth == _DEEPEST:
        return "…"
    if isinstance(value, dict):
        return {shortened(key, depth): shortened(part, depth + 1) for key, part in value.items()}
    if isinstance(value, list):
        kept = [shortened(part, depth + 1) for part in value[:_MOST_PARTS]]
        return kept if len(value) <= _MOST_PARTS else [*kept, f"… {len(value) - _MOST_PARTS} more"]
    return plain(value)


def plain(value: Any) -> Any:
    """A scalar as JSON has it: what a law calculated can be a value that JSON cannot say."""
    if value is None or isinstance(value, str | float):
        return value
    if isinstance(value, int):
        # Integers beyond this may be refused by whoever reads the report, and by Python's own conversion to text.
        return value if value.bit_length() <= 10_000 else f"an integer of {value.bit_length()} bits"
    return repr(value)
