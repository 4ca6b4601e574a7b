"""What a report says would have been accepted: only what could be, in words that fit on a line."""

from __future__ import annotations

from typing import Any

import pytest

from lawful import rml
from lawful.laws.protocol import Expectation
from laws.rml.cores import CORES, using
from oracle.random_rml import random_case
from oracle.rml import Oracle

DECLARATIONS = """
a matches {n:'a'}; b matches {n:'b'}; c matches {n:'c'};
p(x) matches {n:'p', v:x}; q(x) matches {n:'q', v:x};
"""


def after(text: str, *events: dict[str, Any]) -> Expectation:
    """What was expected in place of the last event, the same on all cores."""
    law = rml.compile(DECLARATIONS + text)
    found = []
    for which in CORES:
        with using(which):
            monitor = law.monitor()
        monitor.feed(events)
        assert monitor.rejected_at == len(events)
        found.append(monitor.expectation(events[-1]))
    assert all(other == found[0] for other in found)
    return found[0]


def event(name: str, value: Any = None) -> dict[str, Any]:
    return {"n": name} if value is None else {"n": name, "v": value}


@pytest.mark.parametrize(
    ("law", "events", "expected"),
    [
        ("Main = a b;", [event("b")], ("a",)),
        ("Main = a? b;", [event("c")], ("a", "b")),
        ("Main = {let x; p(x) q(x)};", [event("p", 7), event("q", 8)], ("q(7)",)),
        ("Main = {let x; p(x) q(x)};", [event("a")], ("p(x)",)),
        ("Main = {let x; p(x) q(x+1)};", [event("p", 7), event("q", 7)], ("q(8)",)),
        # The event that was not accepted is not what was expected, even if a part of the law wanted it.
        (r"Main = a /\ b;", [event("a")], ("b",)),
        (r"Main = a /\ all;", [event("b")], ("a",)),
        # What can never come is not expected either.
        ("Main = none? a;", [event("b")], ("a",)),
        ("Main = {let x; p(x) (q(10/x) | a)};", [event("p", 0), event("b")], ("a",)),
        ("Main = empty;", [event("b")], ()),
        ("Main = a >> b : c;", [event("b")], ("c",)),
        ("Main = if (1 < 2) a else b;", [event("b")], ("a",)),
        ("Main = {let x; p(x) q(x)};", [event("p", "z" * 10**6), event("a")], (f'q("{"z" * 58}…)',)),
    ],
)
def test_expected(law: str, events: list[dict[str, Any]], expected: tuple[str, ...]) -> None:
    assert after(law, *events).expected == expected


OPEN = r"Main = {let x; p(x) (q(x) | Main)}?;"


def test_few_instances_are_named() -> None:
    found = after(OPEN, event("p", 1), event("p", 2), event("q", 3))
    assert found.expected == ("p(x)", "q(1)", "q(2)")
    assert found.bindings == {}


def test_of_many_instances_what_is_common_is_said() -> None:
    found = after(OPEN, *(event("p", number) for number in range(1000)), event("q", -1))
    assert found == Expectation(("p(x)", "q(x)"), {}, 0, 0)


def test_the_instance_that_the_event_is_about() -> None:
    law = "Main = {let x; p(x) (q(x) q(x) b q(x) | Main)}?;"
    found = after(law, *(event("p", number) for number in range(1000)), *[event("q", 7)] * 3)
    assert found == Expectation(("b",), {"x": 7}, 0, 0)


def test_a_single_instance_is_shown_whatever_the_event() -> None:
    found = after("Main = {let x,y; p(x) p(y) q(x) q(y)};", event("p", 1), event("p", 2), event("q", 4))
    assert found == Expectation(("q(1)",), {"x": 1, "y": 2}, 0, 0)


@pytest.mark.parametrize("which", CORES)
def test_at_the_end_every_instance_that_is_not_done_counts(which: str) -> None:
    law = rml.compile(DECLARATIONS + "Main = {let x; p(x) ((q(x) \\/ b) c | Main)}?;")
    with using(which):
        monitor = law.monitor()
    monitor.feed(event("p", number) for number in range(100))
    monitor.end()
    found = monitor.expectation()
    assert found.expected[:2] == ("q(0)", "b")
    assert found.bindings == {"x": 0}
    assert found.others == 99
    assert len(found.expected) == 8
    # 9 leaves are looked at in full: their q(x) and the one b; of the others each counts two.
    assert found.omitted == 10 - 8 + 91 * 2


def test_what_is_expected_would_be_another_event() -> None:
    """On random laws: no event type is named that the rejected event is of. The oracle says whether it is."""
    seen = 0
    for seed in range(400):
        text, events = random_case(seed)
        law = rml.compile(text)
        monitor = law.monitor()
        monitor.feed(events)
        if not isinstance(monitor.rejected_at, int):
            continue
        rejected = events[monitor.rejected_at - 1]
        declarations = text[: text.rindex("Main =")] if "Main =" in text else text
        for use in monitor.expectation(rejected).expected:
            if use == "any" or "(" in use:  # with arguments the names in it may be variables
                continue
            alone = Oracle(declarations.split("\n\n")[0] + f"\nMain = {use};") if f"\n{use} " in "\n" + text else None
            if alone is not None:
                seen += 1
                assert not alone.can_step(rejected), (seed, use)
    assert seen > 20
