"""Programs that trace themselves, and other tools: they see what they ask for, and hide nothing from us."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any, TypeVar

import pytest

from lawful.sources.python.tracer_protocol import Event, Tracer
from sources.python.by_name import CALL

Make = Callable[..., Tracer]
Run = Callable[[str], ModuleType]
T = TypeVar("T")


def names(events: list[Event]) -> list[str]:
    return [f"{event['event']} {event['name']}" for event in events]


def run(module: ModuleType, trace: Any, reported: list[T]) -> list[T]:
    """The events that a program's own trace function gets."""
    reported.clear()
    before = sys.gettrace()
    try:
        module.work([], trace)
    finally:
        sys.settrace(before)
    return [*reported]


TRACED = """
import sys

def inner(seen):
    seen.append(1)
    seen.append(2)

def work(seen, trace):
    seen.append(3)
    inner(seen)
    sys.settrace(trace)
    seen.append(4)
    inner(seen)
    for i in range(2):
        seen.append(5)
    sys.settrace(None)
    seen.append(6)
    inner(seen)

def again(seen):
    seen.append(7)
"""


RESTING = """
import sys

def rows(seen):
    for i in range(3):
        seen.append(i)
        yield i

def work(seen, trace):
    resting = rows(seen)
    next(resting)
    sys.settrace(trace)
    list(rows(seen))
    next(resting)
    sys.settrace(None)
    next(resting)
    sys.settrace(trace)
    list(resting)
    sys.settrace(None)
"""


@pytest.mark.parametrize(("lines", "opcodes"), [(True, False), (False, False), (True, True), (False, True)])
def test_a_trace_function_sees_the_same_of_generators(make: Make, prog: Run, lines: bool, opcodes: bool) -> None:
    reported: list[tuple[str, int, str]] = []

    def trace(frame: FrameType, event: str, arg: object) -> Any:
        frame.f_trace_lines, frame.f_trace_opcodes = lines, opcodes
        reported.append((frame.f_code.co_name, frame.f_lasti, event))
        return trace

    run(prog(RESTING), trace, reported)  # CPython 3.12 reports instructions only after somebody has asked for them
    plain = run(prog(RESTING), trace, reported)
    assert any(event == "opcode" for *_, event in plain) == opcodes
    events: list[Event] = []
    tracer = make(events.extend, calls={"list.append": CALL})
    tracer.start()
    watched = run(prog(RESTING), trace, reported)
    tracer.stop()
    assert tracer.fault is None
    assert watched == plain
    assert names(events) == ["func_pre list.append", "func_post list.append"] * 6


DEBUGGED = """
import sys

def stop(frame, trace):
    while frame is not None and frame.f_code.co_name != "run":
        frame.f_trace = trace
        frame = frame.f_back
    sys.settrace(trace)

def inner(seen, trace):
    stop(sys._getframe(), trace)
    seen.append(2)
    seen.append(3)

def work(seen, trace):
    seen.append(1)
    inner(seen, trace)
    seen.append(4)
    sys.settrace(None)
    seen.append(5)
"""


def test_a_trace_function_that_is_put_on_a_frame_sees_its_lines(make: Make, prog: Run) -> None:
    """As debuggers do it where they are called."""
    reported: list[tuple[str, int]] = []

    def trace(frame: FrameType, event: str, arg: object) -> Any:
        reported.append((event, frame.f_lineno))
        return trace

    plain = run(prog(DEBUGGED), trace, reported)
    assert {("line", 12), ("line", 18)} <= {*plain}
    events: list[Event] = []
    tracer = make(events.extend, calls={"list.append": CALL})
    tracer.start()
    watched = run(prog(DEBUGGED), trace, reported)
    tracer.stop()
    assert tracer.fault is None
    assert watched == plain
    assert names(events) == ["func_pre list.append", "func_post list.append"] * 5


@pytest.mark.parametrize("nested", [False, True])
def test_a_trace_function_that_comes_and_goes_hides_nothing(make: Make, prog: Run, nested: bool) -> None:
    def trace(frame: FrameType, event: str, arg: object) -> Any:
        return trace if nested else None

    events: list[Event] = []
    tracer = make(events.extend, calls={"list.append": CALL})
    before = sys.gettrace()
    tracer.start()
    module = prog(TRACED)
    try:
        module.again([])
        module.work([], trace)
        module.work([], trace)
        module.again([])
    finally:
        sys.settrace(before)
    tracer.stop()
    assert tracer.fault is None
    once = [3, 1, 2, 4, 1, 2, 5, 5, 6, 1, 2]
    assert [event["args"][0] for event in events if event["event"] == "func_post"] == [7, *once, *once, 7]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="it has no sys.monitoring")
def test_another_tool_that_comes_later_hides_nothing(make: Make, prog: Run) -> None:
    monitoring: Any = vars(sys)["monitoring"]
    events: list[Event] = []
    tracer = make(events.extend, calls={"list.append": CALL})
    tracer.start()
    module = prog(TRACED)
    module.inner([])
    monitoring.use_tool_id(monitoring.COVERAGE_ID, "another")
    try:
        monitoring.register_callback(monitoring.COVERAGE_ID, monitoring.events.PY_START, lambda code, offset: None)
        monitoring.set_events(monitoring.COVERAGE_ID, monitoring.events.PY_START)
        module.inner([])
    finally:
        monitoring.set_events(monitoring.COVERAGE_ID, 0)
        monitoring.free_tool_id(monitoring.COVERAGE_ID)
    tracer.stop()
    assert tracer.fault is None
    assert [event["args"][0] for event in events if event["event"] == "func_post"] == [1, 2] * 2
