"""The monitor of invariants: when it judges, what it makes of what it does not know, and what it tells of objects."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from lawful import Verdict, invariants
from lawful.laws.invariants import InvariantLaw, InvariantMonitor, invariant

Event = dict[str, Any]
A = "app.A"


def new(target: int = 1, time: float | None = None) -> Event:
    return timed({"event": "new", "name": A, "targetId": target}, time)


def gone(target: int = 1, time: float | None = None, name: str = A) -> Event:
    return timed({"event": "gone", "name": name, "targetId": target}, time)


def write(name: str, value: Any, target: int = 1, time: float | None = None) -> Event:
    return timed({"event": "field_write", "name": f"{A}.{name}", "targetId": target, "res": value}, time)


def call(name: str, kind: str = "func_pre", target: int = 1, time: float | None = None, **more: Any) -> Event:
    return timed({"event": kind, "name": f"{A}.{name}", "targetId": target, **more}, time)


def tick(time: float) -> Event:
    return {"event": "tick", "time": time}


def timed(event: Event, time: float | None) -> Event:
    return event if time is None else event | {"time": time}


def violations(law: InvariantLaw, trace: list[Event]) -> list[int]:
    """The numbers of the events that are rejected."""
    return [number for number, _ in run(law, trace)[0]]


def run(law: InvariantLaw, trace: list[Event]) -> tuple[list[tuple[int, Any]], InvariantMonitor]:
    monitor = law.monitor()
    found: list[tuple[int, Any]] = []
    for number, event in enumerate(trace, 1):
        monitor.step(event)
        while monitor.rejected_at is not None:
            found.append((number, monitor.expectation(event)))
            assert monitor.forgive()
            monitor.again()
    return found, monitor


# -- when it judges ----------------------------------------------------------------------------------------------------


def test_a_state_is_judged_at_each_write_when_all_is_known() -> None:
    law = invariant(A, always="o.low <= o.high")
    assert violations(law, [new(), write("low", 5), write("high", 3), write("high", 7), write("low", 9)]) == [3, 5]


def test_a_state_that_stays_broken_is_one_violation_until_it_holds_again() -> None:
    law = invariant(A, always="o.x >= 0")
    assert violations(law, [write("x", value) for value in (-1, -2, -3, 0, -1)]) == [1, 5]


def test_on_a_call_a_state_is_judged_there_and_each_time() -> None:
    law = invariant(A, always="o.x >= 0", on="called('use')")
    assert violations(law, [write("x", -1), call("use"), call("use"), write("x", 1), call("use"), call("other")]) == [
        2,
        3,
    ]


def test_on_an_end_of_a_call_or_of_the_object() -> None:
    law = invariant(A, always="o.a + o.b == 10", on="returned('move') or raised('move')")
    trace = [write("a", 5), write("b", 5), call("move"), write("a", 3), call("move", "func_raise"), write("b", 7)]
    assert violations(law, [*trace, call("move", "func_post")]) == [5]
    last = invariant(A, always="o.x == 0", on="gone()")
    assert violations(last, [new(), write("x", 3), gone(name="app.Child"), new(2), write("x", 0, 2), gone(2)]) == [3]


def test_arguments_and_results_are_judged() -> None:
    law = invariant(A, always="args[0] > 0 and res < args[0]", on="returned('take')")
    taken = [call("take", "func_post", args=[3], res=2), call("take", "func_post", args=[3], res=4)]
    assert violations(law, [*taken, call("take", args=[-1])]) == [2]


def test_a_transition_on_a_call_is_from_one_such_call_to_the_next() -> None:
    law = invariant(A, next="new.a + new.b == old.a + old.b", on="returned('move')")
    begin = [write("a", 5), write("b", 5), call("move", "func_post")]
    kept = [write("a", 3), write("b", 7), call("move", "func_post")]
    lost = [write("a", 2), call("move", "func_post"), call("move", "func_post")]
    assert violations(law, begin + kept + lost) == [8]


def test_judging_from_and_until() -> None:
    law = invariant(A, always="o.x > 0", from_="called('open')", until="called('close')")
    trace = [write("x", -1), call("open"), write("x", -2), write("x", 1), call("close"), write("x", -3)]
    assert violations(law, trace) == [3]
    assert violations(law, [*trace, call("open"), write("x", -4)]) == [3, 8]
    once = invariant(A, always="o.x > 0", until="called('close')")
    assert violations(once, [write("x", 1), call("close"), write("x", -3), call("close"), write("x", -3)]) == []


def test_the_beginning_and_the_end_are_judged() -> None:
    law = invariant(A, always="o.x != 13", from_="o.x > 0", until="o.x > 10")
    assert violations(law, [write("x", 13)]) == [1]
    assert violations(law, [write("x", 0), write("x", 11), write("x", 13)]) == [3]


def test_each_object_is_its_own() -> None:
    law = invariant(A, next="new.x == old.x + 1")
    assert violations(law, [write("x", 1), write("x", 5, 2), write("x", 2), write("x", 6, 2), write("x", 2, 2)]) == [5]


# -- time --------------------------------------------------------------------------------------------------------------

LEAK = invariant(A, when="new.rc != old.rc", then="new.rc < old.rc", within="2s", every="100ms")


def test_a_deadline_that_passes_is_shown_by_time_and_blames_what_set_it() -> None:
    trace = [write("rc", 0, time=0.0), write("rc", 1, time=1.0), write("rc", 2, time=2.0), tick(3.0), tick(3.5)]
    found, _ = run(LEAK, trace)
    ((number, expectation),) = found
    assert number == 5
    assert expectation.about == trace[1]
    assert expectation.expected == ("new.rc < old.rc within 2s",)
    assert expectation.note == "it did not come in time"
    assert expectation.bindings == {"o": 1}


def test_the_deadline_itself_is_in_time() -> None:
    trace = [write("rc", 0, time=0.0), write("rc", 1, time=1.0), write("rc", 0, time=3.0), tick(4.9)]
    assert violations(LEAK, trace) == []
    # The change that pays asks for another: that is the paper's formula to the letter.
    assert violations(LEAK, [*trace, tick(5.1)]) == [5]


def test_events_of_others_tell_the_time_too() -> None:
    trace = [write("rc", 0, time=0.0), write("rc", 1, time=1.0), {"event": "func_pre", "name": "other", "time": 9.0}]
    assert violations(LEAK, trace) == [3]


def test_at_the_end_what_is_not_late_is_open() -> None:
    monitor = LEAK.monitor()
    monitor.feed([write("rc", 0, time=0.0), write("rc", 1, time=1.0)])
    assert monitor.verdict is Verdict.CURRENTLY_TRUE
    assert monitor.end() is Verdict.TRUE
    assert monitor.outcome().accepted


def test_what_many_owe_is_told_of_each() -> None:
    trace = [new(number, 0.0) for number in (1, 2, 3)]
    law = invariant(A, when="created()", then="called('close')", within=1)
    found, monitor = run(law, [*trace, tick(5.0)])
    assert [(number, each.bindings["o"]) for number, each in found] == [(4, 1), (4, 2), (4, 3)]
    assert monitor.end() is Verdict.TRUE


def test_who_does_not_ask_again_is_told_by_the_next_events_and_at_the_end() -> None:
    law = invariant(A, when="created()", then="called('close')", within=1)
    monitor = law.monitor()
    assert monitor.feed([new(number, 0.0) for number in (1, 2, 3)]) is Verdict.CURRENTLY_TRUE
    assert monitor.step(tick(5.0)) is Verdict.FALSE
    assert monitor.forgive()
    assert monitor.verdict is Verdict.CURRENTLY_FALSE
    assert monitor.step(tick(6.0)) is Verdict.FALSE
    assert (monitor.rejected_at, monitor.offender) == (5, 2)
    assert monitor.forgive()
    assert monitor.end() is Verdict.FALSE
    assert monitor.rejected_at == "end"
    assert [each.bindings["o"] for each in monitor.pending(10)] == [3]
    assert not monitor.outcome().accepted
    assert not monitor.forgive()


def test_an_object_that_is_gone_owes_for_ever() -> None:
    law = invariant(A, when="created()", then="called('close')", within=5)
    found, _ = run(law, [new(1, 0.0), gone(1, 1.0)])
    assert [(number, each.note) for number, each in found] == [(2, "the object is gone without it")]
    forgiving = invariant(A, when="created()", then="called('close') or gone()", within=5)
    assert violations(forgiving, [new(1, 0.0), gone(1, 1.0)]) == []
    assert violations(forgiving, [new(1, 0.0), gone(1, 9.0)]) == [2]


def test_without_times_no_deadline_can_be_judged() -> None:
    law = invariant(A, when="created()", then="called('close')", within=5)
    found, monitor = run(law, [new(1), call("close"), new(2)])
    monitor.end()
    assert found == []
    assert [each.partition(":")[0] for each in monitor.warnings()] == ["invariant-timeless"]


@pytest.mark.parametrize("time", ["soon", True, None, 10**400, float("inf"), float("nan")])
def test_times_that_are_none_are_passed_over(time: Any) -> None:
    law = invariant(A, when="created()", then="called('close')", within=5)
    assert violations(law, [new(1, 0.0), tick(time), tick(1.0), call("close", time=2.0), tick(99.0)]) == []


# -- what is not known -------------------------------------------------------------------------------------------------


def unknown_objects(monitor: InvariantMonitor) -> set[int | str]:
    return {target for each in monitor._trackers for target in each.unknown}


def test_what_raises_is_unknown_and_no_violation() -> None:
    law = invariant(A, always="o.x >= 0")
    found, monitor = run(law, [write("x", "many"), write("x", "more"), write("x", -1, 2)])
    assert [number for number, _ in found] == [3]
    assert unknown_objects(monitor) == {1}
    (warning,) = monitor.warnings()
    assert warning == (
        "invariant-unknown: it could not be judged 2 times, "
        "first `o.x >= 0` on object 1 at event 1: 'many' is neither less nor more than 0"
    )


def test_what_cannot_be_told_accuses_nobody() -> None:
    law = invariant(A, when="created()", then="o.x > 0", within=1)
    assert violations(law, [new(1, 0.0), write("x", "many", time=0.1), tick(9.0)]) == []
    until = invariant(A, always="o.y > 0", until="o.x > 0")
    assert violations(until, [write("x", "many"), write("y", -1)]) == []
    begin = invariant(A, always="o.y > 0", from_="o.x > 0")
    assert violations(begin, [write("x", "many"), write("y", -1)]) == []


def test_whether_an_object_was_unknown_is_told_when_it_is_forgotten() -> None:
    law = invariant(A, always="o.x >= 0")
    _, monitor = run(law, [write("x", "many"), write("x", 1, 2), write("x", None, 3), gone(1), gone(2)])
    assert unknown_objects(monitor) == {3}
    assert [monitor.forget(target) for target in (1, 2, 3, 4)] == [True, False, True, False]
    assert [monitor.forget(target) for target in (1, 2, 3, 4)] == [False] * 4


def test_a_field_that_is_deleted_or_an_object_is_judged_as_such() -> None:
    law = invariant(A, always="o.x is None or o.x > 0")
    deleted = {"event": "field_write", "name": f"{A}.x", "targetId": 1}
    _, monitor = run(law, [write("x", 1), deleted, write("x", None), {**deleted, "resultId": 4}])
    assert len(monitor.warnings()) == 1
    assert violations(law, [write("x", -1), deleted, write("x", -1), write("x", 3), write("x", -1)]) == [1, 5]


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"event": "field_write"},
        {"event": ["field_write"], "name": {}},
        {"event": "field_write", "name": f"{A}.x"},
        {"event": "field_write", "name": f"{A}.x", "targetId": None, "res": -1},
        {"event": "field_write", "name": f"{A}.x", "targetId": [1], "res": -1},
        {"event": "field_write", "name": f"{A}.x", "targetId": True, "res": -1},
        {"event": "field_write", "name": f"{A}.x", "targetId": 1, "res": [1]},
        {"event": "field_write", "name": f"{A}.x", "targetId": 1, "resultId": [1]},
        {"event": "gone", "targetId": {}},
        {"event": "gone", "targetId": 77},
        {"event": "func_pre", "name": f"{A}.f", "targetId": 1, "args": 3, "argIds": "x"},
    ],
)
def test_strange_events_are_passed_over(event: Event) -> None:
    law = invariant(
        A, always="o.x >= 0", next="new.x >= old.x", when="called('f') and args[0] > 1", then="gone()", within=1
    )
    assert violations(law, [write("x", 1, time=0.0), event]) == []
    law.subjects.of(event)
    law.monitor().relevant(event, ())


def test_ids_may_be_words() -> None:
    law = invariant(A, always="o.x >= 0")
    events = [write("x", 0) | {"targetId": "a"}, write("x", -1) | {"targetId": "b"}]
    assert run(law, events)[0][0][1].bindings == {"o": "b"}


# -- what was never seen -----------------------------------------------------------------------------------------------


def report(law: InvariantLaw, trace: list[Event]) -> list[str]:
    monitor = law.monitor()
    monitor.feed(trace)
    assert monitor.warnings() == ()
    monitor.end()
    return list(monitor.warnings())


def test_what_was_never_seen_is_told_at_the_end_with_its_place() -> None:
    text = '[[invariant]]\nclass = "app.A"\nalways = "o.x >= 0 and o.xx > 0"\n'
    law = invariants.compile(text, name="a.toml")
    assert report(law, []) == ["invariant-class-unseen: a.toml:2:10: no object of app.A was seen"]
    unseen = "invariant-field-unseen: a.toml:3:26: nothing wrote app.A.xx, so nothing is known of it"
    assert report(law, [new(), write("x", 1)]) == [unseen]
    assert report(law, [new(), write("x", 1), write("xx", 1)]) == []
    assert report(pickle.loads(pickle.dumps(law)), [new(), write("x", 1)]) == [unseen]


def test_a_call_that_was_never_seen_is_told_if_nothing_was_judged() -> None:
    law = invariant(A, always="o.x >= 0", on="called('clsoe')")
    assert [each.partition(":")[0] for each in report(law, [new(), write("x", 1)])] == ["invariant-call-unseen"]
    assert report(law, [new(), write("x", 1), call("clsoe")]) == []


# -- objects -----------------------------------------------------------------------------------------------------------


def test_memory_is_bounded_by_what_is_alive() -> None:
    law = invariant(A, next="new.x >= old.x", when="created()", then="called('f')", within=9)
    monitor = law.monitor()
    size = 0
    for number in range(1, 2000):
        monitor.feed(
            [new(number, 0.0), write("x", 1, number), write("x", 2, number), call("f", target=number), gone(number)]
        )
        size = size or len(pickle.dumps(monitor))
    assert monitor.verdict is Verdict.CURRENTLY_TRUE
    assert len(pickle.dumps(monitor)) < size + 100


def test_a_forgotten_object_owes_nothing() -> None:
    law = invariant(A, when="created()", then="called('close')", within=1)
    monitor = law.monitor()
    monitor.feed([new(1, 0.0), new(2, 0.5)])
    assert monitor.forget(1) is False
    assert monitor.step(tick(9.0)) is Verdict.FALSE
    assert monitor.offender == 2


def test_lives_that_end_by_the_law_are_told_to_who_asks() -> None:
    law = invariant(A, always="o.rc >= 0", until="old.rc > 0 and new.rc == 0")
    monitor = law.monitor()
    assert monitor.take_ended() == []
    monitor.feed([write("rc", 0), write("rc", 1), write("rc", 3, 2), write("rc", 0)])
    assert monitor.take_ended() == [1]
    assert monitor.take_ended() == []
    monitor.feed([write("rc", 0, 2), write("rc", 4)])
    assert monitor.take_ended() == [2]


def test_a_write_that_was_prevented_did_not_happen() -> None:
    law = invariant(A, next="new.x == old.x + 1")
    monitor = law.monitor()
    monitor.feed([write("x", 1), write("x", 5)])
    assert monitor.forgive()
    monitor.prevented(2)
    assert monitor.feed([write("x", 2)]) is Verdict.CURRENTLY_TRUE
    monitor.prevented(2)  # long ago
    assert monitor.feed([write("x", 3)]) is Verdict.CURRENTLY_TRUE
    first = invariant(A, always="o.x > 0").monitor()
    for number in (1, 2):  # it would be a state that stays broken
        assert first.feed([write("x", -1)]) is Verdict.FALSE
        assert first.forgive()
        first.prevented(number)


def test_what_another_law_prevented_did_not_happen_either() -> None:
    monitor = LEAK.monitor()
    monitor.feed([write("rc", 1, time=0.0), write("rc", 2, time=1.0), write("rc", 0, 2, time=1.1)])
    monitor.feed([write("rc", 9, 2, time=1.2), write("rc", 1, time=1.5)])
    monitor.prevented(5)  # so it was not paid
    monitor.feed([write("rc", 3, 3, time=1.6), write("rc", 4, 3, time=1.7)])
    monitor.prevented(7)  # so it owes nothing
    late = []
    while monitor.step(tick(9.0)) is Verdict.FALSE:
        late.append((monitor.offender, monitor.expectation().about))
        assert monitor.forgive()
    assert late == [(1, write("rc", 2, time=1.0)), (2, write("rc", 9, 2, time=1.2))]


def test_subjects() -> None:
    law = invariant(A, always="o.x > 0", until="o.x == 7 or called('close')")
    subjects = law.subjects
    assert subjects.classes == (A,)
    events = [new(4), write("x", 1, 5), write("y", 1, 6), gone(7, name="b.C"), call("close", target=8), tick(1.0)]
    assert [subjects.of(event) for event in events] == [4, 5, None, 7, 8, None]


# -- the protocol ------------------------------------------------------------------------------------------------------


def test_a_rejected_event_stays_rejected_and_numbers_are_kept() -> None:
    law = invariant(A, always="o.x >= 0")
    monitor = law.monitor()
    assert monitor.feed([]) is Verdict.CURRENTLY_TRUE
    assert monitor.feed(iter([write("x", 1), write("x", -1), write("x", 1)]), [3, 7, 9]) is Verdict.FALSE
    assert (monitor.rejected_at, monitor.events, monitor.doomed_at) == (7, 9, None)
    assert monitor.feed([write("x", 1)]) is Verdict.FALSE
    assert monitor.events == 10
    assert monitor.forgive()
    assert (monitor.rejected_at, monitor.events) == (None, 7)
    assert not monitor.forgive()
    assert monitor.feed([write("x", 1)], [9]) is Verdict.CURRENTLY_TRUE


def test_the_evidence() -> None:
    law = invariant(A, next="new.x == old.x + 1")
    monitor = law.monitor()
    event = write("x", 5)
    monitor.feed([write("x", 1), event])
    expectation = monitor.expectation(event)
    assert expectation.expected == ("new.x == old.x + 1",)
    assert expectation.note == "old.x is 1, new.x is 5"
    assert expectation.about is event
    assert monitor.relevant(event, (1,)) and monitor.relevant(event, ())
    assert not monitor.relevant(event, (2,)) and not monitor.relevant(event, ("1",))
    assert not monitor.relevant(write("y", 1), (1,))
    assert monitor.relevant(gone(1), (1,)) and not monitor.relevant(gone(2), ())


def test_a_trace_is_no_text() -> None:
    with pytest.raises(TypeError, match="open_trace"):
        invariant(A, always="o.x >= 0").check("trace.jsonl")  # type: ignore[arg-type]


# -- ready-made --------------------------------------------------------------------------------------------------------


def test_ready_made_counts_begin_anywhere() -> None:
    law = invariants.reference_count(A, "rc", within="2s")
    assert len(law.parts) == 3
    assert len(invariants.reference_count(A).parts) == 2
    leak = law.parts[2]
    begun = [write("rc", 1, time=0.0), new(time=0.1)]
    assert violations(leak, [*begun, tick(5.0)]) == [3]
    assert violations(leak, [*begun, write("rc", 0, time=1.0), tick(9.0), gone(time=9.0)]) == []
    assert violations(leak, [write("rc", 0, time=0.0), new(time=0.1), tick(9.0), gone(time=9.0)]) == []
    assert violations(leak, [*begun, write("rc", 2, time=1.0), write("rc", 1, time=2.0), tick(4.1)]) == [5]
    assert violations(leak, [*begun, gone(time=0.2)]) == [3]


def test_ready_made_bounds() -> None:
    handles = invariants.open_handles(A, "n", most=2)
    assert violations(handles, [write("n", value) for value in (0, 1, 2, 3, 2, -1)]) == [4, 6]
    pool = invariants.pool_checkouts(A)
    assert violations(pool, [write("size", 1), write("out", 0), write("out", 1), write("out", 2)]) == [4]
    arena = invariants.allocations(A, "used", most="capacity", within=1)
    assert violations(
        arena, [write("capacity", 9, time=0.0), write("used", 0, time=0.0), write("used", 10, time=0.0)]
    ) == [3]
    assert violations(invariants.allocations(A, "used"), [write("used", 10), write("used", -10)]) == [2]


def test_ready_made_ends() -> None:
    closed = invariants.closed(A, ("close", "detach"), within=1)
    assert violations(closed, [new(1, 0.0), call("detach", time=0.9), tick(5.0)]) == []
    assert violations(closed, [new(1, 0.0), tick(5.0)]) == [2]
    locks = invariants.locks_held(A, within=1)
    acquired = call("acquire", "func_post", time=0.0, res=True)
    refused = call("acquire", "func_post", time=0.0, res=False)
    entered = call("__enter__", "func_post", time=0.0, res=True)
    assert violations(locks, [refused, tick(5.0)]) == []
    assert violations(locks, [acquired, call("release", time=0.5), entered, tick(5.0)]) == [4]
