"""The hot entry points of the C core leak no reference: a few thousand calls leave as many objects as before."""

from __future__ import annotations

import gc
import sys
from array import array
from collections.abc import Callable
from typing import Any

import pytest

import lawful
from lawful import core
from lawful.learning import templates
from lawful.learning.window_protocol import Instruction, Op

pytestmark = pytest.mark.skipif(core.native is None, reason="there is no C core")

ROUNDS = 2000
SLACK = ROUNDS // 4
"""Blocks that caches of the interpreter may take; a leak takes one for each round at least."""
OPEN_CLOSE = """
open(x) matches {event:'func_pre', name:'open', targetId:x};
close(x) matches {event:'func_pre', name:'close', targetId:x};
of(x) matches open(x) | close(x);
Main = {let x; open(x) ((of(x) >> close(x) all) /\\ (of(x) >> all : Main))}?;
"""
GRAMMAR = """
view V specifies G {
    send A.m(String x) m
}
S ::= epsilon | m {assert m.x != "";} S
"""


def objects() -> int:
    gc.collect()
    count: Callable[[], int] = getattr(sys, "gettotalrefcount", sys.getallocatedblocks)
    return count()


def assert_no_leak(run: Callable[[int], object], *passed: object) -> None:
    """``run`` leaves no objects behind when it is called again and again, nor references to the objects passed."""
    for number in range(ROUNDS // 10):
        run(number)
    before, references = objects(), [sys.getrefcount(each) for each in passed]
    for number in range(ROUNDS):
        run(number)
    assert objects() - before < SLACK
    assert all(sys.getrefcount(each) - known < SLACK for each, known in zip(passed, references, strict=True))


def event(name: str, number: int) -> dict[str, Any]:
    """An event whose values no other event shares, so that one leaked reference keeps a block alive."""
    return {
        "event": "func_pre",
        "name": name,
        "targetId": 10**6 + number,
        "args": [f"value {number}"],
        "time": number / 7,
    }


def test_an_rml_monitor() -> None:
    law = lawful.rml.compile(OPEN_CLOSE, name="pairs.rml")
    names = ["open", "close", "other"]

    def run(number: int) -> None:
        monitor = law.monitor()
        monitor.feed([event(names[step % 3], number + step // 3) for step in range(6)])
        assert monitor.verdict

    assert_no_leak(run, law, *names)


def test_an_rml_monitor_that_goes_on() -> None:
    monitor = lawful.rml.compile(OPEN_CLOSE, name="pairs.rml").monitor()
    assert_no_leak(lambda number: monitor.feed([event("open", number), event("other", number), event("close", number)]))


def test_a_grammar() -> None:
    law = lawful.grammar.compile(GRAMMAR, name="calls.view")
    assert_no_leak(lambda number: law.check([event("A.m", number) | {"event": "send"}, event("A.other", number)]), law)


def test_an_invariant() -> None:
    law = lawful.invariants.invariant("app.A", always="o.x >= 0")
    assert_no_leak(
        lambda number: law.check([event("app.A.m", number) | {"event": "func_post", "fields": {"x": number / 3}}]), law
    )


def test_the_window_of_the_learner() -> None:
    window: Any = getattr(core.native, "Window", None)
    product = templates.compile(templates.DEFAULT)
    program = [Instruction(Op.COUNT, 4, 0)]

    def run(number: int) -> None:
        made = window(product, 25)
        names = array("I", [step % 4 for step in range(40)])
        made.feed(names, names, array("Q", [number % 7 + step % 3 for step in range(40)]))
        made.known()
        made.pair(0, 1)
        made.counts(0, 1)
        made.histories()
        made.survey(program, False)

    assert_no_leak(run, product, product.__class__)


def test_automata() -> None:
    native: Any = core.native
    one = (0, ((1, 2), (2, 0), (2, 2)), frozenset({1}))
    other = (0, ((1, 0), (0, 1)), frozenset({0}))

    def run(number: int) -> None:
        native.automaton_minimal(*one)
        native.automaton_product(*one, *other, 6)
        native.automaton_search(*one, *other, 6, -1)

    assert_no_leak(run, *one, *other)


def test_a_watched_function() -> None:
    law = lawful.rml.compile(
        OPEN_CLOSE.replace("'open'", "'list.append'").replace("'close'", "'list.clear'"), name="lists.rml"
    )

    @lawful.watch(laws=[law])
    def work() -> None:
        for number in range(ROUNDS):
            values: list[Any] = []
            values.append(f"value {number}")
            values.clear()

    work()
    before = objects()
    work()
    assert objects() - before < SLACK
