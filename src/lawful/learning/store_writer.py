"""Adds counts to the tables of a store, within one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lawful.database import row_number
from lawful.diagnostics import encodable
from lawful.learning.reported_before import ReportRecord
from lawful.learning.shared_counts import renumbered
from lawful.learning.window_protocol import SharedHistory, SharedPair, Site, Word

REPORTED = "run, a, b, file, function, lines, missed"
"""The columns of reported anomalies."""

_MOST_LINE = 1 << 63


class StoreWriter:
    """Adds rows. It looks up the number of each word and place once."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._words: dict[Word, int] = {}
        self._sites: dict[Site, int] = {}

    def add_counts(self, templates: Sequence[str], counted: Iterable[SharedPair]) -> None:
        """Add the counts of pairs, under these templates."""
        ordered = sorted(templates)
        template_set = row_number(self._connection, "template_sets", templates="\n".join(ordered))
        for known in counted:
            if known.second.label < known.first.label:
                known = known.turned()
            known = renumbered(known, templates, ordered)
            first, second = self._word(known.first), self._word(known.second)
            pair = row_number(self._connection, "pairs", template_set=template_set, first=first, second=second)
            self._connection.executemany(
                "INSERT INTO endings VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET number = number + excluded.number",
                [(pair, _signed(rules), letters, number) for rules, letters, number in known.endings],
            )
            for table, places in (("contexts", known.contexts), ("breaches", known.breaches)):
                self._connection.executemany(
                    f"INSERT INTO {table} VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET rules = rules | excluded.rules",
                    [(pair, self._site(site), _signed(rules)) for site, rules in places],
                )

    def add_histories(self, histories: Iterable[SharedHistory]) -> None:
        """Add histories to those that are there."""
        for history in histories:
            words, order = _text(map(self._word, history.words)), _text(history.order)
            self._connection.execute(
                "INSERT INTO lives (words, turns, number) VALUES (?, ?, ?) "
                "ON CONFLICT DO UPDATE SET number = number + excluded.number",
                (words, order, history.count),
            )
            number = row_number(self._connection, "lives", words=words, turns=order)
            self._connection.executemany(
                "INSERT INTO life_places VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET number = number + excluded.number",
                [(number, _text(map(self._site, places)), count) for places, count, _ in history.places],
            )

    def add_reported(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Add reported anomalies, with the columns `REPORTED`."""
        self._connection.executemany(f"INSERT INTO told ({REPORTED}) VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    def age(self, reported: ReportRecord) -> None:
        """Count the runs in which a reported anomaly of their files did not come up."""
        files = [(encodable(file or ""),) for file in reported.files]
        self._connection.executemany("UPDATE told SET missed = missed + 1 WHERE file = ?", files)
        self._connection.executemany(
            "UPDATE told SET missed = 0 WHERE a = ? AND b = ? AND file = ? AND function = ?", list(reported.again)
        )

    def add_novelty(self, counted: Mapping[Word, tuple[int, int]]) -> None:
        """Add, by event, how many runs had it, and in how many of these something was new."""
        self._connection.executemany(
            "INSERT INTO novelty VALUES (?, ?, ?) ON CONFLICT DO UPDATE "
            "SET runs = runs + excluded.runs, news = news + excluded.news",
            [(self._word(word), *numbers) for word, numbers in counted.items()],
        )

    def _word(self, word: Word) -> int:
        number = self._words.get(word)
        if number is None:
            # Events are the same if their labels are. Of two that differ otherwise the lesser one stands.
            plain = Word(*map(encodable, word))
            self._connection.execute(
                "INSERT INTO words (label, event, name, role) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE "
                "SET event = excluded.event, name = excluded.name, role = excluded.role "
                "WHERE (excluded.event, excluded.name, excluded.role) < (event, name, role)",
                (plain.label, *plain),
            )
            query = "SELECT id FROM words WHERE label = ?"
            number = self._words[word] = int(self._connection.execute(query, (plain.label,)).fetchone()[0])
        return number

    def _site(self, site: Site) -> int:
        number = self._sites.get(site)
        if number is None:
            # Nulls are never equal in SQL.
            line = site.line if site.line is not None and 0 <= site.line < _MOST_LINE else -1
            number = row_number(self._connection, "sites", file=encodable(site.file or ""), line=line)
            self._sites[site] = number
        return number


def _text(numbers: Iterable[int]) -> str:
    return " ".join(map(str, numbers))


def _signed(bits: int) -> int:
    """A word of 64 bits as SQLite has it."""
    return bits - (1 << 64) if bits >> 63 else bits


def unsigned(number: int) -> int:
    """The same back."""
    return number & (1 << 64) - 1
