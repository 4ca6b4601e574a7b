"""Names of functions and classes, and that none of the program's code runs to find them."""

from __future__ import annotations

import asyncio
import builtins
import collections
import csv
import datetime
import decimal
import functools
import gc
import importlib
import io
import math
import os
import queue
import re
import socket
import sqlite3
import struct
import sys
import threading
import types
from collections.abc import Iterator
from typing import Any

import pytest

from lawful.sources.python import name_resolution, names

KINDS = [
    *(kind for kind in vars(builtins).values() if isinstance(kind, type)),
    *(io.TextIOWrapper, io.BytesIO, io.StringIO, io.FileIO, io.BufferedReader),
    *(sqlite3.Connection, sqlite3.Cursor, sqlite3.Row, re.Pattern, re.Match, struct.Struct),
    *(collections.deque, collections.OrderedDict, collections.defaultdict, collections.Counter),
    *(threading.Thread, threading.Event, threading.local, socket.socket, queue.SimpleQueue, queue.Queue),
    *(datetime.datetime, decimal.Decimal, functools.partial, asyncio.Future, asyncio.Task, os.DirEntry),
]


def by_import(name: str) -> Any:
    """What a name stands for, found as a user would."""
    parts = name.split(".")
    for size in range(len(parts) - 1, 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:size]))
        except ImportError:
            continue
        return functools.reduce(getattr, parts[size:], found)
    return functools.reduce(getattr, parts, builtins)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_name_of_a_class_leads_to_it(kind: type) -> None:
    assert by_import(names.class_name(kind)) is kind
    place = name_resolution.resolve(names.class_name(kind))
    assert place is not None
    assert place.entry is kind


def entries(kind: type) -> Iterator[tuple[str, Any]]:
    for name, entry in vars(kind).items():
        if isinstance(entry, types.MethodDescriptorType | types.WrapperDescriptorType | types.FunctionType):
            yield name, entry


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_name_of_a_method_leads_to_it(kind: type) -> None:
    for attribute, entry in entries(kind):
        name = names.function_name(entry)
        assert name is not None
        if isinstance(entry, types.FunctionType):
            if entry.__code__.co_name != attribute or "<locals>" in entry.__qualname__ or hasattr(entry, "__wrapped__"):
                continue  # `__radd__ = __add__`, or made by another function
            if entry.__module__ != entry.__globals__["__name__"]:
                continue
        assert by_import(name) is entry, name
        place = name_resolution.resolve(name)
        assert place is not None
        assert place.entry is entry


@pytest.mark.parametrize(
    "module", [builtins, os, os.path, io, re, struct, sqlite3, threading, functools, csv, socket, asyncio, math]
)
def test_the_name_of_a_function_leads_to_it(module: types.ModuleType) -> None:
    checked = 0
    for value in vars(module).values():
        if isinstance(value, types.BuiltinFunctionType) and not isinstance(value.__self__, type | None):
            name = names.function_name(value)
            assert name is not None
            if not isinstance(value.__self__, types.ModuleType):
                assert name.rpartition(".")[2] == value.__name__
            elif value is not threading._allocate_lock:  # type: ignore[attr-defined]
                assert by_import(name) is value, name
            checked += 1
        elif isinstance(value, types.FunctionType) and not value.__name__.startswith("_"):
            name = names.function_name(value)
            assert name is not None
            if not hasattr(value, "__wrapped__") and "<" not in name and by_import(name) is not value:
                assert value.__code__.co_name != value.__name__ or name.startswith("typing."), name
            checked += 1
    assert checked


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (open, "open"),
        (len, "len"),
        (list.append, "list.append"),
        ([].append, "list.append"),
        ([].__len__, "list.__len__"),
        (dict.fromkeys, "dict.fromkeys"),
        (collections.OrderedDict.fromkeys, "collections.OrderedDict.fromkeys"),
        (str.maketrans, "str.maketrans"),
        (object.__new__, "object.__new__"),
        (iter([]).__next__, "list_iterator.__next__"),
        (type(iter([])), "list_iterator"),
        (type(n for n in ()), "generator"),  # type: ignore[var-annotated]
        (type(None), "NoneType"),
        (types.ModuleType, "module"),
        (types.FunctionType, "function"),
        (io.TextIOWrapper, "io.TextIOWrapper"),
        (io.TextIOWrapper.read, "io.TextIOWrapper.read"),
        (io.TextIOWrapper.__enter__, "io.IOBase.__enter__"),
        (io.IOBase.__mro__[1].close, "io.IOBase.close"),  # type: ignore[attr-defined]
        (sqlite3.connect, "sqlite3.connect"),
        (sqlite3.Connection.close, "sqlite3.Connection.close"),
        (threading.Lock, "threading.Lock"),
        (type(threading.Lock()), "threading.Lock"),
        (threading.Lock().acquire, "threading.Lock.acquire"),
        (type(threading.RLock()).acquire, "threading.RLock.acquire"),
        (threading.Thread.start, "threading.Thread.start"),
        (threading.Thread().start, "threading.Thread.start"),
        (socket.socket, "socket.socket"),
        (socket.socket.send, "_socket.socket.send"),
        (os.open, "os.open"),
        (os.path.join, "os.path.join"),
        (os._exit, "os._exit"),
        (os.scandir, "os.scandir"),
        (functools.reduce, "functools.reduce"),
        (collections.abc.Mapping.get, "collections.abc.Mapping.get"),
        (collections.deque.append, "collections.deque.append"),
        (re.compile, "re.compile"),
        (re.compile("").match, "re.Pattern.match"),
        (queue.Empty, "queue.Empty"),
        (OSError, "OSError"),
        (socket.timeout, "TimeoutError"),
        (sqlite3.OperationalError, "sqlite3.OperationalError"),
        (decimal.DivisionByZero, "decimal.DivisionByZero"),
        (functools.partial(len), "functools.partial.__call__"),
        (42, None),
    ],
)
def test_names_as_events_have_them(value: object, name: str | None) -> None:
    assert names.function_name(value) == name


class Plain:
    def method(self) -> None: ...

    @staticmethod
    def static() -> None: ...

    @classmethod
    def of_class(cls) -> None: ...

    @functools.cached_property
    def cached(self) -> int:
        return 1

    @property
    def both(self) -> int:
        return 1

    @both.setter
    def both(self, value: int) -> None: ...

    @functools.lru_cache  # noqa: B019
    def remembered(self) -> int:
        return 1

    class Inner:
        def __call__(self) -> None: ...


def decorated(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper(*args: Any) -> Any:
        return function(*args)

    return wrapper


@decorated
@decorated
def twice() -> None: ...


HERE = __name__


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (Plain, "Plain"),
        (Plain.method, "Plain.method"),
        (Plain().method, "Plain.method"),
        (Plain.static, "Plain.static"),
        (Plain.of_class, "Plain.of_class"),
        (Plain.remembered, "Plain.remembered"),
        (Plain.Inner, "Plain.Inner"),
        (Plain.Inner(), "Plain.Inner.__call__"),
        (twice, "twice"),
        (decorated(len), "decorated.<locals>.wrapper"),
    ],
)
def test_names_of_written_functions(value: object, name: str) -> None:
    assert names.function_name(value) == f"{HERE}.{name}"


def test_the_functions_behind_an_entry() -> None:
    def found(name: str) -> list[tuple[str, bool, bool]]:
        return [(each.function.__name__, each.receiver, each.by_class) for each in names.methods(vars(Plain)[name])]

    assert found("method") == [("method", True, False)]
    assert found("static") == [("static", False, False)]
    assert found("of_class") == [("of_class", True, True)]
    assert found("cached") == [("cached", True, False)]
    assert found("both") == [("both", True, False), ("both", True, False)]
    assert found("remembered") == [("remembered", True, False)]
    assert found("Inner") == []
    assert len(names.python_codes(vars(Plain)["both"])) == 2


def test_a_circle_of_decorators_ends() -> None:
    def one() -> None: ...
    def two() -> None: ...

    one.__wrapped__, two.__wrapped__ = two, one  # type: ignore[attr-defined]
    assert str(names.function_name(one)).startswith(HERE)


def test_a_builtin_that_a_subclass_overrides_is_found_behind_it() -> None:
    class Loud(list[int]):
        def append(self, item: int) -> None:
            super().append(item)

        def parent(self) -> Any:
            return super().append

    assert names.descriptor_of(Loud().parent()) is list.append
    assert names.function_name(Loud().parent()) == "list.append"


def test_resolving_does_not_import() -> None:
    sys.modules.pop("this", None)
    assert name_resolution.resolve("this.s") is None
    assert "this" not in sys.modules
    assert name_resolution.resolve("no_such_thing") is None
    assert name_resolution.resolve("os.path.join.nothing") is None
    assert name_resolution.resolve("") is None


def test_a_name_may_be_inherited() -> None:
    place = name_resolution.resolve("collections.OrderedDict.get")
    assert place == (collections.OrderedDict, dict, dict.get)


def test_the_main_module_has_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    main = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    vars(main)["thing"] = thing = object()
    found = name_resolution.resolve("script.thing", "script")
    assert found is not None
    assert found.entry is thing
    assert name_resolution.resolve("script.thing") is None
    assert names.main_module("__mp_main__") == "__main__"


# -- hostile objects -----------------------------------------------------------------------------


class Trap(Exception):
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


class Hostile(metaclass=HostileMeta):
    __getattribute__ = trap
    __hash__ = trap
    __eq__ = trap
    __bool__ = trap
    __class__ = property(trap)
    __dict__ = property(trap)
    __call__ = trap

    def method(self) -> None: ...


class Text(str):
    __eq__ = trap
    __hash__ = trap
    __str__ = trap
    __add__ = trap
    __format__ = trap
    startswith = trap


class TrapModule(types.ModuleType):
    __getattribute__ = trap


def test_nothing_of_a_hostile_object_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    hostile = object.__new__(Hostile)
    assert names.class_name(Hostile) == f"{HERE}.Hostile"
    assert names.class_name(Hostile) == f"{HERE}.Hostile"
    assert names.function_name(Hostile) == f"{HERE}.Hostile"
    assert names.function_name(hostile) == f"{HERE}.Hostile.__call__"
    assert names.owner_module(hostile) == HERE
    assert names.is_class(hostile) is False
    method = type.__getattribute__(Hostile, "__dict__")["method"]
    assert names.function_name(types.MethodType(method, hostile)) == f"{HERE}.Hostile.method"
    assert list(names.methods(hostile)) == []
    monkeypatch.setitem(sys.modules, "hostile_module", hostile)
    monkeypatch.setitem(sys.modules, "trap_module", TrapModule("trap_module"))
    assert name_resolution.resolve("hostile_module.x") is None
    assert name_resolution.resolve("trap_module.x") is None
    place = name_resolution.resolve(f"{HERE}.Hostile.method")
    assert place is not None
    assert place.entry is method


@pytest.mark.parametrize("module", [None, 3, property(trap), Text("elsewhere")])
def test_a_class_with_a_strange_module(module: object) -> None:
    kind = type("Kind", (), {"__module__": module, "__qualname__": "Out.Kind"})
    assert names.class_name(kind) in ("Out.Kind", "elsewhere.Out.Kind")
    assert type(names.class_name(kind)) is str


def test_a_function_with_strange_globals() -> None:
    class Globals(dict[str, Any]):
        get = __getitem__ = trap

    space = Globals(__name__=Text("strange"), __builtins__=builtins)
    exec("def f(): pass", space)
    assert names.function_name(dict.get(space, "f")) == "strange.f"
    bare: dict[str, Any] = {}
    exec("def f(): pass", bare)
    assert str(names.function_name(bare["f"])).endswith(".f")


def test_the_names_of_classes_that_are_gone_are_forgotten() -> None:
    before = len(names._class_names)
    for number in range(50):
        names.class_name(type(f"Short{number}", (), {}))
    gc.collect()
    assert len(names._class_names) < before + 10


def test_a_type_that_is_not_ready_has_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "_type_dict", lambda kind: None)  # what CPython 3.11 says while `socket` is imported
    assert names.lookup(socket.socket, "close") is None
    assert name_resolution.resolve("socket.socket.close") is None
