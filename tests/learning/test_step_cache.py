"""What the C core remembers of the steps of its window: whatever a program does, the counts are the twin's."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

import pytest

from lawful import core
from lawful.learning import strategies, templates, window, window_protocol

NATIVE = getattr(core.native, "Window", None)
pytestmark = pytest.mark.skipif(NATIVE is None, reason="the C core is not built, or not wanted")

NINE = templates.compile(templates.DEFAULT)
STRATEGY = strategies.parse(strategies.DEFAULT)
PROGRAM = STRATEGY.program(STRATEGY.values({}))

Event = tuple[int, int, int]  # name, place, object


def everything(made: window_protocol.Window) -> tuple[Any, ...]:
    known = sorted(made.known())
    survey = made.survey(PROGRAM, False)
    return (
        (made.size, made.events, made.pairs, made.pruned, made.given_up, made.given_up_histories),
        [made.pair(*key) for key in known],
        [made.counts(*key) for key in known],
        survey._replace(candidates=sorted(survey.candidates)),
        made.histories(),
    )


def agree(parts: Iterable[list[Event]], size: int = 25) -> tuple[Any, ...]:
    """Both cores see the same events; after each part dead pairs are forgotten, and all is compared."""
    assert NATIVE is not None
    both: list[window_protocol.Window] = [window.Window(NINE, size, 2_000), NATIVE(NINE, size, 2_000)]
    for part in parts:
        columns = [array(code, column) for code, column in zip("IIQ", zip(*part, strict=True), strict=True)]
        for made in both:
            made.feed(*columns)
            made.survey(PROGRAM, True)
        assert everything(both[0]) == everything(both[1])
    for made in both:
        made.drain()
    assert everything(both[0]) == everything(both[1])
    return everything(both[1])


class Objects:
    """Objects that are used by scripts: lists of names and places."""

    def __init__(self, random: Random, scripts: int, names: int) -> None:
        self._random = random
        self._made = 0
        self._scripts = [
            [(10 * (number % 7) + random.randrange(names), random.randrange(40)) for _ in range(random.randint(1, 9))]
            for number in range(scripts)
        ]

    def orderly(self, count: int, alive: int) -> Iterator[Event]:
        """So many events, of several objects at a time, each by one of the scripts."""
        live: list[tuple[int, Iterator[tuple[int, int]]]] = []
        while count > 0:
            while len(live) < alive:
                self._made += 1
                live.append((self._made, iter(self._random.choice(self._scripts))))
            each = self._random.choice(live)
            event = next(each[1], None)
            if event is None:
                live.remove(each)
            else:
                yield (*event, each[0])
                count -= 1

    def chaotic(self, count: int) -> Iterator[Event]:
        """So many events of a few objects in any order."""
        for _ in range(count):
            yield self._random.randrange(60), self._random.randrange(400), self._random.randrange(12)


@pytest.mark.parametrize(("seed", "alive"), [(1, 1), (2, 2), (3, 6)])
def test_what_repeats_itself_is_counted_as_ever(seed: int, alive: int) -> None:
    objects = Objects(Random(seed), 12, 5)
    agree(list(objects.orderly(4_000, alive)) for _ in range(4))


def test_a_program_without_any_order_and_then_with_one() -> None:
    # Long enough that the memo is given up for a while, and is taken up again.
    objects = Objects(Random(4), 8, 4)
    agree([list(objects.chaotic(8_000)), list(objects.orderly(45_000, 2)), list(objects.orderly(10_000, 2))])


@pytest.mark.parametrize("size", [0, 60, 300])
def test_objects_with_very_many_events(size: int) -> None:
    random = Random(5)
    loop = [(random.randrange(25), random.randrange(9), 1) for _ in range(50)]
    agree([loop * 40, [(name, site, 1 + number % 2) for number, (name, site, _) in enumerate(loop * 40)]], size)


def test_more_steps_than_are_remembered() -> None:
    def blocks() -> Iterator[Event]:
        made = 0
        for block in range(460):
            for _ in range(7):
                for site in range(50 * block, 50 * block + 50):
                    made += 1
                    yield from ((site % 3, site, made), (site % 3, site, made), (3 + site % 2, site, made))

    agree([list(blocks())])
