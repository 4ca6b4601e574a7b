"""The C example of this name, line by line, with its inputs on a tape."""

from __future__ import annotations

APPROACH, ALIGN, CLOSE_IN, CONTACT, RETREAT, DONE = range(6)


class Craft:
    """What the C program has as static variables."""

    phase = APPROACH
    thrust = 0


def choose(tape: list[int]) -> int:
    """The next input. A tape that is over cuts the execution off."""
    return tape.pop(0)


def approach(craft: Craft, tape: list[int]) -> None:
    craft.thrust = 2
    if choose(tape):
        craft.phase = ALIGN if choose(tape) else CLOSE_IN


def align(craft: Craft, tape: list[int]) -> None:
    craft.thrust = 0
    craft.phase = CLOSE_IN if choose(tape) else APPROACH


def close_in(craft: Craft) -> None:
    craft.thrust = 1
    craft.phase = CONTACT


def contact(craft: Craft) -> None:
    craft.thrust = 0
    craft.phase = DONE


def retreat(craft: Craft) -> None:
    assert craft.thrust == 0
    craft.phase = DONE


def abort_mission(craft: Craft) -> None:
    if craft.phase != CONTACT:
        craft.thrust = 0
    craft.phase = RETREAT


def main(tape: list[int]) -> None:
    tape, craft = list(tape), Craft()
    while craft.phase != DONE:
        match craft.phase:
            case 0:
                approach(craft, tape)
            case 1:
                align(craft, tape)
            case 2:
                close_in(craft)
            case 3:
                contact(craft)
            case _:
                retreat(craft)
        if craft.phase not in (DONE, RETREAT) and choose(tape):
            abort_mission(craft)


def inputs(bound: int) -> list[list[int]]:
    """All tapes of a length."""
    return [[number >> place & 1 for place in range(bound)] for number in range(2**bound)]
