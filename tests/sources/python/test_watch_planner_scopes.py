"""The plans for scopes, for laws that name fields or nothing, and for nobody."""

from __future__ import annotations

import collections
import gc
import io
import os
import sqlite3
import threading
from typing import Any

import pytest

from lawful.laws import rml
from lawful.sources.python.scope import Scope
from lawful.sources.python.tracer_protocol import Callee, CodePlan, Operation, Want
from lawful.sources.python.watch_planner import LawWatchPlanner
from sources.python.watch_planner_program import (
    ALL_CALLS,
    CALLS,
    FILE,
    OWN,
    PROG,
    Base,
    Leaf,
    Numbers,
    Sub,
    Unrelated,
    busy,
    code_of,
    law,
    name_of,
    operations,
    plain,
    plan,
    reported,
    watched,
)

# -- fields --------------------------------------------------------------------------------------


def test_fields_that_laws_name() -> None:
    wanted = watched(f"{{event: 'field_write', name: '{PROG}.Base.size', res: _}}")
    found = plan(wanted, busy)
    assert found is not None
    assert {(probe.operation, probe.name) for probe in found.probes} == {
        (Operation.SET_FIELD, "size"),
        (Operation.DELETE_FIELD, "size"),
    }
    assert wanted.field("size", Leaf) == Callee(f"{PROG}.Base.size", Want.WRITE | Want.RESULT | Want.SITE)
    assert wanted.field("length", Leaf) is None
    assert wanted.field("size", Unrelated) is None


def test_the_nearest_class_that_a_law_names_has_the_field() -> None:
    wanted = watched(f"{{event: 'field_read', name: '{PROG}.Base.size'|'{PROG}.Leaf.size'}}")
    assert [name_of(wanted.field("size", kind)) for kind in (Base, Sub, Leaf)] == [
        f"{PROG}.Base.size",
        f"{PROG}.Base.size",
        f"{PROG}.Leaf.size",
    ]


def test_a_method_is_no_field() -> None:
    wanted = watched(f"{PROG}.Base.method", f"{PROG}.Base.value", f"{PROG}.Base.count", "list.append")
    callee = wanted.field("method", Base)
    assert callee is not None
    assert callee.wants & (Want.READ | Want.WRITE) == Want.WRITE
    assert wanted.field("value", Sub) == Callee(f"{PROG}.Base.value", Want.READ | Want.WRITE | Want.SITE)
    assert wanted.field("count", Sub) == Callee(f"{PROG}.Base.count", Want.READ | Want.WRITE | Want.SITE)
    assert watched("{event: 'field_read', name: 'list.append'}").field("append", list) is None


def test_fields_of_a_scope() -> None:
    wanted = watched(scope=Scope(fields=(f"{PROG}.Base",), project=OWN.project))
    found = plan(wanted, busy)
    assert found is not None
    names_ = {(probe.operation, probe.name) for probe in found.probes}
    assert names_ >= {(Operation.SET_FIELD, "size"), (Operation.GET_FIELD, "length"), (Operation.DELETE_FIELD, "size")}
    wants = Want.READ | Want.WRITE | Want.RESULT | Want.SITE
    assert wanted.field("size", Leaf) == Callee(f"{PROG}.Base.size", wants)
    assert wanted.field("__dict__", Leaf) is None
    assert wanted.field("size", Unrelated) is None


# -- scopes --------------------------------------------------------------------------------------

CALLED = ALL_CALLS | Want.ARGS | Want.RESULT | Want.SITE


def test_calls_into_a_package() -> None:
    wanted = watched(scope=Scope(calls=("stdlib",), project=OWN.project))
    assert operations(wanted, busy) == CALLS | {Operation.ENTER, Operation.EXIT_RAISED}
    assert wanted.callee(len, None) == Callee("len", CALLED)
    assert wanted.callee(list.append, Numbers) == Callee("list.append", CALLED | Want.RECEIVER)
    assert wanted.callee(sqlite3.Connection, None) == Callee("sqlite3.Connection", CALLED | Want.NEW)
    assert wanted.callee(threading.Thread.start, threading.Timer) == Callee(
        "threading.Thread.start", CALLED | Want.RECEIVER
    )
    assert wanted.callee(threading.Thread.start, None) == Callee("threading.Thread.start", CALLED | Want.RECEIVER)
    assert wanted.callee(os.path.join, None) == Callee("os.path.join", CALLED)
    assert wanted.operation("__enter__", io.TextIOWrapper) == Callee("io.IOBase.__enter__", CALLED | Want.RECEIVER)
    assert wanted.operation("__contains__", list) is None
    assert wanted.operation("__iter__", collections.ChainMap) is None
    assert wanted.callee(plain, None) is None
    assert wanted.callee(Base, None) is None
    assert wanted.callee(pytest.raises, None) is None
    assert reported(wanted, threading.Thread.start) is None


def test_calls_of_everything_that_is_not_own() -> None:
    wanted = watched(scope=Scope(calls=("*",), project=OWN.project))
    assert wanted.callee(plain, None) is None
    assert wanted.callee(Base, None) is None
    assert wanted.callee(Base.method, Base) is None
    assert name_of(wanted.callee(pytest.fixture, None)) == "_pytest.fixtures.fixture"
    assert name_of(wanted.callee(len, None)) == "len"


def test_calls_where_a_law_names_something_too() -> None:
    match = "{event: 'func_pre', name: 'threading.Thread.start'}"
    wanted = watched(match, "{event: 'func_pre', name: 'len'}", scope=Scope(calls=("stdlib",), project=OWN.project))
    callee = wanted.callee(threading.Thread.start, threading.Thread)
    assert callee == Callee("threading.Thread.start", Want.PRE | Want.SITE | Want.RECEIVER | Want.CALLEE_SIDE)
    callee = wanted.callee(threading.Thread.join, threading.Thread)
    assert callee == Callee("threading.Thread.join", CALLED | Want.RECEIVER)


def test_other_code_is_not_probed() -> None:
    wanted = watched("len", scope=Scope(calls=("stdlib",), project=OWN.project))
    assert plan(wanted, threading.Thread.start) is None


def test_public_functions_of_a_package() -> None:
    wanted = watched(scope=Scope(public=(PROG, __name__), project=OWN.project))
    assert reported(wanted, plain) == f"{PROG}.plain"
    assert reported(wanted, Base.method, Sub) == f"{PROG}.Base.method"
    callee = wanted.receiver_callee(code_of(Base.method), Sub)
    assert callee == Callee(f"{PROG}.Base.method", CALLED | Want.RECEIVER)
    assert reported(wanted, Base.__enter__, Base) == f"{PROG}.Base.__enter__"
    assert reported(wanted, Base._private, Base) is None
    assert reported(wanted, Base.__dict__["_Base__secret"], Base) is None
    assert reported(wanted, lambda: None) is None
    assert reported(wanted, threading.Thread.start, threading.Thread) is None
    callee = wanted.callee(plain, None)
    assert callee is not None
    assert callee.wants & Want.CALLEE_SIDE


def test_both_scopes_report_once() -> None:
    wanted = watched(scope=Scope(public=("threading",), calls=("stdlib",), project=OWN.project))
    assert reported(wanted, threading.Thread.start, threading.Thread) == "threading.Thread.start"
    callee = wanted.callee(threading.Thread.start, threading.Thread)
    assert callee is not None
    assert callee.wants & Want.CALLEE_SIDE
    callee = wanted.callee(threading.Thread._delete, threading.Thread)  # type: ignore[attr-defined]
    assert callee is not None
    assert not callee.wants & Want.CALLEE_SIDE


def test_the_detail_of_a_scope_can_be_less() -> None:
    scope = Scope(public=(PROG,), calls=("stdlib",), project=OWN.project)
    wanted = watched(f"{{event: 'func_post', name: '{PROG}.plain'}}", scope=scope, detail=Want.PRE)
    assert wanted.callee(len, None) == Callee("len", Want.PRE | Want.SITE)
    found = plan(wanted, Base.method)
    assert found is not None
    assert found.callee == Callee(f"{PROG}.Base.method", Want.PRE | Want.SITE)
    found = plan(wanted, plain)
    assert found is not None
    assert found.callee == Callee(f"{PROG}.plain", Want.POST | Want.SITE)


def test_exclude() -> None:
    scope = Scope(
        calls=("stdlib",), public=(PROG,), exclude=("list.*", "*.method", "access:dunder"), project=OWN.project
    )
    wanted = watched("list.pop", scope=scope)
    assert wanted.callee(list.append, list) is None
    assert name_of(wanted.callee(list.pop, list)) == "list.pop"  # what laws name is not touched
    assert reported(wanted, Base.method, Base) is None
    assert reported(wanted, Base.__enter__, Base) is None
    assert reported(wanted, Base.other, Base) == f"{PROG}.Base.other"


def test_lawful_is_not_watched() -> None:
    wanted = watched(
        f"{LawWatchPlanner.__module__}.LawWatchPlanner.plan", scope=Scope(calls=("*",), public=("lawful",))
    )
    assert plan(wanted, LawWatchPlanner.plan) is None


# -- laws ----------------------------------------------------------------------------------------


def test_laws_without_a_name() -> None:
    anything = rml.compile("Main = any*;")
    nameless = law("{event: 'func_pre', targetId: _}", "len")
    captured = law("{name: _}")
    named = law("len")
    others = rml.compile("e matches {name: 'open'};\nf not matches e;\nMain = (e \\/ f)*;")
    own_events = law("{event: 'mine', value: _}")
    ends = law("{event: 'gone', targetId: _}")
    wanted = LawWatchPlanner([anything, nameless, captured, named, others, own_events, ends], OWN)
    assert wanted.unnamed == [anything, nameless, captured]
    assert wanted.gone
    assert name_of(wanted.callee(len, None)) == "len"
    assert name_of(wanted.callee(open, None)) == "open"


def test_a_law_sees_what_it_must_not_see() -> None:
    wanted = LawWatchPlanner([rml.compile("f not matches {name: 'open'};\nMain = f*;")], OWN)
    assert name_of(wanted.callee(open, None)) == "open"
    assert wanted.unnamed == []


def test_the_end_of_objects() -> None:
    assert not watched("{event: 'func_pre', name: 'open'}").gone
    assert watched("{event: 'gone'|'new', name: 'list'}").gone


def test_no_laws_and_no_scope() -> None:
    wanted = watched()
    assert plan(wanted, busy) == CodePlan(None, (), FILE, True)
    assert plan(wanted, threading.Thread.start) is None
    assert wanted.callee(len, None) is None
    assert wanted.operation("__enter__", io.TextIOWrapper) is None
    assert wanted.field("x", Base) is None
    assert wanted.class_name(Base) == f"{PROG}.Base"


def test_code_that_is_gone_is_forgotten() -> None:
    wanted = watched("len")
    for _ in range(100):
        space: dict[str, Any] = {"__name__": "short"}
        exec("def f(): pass", space)
        plan(wanted, space["f"])
    del space
    gc.collect()
    assert len(wanted.codes._planned) < 10
