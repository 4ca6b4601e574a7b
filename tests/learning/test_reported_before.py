"""Earlier runs of a program show which anomalies of the present one are new."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import pytest

from lawful.learning.learner import AnomalyReport, Learner
from lawful.learning.learner_view import EarlierRuns
from lawful.learning.parameters import Learning
from lawful.learning.reported_before import ReportedBefore
from lawful.learning.store import FORGOTTEN, Run, Store, new_run_id
from lawful.learning.window_protocol import Anomaly

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
    made = Learner(Learning(core=core))
    for each in before:
        made.remember(each.shared_pairs(), each.shared_histories())
    made.feed(events(steps, file))
    made.finish()
    return made


def anomalies_of(made: Learner) -> list[Anomaly]:
    return list(made.anomalies())


def half_closed(changed: int | None = None) -> list[Step]:
    """At ten places boxes are closed, at ten others they are not: no rule, by itself."""
    steps: list[Step] = []
    for number in range(20):
        left_out = ["close"] if number % 2 or number == changed else []
        steps += box(number, 10 * number, *left_out)
    return steps


@pytest.mark.parametrize("core", ["python", ""])
def test_what_is_no_longer_done_at_a_place_is_reported_though_it_is_not_a_rule_elsewhere(core: str) -> None:
    assert anomalies_of(learner(half_closed(8), core=core)) == []
    found = anomalies_of(learner(half_closed(8), learner(half_closed(), core=core), core=core))
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
    known = {str(anomaly.rule) for anomaly in anomalies_of(before)}
    again = anomalies_of(learner(steps, before))
    assert {str(anomaly.rule) for anomaly in again} <= known
    scores = {str(anomaly.rule): anomaly.score for anomaly in anomalies_of(before)}
    assert all(anomaly.score <= scores[str(anomaly.rule)] + 0.1 for anomaly in again)


def test_what_is_new_comes_before_what_is_old() -> None:
    old = [step for number in range(12) for step in box(number, 10 * number)]
    old += [("Tap.open", 90, 701)] + [
        (f"Tap.{name}", 100 + number, 500 + 10 * number + at)
        for number in range(12)
        for at, name in enumerate(("open", "shut", "close"))
    ]
    new = [step for step in old if step[:2] != ("Box.close", 5)]
    first, *rest = anomalies_of(learner(new, learner(old)))
    assert str(first.sites[0]) in ("app.py:51", "app.py:52")
    assert all(anomaly.score < first.score for anomaly in rest)


def test_runs_of_other_files_tell_nothing_new() -> None:
    before = learner(half_closed(), file="other.py")
    assert anomalies_of(learner(half_closed(8), before)) == []


def test_no_news_without_earlier_runs_of_the_file() -> None:
    past = EarlierRuns({"app.py"})
    assert past.news("app.py", (), 5, 0) is True
    assert past.news("app.py", (), 5, 1) is False
    assert past.news("app.py", (), 0, 0) is None
    assert past.news("b.py", (), 5, 0) is None


# -- what is known -----------------------------------------------------------------------------------------------------


def function(file: str | None, line: int | None) -> str:
    """A function of a hundred lines each."""
    return f"f{(line or 0) // 100}"


def session(path: Path, steps: Sequence[Step], **settings: Any) -> AnomalyReport:
    """A run with a store, as the commands do it."""
    made = Learner(Learning(all_rules=True, **settings))
    with Store(path) as store:
        made.reported_before = ReportedBefore(store.reported(), function)
        made.remember(store.known(made.parameters.templates), store.histories(), store.novelty())
        made.feed(events(steps))
        made.finish()
        run = [Run(new_run_id(), made.events, 25)]
        counted, histories = made.shared_pairs(), made.shared_histories()
        store.add(run, made.parameters.templates, counted, histories, made.report_record(), made.novelty())
    return made.anomalies()


def boxes(without: Collection[int] = (), moved: int = 0) -> list[Step]:
    """Boxes at thirty places, some of which are not closed: three in each function."""
    return [step for number in range(30) for step in box(number, 30 * number + moved, *["close"] * (number in without))]


def test_a_reported_anomaly_is_known_in_later_runs(tmp_path: Path) -> None:
    (first,) = session(tmp_path / "s.db", boxes([7]))
    for _ in range(3):
        again = session(tmp_path / "s.db", boxes([7]))
        assert list(again) == []
        assert [each.sites for each in again.known] == [first.sites]


def test_it_is_known_though_its_lines_have_moved(tmp_path: Path) -> None:
    session(tmp_path / "s.db", boxes([7]))
    again = session(tmp_path / "s.db", boxes([7], moved=5))
    assert list(again) == [] and len(again.known) == 1
    assert again.known[0].sites != session(tmp_path / "s.db", boxes([7])).known[0].sites


def test_at_one_more_place_it_is_new(tmp_path: Path) -> None:
    session(tmp_path / "s.db", boxes([7]))
    further = session(tmp_path / "s.db", boxes([7, 20]))
    assert [str(site) for anomaly in further for site in anomaly.sites if site.line and site.line > 600]
    line = session(tmp_path / "t.db", boxes([7])), session(tmp_path / "t.db", boxes([7, 8]))  # in the same function
    assert len(line[0]) == len(line[1]) == 1
    both = session(tmp_path / "t.db", boxes([7, 8]))
    assert list(both) == [] and {len(each.sites) for each in both.known} == {2}


def test_what_was_over_the_budget_is_reported_another_time(tmp_path: Path) -> None:
    taps = [(name.replace("Box", "Tap"), 1000 + id_, 5000 + line) for name, id_, line in boxes([4])]
    first = session(tmp_path / "s.db", boxes([7]) + taps, budget=1, tune=False)
    second = session(tmp_path / "s.db", boxes([7]) + taps, budget=1, tune=False)
    assert (len(first), first.omitted, len(second), second.omitted, len(second.known)) == (1, 1, 1, 0, 1)


def test_a_fixed_anomaly_that_comes_again_is_news(tmp_path: Path) -> None:
    session(tmp_path / "s.db", boxes([7]))
    for _ in range(FORGOTTEN - 1):
        session(tmp_path / "s.db", boxes())
    assert not session(tmp_path / "s.db", boxes([7]))  # it may be one that comes and goes
    for _ in range(FORGOTTEN):
        assert not session(tmp_path / "s.db", boxes()).known
    assert session(tmp_path / "s.db", boxes([7]))


def test_runs_of_other_files_do_not_make_it_forgotten(tmp_path: Path) -> None:
    session(tmp_path / "s.db", boxes([7]))
    made = Learner()
    made.reported_before = ReportedBefore({}, function)
    made.feed(events(boxes(), "other.py"))
    made.finish()
    with Store(tmp_path / "s.db") as store:
        for _ in range(2 * FORGOTTEN):
            store.add([Run(new_run_id(), 1, 25)], (), (), (), made.report_record())
        assert store.reported()


def test_stores_that_are_merged_know_what_both_have_reported(tmp_path: Path) -> None:
    session(tmp_path / "one.db", boxes([7]))
    session(tmp_path / "other.db", boxes([20]))
    with Store(tmp_path / "one.db") as one, Store(tmp_path / "other.db") as other, Store(tmp_path / "all.db") as every:
        every.merge([one, other])
        assert every.reported() == {**one.reported(), **other.reported()}
        assert every.novelty() == {}
    found = session(tmp_path / "all.db", boxes([7, 20]))
    assert list(found) == [] and found.known


def test_a_change_comes_before_what_scores_higher(tmp_path: Path) -> None:
    for _ in range(2):
        session(tmp_path / "s.db", half_closed())
    mistakes = [(f"Tap.{name}", 500 + number, 900 + 10 * number + at) for number in range(40)
             for at, name in enumerate(("open", "use", "close")) if (number, name) != (39, "close")]  # fmt: skip
    found = session(tmp_path / "s.db", half_closed(8) + mistakes)
    assert [anomaly.changed for anomaly in found] == sorted((anomaly.changed for anomaly in found), reverse=True)
    assert found[0].changed and "no longer" in found[0].message


def test_a_rule_that_is_kept_sometimes_at_a_place_has_not_changed(tmp_path: Path) -> None:
    session(tmp_path / "s.db", half_closed())
    session(tmp_path / "s.db", half_closed(8))  # which is reported
    session(tmp_path / "s.db", half_closed())
    found = session(tmp_path / "s.db", half_closed(8))
    assert not any(anomaly.changed for anomaly in (*found, *found.known))


def by_chance(seed: int) -> list[Step]:
    """What several threads do with shared objects: each order comes up now and then, and none is a mistake."""
    chance = random.Random(seed)
    steps: list[Step] = []
    for number in range(40):
        names = ["Shared.get", "Shared.put", "Shared.look"]
        for _ in range(3):
            if chance.random() < 0.06:
                chance.shuffle(names)
            steps += [(name, number, 10 * number + at) for at, name in enumerate(names)]
    return steps


def test_runs_that_always_bring_something_new_have_no_news(tmp_path: Path) -> None:
    for seed in range(4):
        session(tmp_path / "s.db", by_chance(seed))
    with Store(tmp_path / "s.db") as store:
        novelty = store.novelty()
    assert {word.name: numbers[0] for word, numbers in novelty.items()} == dict.fromkeys(
        ("Shared.get", "Shared.put", "Shared.look"), 3
    )
    made = Learner(Learning(all_rules=True))
    with Store(tmp_path / "s.db") as store:
        made.remember(store.known(made.parameters.templates), novelty=novelty)
    past = made.view().past
    assert past.unstable == {made.numbering.word(*word) for word in novelty}
    assert past.news("app.py", past.unstable, 5, 0) is None
    assert past.news("app.py", past.unstable, 5, 1) is False


def test_a_program_that_does_the_same_again_is_not_restless(tmp_path: Path) -> None:
    for _ in range(3):
        session(tmp_path / "s.db", boxes([7]))
    with Store(tmp_path / "s.db") as store:
        assert set(store.novelty().values()) == {(2, 0)}


def test_a_store_from_before_there_was_such_a_thing_gets_it(tmp_path: Path) -> None:
    session(tmp_path / "s.db", boxes([7]))
    with sqlite3.connect(tmp_path / "s.db") as connection:
        for table in ("told", "breaches", "novelty"):
            connection.execute(f"DROP TABLE {table}")
    connection.close()
    with Store(tmp_path / "s.db") as store:
        assert (store.reported(), store.novelty()) == ({}, {})
        assert all(known.breaches == () for known in store.known(Learning().templates))
    assert session(tmp_path / "s.db", boxes([7])) and not session(tmp_path / "s.db", boxes([7]))
