"""The machine in C and the one in Python are the same, whatever the values; and the one in C loses no memory."""

from __future__ import annotations

import gc
import itertools
import random
import sys
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from lawful import core, grammar
from lawful.laws.grammar import functions
from lawful.laws.grammar.law import GrammarLaw
from lawful.laws.grammar.machine import PythonGrammarMachine
from lawful.laws.grammar.steps import flat
from laws.grammar.test_oracle import usable
from laws.grammar.tree_oracle import events, random_trace

pytestmark = pytest.mark.skipif(not hasattr(core.native, "GrammarTables"), reason="there is no C core")

SPOILED: list[dict[str, Any]] = [{"group": "H"}, {"name": "Thing.e"}, {"reply": True}, {"groupId": [1]}, {"event": 1}]
ABSENT: Any = object()
VALUES: list[Any] = [0, 1, -7, 2**61, 2**62, -(2**63), 2**70, 1.0, 0.5, float("nan"), True, False, None, "a", "ä", ""]
VALUES += [[], [1], [[1]], {}, {"name": "a"}, {"name": [1.0]}, ABSENT]
CONDITIONS = [
    *(f"m.x {op} m.y" for op in ("==", "!=", "<", "<=", ">", ">=", "&&", "||")),
    *(f"m.x {op} m.y == {value}" for op in "+-*/%" for value in ("1", "m.x")),
    "-m.x == m.y",
    "!m.x || m.y == 1",
    "(m.x == 1 || m.y) != (m.y == 1)",
    "size(m.x) == 1 && size(m.y) == size(m.x)",
    "name(m.x) == m.y || contains(m.x, m.y)",
    "max(m.x, m.y) == m.x",
    "strange(m.x, m.y)",
    "m.callee == m.x && m.time != m.y && m.call == m.y",
    "r.result == m.x || r.exception == m.y || r.of == m.x",
    "m.x == EmptySet || m.y == ListSchedule || m.x == null",
    "-(m.x - m.y) * 3 + 1 == m.y",
]


def machines(law: GrammarLaw) -> tuple[tuple[PythonGrammarMachine, Any], list[list[str]]]:
    warned: list[list[str]] = [[], []]
    python = PythonGrammarMachine(law.steps, law.dispatch, warned[0].append)
    start = flat(law.steps.start(warned[1].append))
    return (python, core.native.GrammarMachine(law.tables, start, warned[1].append)), warned  # type: ignore[union-attr]


def state(machine: Any) -> tuple[Any, ...]:
    return machine.dump(), sorted(machine.came), dict(machine.others)


@pytest.fixture(autouse=True)
def strange(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functions, "_registered", {})

    @grammar.function
    def strange(one: Any, two: Any) -> Any:
        return {True: "no condition", False: None}[one == two] if [one] != [[]] else two < 1


@pytest.mark.parametrize("condition", CONDITIONS)
def test_values_of_all_kinds(condition: str) -> None:
    law = grammar.compile(
        "view V { send A.m(X x, Y y) m, receive reply(A.m) r, send A.n(Z z) n }\n"
        f"S ::= m r T (T.x = m.x; T.y = m.y;) {{assert {condition};}}\n"
        "T ::= epsilon {assert T.x != T.y;} | n {assert n.z == T.x || n.z == T.y;}"
    )
    for x, y in itertools.product(VALUES, VALUES):
        args = list(itertools.takewhile(lambda value: value is not ABSENT, (x, y)))
        message: dict[str, Any] = {"event": "send", "name": "A.m", "args": args, "targetId": 1}
        reply: dict[str, Any] = {"event": "receive", "name": "A.m", "reply": True, "callId": 1}
        if y is not ABSENT:
            message |= {"kwargs": {"x": y}, "kwargIds": {"x": None}, "time": y}
            reply |= {"res": y, "resultId": x if x is not ABSENT else None}
        trace: list[dict[str, Any]] = [
            message,
            reply,
            {"event": "send", "name": "A.n", "args": [x] if x is not ABSENT else "none"},
        ]
        (python, native), warned = machines(law)
        for number in range(3):
            assert python.feed(trace, number, True) == native.feed(trace, number, True)
            assert python.failed == native.failed
            assert python.halts == native.halts
            assert repr(state(python)) == repr(state(native))
            if python.failed:
                break
        assert warned[0] == warned[1], (x, y)


@pytest.mark.parametrize("seed", range(30))
def test_random_grammars(seed: int) -> None:
    dice = random.Random(seed)
    made, law = usable(dice, regular=dice.random() < 0.3)
    (python, native), warned = machines(law)
    for _ in range(20):
        group = dice.randint(1, 5)
        trace = events(random_trace(dice, made, 12), group)
        for event in trace:
            if dice.random() < 0.1:
                event["args"] = dice.choice([[], ["text"], [None], [2**80], None])
            if dice.random() < 0.1:
                event |= dice.choice(SPOILED)
        start = 0
        while start < len(trace):
            stop = python.feed(trace, start, True)
            assert native.feed(trace, start, True) == stop
            assert (python.failed, python.at, python.halts) == (native.failed, native.at, native.halts)
            python.failed = native.failed = False
            start = stop + 1
        assert state(python) == state(native)
        assert list(python.waiting()) == list(native.waiting())
        for key in range(7):
            assert python.frames(key) == native.frames(key)
        (other, again), _ = machines(law)
        other.load(*state(native))
        again.load(*state(python))
        assert state(other) == state(again) == state(python)
        assert (other.halts, again.halts) == (python.halts, python.halts)
    assert warned[0] == warned[1]


LOOP = "view V { send A.m(X x, Y y) m, send A.n(X x) n }\n"


@pytest.mark.parametrize(
    "text",
    [
        "start S (S.x = 0;)\nS ::= epsilon {assert S.x != 3;} | m S (S.x = m.x;) | n {assert n.x == S.x;} S (S.x = 1;)",
        "S ::= epsilon | D S\nD ::= m L n {assert m.x == n.x;} (D.x = m.x;)\nL ::= epsilon | D L {assert D.x == 1;}",
        "S ::= epsilon | m {assert size(m.x) == 1 || max(m.y, 1) == 7;} S",
    ],
)
def test_no_references_are_lost(text: str) -> None:
    law = grammar.compile(LOOP + text)
    value, other = object(), "another text"

    def message(name: str, *args: Any) -> dict[str, Any]:
        return {"event": "send", "name": f"A.{name}", "groupId": other, "args": list(args)}

    trace = [message(name, *args) for name in "mmnmn" for args in ((value, other), ([value], 7), (other,), ())]

    def work() -> None:
        monitor = law.monitor()
        for event in trace:
            monitor.step(event)
            monitor.expectation(event)
            monitor.forgive()
        monitor.end()

    def counts() -> list[int]:
        work()
        gc.collect()
        return [sys.getrefcount(each) for each in (value, other)]

    first = counts()
    for _ in range(20):
        work()
    assert counts() == first


def test_a_monitor_is_collected() -> None:
    monitor = grammar.compile(LOOP + "S ::= epsilon | m S").monitor()
    monitor.feed([{"event": "send", "name": "A.m"}])
    gone = weakref.ref(monitor)
    del monitor
    gc.collect()
    assert gone() is None


def _fed_inside(feed: Callable[[], Any]) -> Any:
    with pytest.raises(RuntimeError, match="in use already"):
        feed()
    return True


def test_a_function_cannot_reach_into_the_step() -> None:
    reached: list[Any] = []

    @grammar.function
    def nested(value: Any) -> bool:
        reached.append(_fed_inside(lambda: monitor._machine.feed([], 0, True)))
        return True

    monitor = grammar.compile(LOOP + "S ::= epsilon | m {assert nested(m.x);} S").monitor()
    monitor.step({"event": "send", "name": "A.m", "args": [1]})
    assert reached == [True]
    assert monitor.rejected_at is None


def test_what_is_no_exception_of_a_program_goes_through() -> None:
    stop = True

    @grammar.function
    def stopping(value: Any) -> bool:
        if stop:
            raise KeyboardInterrupt
        return True

    monitor = grammar.compile(LOOP + "S ::= epsilon | m {assert stopping(m.x);} S").monitor()
    event = {"event": "send", "name": "A.m", "args": [1]}
    with pytest.raises(KeyboardInterrupt):
        monitor.step(event)
    stop = False
    assert monitor.step(event).accepts


def test_events_are_dicts() -> None:
    monitor = grammar.compile(LOOP + "S ::= m").monitor()
    with pytest.raises((TypeError, AttributeError)):
        monitor.step("m")  # type: ignore[arg-type]
