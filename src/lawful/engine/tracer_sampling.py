"""Sampling in a running program: steers the tracer's coins, measures its cost, and finds code that seldom runs."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any

from lawful.confidence.engine import Demand, SampledGroup
from lawful.confidence.policy_automaton import Trigger
from lawful.engine.sample_tracking import SampleTracking
from lawful.pristine_os import clock
from lawful.sources.python.tracer_protocol import Sampling

if TYPE_CHECKING:
    from lawful.laws.protocol import Law
    from lawful.sources.python.watch_planner import LawWatchPlanner

_PERIOD = 1.0  # seconds: how often code is asked again whether it runs
_PERIODS = 20  # before any code is called rare
_RARE = 0.05  # the share of periods in which rare code runs at most
_LITTLE = 0.001  # seconds of processor time in which there is nothing to measure
_LATELY = 10  # beats: over so many the overhead is averaged that is shown


class TracerSampler:
    """Connects the tracer of one process to `SampleTracking`."""

    def __init__(self, demand: Demand, laws: Sequence[Law]) -> None:
        self.tracking = SampleTracking(laws, demand)
        self.confidence = self.tracking.confidence
        self.numbers = {name: number for number, name in enumerate(self.confidence.groups, 1)}
        classes: dict[str, int] = {}
        for part in (part for law in laws for part in law.parts):
            if part.subjects is not None:
                for each in part.subjects.classes:
                    classes.setdefault(each, self.numbers[self.tracking.class_of(part)])
        # Views see all messages: only then is the group known.
        sampled = [law for law in laws if law.language != "view"]
        content = [law for law in sampled if all(part.subjects is not None for part in law.parts)]
        self.sampling = Sampling(classes, laws=content, stacks=True)
        self._tracer: Any = None
        self._steers = False  # does the tracer take rates?
        self._coverage = _Coverage(self)
        triggers = demand.policy.triggers
        self._looks_at_code = bool(triggers & {Trigger.NEW_CODE, Trigger.RARE_CODE})
        # Processor time, and that of watching, at the last beats.
        self._spent: deque[tuple[float, float]] = deque(maxlen=_LATELY + 1)

    def attach(self, tracer: Any, watched: LawWatchPlanner) -> None:
        """Let this tracer flip the coins of as many classes as it can."""
        self._tracer = tracer
        self.tracking.leave_to_tracer(
            {number: name for name, number in self.numbers.items() if number in watched.groups}
        )
        tracer.seed(self.confidence.seed % 2**64)
        self.confidence.on_change = self._push
        if self._looks_at_code:
            watched.on_seen = self._coverage.seen

    def begin(self) -> None:
        """The tracer is about to start."""
        self._spent.append((time.process_time(), self._tracer.cost))
        self._steers = True
        self.confidence.begin()

    def beat(self) -> None:
        """Called ten times a second."""
        self.confidence.beat(*self._overhead())
        self._count()
        for group in self.confidence.groups.values():
            self._push(group)  # of lives that could not be judged, others take the place
        if self._looks_at_code and self._coverage.due():
            self._tracer.rearm()

    def stop(self) -> None:
        """The tracer is about to stop: its last events do not change its rates."""
        self._steers = False

    def end(self) -> None:
        """The tracer has stopped."""
        self.confidence.beat(*self._overhead())
        self._count()

    def _count(self) -> None:
        for name, number in self.numbers.items():
            if name in self.tracking.sampled_by_tracer:
                self.confidence.groups[name].born = self._tracer.samples(number)[0]

    def _push(self, group: SampledGroup) -> None:
        """Give the tracer rate and budget, less the objects that it has taken and not yet reported."""
        if not self._steers or group.name not in self.tracking.sampled_by_tracer:
            return
        number, budget = self.numbers[group.name], group.policy_run.budget
        if budget is not None:
            budget = max(0, budget - (self._tracer.samples(number)[1] - group.taken))
        self._tracer.sample(number, group.policy_run.rate, -1 if budget is None else budget)
        if group.policy_run.rate == 0 and group.alive:
            self._tracer.release(number)  # objects that live as long as the program would keep code instrumented

    def _overhead(self) -> tuple[float | None, float | None]:
        """The cost of watching as a share of the program's time: since the last call, and lately."""
        last = self._spent[-1]
        now = time.process_time(), self._tracer.cost
        self._spent.append(now)
        return _share(last, now), _share(self._spent[0], now)


def _share(before: tuple[float, float], now: tuple[float, float]) -> float | None:
    watching = now[1] - before[1]
    program = now[0] - before[0] - watching
    return None if program < _LITTLE else max(0.0, watching) / program


class _Coverage:
    """Counts the periods in which code has run."""

    def __init__(self, sampler: TracerSampler) -> None:
        self._sampler = sampler
        self._periods: dict[CodeType, list[int]] = {}  # in how many it ran, and when it first did
        self._number = 0  # of the period
        self._began = clock.monotonic()

    def due(self) -> bool:
        """Has the next period begun?"""
        if clock.monotonic() < self._began + _PERIOD:
            return False
        self._began = clock.monotonic()
        self._number += 1
        return True

    def seen(self, code: CodeType) -> None:
        """This code runs for the first time in this period."""
        known = self._periods.get(code)
        if known is None:
            self._periods[code] = [1, self._number]
            self._sampler.confidence.happened(Trigger.NEW_CODE)
            return
        known[0] += 1
        passed = self._number - known[1] + 1
        if passed >= _PERIODS and known[0] <= max(2, _RARE * passed):
            self._sampler.confidence.happened(Trigger.RARE_CODE)
