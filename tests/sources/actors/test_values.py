"""What messages carry becomes JSON and ids; what lies in queues is read as messages."""

from __future__ import annotations

import asyncio
import enum
import functools
from collections import deque
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from lawful.sources.actors.message_specs import plain
from lawful.sources.actors.queue_items import read
from lawful.sources.actors.values import add_answer, add_values


class Colour(enum.Enum):
    Red = 1


class Level(enum.IntEnum):
    High = 3


class Point(NamedTuple):
    x: int
    y: Any


@dataclass(frozen=True)
class Frozen:
    name: str


@dataclass
class Open:
    name: str


class Text(str):
    pass


class Thing:
    pass


THING = Thing()


def identify(value: object) -> int:
    return 7 if value is THING else 8


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (None, None),
        (True, True),
        (3, 3),
        ("a", "a"),
        (2**70, str(2**70)),
        (float("nan"), None),
        (Text("sub"), "sub"),
        (Colour.Red, "Red"),
        (Level.High, "High"),
        (b"ab", "ab"),
        ((1, [2, {3}]), [1, [2, [3]]]),
        (frozenset({"b", "a"}), ["a", "b"]),
        (deque([1]), [1]),
        ({"k": (1,), 2: None}, {"k": [1], "2": None}),
        (Point(1, THING), {"x": 1, "y": 7}),
        (Frozen("n"), {"name": "n"}),
        ([THING, Open("o")], [7, 8]),
    ],
)
def test_data_are_json(value: Any, data: Any) -> None:
    event: dict[str, Any] = {}
    add_values(event, [value], {"k": value}, identify)
    assert event == {"args": [data], "kwargs": {"k": data}}
    answer: dict[str, Any] = {}
    add_answer(answer, value, identify)
    assert answer == {"res": data}


def test_objects_are_ids() -> None:
    event: dict[str, Any] = {}
    add_values(event, [THING, 1, Open("o")], {"who": THING, "n": 2}, identify)
    assert event == {
        "args": [None, 1, None],
        "argIds": [7, None, 8],
        "kwargs": {"who": None, "n": 2},
        "kwargIds": {"who": 7, "n": None},
    }
    answer: dict[str, Any] = {}
    add_answer(answer, THING, identify)
    assert answer == {"resultId": 7}


def test_what_contains_itself_ends_somewhere() -> None:
    nest: list[Any] = []
    nest.append(nest)
    event: dict[str, Any] = {}
    add_values(event, [nest], None, identify)
    assert str(event["args"]).count("[") < 20


class Worker:
    def work(self, n: int) -> None:
        pass


WORKER = Worker()


@pytest.mark.parametrize(
    ("item", "found"),
    [
        ("stop", ("stop", None, ())),
        (("m", 1, 2), ("m", None, (1, 2))),
        (("m", (1, 2)), ("m", None, (1, 2))),
        (["m"], ("m", None, ())),
        ({"type": "m", "a": 1}, ("m", None, (1,))),
        ({"method": "m", "args": [1], "kwargs": {}}, ("m", None, (1,))),
        (Point(1, 2), ("Point", None, (1, 2))),
        (Open("x"), ("Open", None, ("x",))),
        (WORKER.work, ("work", WORKER, ())),
        ((WORKER.work, 3), ("work", WORKER, (3,))),
        (functools.partial(WORKER.work, 3), ("work", WORKER, (3,))),
        ((5, ("m", 1)), ("m", None, (1,))),
        ((5, "m", 1), ("m", None, (1,))),
    ],
)
def test_items_are_read(item: Any, found: tuple[Any, ...]) -> None:
    message = read(item)
    assert message is not None
    values, named = message.arguments(("a",) if isinstance(item, dict) else ("p", "q"))
    assert (message.name, message.target, tuple(values)) == found and not named


@pytest.mark.parametrize("item", [None, 3, (), (1,), (None, 2), {}, {"a": 1}, object(), b"x", [[]]])
def test_what_has_no_name_is_no_message(item: Any) -> None:
    assert read(item) is None


def test_a_future_is_where_the_answer_goes() -> None:
    async def main() -> None:
        future = asyncio.get_running_loop().create_future()
        for item in (("m", 1, future), {"type": "m", "n": 1, "reply": future}):
            message = read(item)
            assert message is not None and message.future is future
            assert list(message.args or (message.kwargs or {}).values()) == [1]

    asyncio.run(main())


def test_spellings_have_something_in_common() -> None:
    assert len({plain(name) for name in ("startReplication", "start_replication", "StartReplication")}) == 1
