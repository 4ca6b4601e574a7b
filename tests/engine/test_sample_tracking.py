"""Lives of objects in a stream of events, against literal readings of the paper's algorithm."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

import lawful
from lawful.confidence import policies
from lawful.confidence.engine import Demand, Tally
from lawful.confidence.policy_automaton import Policy
from lawful.confidence.policy_run import PolicyRun
from lawful.confidence.store import ConfidenceHistory
from lawful.config import SamplingConfig
from lawful.engine.run import LawRun
from lawful.engine.sample_tracking import SampleTracking, demand
from lawful.errors import LawfulError

Event = dict[str, Any]

CLASS = "app.Counter"
FIELD = "app.Counter.rc"
STATE = "state"
STEP = "step"


def laws() -> list[Any]:
    return [
        lawful.invariants.invariant(CLASS, always="o.rc >= 0", name=STATE),
        lawful.invariants.invariant(CLASS, next="abs(new.rc - old.rc) <= 1", name=STEP),
    ]


def asked(error_rate: float = 0.1, confidence: float = 0.9, policy: Policy | None = None, seed: int = 0) -> Demand:
    return Demand(confidence, error_rate, policy or policies.off(), seed)


def live_run(demand: Demand, **options: Any) -> LawRun:
    made = laws()
    return LawRun(made, tracking=SampleTracking(made, demand), **options)


def confidence_of(run: LawRun) -> Any:
    assert run.tracking is not None
    return run.tracking.confidence


def stream(rng: random.Random, objects: int, faulty: float) -> list[Event]:
    """Objects that are made, counted up and down, and dropped; some lives overlap, some are wrong, some go on."""
    events: list[Event] = []
    alive: dict[int, int] = {}
    made = 0
    while made < objects or alive:
        if made < objects and (not alive or rng.random() < 0.3):
            made += 1
            alive[made] = 0
            events.append({"event": "new", "name": CLASS, "targetId": made})
            events.append({"event": "field_write", "name": FIELD, "targetId": made, "res": 0})
            continue
        target = rng.choice(list(alive))
        if rng.random() < 0.2:
            del alive[target]
            if rng.random() < 0.95:
                events.append({"event": "gone", "name": CLASS, "targetId": target})
            continue
        steps = [1, -1] if alive[target] > 0 else [1]
        alive[target] += rng.choice([-3, 3] if rng.random() < faulty else steps)
        events.append({"event": "field_write", "name": FIELD, "targetId": target, "res": alive[target]})
    return events


def figure_3(events: list[Event], needed: int) -> tuple[int, int, int | None]:
    """Fig. 3 for every object (the coin always shows its side), with `cn` of monitored objects only.

    How many objects were taken, how many ended, and the first that broke a law.
    """
    tn = cn = needed
    monitored: dict[int, int | None] = {}
    for event in events:
        target = event["targetId"]
        if event["event"] == "new" and tn > 0:
            tn -= 1
            monitored[target] = None
        elif event["event"] == "gone" and target in monitored:
            del monitored[target]
            cn -= 1
            if cn == 0:
                break
        elif event["event"] == "field_write" and target in monitored:
            before, after = monitored[target], event["res"]
            monitored[target] = after
            if after < 0 or (before is not None and abs(after - before) > 1):
                return needed - tn, needed - cn, target
    return needed - tn, needed - cn, None


@pytest.mark.parametrize("seed", range(60))
def test_the_algorithm_is_that_of_figure_3(seed: int) -> None:
    rng = random.Random(seed)
    events = stream(rng, rng.randrange(5, 60), rng.choice([0, 0, 0.02]))
    demand = asked()
    taken, ended, culprit = figure_3(events, demand.needed)
    run = live_run(demand)
    for event in events:
        run.deliver([event])
        if run.findings:
            break
    (group,) = confidence_of(run).groups.values()
    finding = run.findings[0] if run.findings else None
    assert (finding and finding.event and finding.event["targetId"]) == culprit
    assert (group.taken, group.laws[STATE].clean) == (taken, ended)


@pytest.mark.parametrize("seed", range(20))
def test_a_law_sees_the_lives_that_the_coin_took_and_nothing_else(seed: int) -> None:
    rng = random.Random(seed)
    events = stream(rng, 80, 0.01)
    policy = policies.taper(4)
    run = live_run(asked(policy=policy, seed=seed))
    run.deliver(events)
    # The whole stream is one batch: no state is left in it, and each object has one flip, in the order of births.
    policy_run = PolicyRun(policy, asked().needed, seed)
    taken = {event["targetId"] for event in events if event["event"] == "new" and policy_run.take()}
    (group,) = confidence_of(run).groups.values()
    gone = {event["targetId"] for event in events if event["event"] == "gone"}
    broken = _broken(events)
    assert (group.born, group.taken) == (80, len(taken))
    assert {finding.event["targetId"] for finding in run.findings if finding.event} <= taken
    assert group.laws[STATE] == _tally(taken & gone, taken & gone & broken[STATE])
    assert group.laws[STEP] == _tally(taken & gone, taken & gone & broken[STEP])
    run.end()
    assert group.laws[STEP].violated == len(taken & broken[STEP])
    assert group.alive == len(taken - gone - broken[STATE] - broken[STEP])


def _tally(ended: set[int], violated: set[int]) -> Tally:
    return Tally(clean=len(ended - violated), violated=len(violated))


def _broken(events: list[Event]) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {STATE: set(), STEP: set()}
    values: dict[int, int] = {}
    for event in events:
        if event["event"] == "field_write":
            target, after = event["targetId"], event["res"]
            if after < 0:
                found[STATE].add(target)
            if target in values and abs(after - values[target]) > 1:
                found[STEP].add(target)
            values[target] = after
    return found


def test_lives_that_go_on_are_no_samples() -> None:
    run = live_run(asked())
    run.deliver([{"event": "field_write", "name": FIELD, "targetId": 1, "res": 0}])
    run.end()
    (summary,) = confidence_of(run).summary()
    assert (summary.sampled, summary.alive) == (1, 1)
    assert {law.samples for law in summary.laws} == {0}


def test_a_life_that_cannot_be_judged_counts_for_nothing() -> None:
    run = live_run(asked())
    run.deliver(
        [
            {"event": "field_write", "name": FIELD, "targetId": 1, "res": 0},
            {"event": "field_write", "name": FIELD, "targetId": 1, "res": "many"},
            {"event": "gone", "name": CLASS, "targetId": 1},
        ]
    )
    run.end()
    (summary,) = confidence_of(run).summary()
    assert [(law.samples, law.unknown) for law in summary.laws] == [(0, 1), (0, 1)]
    assert not run.findings
    assert any("could not be judged" in text for text in run.warnings)


def test_a_law_that_is_not_about_single_objects_is_judged_on_all_events() -> None:
    rml = lawful.rml.compile("tick matches {event:'t'};\nMain = tick tick;", name="two")
    made = [*laws(), rml]
    run = LawRun(made, tracking=SampleTracking(made, asked(policy=_none())))
    run.deliver([{"event": "t"}, {"event": "t"}, {"event": "t"}])
    assert [finding.law for finding in run.findings] == ["two"]
    assert run.tracking is not None and run.tracking.unsampled_laws == ["two"]


def _none() -> Policy:
    from lawful.confidence import policy_parser

    return policy_parser.parse("policy no\nstart no\nstate no: sample none\n")


def test_violations_that_are_only_counted_are_no_findings() -> None:
    few = asked(error_rate=0.5)
    run = live_run(few, on_violation="count")
    run.deliver(
        [
            {"event": "field_write", "name": FIELD, "targetId": 1, "res": -1},
            {"event": "gone", "name": CLASS, "targetId": 1},
        ]
    )
    assert not run.findings and not run.failed
    (group,) = confidence_of(run).groups.values()
    assert group.laws[STATE].violated == 1
    for target in range(2, 30):
        run.deliver(
            [
                {"event": "field_write", "name": FIELD, "targetId": target, "res": -1},
                {"event": "gone", "name": CLASS, "targetId": target},
            ]
        )
    assert not run.findings and run.failed  # more than half of all objects break it


def test_after_violations_the_policy_asks_for_more() -> None:
    few = asked(error_rate=0.1, confidence=0.9)
    run = live_run(few)
    (group,) = confidence_of(run).groups.values()
    run.deliver(
        [
            {"event": "field_write", "name": FIELD, "targetId": 1, "res": -1},
            {"event": "gone", "name": CLASS, "targetId": 1},
        ]
    )
    target = 1
    while group.policy_run.rate:
        target += 1
        run.deliver(
            [
                {"event": "field_write", "name": FIELD, "targetId": target, "res": 0},
                {"event": "gone", "name": CLASS, "targetId": target},
            ]
        )
    claims = [confidence_of(run).claim(group, law) for law in (STATE, STEP)]
    assert all(claim.reached for claim in claims)
    # With one sample less it was not: the policy has waited for the claim, and no longer.
    state = claims[0]
    assert state.samples == state.needed > few.needed
    # With one violation in n samples: (1-e)^n + n e (1-e)^(n-1) is at most half of delta.
    n = state.samples
    assert [0.9**m + m * 0.1 * 0.9 ** (m - 1) <= few.delta / 2 for m in (n - 1, n)] == [False, True]


def test_a_finding_tells_how_the_object_began() -> None:
    run = live_run(asked())
    made = {"event": "new", "name": CLASS, "targetId": 1, "file": "app.py", "line": 3}
    run.deliver([made, {"event": "field_write", "name": FIELD, "targetId": 1, "res": -1}])
    assert run.findings[0].made == made


def test_processes_add_up_and_copies_of_objects_count_once() -> None:
    run, child = live_run(asked()), live_run(asked())
    own = {"event": "field_write", "name": FIELD, "targetId": 5, "res": 0}
    run.deliver([own])
    assert child.tracking is not None
    child.deliver([own])
    child.after_fork_in_child()
    child.tracking.after_fork_in_child(1)
    new = 2**32 + 1
    child.deliver(
        [
            own,
            {"event": "gone", "name": CLASS, "targetId": 5},
            {"event": "field_write", "name": FIELD, "targetId": new, "res": 0},
            {"event": "gone", "name": CLASS, "targetId": new},
        ]
    )
    run.deliver([{"event": "gone", "name": CLASS, "targetId": 5}])
    run.merge(child.snapshot())
    (group,) = confidence_of(run).groups.values()
    assert (group.taken, group.laws[STATE].clean) == (2, 2)


# -- what is asked for ------------------------------------------------------------------------------------------------


def test_the_demand_is_the_papers() -> None:
    made = demand(SamplingConfig(confidence=0.99999, error_rate=1e-5))
    assert made.needed == 1151287 == math.ceil(math.log(1e-5) / math.log1p(-1e-5))
    assert made.policy == policies.off()


@pytest.mark.parametrize(
    ("asked", "slug"),
    [
        (SamplingConfig(confidence=1.0), "confidence-range"),
        (SamplingConfig(confidence=float("nan")), "confidence-range"),
        (SamplingConfig(error_rate=0.0), "confidence-range"),
        (SamplingConfig(policy="tapir"), "policy-unknown"),
        (SamplingConfig(overhead="much"), "policy-overhead"),
        (SamplingConfig(overhead="5%", policy="taper"), "usage"),
    ],
)
def test_what_makes_no_sense_is_refused(asked: SamplingConfig, slug: str) -> None:
    with pytest.raises(LawfulError) as caught:
        demand(asked)
    assert caught.value.slug == slug
    assert caught.value.hint


# -- from run to run --------------------------------------------------------------------------------------------------


def _tracking(run: LawRun, first: int, count: int, value: int = 0) -> None:
    for target in range(first, first + count):
        run.deliver(
            [
                {"event": "field_write", "name": FIELD, "targetId": target, "res": value},
                {"event": "gone", "name": CLASS, "targetId": target},
            ]
        )


def test_confidence_is_kept_from_run_to_run(tmp_path: Any) -> None:
    path = str(tmp_path / "store.db")
    wanted = asked()
    total = 0
    for number in range(4):
        run = live_run(wanted)
        confidence_history = ConfidenceHistory(path, laws())
        confidence_history.recall(confidence_of(run))
        (group,) = confidence_of(run).groups.values()
        assert group.total(STATE).clean == total
        _tracking(run, 1, 7)
        confidence_history.keep(confidence_of(run))
        total += group.laws[STATE].clean
        assert total == min(7 * (number + 1), wanted.needed)
    assert confidence_of(run).claim(group, STATE).reached
    assert group.policy_run.state == "off"


def test_a_law_whose_text_has_changed_begins_anew(tmp_path: Any) -> None:
    path = str(tmp_path / "store.db")
    run = live_run(asked())
    _tracking(run, 1, 3)
    ConfidenceHistory(path, laws()).keep(confidence_of(run))
    changed = [lawful.invariants.invariant(CLASS, always="o.rc >= 1", name=STATE), laws()[1]]
    again = LawRun(changed, tracking=SampleTracking(changed, asked()))
    ConfidenceHistory(path, changed).recall(confidence_of(again))
    (group,) = confidence_of(again).groups.values()
    assert (group.total(STATE).clean, group.total(STEP).clean) == (0, 3)


# -- when it is off ---------------------------------------------------------------------------------------------------


def test_objects_that_live_on_are_let_go_when_the_target_is_reached() -> None:
    run = live_run(asked(error_rate=0.5, confidence=0.5))  # one clean life is enough
    (group,) = confidence_of(run).groups.values()
    assert group.policy_run.needed == 1
    run.deliver([{"event": "field_write", "name": FIELD, "targetId": 1, "res": 0}])
    group.policy_run.unknown()  # as if it had been waited for too long: another one may take its place
    _tracking(run, 2, 1)
    assert group.policy_run.state == "off"
    run.deliver([{"event": "field_write", "name": FIELD, "targetId": 1, "res": -1}])
    assert not run.findings
    assert (group.alive, group.laws[STATE]) == (1, Tally(clean=1))


def test_an_object_that_never_ends_does_not_keep_the_target_from_being_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    run = live_run(asked(error_rate=0.1, confidence=0.9))
    confidence = confidence_of(run)
    (group,) = confidence.groups.values()
    clock = [0.0]
    monkeypatch.setattr(type(confidence), "now", property(lambda self: clock[0]))
    run.deliver([{"event": "field_write", "name": FIELD, "targetId": 1, "res": 0}])
    for target in range(2, group.policy_run.needed + 1):
        clock[0] += 0.5
        _tracking(run, target, 1)
    assert group.policy_run.budget == 0 and group.policy_run.state != "off"
    clock[0] += 0.5
    confidence.beat()  # lives of this class last no time, but one has ended a moment ago
    assert group.policy_run.budget == 0
    clock[0] += 60
    confidence.beat()
    assert group.policy_run.budget == 1
    _tracking(run, 100, 1)
    assert group.policy_run.state == "off" and confidence.claim(group, STATE).reached


# -- where the tracer flips the coins ---------------------------------------------------------------------------------


def test_a_life_begins_where_the_tracer_says_so_and_other_objects_are_none() -> None:
    run = live_run(asked())
    assert run.tracking is not None
    run.tracking.leave_to_tracer({7: CLASS})
    run.deliver(
        [
            {"event": "field_write", "name": FIELD, "targetId": 1, "res": -1},  # somebody else wants to see it
            {"event": "born", "name": "app.Special", "targetId": 2, "sampled": 7, "stack": ["app.py:3 make"]},
            {"event": "field_write", "name": FIELD, "targetId": 2, "res": -1},
            {"event": "gone", "name": CLASS, "targetId": 1},
            {"event": "gone", "name": "app.Special", "targetId": 2},
        ]
    )
    assert [finding.event["targetId"] for finding in run.findings if finding.event] == [2]
    made = run.findings[0].made
    assert made is not None and made["stack"] == ["app.py:3 make"]
    (group,) = confidence_of(run).groups.values()
    assert (group.taken, group.laws[STATE]) == (1, Tally(violated=1))


def test_what_an_rml_law_misses_at_the_end_was_no_clean_life() -> None:
    law = lawful.rml.compile(
        "made(a) matches {event: 'new', name: 'app.A', targetId: a};\n"
        "close(a) matches {event: 'func_pre', name: 'app.A.close', targetId: a};\n"
        "relevant matches made(_) | close(_);\n"
        "Main = relevant >> As;\nAs = {let a; made(a) (close(a) | As)}?;\n",
        name="closed",
    )
    run = LawRun([law], tracking=SampleTracking([law], asked(error_rate=0.001)))
    for target in range(1, 11):
        run.deliver([{"event": "new", "name": "app.A", "targetId": target}])
        if target % 2:
            run.deliver([{"event": "func_pre", "name": "app.A.close", "targetId": target}])
        run.deliver([{"event": "gone", "name": "app.A", "targetId": target}])
    run.end()
    (group,) = confidence_of(run).groups.values()
    assert group.laws["closed"] == Tally(clean=5, violated=5)
    assert run.violations == 5


def test_an_invariant_that_was_never_judged_is_unknown() -> None:
    run = live_run(asked())
    assert run.tracking is not None
    run.tracking.leave_to_tracer({1: CLASS})
    run.deliver(
        [
            {"event": "born", "name": CLASS, "targetId": 1, "sampled": 1},
            {"event": "gone", "name": CLASS, "targetId": 1},
            {"event": "born", "name": CLASS, "targetId": 2, "sampled": 1},
            {"event": "field_write", "name": FIELD, "targetId": 2, "res": 1},
            {"event": "gone", "name": CLASS, "targetId": 2},
        ]
    )
    (group,) = confidence_of(run).groups.values()
    assert group.laws[STATE] == Tally(clean=1, unknown=1)
    assert group.laws[STEP] == Tally(clean=2)  # what never moves, moves by one at most


def test_many_violations_cost_no_more_each() -> None:
    run = live_run(asked(error_rate=1e-5), on_violation="count")
    (group,) = confidence_of(run).groups.values()
    calls: list[int] = []
    require = group.policy_run.require
    group.policy_run.require = lambda needed: calls.append(needed) or require(needed)
    events: list[Event] = []
    for target in range(1, 501):
        events.append({"event": "field_write", "name": FIELD, "targetId": target, "res": -1})
        events.append({"event": "gone", "name": CLASS, "targetId": target})
    run.deliver(events)
    assert group.laws[STATE].violated == 500
    assert len(calls) == 1


def test_odd_ids_disturb_nobody() -> None:
    run = live_run(asked())
    run.deliver(
        [{"event": "field_write", "name": FIELD, "targetId": odd, "res": 1} for odd in ([1], {"a": 1}, 1.5, None)]
    )
    assert run.fault is None


def test_an_object_that_owes_something_keeps_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    law = lawful.invariants.invariant(CLASS, when="new.rc > 0", then="new.rc == 0", within="30s", name="leak")
    run = LawRun([law], tracking=SampleTracking([law], asked(error_rate=0.1, confidence=0.9)))
    confidence = confidence_of(run)
    (group,) = confidence.groups.values()
    clock = [0.0]
    monkeypatch.setattr(type(confidence), "now", property(lambda self: clock[0]))

    def write(target: int, value: int) -> Event:
        return {"event": "field_write", "name": FIELD, "targetId": target, "res": value, "time": clock[0]}

    run.deliver([write(1, 1), write(2, 0)])  # the first leaks, the second only lives on
    for target in range(3, group.policy_run.needed + 1):
        run.deliver([write(target, 0), {"event": "gone", "name": CLASS, "targetId": target, "time": clock[0]}])
    assert group.policy_run.budget == 0
    clock[0] = 10.0
    confidence.beat()
    assert group.policy_run.budget == 1  # the place of the second
    clock[0] = 31.0
    run.tick(clock[0])
    assert group.policy_run.violations == 1
    assert [finding.law for finding in run.findings] == ["leak"]


def test_what_is_remembered_of_objects_that_are_gone_has_a_bound() -> None:
    from lawful.engine.evidence import RecentEvents

    recollection = RecentEvents(10, objects=100)
    for target in range(10_000):
        written = {"event": "field_write", "name": FIELD, "targetId": target, "res": 0}
        gone = {"event": "gone", "name": CLASS, "targetId": target}
        recollection.add([(2 * target + 1, written), (2 * target + 2, gone)])
    assert len(recollection) <= 100
    assert not recollection.forgot  # nothing of those that are alive
