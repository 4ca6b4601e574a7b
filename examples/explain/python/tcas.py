"""Two aircraft come near each other: should this one climb, descend, or stay? One comparison is not strict enough."""

from __future__ import annotations

CLIMB, DESCEND, STAY = 1, -1, 0


def own_below_threat(own: int, other: int) -> bool:
    """Is this one the lower one?"""
    return own < other


def own_above_threat(own: int, other: int) -> bool:
    """Is this one the upper one? At the same height neither is, and that is not what it says."""
    return other <= own


def inhibit_biased_climb(up: int, inhibited: bool) -> int:
    """The room above. A climb that is inhibited counts a little more."""
    return up + 1 if inhibited else up


def non_crossing_climb(own: int, other: int, up: int, down: int, inhibited: bool) -> bool:
    """Is to climb the way on which they do not cross?"""
    if inhibit_biased_climb(up, inhibited) > down:
        return own_below_threat(own, other)
    return not own_above_threat(own, other)


def non_crossing_descend(own: int, other: int, up: int, down: int, inhibited: bool) -> bool:
    """Is to descend?"""
    if inhibit_biased_climb(up, inhibited) > down:
        return own_above_threat(own, other) and down >= 0
    return own_above_threat(own, other)


def advise(own: int, other: int, up: int, down: int, inhibited: bool) -> int:
    """What the pilot is told."""
    if non_crossing_climb(own, other, up, down, inhibited):
        return CLIMB
    return DESCEND if non_crossing_descend(own, other, up, down, inhibited) else STAY


def check(advice: int, own: int, other: int) -> None:
    """At the same height nobody is sent anywhere."""
    assert advice == STAY or own != other, "sent away without a reason"


def main(own: int, other: int, up: int, down: int, inhibited: bool, enabled: bool) -> int:
    """Advice for one moment."""
    if not enabled:
        return STAY
    advice = advise(own, other, up, down, inhibited)
    check(advice, own, other)
    return advice
