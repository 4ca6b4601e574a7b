"""Bounds, confidence and numbers of samples, against the definition in fractions and long decimals."""

from __future__ import annotations

import random
from decimal import Decimal
from fractions import Fraction
from math import inf, nan

import pytest

from confidence.exact import at_least, at_least_long, at_most, at_most_long
from lawful.confidence.statistics import (
    MOST_SAMPLES,
    Claim,
    ClaimState,
    complement,
    confidence_after,
    doubt_after,
    error_rate_after,
    level,
    lower_bound,
    samples_for,
    samples_needed,
    upper_bound,
)
from lawful.errors import LawfulError

TOLERANCE = Fraction(1, 10**9)
SHARES = [0.5, 0.25, 0.1, 0.05, 0.01, 1e-3, 1e-5, 1e-7, 1e-9, 1e-12, 0.9, 0.99999]


def said(value: float) -> Fraction:
    """The decimal number that was written."""
    return Fraction(repr(value))


def test_the_papers_number() -> None:
    assert samples_needed(1e-5, 1e-5) == 1_151_287
    assert samples_for(1e-5, 1e-5) == 1_151_287


@pytest.mark.parametrize("epsilon", [0.9, 0.5, 0.25, 0.1, 0.05, 0.01])
@pytest.mark.parametrize("delta", SHARES)
def test_samples_needed_is_the_smallest_number(epsilon: float, delta: float) -> None:
    n = samples_needed(epsilon, delta)
    assert (1 - said(epsilon)) ** n <= said(delta) < (1 - said(epsilon)) ** (n - 1)


def test_whole_numbers_are_met_exactly() -> None:
    for n in range(1, 16):
        assert samples_needed(0.1, float(Decimal("0.9") ** n)) == n
        assert samples_needed(0.5, 0.5**n) == n


@pytest.mark.parametrize("epsilon", [1e-3, 1e-5, 1e-9, 1e-12, 3.7e-6])
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.3])
def test_samples_needed_for_tiny_rates(epsilon: float, delta: float) -> None:
    n = samples_needed(epsilon, delta)
    rate, size = Decimal(repr(epsilon)), Decimal(repr(delta))
    assert at_most_long(n, 0, rate) <= size < at_most_long(n - 1, 0, rate)


@pytest.mark.parametrize("seed", range(5))
def test_samples_with_violations_are_the_smallest_number(seed: int) -> None:
    source = random.Random(seed)
    for _ in range(10):
        epsilon, delta, k = source.choice([0.5, 0.25, 0.1, 0.07]), source.choice(SHARES), source.randrange(6)
        n = samples_for(epsilon, delta, k)
        assert at_most(n, k, said(epsilon)) <= said(delta)
        # With k or fewer samples nothing was ruled out.
        assert n == k + 1 or at_most(n - 1, k, said(epsilon)) > said(delta)


def test_a_tie_counts() -> None:
    # At most 1 of 4 with probability 1/2: 5/16.
    assert samples_for(0.5, 0.3125, 1) == 4
    assert samples_for(0.5, 0.31249, 1) == 5


@pytest.mark.parametrize(
    ("epsilon", "delta", "k"), [(1e-5, 1e-5, 1), (1e-9, 1e-12, 3), (1e-12, 1e-12, 7), (1e-3, 0.4, 9)]
)
def test_samples_with_violations_for_tiny_rates(epsilon: float, delta: float, k: int) -> None:
    n = samples_for(epsilon, delta, k)
    rate, size = Decimal(repr(epsilon)), Decimal(repr(delta))
    assert at_most_long(n, k, rate) <= size < at_most_long(n - 1, k, rate)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 20, 45])
@pytest.mark.parametrize("delta", [0.5, 0.05, 1e-5, 1e-12, 0.9])
def test_bounds_by_definition(n: int, delta: float) -> None:
    for k in range(n + 1):
        high, low = Fraction(upper_bound(n, k, delta)), Fraction(lower_bound(n, k, delta))
        if k == n:
            assert high == 1
        else:
            assert at_most(n, k, high * (1 - TOLERANCE)) > said(delta)
            # A bound just below 1 has no room above it.
            assert at_most(n, k, min(Fraction(1), high * (1 + TOLERANCE))) < said(delta)
        if k == 0:
            assert low == 0
        else:
            assert at_least(n, k, low * (1 - TOLERANCE)) < said(delta)
            assert at_least(n, k, min(Fraction(1), low * (1 + TOLERANCE))) > said(delta)


@pytest.mark.parametrize(
    ("n", "k"),
    [(10**9, 1), (10**9, 2), (10**9, 17), (10**9, 1000), (10**6, 999), (10**5, 40_000), (12_345, 16), (10**9, 10**5)],
)
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.05, 0.7])
def test_bounds_for_many_samples(n: int, k: int, delta: float) -> None:
    size = Decimal(repr(delta))
    near = Decimal(10) ** -9
    high, low = Decimal(upper_bound(n, k, delta)), Decimal(lower_bound(n, k, delta))
    assert at_most_long(n, k, high * (1 + near)) < size < at_most_long(n, k, high * (1 - near))
    assert at_least_long(n, k, low * (1 - near)) < size < at_least_long(n, k, low * (1 + near))


def test_bounds_for_a_million_violations() -> None:
    n, k = 10**9, 10**6
    high = Decimal(upper_bound(n, k, 1e-12))
    near, size = Decimal(10) ** -9, Decimal("1e-12")
    assert at_most_long(n, k, high * (1 + near)) < size < at_most_long(n, k, high * (1 - near))


@pytest.mark.parametrize("seed", range(10))
def test_confidence_by_definition(seed: int) -> None:
    source = random.Random(seed)
    n, epsilon = source.randrange(60), source.choice(SHARES)
    for k in range(n + 1):
        doubt = at_most(n, k, said(epsilon))
        assert doubt_after(n, epsilon, k) == pytest.approx(float(doubt), rel=1e-11)
        assert confidence_after(n, epsilon, k) == pytest.approx(float(1 - doubt), rel=1e-9, abs=1e-14)


def test_tiny_confidence_keeps_its_digits() -> None:
    assert confidence_after(1, 1e-12) == pytest.approx(1e-12, rel=1e-15)
    assert confidence_after(3, 1e-18) == pytest.approx(3e-18, rel=1e-15)
    assert confidence_after(0, 0.5) == 0
    assert confidence_after(10**12, 0.5) == 1


def test_clean_samples_have_a_closed_form() -> None:
    for n in (1, 2, 1000, 10**9):
        for delta in SHARES:
            assert upper_bound(n, 0, delta) == error_rate_after(n, delta)
            assert doubt_after(n, error_rate_after(n, delta)) == pytest.approx(delta, rel=1e-6)
    assert error_rate_after(0, 0.5) == 1


def test_what_is_left_to_one() -> None:
    assert complement(0.99999) == 1e-5
    assert complement(1e-5) == 0.99999
    assert complement(0.9) == 0.1


def test_levels_sum_up_to_delta() -> None:
    assert level(0.01, 0) == 0.01
    assert sum(level(0.01, k) for k in range(1, 10_000)) == pytest.approx(0.01, rel=1e-3)
    assert sum(level(0.01, k) for k in range(1, 10_000)) < 0.01


@pytest.mark.parametrize("delta", [0.3, 0.05, 1e-4])
def test_a_claim_by_definition(delta: float) -> None:
    seen = set()
    for epsilon in (0.5, 0.2, 0.03):
        for n in range(40):
            for k in range(n + 1):
                claim = Claim(epsilon, delta, n, k)
                spent = said(delta) / (k * (k + 1) or 1)
                rate = said(epsilon)
                if at_most(n, k, rate) <= spent:
                    expected = ClaimState.REACHED
                elif k and at_least(n, k, rate) <= spent:
                    expected = ClaimState.REFUTED
                else:
                    expected = ClaimState.OPEN
                assert claim.state is expected
                seen.add(expected)
                if expected is ClaimState.REACHED:
                    assert claim.bound <= epsilon * (1 + 1e-9)
                    assert claim.confidence >= claim.stated - 1e-12
                    assert n >= claim.needed
                else:
                    assert n < claim.needed
                if expected is ClaimState.REFUTED:
                    assert claim.least >= epsilon * (1 - 1e-9)
    assert seen == set(ClaimState)


def test_what_a_claim_says() -> None:
    clean = Claim(1e-5, 1e-5, 1_151_287)
    assert (clean.state, clean.stated, clean.needed) == (ClaimState.REACHED, 0.99999, 1_151_287)
    assert Claim(1e-5, 1e-5, 1_151_286).state is ClaimState.OPEN
    # A violation costs more than starting anew, and the confidence that remains is told.
    once = Claim(1e-5, 1e-5, 1_151_288, 1)
    assert (once.state, once.stated) == (ClaimState.OPEN, 0.99998)
    assert once.needed > 1_151_287
    assert Claim(1e-5, 1e-5, once.needed, 1).state is ClaimState.REACHED
    assert Claim(1e-5, 1e-5, once.needed - 1, 1).state is ClaimState.OPEN
    assert Claim(1e-5, 1e-5, 100, 5).state is ClaimState.REFUTED
    nothing = Claim(1e-5, 1e-5, 0)
    assert (nothing.state, nothing.bound, nothing.least, nothing.confidence) == (ClaimState.OPEN, 1, 0, 0)
    assert Claim(0.1, 0.6, 1, 1).stated == 0


@pytest.mark.parametrize("bad", [0.0, 1.0, -1e-5, 2.0, nan, inf, -inf])
def test_shares_outside_of_the_unit_interval(bad: float) -> None:
    for call in (
        lambda: samples_needed(bad, 0.1),
        lambda: samples_needed(0.1, bad),
        lambda: samples_for(bad, 0.1, 1),
        lambda: samples_for(0.1, bad, 1),
        lambda: confidence_after(1, bad),
        lambda: upper_bound(2, 1, bad),
        lambda: lower_bound(2, 1, bad),
        lambda: error_rate_after(1, bad),
        lambda: Claim(bad, 0.1, 1),
        lambda: Claim(0.1, bad, 1),
    ):
        with pytest.raises(LawfulError) as caught:
            call()
        assert caught.value.slug == "confidence-range"


@pytest.mark.parametrize(("n", "k"), [(-1, 0), (1, -1), (3, 4), (MOST_SAMPLES + 1, 1)])
def test_impossible_counts(n: int, k: int) -> None:
    for call in (
        lambda: upper_bound(n, k, 0.1),
        lambda: lower_bound(n, k, 0.1),
        lambda: doubt_after(n, 0.1, k),
        lambda: Claim(0.1, 0.1, n, k),
    ):
        with pytest.raises(LawfulError) as caught:
            call()
        assert caught.value.slug == "confidence-samples"


def test_a_rate_that_nobody_can_show() -> None:
    with pytest.raises(LawfulError) as caught:
        samples_for(1e-100, 0.1, 1)
    assert caught.value.slug == "confidence-range"
