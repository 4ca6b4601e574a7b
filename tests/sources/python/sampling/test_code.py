"""Which code runs, and what the watching costs, while objects are sampled."""

from __future__ import annotations

from types import CodeType

import pytest

from lawful.sources.python.tracer_protocol import Event
from sources.python.sampling.programs import (
    COUNTER,
    COUNTER_LAW,
    COUNTER_SAMPLING,
    LIFE,
    Load,
    Make,
    kinds,
    law,
)


def test_code_that_starts(make: Make, load: Load) -> None:
    module = load(
        COUNTER
        + """
def other(): pass
"""
    )
    seen: list[str] = []

    def note(code: CodeType) -> None:
        if code.co_filename.endswith("prog.py"):
            seen.append(code.co_name)

    tracer = make([], [law(*COUNTER_LAW)], COUNTER_SAMPLING, on_seen=note)
    tracer.sample(1, 0.0)
    tracer.start()
    module.lives(3)
    assert seen == ["lives", "life", "__init__", "up", "down"]
    module.other()
    assert seen[5:] == ["other"]
    module.lives(3)
    assert len(seen) == 6
    for _ in range(3):
        seen.clear()
        tracer.rearm()
        module.lives(3)
        assert seen == ["lives", "life", "__init__", "up", "down"]
    seen.clear()
    tracer.rearm()
    tracer.rearm()
    module.other()
    module.other()
    assert seen == ["other"]
    tracer.stop()
    assert tracer.fault is None


@pytest.mark.parametrize("again", [False, True])
def test_who_asks_which_code_runs_misses_nothing_of_samples(make: Make, load: Load, again: bool) -> None:
    """The interpreter forgets what one tool asked of instructions when another comes to the code."""
    module = load(
        COUNTER
        + """
def write(counter):
    counter.rc = 1
def direct(n, between):
    for _ in range(n):
        counter = Counter()
        counter.rc = 1
        write(counter)
        between()
        counter.rc = 2
        del counter
"""
    )
    events: list[Event] = []
    seen: list[CodeType] = []
    tracer = make(events, [law(*COUNTER_LAW)], COUNTER_SAMPLING, on_seen=seen.append)
    if again:
        tracer.start()
        module.direct(2, tracer.rearm)
        tracer.stop()
        events.clear()
    tracer.start()
    module.direct(20, lambda: None)
    for _ in range(3):
        tracer.rearm()
        module.direct(20, lambda: None)
    module.direct(20, tracer.rearm)
    tracer.stop()
    assert tracer.fault is None
    assert kinds(events) == ["born", "field_write", "new", *(["field_write"] * 3), "gone"] * 100


def test_cost(make: Make, load: Load) -> None:
    events: list[Event] = []
    tracer = make(events, [law(*COUNTER_LAW)], COUNTER_SAMPLING)
    module = load(COUNTER)
    assert tracer.cost == pytest.approx(0, abs=1e-3)
    tracer.start()
    module.lives(2000)
    tracer.flush()
    # A lower bound: no core reports 38,000 events in less than that.
    assert tracer.cost > 2000 * len(LIFE) * 50e-9
    tracer.stop()
    assert len(events) == 2000 * len(LIFE)
