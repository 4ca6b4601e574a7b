"""A finding as HTML, as notebooks show it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lawful import markup
from lawful.engine.wording import count, describe, expected, message

if TYPE_CHECKING:
    from lawful.engine.findings import Event, Finding


def finding_html(finding: Finding) -> str:
    """What was found, where, and what led there."""
    times = f" ({count(finding.count, 'time')})" if finding.count > 1 else ""
    place = "" if finding.file is None else f"<br><code>{markup.text(_place(finding.file, finding.line))}</code>"
    parts = [f"<p><b>{markup.text(finding.law)}</b>: {markup.text(message(finding))}{times}{place}</p>"]
    wanted = expected(finding.expectation)
    if wanted:
        parts.append(f"<p>expected {markup.text(wanted)}</p>")
    events = [(str(number), event) for number, event in finding.history]
    last = finding.event or finding.doomed_event
    if last is not None:
        events.append(("→", last))
    if events:
        rows = [(number, describe(event), _where(event)) for number, event in events]
        parts.append(markup.table(("event", "what happened", "where"), rows, numbers=(0,)))
    if finding.anomaly is not None:
        for title, scene in (("not here", finding.anomaly.bad[:1]), ("as here", [finding.anomaly.good])):
            rows = [("", name, str(site)) for each in scene if each is not None for name, site in each.events]
            if rows:
                parts.append(markup.table((title, "event", "where"), rows))
    return f"<div>{''.join(parts)}</div>"


def _where(event: Event) -> str:
    file, line = event.get("file"), event.get("line")
    return _place(file, line if isinstance(line, int) else None) if isinstance(file, str) else ""


def _place(file: str, line: int | None) -> str:
    return file if line is None else f"{file}:{line}"
