"""Calls whose objects are handed over themselves: `Want.ON_CALL` and `Want.ON_RETURN`, on every core."""

from __future__ import annotations

import builtins
import gc
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from types import CodeType, ModuleType
from typing import Any

import pytest

from lawful.sources.python import tracer_choice
from lawful.sources.python.tracer_protocol import Event, Tracer, Want
from sources.python.by_name import FILE, ByName

ON_CALL = Want.ON_CALL | Want.SITE
BOTH = ON_CALL | Want.ON_RETURN
Prog = Callable[[str], ModuleType]


class CallHandler(ByName):
    """Notes what it is handed, and answers with one event for the beginning and one for the end."""

    def __init__(self, calls: dict[str, Want], own: dict[str, Want]) -> None:
        super().__init__(calls, own)
        self.begun: list[tuple[str, tuple[Any, ...], dict[str, Any] | None]] = []
        self.ended: list[tuple[Any, Any, str | None]] = []
        self.fails = False

    def on_call(
        self, subject: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None
    ) -> tuple[list[Event], object] | None:
        if self.fails:
            raise ZeroDivisionError("ours")
        name = subject.co_name if isinstance(subject, CodeType) else subject.__name__
        self.begun.append((name, args, kwargs))
        return [{"event": "begin", "name": name}, {"event": "more", "name": name}], len(self.begun)

    def on_return(self, token: object, result: object, exception: str | None) -> list[Event]:
        self.ended.append((token, result, exception))
        return [{"event": "end", "name": str(token)}]


Run = Callable[..., tuple[CallHandler, list[Event], Tracer]]


@pytest.fixture(params=tracer_choice.available())
def run(request: pytest.FixtureRequest, prog: Prog) -> Iterator[Run]:
    tracers: list[Tracer] = []

    def go(
        source: str,
        own: dict[str, Want] | None = None,
        calls: dict[str, Want] | None = None,
        deliver: Callable[[list[Event]], None] | None = None,
        **options: Any,
    ) -> tuple[CallHandler, list[Event], Tracer]:
        events: list[Event] = []
        hands = CallHandler(calls or {}, own or {})
        hands.fails = options.pop("fails", False)
        tracer = tracer_choice.choose(request.param).make(hands, deliver or events.extend, **options)
        tracers.append(tracer)
        tracer.start()
        try:
            prog(source)
        finally:
            tracer.stop()
        return hands, events, tracer

    yield go
    for tracer in tracers:
        tracer.stop()


FUNCTION = """
box = ["in it"]
def f(a, b=2, *rest, c=3, **more):
    return box
f(box)
f(1, 2, 3, c=box, d=5)
"""


def test_a_function_that_starts_hands_over_its_arguments_and_its_result(run: Run) -> None:
    hands, events, _ = run(FUNCTION, {"prog.f": BOTH})
    box = hands.begun[0][1][0]
    assert box == ["in it"]
    assert hands.begun == [("f", (box, 2), {"c": 3}), ("f", (1, 2, 3), {"c": box, "d": 5})]
    assert hands.begun[1][2] is not None and hands.begun[1][2]["c"] is box
    assert [(token, result is box, error) for token, result, error in hands.ended] == [(1, True, None), (2, True, None)]
    assert [(event["event"], event["line"]) for event in events] == [
        (kind, line) for line in (5, 6) for kind in ("begin", "more", "end")
    ]
    assert all(event["file"] == FILE and "time" in event for event in events)
    assert len({event["thread"] for event in events}) == 1


def test_without_the_end_only_the_beginning(run: Run) -> None:
    hands, events, _ = run(FUNCTION, {"prog.f": ON_CALL})
    assert len(hands.begun) == 2 and hands.ended == []
    assert [event["event"] for event in events] == ["begin", "more"] * 2


def test_methods_and_exceptions(run: Run) -> None:
    source = """
class C:
    def m(self, n):
        self.n = n
        return 1 / n
c = C()
try:
    c.m(0)
except ZeroDivisionError:
    pass
"""
    hands, _, _ = run(source, {"prog.C.m": BOTH})
    (_, (receiver, number), _) = hands.begun[0]
    assert type(receiver).__name__ == "C" and receiver.n == number == 0
    assert hands.ended == [(1, None, "ZeroDivisionError")]


def test_a_coroutine_keeps_its_token_while_it_waits(run: Run) -> None:
    source = """
import asyncio
async def slow(n):
    for _ in range(n):
        await asyncio.sleep(0)
    if n == 2:
        raise KeyError(n)
    return n * 10
async def main():
    return await asyncio.gather(slow(3), slow(1), slow(2), return_exceptions=True)
results = asyncio.run(main())
"""
    hands, _, _ = run(source, {"prog.slow": BOTH})
    assert [args for _, args, _ in hands.begun] == [(3,), (1,), (2,)]
    assert sorted(hands.ended, key=lambda each: each[0]) == [(1, 30, None), (2, 10, None), (3, None, "KeyError")]


def test_a_call_in_own_code_hands_over_receiver_and_arguments(run: Run) -> None:
    source = """
items, thing = [], {"a": 1}
items.append(thing)
rest = [thing]
items.append(*rest)
items.sort(key=str, reverse=True)
try:
    items.remove(0)
except ValueError:
    pass
"""
    wants = {f"list.{name}": BOTH for name in ("append", "sort", "remove")}
    hands, events, _ = run(source, calls=wants)
    assert [(name, len(args)) for name, args, _ in hands.begun] == [
        ("append", 2), ("append", 2), ("sort", 1), ("remove", 2)
    ]  # fmt: skip
    items, thing = hands.begun[0][1]
    assert items == [thing, thing] and items[0] is thing and hands.begun[1][1][1] is thing
    assert hands.begun[2][2] == {"key": str, "reverse": True}
    assert [error for _, _, error in hands.ended] == [None, None, None, "ValueError"]
    assert [event["line"] for event in events if event["event"] == "begin"] == [3, 5, 6, 8]


def test_the_events_of_one_answer_are_delivered_together(run: Run) -> None:
    batches: list[list[str]] = []
    run(FUNCTION, {"prog.f": BOTH}, deliver=lambda batch: batches.append([e["event"] for e in batch]), synchronous=True)
    assert batches == [["begin", "more"], ["end"]] * 2


class Refused(Exception):
    pass


def test_an_exception_of_the_delivery_comes_up_in_front_of_the_call(run: Run) -> None:
    source = """
done, refused = [], []
def f(n):
    done.append(n)
for n in range(3):
    try:
        f(n)
    except Exception as error:
        refused.append((n, type(error).__name__))
"""
    count = 0

    def deliver(batch: list[Event]) -> None:
        nonlocal count
        count += 1
        if count == 2:
            raise Refused

    hands, _, tracer = run(source, {"prog.f": ON_CALL}, deliver=deliver, synchronous=True)
    module = sys.modules["prog"]
    assert module.done == [0, 2] and module.refused == [(1, "Refused")]
    assert tracer.fault is None and len(hands.begun) == 3


def test_a_fault_of_ours_ends_the_watching_and_not_the_program(run: Run) -> None:
    source = "done = []\ndef f(n):\n    done.append(n)\nf(1)\nf(2)\n"
    hands, events, tracer = run(source, {"prog.f": ON_CALL}, fails=True)
    assert sys.modules["prog"].done == [1, 2]
    assert isinstance(tracer.fault, ZeroDivisionError)
    assert events == [] and hands.begun == []


def test_what_the_hand_does_itself_is_not_seen(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []

    def on_call(self: CallHandler, subject: Any, args: Any, kwargs: Any) -> None:
        seen.append(args)
        args[0].touch()

    monkeypatch.setattr(CallHandler, "on_call", on_call)
    run("class C:\n    def touch(self):\n        pass\nC().touch()\n", {"prog.C.touch": ON_CALL})
    assert len(seen) == 1


def test_with_several_threads_each_is_told_of_its_own(run: Run) -> None:
    """What a delivery raises must come up in the thread whose event it was."""
    source = """
import threading
wrong = []
def f(who, n):
    if n % 3 == 0:
        wrong.append((who, n))
def work(who):
    for n in range(60):
        try:
            f(who, n)
        except Exception as error:
            if n % 3 or error.args != (who, n):
                wrong.append((who, n, error))
threads = [threading.Thread(target=work, args=(who,)) for who in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
    monkey = CallHandler.on_call

    def on_call(self: CallHandler, subject: Any, args: Any, kwargs: Any) -> Any:
        return [{"event": "begin", "args": list(args)}], None

    def deliver(batch: list[Event]) -> None:
        threading.Event().wait(0.0002)  # let others in
        for event in batch:
            if event["args"][1] % 3 == 0:
                raise Refused(*event["args"])

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        CallHandler.on_call = on_call  # type: ignore[method-assign]
        run(source, {"prog.f": ON_CALL}, deliver=deliver, synchronous=True)
    finally:
        CallHandler.on_call = monkey  # type: ignore[method-assign]
        sys.setswitchinterval(before)
    assert sys.modules["prog"].wrong == []


def test_nothing_is_left_behind(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    class Big:
        pass

    holder = {"big": Big()}
    ref = weakref.ref(holder["big"])
    monkeypatch.setattr(builtins, "holder", holder, raising=False)
    hands, _, tracer = run("def f(x):\n    return x\nf(holder['big'])\n", {"prog.f": BOTH})
    hands.begun.clear()
    hands.ended.clear()
    holder.clear()
    tracer.flush()
    gc.collect()
    assert ref() is None
