"""Sampling-policy automata: what a policy may be, and how a class of objects walks through it."""

from __future__ import annotations

import json
import math
import pickle
import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confidence.random_policies import clean, policies
from lawful.coin import mixed
from lawful.confidence import policies as ready
from lawful.confidence import policy_parser
from lawful.confidence.policy_automaton import (
    Auto,
    Policy,
    PolicyState,
    Transition,
    Trigger,
    duration,
    number_text,
    percent,
)
from lawful.confidence.policy_run import MOST_MOVES, PolicyRun
from lawful.errors import LawfulError

ALL, NONE, EIGHTH = Fraction(1), Fraction(0), Fraction(1, 8)


def policy(*ways: Transition, **rates: Fraction | Auto) -> Policy:
    """A policy that starts in the first of the states."""
    states = tuple(PolicyState(name, rate) for name, rate in rates.items())
    return Policy("test", states, states[0].name, ways)


# -- what is a policy ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("slug", "states", "start", "ways"),
    [
        ("policy-no-state", (), "a", ()),
        ("policy-nameless", (PolicyState("", ALL),), "", ()),
        ("policy-nameless", (PolicyState("a b", ALL),), "a b", ()),
        ("policy-unknown-state", (PolicyState("a", ALL),), "b", ()),
        ("policy-duplicate-state", (PolicyState("a", ALL), PolicyState("a", NONE)), "a", ()),
        ("policy-unreachable", (PolicyState("a", ALL), PolicyState("b", NONE)), "a", ()),
        ("policy-unknown-state", (PolicyState("a", ALL),), "a", (Transition("a", Trigger.TARGET, "b"),)),
        ("policy-unknown-state", (PolicyState("a", ALL),), "a", (Transition("b", Trigger.TARGET, "a"),)),
        ("policy-ambiguous", (PolicyState("a", ALL),), "a", (Transition("a", Trigger.VIOLATION, "a"),) * 2),
        ("policy-amount", (PolicyState("a", ALL),), "a", (Transition("a", Trigger.TARGET, "a", 0),)),
        ("policy-amount", (PolicyState("a", ALL),), "a", (Transition("a", Trigger.TIME, "a"),)),
        ("policy-amount", (PolicyState("a", ALL),), "a", (Transition("a", Trigger.VIOLATION, "a", 3),)),
        ("policy-overhead", (PolicyState("a", ALL),), "a", (Transition("a", Trigger.OVERHEAD_ABOVE, "a"),)),
        ("policy-overhead", (PolicyState("a", Auto(NONE)),), "a", ()),
        ("policy-rate", (PolicyState("a", Fraction(-1)),), "a", ()),
        ("policy-rate", (PolicyState("a", Fraction(3, 2)),), "a", ()),
        ("policy-rate", (PolicyState("a", Fraction(1, 2**70)),), "a", ()),
        ("policy-rate", (PolicyState("a", Auto(EIGHTH, NONE)),), "a", ()),
    ],
)
def test_what_is_no_policy(slug: str, states: Any, start: str, ways: Any) -> None:
    with pytest.raises(LawfulError) as caught:
        Policy("test", states, start, ways)
    assert (caught.value.slug, caught.value.where) == (slug, "policy `test`")


def test_a_policy_has_a_name() -> None:
    with pytest.raises(LawfulError, match="policy-nameless"):
        Policy("", (PolicyState("a", ALL),), "a")


@given(policies())
def test_policies_can_be_stored(policy: Policy) -> None:
    assert policy_parser.parse(str(policy)) == policy
    assert pickle.loads(pickle.dumps(policy)) == policy


def test_what_must_be_looked_at() -> None:
    assert ready.off().triggers == {Trigger.TARGET}
    assert Trigger.RARE_CODE in ready.coverage().triggers


@given(st.fractions(0, 10**6))
def test_numbers_are_written_exactly(number: Fraction) -> None:
    assert Fraction(number_text(number)) == number


def test_how_amounts_are_written() -> None:
    assert [percent(Fraction(n)) for n in ("0.05", "1/3", "2", "0.00125")] == ["5%", "100/3%", "200%", "0.125%"]
    seconds = (1, 60, 90, 3600, 86400 * 3, Fraction(3, 2), Fraction(1, 3))
    assert [duration(Fraction(n)) for n in seconds] == [
        "1 second",
        "1 minute",
        "90 seconds",
        "1 hour",
        "3 days",
        "1.5 seconds",
        "1/3 seconds",
    ]


# -- samples ---------------------------------------------------------------------------------------------------------


def test_off_at_the_target() -> None:
    policy_run = PolicyRun(ready.off(), 3)
    assert (policy_run.state, policy_run.rate, policy_run.budget, policy_run.open) == ("watch", 1.0, 3, True)
    assert [policy_run.clean(), policy_run.clean(), policy_run.clean()] == [False, False, True]
    assert (policy_run.state, policy_run.rate, policy_run.budget, policy_run.open) == ("off", 0.0, None, False)
    assert [tuple(move) for move in policy_run.moves] == [(0.0, "watch", "off", "after target")]


def test_a_violation_begins_the_count_again() -> None:
    policy_run = PolicyRun(ready.off(), 3)
    clean(policy_run, 2)
    assert not policy_run.violated()
    assert (policy_run.state, policy_run.count, policy_run.violations, policy_run.budget) == ("watch", 0, 1, 3)
    assert not clean(policy_run, 2)
    assert policy_run.clean()


def test_after_violations_it_may_take_more() -> None:
    policy_run = PolicyRun(ready.off(), 3)
    policy_run.violated()
    assert not policy_run.require(5)
    assert not clean(policy_run, 4)
    assert policy_run.require(4)  # as many as there are
    assert policy_run.state == "off"


def test_objects_hold_their_places() -> None:
    policy_run = PolicyRun(ready.off(), 3)
    assert [policy_run.taken(), policy_run.taken(), policy_run.budget] == [False, False, 1]
    assert [policy_run.taken(), policy_run.budget, policy_run.open] == [True, 0, False]
    assert [policy_run.take(), policy_run.clean(), policy_run.budget] == [False, False, 0]
    assert [policy_run.unknown(), policy_run.budget, policy_run.open] == [True, 1, True]  # it gave its place back
    assert [policy_run.take(), policy_run.budget] == [True, 0]
    assert [policy_run.violated(), policy_run.count, policy_run.alive, policy_run.budget] == [True, 0, 1, 2]
    assert [policy_run.take(), policy_run.take(), clean(policy_run, 3), policy_run.state] == [True, True, True, "off"]


def test_who_counts_places_elsewhere_is_not_hindered() -> None:
    policy_run = PolicyRun(ready.off(), 3)
    policy_run.unknown()
    policy_run.violated()
    assert (policy_run.alive, policy_run.budget) == (0, 3)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("needed", [1, 7, 100])
def test_in_every_state_exactly_so_many_samples_are_taken(seed: int, needed: int) -> None:
    """Objects of random lives, some of which end in an unknown way: exactly M clean ones in each state, none left."""
    rnd = random.Random(seed)
    policy_run = PolicyRun(ready.taper(3), needed, seed)
    taken: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    alive = 0
    while policy_run.state != "coin-8":
        state = policy_run.state
        assert policy_run.budget is not None
        if policy_run.take():
            taken[state] += 1
            alive += 1
        if alive and rnd.random() < 0.3:
            alive -= 1
            if rnd.random() < 0.2:
                unknown[state] += 1
                policy_run.unknown()
            elif policy_run.clean():
                assert alive == 0 or policy_run.state == state
    assert alive == 0
    assert {state: taken[state] - unknown[state] for state in taken} == {"coin-2": needed, "coin-4": needed}
    assert policy_run.budget is None


class Plain:
    """A walk as its description reads, one life at a time, and nothing but its count and its state."""

    def __init__(self, policy: Policy, needed: int) -> None:
        self.policy, self.needed = policy, needed
        self.state, self.count = policy.start, 0

    def happens(self, trigger: Trigger) -> None:
        for way in self.policy.transitions:
            if (way.source, way.trigger) == (self.state, trigger):
                self.state, self.count = way.target, 0
                return

    def clean(self) -> None:
        self.count += 1
        for way in self.policy.transitions:
            if (way.source, way.trigger) == (self.state, Trigger.TARGET) and self.count == (way.amount or self.needed):
                self.state, self.count = way.target, 0
                return

    def violated(self) -> None:
        self.count = 0
        self.happens(Trigger.VIOLATION)


OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("clean"), st.integers(1, 30)),
        st.tuples(st.sampled_from(["violated", "new_code", "rare_code", "take", "again", "unknown"])),
    ),
    max_size=30,
)


@given(policies(most_samples=12), st.integers(1, 10), OPERATIONS)
def test_walks_against_a_plain_one(policy: Policy, needed: int, operations: list[tuple[Any, ...]]) -> None:
    policy_run, plain = PolicyRun(policy, needed, 5), Plain(policy, needed)
    for name, *arguments in operations:
        before = (policy_run.state, policy_run.rate, policy_run.open)
        if name == "again":
            policy_run = PolicyRun.from_json(json.loads(json.dumps(policy_run.to_json())), policy)
            continue
        if name in ("new_code", "rare_code"):
            told = policy_run.happened(Trigger[name.upper()])
        else:
            told = clean(policy_run, *arguments) if name == "clean" else getattr(policy_run, name)()
        if name == "clean":
            for _ in range(arguments[0]):
                plain.clean()
        elif name == "violated":
            plain.violated()
        elif name in ("new_code", "rare_code"):
            plain.happens(Trigger[name.upper()])
        assert (policy_run.state, policy_run.count) == (plain.state, plain.count)
        assert 0 <= policy_run.rate <= 1
        if name != "take" and (policy_run.state, policy_run.rate, policy_run.open) != before:
            assert told
        goal = policy.transition(policy_run.state, Trigger.TARGET)
        assert policy_run.budget == (
            None if goal is None else max(0, (goal.amount or needed) - policy_run.count - policy_run.alive)
        )


def told_to(policy_run: PolicyRun, what: int, share: float, now: float) -> bool:
    if what < 4:
        new_code = partial(policy_run.happened, Trigger.NEW_CODE)
        calls: list[Callable[[], object]] = [policy_run.take, policy_run.clean, policy_run.violated, new_code]
        return bool(calls[what]())
    return policy_run.tick(now) if what == 4 else policy_run.overhead(share, now)


@given(
    policies(most_samples=5), st.integers(1, 5), st.lists(st.tuples(st.integers(0, 5), st.floats(0, 2)), max_size=40)
)
def test_a_walk_goes_on_elsewhere_as_it_would_have_here(
    policy: Policy, needed: int, told: list[tuple[int, float]]
) -> None:
    here = PolicyRun(policy, needed, 11)
    there = pickle.loads(pickle.dumps(here))
    for now, (what, share) in enumerate(told):
        there = pickle.loads(pickle.dumps(there))
        answers = []
        for policy_run in (here, there):
            answer = told_to(policy_run, what, share, float(now))
            answers.append((answer, policy_run.rate, policy_run.threshold))
        assert answers[0] == answers[1]
        assert here.to_json() == there.to_json() == PolicyRun.from_json(here.to_json(), policy).to_json()
    assert here.moves == there.moves


def test_old_moves_are_forgotten() -> None:
    policy_run = PolicyRun(policy(Transition("a", Trigger.TARGET, "a", 1), a=ALL), 5)
    clean(policy_run, MOST_MOVES + 10)
    assert len(policy_run.moves) == MOST_MOVES


def test_a_target_is_at_least_one_sample() -> None:
    with pytest.raises(ValueError, match="at least one"):
        PolicyRun(ready.off(), 0)


# -- the coin --------------------------------------------------------------------------------------------------------


def test_the_generator_is_splitmix() -> None:
    # The first numbers for the seed 1234567 that its other implementations give.
    state, found = 1234567, []
    for _ in range(5):
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        found.append(mixed(state))
    assert found == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


@pytest.mark.parametrize("rate", [Fraction(1, 2), EIGHTH, Fraction(2, 3), Fraction(1, 64)])
def test_as_many_are_taken_as_the_rate_says_and_flips_do_not_depend_on_each_other(rate: Fraction) -> None:
    policy_run, n, p = PolicyRun(policy(a=rate), 1, seed=3), 40_000, float(rate)
    flips = [policy_run.take() for _ in range(n)]
    deviation = math.sqrt(p * (1 - p) / n)
    assert abs(sum(flips) / n - p) < 4 * deviation
    for lag in (1, 2, 7, 64):
        both = sum(a and b for a, b in zip(flips, flips[lag:], strict=False)) / (n - lag)
        assert abs(both - p * p) < 4 * math.sqrt(p * p / n)


def test_all_and_none_are_exact() -> None:
    assert all(PolicyRun(policy(a=ALL), 1, seed).take() for seed in range(1000))
    assert not any(PolicyRun(policy(a=NONE), 1, seed).take() for seed in range(1000))
    assert PolicyRun(policy(a=ALL), 1).threshold == 2**64
    assert PolicyRun(policy(a=Fraction(1, 64)), 1).threshold == 2**58


def test_the_seed_decides() -> None:
    def flips(seed: int) -> list[bool]:
        policy_run = PolicyRun(policy(a=Fraction(1, 2)), 1, seed)
        return [policy_run.take() for _ in range(64)]

    assert flips(1) == flips(1)
    assert flips(1) != flips(2) != flips(-1)


# -- time and overhead -----------------------------------------------------------------------------------------------


def test_time_passes_in_a_state() -> None:
    ways = (Transition("a", Trigger.TIME, "b", Fraction(10)), Transition("b", Trigger.VIOLATION, "a"))
    policy_run = PolicyRun(policy(*ways, a=ALL, b=NONE), 1)
    assert not policy_run.tick(1000)  # the clock may begin anywhere
    assert not policy_run.tick(1009)
    assert not policy_run.tick(5)  # and a clock that is put back takes nothing away
    assert policy_run.tick(6)
    assert (policy_run.state, policy_run.moves[0][:3]) == ("b", (10.0, "a", "b"))
    policy_run.violated()
    assert not policy_run.tick(15)
    assert policy_run.tick(16)


def test_time_goes_on_in_another_run() -> None:
    policy_run = PolicyRun(policy(Transition("a", Trigger.TIME, "b", Fraction(10)), a=ALL, b=NONE), 1)
    policy_run.tick(0)
    policy_run.tick(9)
    policy_run = PolicyRun.from_json(policy_run.to_json(), policy_run.policy)
    assert not policy_run.tick(50_000)  # by the clock of another machine
    assert policy_run.tick(50_001)


def test_overhead_is_averaged_before_a_state_is_left() -> None:
    ways = (
        Transition("a", Trigger.OVERHEAD_ABOVE, "b", Fraction(1, 10)),
        Transition("b", Trigger.OVERHEAD_BELOW, "a", Fraction(5, 100)),
    )
    policy_run = PolicyRun(policy(*ways, a=ALL, b=EIGHTH), 1)
    now, seen = 0.0, []
    for share in [0.0] * 30 + [0.9] + [0.0] * 30 + [0.2] * 40 + [0.01] * 60:
        now += 0.1
        policy_run.overhead(share, now)
        seen.append(policy_run.state)
    assert set(seen[:61]) == {"a"}  # one measurement says nothing
    assert seen[100] == "b"
    assert seen[-1] == "a"
    assert len(policy_run.moves) == 2


def test_what_is_no_measurement_changes_nothing() -> None:
    policy_run = PolicyRun(ready.overhead(Fraction(1, 10)), 10)
    rate = policy_run.rate
    for share in (math.nan, math.inf, -1.0):
        policy_run.overhead(0.1, 1.0)
        assert not policy_run.overhead(share, 2.0)
    assert policy_run.rate == rate


def test_the_rate_does_not_rise_while_nothing_may_be_taken() -> None:
    policy_run = PolicyRun(ready.overhead(Fraction(1, 10)), 2)
    policy_run.taken()
    policy_run.taken()
    before = policy_run.rate
    for now in range(100):
        policy_run.overhead(0.0, float(now))
    assert policy_run.rate == before
    policy_run.overhead(0.5, 100.0)  # but it may fall
    assert policy_run.rate < before


def test_a_rate_that_was_found_is_kept_while_other_states_are_visited() -> None:
    ways = (Transition("a", Trigger.VIOLATION, "b"), Transition("b", Trigger.VIOLATION, "a"))
    policy_run = PolicyRun(policy(*ways, a=Auto(Fraction(1, 20)), b=ALL), 1)
    for now in range(20):
        policy_run.overhead(1.0, float(now))
    found = policy_run.rate
    policy_run.violated()
    assert policy_run.rate == 1.0
    policy_run.violated()
    assert policy_run.rate == found < 1 / 20
