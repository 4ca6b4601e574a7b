"""The policies that come with Lawful, and their names."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from confidence.random_policies import clean
from lawful.confidence.policies import MOST_COINS, NAMES, coverage, find, named, off, overhead, share, taper
from lawful.confidence.policy_automaton import Auto, Trigger
from lawful.confidence.policy_run import PolicyRun
from lawful.errors import LawfulError


@pytest.mark.parametrize("coins", [1, 2, 6, MOST_COINS])
def test_the_coins_of_taper(coins: int) -> None:
    policy = taper(coins)
    assert [state.rate for state in policy.states] == [Fraction(1, 2**k) for k in range(1, coins + 1)]
    policy_run = PolicyRun(policy, 10)
    for k in range(1, coins):
        assert policy_run.rate == 2.0**-k
        assert not clean(policy_run, 9)
        assert policy_run.clean()
    assert not clean(policy_run, 1000)  # the last one stays
    assert policy_run.rate == 2.0**-coins


def test_taper_as_in_the_paper_begins_anew() -> None:
    policy_run = PolicyRun(taper(3, wraps=True), 10)
    seen = [policy_run.state]
    for _ in range(6):
        clean(policy_run, 10)
        seen.append(policy_run.state)
    assert seen == ["coin-2", "coin-4", "coin-8", "coin-2", "coin-4", "coin-8", "coin-2"]


@pytest.mark.parametrize("event", [Trigger.VIOLATION, Trigger.NEW_CODE])
def test_taper_goes_back(event: Trigger) -> None:
    for targets in range(1, 5):
        policy_run = PolicyRun(taper(5), 10)
        clean(policy_run, 10 * targets)
        assert policy_run.state == f"coin-{2 ** (targets + 1)}"
        assert policy_run.violated() if event is Trigger.VIOLATION else policy_run.happened(event)
        assert (policy_run.state, policy_run.count) == ("coin-2", 0)


def test_coverage_goes_back() -> None:
    policy_run = PolicyRun(coverage(), 100)
    assert not policy_run.happened(Trigger.NEW_CODE)
    clean(policy_run, 100)
    assert policy_run.rate == 1 / 64
    assert policy_run.happened(Trigger.RARE_CODE)
    assert (policy_run.rate, policy_run.happened(Trigger.RARE_CODE)) == (1 / 8, False)
    clean(policy_run, 100)
    assert policy_run.rate == 1 / 64
    assert policy_run.happened(Trigger.NEW_CODE)
    assert policy_run.rate == 1.0
    clean(policy_run, 100)
    assert policy_run.violated()
    assert policy_run.rate == 1.0


def test_overhead_ends_at_the_target() -> None:
    policy_run = PolicyRun(overhead(0.05), 100)
    assert policy_run.policy.state("hold").rate == Auto(Fraction(1, 20))
    assert policy_run.rate == pytest.approx(0.05)
    assert clean(policy_run, 100)
    assert policy_run.rate == 0


def test_each_target_takes_the_same_number_of_samples_but_more_objects() -> None:
    """The point of it: the same evidence from ever larger numbers of objects, at ever lower cost."""
    policy_run, needed = PolicyRun(taper(4), 500, seed=1), 500
    created: Counter[str] = Counter()
    while policy_run.state != "coin-16":
        created[policy_run.state] += 1
        if policy_run.take():
            policy_run.clean()
    assert [created[f"coin-{2**k}"] / needed for k in (1, 2, 3)] == pytest.approx([2, 4, 8], rel=0.2)


def test_names() -> None:
    assert named("off") == off()
    assert named("taper") == taper(6)
    assert named(" taper( 8 ) ") == taper(8)
    assert named("coverage") == coverage()
    assert named("overhead") == named("overhead(5%)") == overhead(Fraction(1, 20)) == named("overhead(0.05)")
    assert named("overhead(2.5 %)") == overhead(Fraction(1, 40))
    assert set(NAMES) == {"off", "taper", "coverage", "overhead"}


@pytest.mark.parametrize(
    ("word", "slug", "hint"),
    [
        ("tapper", "policy-unknown", "did you mean `taper`?"),
        ("OFF", "policy-unknown", "did you mean `off`?"),
        ("tapper(8)", "policy-unknown", "did you mean `taper`?"),
        ("zzz", "policy-unknown", "`overhead`, and files `*.policy`"),
        ("", "policy-unknown", "`off`"),
        ("taper(", "policy-unknown", "`taper`"),
        ("taper(0)", "policy-argument", "taper(8)"),
        ("taper(63)", "policy-argument", "taper(8)"),
        ("taper(x)", "policy-argument", "taper(8)"),
        ("taper()", "policy-argument", "taper(8)"),
        ("taper(²)", "policy-argument", "taper(8)"),
        ("off(3)", "policy-argument", "write `off`"),
        ("overhead(0%)", "policy-overhead", "5%"),
        ("overhead(-5%)", "policy-overhead", "5%"),
        ("overhead(five)", "policy-overhead", "5%"),
        ("overhead(nan)", "policy-overhead", "5%"),
    ],
)
def test_words_that_name_nothing(word: str, slug: str, hint: str) -> None:
    with pytest.raises(LawfulError) as caught:
        named(word)
    assert caught.value.slug == slug
    assert hint in (caught.value.hint or "")


def test_shares() -> None:
    assert [share(text) for text in ("5%", "0.05", ".05", " 5 % ", "150%")] == [
        Fraction(1, 20),
        Fraction(1, 20),
        Fraction(1, 20),
        Fraction(1, 20),
        Fraction(3, 2),
    ]


def test_a_name_or_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my.policy").write_text("policy mine start a state a: sample 1 in 3")
    Path("plain").write_text("policy other start a state a: sample 1 in 3")
    Path("off").write_text("not asked")
    assert find("my.policy").name == find(tmp_path / "my.policy").name == "mine"
    assert find("plain").name == "other"
    assert find("off") == off()
    with pytest.raises(LawfulError, match="policy-not-found"):
        find("your.policy")
    with pytest.raises(LawfulError, match="policy-unknown"):
        find("yours")


def test_no_policy_looks_at_what_it_does_not_need() -> None:
    assert {name: NAMES[name]().triggers for name in NAMES} == {
        "off": {Trigger.TARGET},
        "taper": {Trigger.TARGET, Trigger.VIOLATION, Trigger.NEW_CODE},
        "coverage": {Trigger.TARGET, Trigger.VIOLATION, Trigger.NEW_CODE, Trigger.RARE_CODE},
        "overhead": {Trigger.TARGET},
    }
