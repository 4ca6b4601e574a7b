"""The findings in the HTML page: small rows of JSON, which its script draws when the reader opens them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from lawful.diagnostics import printable
from lawful.engine.findings import time_of
from lawful.engine.wording import count, cut, describe
from lawful.events.event_kinds import mentioned_ids
from lawful.reports import findings as facts
from lawful.reports import sequence
from lawful.reports.law_places import LawPlaces

if TYPE_CHECKING:
    from lawful.engine.findings import Event
    from lawful.learning.window_protocol import ExampleScenario
    from lawful.reports.core import Report
    from lawful.reports.findings import Item

Json = dict[str, Any]

_AROUND = 3  # lines of source before and after the one that matters
_MAX_CONTEXTS = 20
_MAX_SCENES = 5
_MAX_OTHERS = 10
_LONGEST_LINE = 240


class Findings:
    """Rows for all findings; events, lines of source and texts of laws stand beside them, once each."""

    def __init__(self, report: Report, items: Sequence[Item]) -> None:
        self._source = report.source
        self._items = items
        self._lines: dict[str, dict[int, str]] = {}
        self._events: list[Json] = []
        self._placed: dict[int, int] = {}  # events that are in there, by their ids: they live as long as the report
        self.places = LawPlaces([judged.law for judged in report.laws])

    def data(self) -> Json:
        rows = [self._row(item) for item in self._items]
        return {"findings": rows, "events": self._events, "files": self._lines}

    def _row(self, item: Item) -> Json:
        finding, file, line = item.finding, item.finding.file, item.finding.line
        self._excerpt(file, line, _AROUND)
        row: Json = {
            "law": item.finding.law,
            "kind": item.kind,
            "message": printable(item.message),
            "id": item.mark.fingerprint,
            "count": finding.count,
            "facts": [[label, printable(text)] for label, text in _facts(item)],
        }
        if file is not None:
            row |= {"file": file, "line": line, "function": item.mark.function}
        if item.trace is not None:
            row["trace"] = item.trace
        if finding.anomaly is None:
            row["events"] = [self._place(number, event) for number, event in finding.history]
            last = finding.event or finding.doomed_event
            if last is not None:
                row["events"].append(self._place(None, last))
                row["broke"] = True  # the last one did
            if finding.history_note:
                row["note"] = finding.history_note
            spans = self.places.of(finding)
            if spans is not None:
                row["spans"] = spans
        else:
            anomaly = finding.anomaly
            row["score"] = round(anomaly.score, 3)
            row["bad"] = [self._scene(scene) for scene in anomaly.bad[:_MAX_SCENES]]
            if anomaly.good is not None:
                row["good"] = self._scene(anomaly.good)
        if item.diagram is not None:
            row["diagram"] = sequence.render_svg(item.diagram)
        return row

    def _excerpt(self, file: str | None, line: int | None, around: int) -> None:
        found = self._source.excerpt(file, line, around)
        if found and file is not None:
            lines = self._lines.setdefault(file, {})
            lines.update(
                (number, cut(printable(text), _LONGEST_LINE)) for number, text in found.items() if number not in lines
            )

    def _place(self, number: int | None, event: Event) -> int:
        """The place of an event in the list of events. Several findings share most of them."""
        place = self._placed.get(id(event))
        if place is None:
            place = self._placed[id(event)] = len(self._events)
            self._events.append(self._event(number, event))
        return place

    def _event(self, number: int | None, event: Event) -> Json:
        row: Json = {"text": describe(event), "kind": str(event.get("event", ""))}
        if number is not None:
            row["number"] = number
        file, line = event.get("file"), event.get("line")
        if isinstance(file, str):
            row["file"] = file
            if isinstance(line, int):
                row["line"] = line
                self._excerpt(file, line, 0)
        time, thread, target = time_of(event), event.get("thread"), _target(event)
        row |= {} if time is None else {"time": round(time, 6)}
        row |= {"thread": thread} if isinstance(thread, int) else {}
        row |= {} if target is None else {"target": str(target)}
        return row

    def _scene(self, scene: ExampleScenario) -> Json:
        for _, site in scene.events:
            self._excerpt(site.file, site.line, 0)
        events = [[name, site.file, site.line] for name, site in scene.events]
        return {"events": events, "count": scene.count, "cut": scene.at_end}


def _target(event: Event) -> Any:
    """The object that an event is about: its receiver, or the first that it mentions."""
    target = event.get("targetId")
    return target if isinstance(target, int | str) else next(iter(mentioned_ids(event)), None)


def _facts(item: Item) -> Iterator[tuple[str, str]]:
    """The facts of a finding, as labels and texts."""
    finding = item.finding
    if finding.count > 1:
        yield "seen", facts.seen(finding)
    if finding.anomaly is None and finding.rejected_at is not None:
        yield "expected", facts.wanted(finding)
    if finding.expectation.note:
        yield "found", finding.expectation.note
    if finding.doomed_at is not None:
        yield "lost", facts.lost(finding)
    if finding.expectation.bindings:
        yield "bindings", "".join(facts.bindings(finding))
    if finding.made is not None:
        yield "made", facts.made(finding)
    if finding.anomaly is not None:
        rule = finding.anomaly.rule
        kept, failed = count(rule.satisfied, "time"), count(rule.failed, "time")
        yield "rule", str(rule)
        yield "kept", f"{kept} at {count(rule.contexts, 'place')}; failed {failed}"
        yield "score", f"{finding.anomaly.score:.2f}"
        for other in finding.anomaly.others[:_MAX_OTHERS]:
            yield "breaks", str(other)
    for context in facts.contexts(finding, _MAX_CONTEXTS):
        yield "in", context
    if item.trace is not None:
        yield "trace", item.trace
