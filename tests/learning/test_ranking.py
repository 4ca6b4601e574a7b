"""Scores of broken rules: the bound against its definition, and what must never raise a score."""

import random

import pytest

from lawful.learning import ranking
from lawful.learning.ranking import BAR, Evidence, bound, score
from lawful.learning.violation_kinds import Breach

GOOD = Evidence(kept=41, broken=1, idle=0, places=8, broken_places=1.0, against=1.0, breach=Breach.MISSING)


def by_definition(kept, total):
    """The smallest share under which as many as `kept` of `total` would be no surprise, by bisection."""
    low, high = 0.0, kept / total
    for _ in range(100):
        middle = (low + high) / 2
        if (kept / total - middle) ** 2 * total > ranking._Z**2 * middle * (1 - middle):
            low = middle
        else:
            high = middle
    return low


def test_the_bound_is_wilsons():
    for total in (1, 2, 3, 7, 42, 1000, 123_456):
        for kept in {0, 1, total // 3, total - 1, total}:
            assert bound(kept, total) == pytest.approx(by_definition(kept, total), abs=1e-9)


def test_the_bound_of_nothing():
    assert bound(0, 0) == 0
    assert bound(0.0, 0.3) == 0


def random_evidence(rng):
    return Evidence(
        kept=rng.randrange(1, 10 ** rng.randrange(1, 6)),
        broken=rng.randrange(1, 10 ** rng.randrange(1, 4)),
        idle=rng.choice([0, rng.randrange(1000)]),
        places=rng.randrange(1, 65),
        broken_places=rng.randrange(1, 10),
        against=rng.random() * rng.choice([1, 10]),
        breach=rng.choice(list(Breach)),
        same_file=rng.random() < 0.5,
        same_place=rng.random() < 0.5,
        elsewhere=rng.random() < 0.5,
        cut_off=rng.random() < 0.5,
        raised=rng.random() < 0.5,
    )


def test_scores_are_between_0_and_1_and_go_the_right_way():
    rng = random.Random(4)
    for _ in range(2000):
        evidence = random_evidence(rng)
        value = score(evidence)
        assert 0 <= value <= 1
        assert score(evidence._replace(kept=evidence.kept + 1)) >= value
        assert score(evidence._replace(places=evidence.places + 1)) > value
        for worse in (
            evidence._replace(broken=evidence.broken + 1),
            evidence._replace(broken_places=evidence.broken_places + 1),
            evidence._replace(against=evidence.against + 1),
            evidence._replace(doubt=0.5),
            evidence._replace(idle=evidence.idle + 1),
            evidence._replace(same_file=False),
            evidence._replace(same_place=True),
            evidence._replace(elsewhere=True),
            evidence._replace(cut_off=True),
            evidence._replace(raised=True),
        ):
            assert score(worse) <= value


def test_what_was_never_kept_is_worth_nothing():
    assert score(GOOD._replace(kept=0)) == 0


def test_the_bar():
    """What its docstring says, and the case of the issue."""
    assert score(GOOD) > BAR
    assert score(Evidence(5, 1, 0, 5, 1.0, 1.0, Breach.MISSING)) > BAR
    assert score(Evidence(4, 1, 0, 4, 1.0, 1.0, Breach.MISSING)) < BAR
    assert score(Evidence(40, 1, 0, 1, 1.0, 1.0, Breach.MISSING)) > BAR
    assert score(Evidence(10, 1, 0, 1, 1.0, 1.0, Breach.MISSING)) < BAR


@pytest.mark.parametrize(
    "hardly",
    [
        GOOD._replace(kept=10, places=1),  # one place that does it, and one that does not
        GOOD._replace(broken_places=6.0, against=6.0, broken=6),  # nearly as many that do not
        GOOD._replace(idle=1000, breach=Breach.LAST),  # the two events have little to do with each other
        GOOD._replace(
            kept=300, broken=100, places=3, broken_places=2.0, against=0.5, same_place=True
        ),  # it depends on the data
    ],
)
def test_typical_false_rules_are_below_the_bar(hardly):
    assert score(hardly) < BAR


def test_the_evidence_orders():
    assert score(GOOD._replace(places=20)) > score(GOOD) > score(GOOD._replace(places=3))
    assert score(GOOD) > score(GOOD._replace(breach=Breach.AGAIN))
    assert score(GOOD._replace(idle=40)) == score(GOOD), "a lone event says nothing of one that is missing elsewhere"
    assert score(GOOD._replace(breach=Breach.FIRST)) > score(GOOD._replace(breach=Breach.FIRST, idle=40))
