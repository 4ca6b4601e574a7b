"""Going on after a rejected event: the same as if it had never come, against the literal oracle."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given, settings

from lawful import rml
from lawful.laws.protocol import Verdict
from laws.rml.cores import CORES, using
from oracle.random_rml import cases, random_case
from oracle.rml import Oracle

HEAD = "a matches {n:'a'}; b matches {n:'b'}; p(x) matches {n:'p', v:x}; q(x) matches {n:'q', v:x};\n"
A, B = {"n": "a"}, {"n": "b"}


def forgiving(text: str, events: list[dict[str, Any]], which: str) -> int:
    """Forgive every rejection; after each event the law stands where the oracle does, which skips those events.

    Returns how many were rejected.
    """
    with using(which):
        monitor = rml.compile(text).monitor()
    oracle = Oracle(text)
    rejected = 0
    for number, event in enumerate(events, 1):
        monitor.step(event)
        if monitor.doomed_at is not None:
            assert not monitor.forgive()
            return rejected
        if oracle.can_step(event):
            oracle.step(event)
            assert monitor.rejected_at is None
            assert not monitor.forgive()
        else:
            rejected += 1
            assert monitor.rejected_at == number
            assert monitor.forgive()
        assert monitor.rejected_at is None
        assert monitor.events == number
        assert monitor.verdict == oracle.verdict
    return rejected


@pytest.mark.parametrize("which", CORES)
@pytest.mark.parametrize("start", range(0, 1000, 100))
def test_many_random_laws(start: int, which: str) -> None:
    rejected = sum(forgiving(*random_case(seed), which) for seed in range(start, start + 100))
    assert rejected > 10


@given(cases())
@settings(max_examples=100)
def test_random_laws(case: tuple[str, list[dict[str, Any]]]) -> None:
    for which in CORES:
        forgiving(*case, which)


@pytest.mark.parametrize("which", CORES)
@pytest.mark.parametrize("seed", range(0, 400, 2))
def test_a_batch_is_taken_up_after_its_rejected_event(seed: int, which: str) -> None:
    text, events = random_case(seed)
    law = rml.compile(text)
    with using(which):
        fed, stepped = law.monitor(), law.monitor()
    by_step, by_feed = [], []
    for event in events:
        stepped.step(event)
        if stepped.rejected_at is not None:
            by_step.append(stepped.rejected_at)
            if not stepped.forgive():
                break
    rest = events
    while rest:  # each round takes at least one event
        fed.feed(rest)
        if fed.rejected_at is None:
            break
        by_feed.append(fed.rejected_at)
        if not fed.forgive():
            break
        rest = events[fed.events :]
    assert by_feed == by_step
    assert (fed.verdict, fed.doomed_at) == (stepped.verdict, stepped.doomed_at)


@pytest.mark.parametrize("which", CORES)
def test_other_instances_are_judged_on(which: str) -> None:
    law = rml.compile(HEAD + "Main = {let x; p(x) (Main | q(x))}!;")
    with using(which):
        monitor = law.monitor()
    monitor.feed([{"n": "p", "v": 1}, {"n": "q", "v": 2}, {"n": "p", "v": 2}])
    assert monitor.rejected_at == 2
    assert monitor.forgive()
    assert monitor.events == 2
    monitor.feed([{"n": "p", "v": 2}, {"n": "q", "v": 2}, {"n": "q", "v": 2}])
    assert monitor.rejected_at == 5
    assert pickle.loads(pickle.dumps(monitor)).forgive()


@pytest.mark.parametrize("which", CORES)
def test_what_is_lost_cannot_be_forgiven(which: str) -> None:
    law = rml.compile(HEAD + r"Main = a none \/ b;")
    with using(which):
        monitor = law.monitor()
    assert monitor.feed([A, B]) is Verdict.FALSE
    assert (monitor.doomed_at, monitor.rejected_at) == (1, 2)
    before = monitor.outcome()
    assert not monitor.forgive()
    assert monitor.outcome() == before


@pytest.mark.parametrize("which", CORES)
def test_the_end_cannot_be_forgiven(which: str) -> None:
    with using(which):
        monitor = rml.compile(HEAD + "Main = a b;").monitor()
    monitor.feed([A])
    assert monitor.end() is Verdict.FALSE
    assert not monitor.forgive()
    assert monitor.rejected_at == "end"
