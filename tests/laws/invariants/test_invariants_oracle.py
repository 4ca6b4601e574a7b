"""The monitor of invariants against a literal reading of what they say, over whole random traces."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from typing import Any

import pytest

from lawful import Verdict, core
from lawful.laws.invariants import InvariantLaw, InvariantMonitor, invariant

Event = dict[str, Any]
Found = list[tuple[int | str, int]]
"""Violations: the number of the event that shows it, and the object."""

CLASS = "app.Thing"
SEEDS = range(150)


def random_trace(seed: int) -> list[Event]:
    """Some objects, their fields and calls, other objects, and the passing of time."""
    source = random.Random(seed)
    alive: list[int] = []
    ids = iter(range(1, 1000))
    time, trace = 0.0, []
    for _ in range(source.randrange(1, 60)):
        time += source.choice([0.0, 0.1, 0.5, 1.0, 3.0])
        event: Event = {"time": time - source.choice([0.0, 0.0, 0.0, 0.2])}  # threads may be noted a little late
        choice = source.random()
        if choice < 0.15 or not alive:
            alive.append(next(ids))
            event |= {"event": "new", "name": CLASS, "class": CLASS, "targetId": alive[-1]}
        elif choice < 0.65:
            name = source.choice(["x", "x", "y", "other"])
            event |= {"event": "field_write", "name": f"{CLASS}.{name}", "targetId": source.choice(alive)}
            if (value := source.choice([-1, 0, 0, 1, 1, 2, 3, "del"])) != "del":
                event["res"] = value
        elif choice < 0.8:
            kind = source.choice(["func_pre", "func_post"])
            name = source.choice(["open", "close"])
            event |= {"event": kind, "name": f"{CLASS}.{name}", "targetId": source.choice(alive)}
        elif choice < 0.9:
            event |= {"event": "gone", "name": CLASS, "targetId": alive.pop(source.randrange(len(alive)))}
        elif choice < 0.95:
            event |= {"event": "tick"}
        else:
            event |= {"event": "field_write", "name": "app.Other.x", "targetId": 5000, "res": -7}
        trace.append(event)
    return trace


# -- the literal reading ----------------------------------------------------------------------------------------------


def value(trace: list[Event], index: int, target: int, name: str) -> Any:
    """What a field of an object is after the event of this index, by looking back; None if that is not known."""
    for event in reversed(trace[: index + 1]):
        if event.get("targetId") == target and event["event"] == "field_write" and event["name"] == f"{CLASS}.{name}":
            return event.get("res")
    return None


def is_write(event: Event, *names: str) -> bool:
    return event["event"] == "field_write" and event["name"] in [f"{CLASS}.{name}" for name in names]


def is_call(event: Event, kind: str, name: str) -> bool:
    return (event["event"], event.get("name")) == (kind, f"{CLASS}.{name}")


def states(trace: list[Event], names: str, holds: Callable[..., bool]) -> Found:
    found: Found = []
    for index, event in enumerate(trace):
        if not is_write(event, *names):
            continue
        target = event["targetId"]
        values = [value(trace, index, target, name) for name in names]
        if None in values or holds(*values):
            continue
        # It is no new violation if the last time that it could be judged it was broken as well.
        before = None
        for earlier in range(index - 1, -1, -1):
            if trace[earlier].get("targetId") == target and is_write(trace[earlier], *names):
                known = [value(trace, earlier, target, name) for name in names]
                if None not in known:
                    before = holds(*known)
                    break
        if before is not False:
            found.append((index + 1, target))
    return found


def transitions(trace: list[Event], holds: Callable[[int, int], bool]) -> Found:
    found: Found = []
    for index, event in enumerate(trace):
        if is_write(event, "x"):
            target = event["targetId"]
            old, new = value(trace, index - 1, target, "x"), value(trace, index, target, "x")
            if index and old is not None and new is not None and not holds(old, new):
                found.append((index + 1, target))
    return found


def responses(
    trace: list[Event],
    when: Callable[[int], bool],
    then: Callable[[int], bool],
    until: Callable[[int], bool],
    within: float,
) -> Found:
    """Conditions are about the event of an index. Time is the latest that was seen."""
    now = [max(event["time"] for event in trace[: index + 1]) for index in range(len(trace))]
    found: Found = []
    for target in {event["targetId"] for event in trace if "targetId" in event and event["targetId"] < 5000}:
        own = [index for index, event in enumerate(trace) if event.get("targetId") == target]
        over = next((index for index in own if until(index)), len(trace))
        start = 0
        while True:
            asked = next((index for index in own if start <= index < over and when(index)), None)
            if asked is None:
                break
            deadline = now[asked] + within
            paid = next((i for i in own if i > asked and i <= over and now[i] <= deadline and then(i)), None)
            late = next((index for index in range(asked + 1, len(trace)) if now[index] > deadline), None)
            gone = next((index for index in own if trace[index]["event"] == "gone"), None)
            ends = [index for index in (late, gone) if index is not None]
            if paid is not None:
                start = paid
                continue
            if not ends or (over <= min(ends) and over != late):
                break  # nobody knows yet, or nobody asks any more
            shown = min(ends)
            found.append((shown + 1, target))
            start = max(shown, asked + 1)
    return found


# -- both -------------------------------------------------------------------------------------------------------------


def monitored(law: InvariantLaw, trace: list[Event], *, break_at: int | None = None) -> Found:
    """All violations, as an engine finds them. `break_at`: pickle the monitor before this event."""
    monitor: InvariantMonitor = law.monitor()
    found: Found = []
    for number, event in enumerate(trace, 1):
        if number == break_at:
            monitor = pickle.loads(pickle.dumps(monitor))
        verdict = monitor.step(event)
        assert (verdict is Verdict.FALSE) == (monitor.rejected_at == number)
        while monitor.rejected_at is not None:
            assert monitor.offender is not None
            found.append((number, monitor.offender))  # type: ignore[arg-type]
            assert monitor.expectation(event).bindings == {"o": monitor.offender}
            assert monitor.forgive()
            monitor.again()
        assert monitor.events == number
    assert monitor.end() is Verdict.TRUE
    return found


def agree(law: InvariantLaw, trace: list[Event], expected: Found) -> None:
    found = monitored(law, trace)
    assert sorted(found) == sorted(expected)
    outcome = law.check(trace)
    assert outcome.accepted == (not expected)
    assert outcome.rejected_at == (min(expected)[0] if expected else None)
    assert monitored(law, trace, break_at=len(trace) // 2 + 1) == found
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(core, "native", None)  # the pure-Python core, whatever core the tests run with
        assert monitored(law, trace) == found
    # What it does not watch makes no difference, but for the time that it tells.
    keys = {(kind, name) for watch in law.watches for kind in dict(watch.keys)["event"] or () for name in names(watch)}
    kept = [event for event in trace if (event["event"], event.get("name")) in keys or event["event"] == "gone"]
    if law.every is None:
        assert [target for _, target in monitored(law, kept)] == [target for _, target in found]


def names(watch: Any) -> tuple[Any, ...]:
    found: tuple[Any, ...] = dict(watch.keys).get("name") or (None,)
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_states(seed: int) -> None:
    trace = random_trace(seed)
    agree(invariant(CLASS, always="o.x >= 0"), trace, states(trace, "x", lambda x: x >= 0))
    agree(invariant(CLASS, always="o.x <= o.y"), trace, states(trace, "xy", lambda x, y: x <= y))


@pytest.mark.parametrize("seed", SEEDS)
def test_transitions(seed: int) -> None:
    trace = random_trace(seed)
    law = invariant(CLASS, next="abs(new.x - old.x) <= 1")
    agree(law, trace, transitions(trace, lambda old, new: abs(new - old) <= 1))


@pytest.mark.parametrize("seed", SEEDS)
def test_bounded_responses_of_fields(seed: int) -> None:
    trace = random_trace(seed)

    def moved(index: int) -> tuple[Any, Any]:
        if not is_write(trace[index], "x"):
            return None, None
        target = trace[index]["targetId"]
        old = value(trace, index - 1, target, "x") if index else None
        return old, value(trace, index, target, "x")

    def changed(index: int) -> bool:
        old, new = moved(index)
        return None not in (old, new) and old != new

    def fell(index: int) -> bool:
        old, new = moved(index)
        return None not in (old, new) and new < old

    law = invariant(CLASS, when="new.x != old.x", then="new.x < old.x", within="2s")
    agree(law, trace, responses(trace, changed, fell, lambda index: False, 2.0))
    ended = invariant(CLASS, when="new.x != old.x", then="new.x < old.x", within=2, until="o.x == 0 and old.x > 0")

    def returned(index: int) -> bool:
        old, new = moved(index)
        return None not in (old, new) and old > 0 and new == 0

    agree(ended, trace, responses(trace, changed, fell, returned, 2.0))
    closed = invariant(CLASS, when="new.x != old.x", then="new.x < old.x", within=2, until="called('close')")
    agree(closed, trace, responses(trace, changed, fell, lambda index: is_call(trace[index], "func_pre", "close"), 2.0))


@pytest.mark.parametrize("seed", SEEDS)
def test_bounded_responses_of_calls(seed: int) -> None:
    trace = random_trace(seed)
    law = invariant(CLASS, when="created() or returned('open')", then="called('close')", within="1500ms")
    expected = responses(
        trace,
        lambda index: trace[index]["event"] == "new" or is_call(trace[index], "func_post", "open"),
        lambda index: is_call(trace[index], "func_pre", "close"),
        lambda index: False,
        1.5,
    )
    agree(law, trace, expected)


def test_the_traces_break_and_keep_the_invariants() -> None:
    """Else nothing would be compared."""
    law = invariant(CLASS, when="created() or returned('open')", then="called('close')", within="1500ms")
    counts = [len(monitored(law, random_trace(seed))) for seed in SEEDS]
    assert min(counts) == 0 and max(counts) > 3
