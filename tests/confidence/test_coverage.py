"""Thousands of simulated systems: what is stated with a confidence is true at least as often as that."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from math import log, log1p

import pytest

from confidence.exact import most_failures
from lawful.confidence.statistics import Claim, ClaimState, level, lower_bound, samples_for, samples_needed, upper_bound

SYSTEMS = 4_000


def violation_times(source: random.Random, p: float) -> Iterator[int]:
    """The numbers of the bad samples of a system whose samples are bad with probability p."""
    at = 0
    while True:
        at += 1 + int(log(1 - source.random()) / log1p(-p))
        yield at


def first_times(source: random.Random, p: float, horizon: int) -> list[int]:
    times: list[int] = []
    for at in violation_times(source, p):
        if at > horizon:
            return times
        times.append(at)
    return times


def test_the_simulated_systems_have_the_rate_they_should_have() -> None:
    source = random.Random(1)
    bad = sum(len(first_times(source, 0.1, 100)) for _ in range(1000))
    # 100,000 coins: both sides of it.
    assert bad <= most_failures(100_000, 0.1)
    assert 100_000 - bad <= most_failures(100_000, 0.9)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.01, 0.1), (1e-3, 0.05), (1e-5, 0.01), (0.3, 0.2)])
@pytest.mark.parametrize("factor", [1.0, 1.5])
def test_the_papers_rule(epsilon: float, delta: float, factor: float) -> None:
    """Among systems with an error rate of epsilon or more, at most delta pass M samples unseen."""
    source = random.Random(f"{epsilon} {delta} {factor}")
    needed = samples_needed(epsilon, delta)
    passed = sum(next(violation_times(source, factor * epsilon)) > needed for _ in range(SYSTEMS))
    assert passed <= most_failures(SYSTEMS, delta)
    if factor == 1.0:
        # And no fewer samples would do: at epsilon itself, nearly delta do pass.
        exact = (1 - epsilon) ** needed
        assert SYSTEMS - passed <= most_failures(SYSTEMS, 1 - exact)


@pytest.mark.parametrize("n", [1, 30, 1000])
@pytest.mark.parametrize("delta", [0.2, 0.05, 0.01])
def test_bounds_of_a_fixed_number_of_samples(n: int, delta: float) -> None:
    """Systems of all kinds, good and bad: their rate is above the upper bound in delta of all cases, or fewer."""
    source = random.Random(f"{n} {delta}")
    above = below = 0
    bounds = cache(lambda k: (lower_bound(n, k, delta), upper_bound(n, k, delta)))
    for _ in range(SYSTEMS):
        p = 10 ** source.uniform(-4, -0.01)
        low, high = bounds(len(first_times(source, p, n)))
        above += p > high
        below += p < low
    assert above <= most_failures(SYSTEMS, delta)
    assert below <= most_failures(SYSTEMS, delta)


HORIZON = 40  # times as many samples as the paper's M


@pytest.mark.parametrize(("epsilon", "delta"), [(0.02, 0.1), (1e-3, 0.05), (1e-4, 0.02)])
def test_claims_whenever_somebody_likes_to_stop(epsilon: float, delta: float) -> None:
    """Whoever looks after every sample and stops at the first chance is wrong with a probability of 2 delta at most."""
    source = random.Random(f"{epsilon} {delta}")
    thresholds = cache(lambda k: samples_for(epsilon, level(delta, k), k))
    horizon = HORIZON * thresholds(0)
    at_once = later = 0
    for _ in range(SYSTEMS):
        times = first_times(source, epsilon, horizon)  # the worst of the systems for which the claim is wrong
        for k, end in enumerate([*times, horizon + 1]):
            if thresholds(k) < end:  # the sample before the next violation is the last chance with k of them
                claim = Claim(epsilon, delta, max(thresholds(k), times[k - 1] if k else 0), k)
                assert claim.state is ClaimState.REACHED
                if k == 0:
                    at_once += 1
                else:
                    later += 1
                break
    assert later > 0
    assert at_once <= most_failures(SYSTEMS, delta)
    assert at_once + later <= most_failures(SYSTEMS, 2 * delta)


@pytest.mark.parametrize("delta", [0.1, 0.02])
def test_bounds_at_every_moment(delta: float) -> None:
    """The stated bound holds at all times at once: the worst moments are just before the next violation."""
    source = random.Random(f"{delta}")
    clean = ever = 0
    upper = cache(lambda n, k: upper_bound(n, k, level(delta, k)))
    for _ in range(SYSTEMS // 2):
        p = 10 ** source.uniform(-3, -0.5)
        times = first_times(source, p, 30 * int(1 / p))
        wrong = [k for k, end in enumerate(times) if p > upper(end - 1, k)]
        clean += 0 in wrong
        ever += bool(wrong)
    assert clean <= most_failures(SYSTEMS // 2, delta)
    assert ever <= most_failures(SYSTEMS // 2, 2 * delta)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.02, 0.1), (1e-3, 0.02)])
def test_a_true_claim_is_hardly_ever_refuted(epsilon: float, delta: float) -> None:
    source = random.Random(f"{epsilon} {delta}")
    horizon = 30 * int(1 / epsilon)
    state = cache(lambda n, k: Claim(epsilon, delta, n, k).state)
    refuted = 0
    for _ in range(SYSTEMS):
        times = first_times(source, epsilon, horizon)
        # The moment of a violation is the best one to refute.
        refuted += any(state(n, k) is ClaimState.REFUTED for k, n in enumerate(times, 1))
    assert 0 < refuted <= most_failures(SYSTEMS, delta)


def test_starting_anew_after_each_violation_would_be_wrong() -> None:
    """Why there is a plan: the paper's M, taken again and again, is reached by every system in the end."""
    source = random.Random(9)
    epsilon, delta = 0.02, 0.1
    needed = samples_needed(epsilon, delta)
    fooled = 0
    for _ in range(500):
        times = [0, *first_times(source, epsilon, 40 * needed)]
        fooled += any(later - earlier > needed for earlier, later in pairwise(times))
    assert fooled > most_failures(500, 2 * delta)


def test_the_tolerance_itself() -> None:
    # Of 10 coins with 1/2, all 10 fail with probability 1/1024, at least 9 with 11/1024.
    assert most_failures(10, 0.5, 1 / 1024) == 9
    assert most_failures(10, 0.5, 1 / 1025) == 10
    assert most_failures(10, 0.5, 11 / 1024) == 8
    assert bisect_right([most_failures(1000, p) for p in (0.01, 0.1, 0.5)], 200) == 2
