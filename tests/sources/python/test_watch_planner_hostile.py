"""Objects that do not want to be looked at, and code that cannot be watched."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

import pytest

from lawful.sources.python.scope import Scope
from lawful.sources.python.tracer_protocol import Operation
from lawful.sources.python.watch_planner import LawWatchPlanner
from sources.python.watch_planner_program import OWN, PROG, name_of, operations, plain, watched

# -- hostile objects -----------------------------------------------------------------------------


class Trap(BaseException):
    """Code of the program ran."""


def trap(*args: object, **kwargs: object) -> Any:
    raise Trap


class HostileMeta(type):
    __getattribute__ = trap
    __hash__ = trap
    __eq__ = trap
    __instancecheck__ = trap
    __subclasscheck__ = trap
    __bool__ = trap
    __len__ = trap


def hostile_class() -> Any:
    class Hostile(metaclass=HostileMeta):
        __qualname__ = "Hostile"
        __getattribute__ = trap
        __hash__ = trap
        __eq__ = trap
        __bool__ = trap
        __class__ = property(trap)
        __call__ = trap

        def method(self) -> None: ...

        def __enter__(self) -> None: ...

        def __next__(self) -> None: ...

    return Hostile


SCOPES: list[Callable[[], LawWatchPlanner]] = [
    lambda: watched(
        f"{__name__}.Hostile", f"{__name__}.Hostile.method", f"{__name__}.Hostile.x", f"{__name__}.Hostile.__enter__"
    ),
    lambda: watched("list.append", "other.Hostile", "other.Hostile.method", "{event: 'iter_next', targetId: _}"),
    lambda: watched(scope=Scope(calls=("*", "stdlib"), public=("*",), fields=("*",), project=OWN.project)),
    lambda: watched(),
]


@pytest.mark.parametrize("make", SCOPES)
def test_nothing_of_a_hostile_object_runs(make: Callable[[], LawWatchPlanner], monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = make()
    Hostile = hostile_class()
    monkeypatch.setitem(vars(sys.modules[__name__]), "Hostile", Hostile)
    hostile = object.__new__(Hostile)
    method = type.__getattribute__(Hostile, "__dict__")["method"]
    for _ in range(2):
        wanted.plan(method.__code__, __name__)
        wanted.receiver_callee(method.__code__, Hostile)
        wanted.callee(method, Hostile)
        wanted.callee(types.MethodType(method, hostile), None)
        wanted.callee(types.MethodType(hostile, hostile), None)
        wanted.callee(Hostile, None)
        wanted.callee(hostile, None)
        wanted.callee(list.append, Hostile)
        wanted.operation("__enter__", Hostile)
        wanted.operation("__next__", Hostile)
        wanted.field("x", Hostile)
        wanted.field("method", Hostile)
        assert wanted.class_name(Hostile) == f"{__name__}.Hostile"


# -- what cannot be watched ----------------------------------------------------------------------


def test_bytecode_that_no_compiler_wrote_is_left_alone_and_told_once() -> None:
    wanted = watched("math.floor")

    def works() -> None:
        len("")

    def other() -> None:
        len("")

    broken = works.__code__.replace(co_stacksize=1)
    found = wanted.plan(broken, __name__)
    assert found is not None and found.own
    assert found.probes == ()
    assert found.callee is None
    assert operations(wanted, works) == {Operation.CALL}
    assert len(wanted.warnings) == 1
    assert "works (test_watch_planner_hostile.py) did" in wanted.warnings[0]
    wanted.plan(other.__code__.replace(co_stacksize=1), __name__)
    assert len(wanted.warnings) == 1
    assert "and 1 other function did" in wanted.warnings[0]


def test_such_bytecode_reports_its_own_calls_all_the_same() -> None:
    wanted = watched(f"{PROG}.plain", "math.floor")
    found = wanted.plan(plain.__code__.replace(co_stacksize=0), PROG)
    assert found is not None
    assert name_of(found.callee) == f"{PROG}.plain"
