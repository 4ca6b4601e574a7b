"""Instances that say the same are one: a law that is opened again and again by one object does not grow."""

from __future__ import annotations

import random
from typing import Any

import pytest

from lawful import core, rml
from lawful.laws.rml.law import RmlLaw
from lawful.laws.rml.machine import RmlMachine
from oracle.rml import Oracle

Event = dict[str, Any]

HEAD = """
open(f) matches {event: 'open', id: f};
read(f) matches {event: 'read', id: f};
close(f) matches {event: 'close', id: f};
on(f) matches open(f) | read(f) | close(f);
relevant matches on(_);
other matches read(_) | close(_);
"""
AGAIN = (
    HEAD
    + """
Main = relevant >> Files;
Files = other* {let f; open(f) (Open<f> /\\ Files)}?;
Open<f> = on(f) >> open(f)* (read(f) Read<f>)?;
Read<f> = open(f)* read(f)* (close(f) all)?;
"""
)
# Each opening is to be closed once: two instances are not one.
COUNTED = (
    HEAD
    + """
Main = relevant >> Files!;
Files = {let f; open(f) (read(f)* close(f) | Files)}?;
"""
)


def machine(law: RmlLaw, kind: str) -> Any:
    make: Any = RmlMachine if kind == "python" else core.native and core.native.RmlMachine
    if make is None:
        pytest.skip("there is no C core")
    return make(law.planner, lambda _: None)


def size(state: Any) -> int:
    return sum(map(size, state)) if isinstance(state, tuple) else 1


@pytest.mark.parametrize("kind", ["python", "native"])
def test_a_law_that_is_opened_again_stays_as_it_is(kind: str) -> None:
    running = machine(rml.compile(AGAIN), kind)
    opened = [{"event": "open", "id": number % 3} for number in range(300)]
    assert running.feed(opened[:9], 0, True) == 9
    before = size(running.dump())
    assert running.feed(opened, 0, True) == 300
    assert size(running.dump()) <= before
    assert running.feed([{"event": "read", "id": 1}, *opened], 0, True) == 301
    assert size(running.dump()) <= 2 * before


@pytest.mark.parametrize("kind", ["python", "native"])
def test_what_must_be_done_twice_stays_two(kind: str) -> None:
    running = machine(rml.compile(COUNTED), kind)
    events = [{"event": "open", "id": 1}, {"event": "open", "id": 1}, {"event": "close", "id": 1}]
    assert running.feed([*events, {"event": "close", "id": 1}], 0, True) == 4
    assert running.feed([{"event": "close", "id": 1}], 0, True) == 0
    assert running.failed


@pytest.mark.parametrize("kind", ["python", "native"])
@pytest.mark.parametrize("seed", range(40))
def test_verdicts_are_those_of_the_language(seed: int, kind: str) -> None:
    source = random.Random(seed)
    text = source.choice([AGAIN, COUNTED])
    running, oracle = machine(rml.compile(text), kind), Oracle(text)
    for _ in range(40):
        event: Event = {"event": source.choice(["open", "open", "read", "close"]), "id": source.randrange(2)}
        running.feed([event], 0, True)
        oracle.step(event)
        assert running.failed == oracle.failed
        if oracle.failed:
            break
        assert running.halts == oracle.may_halt()
