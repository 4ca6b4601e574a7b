"""Memory across runs: what has been counted, in a SQLite file that several processes may add to.

Counts are sums over runs, of scenarios that ended alike. They are kept apart by the set of templates that was in force:
which rules an ending satisfies is known for these only. A run takes from the store what was counted with all of its own
templates.
"""

from __future__ import annotations

import re
import secrets
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from lawful.database import Database
from lawful.diagnostics import encodable
from lawful.errors import LawfulError
from lawful.learning import stored_histories
from lawful.learning.reported_before import ReportKey, ReportRecord
from lawful.learning.window_protocol import SharedHistory, SharedPair, Site, Word

_MOST_LINE = 1 << 63

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
"""What no row of a table says that is ours."""

FORGOTTEN = 5  # runs of the file without it: then what was told is mended, and news if it comes again

_TOLD = "run, a, b, file, function, lines, missed"

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
)
"""  # which a store from before there were these gets when it needs them

_TABLES = frozenset(
    re.findall(r"CREATE TABLE (?:IF NOT EXISTS )?(\w+)", "".join((_SCHEMA, _LATER, *stored_histories.SCHEMA)))
)


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
    table = "runs"

    # -- reading -------------------------------------------------------------------------------------------------------

    def runs(self) -> list[Run]:
        """All runs that are in the counts."""
        return [Run(*row) for row in self._rows("SELECT id, events, window FROM runs ORDER BY id")]

    def has(self, run: str) -> bool:
        """Is this run in the counts?"""
        return bool(self._rows("SELECT 1 FROM runs WHERE id = ?", (run,)))

    def known(self, templates: Sequence[str]) -> list[SharedPair]:
        """The sums of all that was counted with all of these templates, in the order of the labels."""
        sums: dict[tuple[Word, Word], _Sum] = {}
        with self._reading():
            for number, text in self._rows("SELECT id, templates FROM template_sets ORDER BY templates"):
                stored = text.split("\n")
                if set(templates) <= set(stored):
                    for known in self._of_set(number):
                        there = sums.setdefault((known.first, known.second), _Sum())
                        there.add(_renumbered(known, stored, templates))
        return [there.known(*pair) for pair, there in sorted(sums.items())]

    def histories(self) -> list[SharedHistory]:
        """All lives that were counted."""
        with self._reading():
            return self._histories()

    def _histories(self) -> list[SharedHistory]:
        return stored_histories.read(self._rows, self.path)

    def told(self, without: Collection[str] = ()) -> dict[ReportKey, int]:
        """What was told in all runs but these, as far as it still comes up."""
        found: dict[ReportKey, int] = {}
        for run, *told, lines, missed in self._later("told", _TOLD):
            if run not in without and missed < FORGOTTEN:
                found[ReportKey(*told)] = max(lines, found.get(ReportKey(*told), 0))
        return found

    def novelty(self) -> dict[Word, tuple[int, int]]:
        """By event: how many runs had it as others before them did, and in how many of these something was new."""
        with self._reading():
            return self._novelty()

    def _novelty(self) -> dict[Word, tuple[int, int]]:
        counted = {word: (runs, news) for word, runs, news in self._later("novelty", "word, runs, news")}
        words = self._rows("SELECT id, event, name, role FROM words") if counted else ()
        return {Word(*row[1:]): counted[row[0]] for row in words if row[0] in counted}

    def _later(self, table: str, columns: str) -> list[tuple[Any, ...]]:
        """All rows of a table that older stores do not have."""
        there = self._rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,))
        return self._rows(f"SELECT {columns} FROM {table}") if there else []

    def _of_set(self, template_set: int) -> Iterator[SharedPair]:
        words = {row[0]: Word(*row[1:]) for row in self._rows("SELECT id, event, name, role FROM words")}
        sites = {
            number: Site(file or None, line if line >= 0 else None)
            for number, file, line in self._rows("SELECT id, file, line FROM sites")
        }
        endings: defaultdict[int, list[tuple[int, int, int]]] = defaultdict(list)
        for pair, rules, letters, number in self._rows("SELECT pair, rules, letters, number FROM endings"):
            endings[pair].append((_unsigned(rules), letters, number))
        contexts: defaultdict[int, list[tuple[Site, int]]] = defaultdict(list)
        breaches: defaultdict[int, list[tuple[Site, int]]] = defaultdict(list)
        for places, table in ((contexts, "contexts"), (breaches, "breaches")):
            for pair, site, rules in self._later(table, "pair, site, rules"):
                places[pair].append((sites[site], _unsigned(rules)))
        pairs = self._rows("SELECT id, first, second FROM pairs WHERE template_set = ?", (template_set,))
        for pair, first, second in pairs:
            yield SharedPair(
                words[first],
                words[second],
                tuple(endings.pop(pair, ())),
                tuple(contexts.pop(pair, ())),
                tuple(breaches.pop(pair, ())),
            )

    # -- the file ------------------------------------------------------------------------------------------------------

    def _look_inside(self, connection: sqlite3.Connection) -> None:
        """Whatever is read may be relied on: numbers are numbers, and what is referred to is there."""
        there = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        for table in sorted(there & _TABLES):
            columns = connection.execute(f"SELECT name, type FROM pragma_table_info('{table}')").fetchall()
            wrong = [f"typeof({name}) <> '{kind.lower()}'" for name, kind in columns]
            wrong += [_NEVER[table]] if table in _NEVER else []
            if (
                connection.execute(f"SELECT 1 FROM {table} WHERE {' OR '.join(wrong)} LIMIT 1").fetchone()
                or connection.execute(f"PRAGMA foreign_key_check({table})").fetchone()
            ):
                message = f"what it has in its table `{table}` cannot be right"
                raise LawfulError("store-unreadable", message, where=self.path)

    # -- adding --------------------------------------------------------------------------------------------------------

    def add(
        self,
        runs: Sequence[Run],
        templates: Sequence[str],
        counted: Iterable[SharedPair],
        histories: Iterable[SharedHistory] = (),
        told: ReportRecord | None = None,
        novelty: Mapping[Word, bool] = MappingProxyType({}),
    ) -> None:
        """Add what these runs have counted, and what they have told: all or, if something goes wrong, nothing."""
        with self._transaction() as connection:
            self._prepare(connection)
            for statement in _LATER.split(";"):
                connection.execute(statement)
            self._add_runs(connection, runs)
            self._add_counts(connection, templates, counted)
            stored_histories.add(connection, histories, _add_word, _add_site)
            if told is not None:
                _age(connection, told)
                _add_told(connection, [(runs[0].id, *each, lines, 0) for each, lines in told.new.items()])
            _add_novelty(connection, {word: (1, int(new)) for word, new in novelty.items()})

    def merge(self, others: Sequence[Store]) -> None:
        """Add all that the other stores have."""
        with self._transaction() as connection:
            self._prepare(connection)
            for statement in _LATER.split(";"):
                connection.execute(statement)
            for other in others:
                with other._reading():
                    self._add_runs(connection, other.runs(), other.path)
                    for number, text in other._rows("SELECT id, templates FROM template_sets"):
                        templates = text.split("\n")
                        self._add_counts(connection, templates, other._of_set(number))
                    stored_histories.add(connection, other._histories(), _add_word, _add_site)
                    _add_told(connection, other._later("told", _TOLD))
                    _add_novelty(connection, other._novelty())

    def _add_runs(self, connection: sqlite3.Connection, runs: Sequence[Run], source: str | None = None) -> None:
        for run in runs:
            if connection.execute("SELECT 1 FROM runs WHERE id = ?", (run.id,)).fetchone():
                there = "the run" if source is None else f"a run of {source}"
                raise LawfulError(
                    "store-overlap",
                    f"{there} is in it already, and would count twice: {run.id}",
                    where=self.path,
                    hint="merge stores that have no run in common",
                )
            connection.execute("INSERT INTO runs VALUES (?, ?, ?)", run)

    def _add_counts(
        self, connection: sqlite3.Connection, templates: Sequence[str], counted: Iterable[SharedPair]
    ) -> None:
        ordered = sorted(templates)
        template_set = _number(
            connection,
            "INSERT INTO template_sets (templates) VALUES (?) ON CONFLICT DO NOTHING",
            "SELECT id FROM template_sets WHERE templates = ?",
            ("\n".join(ordered),),
        )
        numbers: dict[Word, int] = {}
        sites: dict[Site, int] = {}
        for known in counted:
            if known.second.label < known.first.label:
                known = known.turned()
            known = _renumbered(known, templates, ordered)
            first, second = (
                numbers.get(word) or numbers.setdefault(word, _add_word(connection, word))
                for word in (known.first, known.second)
            )
            pair = _number(
                connection,
                "INSERT INTO pairs (template_set, first, second) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                "SELECT id FROM pairs WHERE template_set = ? AND first = ? AND second = ?",
                (template_set, first, second),
            )
            connection.executemany(
                "INSERT INTO endings VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET number = number + excluded.number",
                [(pair, _signed(rules), letters, number) for rules, letters, number in known.endings],
            )
            for table, places in (("contexts", known.contexts), ("breaches", known.breaches)):
                for site, _ in places:
                    if site not in sites:
                        sites[site] = _add_site(connection, site)
                connection.executemany(
                    f"INSERT INTO {table} VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET rules = rules | excluded.rules",
                    [(pair, sites[site], _signed(rules)) for site, rules in places],
                )


class _Sum:
    """The counts of a pair, from several sets of templates."""

    def __init__(self) -> None:
        self.endings: Counter[tuple[int, int]] = Counter()
        self.contexts: dict[Site, int] = {}
        self.breaches: dict[Site, int] = {}

    def add(self, known: SharedPair) -> None:
        for rules, letters, number in known.endings:
            self.endings[rules, letters] += number
        for mine, places in ((self.contexts, known.contexts), (self.breaches, known.breaches)):
            for site, rules in places:
                mine[site] = mine.get(site, 0) | rules

    def known(self, first: Word, second: Word) -> SharedPair:
        endings = sorted((*signature, number) for signature, number in self.endings.items())
        contexts, breaches = (
            tuple(sorted(places.items(), key=lambda item: str(item[0]))) for places in (self.contexts, self.breaches)
        )
        return SharedPair(first, second, tuple(endings), contexts, breaches)


def _renumbered(known: SharedPair, old: Sequence[str], new: Sequence[str]) -> SharedPair:
    """The same with the numbers that its rules have in another list of templates, all of which are in the old one."""
    if list(old) == list(new):
        return known
    moved = [2 * old.index(template) + turn for template in new for turn in (0, 1)]
    return known._replace(
        endings=tuple((_moved(rules, moved), letters, number) for rules, letters, number in known.endings),
        contexts=tuple((site, _moved(rules, moved)) for site, rules in known.contexts),
        breaches=tuple((site, _moved(rules, moved)) for site, rules in known.breaches),
    )


def _moved(rules: int, numbers: Sequence[int]) -> int:
    """A set of rules as bits, when the rule that was `numbers[n]` is now `n`."""
    return sum((rules >> number & 1) << at for at, number in enumerate(numbers))


def minus(counted: Iterable[SharedPair], others: Iterable[SharedPair]) -> Iterator[SharedPair]:
    """What is left of counts without those of some runs that are in them."""
    less: dict[tuple[str, str], SharedPair] = {}
    for known in others:
        less[known.first.label, known.second.label] = known
        less[known.second.label, known.first.label] = known.turned()
    for known in counted:
        other = less.get((known.first.label, known.second.label))
        if other is None:
            yield known
            continue
        taken = {(rules, letters): number for rules, letters, number in other.endings}
        # Under another window the runs were counted otherwise: there is never less than nothing.
        left = ((rules, letters, number - taken.get((rules, letters), 0)) for rules, letters, number in known.endings)
        endings = tuple(ending for ending in left if ending[2] > 0)
        mine = dict(other.breaches)
        breaches = tuple((site, rules & ~mine.get(site, 0)) for site, rules in known.breaches)
        if endings:
            yield known._replace(endings=endings, breaches=breaches)


def _add_told(connection: sqlite3.Connection, rows: Sequence[tuple[Any, ...]]) -> None:
    connection.executemany(f"INSERT INTO told ({_TOLD}) VALUES (?, ?, ?, ?, ?, ?, ?)", rows)


def _age(connection: sqlite3.Connection, told: ReportRecord) -> None:
    """What did not come up in a run of its file was missed once more."""
    connection.executemany(
        "UPDATE told SET missed = missed + 1 WHERE file = ?", [(encodable(file or ""),) for file in told.files]
    )
    connection.executemany(
        "UPDATE told SET missed = 0 WHERE a = ? AND b = ? AND file = ? AND function = ?", list(told.again)
    )


def _add_novelty(connection: sqlite3.Connection, counted: Mapping[Word, tuple[int, int]]) -> None:
    connection.executemany(
        "INSERT INTO novelty VALUES (?, ?, ?) ON CONFLICT DO UPDATE "
        "SET runs = runs + excluded.runs, news = news + excluded.news",
        [(_add_word(connection, word), *numbers) for word, numbers in counted.items()],
    )


def _add_word(connection: sqlite3.Connection, word: Word) -> int:
    # Events are the same if their labels are. Of two that differ otherwise the lesser one stands, whoever comes first.
    word = Word(*map(encodable, word))
    connection.execute(
        "INSERT INTO words (label, event, name, role) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE "
        "SET event = excluded.event, name = excluded.name, role = excluded.role "
        "WHERE (excluded.event, excluded.name, excluded.role) < (event, name, role)",
        (word.label, *word),
    )
    return int(connection.execute("SELECT id FROM words WHERE label = ?", (word.label,)).fetchone()[0])


def _add_site(connection: sqlite3.Connection, site: Site) -> int:
    # Nulls are never equal in SQL.
    line = site.line if site.line is not None and 0 <= site.line < _MOST_LINE else -1
    return _number(
        connection,
        "INSERT INTO sites (file, line) VALUES (?, ?) ON CONFLICT DO NOTHING",
        "SELECT id FROM sites WHERE file = ? AND line = ?",
        (encodable(site.file or ""), line),
    )


def _number(connection: sqlite3.Connection, insert: str, select: str, values: tuple[object, ...]) -> int:
    connection.execute(insert, values)
    return int(connection.execute(select, values).fetchone()[0])


def _signed(bits: int) -> int:
    """A word of 64 bits as SQLite has it."""
    return bits - (1 << 64) if bits >> 63 else bits


def _unsigned(number: int) -> int:
    return number & (1 << 64) - 1
