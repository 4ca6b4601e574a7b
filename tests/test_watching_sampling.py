"""Samples of a running program's objects: threads, forks, stores, and policies that look at the program."""

from __future__ import annotations

import gc
import os
import threading
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import lawful
from lawful.errors import LawfulError


class Node:
    def __init__(self, rc: int = 0) -> None:
        self.rc = rc


class Leaf(Node):
    """Whose constructor does something before and after that of its base."""

    def __init__(self) -> None:
        self.rc = 1
        super().__init__(0)
        self.rc = 1


NODE = f"{__name__}.Node"
NEVER = lawful.invariants.invariant(NODE, always="o.rc >= 0", name="never")
STEP = lawful.invariants.invariant(NODE, next="abs(new.rc - old.rc) <= 1", name="step")


def use(rc: int = 0) -> None:
    node = Node()
    node.rc += 1
    node.rc = rc


SAMPLING = {each.name for each in fields(lawful.Sampling)}


def watched(**options: Any) -> Any:
    sampling: dict[str, Any] = {"confidence": 0.9, "error_rate": 0.1}  # 22 clean lives
    sampling |= {name: value for name, value in options.items() if name in SAMPLING}
    others = {name: value for name, value in options.items() if name not in SAMPLING}
    return lawful.watch(
        [NEVER, STEP], project=Path(__file__).parent, **{"sampling": lawful.Sampling(**sampling)} | others
    )


def only(run: Any) -> Any:
    (summary,) = run.confidence
    return summary


def test_after_the_target_nothing_is_followed() -> None:
    with watched() as run:
        for _ in range(100):
            use()
        assert only(run).state == "off"
        before = run.events
        for _ in range(100):
            use()
    assert run.events == before
    summary = only(run)
    assert (summary.sampled, summary.alive, summary.rate) == (22, 0, 0)
    assert [(law.samples, law.violations, law.state) for law in summary.laws] == [(22, 0, "reached")] * 2


def test_an_object_has_one_life_whatever_its_constructors_do() -> None:
    with watched(confidence=0.999999) as run:
        for _ in range(10):
            Leaf()
            use()
    assert (only(run).created, only(run).sampled) == (20, 20)
    assert {law.samples for law in only(run).laws} == {20}


def test_threads_share_the_coin() -> None:
    def work() -> None:
        for _ in range(50):
            use()

    with watched(confidence=0.99999, error_rate=0.01) as run:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert (only(run).sampled, only(run).laws[0].samples) == (200, 200)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_the_lives_of_a_forked_child_count_and_those_that_it_inherits_do_not() -> None:
    with watched(confidence=0.99999) as run:
        kept = Node()
        for _ in range(5):
            use()
        child = os.fork()
        if not child:
            kept.rc = -5  # a copy
            del kept
            for _ in range(3):
                use()
            os._exit(0)
        os.waitpid(child, 0)
        del kept
        gc.collect()
    assert {(law.samples, law.violations) for law in only(run).laws} == {(5 + 1 + 3, 0)}


def test_a_violation_is_raised_in_front_of_the_write() -> None:
    with watched(on_violation="raise") as run:
        node = Node()
        with pytest.raises(lawful.Violation):
            node.rc = -1
        assert node.rc == 0
        node.rc = 1
    assert len(run.findings) == 1
    assert [law.violations for law in only(run).laws] == [1, 0]


def test_new_code_brings_a_higher_rate_back() -> None:
    namespace: dict[str, Any] = {}
    path = str(Path(__file__).parent / "made_up.py")
    exec(compile("def fresh(node):\n    node.rc = 0\n", path, "exec"), namespace)
    with watched(policy="taper(3)") as run:
        for _ in range(400):
            use()
            if only(run).state != "coin-2":
                break
        else:
            raise AssertionError("it did not grow surer")
        namespace["fresh"](Node())
        assert only(run).state == "coin-2"
    assert [move.why for move in only(run).moves][-1] == "on new code"


@pytest.mark.parametrize(("share", "fewer"), [(5.0, True), (0.0, False)])
def test_an_overhead_is_held_by_following_more_or_fewer(
    monkeypatch: pytest.MonkeyPatch, share: float, fewer: bool
) -> None:
    from lawful.confidence.engine import Confidence
    from lawful.engine.tracer_sampling import TracerSampler

    seconds = iter(range(10_000))
    monkeypatch.setattr(Confidence, "now", property(lambda self: float(next(seconds))))
    monkeypatch.setattr(TracerSampler, "_overhead", lambda self: (share, share))
    with watched(confidence=0.999999, error_rate=1e-6, overhead="1%") as run:
        sampler = run._session.sampler
        before = only(run).rate
        for _ in range(50):
            sampler.beat()
        after = only(run).rate
        assert (after < before) == fewer and (after > before) != fewer


def test_what_watching_costs_is_measured() -> None:
    with watched(confidence=0.999999, error_rate=1e-6) as run:
        tracer = run._session.tracer
        before = tracer.cost
        for _ in range(2000):
            use()
        tracer.flush()
        assert tracer.cost > before


def test_what_was_counted_is_kept_in_a_store(tmp_path: Path) -> None:
    counts = []
    for _ in range(3):
        with watched(store=tmp_path / "store.db") as run:
            for _ in range(10):
                use()
        counts.append(only(run).laws[0].samples)
    assert counts == [10, 20, 22]


def test_a_policy_may_be_given_as_it_is() -> None:
    from lawful.confidence import policy_parser

    none = policy_parser.parse("policy none\nstart no\nstate no: sample none\n")
    with watched(policy=none) as run:
        use(-1)
    assert (only(run).sampled, run.findings) == (0, [])


@pytest.mark.parametrize(
    ("options", "slug"),
    [
        ({"confidence": 2}, "confidence-range"),
        ({"confidence": "high"}, "watch-option"),
        ({"error_rate": True}, "watch-option"),
        ({"policy": "tapir"}, "policy-unknown"),
        ({"overhead": 0}, "policy-overhead"),
        ({"sampling": None, "on_violation": "count"}, "watch-option"),
    ],
)
def test_bad_options(options: dict[str, Any], slug: str) -> None:
    with pytest.raises(LawfulError) as caught:
        watched(**options)
    assert caught.value.slug == slug and caught.value.hint


def test_a_law_about_all_events_sees_all_and_the_others_their_samples() -> None:
    from lawful.confidence import policy_parser

    half = policy_parser.parse("policy half\nstart half\nstate half: sample 1 in 2\n")
    every = lawful.rml.compile(f"w matches {{event: 'field_write', name: '{NODE}.rc'}};\nMain = w*;", name="every")
    with lawful.watch(
        [NEVER, every], project=Path(__file__).parent, sampling=lawful.Sampling(policy=half, seed=5)
    ) as run:
        for _ in range(100):
            use()
    summary = only(run)
    assert run.findings == []
    assert 20 < summary.sampled < 80
    assert (summary.created, summary.laws[0].samples) == (100, summary.sampled)
    assert run.events >= 300  # writes, of all objects


def test_a_watch_that_learns_samples_too() -> None:
    with watched(learn=True, confidence=0.999) as run:
        for _ in range(30):
            use()
    assert {law.samples for law in only(run).laws} == {30}
    assert run.learner is not None


def test_a_field_that_nothing_writes_is_told_of_samples_too() -> None:
    law = lawful.invariants.invariant(NODE, always="o.missing >= 0", name="wrong")
    with lawful.watch(
        [law], sampling=lawful.Sampling(confidence=0.9, error_rate=0.1), project=Path(__file__).parent
    ) as run:
        for _ in range(5):
            use()
    assert only(run).laws[0].unknown == 5
    assert any("invariant-field-unseen" in text for text in run.warnings), run.warnings
