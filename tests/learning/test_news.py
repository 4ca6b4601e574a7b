"""What earlier runs of a program tell of the present one: what is new in it, and what is not."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from lawful.learning.learner import Learner
from lawful.learning.model import Anomaly
from lawful.learning.parameters import Parameters
from lawful.learning.view import Past

Step = tuple[str, int, int]  # name, object, line

OPENED = [(f"Box.{name}", line) for name, line in (("open", 1), ("use", 2), ("close", 3))]


def box(object_: int, at: int, *left_out: str) -> list[Step]:
    """An object that is opened, used and closed at three lines from `at` on."""
    return [(name, object_, at + line) for name, line in OPENED if name.rpartition(".")[2] not in left_out]


def events(steps: Sequence[Step], file: str = "app.py") -> list[dict[str, Any]]:
    return [
        {"event": "func_pre", "name": name, "targetId": object_, "file": file, "line": line}
        for name, object_, line in steps
    ]


def learner(steps: Sequence[Step], *before: Learner, file: str = "app.py", core: str = "") -> Learner:
    made = Learner(Parameters(core=core))
    for each in before:
        made.remember(each.knowledge())
        made.remember_lives(each.known_lives())
    made.feed(events(steps, file))
    made.finish()
    return made


def told(made: Learner) -> list[Anomaly]:
    return list(made.anomalies())


def half_closed(changed: int | None = None) -> list[Step]:
    """At ten places boxes are closed, at ten others they are not: no rule, by itself."""
    steps: list[Step] = []
    for number in range(20):
        left_out = ["close"] if number % 2 or number == changed else []
        steps += box(number, 10 * number, *left_out)
    return steps


@pytest.mark.parametrize("core", ["python", ""])
def test_what_is_no_longer_done_at_a_place_is_told_though_it_is_no_rule_elsewhere(core: str) -> None:
    assert told(learner(half_closed(8), core=core)) == []
    found = told(learner(half_closed(8), learner(half_closed(), core=core), core=core))
    assert found and str(found[0].sites[0]) in ("app.py:81", "app.py:82")
    assert "no longer at `app.py:8" in found[0].message
    assert "Box.close" in {found[0].rule.b.label, *(word.label for word in found[0].rule.more)}


@pytest.mark.parametrize("seed", range(8))
def test_the_same_again_is_no_news(seed: int) -> None:
    chance = random.Random(seed)
    steps: list[Step] = []
    for number in range(60):
        names = [chance.choice(["a", "b", "c", "open", "close"]) for _ in range(chance.randrange(1, 7))]
        steps += [(f"Box.{name}", number, 10 * chance.randrange(9) + place) for place, name in enumerate(names)]
        if chance.random() < 0.3:  # a long rest, beyond the window
            steps += [(f"Other.{chance.choice('xyz')}", 1000 + number, 900) for _ in range(30)]
    before = learner(steps)
    known = {str(anomaly.rule) for anomaly in told(before)}
    again = told(learner(steps, before))
    assert {str(anomaly.rule) for anomaly in again} <= known
    scores = {str(anomaly.rule): anomaly.score for anomaly in told(before)}
    assert all(anomaly.score <= scores[str(anomaly.rule)] + 0.1 for anomaly in again)


def test_what_is_new_comes_before_what_is_old() -> None:
    old = [step for number in range(12) for step in box(number, 10 * number)]
    old += [("Tap.open", 90, 701)] + [
        (f"Tap.{name}", 100 + number, 500 + 10 * number + at)
        for number in range(12)
        for at, name in enumerate(("open", "shut", "close"))
    ]
    new = [step for step in old if step[:2] != ("Box.close", 5)]
    first, *rest = told(learner(new, learner(old)))
    assert str(first.sites[0]) in ("app.py:51", "app.py:52")
    assert all(anomaly.score < first.score for anomaly in rest)


def test_runs_of_other_files_tell_nothing_new() -> None:
    before = learner(half_closed(), file="other.py")
    assert told(learner(half_closed(8), before)) == []


def test_no_news_without_earlier_runs_of_the_file() -> None:
    past = Past({"app.py"})
    assert past.news("app.py", (), 5, 0) is True
    assert past.news("app.py", (), 5, 1) is False
    assert past.news("app.py", (), 0, 0) is None
    assert past.news("b.py", (), 5, 0) is None
