"""The C example of this name, line by line."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

STAY, CLIMB, DESCEND = range(3)


@dataclass
class Moment:
    """What the C program has as static variables."""

    own_height: int
    other_height: int
    room_above: int
    room_below: int
    other_answers: int
    other_climbs: int


def is_below(now: Moment) -> bool:
    return now.own_height < now.other_height


def is_above(now: Moment) -> bool:
    return now.other_height < now.own_height


def may_climb(now: Moment) -> bool:
    return now.room_above >= 2


def may_descend(now: Moment) -> bool:
    return now.room_below >= 2


def climbing_is_better(now: Moment) -> bool:
    return now.room_above > now.room_below


def agree(now: Moment) -> int:
    if now.other_climbs:
        return DESCEND if may_descend(now) else STAY
    return CLIMB if may_climb(now) else STAY


def advise(now: Moment) -> int:
    if now.other_answers:
        return agree(now)
    if climbing_is_better(now):
        if may_climb(now):
            return CLIMB
    elif may_descend(now):
        return DESCEND
    if is_below(now):
        return DESCEND
    return CLIMB if is_above(now) else STAY


def check(now: Moment, advice: int) -> None:
    crosses = advice == CLIMB if is_below(now) else is_above(now) and advice == DESCEND
    assert not crosses


def main(*numbers: int) -> None:
    now = Moment(*numbers)
    check(now, advise(now))


def inputs(bound: int) -> list[tuple[int, ...]]:
    """All that the C program takes."""
    return list(product(range(3), range(3), range(4), range(4), range(2), range(2)))
