"""The controller that holds an overhead by moving the sampling rate; docs/policies.md explains it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

TIME = 2.0  # seconds in which the rate can grow by the factor e
LONGEST = 32 * TIME
MOST_GAIN = 0.5  # of one step, where measurements are rare: of a delay of two steps it is still stable
MOST_ERROR = 3.0  # an overhead four times too high, or more, is answered like one four times too high
WIDE = 0.4  # a swing that says that the delay is too long: 40 % above and 40 % below the demanded overhead
CALM = 2.0  # how many T of a small error, or at a bound, end a swing
CALM_AT_BOUND = 30.0
FORGET = 50.0  # how many T it takes until T has gone back


@dataclass(slots=True)
class Controller:
    """Holds an overhead by moving a rate between two bounds."""

    share: float  # the overhead to hold
    least: float
    most: float
    level: float  # the logarithm of the rate
    time: float = TIME  # T
    error: float = 0.0  # smoothed
    peak: float = 0.0  # the largest error of this half of a swing
    lasted: float = 0.0  # how long this half has lasted, without the time at a bound
    last_peak: float = 0.0  # the same of the half before
    last_lasted: float = 0.0
    calm: float = 0.0  # how long, in T, nothing has swung

    @classmethod
    def starting(cls, share: Fraction, least: Fraction, most: Fraction) -> Controller:
        # If to follow every object doubles the time, the rate to begin with is the overhead that was asked for.
        low, high = float(least), float(most)
        return cls(float(share), low, high, math.log(min(max(float(share), low), high)))

    @property
    def rate(self) -> float:
        return min(max(math.exp(self.level), self.least), self.most)

    def measured(self, share: float, seconds: float) -> None:
        """The overhead was this share of the last so many seconds. What can be no measurement changes nothing."""
        if not (seconds > 0 and 0 <= share < math.inf):
            return
        error = max(1 - share / self.share, -MOST_ERROR)
        self.error += (error - self.error) * min(1.0, 2 * seconds / self.time)
        time = TIME if self.error < -1 else self.time
        before = self.level
        moved = before + error * min(seconds / time, MOST_GAIN)
        self.level = min(max(moved, math.log(self.least)), math.log(self.most))
        self._watch_swing(seconds, moving=self.level != before)
        self.time += (TIME - self.time) * min(1.0, seconds / (FORGET * self.time))

    def _watch_swing(self, seconds: float, *, moving: bool) -> None:
        if self.error * self.peak < 0:  # on the other side now
            wide = abs(self.peak) > WIDE and abs(self.last_peak) > WIDE
            if wide and self.lasted > self.time and self.last_lasted > self.time:
                self.time = min(max(self.time, self.lasted, self.last_lasted), LONGEST)
            self.last_peak, self.last_lasted = self.peak, self.lasted
            self.peak = self.lasted = 0.0
        self.lasted += seconds if moving else 0.0
        self.peak = max(self.peak, self.error, key=abs)
        # What swings because of a delay does not rest in between. A program that changes after a while does.
        if not moving:
            self.calm += seconds / (CALM_AT_BOUND * self.time)
        elif abs(self.error) < WIDE / 2:
            self.calm += seconds / (CALM * self.time)
        else:
            self.calm = 0.0
        if self.calm > 1:
            self.peak = self.lasted = self.last_peak = self.last_lasted = 0.0
