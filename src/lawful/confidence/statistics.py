"""What samples show: how many are needed, how sure they make, which error rates they leave possible.

A sample is the life of one object, and it is bad with an unknown probability p, the error rate. The null hypothesis is
p >= epsilon. docs/papers/mcm.md proves what `Claim` states after violations.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from enum import StrEnum
from functools import cached_property
from math import exp, expm1, log, log1p

from lawful.confidence import binomial
from lawful.confidence.binomial import Rate
from lawful.errors import LawfulError

MOST_SAMPLES = 10**12  # with violations among them: what takes seconds, not hours

_DOUBTFUL = 1e-9  # nearer to each other, floats do not decide
_MOST_EXACT = 2_000  # violations: beyond, what floats cannot decide is not claimed
_DIGITS = 40


class ClaimState(StrEnum):
    """What may be said about the claim that fewer than epsilon of all objects break a law."""

    REACHED = "reached"
    OPEN = "open"
    REFUTED = "refuted"


def complement(share: float) -> float:
    """1 - share as a person would say it: 1e-5 for 0.99999, and not 1.0000000000065512e-05."""
    return float(1 - _decimal(share))


def samples_needed(epsilon: float, delta: float) -> int:
    """The paper's M: the smallest number of clean samples that rejects an error rate of epsilon or more."""
    epsilon, delta = share(epsilon, "the error rate"), share(delta, "delta")
    few, rare = _decimal(epsilon), _decimal(delta)
    # 1 - epsilon has as many digits as epsilon has zeros, and M has as many before the point.
    context = Context(prec=_DIGITS + 2 * -few.adjusted() + 4)
    samples = context.divide(context.ln(rare), context.ln(context.subtract(Decimal(1), few)))
    # A whole number comes out a little more or less than whole.
    nearest = samples.to_integral_value(context=context)
    if abs(context.subtract(samples, nearest)) < Decimal(10) ** -(_DIGITS // 2):
        return int(nearest)
    return int(samples.to_integral_value(rounding=ROUND_CEILING))


def samples_for(epsilon: float, delta: float, violations: int = 0) -> int:
    """The smallest number of samples that, with so many violations among them, bounds the error rate by epsilon."""
    if violations == 0:
        return samples_needed(epsilon, delta)
    epsilon, delta = share(epsilon, "the error rate"), share(delta, "delta")
    counts(max(0, violations), violations)
    low, high = violations, 2 * violations + 2
    while not _is_rare(high, violations, epsilon, delta):
        low, high = high, 2 * high
        if high > MOST_SAMPLES * MOST_SAMPLES:
            raise LawfulError(
                "confidence-range",
                f"no number of samples that can be counted shows an error rate below {epsilon:g}",
                hint="take a larger error rate",
            )
    while high - low > 1:
        middle = (low + high) // 2
        if _is_rare(middle, violations, epsilon, delta):
            high = middle
        else:
            low = middle
    return high


def doubt_after(n: int, epsilon: float, violations: int = 0) -> float:
    """How probable so few violations in n samples are with an error rate of epsilon: what confidence lacks to 1."""
    return exp(_log_doubt(n, epsilon, violations))


def confidence_after(n: int, epsilon: float, violations: int = 0) -> float:
    """The confidence in an error rate below epsilon: 1 - (1 - epsilon)^n after n clean samples."""
    return -expm1(_log_doubt(n, epsilon, violations))


def _log_doubt(n: int, epsilon: float, violations: int) -> float:
    epsilon = share(epsilon, "the error rate")
    counts(n, violations)
    return min(0.0, _log_at_most(n, violations, epsilon))


def error_rate_after(n: int, delta: float) -> float:
    """The error rate that n clean samples leave possible: 1 - delta^(1/n)."""
    delta = share(delta, "delta")
    counts(n, 0)
    return 1.0 if n == 0 else -expm1(log(delta) / n)


def upper_bound(n: int, k: int, delta: float) -> float:
    """Clopper and Pearson's upper bound: with probability 1 - delta the error rate is not above it."""
    delta = share(delta, "delta")
    counts(n, k)
    if k == n:
        return 1.0
    if k == 0:
        return error_rate_after(n, delta)
    return binomial.rate_of_logit(binomial.logit_where_at_most(n, k, log(delta))).p


def lower_bound(n: int, k: int, delta: float) -> float:
    """Clopper and Pearson's lower bound: with probability 1 - delta the error rate is not below it."""
    delta = share(delta, "delta")
    counts(n, k)
    if k == 0:
        return 0.0
    if k == n:
        return exp(log(delta) / n)
    # At least k bad ones are at most n - k good ones.
    return binomial.rate_of_logit(binomial.logit_where_at_most(n, n - k, log(delta))).q


def level(delta: float, violations: int) -> float:
    """The part of delta that may be spent with so many violations; from the first one on they sum up to delta."""
    return delta / (violations * (violations + 1)) if violations else delta


@dataclass(frozen=True)
class Claim:
    """The claim that fewer than epsilon of all objects break a law, after n samples with k violations; see above."""

    epsilon: float
    delta: float
    samples: int
    violations: int = 0

    def __post_init__(self) -> None:
        share(self.epsilon, "the error rate")
        share(self.delta, "delta")
        counts(self.samples, self.violations)

    @property
    def level(self) -> float:
        """The level at which this is decided."""
        return level(self.delta, self.violations)

    @cached_property
    def state(self) -> ClaimState:
        """Whether the claim can be made, or its contrary, or neither yet."""
        n, k = self.samples, self.violations
        if _is_rare(n, k, self.epsilon, self.level):
            return ClaimState.REACHED
        # At least k bad ones are at most n - k good ones; each is good with probability 1 - epsilon.
        if k and binomial.at_least(n, k, Rate(self.epsilon, 1 - self.epsilon)).log <= log(self.level) - _DOUBTFUL:
            return ClaimState.REFUTED
        return ClaimState.OPEN

    @property
    def reached(self) -> bool:
        return self.state is ClaimState.REACHED

    @property
    def refuted(self) -> bool:
        return self.state is ClaimState.REFUTED

    @property
    def stated_doubt(self) -> float:
        """What the stated confidence lacks to 1: the probability that such a statement is wrong."""
        return min(1.0, 2 * self.delta) if self.violations else self.delta

    @cached_property
    def stated(self) -> float:
        """The confidence with which the bound holds, and the claim if it is reached."""
        return complement(self.stated_doubt)

    @cached_property
    def bound(self) -> float:
        """The error rate is not above this, with the stated confidence."""
        return upper_bound(self.samples, self.violations, self.level)

    @cached_property
    def least(self) -> float:
        """The error rate is not below this, with confidence 1 - delta."""
        return lower_bound(self.samples, self.violations, self.level) if self.violations else 0.0

    @cached_property
    def doubt(self) -> float:
        """What `confidence` lacks to 1: the stated doubt of the strictest claim that could be made now."""
        k = self.violations
        return min(1.0, doubt_after(self.samples, self.epsilon, k) * (2 * k * (k + 1) or 1))

    @cached_property
    def confidence(self) -> float:
        """The confidence reached so far that the error rate is below epsilon."""
        return 1 - self.doubt if self.violations else confidence_after(self.samples, self.epsilon)

    @cached_property
    def needed(self) -> int:
        """How many samples there must be, if no more violations come, to make the claim."""
        return samples_for(self.epsilon, self.level, self.violations)


_AS = {
    "the confidence": "write 0.999 or 99.9%",
    "delta": "it is what confidence lacks to 1: 0.001 or 0.1% for a confidence of 99.9%",
}


def share(value: float, what: str) -> float:
    """A number between 0 and 1, without these."""
    if not 0 < value < 1:  # which is so for nan too
        raise LawfulError(
            "confidence-range",
            f"{what} must be between 0 and 1, and is {value:g}",
            hint=_AS.get(what, "0.00001 or 1e-5 is one in a hundred thousand"),
        )
    return float(value)


def counts(n: int, k: int) -> None:
    """Numbers of samples, and of violations among them."""
    if n < 0 or k < 0:
        few = f"{n:,} samples" if n < 0 else f"{k:,} violations"
        raise LawfulError("confidence-samples", f"there cannot be {few}", hint="count from 0")
    if k > n:
        raise LawfulError(
            "confidence-samples",
            f"there are more violations than samples: {k:,} of {n:,}",
            hint="a sample is an object's life, and counts once, however often it breaks a law",
        )
    if k and n > MOST_SAMPLES:
        raise LawfulError(
            "confidence-samples",
            f"bounds with violations are computed for at most {MOST_SAMPLES:,} samples, not for {n:,}",
            hint="leave some samples out, clean and violated ones alike",
        )


def _is_rare(n: int, k: int, epsilon: float, size: float) -> bool:
    """Whether at most k of n have at most this probability. What cannot be decided is not claimed."""
    if k >= n:
        return False
    over = _log_at_most(n, k, epsilon) - log(size)
    if abs(over) > _DOUBTFUL * max(1.0, abs(log(size))):
        return over < 0
    if k > _MOST_EXACT:
        return False
    return binomial.at_most_exactly(n, k, _decimal(epsilon)) <= _decimal(size)


def _log_at_most(n: int, k: int, epsilon: float) -> float:
    return n * log1p(-epsilon) if k == 0 else binomial.at_most(n, k, Rate(epsilon, 1 - epsilon)).log


def _decimal(value: float) -> Decimal:
    """The decimal number that a person wrote, and not the nearest binary one."""
    return Decimal(repr(float(value)))
