"""The value stack through ctypes, and what is left to see without it."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from types import CodeType, ModuleType
from typing import Any

import pytest

from lawful.sources.python import frames, tracer_choice
from lawful.sources.python.pytracer import PythonTracer
from lawful.sources.python.tracer_protocol import Event
from sources.python.by_name import CALL, ByName


def test_this_interpreter_is_known() -> None:
    read, refusal = frames.reader()
    assert (read is None) == (sys.version_info[:2] not in frames.LAYOUTS)
    assert (read is None) == (refusal is not None)


def test_variables_and_missing_ones() -> None:
    read, _ = frames.reader()
    assert read is not None

    def known(one: object, two: object) -> list[Any]:
        del two
        return read(sys._getframe(), 0, 3)

    value = object()
    one, two, three = known(value, value)
    assert one is value
    assert two is frames.MISSING
    assert three is frames.MISSING or three is not value


def test_reading_keeps_the_reference_counts() -> None:
    read, _ = frames.reader()
    assert read is not None

    def known(value: object) -> None:
        for _ in range(1000):
            read(sys._getframe(), 0, 1)

    value = object()
    before = sys.getrefcount(value)
    known(value)
    assert sys.getrefcount(value) == before


def all_code(code: CodeType) -> list[CodeType]:
    return [code, *(each for const in code.co_consts if isinstance(const, CodeType) for each in all_code(const))]


def test_bottom_of_the_stack() -> None:
    """Checked against the names that the compiler gives to the slots, by the instructions that use them."""
    source = """
def outer(a, b, *c, d, **e):
    x = [lambda: (a, y) for y in b]
    class K:
        z = [i for i in range(3)]
        def f(self): return __class__, x
    def inner(q):
        nonlocal x
        return [q + w for w in x]
    return inner
[g for g in ()]
"""
    for code in all_code(compile(source, "x.py", "exec")):
        names = {i.argval for i in dis.get_instructions(code) if i.opcode in (*dis.haslocal, *dis.hasfree)}
        flat = {name for each in names for name in (each if isinstance(each, tuple) else (each,))}
        slots = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
        assert flat <= slots
        assert frames.stack_bottom(code) == len(slots)


@pytest.mark.parametrize(
    ("patch", "reason"),
    [
        (("implementation", type("I", (), {"name": "other"})), "frames of other"),
        (("version_info", (3, 99, 0)), "3.99"),
        (("gettotalrefcount", lambda: 1), "debug build"),
        (("maxsize", 2**31 - 1), "32-bit"),
    ],
)
def test_refusals(monkeypatch: pytest.MonkeyPatch, patch: tuple[str, Any], reason: str) -> None:
    monkeypatch.setattr(frames.sys, *patch, raising=False)
    read, refusal = frames.reader.__wrapped__()
    monkeypatch.undo()
    assert read is None
    assert refusal is not None
    assert reason in refusal


def test_a_wrong_layout_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    layout = frames.LAYOUTS[sys.version_info[:2]]
    monkeypatch.setitem(frames.LAYOUTS, sys.version_info[:2], layout._replace(values=layout.values + 8))
    read, refusal = frames.reader.__wrapped__()
    assert read is None
    assert refusal is not None


def test_calls_are_seen_without_it(monkeypatch: pytest.MonkeyPatch, prog: Callable[[str], ModuleType]) -> None:
    monkeypatch.setattr(frames, "reader", lambda: (None, "it is not to be"))
    events: list[Event] = []
    calls = {"list.append": CALL, "dict.__getitem__": CALL, "int": CALL}
    tracer = PythonTracer(ByName(calls, {"prog.work": CALL}), events.extend)
    tracer.start()
    try:
        prog("""
def work(x, *rest, k=1):
    x.append(k)
    {1: 2}[1]
    return k
x = []
work(x, 5, k=2)
try:
    x.pop(7)
except IndexError:
    pass
""")
    finally:
        tracer.stop()
    assert tracer.fault is None
    assert tracer.refusal == "it is not to be"
    found = [(e["event"], e["name"], e.get("args"), e.get("kwargs"), e.get("class")) for e in events]
    assert found == [
        ("func_pre", "prog.work", [None, 5], {"k": 2}, None),
        ("func_pre", "list.append", None, None, "list"),
        ("func_post", "list.append", None, None, "list"),
        ("func_post", "prog.work", [None, 5], {"k": 2}, None),
    ]
    assert events[0]["argIds"][0] == events[1]["targetId"]
    assert "calls only: it is not to be" in tracer_choice.describe() or tracer_choice.choose().name != "python"
