"""A spacecraft docks in phases: what is heard from outside leads from one to the next."""

from __future__ import annotations

from enum import Enum


class Signal(Enum):
    """What comes in at each step."""

    CLEAR = "clear"
    NEAR = "near"
    LOST = "lost"


class Phase(Enum):
    """Where the craft is."""

    ORBIT = "orbit"
    APPROACH = "approach"
    ALIGNED = "aligned"
    DOCKED = "docked"
    ABORTED = "aborted"


def orbit(signal: Signal) -> Phase:
    """It waits until the way is clear."""
    return Phase.APPROACH if signal is Signal.CLEAR else Phase.ORBIT


def approach(signal: Signal) -> Phase:
    """It comes nearer."""
    if signal is Signal.LOST:
        return Phase.ABORTED
    return Phase.ALIGNED if signal is Signal.NEAR else Phase.APPROACH


def align(signal: Signal) -> Phase:
    """The last metres. That contact may be lost here was forgotten."""
    return Phase.APPROACH if signal is Signal.CLEAR else Phase.DOCKED


def abort(signal: Signal) -> Phase:
    """Back to where it was safe."""
    return Phase.ORBIT


def latch(signal: Signal) -> None:
    """It is held."""
    assert signal is not Signal.LOST, "nothing holds it"


def main(signals: list[Signal]) -> None:
    """Goes through the phases, one step for each signal."""
    phase = Phase.ORBIT
    steps = {Phase.ORBIT: orbit, Phase.APPROACH: approach, Phase.ALIGNED: align, Phase.ABORTED: abort}
    for signal in signals:
        phase = steps[phase](signal)
        if phase is Phase.DOCKED:
            latch(signal)
            return
