"""Whole lives in a store: tables of their own, which a store from before there were any gets when it needs them."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from lawful.errors import LawfulError
from lawful.learning.window_protocol import MOST_HISTORY_EXAMPLES, SharedHistory, Site, Word

TABLE = "lives"

SCHEMA = (
    "CREATE TABLE IF NOT EXISTS lives (id INTEGER PRIMARY KEY, words TEXT NOT NULL, turns TEXT NOT NULL, "
    "number INTEGER NOT NULL, UNIQUE (words, turns))",
    "CREATE TABLE IF NOT EXISTS life_places (life INTEGER NOT NULL REFERENCES lives, sites TEXT NOT NULL, "
    "number INTEGER NOT NULL, PRIMARY KEY (life, sites)) WITHOUT ROWID",
)

Rows = Callable[[str], list[tuple[Any, ...]]]


def add(
    connection: sqlite3.Connection,
    histories: Iterable[SharedHistory],
    word: Callable[[sqlite3.Connection, Word], int],
    site: Callable[[sqlite3.Connection, Site], int],
) -> None:
    """Add lives to those that are there. `word` and `site` know which numbers these have in the store."""
    for statement in SCHEMA:
        connection.execute(statement)
    words: dict[Word, int] = {}
    sites: dict[Site, int] = {}
    for history in histories:
        names = _text(words.get(each) or words.setdefault(each, word(connection, each)) for each in history.words)
        connection.execute(
            "INSERT INTO lives (words, turns, number) VALUES (?, ?, ?) "
            "ON CONFLICT DO UPDATE SET number = number + excluded.number",
            (names, _text(history.order), history.count),
        )
        (number,) = connection.execute(
            "SELECT id FROM lives WHERE words = ? AND turns = ?", (names, _text(history.order))
        ).fetchone()
        for places, count, _ in history.places:
            way = _text(sites.get(each) or sites.setdefault(each, site(connection, each)) for each in places)
            connection.execute(
                "INSERT INTO life_places VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET number = number + excluded.number",
                (number, way, count),
            )


def read(rows: Rows, path: str) -> list[SharedHistory]:
    """All lives of a store, of each way the places that most of them have been to."""
    if not rows(f"SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '{TABLE}'"):
        return []
    words = {row[0]: Word(*row[1:]) for row in rows("SELECT id, event, name, role FROM words")}
    sites = {
        number: Site(file or None, line if line >= 0 else None)
        for number, file, line in rows("SELECT id, file, line FROM sites")
    }
    try:
        return _read(rows, words, sites)
    except (KeyError, ValueError):  # a number that nothing has, or that is longer than any
        raise LawfulError("store-unreadable", "a life has an event or a place that is not there", where=path) from None


def _read(rows: Rows, words: Mapping[int, Word], sites: Mapping[int, Site]) -> list[SharedHistory]:
    places: dict[int, list[tuple[tuple[Site, ...], int, int]]] = {}
    for history, text, count in rows("SELECT life, sites, number FROM life_places"):
        places.setdefault(history, []).append((tuple(sites[number] for number in _numbers(text)), count, 0))
    for known in places.values():
        known.sort(key=lambda each: (-each[1], str(each[0])))
        del known[MOST_HISTORY_EXAMPLES:]
    return [
        SharedHistory(
            tuple(words[number] for number in _numbers(names)), _numbers(turns), count, tuple(places.get(history, ()))
        )
        for history, names, turns, count in rows("SELECT id, words, turns, number FROM lives ORDER BY id")
    ]


def minus(histories: Iterable[SharedHistory], others: Iterable[SharedHistory]) -> Iterator[SharedHistory]:
    """What is left of lives without those of some runs that are among them."""
    less: dict[tuple[object, ...], SharedHistory] = {_key(history): history for history in others}
    for history in histories:
        other = less.get(_key(history))
        if other is None:
            yield history
            continue
        taken = Counter({places: count for places, count, _ in other.places})
        left = tuple((places, count - taken[places], id_) for places, count, id_ in history.places)
        if history.count > other.count:
            yield history._replace(
                count=history.count - other.count, places=tuple(each for each in left if each[1] > 0)
            )


def _key(history: SharedHistory) -> tuple[object, ...]:
    return tuple(word.label for word in history.words), history.order


def _text(numbers: Iterable[int]) -> str:
    return " ".join(map(str, numbers))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split()))
