"""Which earlier events a finding shows, and what is remembered of objects that are gone."""

from __future__ import annotations

from typing import Any

import pytest

import lawful
from lawful.engine.evidence import RecentEvents, merged
from lawful.engine.findings import Numbered
from lawful.engine.run import LawRun

Event = dict[str, Any]
INVARIANT = lawful.invariants.invariant("app.A", always="o.x >= 0")
RML = lawful.rml.compile(
    "new(o) matches {event: 'new', name: 'app.A', targetId: o};\n"
    "use(o) matches {event: 'func_pre', name: 'app.A.use', targetId: o};\n"
    "Main = {let o; new(o) use(o) Main} \\/ empty;\n",
    name="used.rml",
)


def life(target: int) -> list[tuple[int, Event]]:
    kinds = ("new", "field_write", "gone")
    return [(3 * target + at, {"event": kind, "name": "app.A", "targetId": target}) for at, kind in enumerate(kinds)]


def test_who_is_gone_is_remembered_only_if_somebody_may_ask() -> None:
    for keeps_gone, known in ((True, 10), (False, 0)):
        recollection = RecentEvents(10)
        recollection.keeps_gone = keeps_gone
        for target in range(10):
            recollection.add(life(target))
        assert len(recollection) == known


def test_invariants_do_not_ask_for_those_that_are_gone() -> None:
    run = LawRun([INVARIANT])
    assert not run.evidence.recent.keeps_gone
    run.add([RML])  # which may say at the end what it misses
    assert run.evidence.recent.keeps_gone
    run.remove(RML.name)
    assert not run.evidence.recent.keeps_gone


def test_direct_events_are_not_driven_out() -> None:
    direct = [Numbered(number, {}) for number in (1, 2, 3, 4)]
    related = [Numbered(number, {}) for number in (3, 10, 11, 12, 13)]

    def numbers(most: int) -> list[int]:
        return [number for number, _ in merged(direct, related, most)]

    assert numbers(20) == [1, 2, 3, 4, 10, 11, 12, 13]
    assert numbers(5) == [2, 3, 4, 12, 13]
    assert numbers(1) == [4]
    assert merged((), related, 2) == (Numbered(12, {}), Numbered(13, {}))
    assert merged(direct, (), 2) == (Numbered(3, {}), Numbered(4, {}))


@pytest.mark.parametrize(
    ("value", "events", "numbers"),
    [
        ("x", [{"use": "x"}, {"use": "xx"}, {"name": "x", "z": ["é\n\u2028"]}], [1, 3]),
        ([1], [{"use": [1]}, {"use": 1}], [1]),
        ({"a": 1, "b": 2}, [{"use": {"b": 2, "a": 1}}, {"use": {}}], [1]),
        pytest.param(1 << 100_000, [{"use": 1}], [1], id="huge"),
    ],
)
def test_values_that_are_no_ids_are_told_apart(value: Any, events: list[Event], numbers: list[int]) -> None:
    text = (
        "use(x) matches {use:x};\nname(s) matches {name:s};\nMain = ({let x; use(x)} \\/ {let s; name(s)} \\/ any)*;\n"
    )
    monitor = lawful.rml.compile(text).monitor()
    monitor.step({"use": 0})  # patterns are made when an event first meets them
    recent = RecentEvents(10)
    recent.add(list(enumerate(events, 1)))
    assert [number for number, _ in recent.about(monitor, [value], 100)] == numbers
