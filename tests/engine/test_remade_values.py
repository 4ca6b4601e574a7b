"""Values that take long to make: when they are made anew."""

from __future__ import annotations

import pytest

from lawful.engine import run_state


class Clock:
    """Time that passes when one says so, and the part of it in which this thread does something."""

    def __init__(self) -> None:
        self.now = 100.0
        self.spent = 0.0

    def work(self, seconds: float, *, waiting: float = 0.0) -> None:
        self.now += seconds + waiting
        self.spent += seconds

    def monotonic(self) -> float:
        return self.now

    def thread_time(self) -> float:
        return self.spent


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(run_state, "time", found)
    monkeypatch.setattr(run_state, "clock", found)
    return found


def test_it_is_made_anew_if_it_would_be_another_and_takes_a_small_part_of_the_time(clock: Clock) -> None:
    seen = {"key": 0, "made": 0}

    def make() -> int:
        seen["made"] += 1
        clock.work(0.01, waiting=0.09)
        return seen["made"]

    value = run_state.Remade(make, lambda: seen["key"])
    assert value.get() == value.get() == 1
    seen["key"] = 1
    assert value.get() == 1  # it is too early
    clock.now += 100
    assert value.get() == 2
    clock.now += 100
    assert value.get() == 2  # nothing has changed
    value.forget()
    assert value.get() == 3
    began, before = clock.now, seen["made"]
    for _ in range(20_000):
        clock.now += 0.01
        seen["key"] += 1
        value.get()
    share = (seen["made"] - before) * 0.01 / (clock.now - began)
    assert 1 / 500 < share <= 1 / 400
