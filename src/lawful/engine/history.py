"""The events that led to a violation: found by reading the trace again, or among the last ones of a stream."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import msgspec

from lawful.engine.findings import Event, Numbered
from lawful.errors import TraceError
from lawful.events.reader import open_trace

if TYPE_CHECKING:
    from lawful.laws.protocol import Monitor

# What is kept of a stream. Both are limits: events may be many and small, or few and large.
_KEPT_EVENTS = 10_000
_KEPT_BYTES = 4 * 1024 * 1024


class Search:
    """Looks for the last events before a place that have to do with some values."""

    def __init__(self, monitor: Monitor, values: Sequence[Any], before: int, most: int) -> None:
        self.monitor = monitor
        self.values = values
        self.before = before
        self.most = most
        self.note: str | None = None  # why something may be missing
        self._found: deque[Numbered] = deque(maxlen=most)
        self._may_matter = _prefilter(values)

    @property
    def found(self) -> tuple[Numbered, ...]:
        return tuple(self._found)

    @property
    def is_full(self) -> bool:
        return len(self._found) == self.most

    def for_anything(self) -> Search:
        """The same for events with any values."""
        return Search(self.monitor, (), self.before, self.most)

    def look(self, start: int, batch: list[Event]) -> None:
        """Take the next events; `start` is the number of the first."""
        batch = batch[: max(0, self.before - start)]
        found: list[Numbered] = []
        # From the end: only the last ones count, and asking the monitor is the slow part.
        for index in self._may_matter(batch):
            if len(found) == self.most:
                break
            if self.monitor.relevant(batch[index], self.values):
                found.append(Numbered(start + index, batch[index]))
        self._found.extend(reversed(found))


def _prefilter(values: Sequence[Any]) -> Callable[[list[Event]], Iterable[int]]:
    """Which events of a batch may mention one of the values: their positions, last first.

    Asking a monitor about each of a million events would take many times as long as checking them did. A search in
    their text is nearly free, and never misses: equal integers and equal strings have equal text.
    """
    if not values or not all(isinstance(value, int | str) for value in values):
        return lambda batch: range(len(batch) - 1, -1, -1)
    searches = [_finder(word) for word in map(_text, values) if word]
    encode_lines = msgspec.json.Encoder().encode_lines

    def candidates(batch: list[Event]) -> Iterable[int]:
        try:
            text = encode_lines(batch)
        except RecursionError:  # events that could just be decoded
            return range(len(batch) - 1, -1, -1)
        places = [match.start() for search in searches for match in search(text)]
        if not places:
            return []
        ends = list(accumulate(len(line) + 1 for line in text.split(b"\n")))
        return sorted({bisect_right(ends, place) for place in places}, reverse=True)

    return candidates


def _finder(word: bytes) -> Callable[[bytes], Iterator[re.Match[bytes]]]:
    """Finds a value in compact JSON. The pattern begins with the value itself: that is many times faster."""
    literal = re.escape(word)
    return re.compile(literal + rb"(?<=[:,\[]" + literal + rb")(?=[,\]}])").finditer


def _text(value: int | str) -> bytes:
    try:
        return msgspec.json.encode(value)
    except ValueError:  # an integer that a law calculated, with more digits than any event can have
        return b""


def read_again(path: str, searches: Sequence[Search], *, skip_bad: bool, ordered: bool = False) -> None:
    """Read a trace file once for all searches. Memory does not grow with it."""
    last = max(search.before for search in searches)
    try:
        with open_trace(path, skip_bad=skip_bad, ordered=ordered) as reader:
            start = 1
            for batch in reader.batches():
                for search in searches:
                    search.look(start, batch)
                start += len(batch)
                if start >= last:
                    break
    except TraceError as error:
        for search in searches:
            search.note = f"the trace could not be read again: {error.message}"


class Recent:
    """The last events of a stream, which cannot be read again."""

    def __init__(self) -> None:
        self._batches: deque[tuple[int, list[Event], int]] = deque()
        self._events = 0
        self._bytes = 0
        self._next = 1

    def add(self, batch: list[Event], size: int) -> None:
        """Keep a batch that took `size` bytes, and drop the oldest that are too many."""
        self._batches.append((self._next, batch, size))
        self._next += len(batch)
        self._events += len(batch)
        self._bytes += size
        while len(self._batches) > 1 and (self._events > _KEPT_EVENTS or self._bytes > _KEPT_BYTES):
            _, dropped, size = self._batches.popleft()
            self._events -= len(dropped)
            self._bytes -= size

    def search(self, searches: Sequence[Search]) -> None:
        """Run searches over what is kept."""
        first = self._batches[0][0] if self._batches else 1
        for search in searches:
            for start, batch, _ in self._batches:
                search.look(start, batch)
            if first > 1 and not search.is_full:
                search.note = f"events before #{first} are not kept from a stream"
