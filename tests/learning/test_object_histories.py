"""Whole lives of objects: what an oracle finds by sorting all events by object, and the same from both cores."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from random import Random
from typing import Any

import pytest

from lawful import core
from lawful.learning import templates, window, window_protocol
from lawful.learning.window_protocol import (
    MOST_HISTORIES,
    MOST_HISTORY_EVENTS,
    MOST_HISTORY_EXAMPLES,
    MOST_OPEN_HISTORIES,
    History,
    HistoryExample,
    Product,
)

Make = Callable[[Product, int], window_protocol.Window]
Event = tuple[int, int, int]  # name, site, object

NATIVE: Any = getattr(core.native, "Window", None)
CORES = [
    pytest.param(window.Window, id="python"),
    pytest.param(NATIVE, id="native", marks=pytest.mark.skipif(NATIVE is None, reason="the C core is not built")),
]
PRODUCT = templates.compile(("ab",))


def feed(made: window_protocol.Window, events: Iterable[Event]) -> None:
    names, sites, objects = array("I"), array("I"), array("Q")
    for name, site, id_ in events:
        names.append(name)
        sites.append(site)
        objects.append(id_)
    made.feed(names, sites, objects)


def fed(make: Make, events: Iterable[Event], size: int = 25) -> window_protocol.Window:
    made = make(PRODUCT, size)
    feed(made, events)
    made.drain()
    return made


def oracle(events: list[Event]) -> dict[tuple[int, ...], dict[tuple[int, ...], list[tuple[int, int]]]]:
    """By order and by places: the objects, each with the number of its last event."""
    histories: dict[int, list[tuple[int, int, int]]] = {}
    for seq, (name, site, id_) in enumerate(events, 1):
        histories.setdefault(id_, []).append((name, site, seq))
    found: dict[tuple[int, ...], dict[tuple[int, ...], list[tuple[int, int]]]] = {}
    for id_, history in histories.items():
        names = [name for name, _, _ in history]
        order, places = [], []
        for at, name in enumerate(names):
            if name not in names[:at]:
                order.append(2 * name)
                places += [history[at][1], next(site for other, site, _ in reversed(history) if other == name)]
            if name not in names[at + 1 :]:
                order.append(2 * name + 1)
        found.setdefault(tuple(order), {}).setdefault(tuple(places), []).append((id_, history[-1][2]))
    return found


def random_events(random: Random) -> list[Event]:
    names, sites, objects = random.choice(((3, 2, 40), (6, 3, 10), (2, 1, 5), (20, 40, 30)))
    length = random.choice((0, 1, 20, 300, 2000))
    return [(random.randrange(names), random.randrange(sites), random.randrange(objects)) for _ in range(length)]


@pytest.mark.parametrize("make", CORES)
@pytest.mark.parametrize("seed", range(20))
def test_all_lives_are_found_whatever_the_window(make: Make, seed: int) -> None:
    random = Random(seed)
    events = random_events(random)
    expected = oracle(events)
    found = fed(make, events, random.choice((0, 1, 5, 25, 10_000))).histories()
    assert {history.order: history.count for history in found} == {
        order: sum(map(len, by_places.values())) for order, by_places in expected.items()
    }
    assert len(found) == len(expected)
    for history in found:
        known = expected[history.order]
        assert len(history.examples) == min(len(known), MOST_HISTORY_EXAMPLES)
        for example in history.examples:
            assert (example.object, example.seq) in known[example.sites]
            assert example.count <= len(known[example.sites])
        if len(known) <= MOST_HISTORY_EXAMPLES:
            assert sum(example.count for example in history.examples) == history.count


@pytest.mark.skipif(NATIVE is None, reason="the C core is not built")
@pytest.mark.parametrize("seed", range(20))
def test_both_cores_say_the_same(seed: int) -> None:
    random = Random(seed)
    events = random_events(random)
    size = random.choice((0, 3, 25, 10_000))
    one, other = window.Window(PRODUCT, size), NATIVE(PRODUCT, size)
    for part in range(3):  # drained now and then; what was before is over
        for made in (one, other):
            feed(made, events[part::3])
            made.drain()
        assert one.histories() == other.histories()
    assert one.given_up_histories == other.given_up_histories


@pytest.mark.parametrize("make", CORES)
def test_a_life_in_full(make: Make) -> None:
    # opened at 10, read at 11 and 12, closed at 13; another object in between
    found = fed(make, [(0, 10, 7), (1, 11, 7), (0, 10, 8), (1, 12, 7), (2, 13, 7)]).histories()
    assert found == [
        History((0, 1, 2, 3, 4, 5), 1, (HistoryExample(7, 5, 1, (10, 10, 11, 12, 13, 13)),)),
        History((0, 1), 1, (HistoryExample(8, 3, 1, (10, 10)),)),
    ]


@pytest.mark.parametrize("make", CORES)
def test_histories_that_go_on_are_not_reported(make: Make) -> None:
    made = make(PRODUCT, 1)
    feed(made, [(0, 1, 1), (0, 1, 2), (0, 1, 3)])
    assert made.histories() == []
    made.drain()
    assert [history.count for history in made.histories()] == [3]


@pytest.mark.parametrize("make", CORES)
def test_a_life_with_too_many_different_events_is_left_out(make: Make) -> None:
    rich = [(name, 1, 1) for name in range(MOST_HISTORY_EVENTS + 1)]
    full = [(name, 1, 2) for name in range(MOST_HISTORY_EVENTS)]
    made = fed(make, rich + full + rich)
    assert made.given_up_histories == 1
    assert [len(history.order) for history in made.histories()] == [2 * MOST_HISTORY_EVENTS]


@pytest.mark.parametrize("make", CORES)
def test_only_so_many_histories_are_distinguished(make: Make) -> None:
    made = fed(make, [event for id_ in range(MOST_HISTORIES + 10) for event in ((id_, 1, id_), (id_ // 2, 1, id_))])
    assert len(made.histories()) == MOST_HISTORIES
    assert made.given_up_histories == 10
    feed(made, [(0, 1, 1)])
    made.drain()
    assert made.histories()[0] == History((0, 1), 2, made.histories()[0].examples)


@pytest.mark.parametrize("make", CORES)
def test_those_that_rested_for_long_end_first(make: Make) -> None:
    made = make(PRODUCT, 0)
    feed(made, [(0, 1, id_) for id_ in range(MOST_OPEN_HISTORIES)])
    assert made.histories() == []
    feed(made, [(0, 1, MOST_OPEN_HISTORIES)])  # all are looked at, and the second one is over
    feed(made, [(0, 2, 2)])  # the next one is in use again
    feed(made, [(0, 1, MOST_OPEN_HISTORIES + 1)])
    assert [(history.count, [each.object for each in history.examples]) for history in made.histories()] == [(2, [1])]
    feed(made, [(1, 1, 1), (1, 1, 3)])  # those that were over begin anew
    made.drain()
    found = {history.order: history.count for history in made.histories()}
    assert found == {(0, 1): MOST_OPEN_HISTORIES + 2, (2, 3): 2}


@pytest.mark.parametrize("make", CORES)
def test_what_is_in_the_window_is_not_over(make: Make) -> None:
    made = fed(make, [(0, 1, id_) for id_ in range(MOST_OPEN_HISTORIES + 5)] + [(1, 1, id_) for id_ in range(5)], 10**6)
    assert {history.order: history.count for history in made.histories()} == {
        (0, 1, 2, 3): 5,
        (0, 1): MOST_OPEN_HISTORIES,
    }
