"""The results of pytest-xdist's workers, merged: each worker is a process with a run of its own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lawful.engine.findings import Finding
from lawful.engine.run import LawRun

Snapshot = dict[str, Any]


_LEARNED = "learned"


def pack(run: LawRun, findings: Iterable[Finding] | None = None, *, learned: Mapping[str, Any] | None = None) -> str:
    """A run's snapshot, with all or only some of its findings, as text that every channel can carry.

    Without anomalies: the controller looks for these in the merged counts (`learned`) of all workers.
    """
    snapshot = run.snapshot()
    findings = run.findings if findings is None else findings
    snapshot["findings"] = [finding.to_json() for finding in findings if finding.anomaly is None]
    if learned is not None:
        snapshot[_LEARNED] = learned
    return json.dumps(snapshot)


class WorkerResults:
    """The snapshots of workers: the last one of each, or if it died before that, what it sent with its tests."""

    def __init__(self) -> None:
        self._parts: dict[str, Snapshot] = {}
        self._findings: dict[str, dict[tuple[object, ...], dict[str, Any]]] = {}
        self._whole: dict[str, Snapshot] = {}
        self._begun: list[str] = []

    @property
    def lost(self) -> list[str]:
        """The workers that ended without their last snapshot."""
        return [worker for worker in self._begun if worker not in self._whole]

    def begin(self, worker: str) -> None:
        """A worker is up."""
        self._begun.append(worker)

    def part(self, worker: str, packed: str) -> None:
        """What a worker has found up to now; of its findings those that are new or were made again."""
        snapshot = json.loads(packed)
        findings = self._findings.setdefault(worker, {})
        for finding in snapshot["findings"]:
            findings[Finding.from_json(finding).key] = finding
        self._parts[worker] = snapshot

    def end(self, worker: str, packed: str) -> None:
        """A worker has ended; this is its last snapshot."""
        self._whole[worker] = json.loads(packed)

    def learned(self) -> Iterator[Mapping[str, Any]]:
        """The counts of the workers that sent a last snapshot."""
        for worker in sorted(self._whole, key=_in_order):
            if _LEARNED in self._whole[worker]:
                yield self._whole[worker][_LEARNED]

    def merge_into(self, run: LawRun) -> None:
        for worker in sorted({*self._parts, *self._whole}, key=_in_order):
            snapshot = self._whole.get(worker)
            if snapshot is None:
                snapshot = self._parts[worker] | {"findings": list(self._findings[worker].values())}
            run.merge(snapshot)


def _in_order(worker: str) -> tuple[int, str]:
    return len(worker), worker
