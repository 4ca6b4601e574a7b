"""Lives that break a rule and may well be right: what exempts them, and that nothing else does."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from lawful.learning import exemptions, history_patterns, vocabulary
from lawful.learning.history_patterns import IndexedHistory
from lawful.learning.learner import Learner
from lawful.learning.parameters import Learning
from lawful.learning.window_protocol import Anomaly

Event = dict[str, Any]
LIVES = 30
ODD = 7  # the one that differs


def learned(history: Callable[[int], str], window: int = 5) -> Learner:
    """From objects, each with its own lines. A life is names; `+File` makes the object."""
    learner = Learner(Learning(window=window))
    for number in range(LIVES):
        learner.feed([event(name, number, 10 * number + at) for at, name in enumerate(history(number).split())])
    learner.finish()
    return learner


def anomalies_of(history: Callable[[int], str]) -> list[Anomaly]:
    return list(learned(history).anomalies())


def broken(history: Callable[[int], str], end: str) -> bool:
    """Does a rule about whole lives speak of the odd one, that has to do with how lives end?"""
    learner = learned(history)
    return any(
        end in [learner.numbering.words[name].name for name in (*case.others, case.key) if isinstance(name, int)]
        and ODD in [example.object for _, example in case.bad]
        for case in learner.history_rules().cases()
    )


def event(name: str, target: int, line: int) -> Event:
    kind = "new" if name.startswith("+") else "func_pre"
    return {"event": kind, "name": name.lstrip("+"), "targetId": target, "file": "app.py", "line": line}


def names(anomaly: Anomaly) -> set[str]:
    return {word.name for word in (anomaly.rule.a, anomaly.rule.b, *anomaly.rule.more)}


def odd(usual: str, other: str) -> Callable[[int], str]:
    return lambda number: other if number == ODD else usual


@pytest.mark.parametrize(
    ("usual", "exempt", "not_exempt"),
    [
        pytest.param("+T T.start T.join", "+T", "+T T.start", id="never begun"),
        pytest.param("+L L.enter L.leave L.enter L.leave", "+L", "+L L.enter", id="no section"),
        pytest.param("+F F.__enter__ F.read F.__exit__", "+F F.__enter__", "+F F.read", id="with failed"),
        pytest.param("+F F.work F.stop", "+F F.work G.stop G.look", "+F F.work", id="another class"),
        pytest.param("+F F.read F.close", "+F F.read F.close F.is_closed", "+F F.read F.close F.read", id="asked"),
        pytest.param("+F F.read F.close", "+F F.read F.close F.__str__", "+F F.read F.close F.peek", id="printed"),
    ],
)
def test_what_exempts(usual: str, exempt: str, not_exempt: str) -> None:
    end = usual.split()[-1]
    assert not broken(odd(usual, usual), end)
    assert not broken(odd(usual, exempt), end)
    assert broken(odd(usual, not_exempt), end)
    (anomaly,) = anomalies_of(odd(usual, not_exempt))
    assert {scene.object for scene in anomaly.bad} == {ODD}


def test_one_that_ends_with_a_close_is_ended_though_others_go_on_after_one() -> None:
    def history(number: int) -> str:
        return "+F F.read F.close" if number == ODD else "+F F.read F.close F.close F.read F.__exit__"

    assert not broken(history, "F.__exit__")
    assert broken(odd("+F F.read F.close F.close F.read F.__exit__", "+F F.read"), "F.__exit__")


def test_what_was_never_begun_can_be_ended() -> None:
    assert anomalies_of(odd("F.open F.use F.close", "F.close")) == []
    (anomaly,) = anomalies_of(odd("F.open F.use F.close", "F.use F.close"))
    assert names(anomaly) == {"F.open", "F.use"}


def test_the_window_knows_of_the_same_method_of_another_class() -> None:
    assert anomalies_of(odd("F.prepare F.render", "F.prepare G.render G.look")) == []
    (anomaly,) = anomalies_of(odd("F.prepare F.render", "F.prepare G.look"))
    assert names(anomaly) == {"F.prepare", "F.render"}


def test_what_is_given_back_was_taken() -> None:
    (anomaly,) = anomalies_of(odd("L.acquire L.release", "L.release"))
    assert {anomaly.rule.a.name, anomaly.rule.b.name} == {"L.acquire", "L.release"}


def test_a_step_that_is_ended_is_no_end() -> None:
    """Files are often flushed, and go on then: so one that is flushed last is not ended by that."""
    usual = "+F F.write F.flush F.write F.close"
    assert anomalies_of(odd(usual, "+F F.write F.flush F.write F.abort")) == []
    (anomaly,) = anomalies_of(odd(usual, "+F F.write F.write F.flush"))
    assert any(rule.b.name == "F.close" for rule in (anomaly.rule, *anomaly.others))


def test_what_is_always_done_at_one_place_could_not_be_forgotten_at_others() -> None:
    def score(line: Callable[[int], int]) -> float:
        learner = Learner(Learning(window=5))
        for number in range(LIVES):
            learner.feed([event("F.read", number, 10 * number)])
            if number != ODD:
                learner.feed([event("F.close", number, line(number))])
        learner.finish()
        (anomaly,) = learner.anomalies()
        return anomaly.score

    assert score(lambda number: 5) < score(lambda number: 10 * number + 1)


def test_two_causes_are_two_anomalies() -> None:
    """Both rules are about the same end; what breaks them are two objects."""

    def history(number: int) -> str:
        use = "F.read" if number % 2 else "F.write"
        return use if number in (ODD, ODD + 1) else f"{use} F.close"

    found = anomalies_of(history)
    assert [{scene.object for scene in anomaly.bad} for anomaly in found] in ([{7}, {8}], [{8}, {7}], [{7, 8}])
    assert {str(site) for anomaly in found for site in anomaly.sites} == {"app.py:70", "app.py:80"}


def test_an_anomaly_is_reported_once() -> None:
    (anomaly,) = anomalies_of(odd("+F F.open F.read F.seek F.close", "+F F.open F.read F.seek"))
    assert {scene.object for scene in anomaly.bad} == {ODD}


def test_what_begins_is_ended_though_the_life_goes_on() -> None:
    def history(number: int) -> str:
        end = "" if number == ODD else ("D.rollback" if number % 3 else "D.commit")
        return f"+D D.begin D.execute {end} D.query D.close"

    (anomaly,) = anomalies_of(history)
    assert anomaly.rule.a.name == "D.begin"
    assert {word.name for word in (anomaly.rule.b, *anomaly.rule.more)} == {"D.commit", "D.rollback"}
    assert {scene.object for scene in anomaly.bad} == {ODD}


def test_what_no_life_is_without_is_only_late() -> None:
    """Of many lives that go through the same places only the first is kept, but what all of them have is known."""
    learner = Learner(Learning(window=5))
    for number in range(200):
        rest = [event("Other.work", 9999, 900)] * (40 if number == 150 else 0)
        learner.feed([event("F.open", number, 1), event("F.open", number, 1 + number % 50), *rest])
        learner.feed([event("F.close", number, 70)])
    learner.finish()
    assert list(learner.anomalies()) == []


def random_lives(random: Random) -> dict[int, list[str]]:
    names = ("F.start", "F.is_open", "F.use", "F.close", "F.commit")
    return {number: random.choices(names, k=random.randrange(1, 8)) for number in range(40)}


@pytest.mark.parametrize("seed", range(20))
def test_what_ways_of_life_say_is_what_the_histories_say(seed: int) -> None:
    histories = random_lives(Random(seed))
    learner = Learner(Learning())
    for number, names in histories.items():
        learner.feed([event(name, number, 100 * number + at) for at, name in enumerate(names)])
    learner.finish()
    words = learner.numbering.words
    ways: dict[Any, IndexedHistory] = {}
    for history in learner.window.histories():
        way = IndexedHistory(history, None)
        ways.update((example.object, way) for example in history.examples)
    assert set(ways) == set(histories)
    for number, names in histories.items():
        way = ways[number]
        for name in way.names:
            label = words[name].name
            first, last = names.index(label), len(names) - 1 - names[::-1].index(label)
            others = set(names[first:last]) - {label}
            # Only first and last ones are known of the others: those that lie wholly between, or begin or end there.
            known = {
                each
                for each in others
                if first < names.index(each) < last or first < len(names) - 1 - names[::-1].index(each) < last
            }
            assert way.returns_to(name) == bool(known)
        ends = [name for name in way.names if words[name].name == "F.close"]
        if ends:
            last = len(names) - 1 - names[::-1].index("F.close")
            assert exemptions.may_go_on(way, ends, words) == all(name == "F.is_open" for name in names[last + 1 :])
    (start,) = (number for number, word in enumerate(words) if word.name == "F.start")
    pool = [way for way in ways.values() if start in way.names]
    after = {
        end: sum(
            end in names[len(names) - names[::-1].index("F.start") :]
            for names in histories.values()
            if "F.start" in names
        )
        for end in ("F.close", "F.commit")
    }
    found = history_patterns.closing(start, {id(way): way for way in pool}.values(), (), words)
    assert {words[name].name for name in found} == {end for end, number in after.items() if number >= 2}
    assert all(vocabulary.ends(words[name]) for name in found)


def test_the_window_knows_of_a_with_that_failed() -> None:
    """One that was entered, and not left, has failed, by the language: nothing is missing."""
    assert anomalies_of(odd("F.prepare F.__enter__ F.__exit__", "F.prepare F.__enter__")) == []
    assert anomalies_of(odd("F.prepare F.__enter__ F.__exit__", "F.prepare"))


def test_that_an_object_is_made_last_is_no_rule() -> None:
    """What its `__init__` calls comes before the object is there; it may be called again."""
    assert anomalies_of(odd("F.prepare +F F.use", "F.prepare +F F.prepare F.use")) == []


def test_a_with_that_was_entered_is_left_whatever_order_is_seen() -> None:
    """Two threads use one lock: the last thing that is seen of it may be that it is entered."""
    usual = "L.__enter__ L.__exit__"
    assert anomalies_of(odd(usual, f"{usual} L.__enter__")) == []
    (anomaly,) = anomalies_of(odd("L.take L.give", "L.take L.give L.take"))
    assert names(anomaly) == {"L.take", "L.give"}


@pytest.mark.parametrize("ended", ["+T {start} T.join", "+T {start} T.use T.join"])
def test_it_is_the_same_beginning_in_every_class(ended: str) -> None:
    """None of them is that of nearly all, but all are started."""

    def started(number: int) -> str:
        return ended.format(start=f"{'ABC'[number % 3]}.start")

    assert not broken(lambda number: "+T" if number == ODD else started(number), "T.join")
    assert broken(lambda number: "+T A.start" if number == ODD else started(number), "T.join")


def test_a_fixture_ends_what_may_not_have_begun() -> None:
    def history(number: int, other: str) -> str:
        if number == ODD:
            return other
        return "+T T.schedule T.join" if number % 5 == 0 else "+T T.schedule T.start T.join"

    assert not broken(lambda number: history(number, "+T T.schedule"), "T.join")
    assert broken(lambda number: history(number, "+T T.schedule T.start"), "T.join")


def test_a_question_is_no_end() -> None:
    """Lives that happen to be asked about last are not ended by that."""
    learner = learned(lambda number: "T.plan T.is_ready" if number % 6 == 0 else "T.plan T.stop")
    assert {word.name for rule in learner.history_rules().rules() for word in (rule.b, *rule.more)} == {"T.stop"}
