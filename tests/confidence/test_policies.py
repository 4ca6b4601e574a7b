"""The policies that come with Lawful, and their names."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from lawful.confidence.policies import MOST_COINS, NAMES, coverage, find, named, off, overhead, share, taper
from lawful.confidence.policy_automaton import Auto, Trigger, Walk
from lawful.errors import LawfulError


@pytest.mark.parametrize("coins", [1, 2, 6, MOST_COINS])
def test_the_coins_of_taper(coins: int) -> None:
    policy = taper(coins)
    assert [state.rate for state in policy.states] == [Fraction(1, 2**k) for k in range(1, coins + 1)]
    walk = Walk(policy, 10)
    for k in range(1, coins):
        assert walk.rate == 2.0**-k
        assert not walk.clean(9)
        assert walk.clean()
    assert not walk.clean(1000)  # the last one stays
    assert walk.rate == 2.0**-coins


def test_taper_as_in_the_paper_begins_anew() -> None:
    walk = Walk(taper(3, wraps=True), 10)
    seen = [walk.state]
    for _ in range(6):
        walk.clean(10)
        seen.append(walk.state)
    assert seen == ["coin-2", "coin-4", "coin-8", "coin-2", "coin-4", "coin-8", "coin-2"]


@pytest.mark.parametrize("event", ["violated", "new_code"])
def test_taper_goes_back(event: str) -> None:
    for targets in range(1, 5):
        walk = Walk(taper(5), 10)
        walk.clean(10 * targets)
        assert walk.state == f"coin-{2 ** (targets + 1)}"
        assert getattr(walk, event)()
        assert (walk.state, walk.count) == ("coin-2", 0)


def test_coverage_goes_back() -> None:
    walk = Walk(coverage(), 100)
    assert not walk.new_code()
    walk.clean(100)
    assert walk.rate == 1 / 64
    assert walk.rare_code()
    assert (walk.rate, walk.rare_code()) == (1 / 8, False)
    walk.clean(100)
    assert walk.rate == 1 / 64
    assert walk.new_code()
    assert walk.rate == 1.0
    walk.clean(100)
    assert walk.violated()
    assert walk.rate == 1.0


def test_overhead_ends_at_the_target() -> None:
    walk = Walk(overhead(0.05), 100)
    assert walk.policy.state("hold").rate == Auto(Fraction(1, 20))
    assert walk.rate == pytest.approx(0.05)
    assert walk.clean(100)
    assert walk.rate == 0


def test_each_target_takes_the_same_number_of_samples_but_more_objects() -> None:
    """The point of it: the same evidence from ever larger numbers of objects, at ever lower cost."""
    walk, needed = Walk(taper(4), 500, seed=1), 500
    created: Counter[str] = Counter()
    while walk.state != "coin-16":
        created[walk.state] += 1
        if walk.take():
            walk.clean()
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
