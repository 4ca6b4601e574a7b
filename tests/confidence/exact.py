"""The binomial distribution by its definition, in fractions and long decimals: slow, and independent of the package."""

from __future__ import annotations

from decimal import Context, Decimal, localcontext
from fractions import Fraction
from math import comb


def at_most(n: int, k: int, p: Fraction) -> Fraction:
    """At most k of n."""
    return sum((comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(k + 1)), Fraction(0))


def at_least(n: int, k: int, p: Fraction) -> Fraction:
    """At least k of n."""
    return sum((comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(k, n + 1)), Fraction(0))


def at_most_long(n: int, k: int, p: Decimal) -> Decimal:
    """At most k of n, term by term in 60 digits, for numbers that fractions cannot hold."""
    with localcontext(Context(prec=60)):
        term = total = (1 - p) ** n
        for j in range(k):
            term = term * (n - j) * p / ((j + 1) * (1 - p))
            total += term
        return total


def at_least_long(n: int, k: int, p: Decimal) -> Decimal:
    """At least k of n; of many, the terms that count."""
    with localcontext(Context(prec=60)):
        return 1 - at_most_long(n, k - 1, p)


def most_failures(trials: int, probability: float, doubt: float = 1e-6) -> int:
    """How many failures there may be in so many trials, without doubting that each has at most this probability."""
    p = Decimal(repr(probability))
    with localcontext(Context(prec=60)):
        term = reached = (1 - p) ** trials
        for failures in range(trials):
            if 1 - reached <= Decimal(repr(doubt)):
                return failures
            term = term * (trials - failures) * p / ((failures + 1) * (1 - p))
            reached += term
    return trials
