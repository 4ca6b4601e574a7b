"""Confidence across runs: how the lives of objects ended, in a SQLite file that several processes may add to.

It may be the file in which the learner keeps its counts. Each run has a row for each class and law, and totals are
their sums: nothing is read to be changed, so nobody's samples are lost. The state of a policy is no sum. Of processes
that run at the same time, the one that ends last leaves its own; all that is claimed rests on the samples alone.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from lawful.database import Database, row_number
from lawful.diagnostics import encodable

VERSION = 1

_SCHEMA = f"""
CREATE TABLE confidence_version (version INTEGER NOT NULL);
INSERT INTO confidence_version VALUES ({VERSION});
CREATE TABLE confidence_subjects (
    id INTEGER PRIMARY KEY, law TEXT NOT NULL, text TEXT NOT NULL, class TEXT NOT NULL, UNIQUE (law, text, class)
);
CREATE TABLE confidence_samples (
    subject INTEGER NOT NULL REFERENCES confidence_subjects, run TEXT NOT NULL, time REAL NOT NULL,
    samples INTEGER NOT NULL CHECK (samples >= violations),
    violations INTEGER NOT NULL CHECK (violations >= 0),
    unknown INTEGER NOT NULL CHECK (unknown >= 0),
    PRIMARY KEY (subject, run)
) WITHOUT ROWID;
CREATE TABLE confidence_walks (
    class TEXT NOT NULL, policy TEXT NOT NULL, walk TEXT NOT NULL, time REAL NOT NULL, PRIMARY KEY (class, policy)
) WITHOUT ROWID;
"""


class Subject(NamedTuple):
    """What samples are about. A law whose text has changed is another law."""

    law: str
    text: str  # its fingerprint
    class_name: str


class Counts(NamedTuple):
    """How lives ended: clean or violated, of which so many violated; or nobody knows how."""

    samples: int = 0
    violations: int = 0
    unknown: int = 0


class TotalCounts(NamedTuple):
    """The counts of all runs; times are in seconds since 1970."""

    counts: Counts
    runs: int
    first: float
    last: float


class RunCounts(NamedTuple):
    """The counts of one run."""

    run: str
    time: float
    counts: Counts


def fingerprint(text: str) -> str:
    """What tells texts of laws apart."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


class ConfidenceStore(Database):
    """An open store; see `Database`."""

    schema = _SCHEMA
    table = "confidence_version"

    # -- reading -------------------------------------------------------------------------------------------------------

    def totals(self) -> dict[Subject, TotalCounts]:
        """The sums over all runs, in the order of classes and laws."""
        rows = self._rows(
            "SELECT law, text, class, sum(samples), sum(violations), sum(unknown), count(*), min(time), max(time) "
            "FROM confidence_samples JOIN confidence_subjects ON subject = id GROUP BY id ORDER BY class, law, text"
        )
        return {Subject(*row[:3]): TotalCounts(Counts(*row[3:6]), *row[6:]) for row in rows}

    def total(self, subject: Subject) -> TotalCounts | None:
        """The sums over all runs for one of them; None if there was no run."""
        parts = self.parts(subject)
        if not parts:
            return None
        counts = Counts(*map(sum, zip(*(part.counts for part in parts), strict=True)))
        return TotalCounts(counts, len(parts), parts[0].time, parts[-1].time)

    def parts(self, subject: Subject) -> list[RunCounts]:
        """Run by run, in their order."""
        rows = self._rows(
            "SELECT run, time, samples, violations, unknown "
            "FROM confidence_samples JOIN confidence_subjects ON subject = id "
            "WHERE law = ? AND text = ? AND class = ? ORDER BY time, run",
            tuple(map(encodable, subject)),
        )
        return [RunCounts(run, at, Counts(*counts)) for run, at, *counts in rows]

    def has(self, run: str) -> bool:
        """Is something of this run in it?"""
        return bool(self._rows("SELECT 1 FROM confidence_samples WHERE run = ? LIMIT 1", (run,)))

    def policy_run(self, class_name: str, policy: str) -> Any:
        """What was last kept of a class under a policy, as JSON has it; None if nothing was."""
        query = "SELECT walk FROM confidence_walks WHERE class = ? AND policy = ?"
        rows = self._rows(query, (encodable(class_name), encodable(policy)))
        return json.loads(rows[0][0]) if rows else None

    # -- adding --------------------------------------------------------------------------------------------------------

    def add(
        self,
        run: str,
        counted: Mapping[Subject, Counts],
        *,
        policy_runs: Mapping[tuple[str, str], Any] | None = None,
        now: float | None = None,
    ) -> None:
        """Add what a run has counted, all of it or, if something goes wrong, nothing.

        A recorded trace has the same `run` each time: its objects are samples once only. `policy_runs`: by class and
        policy.
        """
        at = time.time() if now is None else now
        with self._writing() as connection:
            for subject, counts in counted.items():
                self._add(connection, subject, RunCounts(run, at, counts))
            self._keep(
                connection, ((*key, json.dumps(policy_run), at) for key, policy_run in (policy_runs or {}).items())
            )

    def merge(self, others: Sequence[ConfidenceStore]) -> None:
        """Add all that the other stores have."""
        with self._writing() as connection:
            for other in others:
                with other._reading():
                    for subject in other.totals():
                        for part in other.parts(subject):
                            self._add(connection, subject, part, other.path)
                    self._keep(connection, other._rows("SELECT class, policy, walk, time FROM confidence_walks"))

    def _add(
        self, connection: sqlite3.Connection, subject: Subject, part: RunCounts, source: str | None = None
    ) -> None:
        law, text, class_name = map(encodable, subject)
        number = row_number(connection, "confidence_subjects", law=law, text=text, **{"class": class_name})
        there = "SELECT 1 FROM confidence_samples WHERE subject = ? AND run = ?"
        if connection.execute(there, (number, part.run)).fetchone():
            same = "the same lives are no new samples" if source is None else "merge stores that have no run in common"
            raise self._overlap(part.run, source, "its samples would count twice", same)
        connection.execute(
            "INSERT INTO confidence_samples VALUES (?, ?, ?, ?, ?, ?)", (number, part.run, part.time, *part.counts)
        )

    def _keep(self, connection: sqlite3.Connection, policy_runs: Iterable[tuple[Any, ...]]) -> None:
        connection.executemany(
            "INSERT INTO confidence_walks VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE "
            "SET walk = excluded.walk, time = excluded.time WHERE excluded.time >= time",
            [
                (encodable(class_name), encodable(policy), policy_run, at)
                for class_name, policy, policy_run, at in policy_runs
            ],
        )

    # -- the file ------------------------------------------------------------------------------------------------------

    def _look_inside(self, connection: sqlite3.Connection) -> None:
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (self.table,)).fetchone():
            found = [version for (version,) in connection.execute("SELECT version FROM confidence_version")]
            if found != [VERSION]:
                raise self._other_version(", ".join(map(str, found)) or "none", VERSION)
