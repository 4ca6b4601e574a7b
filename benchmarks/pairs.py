"""Short pieces of equal work in one process, one watched and one not, again and again: what small overheads are.

Two processes differ by some percent although they do the same: by where their memory lies, and by who is beside them.
So one process does both. A watch begins, is given time to become what it is to be, and ends, many times; between two of
them the program runs unwatched. Only what lies between is timed, as CPU time of all threads. The ratio of two
neighbours is one observation. Of all of them the median is told, with an interval from a bootstrap that draws processes
first, and then pairs of each: it holds what other processes would show, too.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from random import Random
from typing import Any

DRAWN = 2000
SURE = 0.95


def pair(
    number: int,
    run: Callable[[int], None],
    rounds: int,
    watch: Callable[[], AbstractContextManager[Any]],
    ready: Callable[[Any], bool],
) -> float:
    """CPU time of work in a watch to that of the same work outside; neither is always the first."""

    def unwatched() -> float:
        run(1)
        return timed(run, rounds)

    def watched() -> float:
        with watch() as state:
            run(2)
            while not ready(state):
                run(1)
                time.sleep(0.001)  # whoever judges gets its turn
            run(1)
            return timed(run, rounds)

    if number % 2:
        first, second = watched(), unwatched()
        return first / second
    first, second = unwatched(), watched()
    return second / first


def timed(run: Callable[[int], None], rounds: int) -> float:
    gc.collect()
    gc.disable()
    try:
        began = time.process_time()
        run(rounds)
        return time.process_time() - began
    finally:
        gc.enable()


@dataclass
class Pairs:
    """All ratios of a workload that is watched in one way, by process."""

    title: str
    way: str
    limit: float | None
    ratios: list[list[float]] = field(default_factory=list)

    @property
    def count(self) -> int:
        return sum(map(len, self.ratios))

    def median(self) -> float:
        return statistics.median(ratio for each in self.ratios for ratio in each)

    def by_process(self) -> list[float]:
        return [statistics.median(each) for each in self.ratios]

    def interval(self, seed: int = 0) -> tuple[float, float]:
        """The bootstrap's, of the median."""
        random = Random(seed)
        medians = sorted(self._drawn(random) for _ in range(DRAWN))
        edge = round((1 - SURE) / 2 * DRAWN)
        return medians[edge], medians[DRAWN - 1 - edge]

    def _drawn(self, random: Random) -> float:
        drawn: list[float] = []
        for each in random.choices(self.ratios, k=len(self.ratios)):
            drawn += random.choices(each, k=len(each))
        return statistics.median(drawn)

    def verdict(self) -> str:
        """Is the limit kept? Nobody knows as long as it lies in the interval."""
        if self.limit is None:
            return ""
        low, high = self.interval()
        return "ok" if high <= self.limit else "MISSED" if low > self.limit else "open"
