"""The C core of invariants against the Python one: random rules, random and strange events, pickled states."""

from __future__ import annotations

import gc
import pickle
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from lawful import Verdict, core, invariants
from lawful.errors import LawError
from lawful.laws.invariants import InvariantLaw, InvariantMonitor, invariant
from lawful.laws.invariants.expressions import Ref
from lawful.laws.invariants.native_tracker import NativeTracker
from lawful.laws.invariants.python_tracker import PythonTracker

pytestmark = pytest.mark.skipif(core.native is None, reason="there is no C core")

Event = dict[str, Any]
A = "app.A"
VALUES: list[Any] = [-2, -1, 0, 0, 1, 1, 2, 3, 7, 2.5, -0.0, 1e300, float("nan"), True, False, None, "", "a", "ab", "é"]
HUGE: list[Any] = [2**53, 2**53 + 1, -(2**63), 2**63 - 1, 2**63, 10**40, float(2**53)]
IDS = [1, 1, 2, 2, 3, "a", "1", 2**70]


@contextmanager
def python_core() -> Iterator[None]:
    kept, core.native = core.native, None
    try:
        yield
    finally:
        core.native = kept


# -- rules and events --------------------------------------------------------------------------------------------------


def expression(source: random.Random, depth: int, call: bool, states: tuple[str, ...] = ("o",)) -> str:
    def inner() -> str:
        return expression(source, depth - 1, call, states)

    if depth <= 0 or source.random() < 0.15:
        field = f"{source.choice(states)}.{source.choice('xyz')}"
        data = ["args[0]", "args[1]", "kwargs['n']"] if call else []
        act = ["called('f')", "returned('f', 'g')", "raised('g')", "created()", "gone()"]
        literal = repr(source.choice([0, 1, 2, -1, 2.5, None, True, "a", 2**53, 2**63]))
        return source.choice([field, field, field, literal, source.choice(data or [field]), source.choice(act)])
    kind = source.randrange(11)
    if kind == 0:
        return f"({inner()} and {inner()})"
    if kind == 1:
        return f"({inner()} or {inner()} or {inner()})"
    if kind == 2:
        return f"(not {inner()})"
    if kind == 3:
        return f"({inner()} {source.choice(['+', '-', '*', '/', '//', '%'])} {inner()})"
    if kind in (4, 5):
        return f"({inner()} {source.choice(['<', '<=', '>', '>=', '==', '!='])} {inner()})"
    if kind == 6:
        return f"({inner()} {source.choice(['<', '==', '!='])} {inner()} {source.choice(['<=', '>', 'in'])} {inner()})"
    if kind == 7:
        return f"({inner()} {source.choice(['in', 'not in'])} {source.choice(['({0}, {1})', '[{0}]', '{0}'])})".format(
            inner(), inner()
        )
    if kind == 8:
        return f"({inner()} {source.choice(['is', 'is not'])} {source.choice(['None', 'True', 'False'])})"
    if kind == 9:
        return source.choice(["abs({0})", "min({0}, {1}, 1)", "max({0}, {1})", "-{0}", "+{0}", "len({0})"]).format(
            inner(), inner()
        )
    return f"({inner()} if {inner()} else {inner()})"


def random_law(source: random.Random) -> InvariantLaw:
    """One rule or two."""
    while True:
        both = ("o", "old", "new")
        depth = source.randrange(1, 4)
        given: dict[str, Any] = {}
        kind = source.randrange(3)
        if kind == 0:
            given["always"] = expression(source, depth, False)
        elif kind == 1:
            given["next"] = f"old.x == new.x or {expression(source, depth, False, both)}"
            if source.random() < 0.5:
                given["next"] = source.choice(["abs(new.x - old.x) <= 1", "new.x >= old.x", "old.x != new.x"])
        else:
            given["when"] = expression(source, depth, False, both)
            given["then"] = expression(source, depth, False, both)
            given["within"] = source.choice([0.5, 2, "3s"])
        if kind < 2 and source.random() < 0.4:
            given["on"] = source.choice(["called('f')", "returned('f') or gone()", "called('f') and o.x != 1"])
            if source.random() < 0.5 and kind == 0:
                given["always"] = expression(source, depth, True)
        if source.random() < 0.4:
            given["until"] = source.choice(["called('g')", "o.y == 1", expression(source, depth, False, both)])
        if source.random() < 0.3:
            given["from_"] = source.choice(["created()", "o.y > 0", expression(source, depth, False)])
        try:
            laws = [invariant(A, **given)]
            if source.random() < 0.2:
                laws.append(invariant(A, always="o.x >= 0", when="created()", then="called('f')", within=1))
            return InvariantLaw(tuple(rule for law in laws for rule in law.rules), "law", "")
        except LawError:
            continue


def random_event(source: random.Random, time: float) -> Any:
    values = VALUES + HUGE if source.random() < 0.1 else VALUES
    event: Event = {"targetId": source.choice(IDS), "time": time}
    kind = source.randrange(10)
    if kind < 5:
        event |= {"event": "field_write", "name": f"{A}.{source.choice('xxxyyzw')}"}
        shape = source.randrange(12)
        if shape < 9:
            event["res"] = source.choice(values)
        elif shape < 11:
            event["resultId"] = source.choice([4, 5, "s", True, None, 2.5, [1]])
    elif kind < 8:
        event |= {
            "event": source.choice(["func_pre", "func_post", "func_raise"]),
            "name": f"{A}.{source.choice('fgh')}",
        }
        event |= {"args": [source.choice(values) for _ in range(source.randrange(3))]}
        event |= {"kwargs": source.choice([{}, {"n": source.choice(values)}, {"n": [1]}, 5])}
        if source.random() < 0.3:
            event |= {"argIds": source.choice([[None, 4], [5], "x", [True, None]]), "kwargIds": {"n": 3}}
        if source.random() < 0.3:
            event["res"] = source.choice(values)
    elif kind == 8:
        event |= {"event": "new", "name": A}
    else:
        event |= {"event": source.choice(["gone", "gone", "tick"]), "name": source.choice([A, "app.Child"])}
    if source.random() < 0.08:
        key = source.choice(["event", "name", "targetId", "res", "time", "args"])
        event[key] = source.choice([None, True, 1.5, [], {}, "", "gone", 10**400, float("inf"), ["x"]])
    if source.random() < 0.03:
        event.pop(source.choice(list(event)))
    return event


def random_trace(source: random.Random) -> list[Event]:
    time, trace = 0.0, []
    for _ in range(source.randrange(1, 40)):
        time += source.choice([0, 0.25, 1.0])
        trace.append(random_event(source, source.choice([time, time, int(time)])))
    return trace


# -- both --------------------------------------------------------------------------------------------------------------


def report(monitor: InvariantMonitor) -> tuple[Any, ...]:
    """All that a monitor says of itself."""
    return (
        monitor.verdict,
        monitor.rejected_at,
        monitor.events,
        repr(monitor.pending(100)),
        monitor.offender,
        {target for each in monitor._trackers for target in each.unknown},
        monitor.warnings(),
        [monitor.relevant({"event": "gone", "targetId": target}, ()) for target in IDS],
    )


def state(monitor: InvariantMonitor) -> str:
    """All that it keeps, in an order of its own where there is none."""
    states = monitor.__getstate__()["_trackers"]
    return repr(
        [
            saved | {"objects": objects(saved), "observed": (sorted(saved["observed"][0]), *saved["observed"][1:])}
            for saved in states
        ]
    )


def objects(saved: dict[str, Any]) -> dict[Any, Any]:
    def ordered(values: dict[str, Any] | None) -> Any:
        return None if values is None else sorted(values.items())

    return {
        target: (*flags, ordered(values), ordered(snapshot))
        for target, (*flags, values, snapshot) in saved["objects"].items()
    }


def act(monitor: InvariantMonitor, trace: list[Event], seed: int, *, end: bool = True) -> list[Any]:
    """Feed a trace in batches, and do with the monitor in between what engines do."""
    source, number = random.Random(seed), 0
    log: list[Any] = []
    while number < len(trace):
        batch = trace[number : number + source.randrange(1, 6)]
        numbers = list(range(number + 1, number + len(batch) + 1))
        verdict = monitor.feed(batch, numbers)
        log.append(report(monitor))
        if verdict is Verdict.FALSE:
            assert isinstance(monitor.rejected_at, int)
            number = monitor.rejected_at
            assert monitor.forgive()
            while source.random() < 0.8 and monitor.again():
                log.append(report(monitor))
                monitor.forgive()
        else:
            number += len(batch)
        choice = source.random()
        if choice < 0.15:
            monitor.prevented(number)
        elif choice < 0.3:
            log.append(monitor.forget(source.choice(IDS)))  # type: ignore[arg-type]
        elif choice < 0.5:
            log.append(monitor.take_ended())
        log.append(state(monitor))
    return [*log, monitor.end(), report(monitor)] if end else log


@pytest.mark.parametrize("seed", range(300))
def test_both_cores_say_the_same(seed: int) -> None:
    source = random.Random(seed)
    law = random_law(source)
    for _ in range(3):
        trace = random_trace(source)
        native = law.monitor()
        with python_core():
            python = law.monitor()
        assert {type(each) for each in native._trackers} == {NativeTracker}
        assert {type(each) for each in python._trackers} == {PythonTracker}
        assert act(native, trace, seed) == act(python, trace, seed), [rule.given for rule in law.rules]


@pytest.mark.parametrize("seed", range(100))
def test_one_core_goes_on_where_the_other_stopped(seed: int) -> None:
    source = random.Random(seed)
    law, trace = random_law(source), random_trace(source)
    half = len(trace) // 2
    with python_core():
        python = law.monitor()
        act(python, trace[:half], seed, end=False)
    native = law.monitor()
    act(native, trace[:half], seed, end=False)
    taken_over = pickle.loads(pickle.dumps(python))
    assert {type(each) for each in taken_over._trackers} == {NativeTracker}
    with python_core():
        given_over = pickle.loads(pickle.dumps(native))
        assert {type(each) for each in given_over._trackers} == {PythonTracker}
        expected = act(given_over, trace[half:], seed)
    assert act(taken_over, trace[half:], seed) == expected


def test_the_rules_break_and_hold_and_cannot_be_told() -> None:
    """Else nothing would be compared."""
    broken = kept = unknown = 0
    for seed in range(100):
        source = random.Random(seed)
        law = random_law(source)
        monitor = law.monitor()
        for event in random_trace(source):
            if monitor.step(event) is Verdict.FALSE:
                broken += 1
                monitor.forgive()
            else:
                kept += 1
        unknown += any("invariant-unknown" in each for each in monitor.warnings())
    assert broken > 50 and kept > 500 and unknown > 10


# -- one by one --------------------------------------------------------------------------------------------------------


def write(value: Any, target: Any = 1, name: str = "x", **more: Any) -> Event:
    return {"event": "field_write", "name": f"{A}.{name}", "targetId": target, "res": value, **more}


def test_numbers_beyond_a_word_are_exact() -> None:
    law = invariant(A, next="new.x == old.x + 1")
    values = [2**63 - 2, 2**63 - 1, 2**63, 2**63 + 1, -(2**63) - 1, -(2**63), -(2**63) + 1]
    assert law.check([write(value) for value in values]).rejected_at == 5
    large = invariant(A, always="o.x * o.x > 0")
    assert large.check([write(2**62), write(2**200)]).accepted
    close = invariant(A, always="o.x != 9007199254740992.0")
    assert close.check([write(2**53 + 1)]).accepted
    assert not close.check([write(2**53)]).accepted


def test_a_rule_with_too_many_names_is_left_to_python() -> None:
    law = invariant(A, always=" or ".join(f"o.a{number} > 0" for number in range(70)))
    monitor = law.monitor()
    assert [type(each) for each in monitor._trackers] == [PythonTracker]
    assert law.rules[0].native is None


def test_objects_in_fields_are_kept_as_such() -> None:
    law = invariant(A, always="o.x is None or o.x == o.y")
    monitor = law.monitor()
    monitor.feed([write(None, resultId=7), write(None, name="y", resultId=7)])
    (saved,) = monitor.__getstate__()["_trackers"]
    assert saved["objects"] == {1: (True, False, False, {"x": Ref(7), "y": Ref(7)}, None)}
    assert monitor.feed([write(None, name="y", resultId="7")]) is Verdict.FALSE
    assert monitor.expectation().note == "o.x is object 7, o.y is object 7"


def test_a_debt_that_stands_keeps_its_place_when_an_event_is_prevented() -> None:
    law = invariant(A, when="created()", then="called('f')", within=2)
    for kept in (core.native, None):
        core.native, native = kept, core.native
        try:
            monitor = law.monitor()
        finally:
            core.native = native
        for number, (target, time) in enumerate([(1, 0.0), (2, 1.0), (1, 1.5)], 1):
            monitor.step({"event": "new", "name": A, "targetId": target, "time": time})
            if number == 3:
                monitor.prevented(3)
        assert monitor.step({"event": "tick", "time": 2.5}) is Verdict.FALSE
        assert monitor.offender == 1


def test_what_is_no_event_is_an_error_and_the_monitor_goes_on() -> None:
    monitor = invariant(A, always="o.x >= 0").monitor()
    with pytest.raises(TypeError, match="an event is a dict"):
        monitor.feed([write(1), 5])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="one number for each"):
        monitor.feed([write(1)], [1, 2])
    assert monitor.feed([write(-1)]) is Verdict.FALSE


def test_nothing_is_kept_of_objects_that_are_gone() -> None:
    law = invariants.reference_count(A, "x", within=5)
    monitors = [part.monitor() for part in law.parts]
    value, event = type("Word", (str,), {})("x"), {"event": "gone", "targetId": 1, "time": 1.0}
    before = sys.getrefcount(value)
    for monitor in monitors:
        monitor.feed([write(value, time=0.0), write(1, time=0.0), write(2, time=0.0), write(value, time=0.0)])
        monitor.feed([write(1, 2, time=0.5), event, event])
        monitor.forget(1)
        monitor.feed([write(2, 2, time=0.6), write(3, 2, time=0.7)])
    del monitor, monitors
    gc.collect()  # of exceptions and their frames
    assert sys.getrefcount(value) == before


@pytest.mark.parametrize(
    "program",
    [
        (),
        ((), (), (), False, -1, 0.0),
        (((("gone", ""), 0, -1, -1, -1, -1, -1, -1),), (), (), False, -1, 0.0),
        (((("gone", ""), -1, 3, -1, -1, -1, -1, -1),), (), (), False, -1, 0.0),
        ((), (), (("new", (), 0),), False, -1, 0.0),
        ((), ("x",), (("compare", (("new", (), 0),), ("<",)),), False, -1, 0.0),
        ((), ("x",), (("strange", (), 0),), False, -1, 0.0),
    ],
)
def test_a_program_that_is_none_is_refused(program: Any) -> None:
    assert core.native is not None
    with pytest.raises((TypeError, ValueError)):
        core.native.InvariantTracker(program, Ref)
