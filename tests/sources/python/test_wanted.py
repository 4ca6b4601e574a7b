"""What is watched, for laws and for scopes: which code reports itself, which places are probed, under which names."""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import functools
import gc
import io
import os
import re
import socket
import sqlite3
import sys
import threading
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from lawful.laws import rml
from lawful.laws.protocol import Law
from lawful.sources.python.model import Callee, CodePlan, Operation, Want
from lawful.sources.python.scope import Scope
from lawful.sources.python.wanted import Watched

HERE = __name__
OWN = Scope(project=Path(__file__).parent)
CALLS = {Operation.CALL, Operation.CALL_EX}
ALL_CALLS = Want.PRE | Want.POST | Want.RAISE


def law(*matches: str) -> Law:
    """A law over events that look so; a bare name stands for any event of that name."""
    bodies = [each if each.startswith("{") else f"{{name: '{each}'}}" for each in matches]
    declared = "".join(f"e{i} matches {body};\n" for i, body in enumerate(bodies))
    either = " \\/ ".join(f"e{i}" for i in range(len(bodies)))
    return rml.compile(f"{declared}Main = ({either})*;")


def watched(*matches: str, scope: Scope = OWN, **options: Any) -> Watched:
    return Watched([law(*matches)] if matches else [], scope, **options)


def code_of(function: Any) -> CodeType:
    function = getattr(function, "__func__", function)
    code: CodeType = function.__code__
    return code


def plan(wanted: Watched, function: Any) -> CodePlan | None:
    return wanted.plan(code_of(function), getattr(function, "__func__", function).__globals__["__name__"])


def reported(wanted: Watched, function: Any, receiver: type | None = None) -> str | None:
    """The name under which a function reports itself, as a core finds it."""
    found = plan(wanted, function)
    if found is None or found.callee is None:
        return None
    callee = found.callee if receiver is None else wanted.receiver_callee(code_of(function), receiver)
    return None if callee is None else callee.name


def name_of(callee: Callee | None) -> str | None:
    return None if callee is None else callee.name


def operations(wanted: Watched, function: Any) -> set[Operation]:
    found = plan(wanted, function)
    return set() if found is None else {probe.operation for probe in found.probes}


# -- the program ---------------------------------------------------------------------------------


def plain(first: object = None) -> object:
    return first


def decorator(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


@decorator
def dressed() -> None: ...


@functools.lru_cache
def remembered() -> None: ...


class Base:
    count = 0

    def method(self) -> None: ...

    def other(self) -> None: ...

    @classmethod
    def make(cls) -> None: ...

    @staticmethod
    def helper(first: object) -> None: ...

    @property
    def value(self) -> int:
        return 1

    @value.setter
    def value(self, new: int) -> None: ...

    @decorator
    def dressed(self) -> None: ...

    def __secret(self) -> None: ...

    def __enter__(self) -> None: ...

    def __exit__(self, *args: object) -> None: ...

    def __iter__(self) -> Iterator[int]:
        return iter(())

    def __contains__(self, item: object) -> bool:
        return False

    def __call__(self) -> None: ...

    def _private(self) -> None: ...


class Sub(Base):
    def other(self) -> None:
        super().other()


class Leaf(Sub):
    pass


class Unrelated:
    def method(self) -> None: ...


class Numbers(list[int]):
    def append(self, item: int) -> None:
        super().append(item)


@dataclasses.dataclass
class Point:
    x: int = 0


def busy(items: list[int], thing: Any) -> None:
    with thing:
        items.append(len(items))
    for each in items:
        thing(*[each])
    items[0] = items[1] + 1
    del items[0]
    if 3 in items:
        thing.size = thing.length
    del thing.size


# -- Python functions report themselves ----------------------------------------------------------


def test_a_function_that_a_law_names() -> None:
    wanted = watched(f"{HERE}.plain", f"{{event: 'func_post', name: '{HERE}.plain', res: _}}")
    found = plan(wanted, plain)
    assert found is not None
    assert found.callee == Callee(f"{HERE}.plain", ALL_CALLS | Want.YIELD | Want.RESULT | Want.SITE)
    assert found.file == Path(__file__).name
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
    found = plan(watched(match.replace("'N'", f"'{HERE}.plain'")), plain)
    assert found is not None
    assert found.callee == Callee(f"{HERE}.plain", wants | Want.SITE)


@pytest.mark.parametrize("kind", ["new", "field_write", "gone", "iter_next", "mine"])
def test_what_is_no_call_needs_no_function(kind: str) -> None:
    assert reported(watched(f"{{event: '{kind}', name: '{HERE}.plain'}}"), plain) is None


def test_more_can_be_noted() -> None:
    match = f"{{event: 'func_pre', name: '{HERE}.plain'}}"
    found = plan(watched(match, more=Want.ARGS | Want.RESULT | Want.POST), plain)
    assert found is not None
    assert found.callee == Callee(f"{HERE}.plain", Want.PRE | Want.ARGS | Want.RESULT | Want.SITE)


def test_methods() -> None:
    wanted = watched(f"{HERE}.Base.method")
    for kind in (Base, Sub, Leaf):
        assert reported(wanted, Base.method, kind) == f"{HERE}.Base.method"
        callee = wanted.receiver_callee(code_of(Base.method), kind)
        assert callee is not None
        assert callee.wants & Want.RECEIVER
        assert wanted.callee(Base.method, kind) == callee._replace(wants=callee.wants | Want.CALLEE_SIDE)
    assert reported(wanted, Unrelated.method) is None
    callee = wanted.receiver_callee(code_of(Base.method), int)
    assert callee is not None  # a strange call, as `Base.method(1)`, but it is called
    assert not callee.wants & Want.RECEIVER


def test_a_method_named_by_a_subclass() -> None:
    wanted = watched(f"{HERE}.Sub.method")
    assert reported(wanted, Base.method, Sub) == f"{HERE}.Sub.method"
    assert reported(wanted, Base.method, Leaf) == f"{HERE}.Sub.method"
    assert reported(wanted, Base.method, Base) is None
    assert reported(wanted, Base.method, int) is None
    assert name_of(wanted.callee(Base.method, Leaf)) == f"{HERE}.Sub.method"
    assert wanted.callee(Base.method, Base) is None
    assert plan(wanted, Unrelated.method) == CodePlan(None, (), Path(__file__).name, True)


def test_the_nearest_name_is_taken() -> None:
    wanted = watched(f"{HERE}.Base.method", f"{HERE}.Leaf.method")
    found = [reported(wanted, Base.method, kind) for kind in (Base, Sub, Leaf)]
    assert found == [f"{HERE}.Base.method", f"{HERE}.Base.method", f"{HERE}.Leaf.method"]


def test_an_inherited_method_that_is_called_by_super() -> None:
    wanted = watched(f"{HERE}.Sub.other", f"{HERE}.Leaf.other")
    assert reported(wanted, Sub.other, Sub) == f"{HERE}.Sub.other"
    assert reported(wanted, Sub.other, Leaf) == f"{HERE}.Leaf.other"
    assert reported(wanted, Base.other, Sub) is None
    assert reported(wanted, Base.other, Leaf) is None
    both = watched(f"{HERE}.Sub.other", f"{HERE}.Base.other")
    assert reported(both, Base.other, Sub) == f"{HERE}.Base.other"
    assert reported(both, Sub.other, Sub) == f"{HERE}.Sub.other"


def test_class_and_static_methods() -> None:
    wanted = watched(f"{HERE}.Base.make", f"{HERE}.Base.helper")
    assert reported(wanted, Base.make, type) == f"{HERE}.Base.make"
    callee = wanted.receiver_callee(code_of(Base.make), type)
    assert callee is not None
    assert callee.wants & Want.RECEIVER
    assert reported(wanted, Base.helper, Base) == f"{HERE}.Base.helper"
    for kind in (Base, int, type):
        callee = wanted.receiver_callee(code_of(Base.helper), kind)
        assert callee is not None
        assert not callee.wants & Want.RECEIVER
    for function in (Base.make, Sub.make, Base().make, Base.helper, Base().helper):
        callee = wanted.callee(function, None)
        assert callee is not None
        assert callee.wants & Want.CALLEE_SIDE


def test_properties_and_private_methods() -> None:
    wanted = watched(f"{HERE}.Base.value", f"{HERE}.Base.__secret")
    getter, setter = Base.__dict__["value"].fget, Base.__dict__["value"].fset
    assert reported(wanted, getter, Sub) == reported(wanted, setter, Sub) == f"{HERE}.Base.value"
    assert reported(wanted, Base.__dict__["_Base__secret"], Base) == f"{HERE}.Base.__secret"
    callee = wanted.receiver_callee(code_of(Base.__dict__["_Base__secret"]), Base)
    assert callee is not None
    assert callee.wants & Want.RECEIVER


def test_decorated_functions_report_what_was_written() -> None:
    wanted = watched(f"{HERE}.dressed", f"{HERE}.remembered", f"{HERE}.Base.dressed", f"{HERE}.Sub.dressed")
    assert reported(wanted, dressed.__wrapped__) == f"{HERE}.dressed"
    assert reported(wanted, dressed) is None  # all functions of one decorator share this code
    assert reported(wanted, remembered.__wrapped__) == f"{HERE}.remembered"
    inner = Base.__dict__["dressed"].__wrapped__
    assert reported(wanted, inner, Base) == f"{HERE}.Base.dressed"
    assert reported(wanted, inner, Leaf) == f"{HERE}.Sub.dressed"
    for function, receiver in ((dressed, None), (remembered, None), (Base.dressed, Sub)):
        callee = wanted.callee(function, receiver)
        assert callee is not None
        assert callee.wants & Want.CALLEE_SIDE
    assert name_of(wanted.callee(Base.dressed, Sub)) == f"{HERE}.Sub.dressed"


def test_nested_functions() -> None:
    def inner() -> None: ...

    wanted = watched(f"{HERE}.test_nested_functions.<locals>.inner")
    assert reported(wanted, inner) == f"{HERE}.test_nested_functions.<locals>.inner"
    assert operations(wanted, busy) == set()


def test_the_body_of_a_class_is_no_function() -> None:
    space: dict[str, Any] = {"__name__": "made"}
    module = compile("class Thing:\n  def Thing(self): pass\n", "made.py", "exec")
    body = next(each for each in module.co_consts if isinstance(each, CodeType))
    exec(module, space)
    wanted = watched("made.Thing", "made.Thing.Thing", scope=Scope(public=("made",), project=Path(__file__).parent))
    assert wanted.plan(body, "made") is None
    assert wanted.plan(module, "made") is None
    assert reported(wanted, space["Thing"].Thing, space["Thing"]) == "made.Thing.Thing"


def test_monkey_patched_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    def fake(self: object) -> None: ...

    wanted = watched(f"{HERE}.Base.method", f"{HERE}.Leaf.other", f"{HERE}.plain")
    monkeypatch.setattr(Base, "method", fake)
    assert reported(wanted, fake, Base) == f"{HERE}.Base.method"
    monkeypatch.undo()
    monkeypatch.setattr(Base, "other", fake)
    monkeypatch.delattr(Sub, "other")
    assert reported(wanted, fake, Leaf) == f"{HERE}.Leaf.other"
    assert reported(wanted, fake, Sub) is None
    monkeypatch.undo()
    monkeypatch.setattr(sys.modules[HERE], "plain", fake)
    assert reported(wanted, fake) == f"{HERE}.plain"


def test_a_function_that_came_under_a_name_after_its_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(self: object) -> None: ...

    wanted = watched(f"{HERE}.Base.method")
    found = plan(wanted, late)
    assert found is not None
    assert found.callee is None
    monkeypatch.setattr(Base, "method", late)
    callee = wanted.callee(late, Base)
    assert callee == Callee(f"{HERE}.Base.method", ALL_CALLS | Want.SITE | Want.RECEIVER)
    assert operations(wanted, busy) == CALLS


def test_a_name_of_a_class_that_comes_later() -> None:
    wanted = watched(f"{HERE}.Late.method", "sqlite4.Late.method")
    assert reported(wanted, Base.method, Base) is None
    late = type("Late", (Base,), {"__module__": HERE, "__qualname__": "Late"})
    assert name_of(wanted.receiver_callee(code_of(Base.method), late)) == f"{HERE}.Late.method"
    in_stdlib = watched("this.Late.method")
    assert plan(in_stdlib, Base.method) == CodePlan(None, (), Path(__file__).name, True) or "this" in sys.modules


def test_generated_methods() -> None:
    wanted = watched(f"{HERE}.Point.__init__", f"{HERE}.Point.__eq__")
    assert reported(wanted, Point.__init__, Point) == f"{HERE}.Point.__init__"
    assert reported(wanted, Point.__eq__, Point) == f"{HERE}.Point.__eq__"


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


# -- C functions and classes are seen where they are called --------------------------------------


@pytest.mark.parametrize(
    ("name", "function", "receiver"),
    [
        ("list.append", list.append, list),
        ("list.append", [].append, None),
        ("list.append", list.append, Numbers),
        ("list.append", list.append, None),
        (f"{HERE}.Numbers.extend", list.extend, Numbers),
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
    found = [wanted.callee(each, None) for each in (list.append, [].append, len, str.maketrans, dict.fromkeys)]
    assert [each is not None and bool(each.wants & Want.RECEIVER) for each in found] == [True, True, False, False, True]


def test_an_overriding_method_is_not_the_overridden() -> None:
    wanted = watched("list.append")
    assert wanted.callee(Numbers.append, Numbers) is None
    assert name_of(wanted.callee(super(Numbers, Numbers()).append, None)) == "list.append"
    by_subclass = watched(f"{HERE}.Numbers.append")
    assert by_subclass.callee(super(Numbers, Numbers()).append, None) is None
    assert reported(by_subclass, Numbers.append, Numbers) == f"{HERE}.Numbers.append"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("list", list),
        ("list", Numbers),
        (f"{HERE}.Base", Leaf),
        (f"{HERE}.Leaf", Leaf),
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

    wanted = watched(f"{{event: 'new', name: '{HERE}.Made', targetId: _}}")
    told = Callee(f"{HERE}.Made", Want.NEW | Want.SITE | Want.RECEIVER)
    inits: list[Any] = [vars(each)["__init__"] for each in (Made, Rebuilt, Mixed, Generated, Local)]
    for kind, own in ((Made, 0), (Heir, 0), (Rebuilt, 1), (MadeMixed, 2), (Generated, 3), (Local, 4)):
        for number, init in enumerate(inits):
            found = wanted.plan(init.__code__, HERE)
            assert found is not None and found.callee is not None
            assert found.callee.wants & (ALL_CALLS | Want.NEW) == Want.NEW
            callee = wanted.receiver_callee(init.__code__, kind)
            assert callee == (told if number == own else None), (kind, init)
        assert wanted.callee(kind, None) is None
    assert wanted.receiver_callee(inits[2].__code__, Mixed) is None
    assert operations(wanted, busy) == set()


def test_own_code_is_probed_if_an_init_cannot_tell() -> None:
    name = f"{HERE}.test_own_code_is_probed_if_an_init_cannot_tell.Late"
    late = watched(f"{{event: 'new', name: '{name}', targetId: _}}")
    assert operations(late, busy) == CALLS  # it is not there yet
    for other in (
        {"event": "func_pre", "name": f"{HERE}.Made"},
        {"event": "func_post", "name": f"{HERE}.Made.__init__"},
    ):
        also = f"{{event: '{other['event']}', name: '{other['name']}'}}"
        wanted = watched(f"{{event: 'new', name: '{HERE}.Made', targetId: _}}", also)
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
    assert [wanted.plan(each.__code__, HERE).escapes for each in (keeps, takes, names)] == [False, True, True]  # type: ignore[union-attr]


def test_a_base_class_is_not_its_subclass() -> None:
    assert watched(f"{HERE}.Leaf").callee(Base, None) is None


def test_a_lock_is_made_by_what_looks_like_a_class() -> None:
    callee = watched("{event: 'new', name: 'threading.Lock'}").callee(threading.Lock, None)
    assert callee == Callee("threading.Lock", Want.NEW | Want.SITE)


def test_a_constructor_of_its_own() -> None:
    wanted = watched(f"{HERE}.Point.__init__")
    assert wanted.callee(Point, None) is None
    assert operations(wanted, busy) == set()


def test_objects_that_are_called() -> None:
    wanted = watched(f"{HERE}.Base.__call__", "functools.partial.__call__")
    callee = wanted.callee(Leaf(), None)
    assert callee is not None
    assert callee.name == f"{HERE}.Base.__call__"
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
    wanted = watched(f"{HERE}.Base.__enter__", f"{HERE}.Leaf.__iter__")
    callee = wanted.operation("__enter__", Sub)
    assert callee is not None
    assert callee.name == f"{HERE}.Base.__enter__"
    assert callee.wants & Want.CALLEE_SIDE
    assert name_of(wanted.operation("__iter__", Leaf)) == f"{HERE}.Leaf.__iter__"
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

    assert watched(f"{HERE}.Closed.__iter__").operation("__iter__", Closed) is None
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

    name = f"{HERE}.test_steps_of_python_iterators.<locals>.Steps.__next__"
    wanted = watched(name)
    assert wanted.operation("__next__", Steps) == Callee(name, Want.NEXT | Want.RECEIVER | Want.SITE)
    assert reported(wanted, Steps.__next__, Steps) == name
    only_calls = watched(f"{{event: 'func_pre', name: '{name}'}}").operation("__next__", Steps)
    assert only_calls is not None
    assert only_calls.wants & Want.CALLEE_SIDE


# -- fields --------------------------------------------------------------------------------------


def test_fields_that_laws_name() -> None:
    wanted = watched(f"{{event: 'field_write', name: '{HERE}.Base.size', res: _}}")
    found = plan(wanted, busy)
    assert found is not None
    assert {(probe.operation, probe.name) for probe in found.probes} == {
        (Operation.SET_FIELD, "size"),
        (Operation.DELETE_FIELD, "size"),
    }
    assert wanted.field("size", Leaf) == Callee(f"{HERE}.Base.size", Want.WRITE | Want.RESULT | Want.SITE)
    assert wanted.field("length", Leaf) is None
    assert wanted.field("size", Unrelated) is None


def test_the_nearest_class_that_a_law_names_has_the_field() -> None:
    wanted = watched(f"{{event: 'field_read', name: '{HERE}.Base.size'|'{HERE}.Leaf.size'}}")
    assert [name_of(wanted.field("size", kind)) for kind in (Base, Sub, Leaf)] == [
        f"{HERE}.Base.size",
        f"{HERE}.Base.size",
        f"{HERE}.Leaf.size",
    ]


def test_a_method_is_no_field() -> None:
    wanted = watched(f"{HERE}.Base.method", f"{HERE}.Base.value", f"{HERE}.Base.count", "list.append")
    callee = wanted.field("method", Base)
    assert callee is not None
    assert callee.wants & (Want.READ | Want.WRITE) == Want.WRITE
    assert wanted.field("value", Sub) == Callee(f"{HERE}.Base.value", Want.READ | Want.WRITE | Want.SITE)
    assert wanted.field("count", Sub) == Callee(f"{HERE}.Base.count", Want.READ | Want.WRITE | Want.SITE)
    assert watched("{event: 'field_read', name: 'list.append'}").field("append", list) is None


def test_fields_of_a_scope() -> None:
    wanted = watched(scope=Scope(fields=(f"{HERE}.Base",), project=OWN.project))
    found = plan(wanted, busy)
    assert found is not None
    names_ = {(probe.operation, probe.name) for probe in found.probes}
    assert names_ >= {(Operation.SET_FIELD, "size"), (Operation.GET_FIELD, "length"), (Operation.DELETE_FIELD, "size")}
    wants = Want.READ | Want.WRITE | Want.RESULT | Want.SITE
    assert wanted.field("size", Leaf) == Callee(f"{HERE}.Base.size", wants)
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
    wanted = watched(scope=Scope(public=(HERE,), project=OWN.project))
    assert reported(wanted, plain) == f"{HERE}.plain"
    assert reported(wanted, Base.method, Sub) == f"{HERE}.Base.method"
    callee = wanted.receiver_callee(code_of(Base.method), Sub)
    assert callee == Callee(f"{HERE}.Base.method", CALLED | Want.RECEIVER)
    assert reported(wanted, Base.__enter__, Base) == f"{HERE}.Base.__enter__"
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
    scope = Scope(public=(HERE,), calls=("stdlib",), project=OWN.project)
    wanted = watched(f"{{event: 'func_post', name: '{HERE}.plain'}}", scope=scope, detail=Want.PRE)
    assert wanted.callee(len, None) == Callee("len", Want.PRE | Want.SITE)
    found = plan(wanted, Base.method)
    assert found is not None
    assert found.callee == Callee(f"{HERE}.Base.method", Want.PRE | Want.SITE)
    found = plan(wanted, plain)
    assert found is not None
    assert found.callee == Callee(f"{HERE}.plain", Want.POST | Want.SITE)


def test_exclude() -> None:
    scope = Scope(
        calls=("stdlib",), public=(HERE,), exclude=("list.*", "*.method", "access:dunder"), project=OWN.project
    )
    wanted = watched("list.pop", scope=scope)
    assert wanted.callee(list.append, list) is None
    assert name_of(wanted.callee(list.pop, list)) == "list.pop"  # what laws name is not touched
    assert reported(wanted, Base.method, Base) is None
    assert reported(wanted, Base.__enter__, Base) is None
    assert reported(wanted, Base.other, Base) == f"{HERE}.Base.other"


def test_lawful_is_not_watched() -> None:
    wanted = watched(f"{Watched.__module__}.Watched.plan", scope=Scope(calls=("*",), public=("lawful",)))
    assert plan(wanted, Watched.plan) is None


# -- laws ----------------------------------------------------------------------------------------


def test_laws_without_a_name() -> None:
    anything = rml.compile("Main = any*;")
    nameless = law("{event: 'func_pre', targetId: _}", "len")
    captured = law("{name: _}")
    named = law("len")
    others = rml.compile("e matches {name: 'open'};\nf not matches e;\nMain = (e \\/ f)*;")
    own_events = law("{event: 'mine', value: _}")
    ends = law("{event: 'gone', targetId: _}")
    wanted = Watched([anything, nameless, captured, named, others, own_events, ends], OWN)
    assert wanted.unnamed == [anything, nameless, captured]
    assert wanted.gone
    assert name_of(wanted.callee(len, None)) == "len"
    assert name_of(wanted.callee(open, None)) == "open"


def test_a_law_sees_what_it_must_not_see() -> None:
    wanted = Watched([rml.compile("f not matches {name: 'open'};\nMain = f*;")], OWN)
    assert name_of(wanted.callee(open, None)) == "open"
    assert wanted.unnamed == []


def test_the_end_of_objects() -> None:
    assert not watched("{event: 'func_pre', name: 'open'}").gone
    assert watched("{event: 'gone'|'new', name: 'list'}").gone


def test_no_laws_and_no_scope() -> None:
    wanted = watched()
    assert plan(wanted, busy) == CodePlan(None, (), Path(__file__).name, True)
    assert plan(wanted, threading.Thread.start) is None
    assert wanted.callee(len, None) is None
    assert wanted.operation("__enter__", io.TextIOWrapper) is None
    assert wanted.field("x", Base) is None
    assert wanted.class_name(Base) == f"{HERE}.Base"


def test_code_that_is_gone_is_forgotten() -> None:
    wanted = watched("len")
    for _ in range(100):
        space: dict[str, Any] = {"__name__": "short"}
        exec("def f(): pass", space)
        plan(wanted, space["f"])
    del space
    gc.collect()
    assert len(wanted._planned) < 10


# -- hostile objects -----------------------------------------------------------------------------


class Trap(BaseException):
    """Code of the program ran."""


def trap(*args: object, **kwargs: object) -> Any:
    raise Trap


class HostileMeta(type):
    __getattribute__ = trap
    __hash__ = trap  # type: ignore[assignment]
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
        __class__ = property(trap)  # type: ignore[assignment]
        __call__ = trap

        def method(self) -> None: ...

        def __enter__(self) -> None: ...

        def __next__(self) -> None: ...

    return Hostile


SCOPES: list[Callable[[], Watched]] = [
    lambda: watched(f"{HERE}.Hostile", f"{HERE}.Hostile.method", f"{HERE}.Hostile.x", f"{HERE}.Hostile.__enter__"),
    lambda: watched("list.append", "other.Hostile", "other.Hostile.method", "{event: 'iter_next', targetId: _}"),
    lambda: watched(scope=Scope(calls=("*", "stdlib"), public=("*",), fields=("*",), project=OWN.project)),
    lambda: watched(),
]


@pytest.mark.parametrize("make", SCOPES)
def test_nothing_of_a_hostile_object_runs(make: Callable[[], Watched], monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = make()
    Hostile = hostile_class()
    monkeypatch.setitem(vars(sys.modules[HERE]), "Hostile", Hostile)
    hostile = object.__new__(Hostile)
    method = type.__getattribute__(Hostile, "__dict__")["method"]
    for _ in range(2):
        wanted.plan(method.__code__, HERE)
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
        assert wanted.class_name(Hostile) == f"{HERE}.Hostile"


# -- what cannot be watched ----------------------------------------------------------------------


def test_bytecode_that_no_compiler_wrote_is_left_alone_and_told_once() -> None:
    wanted = watched("math.floor")

    def works() -> None:
        len("")

    def other() -> None:
        len("")

    broken = works.__code__.replace(co_stacksize=1)
    found = wanted.plan(broken, HERE)
    assert found is not None and found.own
    assert found.probes == ()
    assert found.callee is None
    assert operations(wanted, works) == {Operation.CALL}
    assert len(wanted.warnings) == 1
    assert "works (test_wanted.py) did" in wanted.warnings[0]
    wanted.plan(other.__code__.replace(co_stacksize=1), HERE)
    assert len(wanted.warnings) == 1
    assert "and 1 other function did" in wanted.warnings[0]


def test_such_bytecode_reports_its_own_calls_all_the_same() -> None:
    wanted = watched(f"{HERE}.plain", "math.floor")
    found = wanted.plan(plain.__code__.replace(co_stacksize=0), HERE)
    assert found is not None
    assert name_of(found.callee) == f"{HERE}.plain"
