"""Every core makes the same events of the same programs."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from lawful.sources.python.tracer_protocol import Event, Tracer
from sources.python.expected import Expected, Program
from sources.python.programs import (
    callee_calls,
    callee_exceptions,
    callee_generators,
    caller_calls,
    caller_library,
    caller_syntax,
)

PROGRAMS = [
    *callee_calls.PROGRAMS,
    *callee_exceptions.PROGRAMS,
    *callee_generators.PROGRAMS,
    *caller_calls.PROGRAMS,
    *caller_syntax.PROGRAMS,
    *caller_library.PROGRAMS,
]

ORDER = (
    "event name class target targetId args argIds kwargs kwargIds res resultId exception excId sampled stack file line"
    " thread task time process".split()
)
"""Of the keys of an event."""

_ID_KEYS = {"targetId", "resultId", "excId", "argIds", "kwargIds"}


def place_lines(program: Program) -> dict[int, int]:
    lines = enumerate(program.source.split("\n"), 1)
    return {int(found[1]): number for number, line in lines if (found := re.search(r"#(\d+)$", line))}


class Matcher:
    """Compares events with expected ones: a label must mean one id, and an id one label."""

    def __init__(self) -> None:
        self.labels: dict[str, int] = {}

    def same(self, expected: Any, found: Any, ids: bool) -> bool:
        if isinstance(expected, list):
            return (
                isinstance(found, list)
                and len(expected) == len(found)
                and all(self.same(e, f, ids) for e, f in zip(expected, found, strict=True))
            )
        if isinstance(expected, dict):
            return (
                isinstance(found, dict)
                and list(expected) == list(found)
                and all(self.same(expected[key], found[key], ids) for key in expected)
            )
        if not ids or expected is None:
            return type(expected) is type(found) and bool(expected == found)
        if expected == "*":
            return isinstance(found, int)
        if expected not in self.labels and found in self.labels.values():
            return False
        return bool(self.labels.setdefault(expected, found) == found)

    def event(self, expected: Expected, found: Event) -> bool:
        return set(expected) == set(found) and all(self.same(expected[k], found[k], k in _ID_KEYS) for k in expected)


def check(program: Program, events: list[Event]) -> None:
    lines = place_lines(program)
    matcher = Matcher()
    trimmed = []
    last = 0.0
    for event in events:
        assert list(event) == [key for key in ORDER if key in event], "order of keys"
        assert json.loads(json.dumps(event)) == event
        event = dict(event)
        time = event.pop("time")
        assert last <= time
        last = time
        assert event.pop("thread") == 1
        trimmed.append(event)
    for number, (made, found) in enumerate(zip(program.events, trimmed, strict=False)):
        expected = {**made, "file": "prog.py", "line": lines[made["line"]]}
        if expected.get("args") == ["DEVNULL"]:
            expected["args"] = [os.devnull]
        assert matcher.event(expected, found), f"event {number}: expected {expected}, found {found}, {matcher.labels}"
    rest = trimmed[len(program.events) :]
    assert not rest, f"{len(rest)} more events"
    assert len(trimmed) == len(program.events), f"missing: {program.events[len(trimmed) :]}"


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_program(program: Program, make: Callable[..., Tracer], prog: Callable[[str], ModuleType]) -> None:
    events: list[Event] = []
    tracer = make(events.extend, calls=program.calls, own=program.own)
    tracer.start()
    prog(program.source)
    tracer.stop()
    assert tracer.fault is None
    check(program, events)
