"""Finding the events that led to a violation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lawful.engine import Numbered, history
from lawful.engine.evidence import merged
from lawful.engine.history import Recent, Search, read_again
from lawful.laws.protocol import Monitor
from lawful.laws.rml import compile

LAW = "use(x) matches {use:x};\nname(s) matches {name:s};\nMain = ({let x; use(x)} \\/ {let s; name(s)} \\/ any)*;\n"
Event = dict[str, Any]


@pytest.fixture(scope="module")
def monitor() -> Monitor:
    monitor = compile(LAW).monitor()
    monitor.step({"use": 0})  # patterns are made when an event first meets them; all events met them before a search
    return monitor


def found(search: Search) -> list[int]:
    return [number for number, _ in search.found]


def test_the_last_ones_before_the_place_are_found(monitor: Monitor) -> None:
    search = Search(monitor, [1], before=9, most=3)
    search.look(1, [{"use": 1}] * 4)
    search.look(5, [{"use": 1}, {"use": 2}, {"other": 1}, {"use": 1}, {"use": 1}])
    assert found(search) == [4, 5, 8]
    assert search.is_full


def test_without_values_every_event_of_the_law_counts(monitor: Monitor) -> None:
    search = Search(monitor, [], before=4, most=5)
    search.look(1, [{"use": 1}, {"other": 2}, {"name": "x"}, {"use": 3}])
    assert found(search) == [1, 3]
    assert not search.is_full


@pytest.mark.parametrize(
    ("value", "events", "numbers"),
    [
        (1, [{"use": 1}, {"use": 11}, {"use": -1}, {"use": 1.0}, {"use": "1"}, {"use": True}], [1]),
        (-1, [{"use": -1}, {"use": 1}], [1]),
        (10**30, [{"use": 10**30}, {"use": 10**31}], [1]),
        ("x", [{"use": "x"}, {"use": "xx"}, {"name": "x", "z": ["é\n\u2028"]}], [1, 3]),
        ('q"\\\n\u2028é', [{"use": 'q"\\\n\u2028é'}, {"use": "q"}], [1]),
        ([1], [{"use": [1]}, {"use": 1}], [1]),
        ({"a": 1, "b": 2}, [{"use": {"b": 2, "a": 1}}, {"use": {}}], [1]),
        pytest.param(1 << 100_000, [{"use": 1}], [], id="huge"),
    ],
)
def test_values_are_told_apart(monitor: Monitor, value: Any, events: list[Event], numbers: list[int]) -> None:
    search = Search(monitor, [value], before=100, most=10)
    search.look(1, events)
    assert found(search) == numbers


def test_one_reading_serves_all_searches(monitor: Monitor, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps({"use": number % 3}) + "\n" for number in range(1, 50_001)))
    searches = [Search(monitor, [0], 40_000, 2), Search(monitor, [1, 2], 5, 9)]
    read_again(str(path), searches, skip_bad=False)
    assert [found(search) for search in searches] == [[39_996, 39_999], [1, 2, 4]]
    assert [search.note for search in searches] == [None, None]


def test_a_trace_that_is_gone_is_said_to_be(monitor: Monitor, tmp_path: Path) -> None:
    search = Search(monitor, [0], 5, 2)
    read_again(str(tmp_path / "gone.jsonl"), [search], skip_bad=False)
    assert search.found == ()
    assert search.note == "the trace could not be read again: there is no such file"


def test_recent_events_are_bounded(monitor: Monitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "_KEPT_EVENTS", 10)
    monkeypatch.setattr(history, "_KEPT_BYTES", 1000)
    recent = Recent()
    for number in range(1, 41):
        recent.add([{"use": number % 2}], 10)
    search = Search(monitor, [1], 41, 9)
    recent.search([search])
    assert found(search) == [31, 33, 35, 37, 39]
    assert search.note == "events before #31 are not kept from a stream"
    few = Search(monitor, [1], 41, 2)
    recent.search([few])
    assert (found(few), few.note) == ([37, 39], None)
    recent.add([{"use": 1}], 5000)  # a large one drives the others out, and is kept itself
    search = Search(monitor, [1], 99, 9)
    recent.search([search])
    assert found(search) == [41]


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
