"""What the sampler of a running program makes of code that runs, and of what watching costs."""

from __future__ import annotations

import time
from types import CodeType
from typing import Any

import pytest

import lawful
from lawful import pristine_os
from lawful.confidence import policies
from lawful.confidence.engine import Demand
from lawful.confidence.policy_automaton import Trigger
from lawful.engine.tracer_sampling import TracerSampler


class FakeTracer:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[int, float, int]] = []
        self.rearmed = 0
        self.taken = 0
        self.cost = 0.0

    def sample(self, group: int, rate: float, budget: int = -1) -> None:
        self.told.append((group, rate, budget))

    def samples(self, group: int) -> tuple[int, int, int]:
        return self.taken, self.taken, 0

    def release(self, group: int) -> None:
        self.told.append((group, -1.0, 0))

    def seed(self, number: int) -> None:
        assert 0 <= number < 2**64

    def rearm(self) -> None:
        self.rearmed += 1


class FakeWatched:
    groups = frozenset({1})
    on_seen: Any = None


def made(policy: str = "off") -> tuple[TracerSampler, FakeTracer, FakeWatched]:
    law = lawful.invariants.invariant("app.Node", always="o.rc >= 0", name="never")
    sampler = TracerSampler(Demand(0.9, 0.1, policies.named(policy), 1), [law])
    tracer, watched = FakeTracer(), FakeWatched()
    sampler.attach(tracer, watched)  # type: ignore[arg-type]
    sampler.begin()
    return sampler, tracer, watched


def codes(count: int) -> list[CodeType]:
    return [compile(f"x = {number}", f"file{number}.py", "exec") for number in range(count)]


def test_the_tracer_never_takes_more_than_are_needed() -> None:
    sampler, tracer, _ = made()
    assert tracer.told == [(1, 1.0, 22)]
    tracer.taken = 5  # which have not been delivered yet
    sampler.beat()
    assert tracer.told[-1] == (1, 1.0, 17)
    tracer.taken = 40
    sampler.beat()
    assert tracer.told[-1] == (1, 1.0, 0)


def test_a_tracer_that_stops_is_told_nothing_more() -> None:
    sampler, tracer, _ = made()
    sampler.stop()
    before = list(tracer.told)
    sampler.confidence.violated(next(iter(sampler.confidence.groups.values())))
    sampler.end()
    assert tracer.told == before


def test_code_is_new_once_and_rare_if_it_seldom_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(pristine_os.clock, "monotonic", lambda: clock[0])
    sampler, tracer, watched = made("coverage")
    happened: list[Trigger] = []
    monkeypatch.setattr(sampler.confidence, "happened", happened.append)
    often, seldom = codes(2)
    for period in range(60):
        watched.on_seen(often)
        if period in (0, 50):
            watched.on_seen(seldom)
        clock[0] += 1.0
        sampler.beat()
    assert happened == [Trigger.NEW_CODE, Trigger.NEW_CODE, Trigger.RARE_CODE]
    assert tracer.rearmed == 60


def test_code_that_runs_in_every_period_is_not_rare(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(pristine_os.clock, "monotonic", lambda: clock[0])
    sampler, _, watched = made("coverage")
    happened: list[Trigger] = []
    monkeypatch.setattr(sampler.confidence, "happened", happened.append)
    (code,) = codes(1)
    for _ in range(100):
        watched.on_seen(code)
        clock[0] += 1.0
        sampler.beat()
    assert happened == [Trigger.NEW_CODE]


def test_code_is_not_asked_for_if_the_policy_does_not_care() -> None:
    _, tracer, watched = made("off")
    assert watched.on_seen is None and tracer.rearmed == 0


def test_the_overhead_is_what_watching_took_of_the_programs_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    processor = [10.0]
    monkeypatch.setattr(time, "process_time", lambda: processor[0])
    sampler, tracer, _ = made()
    processor[0] += 1.2
    tracer.cost += 0.2
    assert sampler._overhead() == (pytest.approx(0.2), pytest.approx(0.2))
    processor[0] += 1.0
    assert sampler._overhead() == (pytest.approx(0.0), pytest.approx(0.1))
    assert sampler._overhead()[0] is None  # nothing has happened since
