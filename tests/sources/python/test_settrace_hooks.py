"""Tracers that run at the same time may stop in any order; on 3.11 they share one profile function of the thread."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

from lawful.sources.python.tracer_protocol import Event, Tracer
from sources.python.by_name import CALL

PROGRAM = """
def own():
    return 1

def work(stop):
    values = []
    values.append(own())
    stop()
    values.append(own())
    return values
"""


@pytest.mark.parametrize("first", [0, 1, 2])
def test_a_tracer_that_stops_leaves_the_others_at_work(
    make: Callable[..., Tracer], prog: Callable[[str], ModuleType], first: int
) -> None:
    events: list[list[Event]] = [[], [], []]
    calls, own = {"list.append": CALL}, {"prog.own": CALL}
    tracers = [make(each.extend, calls=calls, own=own) for each in events]
    module = prog(PROGRAM)
    for tracer in tracers:
        tracer.start()
    module.work(tracers[first].stop)
    module.own()
    for tracer in reversed(tracers):
        tracer.stop()
    assert [tracer.fault for tracer in tracers] == [None, None, None]
    counts = [sum(event["event"] == "func_pre" for event in each) for each in events]
    assert counts == [2 if each == first else 5 for each in range(3)]
