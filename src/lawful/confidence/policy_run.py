"""A sampling policy at work: from how samples of a class ended, it decides how many new objects become samples."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

from lawful.coin import BITS, Coin
from lawful.confidence.controller import Controller
from lawful.confidence.policy_automaton import Auto, Policy, PolicyState, Transition, Trigger

MOST_MOVES = 1000  # that a run remembers; the oldest are forgotten first
SETTLING = 2.0  # seconds over which the overhead is averaged before a state is left for it


class PolicyMove(NamedTuple):
    """A change of state. `time`: seconds in this policy run, earlier runs of the program included."""

    time: float
    source: str
    target: str
    why: str


class PolicyRun:
    """One class of objects in the states of a policy.

    Methods for input return True if the state, the rate, or whether objects may be taken has changed.

    "after N clean samples" counts from the entry of a state, and again from every violation; an object counts in the
    state in which it ends. Followed objects hold a place, so that at most N are clean or alive (`tn` of the paper's
    Fig. 3): to take objects until N have ended would favour short lives. An unknown end gives the place back.
    """

    def __init__(self, policy: Policy, needed: int, seed: int = 0) -> None:
        """`needed`: how many clean samples the target is. Runs of several classes need several seeds."""
        if needed < 1:
            raise ValueError(f"a target is at least one sample, not {needed}")
        self.policy = policy
        self.needed = needed
        self.count = 0  # of clean samples in a row, in this state
        self.alive = 0  # objects that are being followed
        self.violations = 0
        self.moves: deque[PolicyMove] = deque(maxlen=MOST_MOVES)
        self._place = policy.state(policy.start)
        self._coin = Coin(seed)
        self._elapsed = 0.0  # seconds, all in all
        self._stayed = 0.0  # and in this state
        self._now: float | None = None
        self._measured: float | None = None  # when the overhead was last measured
        self._share: float | None = None  # the overhead in this state, averaged
        self._settled = 0.0  # over how many seconds
        self._controllers: dict[Auto, Controller] = {}  # kept while other states are visited
        self._controller: Controller | None = None  # that of this state, or its fixed rate:
        self._fixed = 0.0
        self._threshold = 0
        self._enter(self._place)

    # -- output ---------------------------------------------------------------------------------------

    @property
    def state(self) -> str:
        """The state's name."""
        return self._place.name

    @property
    def rate(self) -> float:
        """The share of new objects that should be followed, as far as the budget goes."""
        return self._fixed if self._controller is None else self._controller.rate

    @property
    def threshold(self) -> int:
        """An object is taken if 64 random bits are, as a number, less than this. For 1 in 2^k it is exact."""
        return self._threshold if self._controller is None else min(BITS, int(self._controller.rate * BITS))

    @property
    def budget(self) -> int | None:
        """How many more objects may be taken before the next decision; None if any number."""
        goal = self._goal
        return None if goal is None else max(0, goal - self.count - self.alive)

    @property
    def open(self) -> bool:
        """May an object be taken at all? If not, nothing about new objects needs to be watched."""
        # For every object this is asked, and more than once: it must be quick. A controller's rate is never nothing.
        free = self._goal is None or self._goal > self.count + self.alive
        return free and (self._controller is not None or self._fixed > 0)

    def take(self) -> bool:
        """Flip the coin for a new object; one that is to be followed has been counted.

        Only the generator decides. An address, say, is used again, and the choice would depend on earlier choices.
        """
        if not self.open or not self._coin.flip(self.threshold):
            return False
        self.alive += 1
        return True

    # -- input --------------------------------------------------------------------------------------------

    def taken(self) -> bool:
        """Somebody else has decided to follow an object."""
        was_open = self.open
        self.alive += 1
        return self.open != was_open

    def clean(self) -> bool:
        """A life has ended without a violation."""
        was_open = self.open
        self.count += 1
        self.alive = max(0, self.alive - 1)
        return self._check_goal() or self.open != was_open

    def violated(self) -> bool:
        """A life that is followed broke a law, for the first time. It is over as a sample."""
        was_open = self.open
        self.alive = max(0, self.alive - 1)
        self.violations += 1
        self.count = 0
        return self.happened(Trigger.VIOLATION) or self.open != was_open

    def unknown(self, n: int = 1) -> bool:
        """Lives that were followed, and of which one cannot say how they ended."""
        was_open = self.open
        self.alive = max(0, self.alive - n)
        return self.open != was_open

    def require(self, needed: int) -> bool:
        """From now on the target is this many clean samples in a row: after violations it takes more to be sure."""
        was_open = self.open
        self.needed = max(1, needed)
        self._goal = self._find_goal()
        return self._check_goal() or self.open != was_open

    def happened(self, trigger: Trigger) -> bool:
        """Take the transition for this trigger, if the state has one."""
        way = self.policy.transition(self.state, trigger)
        return way is not None and self._go(way)

    def tick(self, now: float) -> bool:
        """It is now so many seconds, by any clock."""
        self._pass(now)
        return self._check_time()

    def overhead(self, share: float, now: float) -> bool:
        """Watching took this share of the time since the last call: 0.05 for 5 %."""
        self._pass(now)
        before, self._measured = self._measured, now
        if before is None or now <= before or not 0 <= share < math.inf:
            return self._check_time()
        seconds = now - before
        rate = self.rate
        # With the budget used up, a low overhead does not say that the rate is too low: it would rise for nothing.
        if self._controller is not None and (self.open or share > self._controller.share):
            self._controller.measured(share, seconds)
        self._settled += seconds
        weight = min(1.0, seconds / min(self._settled, SETTLING))
        self._share = share if self._share is None else self._share + (share - self._share) * weight
        moved = self._settled >= SETTLING and self._compare(self._share)
        return self._check_time() or moved or self.rate != rate

    # -- how it goes on -------------------------------------------------------------------------------

    def _find_goal(self) -> int | None:
        way = self.policy.transition(self.state, Trigger.TARGET)
        if way is None:
            return None
        return self.needed if way.amount is None else int(way.amount)

    def _check_goal(self) -> bool:
        goal = self._goal
        return goal is not None and self.count >= goal and self.happened(Trigger.TARGET)

    def _pass(self, now: float) -> None:
        if self._now is not None and now > self._now:
            self._elapsed += now - self._now
            self._stayed += now - self._now
        self._now = now

    def _check_time(self) -> bool:
        way = self.policy.transition(self.state, Trigger.TIME)
        return way is not None and self._stayed >= (way.amount or 0) and self._go(way)

    def _compare(self, share: float) -> bool:
        above = self.policy.transition(self.state, Trigger.OVERHEAD_ABOVE)
        if above is not None and share > (above.amount or 0):
            return self._go(above)
        below = self.policy.transition(self.state, Trigger.OVERHEAD_BELOW)
        return below is not None and share < (below.amount or 0) and self._go(below)

    def _go(self, way: Transition) -> bool:
        self.moves.append(PolicyMove(self._elapsed, way.source, way.target, way.when))
        self._enter(self.policy.state(way.target))
        return True

    def _enter(self, place: PolicyState) -> None:
        self._place = place
        self.count = 0
        self._stayed = self._settled = 0.0
        self._share = None
        self._goal = self._find_goal()
        rate = place.rate
        if isinstance(rate, Auto):
            if rate not in self._controllers:
                self._controllers[rate] = Controller.starting(rate.share, rate.least, rate.most)
            self._controller = self._controllers[rate]
        else:
            self._controller = None
            self._fixed = float(rate)
            self._threshold = rate.numerator * BITS // rate.denominator

    # -- stored, and sent to other processes ----------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """All of it in JSON's types. Clocks differ between processes, so the time of day is left out."""
        autos = [state.name for state in self.policy.states if state.rate in self._controllers]
        return {
            "needed": self.needed,
            "state": self.state,
            "count": self.count,
            "alive": self.alive,
            "violations": self.violations,
            "coin": self._coin.state,
            "elapsed": self._elapsed,
            "stayed": self._stayed,
            "share": self._share,
            "settled": self._settled,
            "controllers": {name: asdict(self._controllers[_auto(self.policy, name)]) for name in autos},
            "moves": [list(move) for move in self.moves],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], policy: Policy) -> PolicyRun:
        """A run of the same policy, where another one was."""
        policy_run = cls(policy, data["needed"], data["coin"])
        for name, controller in data["controllers"].items():
            policy_run._controllers[_auto(policy, name)] = Controller(**controller)
        policy_run._enter(policy.state(data["state"]))
        policy_run.count, policy_run.alive, policy_run.violations = data["count"], data["alive"], data["violations"]
        policy_run._elapsed, policy_run._stayed = data["elapsed"], data["stayed"]
        policy_run._share, policy_run._settled = data["share"], data["settled"]
        policy_run.moves.extend(PolicyMove(*move) for move in data["moves"])
        return policy_run


def _auto(policy: Policy, state: str) -> Auto:
    rate = policy.state(state).rate
    assert isinstance(rate, Auto)
    return rate
