"""Fingerprints that identify findings across runs: names and kinds of events, never line numbers or object ids."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from lawful.diagnostics import encodable
from lawful.laws.loader import is_law_name
from lawful.reports.sources import SourceLines

if TYPE_CHECKING:
    from lawful.engine.findings import Event, Finding

_DIGITS = 16


class Mark(NamedTuple):
    """The fingerprint of a finding, with its parts in words."""

    fingerprint: str
    law: str
    file: str | None
    function: str  # around the place; empty if unknown
    event: str  # that broke the law, or the rule that was broken
    places: tuple[str, ...] = ()  # of an anomaly: all of them, as `app.py work`

    def to_json(self) -> dict[str, Any]:
        """All of it in JSON's types."""
        data: dict[str, Any] = self._asdict()
        if not self.places:
            del data["places"]
        return data


class Fingerprinter:
    """Gives findings their marks. It numbers findings whose fingerprints would be equal, in their order."""

    def __init__(self, source: SourceLines) -> None:
        self._source = source
        self._times: dict[str, int] = {}

    def mark(self, finding: Finding, *, keep: bool = True) -> Mark:
        """The mark of a finding; without `keep`, the next one like it gets the same."""
        mark = _mark(finding, self._source)
        again = self._times.get(mark.fingerprint, 0) + 1
        if keep:
            self._times[mark.fingerprint] = again
        return mark if again == 1 else mark._replace(fingerprint=f"{mark.fingerprint}-{again}")


class Marks:
    """The marks of findings. They are made when the first is asked for: a report as text needs none."""

    def __init__(self, findings: Sequence[Finding], source: SourceLines) -> None:
        self._findings = findings
        self._source = source

    def of(self, finding: Finding) -> Mark:
        return self._marks[id(finding)]

    @cached_property
    def _marks(self) -> dict[int, Mark]:
        found = marks(self._findings, self._source)
        return {id(finding): mark for finding, mark in zip(self._findings, found, strict=True)}


def marks(findings: Sequence[Finding], source: SourceLines) -> list[Mark]:
    """A mark for each finding; numbers are in the order of lines."""
    marker = Fingerprinter(source)
    order = sorted(range(len(findings)), key=lambda at: (findings[at].file or "", findings[at].line or 0, at))
    found = {at: marker.mark(findings[at]) for at in order}
    return [found[at] for at in range(len(findings))]


def _mark(finding: Finding, source: SourceLines) -> Mark:
    file, function = _place(finding.file), source.function(finding.file, finding.line)
    if finding.anomaly is not None:
        rule = finding.anomaly.rule
        sites = finding.anomaly.sites
        places = {f"{_place(site.file)} {source.function(site.file, site.line)}".strip() for site in sites}
        name = encodable(str(rule))
        known = _digest("learned", rule.a.label, rule.pattern, rule.b.label)
        return Mark(known, finding.law, file, function, name, tuple(sorted(places)))
    how = "event" if isinstance(finding.rejected_at, int) else finding.rejected_at or "lost"
    event = finding.event or finding.doomed_event
    # Without a place, the finding's event is the oldest one shown, which differs from run to run.
    place = finding.place_event if finding.file is not None else None
    law = _law(finding.law)
    known = _digest(law, how, _shape(event), _shape(place), file, function)
    return Mark(known, law, file, function, " ".join(_shape(event or place)))


def _law(name: str) -> str:
    """A law by the name of its file, wherever that is, or by its name in the catalogue."""
    head, colon, part = name.partition(": ")
    if is_law_name(head):
        head = head.replace("\\", "/").rpartition("/")[2]
    return encodable(f"{head}{colon}{part}")


def _place(file: str | None) -> str | None:
    """The file as it is called from the project; of one elsewhere, which other machines have elsewhere, its name."""
    if file is None:
        return None
    return encodable(os.path.basename(file) if os.path.isabs(file) else file.replace("\\", "/"))


def _shape(event: Event | None) -> list[str]:
    """Kind and name of an event."""
    parts = () if event is None else (event.get("event"), event.get("name"))
    return [encodable(each) for each in parts if isinstance(each, str)]


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:_DIGITS]
