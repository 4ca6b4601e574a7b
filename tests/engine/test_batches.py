"""The way of a batch of events to the laws: the C core against the Python loops that it stands for."""

from __future__ import annotations

import random
from typing import Any

import pytest

from lawful import core
from lawful.confidence import policies
from lawful.confidence.engine import Demand
from lawful.engine.evidence import RecentEvents
from lawful.engine.run import LawRun
from lawful.engine.sample_tracking import SampleTracking
from lawful.laws.invariants import invariant
from lawful.laws.protocol import Law

pytestmark = pytest.mark.skipif(core.native is None, reason="there is no C core")

Event = dict[str, Any]
LAWS: list[Law] = [
    invariant("app.A", always="o.x >= 0", next="abs(new.x - old.x) <= 2"),
    invariant("app.A", when="created()", then="called('close')", within=2, until="o.x == 3"),
    invariant("app.B", next="new.x != old.x", from_="created()"),
]
IDS: list[Any] = [1, 7, "a", [1, 2], [2, 2, None, 3], [True, 1], (1, 2), list(range(1, 30)), {"n": 3, "m": None}, None]
STRANGE: list[Any] = [None, True, 1.5, [], {}, "", "gone", 10**30, -4, ["x"]]


def random_event(source: random.Random, time: float) -> Event:
    kind = source.choice(
        ["new", "field_write", "field_write", "field_write", "func_pre", "gone", "born", "tick", "own"]
    )
    name = source.choice(["app.A", "app.B"])
    if kind in ("field_write", "func_pre"):
        name += source.choice([".x", ".close", f".y{source.randrange(60)}"])
    event: Event = {"event": kind, "name": "".join(name), "targetId": source.choice([1, 2, 3, 4, "a"]), "time": time}
    event |= {"file": "a.py", "line": source.randrange(9), "thread": source.randrange(1, 4)}
    if source.random() < 0.6:
        event["res"] = source.choice([-1, 0, 1, 2, 3, 9])
    if source.random() < 0.2:
        event[source.choice(["argIds", "resultId", "kwargIds", "ownId"])] = source.choice(IDS)
    if source.random() < 0.1:
        # A target that is no key is more than the recollection bears, on either core.
        key = source.choice(["event", "name", "thread", "time", "res"])
        event[key] = source.choice(STRANGE)
    if source.random() < 0.05:
        event["targetId"] = source.choice([None, True, 1.5, 10**30])
    if source.random() < 0.05:
        event.pop(source.choice(list(event)))
    return event


def batches(seed: int) -> list[list[Event]]:
    source = random.Random(seed)
    found: list[list[Event]] = []
    time = 0.0
    for _ in range(source.randrange(1, 8)):
        found.append([])
        for _ in range(source.choice([0, 1, 5, 60])):
            time += source.choice([0.0, 0.1, 0.5])
            found[-1].append(random_event(source, time))
    return found


def run(seed: int, sampled: bool) -> list[Any]:
    """All that a run says after each batch, and what it keeps of the events."""
    demand = Demand(0.9, 0.1, policies.named("taper(2)") if seed % 2 else policies.named("off"), seed)
    tracking = SampleTracking(LAWS, demand) if sampled else None
    live = LawRun(LAWS, history=2, tracking=tracking)
    live.evidence.recent = RecentEvents(2, objects=6, others=5)
    log: list[Any] = []
    for batch in batches(seed):
        live.deliver(batch)
        kept = live.evidence.recent
        log.append((live.snapshot(), live._number, kept._young, kept._old, list(kept._last), kept.forgot))
        if tracking is not None:
            log.append({name: list(each) for name, each in tracking._followed.items()})
    live.end()
    return [*map(repr, log), live.snapshot(), live.errors]


@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("seed", range(80))
def test_events_take_the_same_way(monkeypatch: pytest.MonkeyPatch, seed: int, sampled: bool) -> None:
    found = run(seed, sampled)
    monkeypatch.setattr(core, "native", None)
    assert found == run(seed, sampled)


def test_the_runs_find_something_and_follow_some() -> None:
    """Else nothing would be compared."""
    found = [run(seed, sampled) for seed in range(20) for sampled in (False, True)]
    assert sum(bool(each[-2]["findings"]) for each in found) > 10
    assert any(each[-2].get("samples") for each in found)
    assert sum(not each[-1] for each in found) > 30  # no faults


def test_what_is_no_event_is_an_error() -> None:
    assert core.native is not None
    for batch in ([5], [{"event": "new"}, None]):
        with pytest.raises(TypeError, match="an event is a dict"):
            core.native.dispatch(batch, 1, {("new", None): ()}, [], None, None, None)
    with pytest.raises(TypeError, match="tuple"):
        core.native.dispatch([{"event": "new"}], 1, {("new", None): []}, [], None, None, None)


def test_the_highest_thread_is_told() -> None:
    assert core.native is not None
    events: list[Event] = [{"event": "new", "thread": each} for each in (3, 10**30, True, None, 4, -1)]
    assert core.native.dispatch(events, 1, {("new", None): ()}, [], None, None, None) == 10**30
    assert core.native.dispatch([{"event": "new"}], 1, {("new", None): ()}, [], None, None, None) == 0
