"""Likely mistakes are reported though histories are few: a beginning without its end, at one place only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from lawful.learning.learner import Learner
from lawful.learning.parameters import Learning
from lawful.learning.store import Run, Store
from lawful.learning.violation_kinds import Breach
from lawful.learning.window_protocol import MOST_HISTORY_EXAMPLES, Anomaly

Event = dict[str, Any]


def event(name: str, target: int, line: int) -> Event:
    kind = "new" if name.startswith("+") else "func_raise" if name.startswith("!") else "func_pre"
    return {"event": kind, "name": name.lstrip("+!"), "targetId": target, "file": "app.py", "line": line}


def histories(*rows: str) -> list[Event]:
    """A life is names, each with its line: `T.start:7`. Without one, it is a line of its own."""
    events = []
    for target, row in enumerate(rows):
        for at, word in enumerate(row.split()):
            name, _, line = word.partition(":")
            events.append(event(name, target, int(line or 100 * (target + 1) + at)))
    return events


def learned(events: Sequence[Event]) -> Learner:
    learner = Learner(Learning(window=2))
    learner.feed(list(events))
    learner.finish()
    return learner


def anomalies_of(*rows: str) -> list[Anomaly]:
    return list(learned(histories(*rows)).anomalies())


JOINED = "T.start T.work T.rest T.join"


def test_three_of_four_are_joined() -> None:
    (anomaly,) = anomalies_of(JOINED, JOINED, JOINED, "T.start:7 T.work:8")
    assert anomaly.rule.whole_history and anomaly.rule.b.name == "T.join"
    assert {scene.object for scene in anomaly.bad} == {3}
    assert (anomaly.rule.satisfied, anomaly.rule.failed) == (3, 1)


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([JOINED] * 4, id="all are"),
        pytest.param([JOINED, JOINED, "T.start T.work"], id="two of three"),
        pytest.param([*[JOINED] * 6, "T.start T.work", "T.start T.work"], id="not at two places"),
        pytest.param([JOINED, JOINED, "T.start:7 T.work T.join", "T.start:7 T.work"], id="sometimes at that place"),
        pytest.param([*["T.start:7 T.work T.join"] * 3, "T.start T.work"], id="all that are, at one place"),
        pytest.param([*["T.start T.work T.rest T.gather"] * 3, "T.start T.work"], id="no name of an end"),
        pytest.param([*["T.start T.work T.flush"] * 3, "T.start T.work"], id="the end of a step"),
        pytest.param([JOINED, JOINED, JOINED, "T.start:7 T.work:8 !T.work:8"], id="it failed"),
        pytest.param([*["T.ask T.join"] * 3, *["T.look"] * 6, "T.ask"], id="nothing begins"),
    ],
)
def test_what_is_no_slip(rows: list[str]) -> None:
    assert anomalies_of(*rows) == []


def test_something_begins_where_others_of_the_class_do_not() -> None:
    (anomaly,) = anomalies_of(*["T.start T.join"] * 3, *["T.look"] * 6, "T.start")
    assert (anomaly.rule.a.name, anomaly.rule.b.name) == ("T.start", "T.join")


def test_earlier_runs_know_better(tmp_path: Any) -> None:
    """In a second run it is known; in one where it is new, but not the program, it needs more than that."""
    rows = [JOINED, JOINED, JOINED]
    with Store(tmp_path / "s.db") as store:
        first = learned(histories(*rows, "T.start:7 T.work:8"))
        assert len(first.anomalies()) == 1
        store.add(
            [Run("1", first.events, 2)], first.parameters.templates, first.shared_pairs(), first.shared_histories()
        )
        again = Learner(Learning(window=2))
        again.remember(store.known(again.parameters.templates), store.histories())
        again.feed(histories(*rows, "T.start:7 T.work:8"))
        again.finish()
    assert [each.old for each in again.history_rules().anomalies()] == [True]


NAMES = ("F.open", "F.read", "F.seek", "F.close", "F.__exit__")
OPENS, ENDS = {"F.open"}, {"F.close", "F.__exit__"}


def random_lives(random: Random) -> list[Event]:
    rows = []
    for target in range(random.choice((3, 5, 9, 20))):
        row = [NAMES[0], *(random.choice(NAMES[1:3]) for _ in range(random.randrange(3)))]
        if random.random() > 0.15:
            row.append(random.choice(NAMES[3:]))
        if random.random() < 0.1:
            del row[random.randrange(len(row))]
        rows.append([event(name, target, random.randrange(25)) for name in row])
    events = []
    while rows := [row for row in rows if row]:
        events.append(random.choice(rows).pop(0))
    return events


@pytest.mark.parametrize("seed", range(60))
def test_slips_are_those_of_the_histories(seed: int) -> None:
    """An oracle that knows nothing but what each object met, and where."""
    events = random_lives(Random(seed))
    histories: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for each in events:
        histories[each["targetId"]].append((each["name"], each["line"]))
    learner = learned(events)
    words = learner.numbering.words
    for case in learner.history_rules().cases():
        if any(len(way.examples) >= MOST_HISTORY_EXAMPLES for way in case.good):
            continue
        key = words[case.key].name if isinstance(case.key, int) else ""
        ends = [words[name].name for name in case.others]

        def place(target: int, key: str = key) -> int | None:
            return next((line for name, line in histories[target] if name == key or not key), None)

        bad = {place(example.object) for _, example in case.bad}
        ended = [target for target, met in histories.items() if any(name in ends for name, _ in met)]
        good = {place(target) for target in ended} - {None}
        mistake = case.breach is Breach.MISSING and ends[0] in ENDS and (not key or key in OPENS)
        assert case.rare_omission == (mistake and len(bad) == 1 and not bad & good)
        if case.rare_omission and len(good) >= 2:
            assert case.kept >= 3 * case.broken or case.kept > 4


def test_there_are_slips_among_them() -> None:
    found = [
        case.rare_omission for seed in range(60) for case in learned(random_lives(Random(seed))).history_rules().cases()
    ]
    assert any(found) and not all(found)
