"""Whole lives in a store: tables of their own, which a store from before there were any gets when it needs them."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from lawful.errors import LawfulError
from lawful.learning.window_protocol import MOST_LIFE_EXAMPLES, KnownLife, Site, Word

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
    lives: Iterable[KnownLife],
    word: Callable[[sqlite3.Connection, Word], int],
    site: Callable[[sqlite3.Connection, Site], int],
) -> None:
    """Add lives to those that are there. `word` and `site` know which numbers these have in the store."""
    for statement in SCHEMA:
        connection.execute(statement)
    words: dict[Word, int] = {}
    sites: dict[Site, int] = {}
    for life in lives:
        names = _text(words.get(each) or words.setdefault(each, word(connection, each)) for each in life.words)
        connection.execute(
            "INSERT INTO lives (words, turns, number) VALUES (?, ?, ?) "
            "ON CONFLICT DO UPDATE SET number = number + excluded.number",
            (names, _text(life.order), life.count),
        )
        (number,) = connection.execute(
            "SELECT id FROM lives WHERE words = ? AND turns = ?", (names, _text(life.order))
        ).fetchone()
        for places, count, _ in life.places:
            way = _text(sites.get(each) or sites.setdefault(each, site(connection, each)) for each in places)
            connection.execute(
                "INSERT INTO life_places VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET number = number + excluded.number",
                (number, way, count),
            )


def read(rows: Rows, path: str) -> list[KnownLife]:
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


def _read(rows: Rows, words: Mapping[int, Word], sites: Mapping[int, Site]) -> list[KnownLife]:
    places: dict[int, list[tuple[tuple[Site, ...], int, int]]] = {}
    for life, text, count in rows("SELECT life, sites, number FROM life_places"):
        places.setdefault(life, []).append((tuple(sites[number] for number in _numbers(text)), count, 0))
    for known in places.values():
        known.sort(key=lambda each: (-each[1], str(each[0])))
        del known[MOST_LIFE_EXAMPLES:]
    return [
        KnownLife(
            tuple(words[number] for number in _numbers(names)), _numbers(turns), count, tuple(places.get(life, ()))
        )
        for life, names, turns, count in rows("SELECT id, words, turns, number FROM lives ORDER BY id")
    ]


def minus(lives: Iterable[KnownLife], others: Iterable[KnownLife]) -> Iterator[KnownLife]:
    """What is left of lives without those of some runs that are among them."""
    less: dict[tuple[object, ...], KnownLife] = {_key(life): life for life in others}
    for life in lives:
        other = less.get(_key(life))
        if other is None:
            yield life
            continue
        taken = Counter({places: count for places, count, _ in other.places})
        left = tuple((places, count - taken[places], id_) for places, count, id_ in life.places)
        if life.count > other.count:
            yield life._replace(count=life.count - other.count, places=tuple(each for each in left if each[1] > 0))


def _key(life: KnownLife) -> tuple[object, ...]:
    return tuple(word.label for word in life.words), life.order


def _text(numbers: Iterable[int]) -> str:
    return " ".join(map(str, numbers))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split()))
