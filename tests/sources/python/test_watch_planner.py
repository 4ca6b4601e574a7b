"""Watched Python functions report themselves: which, under which names, and with which fields."""

from __future__ import annotations

import asyncio
import collections
import os
import sys
import threading
from types import CodeType
from typing import Any

import pytest

from lawful.sources.python.scope import Scope
from lawful.sources.python.tracer_protocol import Callee, CodePlan, Want
from sources.python.watch_planner_program import (
    ALL_CALLS,
    CALLS,
    FILE,
    OWN,
    PROG,
    Base,
    Leaf,
    Point,
    Sub,
    Unrelated,
    busy,
    code_of,
    dressed,
    law,
    name_of,
    operations,
    plain,
    plan,
    remembered,
    reported,
    watched,
)


def test_a_function_that_a_law_names() -> None:
    wanted = watched(f"{PROG}.plain", f"{{event: 'func_post', name: '{PROG}.plain', res: _}}")
    found = plan(wanted, plain)
    assert found is not None
    assert found.callee == Callee(f"{PROG}.plain", ALL_CALLS | Want.YIELD | Want.RESULT | Want.SITE)
    assert found.file == FILE
    assert found.own
    assert found.probes == ()
    assert wanted.receiver_callee(plain.__code__, int) == found.callee  # not a receiver
    assert wanted.callee(plain, None) == Callee(found.callee.name, found.callee.wants | Want.CALLEE_SIDE)
    assert reported(wanted, law) is None
    assert wanted.callee(law, None) is None


@pytest.mark.parametrize(
    ("match", "wants"),
    [
        ("{event: 'func_pre', name: 'N'}", Want.PRE),
        ("{event: 'func_pre', name: 'N', args: [1, ...]}", Want.PRE | Want.ARGS),
        ("{event: 'func_pre', name: 'N', argIds: _}", Want.PRE | Want.ARGS),
        ("{event: 'func_pre', name: 'N', kwargs: {a: _}}", Want.PRE | Want.ARGS),
        ("{event: 'func_post', name: 'N', resultId: _}", Want.POST | Want.RESULT),
        ("{event: 'func_raise', name: 'N', exception: 'OSError'}", Want.RAISE),
        ("{event: 'func_raise'|'func_post', name: 'N'|'M'}", Want.RAISE | Want.POST),
        ("{event: 'yield', name: 'N'}", Want.YIELD),
        ("{event: 'resume', name: 'N'}", Want.YIELD),
        ("{name: 'N', file: _, line: _, thread: 1}", ALL_CALLS | Want.YIELD),
    ],
)
def test_what_a_law_wants_to_know(match: str, wants: Want) -> None:
    found = plan(watched(match.replace("'N'", f"'{PROG}.plain'")), plain)
    assert found is not None
    assert found.callee == Callee(f"{PROG}.plain", wants | Want.SITE)


@pytest.mark.parametrize("kind", ["new", "field_write", "gone", "iter_next", "mine"])
def test_what_is_no_call_needs_no_function(kind: str) -> None:
    assert reported(watched(f"{{event: '{kind}', name: '{PROG}.plain'}}"), plain) is None


def test_methods() -> None:
    wanted = watched(f"{PROG}.Base.method")
    for kind in (Base, Sub, Leaf):
        assert reported(wanted, Base.method, kind) == f"{PROG}.Base.method"
        callee = wanted.receiver_callee(code_of(Base.method), kind)
        assert callee is not None
        assert callee.wants & Want.RECEIVER
        assert wanted.callee(Base.method, kind) == callee._replace(wants=callee.wants | Want.CALLEE_SIDE)
    assert reported(wanted, Unrelated.method) is None
    callee = wanted.receiver_callee(code_of(Base.method), int)
    assert callee is not None  # a strange call, as `Base.method(1)`, but it is called
    assert not callee.wants & Want.RECEIVER


def test_a_method_named_by_a_subclass() -> None:
    wanted = watched(f"{PROG}.Sub.method")
    assert reported(wanted, Base.method, Sub) == f"{PROG}.Sub.method"
    assert reported(wanted, Base.method, Leaf) == f"{PROG}.Sub.method"
    assert reported(wanted, Base.method, Base) is None
    assert reported(wanted, Base.method, int) is None
    assert name_of(wanted.callee(Base.method, Leaf)) == f"{PROG}.Sub.method"
    assert wanted.callee(Base.method, Base) is None
    assert plan(wanted, Unrelated.method) == CodePlan(None, (), FILE, True)


def test_the_nearest_name_is_taken() -> None:
    wanted = watched(f"{PROG}.Base.method", f"{PROG}.Leaf.method")
    found = [reported(wanted, Base.method, kind) for kind in (Base, Sub, Leaf)]
    assert found == [f"{PROG}.Base.method", f"{PROG}.Base.method", f"{PROG}.Leaf.method"]


def test_an_inherited_method_that_is_called_by_super() -> None:
    wanted = watched(f"{PROG}.Sub.other", f"{PROG}.Leaf.other")
    assert reported(wanted, Sub.other, Sub) == f"{PROG}.Sub.other"
    assert reported(wanted, Sub.other, Leaf) == f"{PROG}.Leaf.other"
    assert reported(wanted, Base.other, Sub) is None
    assert reported(wanted, Base.other, Leaf) is None
    both = watched(f"{PROG}.Sub.other", f"{PROG}.Base.other")
    assert reported(both, Base.other, Sub) == f"{PROG}.Base.other"
    assert reported(both, Sub.other, Sub) == f"{PROG}.Sub.other"


def test_class_and_static_methods() -> None:
    wanted = watched(f"{PROG}.Base.make", f"{PROG}.Base.helper")
    assert reported(wanted, Base.make, type) == f"{PROG}.Base.make"
    callee = wanted.receiver_callee(code_of(Base.make), type)
    assert callee is not None
    assert callee.wants & Want.RECEIVER
    assert reported(wanted, Base.helper, Base) == f"{PROG}.Base.helper"
    for kind in (Base, int, type):
        callee = wanted.receiver_callee(code_of(Base.helper), kind)
        assert callee is not None
        assert not callee.wants & Want.RECEIVER
    for function in (Base.make, Sub.make, Base().make, Base.helper, Base().helper):
        callee = wanted.callee(function, None)
        assert callee is not None
        assert callee.wants & Want.CALLEE_SIDE


def test_properties_and_private_methods() -> None:
    wanted = watched(f"{PROG}.Base.value", f"{PROG}.Base.__secret")
    getter, setter = Base.__dict__["value"].fget, Base.__dict__["value"].fset
    assert reported(wanted, getter, Sub) == reported(wanted, setter, Sub) == f"{PROG}.Base.value"
    assert reported(wanted, Base.__dict__["_Base__secret"], Base) == f"{PROG}.Base.__secret"
    callee = wanted.receiver_callee(code_of(Base.__dict__["_Base__secret"]), Base)
    assert callee is not None
    assert callee.wants & Want.RECEIVER


def test_decorated_functions_report_what_was_written() -> None:
    wanted = watched(f"{PROG}.dressed", f"{PROG}.remembered", f"{PROG}.Base.dressed", f"{PROG}.Sub.dressed")
    assert reported(wanted, dressed.__wrapped__) == f"{PROG}.dressed"
    assert reported(wanted, dressed) is None  # all functions of one decorator share this code
    assert reported(wanted, remembered.__wrapped__) == f"{PROG}.remembered"
    inner = Base.__dict__["dressed"].__wrapped__
    assert reported(wanted, inner, Base) == f"{PROG}.Base.dressed"
    assert reported(wanted, inner, Leaf) == f"{PROG}.Sub.dressed"
    for function, receiver in ((dressed, None), (remembered, None), (Base.dressed, Sub)):
        callee = wanted.callee(function, receiver)
        assert callee is not None
        assert callee.wants & Want.CALLEE_SIDE
    assert name_of(wanted.callee(Base.dressed, Sub)) == f"{PROG}.Sub.dressed"


def test_nested_functions() -> None:
    def inner() -> None: ...

    wanted = watched(f"{__name__}.test_nested_functions.<locals>.inner")
    assert reported(wanted, inner) == f"{__name__}.test_nested_functions.<locals>.inner"
    assert operations(wanted, busy) == set()


def test_the_body_of_a_class_is_no_function() -> None:
    space: dict[str, Any] = {"__name__": "made"}
    module = compile("class Thing:\n  def Thing(self): pass\n", "made.py", "exec")
    body = next(each for each in module.co_consts if isinstance(each, CodeType))
    exec(module, space)
    wanted = watched("made.Thing", "made.Thing.Thing", scope=Scope(public=("made",), project=OWN.project))
    assert wanted.plan(body, "made") is None
    assert wanted.plan(module, "made") is None
    assert reported(wanted, space["Thing"].Thing, space["Thing"]) == "made.Thing.Thing"


def test_monkey_patched_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    def fake(self: object) -> None: ...

    wanted = watched(f"{PROG}.Base.method", f"{PROG}.Leaf.other", f"{PROG}.plain")
    monkeypatch.setattr(Base, "method", fake)
    assert reported(wanted, fake, Base) == f"{PROG}.Base.method"
    monkeypatch.undo()
    monkeypatch.setattr(Base, "other", fake)
    monkeypatch.delattr(Sub, "other")
    assert reported(wanted, fake, Leaf) == f"{PROG}.Leaf.other"
    assert reported(wanted, fake, Sub) is None
    monkeypatch.undo()
    monkeypatch.setattr(sys.modules[PROG], "plain", fake)
    assert reported(wanted, fake) == f"{PROG}.plain"


def test_a_function_that_came_under_a_name_after_its_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(self: object) -> None: ...

    wanted = watched(f"{PROG}.Base.method")
    found = plan(wanted, late)
    assert found is not None
    assert found.callee is None
    monkeypatch.setattr(Base, "method", late)
    callee = wanted.callee(late, Base)
    assert callee == Callee(f"{PROG}.Base.method", ALL_CALLS | Want.SITE | Want.RECEIVER)
    assert operations(wanted, busy) == CALLS


def test_a_name_of_a_class_that_comes_later() -> None:
    wanted = watched(f"{PROG}.Late.method", "sqlite4.Late.method")
    assert reported(wanted, Base.method, Base) is None
    late = type("Late", (Base,), {"__module__": PROG, "__qualname__": "Late"})
    assert name_of(wanted.receiver_callee(code_of(Base.method), late)) == f"{PROG}.Late.method"
    in_stdlib = watched("this.Late.method")
    assert plan(in_stdlib, Base.method) == CodePlan(None, (), FILE, True) or "this" in sys.modules


def test_generated_methods() -> None:
    wanted = watched(f"{PROG}.Point.__init__", f"{PROG}.Point.__eq__")
    assert reported(wanted, Point.__init__, Point) == f"{PROG}.Point.__init__"
    assert reported(wanted, Point.__eq__, Point) == f"{PROG}.Point.__eq__"


def test_the_name_that_another_module_shows() -> None:
    wanted = watched("asyncio.Lock.acquire", "os.path.join", "collections.abc.Mapping.get", "threading.Thread.start")
    assert reported(wanted, asyncio.Lock.acquire, asyncio.Lock) == "asyncio.Lock.acquire"
    assert reported(wanted, os.path.join, str) == "os.path.join"
    assert reported(wanted, collections.abc.Mapping.get, collections.ChainMap) == "collections.abc.Mapping.get"
    assert reported(wanted, threading.Thread.start, threading.Timer) == "threading.Thread.start"
    assert wanted.class_name(asyncio.Lock) == "asyncio.Lock"
    assert wanted.class_name(asyncio.Event) == "asyncio.locks.Event"
    assert watched("{name: _, class: 'asyncio.Event'}").class_name(asyncio.Event) == "asyncio.Event"


def test_the_main_module() -> None:
    space: dict[str, Any] = {"__name__": "__main__"}
    exec("def f(): pass\nclass C:\n  def m(self): pass\n", space)
    function, kind = space["f"], space["C"]
    for names_, main, expected in (
        (("__main__.f", "__main__.C.m"), "script", ("__main__.f", "__main__.C.m")),
        (("script.f", "script.C.m"), "script", ("script.f", "script.C.m")),
        (("script.f", "script.C.m"), "other", (None, None)),
        (("script.f", "script.C.m"), None, (None, None)),
    ):
        wanted = watched(*names_, main=main)
        assert (reported(wanted, function), reported(wanted, kind.m, kind)) == expected
        spawned = wanted.plan(function.__code__, "__mp_main__")
        assert (spawned and name_of(spawned.callee)) == expected[0]
    assert watched("script.C", main="script").class_name(kind) == "script.C"
    assert watched(main="script").class_name(kind) == "__main__.C"
    wanted = watched(scope=Scope(public=("script",), project=OWN.project), main="script")
    assert reported(wanted, function) == "__main__.f"
