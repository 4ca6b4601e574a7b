"""The report in SARIF 2.1.0, which code scanning and editors read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

from lawful import __version__
from lawful.diagnostics import all_encodable, encodable, printable
from lawful.engine.wording import count, describe, expected
from lawful.laws import catalog
from lawful.reports.core import Report, about
from lawful.reports.findings import LEARNED, Item, ranked

if TYPE_CHECKING:
    from lawful.learning.window_protocol import ExampleScenario
    from lawful.reports.sources import SourceLines

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_FINGERPRINT = "lawful/v1"
_ROOT = "%SRCROOT%"
_MAX_CONTEXTS = 20

Json = dict[str, Any]


def render(report: Report) -> bytes:
    """The whole report, with a newline at its end."""
    data: Json = all_encodable({"$schema": _SCHEMA, "version": "2.1.0", "runs": [_run(report)]})
    return msgspec.json.format(msgspec.json.encode(data), indent=1) + b"\n"


def _run(report: Report) -> Json:
    items = ranked(report.items)
    rules = list(_rules(report, items))
    places = {rule["id"]: at for at, rule in enumerate(rules)}
    driver = {"name": "Lawful", "version": __version__, "semanticVersion": __version__, "rules": rules}
    properties: Json = {"events": report.events, "hidden": len(report.hidden), "omitted": report.omitted}
    if report.seconds is not None:
        properties["seconds"] = report.seconds
    return {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"lawful/{report.command}/"},
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(report)],
        "results": [_result(item, places, report.source) for item in items],
        "properties": properties,
    }


def _invocation(report: Report) -> Json:
    notes = [("error", text) for text in report.errors] + [("warning", text) for text in report.warnings]
    return {
        "executionSuccessful": not report.errors,
        "toolExecutionNotifications": [
            {"level": level, "message": {"text": printable(text) or "?"}} for level, text in notes
        ],
    }


def _rules(report: Report, items: list[Item]) -> Iterator[Json]:
    """The laws, each once."""
    seen: set[str] = set()
    for judged in report.laws:
        name = judged.law.name
        if name in seen:
            continue
        seen.add(name)
        title, facts = about(judged.law)
        rule: Json = {"id": name, "shortDescription": {"text": printable(title) or name}}
        if "rule" in facts:
            rule["fullDescription"] = {"text": printable(facts["rule"])}
        if judged.law.source:
            help_text = "\n\n".join([*(facts[key] for key in ("rule", "fix") if key in facts), judged.law.source])
            rule["help"] = {"text": help_text}
        page = _page(name, facts.get("docs", ""))
        if page is not None:
            rule["helpUri"] = page
        rule["defaultConfiguration"] = {"level": _level(facts.get("severity"))}
        yield rule
    names = dict.fromkeys(item.finding.law for item in items)
    for name in names:
        if name not in seen:
            text = "Rules that were learned from the program itself." if name == LEARNED else name
            level = "warning" if name == LEARNED else "error"
            yield {"id": name, "shortDescription": {"text": text}, "defaultConfiguration": {"level": level}}


def _page(law: str, docs: str) -> str | None:
    """The page about a law: the one that the law names, or that of the catalogue."""
    if docs.startswith("https://"):
        return docs.split()[0]
    return catalog.load(law).url if law in catalog.names() else None


def _level(severity: str | None) -> str:
    return severity if severity in ("error", "warning", "note") else "error"


def _result(item: Item, places: dict[str, int], source: SourceLines) -> Json:
    finding = item.finding
    result: Json = {
        "ruleId": finding.law,
        "ruleIndex": places[finding.law],
        "kind": "fail",
        "message": {"text": _text(item)},
        "partialFingerprints": {_FINGERPRINT: item.mark.fingerprint},
        "occurrenceCount": finding.count,
    }
    if item.anomaly:
        result["level"] = "warning"
    location = _location(finding.file, finding.line, source, function=item.mark.function)
    if location is None and item.trace is not None:
        location = {"physicalLocation": {"artifactLocation": _artifact(item.trace, source)}}
    if location is not None:
        result["locations"] = [location]
    steps = [_step(event, source, number) for number, event in finding.history]
    last = finding.event or finding.doomed_event
    if last is not None:
        steps.append(_step(last, source, None))
    if finding.anomaly is not None:
        steps = [{"location": each} for scene in finding.anomaly.bad[:1] for each in _scene(scene, source)]
        good = [] if finding.anomaly.good is None else _scene(finding.anomaly.good, source)
        if good:
            result["relatedLocations"] = [{"id": at, **each} for at, each in enumerate(good, 1)]
        result["rank"] = round(100 * min(1.0, max(0.0, finding.anomaly.score)), 1)
    if steps:
        steps[-1]["importance"] = "essential"
        result["codeFlows"] = [{"threadFlows": [{"locations": steps}]}]
    result["properties"] = _properties(item)
    return result


def _text(item: Item) -> str:
    finding = item.finding
    wanted = expected(finding.expectation)
    text = printable(item.message)
    if wanted and wanted not in text:
        text += f" (expected {wanted})"
    return text + (f", {count(finding.count, 'time')}" if finding.count > 1 else "")


def _properties(item: Item) -> Json:
    finding = item.finding
    found: Json = {"kind": item.kind}
    if item.trace is not None:
        found["trace"] = item.trace
    if finding.contexts:
        found["contexts"] = list(finding.contexts)[:_MAX_CONTEXTS]
    if finding.anomaly is not None:
        found["rule"] = str(finding.anomaly.rule)
    return found


def _scene(scene: ExampleScenario, source: SourceLines) -> list[Json]:
    """The locations of an object's events."""
    return [
        {**(_location(site.file, site.line, source) or {}), "message": {"text": printable(name) or "?"}}
        for name, site in scene.events
    ]


def _step(event: Json, source: SourceLines, number: int | None) -> Json:
    file, line = event.get("file"), event.get("line")
    location = None
    if isinstance(file, str):
        location = _location(file, line if isinstance(line, int) else None, source)
    step: Json = {"location": {**(location or {}), "message": {"text": describe(event) or "?"}}}
    if number is not None and number > 0:
        step["executionOrder"] = number
    return step


def _location(file: str | None, line: int | None, source: SourceLines, *, function: str = "") -> Json | None:
    if file is None:
        return None
    physical: Json = {"artifactLocation": _artifact(file, source)}
    if line is not None and line > 0:
        physical["region"] = {"startLine": line}
        text = source.line(file, line)
        if text is not None:
            physical["region"]["snippet"] = {"text": text}
    found: Json = {"physicalLocation": physical}
    if function:
        found["logicalLocations"] = [{"fullyQualifiedName": function, "kind": "function"}]
    return found


def _artifact(file: str, source: SourceLines) -> Json:
    """A file as a URI: below the root of the repository, or of the project if it is in none; or where it is."""
    path = quote(encodable(source.in_repository(file)))
    return {"uri": f"file://{path}"} if os.path.isabs(file) else {"uri": path, "uriBaseId": _ROOT}
