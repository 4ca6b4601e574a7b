"""Greenlets: calls on one thread that do not end in the reverse order of their beginnings."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from types import ModuleType

import pytest

from lawful.sources.python.tracer_protocol import Event
from sources.python.by_name import CALL
from sources.python.conftest import Start

pytestmark = pytest.mark.skipif(importlib.util.find_spec("greenlet") is None, reason="greenlet is not installed")

PROGRAM = """
from greenlet import getcurrent, greenlet

def pause(*_):
    getcurrent().parent.switch()

def visit(number):
    pause()
    return number

def sort(number):
    [number].sort(key=pause)

def fail(number):
    pause()
    raise KeyError(number)

def work(function, count):
    all = [greenlet(function) for _ in range(count)]
    for number, each in enumerate(all):
        each.switch(number)
    for each in all:
        try:
            each.switch()
        except KeyError:
            pass
"""


@pytest.mark.parametrize("count", [3, 200])
def test_all_ends_are_told(make: Start, prog: Callable[[str], ModuleType], count: int) -> None:
    events: list[Event] = []
    tracer = make(events.extend, own={"prog.visit": CALL, "prog.fail": CALL}, calls={"list.sort": CALL})
    tracer.start()
    module = prog(PROGRAM)
    for name in ("visit", "sort", "fail"):
        module.work(getattr(module, name), count)
    tracer.stop()
    reported = [(event["event"], event["name"], event.get("res")) for event in events]
    assert reported == [
        *[("func_pre", "prog.visit", None)] * count,
        *[("func_post", "prog.visit", number) for number in range(count)],
        *[("func_pre", "list.sort", None)] * count,
        *[("func_post", "list.sort", None)] * count,
        *[("func_pre", "prog.fail", None)] * count,
        *[("func_raise", "prog.fail", None)] * count,
    ]
