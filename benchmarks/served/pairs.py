"""What neighbouring chunks tell, and how sure that is."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

Chunk = dict[str, float]
Round = dict[str, Chunk]
AIM = 1.02
_RESAMPLES = 1000
_FEWEST = 15  # pairs: of fewer, resampling tells too little


class Pair(NamedTuple):
    """Seconds that a chunk took more than the plain one beside it, and seconds of the dashboard's time in it."""

    more: float
    shown: float


class Estimate(NamedTuple):
    """Ratios: what was found, and the ends of an interval that holds the truth with 95 % confidence."""

    found: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.found:.4f} ({self.low:.4f} to {self.high:.4f})"


def pairs(rounds: Iterable[Round], way: str, clock: str) -> list[Pair]:
    """A way beside the plain one. Where no dashboard is attended to, the others' time stands for it."""
    return [
        Pair(
            each[way][clock] - each["plain"][clock],
            each[way]["shown"] or statistics.mean(other["shown"] for other in each.values() if other["shown"]),
        )
        for each in rounds
        if any(other["shown"] for other in each.values())
    ]


def median(found: Sequence[Pair]) -> float:
    """The program's time with the dashboard over that without: of the pair in the middle."""
    return 1 + statistics.median(pair.more / pair.shown for pair in found)


def total(found: Sequence[Pair]) -> float:
    """The same of all pairs together, so that what happens rarely counts."""
    return 1 + sum(pair.more for pair in found) / sum(pair.shown for pair in found)


def estimate(found: Sequence[Pair], of: Callable[[Sequence[Pair]], float]) -> Estimate:
    """By resampling the pairs."""
    chance = random.Random(0)
    sampled = sorted(of(chance.choices(found, k=len(found))) for _ in range(_RESAMPLES))
    return Estimate(of(found), sampled[_RESAMPLES // 40], sampled[-_RESAMPLES // 40])


def verdict(estimates: Sequence[Estimate], count: int) -> str:
    """Is the aim met, by all of them? They come from so many pairs."""
    if count >= _FEWEST and all(each.high <= AIM for each in estimates):
        return "ok"
    return "MISSED" if count >= _FEWEST and any(each.low > AIM for each in estimates) else "not shown"


def per_second(rounds: Sequence[Round], way: str, what: str) -> float:
    """So much of it for each second of the dashboard's time."""
    return sum(each[way][what] for each in rounds) / sum(each[way]["shown"] for each in rounds)


def rows(name: str, rounds: Sequence[Round], clocks: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Of a table: a way, a clock, the median, the total, the verdict."""
    for way in ("plain again", "served", "looked at"):
        for clock in clocks:
            found = pairs(rounds, way, clock)
            estimates = [estimate(found, median), estimate(found, total)]
            judged = "" if way == "plain again" else verdict(estimates, len(found))
            yield (name, way, clock, *map(str, estimates), judged)
