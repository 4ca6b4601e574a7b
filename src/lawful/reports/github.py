"""The report as workflow commands, which GitHub shows as annotations beside the lines of a change."""

from __future__ import annotations

from collections.abc import Iterator

from lawful.diagnostics import encodable, printable
from lawful.engine.wording import expected
from lawful.reports.core import Report, about
from lawful.reports.findings import Item, ranked

_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = _DATA | str.maketrans({":": "%3A", ",": "%2C"})


def render(report: Report) -> str:
    """A line for each finding, each error and each warning, then the summary."""
    return "".join(f"{line}\n" for line in _lines(report))


def _lines(report: Report) -> Iterator[str]:
    mild = {judged.law.name for judged in report.laws if about(judged.law).facts.get("severity") == "warning"}
    for item in ranked(report.items):
        finding = item.finding
        place: dict[str, object] = {}
        if finding.file is not None:
            place = {"file": report.source.in_repository(finding.file)} | (
                {} if finding.line is None else {"line": finding.line}
            )
        level = "warning" if item.anomaly or finding.law in mild else "error"
        yield command(level, _text(item), {**place, "title": item.title})
    for text in report.errors:
        yield command("error", text, {"title": "Lawful"})
    for text in report.warnings:
        yield command("warning", text, {"title": "Lawful"})
    yield command("notice", report.summary, {"title": "Lawful"})


def _text(item: Item) -> str:
    finding = item.finding
    lines = [item.message]
    wanted = expected(finding.expectation)
    if wanted and wanted not in item.message:
        lines.append(f"expected: {wanted}")
    if finding.count > 1:
        lines.append(f"seen {finding.count:,} times")
    if item.trace is not None:
        lines.append(f"on {item.trace}")
    lines += [f"in {context}" for context in list(finding.contexts)[:3]]
    return "\n".join(lines)


def command(name: str, text: str, properties: dict[str, object]) -> str:
    """A workflow command. Characters that could end it, or begin another one, are escaped."""
    attributes = ",".join(f"{key}={_flat(str(value)).translate(_PROPERTY)}" for key, value in properties.items())
    lines = "\n".join(_flat(line) for line in text.split("\n"))
    return f"::{name} {attributes}::{lines.translate(_DATA)}"


def _flat(text: str) -> str:
    return printable(encodable(text))
