"""Lazy events: what is judged, found and written is what it would be with the events themselves."""

from __future__ import annotations

import asyncio
import gc
import re
from pathlib import Path
from typing import Any

import pytest

import lawful
import lawful.events
from lawful import core
from lawful.engine.session import Session
from lawful.sources.python import tracer_choice
from lawful.sources.python.scope import Scope
from lawful.sources.python.watch_planner import LawWatchPlanner

pytestmark = pytest.mark.skipif(core.native_tracer is None, reason="the pure-Python core makes all events")


class Pot:
    def __init__(self, size: int) -> None:
        self.size = size
        self.owner: object = None
        self.note = "new"

    def pour(self, amount: int, *, into: object = None) -> int:
        self.size -= amount
        return self.size

    def spill(self) -> None:
        raise ValueError("spilled")


POT = f"{__name__}.Pot"
LAWS = [
    lawful.invariants.invariant(POT, always="o.size >= 0", name="state"),
    lawful.invariants.invariant(POT, next="abs(new.size - old.size) <= 2", name="transition"),
    lawful.invariants.invariant(POT, always="args[0] != 3", on="called('pour')", name="call"),
    lawful.invariants.invariant(POT, always="res > 0", on="returned('pour')", name="result"),
    lawful.invariants.invariant(POT, when="raised('spill')", then="created()", within="1h", name="response"),
    lawful.invariants.invariant(POT, always="len(o.note) < 4 and o.owner is None", name="values"),
]


def work() -> None:
    for number in range(12):
        pot = Pot(2)
        pot.pour(1)
        pot.pour(number % 4, into=pot)
        pot.note = "n" * (number % 6)
        pot.owner = pot if number == 7 else None
        if number == 5:
            try:
                pot.spill()
            except ValueError:
                pot.size = 1.5  # type: ignore[assignment]
        pot.owner = None
        del pot
    gc.collect()


CHANGING = frozenset(
    {
        "time",
        "first_time",
        "last_time",
        "targetId",
        "resultId",
        "argIds",
        "kwargIds",
        "excId",
        "task",
        "bindings",
        "stack",
    }
)


def told(run: Any) -> list[Any]:
    """All that was found, but for times, ids, and who has called the run."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return [(key, plain(each)) for key, each in value.items() if key not in CHANGING]
        if isinstance(value, list | tuple):
            return [plain(each) for each in value]
        return re.sub(r"object \d+", "object", value) if isinstance(value, str) else value

    return [plain(finding.to_json()) for finding in run.findings]


def watched(**options: Any) -> Any:
    with lawful.watch(LAWS, project=Path(__file__).parent, **options) as run:
        work()
    return run


@pytest.fixture
def lazy(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each session that begins has lazy events."""
    found: list[bool] = []
    enable_fast_paths = Session._enable_fast_paths

    def noting(session: Session) -> None:
        enable_fast_paths(session)
        found.append(bool(getattr(session.tracer, "lazy_events", False)))

    monkeypatch.setattr(Session, "_enable_fast_paths", noting)
    return found


@pytest.mark.parametrize("options", [{}, {"sampling": lawful.Sampling(0.99, 0.01)}], ids=["all", "samples"])
def test_nothing_else_is_found(options: dict[str, Any], lazy: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    short = watched(**options)
    monkeypatch.setattr(Session, "_enable_fast_paths", lambda session: None)
    long = watched(**options)
    assert lazy == [tracer_choice.choose().name != "python"]
    assert {finding.law for finding in short.findings} >= {
        "state",
        "transition",
        "call",
        "result",
        "response",
        "values",
    }
    assert told(short) == told(long)
    assert short.events == long.events
    assert [each.laws for each in short.confidence] == [each.laws for each in long.confidence]


def test_no_dicts_are_made_of_what_nobody_wants_to_see(lazy: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    def seen() -> int:
        with lawful.watch(scope=lawful.Scope(calls=["*"], public=[__name__]), project=Path(__file__).parent) as run:
            work()
        return run.events

    short = seen()
    assert lazy == [tracer_choice.choose().name != "python"]
    monkeypatch.setattr(Session, "_enable_fast_paths", lambda session: None)
    assert seen() == short > 20


def test_a_trace_has_the_events_themselves(tmp_path: Path) -> None:
    def trace(name: str) -> list[dict[str, Any]]:
        watched(trace=str(tmp_path / name))
        with lawful.events.open_trace(tmp_path / name) as reader:
            return [event for batch in reader.batches() for event in batch]

    events = trace("a.jsonl")
    assert {"field_write", "func_pre", "func_post", "func_raise", "new", "gone"} <= {event["event"] for event in events}
    # Which number it has depends on what other threads, of those who run the tests, do meanwhile.
    assert len({event["thread"] for event in events if event["event"] != "tick"}) == 1


def native_cores() -> list[str]:
    return [name for name in tracer_choice.available() if name != "python"]


@pytest.mark.parametrize("name", native_cores())
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_lazy_event_gives_the_event(name: str, asynchronous: bool) -> None:
    async def main() -> None:
        work()

    def recorded(lazy: bool) -> list[Any]:
        events: list[Any] = []
        wanted = LawWatchPlanner(LAWS, Scope(project=Path(__file__).parent))
        tracer: Any = tracer_choice.choose(name).make(wanted, events.extend, gone=True)
        tracer.lazy_events = lazy
        tracer.start()
        try:
            asyncio.run(main()) if asynchronous else work()
        finally:
            tracer.stop()
        return events

    short, long = recorded(True), recorded(False)
    assert all(type(event) is dict for event in long) and not any(type(event) is dict for event in short)
    opened = [event.to_dict() for event in short]
    assert all(event.to_dict() is each for event, each in zip(short, opened, strict=True))
    assert [[*event] for event in opened] == [[*event] for event in long]
    # As above.
    assert {len({event["thread"] for event in events}) for events in (opened, long)} == {1}
    stays = [
        [{key: event[key] for key in event if key not in CHANGING | {"thread"}} for event in events]
        for events in (opened, long)
    ]
    assert stays[0] == stays[1]
