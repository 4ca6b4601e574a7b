"""Rules about whole lives: counts as an oracle finds them in the histories, and reports of broken ones."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from lawful import rml
from lawful.learning import history_patterns, learner_view, ranking, strategies, vocabulary
from lawful.learning.export import chosen_histories, to_rml
from lawful.learning.history_patterns import IndexedHistory
from lawful.learning.history_rules import HistoryRules
from lawful.learning.learner import Learner
from lawful.learning.parameters import Learning
from lawful.learning.store import Run, Store
from lawful.learning.violation_kinds import Breach
from lawful.learning.window_protocol import History, Rule, RuleState, Word

Event = dict[str, Any]


def call(name: str, target: int, line: int, file: str = "app.py") -> Event:
    return {"event": "func_pre", "name": name, "targetId": target, "file": file, "line": line}


def histories(events: Sequence[Event]) -> dict[int, list[tuple[str, str]]]:
    found: dict[int, list[tuple[str, str]]] = {}
    for event in events:
        found.setdefault(event["targetId"], []).append((event["name"], f"{event['file']}:{event['line']}"))
    return found


def learned(events: Sequence[Event], **changes: Any) -> Learner:
    learner = Learner(Learning(**changes))
    learner.feed(list(events))
    learner.finish()
    return learner


NAMES = ("File.open", "File.read", "File.seek", "File.close", "File.__exit__")


def random_trace(random: Random) -> list[Event]:
    """Files that are used and ended in one of two ways, woven into each other; now and then something is missing."""
    rows = []
    for target in range(random.choice((3, 20, 60))):
        uses = [random.choice(NAMES[1:3]) for _ in range(random.randrange(6))]
        row = [NAMES[0], *uses, random.choice(NAMES[3:])]
        if random.random() < 0.2:
            del row[random.randrange(len(row))]
        if random.random() < 0.1:
            row.append(random.choice(NAMES))
        rows.append([call(name, target, random.randrange(12)) for name in row])
    events = []
    while rows := [row for row in rows if row]:
        events.append(random.choice(rows).pop(0))
    return events


def oracle_ends(histories: list[list[tuple[str, str]]], key: str) -> set[str]:
    """Events with which most of the lives that have them end."""
    pool = [history for history in histories if any(name == key for name, _ in history)]
    found = set()
    for end in {name for history in pool for name, _ in history} - {key}:
        having = [history for history in pool if any(name == end for name, _ in history)]
        last = [history[-1] for history in having if history[-1][0] == end]
        if len(last) >= max(2, 0.7 * len(having)) and len({place for _, place in last}) >= 2:
            found.add(end)
    return found


@pytest.mark.parametrize("seed", range(25))
def test_counts_are_those_of_the_histories(seed: int) -> None:
    random = Random(seed)
    events = random_trace(random)
    every = list(histories(events).values())
    learner = learned(events, window=random.choice((0, 1, 25)), core=random.choice(("", "python")))
    found = {rule.a.label: rule for rule in learner.history_rules().rules()}
    for key in NAMES:
        ends = oracle_ends(every, key)
        pattern = re.compile("(a*b+)+")
        words = [
            "".join("a" if name == key else "b" for name, _ in history if name == key or name in ends)
            for history in every
            if any(name == key for name, _ in history)
        ]
        kept = sum(pattern.fullmatch(word) is not None for word in words)
        enforced = bool(ends) and kept > 4 and kept / len(words) > 0.75
        assert (key in found) == enforced
        if enforced:
            rule = found[key]
            assert {word.label for word in (rule.b, *rule.more)} == ends
            assert (rule.satisfied, rule.failed) == (kept, len(words) - kept)
            assert rule.state is RuleState.ENFORCING


@pytest.mark.parametrize("seed", range(15))
def test_as_a_law_they_say_the_same_of_the_same_trace(seed: int) -> None:
    random = Random(100 + seed)
    learner = learned(random_trace(random), window=0)
    rules = [
        rule
        for rule in learner.history_rules().rules()
        if any(word.name.endswith("close") for word in (rule.b, *rule.more))
    ]
    for rule in rules:
        law = rml.compile(to_rml((), [rule], histories=[rule]))
        for _ in range(5):
            events = random_trace(random)
            ends = {word.label for word in (rule.b, *rule.more)}
            bad = False
            for history in histories(events).values():
                word = "".join(
                    "a" if name == rule.a.label else "b" for name, _ in history if name in {rule.a.label, *ends}
                )
                bad |= bool(word) and not re.fullmatch("(a*b+)+", word)
            assert law.check(events).accepted != bad


# -- anomalies ----------------------------------------------------------------------------------------------------


def files(*, missing: int = -1, after: int = -1) -> list[Event]:
    """Thirty files, far apart; closed, or left by `with`."""
    events: list[Event] = []
    for number in range(30):
        at = 10 * number
        events.append(call("File.read", number, at))
        if number == after:
            events.append(call("File.close", number, at + 8))
            events.append(call("File.read", number, at + 9))
        elif number != missing:
            events += [call("Other.work", 1000 + number, at + 1)] * 40
            events.append(call("File.close" if number % 3 else "File.__exit__", number, at + 9))
    return events


def test_an_end_that_is_missing_is_reported_however_far_away_it_is_elsewhere() -> None:
    (anomaly,) = learned(files(missing=7), window=5).anomalies()
    assert anomaly.message == (
        "`File.read` is followed by `File.close` or `File.__exit__` in 29 of 30 lives; not at `app.py:70`"
    )
    assert anomaly.rule.whole_history
    assert str(anomaly.rule) == "File.read* (File.close | File.__exit__)+"
    assert [str(site) for site in anomaly.sites] == ["app.py:70"]
    assert anomaly.good is not None
    assert anomaly.good.events[-1][0] == "File.close"


def test_what_comes_after_the_end_is_reported() -> None:
    (anomaly,) = learned(files(after=7), window=5).anomalies()
    assert anomaly.message == (
        "nothing comes after `File.close` or `File.__exit__` in 29 of 30 lives with `File.read`; "
        "`File.read` does at `app.py:79`"
    )


def test_all_is_well() -> None:
    assert learned(files(), window=5).anomalies() == []


def test_what_the_window_knows_as_well_is_reported_in_its_words() -> None:
    events = []
    for number in range(21):
        events.append(call("Lock.acquire", number, 10 * number))
        if number < 20:
            events.append(call("Lock.release", number, 10 * number + 1))
    (anomaly,) = learned(events).anomalies()
    assert anomaly.message == "`Lock.acquire` is followed by `Lock.release` in 20 of 21 uses; not at `app.py:200`"
    assert not anomaly.rule.whole_history


def test_what_has_to_come_first() -> None:
    events = []
    for number in range(30):
        if number != 7:
            events += [call("Port.open", number, 10 * number), *[call("Other.work", 99, 5)] * 40]
        events += [call("Port.send", number, 10 * number + 1), *[call("Other.work", 99, 5)] * 40]
        events.append(call("Port.close", number, 10 * number + 2))
    (anomaly,) = learned(events, window=5).anomalies()
    assert anomaly.message.startswith("`Port.send` comes after `Port.open` in 29 of 30 lives; not at `app.py:7")
    assert (anomaly.rule.a.label, anomaly.rule.b.label) == ("Port.open", "Port.send")


def test_one_that_raised_need_not_be_finished() -> None:
    bad = {**call("File.read", 7, 70), "event": "func_raise"}
    plain = learned(files(missing=7), window=5).anomalies()[0].score
    events = files(missing=7)
    events.insert(1 + next(at for at, event in enumerate(events) if event["targetId"] == 7), bad)
    found = learned(events, window=5).anomalies()
    assert [round(anomaly.score / plain, 3) for anomaly in found] in ([], [ranking.RAISED])


def test_names_count_where_there_are_many_rules() -> None:
    assert learner_view.doubt(3) == learner_view.doubt(10) == 0
    assert 0 < learner_view.doubt(20) < learner_view.doubt(1000) <= 0.5

    def scores(*, doubt: float) -> list[float]:
        words = [Word("func_pre", "Thing.take"), Word("func_pre", "Thing.look")]
        learner = learned(
            [call(word.name, number, number) for number in range(30) for word in words if number or word == words[0]]
        )
        histories = learner.window.histories()
        return [each.score for each in HistoryRules(histories, replace(learner.view(), doubt=doubt)).cases()]

    assert [0.5 * score for score in scores(doubt=0.0)[:1]] == scores(doubt=0.5)[:1]


# -- other runs, other processes -----------------------------------------------------------------------------------


def parts() -> tuple[list[Event], list[Event]]:
    events = files(missing=7)
    return [e for e in events if e["targetId"] % 1000 >= 10], [e for e in events if e["targetId"] % 1000 < 10]


def test_lives_of_other_processes_are_as_good_as_our_own() -> None:
    one, other = (learned(part, window=5) for part in parts())
    one.merge(other.snapshot())
    (anomaly,) = one.anomalies()
    assert anomaly.message.endswith("in 29 of 30 lives; not at `app.py:70`")


def test_lives_of_other_runs_count_but_are_not_reported(tmp_path: Any) -> None:
    first, second = parts()
    with Store(tmp_path / "store.db") as store:
        assert store.histories() == []
        learner = learned(first, window=5)
        store.add([Run("one", 1, 5)], learner.parameters.templates, learner.shared_pairs(), learner.shared_histories())
        bare = learned(second, window=5)
        assert bare.anomalies() == [] or bare.anomalies()[0].rule.satisfied < 10
        taught = Learner(Learning(window=5))
        taught.remember(histories=store.histories())
        taught.feed(second)
        taught.finish()
        assert taught.anomalies()[0].message.endswith("in 29 of 30 lives; not at `app.py:70`")
        store.add([Run("two", 1, 5)], taught.parameters.templates, taught.shared_pairs(), taught.shared_histories())
        # What is known of the bad one is known, but it was another run.
        later = Learner(Learning(window=5))
        later.remember(histories=store.histories())
        later.feed(files())
        later.finish()
        assert later.anomalies() == []
        assert sum(history.count for history in store.histories() if history.words[0].name == "File.read") == 30
    with Store(tmp_path / "merged.db") as merged, Store(tmp_path / "store.db") as store:
        merged.merge([store])
        assert sorted(merged.histories()) == sorted(store.histories())


def test_a_way_of_life_once() -> None:
    histories = [history for part in parts() for history in learned(part).window.histories()]
    found = history_patterns.merged(histories)
    assert len({history.order for history in found}) == len(found)
    assert sum(history.count for history in found) == sum(history.count for history in histories)
    assert history_patterns.merged([History((0, 1), 2, ())]) == [History((0, 1), 2, ())]


# -- as a law ------------------------------------------------------------------------------------------------------


def test_which_rules_are_in_a_law() -> None:
    read, close, leave = (Word("func_pre", f"File.{name}") for name in ("read", "close", "__exit__"))
    both = Rule(read, close, "a*b+", 20, 1, 3, RuleState.ENFORCING, (leave,), True)
    one = Rule(read, close, "a*b+", 20, 1, 3, RuleState.ENFORCING, (), True)
    assert chosen_histories([both, one], []) == [both, one]
    assert chosen_histories([both, one], [Rule(read, close, "ab", 20, 1, 3, RuleState.ENFORCING)]) == [both]
    assert chosen_histories([one._replace(b=read, a=close)], []) == []  # no name says that something ends
    assert chosen_histories([one._replace(a=Word("any", "File"))], []) == []
    assert chosen_histories([one._replace(state=RuleState.LEARNING)], []) == []
    text = to_rml([], histories=[both])
    assert "matches file_close(o) | file_exit(o);" in text
    assert "kept in 20 of 21 lives" in text


def test_several_traces_have_objects_of_the_same_number() -> None:
    learner = Learner(Learning(window=5))
    for missing in (7, -1, 9):
        learner.feed(files(missing=missing))
        learner.next_trace()
    learner.finish()
    (anomaly,) = learner.anomalies()
    assert anomaly.message.endswith("in 88 of 90 lives; not at `app.py:70` and `app.py:90`")


class Thorough(HistoryRules):
    """Looks at whatever comes before an event, however seldom."""

    def _company(self, key: int, pool: list[IndexedHistory]) -> Iterator[int]:
        for name in dict.fromkeys(name for way in pool for name in way.names if way.first[name] < way.first[key]):
            word = self._words[name]
            if vocabulary.is_call(word) and vocabulary.leads(word, self._words[key]) and name not in self._final_events:
                yield name


@pytest.mark.parametrize("seed", range(30))
def test_what_is_not_looked_at_would_not_have_been_reported(seed: int) -> None:
    random = Random(seed)
    words = "P.open P.close P.__enter__ P.__exit__ P.is_set P.a P.b P.c P.release P.acquire".split()
    learner = Learner(Learning(window=3, thresholds={"ratio.enforce": random.choice((0.4, 0.6, 0.8, 0.9))}))
    for number in range(60):
        names = [name for name in words if random.random() < 0.6]
        if random.random() < 0.3:
            random.shuffle(names)
        learner.feed([call(name, number, 10 * number + at) for at, name in enumerate(names)])
    learner.finish()
    values = learner.parameters.thresholds
    strategy = strategies.parse(learner.parameters.strategy)

    def judge(satisfied: int, total: int, contexts: int) -> RuleState:
        return strategies.judge(strategy.program(values), satisfied, total, contexts)

    histories, view = learner.window.histories(), replace(learner.view(), judge=judge, doubt=0.0)
    ours, thorough = (
        [case._replace(good=(), bad=()) for case in kind(histories, view).cases() if case.breach is Breach.FIRST]
        for kind in (HistoryRules, Thorough)
    )
    assert ours == thorough and (ours or seed != 0)
