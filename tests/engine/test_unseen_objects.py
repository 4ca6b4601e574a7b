"""The end of an object is told to the laws that have heard of it: the same is found as if all were told."""

from __future__ import annotations

import random
from typing import Any

import pytest

from lawful import core, rml
from lawful.engine.law_judge import LawJudge
from lawful.engine.run import LawRun
from lawful.laws import catalog
from lawful.laws.loader import load_law
from lawful.laws.protocol import Verdict

Event = dict[str, Any]

CLOSED = """
open(f) matches {event: 'func_post', name: 'app.open', resultId: f};
use(f) matches {event: 'func_pre', name: 'app.use', argIds: [f, ...]};
close(f) matches {event: 'func_pre', name: 'app.close', targetId: f};
gone(f) matches {event: 'gone', targetId: f};
on(f) matches use(f) | close(f) | gone(f);
relevant matches open(_) | use(_) | close(_) | gone(_);
other matches use(_) | close(_) | gone(_);
Main = relevant >> Files;
Files = other* {let f; open(f) (Open<f> /\\ Files)}?;
Open<f> = on(f) >> use(f)* (close(f) Closed<f>)?;
Closed<f> = close(f)* (gone(f) all)?;
"""
# Each end counts, whoever's it is.
COUNTING = """
gone matches {event: 'gone', targetId: _};
stop matches {event: 'func_pre', name: 'app.close'};
either matches gone | stop;
Main = either >> gone{3} all;
"""
# After the first `close`, no object may end any more.
LOCKED = """
close matches {event: 'func_pre', name: 'app.close'};
gone matches {event: 'gone', targetId: _};
either matches close | gone;
Main = either >> gone* close close*;
"""
GUARDED = """
gone(f) matches {event: 'gone', targetId: f};
Main = gone(_) >> Loop;
Loop = {let f; gone(f) if (f > 3) Loop else empty}?;
"""
NAMED = """
gone(f) matches {event: 'gone', name: 'app.File', targetId: f};
Main = gone(_) >> empty;
"""
LAWS = {"closed": CLOSED, "counting": COUNTING, "locked": LOCKED, "guarded": GUARDED, "named": NAMED}


def events(seed: int) -> list[Event]:
    source = random.Random(seed)
    found: list[Event] = []
    alive: list[Any] = []
    for number in range(1, 60):
        kind = source.choice(["open", "open", "use", "close", "gone", "stranger"])
        known = source.choice(alive) if alive else None
        base: Event = {"thread": 1, "time": number / 10, "file": "a.py", "line": source.randrange(1, 6)}
        if kind == "open":
            alive.append(source.choice([number, f"o{number}"]))
            found.append({"event": "func_post", "name": "app.open", "resultId": alive[-1], **base})
        elif kind == "stranger":
            name = source.choice(["app.File", "app.Other"])
            found.append({"event": "gone", "name": name, "targetId": -number, **base})
        elif known is None:
            continue
        elif kind == "use":
            found.append({"event": "func_pre", "name": "app.use", "argIds": [known, None], **base})
        elif kind == "close":
            found.append({"event": "func_pre", "name": "app.close", "targetId": known, **base})
        else:
            alive.remove(known)
            found.append({"event": "gone", "name": "app.File", "targetId": known, **base})
    return found


def found_by(seed: int, *, told_all: bool) -> tuple[list[Any], list[str], int]:
    live = LawRun([rml.compile(text, name=name) for name, text in LAWS.items()])
    if told_all:
        live.law_set.router._seen = None
    source = random.Random(seed)
    rest, fed = events(seed), 0
    while rest:
        size = source.choice([1, 1, 2, 7, 30])
        live.deliver(rest[:size])
        rest = rest[size:]
        fed += sum(each.monitor.events for each in live.laws)
    live.end()
    told = [(each.law, each.rejected_at, each.line, each.count) for each in live.findings]
    return told, live.errors, len(live.law_set.router._seen or {})


@pytest.mark.parametrize("seed", range(60))
def test_the_same_is_found(seed: int) -> None:
    found, errors, _ = found_by(seed, told_all=False)
    everything, _, _ = found_by(seed, told_all=True)
    assert (found, errors) == (everything, [])


def test_there_is_something_to_find() -> None:
    laws = {law for seed in range(60) for law, *_ in found_by(seed, told_all=False)[0]}
    assert laws == set(LAWS)


def test_laws_that_look_at_more_than_the_id_are_told_of_every_end() -> None:
    tracks_objects = {name: rml.compile(text, name=name).tracks_objects for name, text in LAWS.items()}
    assert tracks_objects == {"closed": True, "counting": True, "locked": True, "guarded": False, "named": False}


def test_a_variable_that_is_reckoned_with_under_another_name() -> None:
    text = GUARDED.replace("gone(f) if (f > 3) Loop else empty", "gone(f) Next<f>")
    law = rml.compile(text + "Next<n> = if (n > 3) Loop else empty;")
    assert not law.tracks_objects


def test_ends_of_strangers_come_to_no_law_of_the_catalogue() -> None:
    names = ["sockets/left-open", "threads/start-once", "files/use-after-close"]
    live = LawRun([load_law(catalog.find(name), name=name) for name in names])
    live.deliver([{"event": "gone", "name": "app.A", "targetId": 1}])
    assert all(each.queue.ignores_unseen_end for each in live.laws)
    live.deliver([{"event": "gone", "name": "app.A", "targetId": number} for number in range(2, 500)])
    assert [each.monitor.events for each in live.laws] == [0, 0, 0]
    assert live.events == 499


def test_what_was_seen_is_forgotten_with_the_object() -> None:
    live = LawRun([rml.compile(CLOSED, name="closed")])
    for number in range(1, 50):
        live.deliver([{"event": "func_post", "name": "app.open", "resultId": number}])
        assert live.law_set.router._seen is not None
        assert list(live.law_set.router._seen) == [number]
        live.deliver([{"event": "gone", "name": "app.File", "targetId": number}])
        assert not live.law_set.router._seen


def test_an_object_that_was_seen_in_an_event_with_an_odd_name() -> None:
    law = CLOSED.replace("name: 'app.open', resultId", "resultId")
    live = LawRun([rml.compile(law, name="closed")])
    live.deliver([{"event": "gone", "name": "app.A", "targetId": 9}])
    live.deliver([{"event": "func_post", "name": 5, "resultId": 1}, {"event": "gone", "name": "app.A", "targetId": 8}])
    assert live.laws[0].queue.ignores_unseen_end
    live.deliver([{"event": "gone", "name": "app.File", "targetId": 1}])
    assert len(live.findings) == 1


def test_ends_that_no_law_is_about() -> None:
    live = LawRun([rml.compile("a matches {event: 'func_pre', name: 'app.a'}; Main = a >> a*;", name="a")])
    live.deliver([{"event": "func_pre", "name": "app.a", "targetId": number} for number in range(100)])
    assert live.events == 100
    live.deliver([{"event": "gone", "name": "app.A", "targetId": number} for number in range(100)])
    assert (live.events, live.errors, live.law_set.router._seen) == (200, [], {})


def test_a_batch_full_of_violations_is_fed_in_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "bad matches {event: 'func_pre', name: 'app.bad'}; Main = bad >> empty;"
    each = LawJudge(rml.compile(text, name="bad"))
    fed = 0
    feed = each.monitor.feed

    def counted(events: Any, numbers: Any = None) -> Verdict:
        nonlocal fed
        fed += len(events)
        return feed(events, numbers)

    monkeypatch.setattr(each.monitor, "feed", counted)
    size = 3000
    each.queue.events.extend([{"event": "func_pre", "name": "app.bad" if n % 3 else "app.other"} for n in range(size)])
    each.queue.numbers.extend(range(1, size + 1))
    told: list[int] = []
    each.judge(lambda _law, _event, number: bool(told.append(number)))
    assert told == [n + 1 for n in range(size) if n % 3]
    assert fed < 5 * size


def test_the_machine_changes_nothing_when_it_is_asked_what_it_would_ignore() -> None:
    monitor = rml.compile(CLOSED, name="closed").monitor()
    for number in range(3):
        monitor.step({"event": "func_post", "name": "app.open", "resultId": number})
    monitor.step({"event": "gone", "targetId": 8})
    machine = monitor._machine
    before = machine.dump()
    assert machine.ignores({"event": "gone", "targetId": 7})
    assert not machine.ignores({"event": "gone", "targetId": 1})
    assert not machine.ignores({"event": "func_post", "name": "app.open", "resultId": 9})
    assert machine.dump() == before
    if core.native is not None:
        with pytest.raises(TypeError, match="an event is a dict"):
            machine.ignores(5)  # type: ignore[arg-type]
