"""The controller of the overhead settles: against programs of any cost, with noise and with delays."""

from __future__ import annotations

import math
import random
from dataclasses import asdict
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lawful.confidence import policies
from lawful.confidence.controller import LONGEST, TIME, Controller
from lawful.confidence.policy_run import PolicyRun

TARGET = 0.05
LEAST = 2.0**-20


def new(target: float = TARGET) -> Controller:
    return Controller.starting(Fraction(str(target)), Fraction(1, 2**20), Fraction(1))


class Program:
    """What the rate does to the overhead: `cost` at rate 1, after a delay, or gradually while old objects die."""

    def __init__(
        self, cost: float, *, delay: float = 0.0, lag: float = 0.0, noise: str = "none", seed: int = 1
    ) -> None:
        self.cost, self.delay, self.lag, self.noise = cost, delay, lag, noise
        self.random = random.Random(seed)
        self.rates: list[float] = []
        self.true = 0.0

    def run(self, rate: float, seconds: float) -> float:
        self.rates.append(rate)
        aim = self.cost * self.rates[max(0, len(self.rates) - 1 - round(self.delay / seconds))]
        self.true = aim if not self.lag else self.true + (aim - self.true) * (1 - math.exp(-seconds / self.lag))
        if self.noise == "half":
            return max(0.0, self.true * self.random.gauss(1, 0.5))
        return self.true * self.random.expovariate(1) if self.noise == "heavy" else self.true


def simulate(program: Program, controller: Controller, *, total: float = 600.0, step: float = 0.1) -> list[float]:
    """The true overheads."""
    found = []
    for _ in range(round(total / step)):
        controller.measured(program.run(controller.rate, step), step)
        found.append(program.true)
    return found


DELAYS = [(0.0, 0.0), (1.0, 0.0), (3.0, 0.0), (10.0, 0.0), (20.0, 0.0), (0.0, 5.0), (0.0, 30.0)]


@pytest.mark.parametrize(("cost", "delay"), list(product([0.1, 0.7, 10.0, 100.0], DELAYS)))
def test_it_comes_to_rest(cost: float, delay: tuple[float, float]) -> None:
    found = simulate(Program(cost, delay=delay[0], lag=delay[1]), new(), total=900)[-2000:]
    assert max(found) < 1.1 * TARGET
    assert min(found) > 0.9 * TARGET


@pytest.mark.parametrize(
    ("cost", "delay", "noise"), list(product([0.1, 10.0, 100.0], [0.0, 1.0, 3.0, 10.0, 20.0], ["half", "heavy"]))
)
def test_noise_leaves_the_mean_where_it_should_be(cost: float, delay: float, noise: str) -> None:
    found = simulate(Program(cost, delay=delay, noise=noise), new())[-2000:]
    assert sum(found) / len(found) == pytest.approx(TARGET, rel=0.15)
    assert max(found) < 2 * TARGET


@pytest.mark.parametrize("step", [0.01, 1.0, 5.0])
def test_measurements_may_be_frequent_or_rare(step: float) -> None:
    found = simulate(Program(10.0), new(), total=300, step=step)
    assert found[-1] == pytest.approx(TARGET, rel=0.01)


def test_how_fast_it_is() -> None:
    # Forty times too much at first; after ten seconds it is as it should be.
    found = simulate(Program(40.0), new(), total=30)
    assert max(found[100:]) < 1.2 * TARGET


def test_it_follows_a_program_that_changes() -> None:
    program, controller = Program(1.0), new()
    for cost in (1.0, 50.0, 0.2, 5.0):
        program.cost = cost
        found = simulate(program, controller, total=60)
        assert found[-1] == pytest.approx(TARGET, rel=0.05)


def test_nothing_is_wound_up_at_a_bound() -> None:
    program, controller = Program(0.001), new()  # even with all objects it is below what is allowed
    simulate(program, controller, total=1000)
    assert controller.rate == 1.0
    program.cost = 10.0
    found = simulate(program, controller, total=15)
    assert found[-1] == pytest.approx(TARGET, rel=0.1)  # it began to fall at once
    program.cost = 1e9  # and here the least rate is still too much
    simulate(program, controller, total=1000)
    assert controller.rate == pytest.approx(LEAST)
    program.cost = 0.1
    simulate(program, controller, total=20 * TIME)  # by the factor e in each
    assert program.true == pytest.approx(TARGET, rel=0.1)


def test_it_learns_to_be_slow_and_forgets() -> None:
    program, controller = Program(10.0, delay=10.0), new()
    simulate(program, controller)
    assert 10 / 1.5 < controller.time <= LONGEST  # what Wright's theorem asks for
    program.delay = 0.0
    simulate(program, controller, total=200 * LONGEST, step=1.0)
    assert controller.time < 2 * TIME


@given(st.lists(st.tuples(st.floats(), st.floats()), max_size=50))
def test_the_rate_keeps_within_its_bounds(told: list[tuple[float, float]]) -> None:
    controller = Controller.starting(Fraction(1, 20), Fraction(1, 1000), Fraction(1, 3))
    for share, seconds in told:
        controller.measured(share, seconds)
        assert 1 / 1000 <= controller.rate <= 1 / 3
        assert TIME <= controller.time <= LONGEST


def test_it_can_be_stored() -> None:
    one = new()
    simulate(Program(10.0, delay=3.0), one, total=20)
    other = Controller(**asdict(one))
    assert other == one
    assert simulate(Program(3.0), one, total=5) == simulate(Program(3.0), other, total=5)


@pytest.mark.parametrize("cost", [0.2, 3.0, 30.0])
def test_a_walk_holds_an_overhead(cost: float) -> None:
    policy_run, program = PolicyRun(policies.overhead(Fraction(1, 20)), 10**9), Program(cost, delay=0.5, noise="half")
    found = []
    for tenth in range(3000):
        now = tenth / 10
        policy_run.tick(now)
        policy_run.overhead(program.run(policy_run.rate, 0.1), now)
        found.append(program.true)
    assert sum(found[-1000:]) / 1000 == pytest.approx(TARGET, rel=0.1)
