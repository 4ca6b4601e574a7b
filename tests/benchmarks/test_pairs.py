"""What pairs of measurements show, and when they show nothing."""

from __future__ import annotations

import statistics
from random import Random
from types import ModuleType
from typing import Any

import pytest

from benchmarks.scripts import load


@pytest.fixture(scope="module")
def pairs() -> ModuleType:
    return load("pairs")


def measured(pairs: ModuleType, true: float, between: float, within: float, seed: int, processes: int = 8) -> Any:
    """Ratios as a program of this overhead would show them, if processes differ, and pairs of each."""
    random = Random(seed)
    found = pairs.Pairs("a program", "watched", 1.02)
    for _ in range(processes):
        own = random.gauss(true, between)
        found.ratios.append([random.gauss(own, within) for _ in range(30)])
    return found


def test_the_median_is_that_of_all_pairs(pairs: ModuleType) -> None:
    found = measured(pairs, 1.3, 0.01, 0.05, 1)
    everything = [ratio for each in found.ratios for ratio in each]
    assert found.count == 240 and found.median() == statistics.median(everything)
    low, high = found.interval()
    assert min(everything) < low < found.median() < high < max(everything)


@pytest.mark.parametrize(("true", "verdict"), [(1.0, "ok"), (1.02, "open"), (1.1, "MISSED")])
def test_a_limit_is_kept_or_missed_only_if_the_interval_says_so(pairs: ModuleType, true: float, verdict: str) -> None:
    assert measured(pairs, true, 0.003, 0.02, 3).verdict() == verdict


def test_an_interval_holds_what_is_true_nearly_as_often_as_it_says(pairs: ModuleType) -> None:
    """Eight processes are few, and such an interval is known to be somewhat narrow then."""
    pairs.DRAWN = 300  # type: ignore[attr-defined]
    held = 0
    for seed in range(60):
        low, high = measured(pairs, 1.1, 0.02, 0.05, seed).interval(seed)
        held += low <= 1.1 <= high
    assert held >= 48


def test_neither_is_always_the_first(pairs: ModuleType) -> None:
    did: list[str] = []
    inside = False

    class Watch:
        def __enter__(self) -> None:
            nonlocal inside
            inside = True

        def __exit__(self, *_: object) -> None:
            nonlocal inside
            inside = False

    def run(rounds: int) -> None:
        sum(range(20_000))
        if rounds == 7:
            did.append("watched" if inside else "not")

    for number in range(4):
        assert pairs.pair(number, run, 7, Watch, lambda state: True) > 0
    assert did == ["not", "watched", "watched", "not"] * 2
