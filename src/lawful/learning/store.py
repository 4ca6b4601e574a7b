"""Counts across runs, in a SQLite file that several processes may add to.

Counts are sums over runs, of scenarios that ended alike. They are kept apart by the set of templates that was in force:
which rules an ending satisfies is known for these only. A run takes from the store what was counted with all of its own
templates.
"""

from __future__ import annotations

import re
import secrets
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from lawful.database import Database
from lawful.errors import LawfulError
from lawful.learning.reported_before import ReportKey, ReportRecord
from lawful.learning.shared_counts import PairSum, renumbered
from lawful.learning.store_writer import REPORTED, StoreWriter, unsigned
from lawful.learning.window_protocol import MOST_HISTORY_EXAMPLES, SharedHistory, SharedPair, Site, Word

_SCHEMA = """
CREATE TABLE runs (id TEXT PRIMARY KEY, events INTEGER NOT NULL, window INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE words (
    id INTEGER PRIMARY KEY, label TEXT NOT NULL UNIQUE,
    event TEXT NOT NULL, name TEXT NOT NULL, role TEXT NOT NULL
);
CREATE TABLE sites (id INTEGER PRIMARY KEY, file TEXT NOT NULL, line INTEGER NOT NULL, UNIQUE (file, line));
CREATE TABLE template_sets (id INTEGER PRIMARY KEY, templates TEXT NOT NULL UNIQUE);
CREATE TABLE pairs (
    id INTEGER PRIMARY KEY, template_set INTEGER NOT NULL REFERENCES template_sets,
    first INTEGER NOT NULL REFERENCES words, second INTEGER NOT NULL REFERENCES words,
    UNIQUE (template_set, first, second)
);
CREATE TABLE endings (
    pair INTEGER NOT NULL REFERENCES pairs, rules INTEGER NOT NULL, letters INTEGER NOT NULL, number INTEGER NOT NULL,
    PRIMARY KEY (pair, rules, letters)
) WITHOUT ROWID;
CREATE TABLE contexts (
    pair INTEGER NOT NULL REFERENCES pairs, site INTEGER NOT NULL REFERENCES sites, rules INTEGER NOT NULL,
    PRIMARY KEY (pair, site)
) WITHOUT ROWID;
"""

_NEVER = {
    "pairs": "first = second",
    "endings": "number < 0 OR letters NOT BETWEEN 1 AND 3",
    "lives": "number < 1 OR words GLOB '*[^0-9 ]*' OR turns GLOB '*[^0-9 ]*'",
    "life_places": "number < 0 OR sites GLOB '*[^0-9 ]*'",
    "novelty": "news < 0 OR runs < news",
}
"""By table: the condition of invalid rows."""

FORGOTTEN = 5  # runs of the file without it: then the anomaly counts as fixed, and as new if it comes again

_LATER = """
CREATE TABLE IF NOT EXISTS breaches (
    pair INTEGER NOT NULL REFERENCES pairs, site INTEGER NOT NULL REFERENCES sites, rules INTEGER NOT NULL,
    PRIMARY KEY (pair, site)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS told (
    run TEXT NOT NULL REFERENCES runs, a TEXT NOT NULL, b TEXT NOT NULL, file TEXT NOT NULL, function TEXT NOT NULL,
    lines INTEGER NOT NULL, missed INTEGER NOT NULL, PRIMARY KEY (a, b, file, function, run)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS novelty (
    word INTEGER PRIMARY KEY REFERENCES words, runs INTEGER NOT NULL, news INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS lives (
    id INTEGER PRIMARY KEY, words TEXT NOT NULL, turns TEXT NOT NULL, number INTEGER NOT NULL, UNIQUE (words, turns)
);
CREATE TABLE IF NOT EXISTS life_places (
    life INTEGER NOT NULL REFERENCES lives, sites TEXT NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (life, sites)
) WITHOUT ROWID;
"""  # which a store from before there were these gets when something is added

_TABLES = frozenset(re.findall(r"CREATE TABLE (?:IF NOT EXISTS )?(\w+)", _SCHEMA + _LATER))


class Run(NamedTuple):
    """A run that is in the counts. The same trace has the same id; a stream that cannot be read again has a new one."""

    id: str
    events: int
    window: int


def new_run_id() -> str:
    """For a run that nobody can give to the learner a second time."""
    return f"run:{secrets.token_hex(16)}"


class Store(Database):
    """An open store; see `Database`."""

    schema = _SCHEMA
    later_schema = _LATER
    table = "runs"

    # -- reading -------------------------------------------------------------------------------------------------------

    def runs(self) -> list[Run]:
        """All runs that are in the counts."""
        return [Run(*row) for row in self._rows("SELECT id, events, window FROM runs ORDER BY id")]

    def has(self, run: str) -> bool:
        """Is this run in the counts?"""
        return bool(self._rows("SELECT 1 FROM runs WHERE id = ?", (run,)))

    def known(self, templates: Sequence[str]) -> list[SharedPair]:
        """The sums of all counts made with all of these templates, in the order of the labels."""
        sums: dict[tuple[Word, Word], PairSum] = {}
        with self._reading():
            for number, text in self._rows("SELECT id, templates FROM template_sets ORDER BY templates"):
                stored = text.split("\n")
                if set(templates) <= set(stored):
                    for known in self._pairs(number):
                        there = sums.setdefault((known.first, known.second), PairSum())
                        there.add(renumbered(known, stored, templates))
        return [there.total(*pair) for pair, there in sorted(sums.items())]

    def histories(self) -> list[SharedHistory]:
        """All histories that were counted, of each the places that most objects have been to."""
        with self._reading():
            words, sites = self._words(), self._sites()
            counted = sorted(self._table("lives", "id, words, turns, number"))
            placed = self._table("life_places", "life, sites, number")
        places: defaultdict[int, list[tuple[tuple[Site, ...], int, int]]] = defaultdict(list)
        try:
            for history, text, count in placed:
                places[history].append((tuple(sites[number] for number in _numbers(text)), count, 0))
            for known in places.values():
                known.sort(key=lambda each: (-each[1], str(each[0])))
                del known[MOST_HISTORY_EXAMPLES:]
            return [
                SharedHistory(
                    tuple(words[number] for number in _numbers(names)), _numbers(order), count, tuple(places[history])
                )
                for history, names, order, count in counted
            ]
        except (KeyError, ValueError):  # a number that nothing has, or that is longer than any
            message = "a life refers to an event or a place that the store does not have"
            raise LawfulError("store-unreadable", message, where=self.path) from None

    def reported(self, without: Collection[str] = ()) -> dict[ReportKey, int]:
        """The anomalies that all runs but these reported, unless they count as fixed."""
        found: dict[ReportKey, int] = {}
        for run, *parts, lines, missed in self._table("told", REPORTED):
            if run not in without and missed < FORGOTTEN:
                key = ReportKey(*parts)
                found[key] = max(lines, found.get(key, 0))
        return found

    def novelty(self) -> dict[Word, tuple[int, int]]:
        """By event: how many runs had it as others before them did, and in how many of these something was new."""
        with self._reading():
            counted = self._table("novelty", "word, runs, news")
            words = self._words() if counted else {}
        return {words[number]: (runs, news) for number, runs, news in counted}

    def _words(self) -> dict[int, Word]:
        return {row[0]: Word(*row[1:]) for row in self._rows("SELECT id, event, name, role FROM words")}

    def _sites(self) -> dict[int, Site]:
        rows = self._rows("SELECT id, file, line FROM sites")
        return {number: Site(file or None, line if line >= 0 else None) for number, file, line in rows}

    def _pairs(self, template_set: int) -> Iterator[SharedPair]:
        words, sites = self._words(), self._sites()
        endings: defaultdict[int, list[tuple[int, int, int]]] = defaultdict(list)
        for pair, rules, letters, number in self._rows("SELECT pair, rules, letters, number FROM endings"):
            endings[pair].append((unsigned(rules), letters, number))
        contexts: defaultdict[int, list[tuple[Site, int]]] = defaultdict(list)
        breaches: defaultdict[int, list[tuple[Site, int]]] = defaultdict(list)
        for places, table in ((contexts, "contexts"), (breaches, "breaches")):
            for pair, site, rules in self._table(table, "pair, site, rules"):
                places[pair].append((sites[site], unsigned(rules)))
        pairs = self._rows("SELECT id, first, second FROM pairs WHERE template_set = ?", (template_set,))
        for pair, first, second in pairs:
            places_of = (tuple(each.pop(pair, ())) for each in (contexts, breaches))
            yield SharedPair(words[first], words[second], tuple(endings.pop(pair, ())), *places_of)

    # -- the file ------------------------------------------------------------------------------------------------------

    def _look_inside(self, connection: sqlite3.Connection) -> None:
        """Check all tables: columns have their types, and references lead somewhere."""
        there = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        for table in sorted(there & _TABLES):
            columns = connection.execute(f"SELECT name, type FROM pragma_table_info('{table}')").fetchall()
            wrong = [f"typeof({name}) <> '{kind.lower()}'" for name, kind in columns]
            wrong += [_NEVER[table]] if table in _NEVER else []
            if (
                connection.execute(f"SELECT 1 FROM {table} WHERE {' OR '.join(wrong)} LIMIT 1").fetchone()
                or connection.execute(f"PRAGMA foreign_key_check({table})").fetchone()
            ):
                message = f"its table `{table}` has invalid rows"
                raise LawfulError("store-unreadable", message, where=self.path)

    # -- adding --------------------------------------------------------------------------------------------------------

    def add(
        self,
        runs: Sequence[Run],
        templates: Sequence[str],
        counted: Iterable[SharedPair],
        histories: Iterable[SharedHistory] = (),
        reported: ReportRecord | None = None,
        novelty: Mapping[Word, bool] = MappingProxyType({}),
    ) -> None:
        """Add the counts and reports of these runs: all of them or, after an error, none."""
        with self._writing() as connection:
            writer = StoreWriter(connection)
            self._add_runs(connection, runs)
            writer.add_counts(templates, counted)
            writer.add_histories(histories)
            if reported is not None:
                writer.age(reported)
                writer.add_reported([(runs[0].id, *each, lines, 0) for each, lines in reported.new.items()])
            writer.add_novelty({word: (1, int(new)) for word, new in novelty.items()})

    def merge(self, others: Sequence[Store]) -> None:
        """Add the contents of the other stores."""
        with self._writing() as connection:
            writer = StoreWriter(connection)
            for other in others:
                with other._reading():
                    self._add_runs(connection, other.runs(), other.path)
                    for number, text in other._rows("SELECT id, templates FROM template_sets"):
                        writer.add_counts(text.split("\n"), other._pairs(number))
                    writer.add_histories(other.histories())
                    writer.add_reported(other._table("told", REPORTED))
                    writer.add_novelty(other.novelty())

    def _add_runs(self, connection: sqlite3.Connection, runs: Sequence[Run], source: str | None = None) -> None:
        for run in runs:
            if connection.execute("SELECT 1 FROM runs WHERE id = ?", (run.id,)).fetchone():
                raise self._overlap(run.id, source, "would count twice", "merge stores that have no run in common")
            connection.execute("INSERT INTO runs VALUES (?, ?, ?)", run)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split()))
