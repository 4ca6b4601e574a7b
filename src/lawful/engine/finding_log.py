"""The findings of a run with their evidence, each counted, without suppressed ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from lawful.engine.evidence import Evidence, values_of
from lawful.engine.findings import Event, Finding, finding_key, has_place, place_of, time_of
from lawful.events.event_kinds import mentioned_ids
from lawful.laws.protocol import Expectation

if TYPE_CHECKING:
    from lawful.engine.law_judge import LawJudge
    from lawful.engine.suppressions import Suppressions

_MOST_FINDINGS = 1_000  # of one law
_NOTHING = Expectation((), {})


class FindingLog:
    """All findings of a run, in the order in which they were made."""

    def __init__(self, evidence: Evidence, suppressions: Suppressions | None) -> None:
        self.evidence = evidence
        self.omitted = 0  # violations at further places, of laws that were broken at very many
        self.suppressed = 0  # violations that the source, or the project, suppresses
        self.hidden: list[Finding] = []  # that a baseline knows
        self.context: str | None = None  # what the program is at, as the id of a test
        self._suppressions = suppressions
        self._findings: dict[tuple[object, ...], Finding] = {}
        self._by_law: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._findings)

    @property
    def findings(self) -> list[Finding]:
        return list(self._findings.values())

    @property
    def violations(self) -> int:
        """How often laws were broken."""
        return sum(finding.count for finding in self._findings.values()) + self.omitted

    def hide(self, known: Iterable[Finding]) -> None:
        """A baseline knows these: they are findings no more."""
        gone = {id(finding) for finding in known}
        self.hidden += [finding for finding in self._findings.values() if id(finding) in gone]
        self._findings = {key: each for key, each in self._findings.items() if id(each) not in gone}

    def clear(self) -> None:
        """Begin anew, in a child process."""
        self.omitted = self.suppressed = 0
        self._findings.clear()
        self._by_law.clear()

    # -- violations -------------------------------------------------------------------------------

    def violation(self, judge: LawJudge, event: Event | None, number: int, made: Event | None) -> Finding | None:
        """An event broke a law, which is still in the state before. The finding, unless it is suppressed or omitted.

        `made`: the first event of the object that broke it, if it is sampled.
        """
        monitor, law = judge.monitor, judge.law
        lost = monitor.doomed_at is not None
        rejected_at = None if lost else number
        origin: Event | None = None
        if law.every is not None:
            # Any event can show that a deadline has passed.
            about = monitor.expectation(event).about
            origin = about if about is not event else None
        if origin is None and event is not None and not has_place(event):
            origin = self.evidence.origin(monitor, list(mentioned_ids(event)), number)
        if self._is_suppressed(law.name, origin or event):
            return None
        key = finding_key(law.name, rejected_at, origin or event)
        contexts = self._contexts()
        finding = self._findings.get(key)
        if finding is not None:
            finding.again(1, time_of(event), contexts)
            return finding
        if self._is_full(law.name):
            self.omitted += 1
            return None
        expectation = _NOTHING if lost else monitor.expectation(event)
        finding = Finding(
            rejected_at,
            None if lost else event,
            expectation,
            number if lost else None,
            event if lost else None,
            law=law.name,
            last_time=time_of(event),
            contexts=contexts,
            origin=origin,
            made=made,
            rejection=None if lost else monitor.rejection(event),
        )
        self._add(key, finding)
        self.evidence.find_later(finding, judge, values_of(monitor, expectation, event), number)
        return finding

    def violation_at_end(self, judge: LawJudge, expectation: Expectation, number: int) -> None:
        """Something that a law waits for did not come; `number` is that of the event which would come next."""
        monitor, contexts = judge.monitor, self._contexts()
        finding = Finding("end", None, expectation, None, None, law=judge.law.name, contexts=contexts)
        finding.rejection = monitor.rejection_at_end(expectation.bindings.get("groupId"))
        values = values_of(monitor, expectation, None)
        finding.origin = self.evidence.origin(monitor, values, number)
        self.evidence.find(finding, judge, values, number)
        if not self._is_suppressed(finding.law, finding.place_event):
            self.add(finding, None, contexts)

    def add(self, finding: Finding, last_time: float | None, contexts: Mapping[str, int]) -> None:
        """Add a finding, or count it where it is known already."""
        known = self._findings.get(finding.key)
        if known is not None:
            known.again(finding.count, last_time, contexts)
        elif self._is_full(finding.law):
            self.omitted += finding.count
        else:
            self._add(finding.key, finding)

    def add_anomaly(self, finding: Finding) -> None:
        """Add an anomaly, unless it is suppressed."""
        if not self._is_suppressed(finding.law, finding.place_event):
            self._add(finding.key, finding)

    def merge(self, other: Mapping[str, Any]) -> None:
        """Add what another process has found: its `snapshot`."""
        self.omitted += other["omitted"]
        self.suppressed += other["suppressed"]
        for data in other["findings"]:
            finding = Finding.from_json(data)
            self.add(finding, finding.last_time, finding.contexts)

    def _contexts(self) -> dict[str, int]:
        return {self.context: 1} if self.context is not None else {}

    def _is_full(self, law: str) -> bool:
        return self._by_law.get(law, 0) >= _MOST_FINDINGS

    def _is_suppressed(self, law: str, event: Event | None) -> bool:
        """Does the source, or the project's configuration, suppress this?"""
        if self._suppressions is None or event is None:
            return False
        suppressed = self._suppressions.cover(law, *place_of(event))
        self.suppressed += suppressed
        return suppressed

    def _add(self, key: tuple[object, ...], finding: Finding) -> None:
        self._findings[key] = finding
        self._by_law[finding.law] = self._by_law.get(finding.law, 0) + 1
