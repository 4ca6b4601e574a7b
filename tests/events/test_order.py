"""Messages that arrive out of order are put in the order of their senders; what cannot be is told."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from lawful.events.order import SenderOrder
from lawful.events.reader import open_trace

Event = dict[str, Any]


def sent(sender: int | str, number: int, part: str = "send") -> Event:
    return {"event": part, "senderId": sender, "seq": number}


@pytest.mark.parametrize("seed", range(30))
def test_any_order_of_arrival_gives_each_senders_own(seed: int) -> None:
    dice = random.Random(seed)
    messages = [
        [sent(sender, number), sent(sender, number, "receive")]
        for sender in ("a", 2, 3)
        for number in range(1, dice.randint(2, 30))
    ]
    events = [event for message in messages for event in message]
    other: list[Event] = [{"event": "x", "n": number} for number in range(10)]
    mixed = [*messages, *([event] for event in other)]
    dice.shuffle(mixed)
    arrived = [event for message in mixed for event in message]
    order = SenderOrder()
    found: list[Event] = []
    while arrived:
        size = dice.randint(1, 9)
        found += order.arrange(arrived[:size])
        arrived = arrived[size:]
    found += order.rest()
    for sender in ("a", 2, 3):
        assert [each["seq"] for each in found if each.get("senderId") == sender] == [
            each["seq"] for each in events if each["senderId"] == sender
        ]
    assert len(found) == len(events) + len(other)
    assert list(order.warnings()) == []


def test_what_is_in_order_passes_at_once() -> None:
    order = SenderOrder()
    events = [sent(1, 1), sent(1, 1, "receive"), sent(2, 1), {"event": "x"}, sent(1, 2)]
    assert order.arrange(events) == events and order.moved == 0 and order.rest() == []


def test_what_never_came_is_told() -> None:
    order = SenderOrder()
    assert order.arrange([sent(1, 1), sent(1, 4), sent(1, 3)]) == [sent(1, 1)]
    assert order.rest() == [sent(1, 3), sent(1, 4)]
    assert list(order.warnings()) == ["1 message of the sender 1 never came"]


def test_a_trace_that_was_cut_is_not_held_for_ever() -> None:
    order = SenderOrder()
    found = order.arrange(sent("w", number) for number in range(500, 2600))
    assert [each["seq"] for each in found] == list(range(500, 2600))
    assert list(order.warnings()) == ["499 messages of the sender 'w' never came"]


def test_what_comes_too_late_is_told() -> None:
    order = SenderOrder()
    events = [sent(1, 1), sent(1, 2), sent(1, 1)]
    assert order.arrange(events) == events
    assert list(order.warnings()) == ["1 message came too late to be put in order, or twice"]


@pytest.mark.parametrize(
    "event", [{"seq": 1}, {"senderId": 1}, {"seq": "1", "senderId": 1}, {"seq": 5, "senderId": [1]}]
)
def test_other_fields_of_these_names_mean_nothing(event: Event) -> None:
    order = SenderOrder()
    assert order.arrange([event]) == [event]


def test_a_reader_arranges_if_it_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in (sent(1, 2), sent(1, 1), sent(1, 4))))
    with open_trace(path) as reader:
        assert [each["seq"] for each in reader] == [2, 1, 4]
    with open_trace(path, ordered=True) as reader:
        assert [each["seq"] for each in reader] == [1, 2, 4]
        assert reader.order is not None
        assert list(reader.order.warnings()) == ["1 message of the sender 1 never came"]
