"""The coin of sampling: splitmix64, whose state is one number, so that it can be stored and goes on elsewhere.

It must match the coin of `_native/sampling/samples.c`; `tests/sources/python/sampling/test_runs.py` compares them.
"""

from __future__ import annotations

import math

BITS = 2**64
GOLDEN = 0x9E3779B97F4A7C15


def mixed(number: int) -> int:
    """The output of splitmix64 for a state: 64 bits that look random (Steele, Lea and Flood)."""
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 % BITS
    number = (number ^ number >> 27) * 0x94D049BB133111EB % BITS
    return number ^ number >> 31


def threshold(rate: float) -> int:
    """What a flip is compared with for this rate. The C coin compares 53 bits, which a float holds exactly."""
    return math.ceil(rate * 2**53) << 11


class Coin:
    """Flips the same way for the same state."""

    __slots__ = ("state",)

    def __init__(self, state: int) -> None:
        self.state = state % BITS

    @classmethod
    def of_group(cls, seed: int, group: int) -> Coin:
        """The coin of a tracer's group: the n-th flip is the same in every core."""
        return cls(mixed((seed + group * GOLDEN) % BITS))

    def flip(self, threshold: int) -> bool:
        """True if the next 64 random bits are, as a number, less than this: exact for a rate of 1 in 2^k."""
        self.state = (self.state + GOLDEN) % BITS
        return mixed(self.state) < threshold
