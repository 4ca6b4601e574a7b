"""Indexes of histories: which object met which event, in which order and where; and with which events they end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence

from lawful.learning import vocabulary
from lawful.learning.window_protocol import MOST_HISTORY_EXAMPLES, History, HistoryExample, Word

LEAST_ENDED = 2  # histories that end with an event, and places where they do so, if its name does not say that it ends
MOSTLY = 0.7  # of the histories with an event that is an end, so many end with it


class IndexedHistory:
    """A history with indexes by event."""

    __slots__ = ("at", "before", "count", "examples", "first", "last", "last_name", "names", "order", "past")

    def __init__(self, history: History, past: History | None) -> None:
        self.order = history.order
        self.examples = history.examples
        self.past = past.examples if past is not None else ()  # they have been to these places, too
        self.before = past.count if past is not None else 0
        self.count = history.count + self.before
        self.first: dict[int, int] = {}
        self.last: dict[int, int] = {}
        for position, code in enumerate(history.order):
            (self.last if code & 1 else self.first)[code >> 1] = position
        self.names = self.first.keys()
        self.at = {name: 2 * number for number, name in enumerate(self.first)}  # of its places
        self.last_name = history.order[-1] >> 1

    def place(self, key: int | str, example: HistoryExample) -> int:
        """Where an object first met an event; of a class: where it first met anything."""
        return example.sites[self.at[key] if isinstance(key, int) else 0]

    def returns_to(self, name: int) -> bool:
        """Did it meet an event again, after others?"""
        return self.last[name] > self.first[name] + 1

    def last_place(self, example: HistoryExample) -> int:
        return example.sites[self.at[self.last_name] + 1]


def final_events(histories: Iterable[tuple[tuple[int, ...], int]], words: Sequence[Word]) -> frozenset[int]:
    """Events whose names say that they end something, and after which mostly nothing comes."""
    having: Counter[int] = Counter()
    ended: Counter[int] = Counter()
    for order, number in histories:
        for code in order:
            if code & 1:
                having[code >> 1] += number
        ended[order[-1] >> 1] += number
    return frozenset(
        name
        for name, number in having.items()
        if vocabulary.exits(words[name]) or (vocabulary.ends(words[name]) and ended[name] >= MOSTLY * number)
    )


def closing(key: int, pool: Iterable[IndexedHistory], others: Container[int], words: Sequence[Word]) -> tuple[int, ...]:
    """Events that end, by their names, what has begun by its name, but not the history: the most frequent first.

    Those of a `with` are not asked for, and `others` end histories.
    """
    word = words[key]
    if not vocabulary.begins(word) or vocabulary.makes(word) or vocabulary.enters(word):
        return ()
    after: Counter[int] = Counter()
    for history in pool:
        for name, last in history.last.items():
            if last > history.last[key] and name not in others and vocabulary.ends(words[name]):
                after[name] += history.count
    return tuple(name for name, number in after.most_common() if number >= LEAST_ENDED)


def merged(histories: Iterable[History]) -> list[History]:
    """The same with each history once."""
    found: dict[tuple[int, ...], History] = {}
    for history in histories:
        known = found.get(history.order)
        if known is None:
            found[history.order] = history
            continue
        examples = {example.sites: example for example in known.examples}
        for example in history.examples:
            if (same := examples.get(example.sites)) is not None:
                examples[example.sites] = same._replace(count=same.count + example.count)
            elif len(examples) < MOST_HISTORY_EXAMPLES:
                examples[example.sites] = example
        found[history.order] = History(history.order, known.count + history.count, tuple(examples.values()))
    return list(found.values())


def number_of(histories: Iterable[IndexedHistory]) -> int:
    return sum(history.count for history in histories)


def owner(word: Word) -> str:
    """The class that a call is of, as far as its name says so."""
    if word.role or not vocabulary.is_call(word):
        return ""
    return word.name if word.event == "new" else word.name.rpartition(".")[0]
