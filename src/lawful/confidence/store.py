"""Confidence across runs: how the lives of objects ended, in a SQLite file that the learner may use, too.

Each run adds a row for each class and law, so that no samples of concurrent processes are lost. Of a policy the state
of the process that ends last is kept; claims rest on the samples alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from lawful.confidence.engine import Confidence, Counted, Tally
from lawful.confidence.policy_run import PolicyRun
from lawful.database import Database, row_number
from lawful.diagnostics import encodable
from lawful.errors import LawfulError

if TYPE_CHECKING:
    from lawful.laws.protocol import Law

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


def fingerprint(text: str) -> str:
    """What tells texts of laws apart."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


class ConfidenceStore(Database):
    """An open store; see `Database`."""

    schema = _SCHEMA
    table = "confidence_version"

    # -- reading -------------------------------------------------------------------------------------------------------

    def total(self, subject: Subject) -> Tally | None:
        """The sum over all runs; None without any run."""
        ((runs, samples, violated, unknown),) = self._rows(
            "SELECT count(*), sum(samples), sum(violations), sum(unknown) "
            "FROM confidence_samples JOIN confidence_subjects ON subject = id "
            "WHERE law = ? AND text = ? AND class = ?",
            tuple(map(encodable, subject)),
        ) or [(0, 0, 0, 0)]
        return Tally(samples - violated, violated, unknown) if runs else None

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
        counted: Mapping[Subject, Tally],
        *,
        policy_runs: Mapping[tuple[str, str], Any] | None = None,
        now: float | None = None,
    ) -> None:
        """Add what a run has counted, and its `policy_runs` by class and policy: all of it or, on an error, nothing.

        A recorded trace has the same `run` each time: its objects are samples only once.
        """
        at = time.time() if now is None else now
        with self._writing() as connection:
            for subject, tally in counted.items():
                law, text, class_name = map(encodable, subject)
                number = row_number(connection, "confidence_subjects", law=law, text=text, **{"class": class_name})
                there = "SELECT 1 FROM confidence_samples WHERE subject = ? AND run = ?"
                if connection.execute(there, (number, run)).fetchone():
                    hint = "a life counts as a sample only once"
                    raise self._overlap(run, None, "its samples would count twice", hint)
                row = (number, run, at, tally.samples, tally.violated, tally.unknown)
                connection.execute("INSERT INTO confidence_samples VALUES (?, ?, ?, ?, ?, ?)", row)
            for (class_name, policy), policy_run in (policy_runs or {}).items():
                connection.execute(
                    "INSERT INTO confidence_walks VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE "
                    "SET walk = excluded.walk, time = excluded.time WHERE excluded.time >= time",
                    (encodable(class_name), encodable(policy), json.dumps(policy_run), at),
                )

    # -- the file ------------------------------------------------------------------------------------------------------

    def _look_inside(self, connection: sqlite3.Connection) -> None:
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (self.table,)).fetchone():
            found = [version for (version,) in connection.execute("SELECT version FROM confidence_version")]
            if found != [VERSION]:
                raise self._other_version(", ".join(map(str, found)) or "none", VERSION)


class ConfidenceHistory:
    """What earlier runs have counted, in a store. It is open only while it is used: no child may inherit it."""

    def __init__(self, path: str, laws: Sequence[Law]) -> None:
        """Raises what is wrong with the file, before the program begins."""
        ConfidenceStore(path).close()
        self._path = os.path.abspath(path)  # the program may change the folder
        parts = [part for law in laws for part in law.parts]
        self._texts = {part.name: fingerprint(part.source) for part in parts if part.subjects is not None}

    def recall(self, confidence: Confidence) -> None:
        """Begin with what earlier runs have counted."""
        policy = str(confidence.demand.policy)
        with ConfidenceStore(self._path) as store:
            for name, group in confidence.groups.items():
                for law in group.laws:
                    total = store.total(Subject(law, self._texts[law], name))
                    if total is not None:
                        group.before[law] = total
                data = store.policy_run(name, policy)
                # A policy that has moved on for one law has not for another one.
                known = data is not None and all(law in group.before for law in group.laws)
                confidence.go_on(group, PolicyRun.from_json(data, confidence.demand.policy) if known else None)

    def keep(self, confidence: Confidence, runs: Mapping[str, Counted] | None = None) -> None:
        """Add what this run has counted; or what several have, each under its name, which can be added only once."""
        policy = str(confidence.demand.policy)
        policy_runs = {(name, policy): group.policy_run.to_json() for name, group in confidence.groups.items()}
        with ConfidenceStore(self._path) as store:
            for run, counted in (runs or {uuid.uuid4().hex: confidence.counted()}).items():
                tallies = {Subject(law, self._texts[law], name): tally for (name, law), tally in counted.items()}
                store.add(run, tallies, policy_runs=policy_runs)

    def refuse(self, runs: Mapping[str, str]) -> None:
        """Nobody's samples count twice: these runs, by what a user calls them, must not be in it."""
        with ConfidenceStore(self._path) as store:
            for name, run in runs.items():
                if store.has(run):
                    hint = "a life counts as a sample only once; leave out the trace, or the store"
                    raise LawfulError(
                        "store-overlap", "the store has counted this trace already", where=name, hint=hint
                    )
