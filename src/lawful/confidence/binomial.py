"""Tails of the binomial distribution, and the error rates at which they have a given size.

A tail is its first term, relative to the most likely rate k/n (`lgamma` of large numbers would lose six digits), times
a sum of positive ratios. The relative error is near 1e-12 for samples up to 1e9.
"""

from __future__ import annotations

from decimal import Context, Decimal
from math import exp, lgamma, log, log1p, pi
from typing import NamedTuple

_NEAR = 0.1  # where logarithms are summed as series, because their difference is small
_SMALL = 16  # below it, lgamma is exact enough
_FARTHEST = 744.0  # the logit of the smallest rate that a float can say
_STEPS = 200
_DIGITS = 50


class Rate(NamedTuple):
    """A probability and what is left to 1, both with all their digits."""

    p: float
    q: float


class Tail(NamedTuple):
    """The logarithm of a tail, and the share that its outermost term has in it."""

    log: float
    share: float


def rate_of_logit(logit: float) -> Rate:
    small = exp(-abs(logit))
    less, more = small / (1 + small), 1 / (1 + small)
    return Rate(less, more) if logit < 0 else Rate(more, less)


def at_most(n: int, k: int, rate: Rate) -> Tail:
    """At most k of n, each with this probability."""
    if k >= n:
        return Tail(0.0, exp(_log_term(n, n, rate)))
    if k <= n * rate.p:
        size = _ratios(n, k, rate)
        return Tail(_log_term(n, k, rate) + log(size), 1 / size)
    # The larger tail is 1 less the smaller one.
    other = Rate(rate.q, rate.p)
    beyond = exp(_log_term(n, k + 1, rate)) * _ratios(n, n - k - 1, other)
    whole = log1p(-beyond)
    return Tail(whole, exp(_log_term(n, k, rate) - whole))


def at_least(n: int, k: int, rate: Rate) -> Tail:
    """At least k of n, each with this probability."""
    return at_most(n, n - k, Rate(rate.q, rate.p))


def at_most_exactly(n: int, k: int, p: Decimal) -> Decimal:
    """At most k of n, with some 40 digits: for the few cases in which a float cannot decide. Takes k steps."""
    context = Context(prec=_DIGITS + max(0, -p.adjusted()))
    q = context.subtract(Decimal(1), p)
    term = context.exp(context.multiply(Decimal(n), context.ln(q)))
    odds = context.divide(p, q)
    total = term
    for j in range(1, min(k, n) + 1):
        term = context.divide(context.multiply(context.multiply(term, odds), Decimal(n - j + 1)), Decimal(j))
        total = context.add(total, term)
    return total


def logit_where_at_most(n: int, k: int, log_size: float) -> float:
    """The rate, as a logit, at which the tail of at most k of n has this size; 0 < k < n.

    Newton's method converges from the right, as the logarithm of the tail is concave; bisection copes with rounding.
    """
    logit = log((k + 1) / (n - k))
    low, high = -_FARTHEST, _FARTHEST
    for _ in range(_STEPS):
        rate = rate_of_logit(logit)
        tail = at_most(n, k, rate)
        over = tail.log - log_size
        if over > 0:
            low = logit
        else:
            high = logit
        slope = (n - k) * rate.p * tail.share
        following = logit + over / slope if slope > 0 else high
        if not low <= following <= high:
            following = (low + high) / 2
        if abs(following - logit) <= 1e-15 * max(1.0, abs(logit)):
            break
        logit = following
    return logit


def _log_term(n: int, k: int, rate: Rate) -> float:
    """The logarithm of the probability of exactly k of n."""
    p, q = rate
    if k == 0:
        return n * (log1p(-p) if p < 0.5 else log(q))
    if k == n:
        return n * (log1p(-q) if q < 0.5 else log(p))
    # How far k is from its mean, computed from the smaller numbers.
    far = k - n * p if p < 0.5 else n * q - (n - k)
    return (
        _stirling(n)
        - _stirling(k)
        - _stirling(n - k)
        - _divergence(k, n * p, far)
        - _divergence(n - k, n * q, -far)
        + (log(n / (n - k)) - log(2 * pi * k)) / 2
    )


def _divergence(x: float, mean: float, far: float) -> float:
    """x ln(x / mean) - far, where far = x - mean."""
    if abs(far) > _NEAR * (x + mean):
        return x * log(x / mean) - far
    # ln(x / mean) = 2 artanh(v) with v = far / (x + mean); its first term and -far make far * v.
    v = far / (x + mean)
    power, total, odd = 2 * x * v, far * v, 1
    while True:
        power *= v * v
        odd += 2
        more = total + power / odd
        if more == total:
            return total
        total = more


def _stirling(n: int) -> float:
    """What Stirling's formula lacks to ln n!."""
    if n < _SMALL:
        return lgamma(n + 1) - (n * log(n) - n + log(2 * pi * n) / 2)
    square = n * n
    return (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - (1 / 1188) / square) / square) / square) / square) / n


def _ratios(n: int, k: int, rate: Rate) -> float:
    """The terms for k, k - 1, ... 0, relative to that for k; where k is at most the mean, they fall."""
    odds = rate.q / rate.p
    term = total = 1.0
    for j in range(k, 0, -1):
        ratio = j / (n - j + 1) * odds
        term *= ratio
        total += term
        # What is left is less than a geometric series.
        if ratio < 1 and term * ratio < 1e-17 * total * (1 - ratio):
            break
    return total
