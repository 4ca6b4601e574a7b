"""Callees that their callers report: C functions and classes, and special methods of instructions."""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import functools
import io
import os
import re
import socket
import sqlite3
import threading
from typing import Any

import pytest

from lawful.sources.python.tracer_protocol import Callee, Operation, Want
from sources.python.watch_planner_program import (
    ALL_CALLS,
    CALLS,
    PROG,
    Base,
    Leaf,
    Numbers,
    Point,
    Sub,
    busy,
    name_of,
    operations,
    plan,
    reported,
    watched,
)

# -- C functions and classes are seen where they are called --------------------------------------


@pytest.mark.parametrize(
    ("name", "function", "receiver"),
    [
        ("list.append", list.append, list),
        ("list.append", [].append, None),
        ("list.append", list.append, Numbers),
        ("list.append", list.append, None),
        (f"{PROG}.Numbers.extend", list.extend, Numbers),
        ("list.__len__", [].__len__, None),
        ("dict.fromkeys", dict.fromkeys, None),
        ("str.maketrans", str.maketrans, None),
        ("open", open, None),
        ("io.open", open, None),
        ("sqlite3.connect", sqlite3.connect, None),
        ("sqlite3.Connection.close", sqlite3.Connection.close, sqlite3.Connection),
        ("io.TextIOWrapper.close", io.TextIOWrapper.close, io.TextIOWrapper),
        ("io.TextIOWrapper.__enter__", io.TextIOWrapper.__enter__, io.TextIOWrapper),
        ("io.IOBase.__enter__", io.TextIOWrapper.__enter__, io.TextIOWrapper),
        ("socket.socket.send", socket.socket.send, socket.socket),
        ("threading.Lock.acquire", threading.Lock().acquire, None),
        ("threading.RLock.release", threading.RLock().release, None),
        ("re.Pattern.match", re.compile("").match, None),
        ("collections.deque.append", collections.deque.append, collections.deque),
        ("os.open", os.open, None),
        ("functools.reduce", functools.reduce, None),
    ],
)
def test_c_functions(name: str, function: Any, receiver: type | None) -> None:
    wanted = watched(f"{{event: 'func_pre', name: '{name}'}}")
    callee = wanted.callee(function, receiver)
    assert callee is not None
    assert callee.name == name
    assert callee.wants & ~Want.RECEIVER == Want.PRE | Want.SITE
    assert operations(wanted, busy) >= CALLS
    assert watched(f"{name}x").callee(function, receiver) is None


def test_the_receiver_of_c_functions() -> None:
    wanted = watched("list.append", "len", "str.maketrans", "dict.fromkeys")
    found = [wanted.callee(each, None) for each in (list.append, [].append, len, str.maketrans, dict.fromkeys)]  # type: ignore[var-annotated]
    assert [each is not None and bool(each.wants & Want.RECEIVER) for each in found] == [True, True, False, False, True]


def test_an_overriding_method_is_not_the_overridden() -> None:
    wanted = watched("list.append")
    assert wanted.callee(Numbers.append, Numbers) is None
    assert name_of(wanted.callee(super(Numbers, Numbers()).append, None)) == "list.append"
    by_subclass = watched(f"{PROG}.Numbers.append")
    assert by_subclass.callee(super(Numbers, Numbers()).append, None) is None
    assert reported(by_subclass, Numbers.append, Numbers) == f"{PROG}.Numbers.append"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("list", list),
        ("list", Numbers),
        (f"{PROG}.Base", Leaf),
        (f"{PROG}.Leaf", Leaf),
        ("sqlite3.Connection", sqlite3.Connection),
        ("socket.socket", socket.socket),
        ("OSError", FileNotFoundError),
        ("dict", collections.OrderedDict),
    ],
)
def test_classes_that_are_called(name: str, kind: type) -> None:
    wanted = watched(f"{{event: 'new', name: '{name}', targetId: _}}")
    assert wanted.callee(kind, None) == Callee(name, Want.NEW | Want.SITE)
    assert wanted.callee(float, None) is None
    assert operations(wanted, busy) == CALLS


@pytest.mark.parametrize(("name", "kind"), [("threading.Thread", threading.Timer), ("asyncio.Lock", asyncio.Lock)])
def test_an_init_in_python_tells_of_new_objects(name: str, kind: type) -> None:
    wanted = watched(f"{{event: 'new', name: '{name}', targetId: _}}")
    maker: Any = vars(kind)["__init__"]
    assert wanted.callee(kind, None) is None
    assert operations(wanted, busy) == set()
    found = wanted.plan(maker.__code__, maker.__module__)
    assert found is not None and found.callee is not None
    assert found.callee.wants == Want.NEW | Want.SITE
    assert wanted.receiver_callee(maker.__code__, kind) == Callee(name, Want.NEW | Want.SITE | Want.RECEIVER)
    assert wanted.receiver_callee(maker.__code__, float) is None


class Made:
    def __init__(self) -> None:
        self.parts: list[int] = []


class Heir(Made):
    pass


class Rebuilt(Made):
    def __init__(self) -> None:
        super().__init__()


class Mixed:
    def __init__(self) -> None:
        self.more = 1


class MadeMixed(Mixed, Made):
    pass


@dataclasses.dataclass
class Generated(Made):
    part: int


def test_the_outermost_init_tells_of_the_object() -> None:
    class Local(Made):
        def __init__(self) -> None:
            super().__init__()

    wanted = watched(f"{{event: 'new', name: '{__name__}.Made', targetId: _}}")
    reported = Callee(f"{__name__}.Made", Want.NEW | Want.SITE | Want.RECEIVER)
    inits: list[Any] = [vars(each)["__init__"] for each in (Made, Rebuilt, Mixed, Generated, Local)]
    for kind, own in ((Made, 0), (Heir, 0), (Rebuilt, 1), (MadeMixed, 2), (Generated, 3), (Local, 4)):
        for number, init in enumerate(inits):
            found = wanted.plan(init.__code__, __name__)
            assert found is not None and found.callee is not None
            assert found.callee.wants & (ALL_CALLS | Want.NEW) == Want.NEW
            callee = wanted.receiver_callee(init.__code__, kind)
            assert callee == (reported if number == own else None), (kind, init)
        assert wanted.callee(kind, None) is None
    assert wanted.receiver_callee(inits[2].__code__, Mixed) is None
    assert operations(wanted, busy) == set()


def test_own_code_is_probed_if_an_init_cannot_tell() -> None:
    name = f"{__name__}.test_own_code_is_probed_if_an_init_cannot_tell.Late"
    late = watched(f"{{event: 'new', name: '{name}', targetId: _}}")
    assert operations(late, busy) == CALLS  # it is not there yet
    for other in (
        {"event": "func_pre", "name": f"{__name__}.Made"},
        {"event": "func_post", "name": f"{__name__}.Made.__init__"},
    ):
        also = f"{{event: '{other['event']}', name: '{other['name']}'}}"
        wanted = watched(f"{{event: 'new', name: '{__name__}.Made', targetId: _}}", also)
        assert operations(wanted, busy) == CALLS
        callee = wanted.callee(Made, None)
        assert callee is not None
        assert callee.wants & Want.NEW


def test_what_escapes_into_a_variable() -> None:
    def keeps(file: Any) -> None:
        file.close()
        open("x")  # noqa: SIM115

    def takes(file: Any) -> Any:
        return file.close

    def names(file: Any) -> Any:
        return getattr(file, "close")  # noqa: B009

    wanted = watched("io.FileIO.close", "open")
    assert [wanted.plan(each.__code__, __name__).escapes for each in (keeps, takes, names)] == [False, True, True]  # type: ignore[union-attr]


def test_a_base_class_is_not_its_subclass() -> None:
    assert watched(f"{PROG}.Leaf").callee(Base, None) is None


def test_a_lock_is_made_by_what_looks_like_a_class() -> None:
    callee = watched("{event: 'new', name: 'threading.Lock'}").callee(threading.Lock, None)
    assert callee == Callee("threading.Lock", Want.NEW | Want.SITE)


def test_a_constructor_of_its_own() -> None:
    wanted = watched(f"{PROG}.Point.__init__")
    assert wanted.callee(Point, None) is None
    assert operations(wanted, busy) == set()


def test_objects_that_are_called() -> None:
    wanted = watched(f"{PROG}.Base.__call__", "functools.partial.__call__")
    callee = wanted.callee(Leaf(), None)
    assert callee is not None
    assert callee.name == f"{PROG}.Base.__call__"
    assert callee.wants & Want.CALLEE_SIDE
    assert name_of(wanted.callee(functools.partial(len), None)) == "functools.partial.__call__"
    assert wanted.callee(7, None) is None


def test_the_end_of_the_process_is_always_seen() -> None:
    def leave() -> None:
        print("so long")
        os._exit(3)

    away = leave.__code__.replace(co_filename=os.__file__)
    for wanted in (watched(), watched("len")):
        found = wanted.plan(away, "away")
        assert found is not None
        assert found.callee is None
        assert [probe.name for probe in found.probes] == ["_exit"]
        assert wanted.callee(os._exit, None) == Callee("os._exit", Want.EXIT | Want.SITE)
    own = plan(watched("len"), leave)
    assert own is not None
    assert [probe.name for probe in own.probes] == ["print", "_exit"]
    callee = watched("{event: 'func_pre', name: 'os._exit', args: _}").callee(os._exit, None)
    assert callee == Callee("os._exit", Want.EXIT | Want.SITE | Want.PRE | Want.ARGS)


# -- what instructions do ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "owner", "found"),
    [
        ("io.TextIOWrapper.__enter__", io.TextIOWrapper, {Operation.ENTER}),
        ("io.TextIOWrapper.__exit__", io.TextIOWrapper, {Operation.EXIT_RAISED}),
        ("list.__iter__", Numbers, {Operation.ITER}),
        ("list.__contains__", list, {Operation.CONTAINS}),
        ("list.__getitem__", list, {Operation.GET_ITEM}),
        ("list.__setitem__", list, {Operation.SET_ITEM}),
        ("list.__delitem__", list, {Operation.DELETE_ITEM}),
        ("int.__add__", int, {Operation.BINARY}),
        ("int.__lt__", bool, set()),
        ("threading.Lock.__enter__", type(threading.Lock()), {Operation.ENTER}),
        ("sqlite3.Connection.__exit__", sqlite3.Connection, {Operation.EXIT_RAISED}),
    ],
)
def test_special_methods(name: str, owner: type, found: set[Operation]) -> None:
    wanted = watched(f"{{event: 'func_pre', name: '{name}'}}")
    special = name.rpartition(".")[2]
    assert wanted.operation(special, owner) == Callee(name, Want.PRE | Want.RECEIVER | Want.SITE)
    assert operations(wanted, busy) == CALLS | found
    assert wanted.operation(special, complex) is None


def test_special_methods_of_python_classes_report_themselves() -> None:
    wanted = watched(f"{PROG}.Base.__enter__", f"{PROG}.Leaf.__iter__")
    callee = wanted.operation("__enter__", Sub)
    assert callee is not None
    assert callee.name == f"{PROG}.Base.__enter__"
    assert callee.wants & Want.CALLEE_SIDE
    assert name_of(wanted.operation("__iter__", Leaf)) == f"{PROG}.Leaf.__iter__"
    assert wanted.operation("__iter__", Sub) is None
    assert wanted.operation("__contains__", Sub) is None
    assert operations(wanted, busy) == set()


def test_an_operator_in_place() -> None:
    wanted = watched("str.__add__", "list.__iadd__", "list.__add__")
    assert name_of(wanted.operation("__iadd__", str)) == "str.__add__"
    assert name_of(wanted.operation("__iadd__", list)) == "list.__iadd__"
    assert wanted.operation("__iadd__", tuple) is None


def test_what_cannot_be_called() -> None:
    class Closed:
        __iter__ = None

    assert watched(f"{__name__}.Closed.__iter__").operation("__iter__", Closed) is None
    assert watched("int.__iter__").operation("__iter__", int) is None


def test_steps_of_iterators() -> None:
    steps = {Operation.NEXT}
    by_name = watched("{event: 'iter_next', name: 'list_iterator.__next__', targetId: _}")
    assert operations(by_name, busy) == steps
    step = Want.NEXT | Want.RECEIVER | Want.SITE
    assert by_name.operation("__next__", type(iter([]))) == Callee("list_iterator.__next__", step)
    assert by_name.operation("__next__", type(iter(()))) is None
    every = watched("{event: 'iter_next', targetId: _}")
    assert operations(every, busy) == steps
    assert every.unnamed == []
    assert every.operation("__next__", type(iter(()))) == Callee("tuple_iterator.__next__", step)
    assert every.operation("__next__", zip) == Callee("zip.__next__", step)
    assert watched("list.append").operation("__next__", zip) is None


def test_steps_of_python_iterators() -> None:
    class Steps:
        def __iter__(self) -> Steps:
            return self

        def __next__(self) -> int:
            raise StopIteration

    name = f"{__name__}.test_steps_of_python_iterators.<locals>.Steps.__next__"
    wanted = watched(name)
    assert wanted.operation("__next__", Steps) == Callee(name, Want.NEXT | Want.RECEIVER | Want.SITE)
    assert reported(wanted, Steps.__next__, Steps) == name
    only_calls = watched(f"{{event: 'func_pre', name: '{name}'}}").operation("__next__", Steps)
    assert only_calls is not None
    assert only_calls.wants & Want.CALLEE_SIDE
