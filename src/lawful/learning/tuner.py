"""Self-tuning, section 3.4: experiments with the thresholds of a strategy, until anomalies are as many as expected."""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from lawful.learning import strategies
from lawful.learning.parameters import Learning
from lawful.learning.strategies import Judge, Strategy, Threshold, judge_by
from lawful.learning.window_protocol import Instruction

MOST_MOVES = 1000  # that are remembered one by one
REMEMBERED = 3  # effects that make up a variable's power: "the mean of its last three observed effects"
LONGEST_STRIDE = 16  # steps in one move: effects near to here say little of what is far away
CURIOSITY = 0.05  # chance of a variable that seems to be of no use, beside 1 for the one that seems to be of the most

MOST_LAST_MOVES = 100  # at the end of the stream, while there are more anomalies than wanted
MOST_PAST_MOVES = 1000  # of tuners before the present one, that are remembered

_CLOSE = 1e-9  # values nearer than this are the same


class ThresholdMove(NamedTuple):
    """One experiment. `after` is the objective when the next one was due, and not known before."""

    event: int
    variable: str
    old: float
    new: float
    before: float
    after: float | None = None


class Tuner:
    """Brings the objective, `budget - anomalies`, to zero.

    The values it starts with are the loosest ones it ever uses: they are meant to admit many rules, and if a program
    has fewer anomalies than the budget allows, weaker evidence would only add false ones.
    The paper moves a variable up or down by its power alone. Here the strategy knows which way is stricter, and
    that settles the direction: the number of anomalies also grows with the program's run, and a tuner that takes this
    for the effect of its last move would loosen what it should tighten. The power says which variable, and how far.
    """

    def __init__(self, strategy: Strategy, values: Mapping[str, float] | None, budget: int, seed: int = 0) -> None:
        self.strategy = strategy
        self.moves: deque[ThresholdMove] = deque(maxlen=MOST_MOVES)
        self.past_moves: deque[ThresholdMove] = deque(maxlen=MOST_PAST_MOVES)  # of tuners before this one
        self._values = strategy.values(values)
        self._loosest = dict(self._values)
        self._effects: dict[str, deque[float]] = {name: deque(maxlen=REMEMBERED) for name in self._values}
        self._random = random.Random(seed)
        self._last_anomalies: int | None = None  # at the last move, if its effect is still to be observed
        self.budget = budget  # how many anomalies are expected

    # --- what can be read and changed at any time ---------------------------------------------------------------------

    @property
    def values(self) -> dict[str, float]:
        """The thresholds as they are now."""
        return dict(self._values)

    def set(self, name: str, value: float) -> None:
        """Set a value for the user. From now on it is the loosest one."""
        self._values[name] = self._loosest[name] = self.strategy.threshold(name).check(value)
        self._last_anomalies = None  # what happens next is not the effect of the last move alone

    @classmethod
    def of(cls, parameters: Learning) -> Tuner:
        """The tuner that parameters ask for."""
        return cls(strategies.parse(parameters.strategy), parameters.thresholds, parameters.budget, parameters.seed)

    def changed(self, old: Learning, new: Learning) -> Tuner:
        """This tuner under other parameters; or, for another strategy or seed, another one."""
        if (new.strategy, new.seed) != (old.strategy, old.seed):
            return self._succeeded_by(strategies.parse(new.strategy), new)
        self.budget = new.budget
        for name, value in new.thresholds.items():
            self.set(name, value)
        return self

    def _succeeded_by(self, strategy: Strategy, new: Learning) -> Tuner:
        """Thresholds in common go on, if they are not given, and can be loosened as far as before."""
        given = new.thresholds
        shared = {threshold.name for threshold in strategy.thresholds}
        loosest = {name: value for name, value in self._loosest.items() if name in shared}
        tuner = Tuner(strategy, loosest | dict(given), new.budget, new.seed)
        for name in shared & self._values.keys() - given.keys():
            threshold, value = strategy.threshold(name), self._values[name]
            if (threshold.check(value) - tuner._loosest[name]) * threshold.stricter > 0:
                tuner._values[name] = value
        tuner.past_moves += self.past_moves
        tuner.past_moves += self.moves
        return tuner

    @property
    def program(self) -> list[Instruction]:
        """The strategy with the thresholds as they are now, as windows run it."""
        return self.strategy.program(self._values)

    @property
    def judge(self) -> Judge:
        """A judge with the thresholds as they are now."""
        return judge_by(self.program)

    @property
    def loosest_judge(self) -> Judge:
        """A judge with the thresholds as they were given."""
        return judge_by(self.strategy.program(self._loosest))

    def power(self, name: str) -> float | None:
        """By how much one step towards the stricter raises the objective: the mean of the last observed effects."""
        effects = self._effects[self.strategy.threshold(name).name]
        return sum(effects) / len(effects) if effects else None

    # --- experiments --------------------------------------------------------------------------------------------------

    def step(self, event: int, anomalies: int) -> ThresholdMove | None:
        """Observe the effect of the last move, and make another one if it is needed and possible."""
        objective = float(self.budget - anomalies)
        last = self.observe(anomalies)
        if not objective:
            return None
        direction = 1 if objective < 0 else -1  # to the stricter, or back
        free = [threshold for threshold in self.strategy.thresholds if self._room(threshold, direction) > _CLOSE]
        if not free:
            return None
        threshold, stride = self._back(last, free) or self._pick(free, direction, abs(objective))
        old = self._values[threshold.name]
        new = round(old + stride * threshold.step * direction * threshold.stricter, 9)
        self._values[threshold.name] = new
        move = ThresholdMove(event, threshold.name, old, new, objective)
        self.moves.append(move)
        self._last_anomalies = anomalies
        return move

    def finish(self, event: int, count: Callable[[], int]) -> None:
        """The stream is over: keep to the budget if that is possible. `count` tells the number of anomalies."""
        number = count()
        best = abs(self.budget - number), self.values
        for _ in range(MOST_LAST_MOVES):
            if number <= self.budget or self.step(event, number) is None:
                break
            number = count()
            if abs(self.budget - number) < best[0]:
                best = abs(self.budget - number), self.values
        self.observe(number)
        # The last move may have gone far beyond the budget, into silence. What is too much can still be left out.
        self._values.update(best[1])

    def observe(self, anomalies: int) -> ThresholdMove | None:
        """The last move with what it did, if that was not known before. `step` does this itself."""
        if self._last_anomalies is None:
            return None
        last = self.moves[-1] = self.moves[-1]._replace(after=float(self.budget - anomalies))
        threshold = self.strategy.threshold(last.variable)
        steps = (last.new - last.old) / threshold.step * threshold.stricter
        # The difference of the objectives, had the budget stayed what it was.
        self._effects[last.variable].append((self._last_anomalies - anomalies) / steps)
        self._last_anomalies = None
        return last

    def _back(self, last: ThresholdMove | None, free: Sequence[Threshold]) -> tuple[Threshold, float] | None:
        """Half of the way back, if the last move was much too strict: into silence, or further from zero than before.

        Where hardly a rule is enforced, no other variable shows an effect, and all would be loosened in vain.
        """
        if last is None or last.after is None or not last.before < 0 < last.after:
            return None
        if last.after < min(-last.before, self.budget):
            return None
        for threshold in free:
            if threshold.name == last.variable:
                steps = abs(last.new - last.old) / threshold.step
                return threshold, min(max(round(steps / 2), 1), steps)
        return None

    def _pick(self, free: Sequence[Threshold], direction: int, distance: float) -> tuple[Threshold, float]:
        """A random choice that favours the variables most likely to bring the objective to zero."""
        progress = [self._progress(threshold, direction, distance) for threshold in free]
        most = max((way for way in progress if way is not None), default=0.0)
        chances = []
        for way in progress:
            if way is None:
                chances.append(1.0)  # it has to be tried, to be known
            else:
                chances.append(max(way / most, CURIOSITY) if most > 0 else CURIOSITY)
        (threshold,) = self._random.choices(free, chances)
        return threshold, self._stride(threshold, direction, distance)

    def _room(self, threshold: Threshold, direction: int) -> float:
        """How many steps it can go in this direction."""
        name = threshold.name
        end = threshold.strictest if direction > 0 else self._loosest[name]
        return (end - self._values[name]) * threshold.stricter * direction / threshold.step

    def _stride(self, threshold: Threshold, direction: int, distance: float) -> float:
        """How many steps should bring the objective nearest to zero."""
        power = self.power(threshold.name)
        if power:
            steps = float(round(distance / power)) if power > 0 else 1.0
        else:
            # Where steps have no effect, another one of the same length would only show it once more.
            steps = float(2 ** len(self._effects[threshold.name]))
        room = self._room(threshold, direction)
        # Half of the way that is left, at most: an end is where nothing is admitted any more, or everything.
        return min(max(min(steps, LONGEST_STRIDE, math.ceil(room / 2)), 1.0), room)

    def _progress(self, threshold: Threshold, direction: int, distance: float) -> float | None:
        """How much nearer to zero the objective should be after a move of this variable, if that is known."""
        power = self.power(threshold.name)
        if power is None:
            return None
        reached = power * self._stride(threshold, direction, distance)
        if direction > 0 and reached >= distance + self.budget > distance:
            return 0.0  # silence, which says nothing about the other variables
        return distance - abs(distance - reached)
