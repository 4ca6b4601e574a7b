"""The learner, whole: the same as Algorithm 1 read literally, whatever the batches; asked and changed while it runs."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from threading import Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lawful import core
from lawful.errors import LawfulError
from lawful.learning import templates
from lawful.learning.learner import Learner
from lawful.learning.parameters import Learning
from lawful.learning.window_protocol import Rule, RuleState, SharedPair, Site, Word, turned

Event = dict[str, Any]
Small = tuple[str, int, int]  # name, object, line
Counts = dict[tuple[str, str, str], tuple[int, int, int]]  # by a, b and pattern: satisfied, failed, contexts


def events_of(trace: Sequence[Small]) -> list[Event]:
    return [
        {"event": "func_pre", "name": name, "targetId": number, "file": "app.py", "line": line}
        for name, number, line in trace
    ]


def literally(trace: Sequence[Small], window: int, patterns: Sequence[str] = templates.DEFAULT) -> Counts:
    """Algorithm 1 with its extensions of sections 2.2 and 2.3, line by line, with a list for each instance."""
    specs: dict[tuple[str, str], dict[int, list[tuple[str, int]]]] = {}
    ended: dict[tuple[str, str], Counter[tuple[str, int]]] = {}
    for at, (old, number, line) in enumerate(trace):
        future = {name for name, other, _ in trace[at + 1 : at + 1 + window] if other == number}
        for new in future - {old}:
            for key in ((old, new), (new, old)):
                if key not in specs:
                    specs[key], ended[key] = {}, Counter()
        for (a, b), instances in specs.items():
            if old in (a, b):
                instances.setdefault(number, []).append(("a" if old == a else "b", line))
                if a not in future and b not in future:
                    scenario = instances.pop(number)
                    ended[a, b]["".join(letter for letter, _ in scenario), scenario[0][1]] += 1
    counts: Counts = {}
    for (a, b), scenarios in ended.items():
        for pattern in patterns:
            satisfies = re.compile(f"(?:{pattern})+")
            good = {key: count for key, count in scenarios.items() if satisfies.fullmatch(key[0])}
            places = {line for word, line in good if {*word} == {"a", "b"}}
            counts[a, b, pattern] = (sum(good.values()), scenarios.total() - sum(good.values()), len(places))
    return counts


def counted(rules: Iterator[Rule]) -> Counts:
    return {(rule.a.label, rule.b.label, rule.pattern): (rule.satisfied, rule.failed, rule.contexts) for rule in rules}


traces = st.lists(st.tuples(st.sampled_from("fghk"), st.integers(1, 3), st.integers(1, 4)), max_size=60)
windows = st.sampled_from([0, 1, 2, 3, 5, 25])


@pytest.mark.parametrize("which", ["", "python"])
@given(trace=traces, window=windows)
def test_all_rules_have_the_counts_of_algorithm_1(which: str, trace: list[Small], window: int) -> None:
    learner = Learner(Learning(window=window, all_rules=True, tune_every=7, core=which))
    learner.feed(events_of(trace))
    learner.finish()
    assert counted(learner.rules(all=True)) == literally(trace, window)
    assert learner.events == len(trace)


@given(trace=traces, window=windows)
def test_objects_of_another_trace_are_others(trace: list[Small], window: int) -> None:
    learner = Learner(Learning(window=window, all_rules=True))
    learner.feed(events_of(trace))
    learner.next_trace()
    learner.feed(events_of(trace))
    learner.finish()
    both = trace + [(name, number + 100, line) for name, number, line in trace]
    assert counted(learner.rules(all=True)) == literally(both, window)


def program(seed: int, uses: int = 400, faults: int = 3) -> list[Small]:
    """Some objects at a time are opened, read and closed; there is other noise; some are never closed."""
    chance = random.Random(seed)
    faulty = {uses * (number + 1) // (faults + 1) for number in range(faults)}
    trace: list[Small] = []
    for use in range(uses):
        own = 10 + 10 * chance.randrange(5)
        steps = [("open", own), *(("read", own + 1) for _ in range(chance.randrange(4)))]
        steps.append(("close", own + 2) if use not in faulty else ("peek", 990 + chance.randrange(3)))
        for name, line in steps:
            trace.append((name, use, line))
            trace.extend((chance.choice("xyz"), 10_000 + use // 3, 500) for _ in range(chance.randrange(3)))
    return trace


def in_batches(events: Sequence[Event], seed: int) -> Iterator[Sequence[Event]]:
    chance = random.Random(seed)
    start = 0
    while start < len(events):
        size = chance.choice([1, 2, 7, 50, 333, 100_000])
        yield events[start : start + size]
        start += size


@pytest.mark.parametrize("joins", [(), ("result", "arguments", "family")])
def test_batches_make_no_difference(joins: tuple[str, ...]) -> None:
    events = events_of(program(1))
    answers = []
    for seed in range(5):
        learner = Learner(Learning(tune_every=100, budget=0, seed=3, joins=frozenset(joins)))
        for batch in in_batches(events, seed):
            learner.feed(batch)
        at_ticks = [move.event for move in learner.moves]
        assert at_ticks
        assert all(event % 100 == 0 for event in at_ticks)
        learner.finish()
        learner.finish()  # there is nothing new
        answers.append(learner.to_json())
    assert all(answer == answers[0] for answer in answers)


def test_another_seed_makes_other_moves() -> None:
    events = events_of(program(1))
    moves = []
    for seed in (1, 1, 2):
        learner = Learner(Learning(tune_every=100, budget=0, seed=seed))
        learner.feed(events)
        moves.append(learner.moves)
    assert moves[0] == moves[1] != moves[2]


@pytest.mark.parametrize("budget", [0, 2])
@pytest.mark.parametrize("tune_every", [100, 100_000])
def test_it_is_known_what_the_last_move_did(budget: int, tune_every: int) -> None:
    learner = Learner(Learning(tune_every=tune_every, budget=budget))
    learner.feed(events_of(six_protocols()))
    learner.finish()
    found = learner.anomalies()
    assert learner.moves[-1].after == budget - (len(found) + found.omitted)
    assert all(move.after is not None for move in learner.moves)


@pytest.mark.parametrize("change", [{"seed": 9}, {"strategy": "meet(count, ratio)"}])
def test_another_tuner_goes_on_from_there_and_can_go_back_as_far(change: dict[str, Any]) -> None:
    learner = Learner(Learning(tune_every=100, budget=0, seed=3, thresholds={"count.enforce": 6}))
    start = learner.parameters.thresholds
    learner.feed(events_of(program(1)))
    tuned = learner.parameters.thresholds
    learner.change(**change, thresholds={"count.dead": 1})
    now = learner.parameters.thresholds
    assert now == {name: tuned[name] for name in now} | {"count.dead": 1}
    assert any(now[name] != start[name] for name in now if name != "count.dead")
    learner.change(budget=1000)
    for _ in range(200):
        learner.tick()
    assert learner.parameters.thresholds == {name: start[name] for name in now} | {"count.dead": 1}


def test_moves_of_earlier_tuners_are_remembered_though_not_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lawful.learning.tuner.MOST_PAST_MOVES", 5)
    learner = Learner(Learning(tune_every=100, budget=0))
    learner.feed(events_of(program(1)))
    moves = learner.moves
    assert len(moves) > 5
    learner.change(seed=1)
    assert learner.moves == moves[-5:]
    learner.change(budget=1000)
    learner.tick()
    assert (learner.moves[:5], len(learner.moves)) == (moves[-5:], 6)


def test_untuned_thresholds_stay() -> None:
    learner = Learner(Learning(tune=False, budget=0, tune_every=10, thresholds={"ratio.enforce": 0.8}))
    learner.feed(events_of(program(1)))
    learner.finish()
    assert learner.moves == []
    assert learner.parameters.thresholds["ratio.enforce"] == 0.8


def test_a_missing_close_is_found() -> None:
    learner = Learner(Learning())
    learner.feed(events_of(program(2)))
    learner.finish()
    best = learner.anomalies()[0]
    assert {"open", "close"} == {best.rule.a.label, best.rule.b.label}
    assert best.rule.failed == 3
    assert best.rule.state == RuleState.ENFORCING
    assert learner.numbering.words[0] == Word("func_pre", "open")


def test_json_has_what_was_promised() -> None:
    learner = Learner(Learning())
    learner.feed(events_of(program(2)))
    learner.finish()
    answer = json.loads(json.dumps(learner.to_json()))
    assert list(answer)[:4] == ["events", "window", "rules", "anomalies"]
    assert (answer["events"], answer["window"]) == (len(program(2)), 25)
    rules = list(learner.rules())
    assert len(answer["rules"]) == len(rules) > 0
    for rule, written in zip(rules, answer["rules"], strict=True):
        assert written == {
            "a": rule.a.label,
            "b": rule.b.label,
            "pattern": rule.pattern,
            "satisfied": rule.satisfied,
            "failed": rule.failed,
            "contexts": rule.contexts,
            "state": rule.state.name.lower(),
        }
        assert rule.state != RuleState.DEAD
    anomaly = answer["anomalies"][0]
    assert list(anomaly)[:8] == ["rule", "score", "satisfied", "failed", "object", "sites", "events", "message"]
    assert {anomaly["rule"]["a"], anomaly["rule"]["b"]} == {"open", "close"}
    assert anomaly["object"] in {100, 200, 300}
    assert anomaly["events"][0]["name"] == "open"
    assert anomaly["events"][-1]["file"] == "app.py"
    assert anomaly["sites"][0] == f"app.py:{anomaly['events'][-1]['line']}"


def test_rules_come_in_the_order_of_their_names_one_by_one() -> None:
    learner = Learner(Learning(all_rules=True))
    learner.feed(events_of(program(2)))
    learner.finish()
    rules = list(learner.rules(all=True))
    order = [(*sorted((rule.a.label, rule.b.label)), templates.DEFAULT.index(rule.pattern)) for rule in rules]
    assert order == sorted(order)
    assert len(rules) == 18 * learner.window.pairs
    assert len({(rule.a, rule.b, rule.pattern) for rule in rules}) == len(rules)
    assert [rule.a.label for rule in rules[:3]] == ["close", "open", "close"]
    assert {rule.state for rule in learner.rules()} == {RuleState.ENFORCING, RuleState.LEARNING}


def test_dead_pairs_are_pruned_unless_all_rules_are_wanted() -> None:
    trace = [(name, number, 1) for number in range(300) for name in (("f", "g") if number % 9 == 0 else ("f", "h"))]
    trace += [("g", 1000 + number, 2) for number in range(300)]
    pruning, keeping = (Learner(Learning(tune_every=50, all_rules=all_rules)) for all_rules in (False, True))
    for learner in (pruning, keeping):
        learner.feed(events_of(trace))
        learner.finish()
    assert keeping.window.pruned == 0
    assert pruning.window.pruned > 0
    assert counted(keeping.rules(all=True)) == literally(trace, 25)


def six_protocols() -> list[Small]:
    """Each is broken once, at a place of its own."""
    trace: list[Small] = []
    for kind in range(6):
        for use in range(60):
            number = 1000 * kind + use
            trace.append((f"open{kind}", number, 100 * kind + use % 3))
            if use != 30:
                trace.append((f"close{kind}", number, 100 * kind + 50))
    return trace


def test_no_more_anomalies_than_the_budget_are_shown() -> None:
    learner = Learner(Learning(tune=False))
    learner.feed(events_of(six_protocols()))
    learner.finish()
    whole = learner.anomalies()
    assert (len(whole), whole.omitted) == (6, 0)
    learner.change(budget=2)
    few = learner.anomalies()
    assert (list(few), few.omitted) == (list(whole[:2]), 4)
    assert learner.to_json()["omitted"] == 4


# -- several objects ----------------------------------------------------------------------------------


def database(uses: int, faulty: set[int]) -> Iterator[Event]:
    """Connections with two cursors each. `faulty` uses do not commit what they wrote."""

    def event(kind: str, name: str, line: int, **more: object) -> Event:
        return {"event": kind, "name": f"sqlite3.{name}", "file": "db.py", "line": line, **more}

    for use in range(uses):
        connection, line = 10 * use, 100 * (use % 4)
        yield event("func_pre", "connect", line)
        yield event("func_post", "connect", line, resultId=connection)
        for cursor in (connection + 1, connection + 2):
            yield event("func_pre", "Connection.cursor", line + 1, targetId=connection)
            yield event("func_post", "Connection.cursor", line + 1, targetId=connection, resultId=cursor)
            yield event("func_pre", "Cursor.execute", line + 2, targetId=cursor)
            yield event("func_post", "Cursor.execute", line + 2, targetId=cursor, resultId=cursor)
        if use not in faulty:
            yield event("func_pre", "Connection.commit", line + 3, targetId=connection)
        yield event("func_pre", "Connection.close", 77 if use in faulty else line + 4, targetId=connection)
        for cursor in (connection + 1, connection + 2):
            yield event("gone", "Cursor", line + 5, targetId=cursor)


def test_what_a_cursor_wrote_is_committed_before_its_connection_is_closed() -> None:
    learner = Learner(Learning(joins=frozenset({"family"})))
    learner.feed(list(database(60, {41})))
    learner.finish()
    found = [rule for anomaly in learner.anomalies() for rule in (anomaly.rule, *anomaly.others)]
    assert any({rule.a.name, rule.b.name} == {"sqlite3.Cursor.execute", "sqlite3.Connection.commit"} for rule in found)
    assert [str(site) for anomaly in learner.anomalies() for site in anomaly.sites] == ["db.py:101"]
    rules = counted(learner.rules(all=True))
    execute = "sqlite3.Cursor.execute (of its sqlite3.Connection)"
    assert rules[execute, "sqlite3.Connection.commit", "a+b"][:2] == (59, 1)
    assert rules[execute, "sqlite3.Connection.close", "a+b"][:2] == (60, 0)


def test_without_joins_nothing_is_known_of_cursors_and_their_connections() -> None:
    learner = Learner(Learning(all_rules=True))
    learner.feed(list(database(60, {41})))
    learner.finish()
    classes = {(rule.a.name.split(".")[1], rule.b.name.split(".")[1]) for rule in learner.rules(all=True)}
    assert classes == {("Connection", "Connection")}
    assert learner.numbering.passed == {"no object": 60, "func_post": 300, "gone": 120}


# -- parameters ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "slug"),
    [
        ({"window": -1}, "window-range"),
        ({"window": 2.5}, "window-range"),
        ({"window": True}, "window-range"),
        ({"window": 10**9}, "window-range"),
        ({"budget": -1}, "budget-range"),
        ({"budget": "10"}, "budget-range"),
        ({"tune_every": 0}, "tune-every-range"),
        ({"most_pairs": -1}, "most-pairs-range"),
        ({"seed": "x"}, "seed-range"),
        ({"tune": 1}, "parameter-type"),
        ({"all_rules": "yes"}, "parameter-type"),
        ({"core": "fast"}, "core-unknown"),
        ({"joins": ["result", "results"]}, "join-unknown"),
        ({"joins": "result"}, "parameter-type"),
        ({"templates": "ab"}, "parameter-type"),
        ({"templates": [3]}, "parameter-type"),
        ({"templates": []}, "template-empty"),
        ({"templates": ["ac"]}, "template-letters"),
        ({"strategy": "luck"}, "strategy-unknown"),
        ({"strategy": 3}, "parameter-type"),
        ({"thresholds": {"ratio.enforce": 2}}, "threshold-range"),
        ({"thresholds": {"ratio.live": 0.5}}, "threshold-unknown"),
        ({"thresholds": 3}, "parameter-type"),
        ({"strategy": "count", "thresholds": {"ratio.enforce": 0.5}}, "threshold-unknown"),
    ],
)
def test_what_is_no_value_is_refused_and_nothing_changes(change: dict[str, Any], slug: str) -> None:
    with pytest.raises(LawfulError) as caught:
        Learning(**change)
    assert caught.value.slug == slug
    learner = Learner()
    before = learner.parameters
    with pytest.raises(LawfulError) as caught:
        learner.change(**({"budget": 3} | change))
    assert caught.value.slug == slug
    assert learner.parameters == before


def test_a_parameter_that_does_not_exist() -> None:
    with pytest.raises(LawfulError) as caught:
        Learner().change(windows=3)
    assert (caught.value.slug, caught.value.hint) == ("parameter-unknown", "did you mean window?")


def test_parameters_are_read_as_they_are_now() -> None:
    learner = Learner(Learning(window=5, thresholds={"count.enforce": 9}))
    assert learner.parameters.thresholds["count.enforce"] == 9
    learner.change(window=50, budget=3, joins=["family"], tune=False, tune_every=10, thresholds={"ratio.enforce": 0.9})
    now = learner.parameters
    assert (now.window, now.budget, now.joins, now.tune, now.tune_every) == (50, 3, frozenset({"family"}), False, 10)
    assert (now.thresholds["count.enforce"], now.thresholds["ratio.enforce"]) == (9, 0.9)
    assert learner.window.size == 50
    learner.change(strategy="join(count, context)")
    assert learner.parameters.thresholds == {"count.enforce": 9, "count.dead": 0, "context.enforce": 1}
    learner.change(strategy="ratio", thresholds={"ratio.dead": 0.1})
    assert learner.parameters.thresholds == {"ratio.enforce": 0.75, "ratio.dead": 0.1, "ratio.patience": 32}
    assert json.loads(json.dumps(learner.parameters.to_json()))["joins"] == ["family"]


def test_parameters_given_as_they_were_read_make_the_same_learner() -> None:
    learner = Learner(Learning(tune_every=100, budget=0))
    learner.feed(events_of(program(1)))
    assert learner.moves
    assert Learner(learner.parameters).parameters == learner.parameters


def test_states_follow_the_thresholds() -> None:
    learner = Learner(Learning(tune=False))
    learner.feed(events_of(program(2)))
    learner.finish()
    assert any(rule.state == RuleState.ENFORCING for rule in learner.rules())
    learner.change(thresholds={"count.enforce": 100_000})
    assert {rule.state for rule in learner.rules()} == {RuleState.LEARNING}
    assert learner.anomalies() == []


@given(trace=traces, cut=st.integers(0, 60))
def test_other_templates_begin_anew(trace: list[Small], cut: int) -> None:
    learner = Learner(Learning(all_rules=True, window=3))
    on_new_window: list[object] = []
    learner.on_new_window = on_new_window.append
    learner.feed(events_of(trace[:cut]))
    learner.change(templates=["ab", "abb?", "( ab )+"])
    assert on_new_window == [learner.window]
    assert learner.parameters.templates == ("ab", "abb?")
    learner.feed(events_of(trace[cut:]))
    learner.finish()
    assert counted(learner.rules(all=True)) == literally(trace[cut:], 3, ["ab", "abb?"])
    assert learner.events == len(trace)


@given(trace=traces, cut=st.integers(0, 60))
def test_a_larger_window_holds_from_then_on(trace: list[Small], cut: int) -> None:
    """The events that are still in it see more; so nothing is lost if it grows before the first one leaves."""
    learner = Learner(Learning(all_rules=True, window=60))
    learner.feed(events_of(trace[:cut]))
    learner.change(window=70)
    learner.feed(events_of(trace[cut:]))
    learner.finish()
    assert counted(learner.rules(all=True)) == literally(trace, 70)


def test_it_is_asked_and_changed_by_other_threads_while_it_runs() -> None:
    events = events_of(program(5, uses=1500))
    learner = Learner(Learning(tune_every=100, all_rules=True))
    faults: list[BaseException] = []
    asked = Counter[str]()
    over = False

    def ask() -> None:
        try:
            while not over or not asked["rounds"]:
                asked["rounds"] += 1
                learner.change(budget=asked["rounds"] % 7, thresholds={"ratio.enforce": 0.8})
                asked["rules"] += sum(1 for _ in learner.rules(all=True))
                asked["anomalies"] += len(learner.anomalies())
                asked["keys"] += len(learner.to_json())
                learner.snapshot()
        except BaseException as error:
            faults.append(error)

    thread = Thread(target=ask)
    thread.start()
    try:
        for batch in in_batches(events, 1):
            learner.feed(batch)
    finally:
        over = True
        thread.join()
    learner.finish()
    assert not faults
    assert asked["keys"]
    assert counted(learner.rules(all=True)) == literally(program(5, uses=1500), 25)


def test_who_holds_it_is_alone_with_it() -> None:
    learner = Learner()
    learner.hold_lock()
    threads = [
        Thread(target=learner.feed, args=(events_of([("f", 1, 1)]),)),
        Thread(target=learner.numbering.word, args=("func_pre", "g")),
        Thread(target=learner.change, kwargs={"budget": 1}),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(0.05)
    assert all(thread.is_alive() for thread in threads)
    assert (learner.events, learner.numbering.words, learner.parameters.budget) == (0, [], 10)
    learner.feed(events_of([("h", 1, 1)]))  # who holds it can use it
    learner.release_lock()
    for thread in threads:
        thread.join()
    assert (learner.events, len(learner.numbering.words), learner.parameters.budget) == (2, 3, 1)


def test_every_core_gives_the_same() -> None:
    answers = []
    for which in ("python", "native" if core.NATIVE and hasattr(core.native, "Window") else ""):
        learner = Learner(Learning(tune_every=100, budget=1, core=which))
        learner.feed(events_of(program(4)))
        learner.finish()
        answer = learner.to_json()
        answer["parameters"].pop("core")
        answers.append(answer)
    assert answers[0] == answers[1]


def test_a_core_that_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "native", None)
    with pytest.raises(LawfulError) as caught:
        Learner(Learning(core="native"))
    assert caught.value.slug == "core-missing"
    learner = Learner()
    before = learner.parameters
    with pytest.raises(LawfulError):
        learner.change(core="native", window=3)
    assert learner.parameters == before


# -- errors -------------------------------------------------------------------------------------------


def test_what_came_before_an_error_is_learned() -> None:
    learner = Learner(Learning(all_rules=True))
    trace = program(1, uses=10)
    with pytest.raises(LawfulError) as caught:
        learner.feed([*events_of(trace), {"event": "func_pre"}, *events_of(trace)], where="t.jsonl")
    assert caught.value.slug == "learn-event-without-name"
    assert learner.events == len(trace)


def test_events_without_objects_are_an_error_if_there_are_no_others() -> None:
    learner = Learner()
    learner.feed([{"event": "func_pre", "name": "f"}] * 3)
    with pytest.raises(LawfulError) as caught:
        learner.finish()
    assert caught.value.slug == "learn-no-objects"
    learner.feed(events_of([("f", 1, 1)]))
    learner.finish()
    assert learner.to_json()["skipped_events"] == {"no object": 3}


def test_no_events_are_no_error() -> None:
    learner = Learner()
    learner.finish()
    assert learner.to_json()["rules"] == []


# -- other runs, other processes ----------------------------------------------------------------------


def learned(trace: Sequence[Small], **parameters: Any) -> Learner:
    learner = Learner(Learning(**({"all_rules": True, "tune": False} | parameters)))
    learner.feed(events_of(trace))
    learner.finish()
    return learner


def summed(*parts: Counts) -> Counts:
    """Satisfied and failed; places are not sums."""
    total: Counts = {}
    for part in parts:
        for key, (satisfied, failed, _) in part.items():
            before = total.get(key, (0, 0, 0))
            total[key] = (before[0] + satisfied, before[1] + failed, 0)
    return total


@given(one=traces, other=traces, third=traces)
def test_counts_of_processes_and_runs_add_up(one: list[Small], other: list[Small], third: list[Small]) -> None:
    learner = learned(one)
    assert learner.merge(json.loads(json.dumps(learned(other).snapshot())))
    own = summed(literally(one, 25), literally(other, 25))
    assert summed(counted(learner.rules(all=True))) == own
    assert learner.events == len(one) + len(other)
    # What it remembers of other runs counts for rules, but it is not its own knowledge.
    learner.remember(learned(third).shared_pairs())
    assert summed(counted(learner.rules(all=True))) == summed(own, literally(third, 25))
    again = Learner(Learning(all_rules=True, tune=False))
    again.remember(learner.shared_pairs())
    ours = {key: value for key, value in summed(counted(again.rules(all=True))).items() if value != (0, 0, 0)}
    assert ours == {key: value for key, value in own.items() if value != (0, 0, 0)}
    assert list(again.shared_pairs()) == []


@given(traces)
def test_places_are_known_by_their_names(trace: list[Small]) -> None:
    """Another learner has other numbers for words and places, and may have them in the other order."""
    learner = Learner(Learning(all_rules=True, tune=False))
    for name in "khgf":
        learner.numbering.word("func_pre", name)
    for line in range(9, 0, -1):
        learner.numbering.site("app.py", line)
    learner.remember(learned(trace).shared_pairs())
    known = {key: value for key, value in literally(trace, 25).items() if value != (0, 0, 0)}
    assert {key: value for key, value in counted(learner.rules(all=True)).items() if value != (0, 0, 0)} == known


Endings = Counter[tuple[frozenset[str], frozenset[str], frozenset[tuple[str, str, str]]]]


def endings(learner: Learner) -> Endings:
    """By the events of a pair, those of them that came, and the rules that were satisfied, all by their names."""
    found: Endings = Counter()
    view = learner.view()
    for first, second in learner.window.known():
        pair = learner.window.pair(first, second)
        assert pair is not None
        one, other = view.words[first].label, view.words[second].label
        names = [name for text in view.templates for name in ((one, other, text), (other, one, text))]
        for ending in pair.endings:
            rules, letters = view.product.satisfied[ending.kind], view.product.letters[ending.kind]
            came = frozenset(word for at, word in enumerate((one, other)) if letters >> at & 1)
            kept = frozenset(name for number, name in enumerate(names) if rules >> number & 1)
            found[frozenset((one, other)), came, kept] += ending.count
    return found


@given(one=traces, other=traces)
def test_how_scenarios_ended_is_known_to_other_runs_and_processes(one: list[Small], other: list[Small]) -> None:
    """Another learner may have the words in the other order."""
    learner = Learner(Learning(all_rules=True, tune=False))
    for name in "khgf":
        learner.numbering.word("func_pre", name)
    learner.remember(learned(one).shared_pairs())
    learner.merge(json.loads(json.dumps(learned(other).snapshot())))
    assert endings(learner) == endings(learned(one)) + endings(learned(other))


@given(one=traces, other=traces)
def test_what_is_remembered_is_read_with_the_templates_of_now(one: list[Small], other: list[Small]) -> None:
    learner = learned(one)
    learner.change(templates=["a+b", "ab"])
    learner.remember(learned(other, templates=["a+b", "ab"]).shared_pairs())
    known = {key: value for key, value in literally(other, 25, ["a+b", "ab"]).items() if value != (0, 0, 0)}
    assert {key: value for key, value in counted(learner.rules(all=True)).items() if value != (0, 0, 0)} == known


def test_what_there_was_no_room_for_is_not_taken_for_remembered() -> None:
    """A pair that was refused may be seen later, when another one has died."""
    learner = Learner(Learning(tune=False, most_pairs=1, strategy="count"))
    for names in ("fg", "hk"):
        learner.remember(learned([(name, number, 1) for number in range(9) for name in names]).shared_pairs())
    assert (learner.window.pairs, learner.window.given_up) == (1, 1)
    learner.change(thresholds={"count.enforce": 99, "count.dead": 99})
    learner.tick()
    assert (learner.window.pairs, learner.window.pruned) == (0, 1)
    learner.change(thresholds={"count.dead": 0})
    trace = [("h", 1, 1), ("k", 1, 1)]
    learner.feed(events_of(trace))
    learner.finish()
    assert list(learner.shared_pairs()) == list(learned(trace).shared_pairs())


def test_knowledge_is_in_words() -> None:
    learner = learned([("f", 1, 3), ("g", 1, 4)], templates=["ab", "a+b"])
    (known,) = learner.shared_pairs()
    place, broken = (Site("app.py", 3), 0b0101), (Site("app.py", 3), 0b1010)
    assert known == SharedPair(Word("func_pre", "f"), Word("func_pre", "g"), ((0b0101, 0b11, 1),), (place,), (broken,))
    turned_places = ((place[0], 0b1010),), ((place[0], 0b0101),)
    assert known.turned() == SharedPair(known.second, known.first, ((0b1010, 0b11, 1),), *turned_places)


@given(st.integers(0, 2**64 - 1))
def test_turning_swaps_the_orders_of_each_template(rules: int) -> None:
    assert turned(rules) == sum((rules >> number & 1) << (number ^ 1) for number in range(64))


def test_another_processs_templates_must_be_the_same() -> None:
    learner = learned([("f", 1, 3), ("g", 1, 4)])
    before = learner.to_json()
    assert not learner.merge(learned([("f", 1, 3), ("g", 1, 4)], templates=["ab"]).snapshot())
    assert learner.to_json() == before


@pytest.mark.parametrize("which", ["", "python"])
@pytest.mark.parametrize("failures", [0, 1])
def test_what_is_remembered_shows_what_is_wrong_now(which: str, failures: int) -> None:
    """Also if the same was wrong before: it is not the rule that is wrong."""
    good = [
        (name, number, 10 * (number % 8) + line) for number in range(80) for line, name in ((1, "open"), (2, "close"))
    ]
    before = learned([*good, *(("open", 500 + number, 95) for number in range(failures))])
    bad = [("open", 1, 95), *(("x", 2, 1) for _ in range(50))]
    assert learned(bad, core=which).anomalies() == []
    learner = Learner(Learning(core=which))
    learner.remember(before.shared_pairs())
    learner.feed(events_of(bad))
    learner.finish()
    (anomaly,) = learner.anomalies()
    assert ([str(site) for site in anomaly.sites], str(anomaly.rule)) == (["app.py:95"], "open close")
    assert (anomaly.rule.satisfied, anomaly.rule.failed) == (80, 1 + failures)


def test_what_was_wrong_in_earlier_runs_only_is_not_shown() -> None:
    before = learned(program(2))
    assert before.anomalies() != []
    learner = Learner(Learning())
    learner.remember(before.shared_pairs())
    learner.feed(events_of(program(2, faults=0)))
    learner.finish()
    assert learner.anomalies() == []


def test_anomalies_of_another_process_are_shown_merged() -> None:
    good = [
        (name, number, 10 * (number % 4) + line) for number in range(100) for line, name in ((1, "open"), (2, "close"))
    ]
    one = [*good, ("open", 500, 71)]
    other = [
        *good,
        ("open", 500, 72),
        *((name, 600 + number, 80 + number % 3) for number in range(50) for name in "pq"),
    ]
    other += [("p", 900, 90)]
    learner = learned(one)
    learner.merge(json.loads(json.dumps(learned(other).snapshot())))
    found = {
        frozenset((anomaly.rule.a.label, anomaly.rule.b.label)): (
            [str(site) for site in anomaly.sites],
            anomaly.rule.failed,
        )
        for anomaly in learner.anomalies()
    }
    assert found == {
        frozenset(("open", "close")): (["app.py:71", "app.py:72"], 2),
        frozenset(("p", "q")): (["app.py:90"], 1),
    }


def test_what_all_processes_know_overrules_one() -> None:
    """A child finds a rule broken that the others break all the time."""
    good = [(name, number, 10 * (number % 4) + line) for number in range(60) for line, name in ((1, "p"), (2, "q"))]
    child = learned([*good, ("p", 500, 71)])
    assert len(child.anomalies()) == 1
    learner = learned([*good[:2], *(("p", 1000 + number, 5) for number in range(500))])
    learner.merge(child.snapshot())
    assert learner.anomalies() == []


def test_the_last_move_is_taken_back_if_it_leads_into_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = iter([15, 13, 0, 0])
    monkeypatch.setattr("lawful.learning.anomalies.count", lambda view, survey: next(numbers))
    learner = Learner(Learning(budget=10))
    learner.feed([{"event": "func_pre", "name": "open", "targetId": 1}])
    learner.finish()
    first, second = learner.moves
    assert (first.before, first.after, second.after) == (-5, -3, 10)
    thresholds = learner.parameters.thresholds
    assert thresholds[first.variable] == first.new
    assert thresholds[second.variable] == second.old
