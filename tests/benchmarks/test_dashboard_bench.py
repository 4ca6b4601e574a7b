"""The benchmark of the dashboard runs, and finds a cost that is known. How high the true one is, no test asks."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.scripts import load

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
SCRIPT = BENCHMARKS / "dashboard.py"


@pytest.fixture(scope="module")
def pairs() -> Any:
    return load("served_pairs", "served/pairs.py")


def rounds(chance: random.Random, cost: float, count: int, noise: float) -> Any:
    """Chunks on a machine whose speed wanders, where a second of the dashboard takes `cost` seconds."""
    found, speed = [], 1.0
    for _ in range(count):
        speed *= chance.uniform(0.9, 1.1)
        shown = chance.uniform(1.0, 1.5)
        plain, again, with_it = (0.1 * speed * chance.gauss(1, noise) for _ in range(3))
        found.append(
            {
                "plain": {"thread": plain, "shown": 0.0, "own": 0.0},
                "plain again": {"thread": again, "shown": 0.0, "own": 0.0},
                "looked at": {"thread": with_it + cost * shown, "shown": shown, "own": cost * shown},
            }
        )
    return found


@pytest.mark.parametrize("cost", [0.0, 0.004, 0.05])
def test_a_cost_without_noise_is_found_exactly(pairs: Any, cost: float) -> None:
    made = rounds(random.Random(1), cost, 30, 0.0)
    found = pairs.pairs(made, "looked at", "thread")
    for estimate in (pairs.estimate(found, pairs.median), pairs.estimate(found, pairs.total)):
        assert estimate == pytest.approx((1 + cost,) * 3)
    assert pairs.per_second(made, "looked at", "own") == pytest.approx(cost)
    control = pairs.pairs(made, "plain again", "thread")
    assert pairs.total(control) == pytest.approx(1)


@pytest.mark.parametrize("of", ["median", "total"])
def test_the_intervals_hold_the_truth_about_as_often_as_they_say(pairs: Any, of: str) -> None:
    cost, held = 0.01, 0
    for seed in range(60):
        made = rounds(random.Random(seed), cost, 40, 0.1)
        estimate = pairs.estimate(pairs.pairs(made, "looked at", "thread"), getattr(pairs, of))
        held += estimate.low <= 1 + cost <= estimate.high
    assert held >= 51  # of 60 at 95 %, 57 are to be expected


def test_verdicts(pairs: Any) -> None:
    good, bad, vague = pairs.Estimate(1.0, 0.99, 1.01), pairs.Estimate(1.04, 1.03, 1.05), pairs.Estimate(1.0, 0.9, 1.1)
    assert pairs.verdict([good, good], 40) == "ok"
    assert pairs.verdict([good, good], 3) == "not shown"
    assert pairs.verdict([good, vague], 40) == "not shown"
    assert pairs.verdict([vague, bad], 40) == "MISSED"


def test_it_runs_and_prints_its_tables() -> None:
    quick = ["--seconds", "0.2", "--pairs", "1", "--steps", "100", "--events", "500", "--way", "learning"]
    done = subprocess.run([sys.executable, SCRIPT, *quick], capture_output=True, encoding="utf-8", timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    for way in ("plain again", "served", "looked at"):
        for clock in ("thread", "process", "elapsed"):
            assert re.search(rf"^learning +{way} +{clock} +\d\.\d{{4}} \(.*\) +\d\.\d{{4}} \(", done.stdout, re.M)
    assert re.search(r"^learning +served +own \d\.\d{4}, 0\.0 states a second, waits .*; 2 pairs", done.stdout, re.M)
    assert re.search(r"^ +looked at +\d+\.\d\d +\d", done.stdout, re.M)
    assert done.stdout.count("events/s") == 2
