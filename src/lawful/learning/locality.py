"""How near to each other the events of one object are (section 3.1): what a window of some size can see."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from lawful.learning.window_protocol import Word

DEFAULT_WINDOW = 25
ENOUGH = 0.95  # the share of pairs that a suggested window sees
LARGEST_SUGGESTION = 6400  # beyond, a window costs more than it shows
LEAST_GAIN = 0.01  # what the double window must show more, or it is not worth it
TENTHS = 10

PAPER = (5, 10, 25, 50, 100, 200)  # the sizes of the paper's tables, which every report has
_MOST_BINS = 2048


def sizes(largest: int) -> Iterator[int]:
    """The sizes of the paper's tables and their doubles, up to one that holds the largest distance."""
    yield from PAPER
    size = PAPER[-1]
    while size < largest:
        size *= 2
        yield size


class Bucket(NamedTuple):
    """The distances of a bar of the histogram, both ends included."""

    least: int
    most: int
    pairs: int


class TraceLocality(NamedTuple):
    """One of several traces: a row of the paper's tables."""

    events: int
    pairs: int
    within: tuple[int, ...]  # pairs, by the paper's sizes


@dataclass(slots=True)
class ClassLocality:
    """The events of a class."""

    name: str
    events: int = 0
    pairs: int = 0
    largest: int = 0


@dataclass
class Locality:
    """Distances between successive events of one object, counted in events that the learner takes in.

    Of an object only the last position is kept, and that only until it is gone: memory grows with live objects and with
    classes. Distances are counted by what is asked of them, each exactly: see `within`.
    """

    window: int = DEFAULT_WINDOW
    events: int = 0
    objects: int = 0
    pairs: int = 0
    near: int = 0  # pairs that the window sees
    largest: int = 0
    types: dict[str, ClassLocality] = field(default_factory=dict)
    parts: list[TraceLocality] = field(default_factory=list)
    phases: list[int] = field(default_factory=lambda: [0] * TENTHS)  # pairs that it does not see
    _listed: dict[int, int] = field(default_factory=dict)  # pairs by the listed size that is the first to hold them
    _powers: list[int] = field(default_factory=list)  # pairs by the length of their distance in bits
    _last: dict[int, int] = field(default_factory=dict)
    _far: _Bins = field(default_factory=lambda: _Bins())
    _begin: int = 0  # events before this trace
    _before: tuple[int, ...] = (0,) * (2 + len(PAPER))  # events, pairs, and pairs within, before this trace
    _types: list[ClassLocality] = field(default_factory=list)  # by number of the word
    _sizes: list[int] = field(default_factory=lambda: list(PAPER))

    def feed(self, names: Sequence[int], objects: Sequence[int], words: Sequence[Word]) -> None:
        """Events as numbers, in their order; `words` says what the names are."""
        while len(self._types) < len(words):
            self._types.append(self._type(words[len(self._types)]))
        last = self._last
        position = self.events
        for name, number in zip(names, objects, strict=True):
            position += 1
            kind = self._types[name]
            kind.events += 1
            before = last.get(number)
            last[number] = position
            if before is None:
                self.objects += 1
            else:
                self._pair(position - before, position, kind)
        self.events = position

    def gone(self, number: int) -> None:
        """This object's number never comes back."""
        self._last.pop(number, None)

    def end(self) -> None:
        """A trace is over: what follows is another one, with objects of its own."""
        for tenth, count in enumerate(self._far.shared(self.events - self._begin, TENTHS)):
            self.phases[tenth] += count
        so_far = (self.events, self.pairs, *map(self.within, PAPER))
        events, pairs, *within = (now - before for now, before in zip(so_far, self._before, strict=True))
        self._before = so_far
        self.parts.append(TraceLocality(events, pairs, tuple(within)))
        self._last.clear()
        self._far = _Bins()
        self._begin = self.events

    def within(self, size: int) -> int:
        """How many pairs a window of this size sees: a listed one, the one that is looked at, or one that sees all."""
        if size == self.window:
            return self.near
        if size >= self.largest:
            return self.pairs
        if size not in self._sizes:
            raise ValueError(f"pairs were not counted for a window of {size}")
        return sum(count for listed, count in self._listed.items() if listed <= size)

    def share(self, size: int) -> float:
        """The same as a share of all pairs."""
        return self.within(size) / self.pairs if self.pairs else 1.0

    def table(self) -> list[tuple[int, int]]:
        """The listed sizes, and the one that is looked at, with the numbers of pairs that they see."""
        return [(size, self.within(size)) for size in sorted({*sizes(self.largest), self.window})]

    def histogram(self) -> list[Bucket]:
        """The distances in bars, each twice as wide as the one before."""
        return [Bucket(1 << bits - 1, (1 << bits) - 1, self._powers[bits]) for bits in range(1, len(self._powers))]

    def verifiable(self) -> tuple[list[ClassLocality], list[ClassLocality]]:
        """The classes all of whose pairs the window sees, and the others; most frequent first.

        Classes whose objects have one event each have no pairs, and are in neither.
        """
        paired = [kind for kind in self.types.values() if kind.pairs]
        paired.sort(key=lambda kind: (-kind.events, kind.name))
        return (
            [kind for kind in paired if kind.largest <= self.window],
            [kind for kind in paired if kind.largest > self.window],
        )

    def suggestion(self) -> int:
        """A window for this program: the smallest listed size, the default or above, that sees enough of the pairs.

        If none does that is not too large: the smallest beyond which no doubling shows much more. Below the
        default nothing is gained: rules are also about events that are not successive.
        """
        listed = [size for size in sizes(LARGEST_SUGGESTION) if size >= DEFAULT_WINDOW]
        shares = {size: self.share(size) for size in listed}
        for size in listed:
            if shares[size] >= ENOUGH:
                return size
        best = listed[-1]
        for smaller, larger in reversed(list(pairwise(listed))):
            if shares[larger] - shares[smaller] >= LEAST_GAIN:
                break
            best = smaller
        return best

    def _pair(self, distance: int, position: int, kind: ClassLocality) -> None:
        self.pairs += 1
        kind.pairs += 1
        if distance > kind.largest:
            kind.largest = distance
            if distance > self.largest:
                self.largest = distance
                self._sizes = list(sizes(distance))
        for size in self._sizes:
            if distance <= size:
                self._listed[size] = self._listed.get(size, 0) + 1
                break
        bits = distance.bit_length()
        while len(self._powers) <= bits:
            self._powers.append(0)
        self._powers[bits] += 1
        if distance <= self.window:
            self.near += 1
        else:
            self._far.add(position - self._begin)

    def _type(self, word: Word) -> ClassLocality:
        # The name of a `new` is that of the class; all other names have the class before the last dot.
        name = word.name if word.event == "new" else word.name.rpartition(".")[0]
        return self.types.setdefault(name, ClassLocality(name))


class _Bins:
    """Counts by place in a stream whose length is not known before its end, in bounded memory.

    Bins begin one place wide, and are joined two by two when there are too many.
    """

    def __init__(self) -> None:
        self._width = 1
        self._counts: list[int] = []

    def add(self, place: int) -> None:
        """Count one at this place, from 1."""
        at = (place - 1) // self._width
        while at >= _MOST_BINS:
            evens, odds = self._counts[::2], self._counts[1::2]
            odds += [0] * (len(evens) - len(odds))
            self._counts = [even + odd for even, odd in zip(evens, odds, strict=True)]
            self._width *= 2
            at //= 2
        self._counts += [0] * (at + 1 - len(self._counts))
        self._counts[at] += 1

    def shared(self, length: int, parts: int) -> list[int]:
        """The counts in equal parts of the stream: exact for short ones, else to a thousandth of its length."""
        shares = [0] * parts
        for at, count in enumerate(self._counts):
            if count:
                middle = at * self._width + (self._width - 1) // 2
                shares[min(middle, length - 1) * parts // length] += count
        return shares
