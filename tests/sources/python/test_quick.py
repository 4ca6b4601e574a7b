"""The short way of frequent events tells the same as the long one, which a tracer with a limit always takes."""

from __future__ import annotations

import importlib.util
import random
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from lawful.sources.python import cores
from lawful.sources.python.model import Want
from lawful.sources.python.scope import Scope
from lawful.sources.python.wanted import SCOPE_DETAIL, Watched

Fields = list[tuple[str, Any]]  # of an event

PROGRAM = """
import copy
import functools
import math
import re


class Base:
    def __init__(self, n):
        self.n = n

    def m(self, x):
        return x + self.n

    def again(self, x):
        self = None
        return x

    @classmethod
    def made(cls, n):
        return cls(n)

    @staticmethod
    def plain(n):
        return n

    def shared(self):
        def inner():
            return self
        return inner()

    def __call__(self):
        return 1

    def some(self, k):
        try:
            for n in range(k):
                yield n
                if n == 1:
                    self = None
        except KeyError:
            yield from countdown(2)

    def held(self, k):
        yield lambda: self
        yield Base(k)


class Left(Base):
    __slots__ = ("extra",)

    def m(self, x):
        return super().m(x) * 2


class Right(Base):
    def m(self, x):
        if x > 5:
            raise ValueError(x)
        return x


class MetaMeta(type):
    pass


class Meta(type, metaclass=MetaMeta):
    def who(cls, k):
        return k

    @classmethod
    def of(mcs, k):
        return k


class Made(metaclass=Meta):
    @classmethod
    def kind(cls, k):
        return cls.who(k)


MetaMeta.whose = Meta.who


def noted(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)
    return wrapper


@noted
def one(x):
    return x


@noted
def two(x):
    return [x]


def fresh(k):
    def made():
        return k
    return made


def countdown(n):
    while n:
        yield n
        n -= 1


def deep(n):
    return 0 if n == 0 else 1 + deep(n - 1)


def no_arguments():
    return None


def keyed(first, *rest, named=None, **more):
    return named


TEXTS = ["", "a", "\\u00e9\\U0001f600", "x" * 999, "y" * 10001, "\\udc80", "'\\"\\\\\\n\\0"]
NUMBERS = [0, -1, 7, 2**29, -(2**30), 2**59, 2**60, -(2**60), -(2**60) - 1, 2**62, 2**63 - 1, -(2**63), 2**63, 2**9000]
FLOATS = [0.5, -0.0, 1e308, 5e-324, float("inf"), float("nan"), 0.1]


def values(k):
    for each in (TEXTS[k % 7], NUMBERS[k], NUMBERS[k + 5], FLOATS[k % 7], None, True, b"", (k,), [k], {k}, {}, object, len):
        one(each)
        same = two(each)[0]
        str.format("{}", each)
        isinstance(each, str)
        keyed(each, named=each, k=k, other="o")
        keyed(each, each, each, each, named=same)
        keyed(1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5)
        keyed(1.5, 2.5, 3.5, 4.5, 5.5, named=6.5)
        keyed(*[each], **{"named": each})
        keyed(*[each, k], **{})
        keyed(*(each for _ in range(2)))
        one(*(each,))
        type(*[each])
        (1).__class__.__repr__(k)
    matching = re.compile("a").match
    matching("abc", k % 2)
    str.upper("text")
    str.upper(*["text"])
    int.__add__(*[k, 1])
    Base.m(*[Base(2), k])
    Base.m(Base(2), x=k)
    Base(2).m(*[k])
    print(*[], **{"end": ""})
    list((k, "a"))
    dict(a=k, b="b", c=[k])
    type(k)
    type("Named", (), {})
    int("12", base=8)
    "text".join(["a", "b"])
    (1.5).is_integer()
    "a".upper().lower().center(20, "*")
    [].append([])
    float("1.5")
    Base(Base(Base(k)))
    Base(n=k).m(x=k)


class Mortal:
    def __init__(self, name):
        self.name = name

    def last(self, owners):
        owners.clear()
        return self.name


def deaths(k):
    # Receivers that die in their calls, with their arguments, or at once.
    owners = [Mortal("m%d" % k)]
    owners[0].last(owners)
    Mortal("alone")
    Mortal(Mortal(str(k)))
    [Mortal("in a list")].pop()
    ends("a" * k)


def ends(text):
    try:
        int(text or "x")
    except ValueError:
        len(text)
    try:
        keyed()
    except TypeError:
        pass
    try:
        "a".index(text * 2, 3)
    except ValueError:
        raising(text)


def raising(text):
    try:
        one(raised(text))
    except KeyError as error:
        str(error)


def raised(text):
    raise KeyError(text)


def step(word, k, objects):
    if word == "values":
        values(k)
    elif word == "deaths":
        deaths(k)
    elif word == "new":
        objects.append((Left, Right, Base)[k % 3](k))
        if len(objects) > 4:
            objects.pop(k % 4)
    elif word == "method":
        for each in objects:
            try:
                each.m(k)
            except ValueError:
                pass
    elif word == "bound":
        for each in objects:
            held = each.again
            held(k)
            each()
    elif word == "class":
        Left.made(k).plain(k)
        Base.m(Base(1), k)
    elif word == "cell":
        for each in objects:
            each.shared()
    elif word == "metaclass":
        for each in (Meta.whose, Made.who, Meta.of, Made.kind, Made.who, Meta.whose):
            each(k)
    elif word == "kinds":
        for each in [type("Kind%d" % n, (Base,), {})(n) for n in range(6)] * 2:
            each.m(k)
            each.again(k)
    elif word == "generators":
        running = [each.some(k) for each in objects] + [Base(k).held(k), countdown(k)]
        for each in running * 2:
            next(each, None)
        if k % 3 == 0:
            try:
                running[0].throw(KeyError(k))
            except (KeyError, StopIteration):
                pass
        elif k % 3 == 1:
            running[0].close()
        for each in reversed(running):
            list(each)
    elif word == "callbacks":
        sorted(objects, key=Base.__call__)
        functools.reduce(lambda x, each: each.again(x), objects, k)
        copy.copy(Base(k)).again(k)
        functools.partial(Base, k)().m(1)
    elif word == "renamed":
        unnamed = type(one)(one.__code__, globals(), "wrapper", None, one.__closure__)
        for each in (unnamed, unnamed, one, two, unnamed):
            each(k)
    elif word == "code":
        for n in range(3):
            text = "\\n" * ((n + k) % 5) + "for _ in range(4): each.again(1)"
            exec(compile(text, __file__, "exec"), {"each": Base(k), "__name__": "prog"})
    elif word == "functions":
        one(k)
        two("text")
        two(1.5)
        fresh(k)()
        no_arguments()
        deep(k % 4)
        list(countdown(2))
    else:
        text = "word" * k
        text.upper().startswith("W")
        [k].append(k)
        {}.get(k)
        len(text)
        math.floor(1.5)
        str(k)
        b"x".hex()
        (1).bit_length()
        max(1, k)
        adds = [].append
        adds(k)


def run(words):
    objects = []
    for word, k in words:
        step(word, k, objects)
"""
WORDS = (
    *("new", "method", "bound", "class", "cell", "metaclass", "kinds", "renamed", "code", "functions", "builtins"),
    *("generators", "callbacks", "values", "deaths"),
)
SIDES = {
    "calls": (Scope(calls=("*", "prog")), Want.PRE),
    "public": (Scope(public=("prog",)), Want.PRE | Want.POST),
    "starts": (Scope(public=("prog",)), Want.PRE),
    "ends": (Scope(public=("prog",)), Want.POST | Want.RAISE),
    "results": (Scope(public=("prog",)), Want.PRE | Want.POST | Want.RESULT),
    "yields": (Scope(public=("prog",)), Want.PRE | Want.POST | Want.YIELD),
    "values": (Scope(calls=("*", "prog")), SCOPE_DETAIL),
    "values at starts": (Scope(calls=("*",)), Want.PRE | Want.ARGS),
    "values at ends": (Scope(calls=("*",)), Want.POST | Want.ARGS | Want.RESULT | Want.NEW),
    "results alone": (Scope(calls=("*",)), Want.PRE | Want.POST | Want.RESULT),
    "ends alone": (Scope(calls=("*",)), Want.POST | Want.RAISE),
    "arguments": (Scope(calls=("*",)), Want.PRE | Want.POST | Want.ARGS | Want.RAISE),
    "values of functions": (Scope(public=("prog",)), SCOPE_DETAIL),
    "both": (Scope(calls=("*",), public=("prog",)), Want.PRE | Want.POST),
}
pytestmark = pytest.mark.skipif(cores.choose().name != "monitoring", reason="only that core has a short way")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    path = tmp_path_factory.mktemp("quick") / "prog.py"
    path.write_text(PROGRAM, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("prog", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def watched(program: ModuleType, side: str, words: list[tuple[str, int]], **options: Any) -> list[Fields]:
    scope, detail = SIDES[side]
    project = Path(str(program.__file__)).parent
    wanted = Watched([], Scope(calls=scope.calls, public=scope.public, project=project), detail=detail)
    events: list[dict[str, Any]] = []
    make: Callable[..., Any] = cores.choose().make
    tracer = make(wanted, events.extend, **options)
    tracer.start()
    try:
        program.run(words)
    finally:
        tracer.stop()
    assert tracer.fault is None
    assert tracer.events == len(events)
    return comparable(events)


def comparable(events: list[dict[str, Any]]) -> list[Fields]:
    """Without times, which are in order, and with the ids 1, 2, ... in the order in which they are met. The order of the
    fields counts."""
    ids: dict[int, int] = {}
    times = [event.pop("time") for event in events]
    assert times == sorted(times)
    for event in events:
        for key in ("targetId", "resultId", "excId"):
            if event.get(key) is not None:
                event[key] = ids.setdefault(event[key], len(ids) + 1)
        if "argIds" in event:  # a new one: two events may have the same list
            event["argIds"] = [each and ids.setdefault(each, len(ids) + 1) for each in event["argIds"]]
        if "kwargIds" in event:
            named = event["kwargIds"].items()
            event["kwargIds"] = {name: each and ids.setdefault(each, len(ids) + 1) for name, each in named}
    return [list(event.items()) for event in events]


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("seed", range(3))
def test_the_short_way_tells_what_the_long_one_tells(side: str, seed: int, program: ModuleType) -> None:
    choose = random.Random(seed)
    words = [(choose.choice(WORDS), choose.randrange(9)) for _ in range(300)]
    long = watched(program, side, words, limit=1 << 40)
    assert len(long) > 300
    assert watched(program, side, words) == long
    # Buffers that are full now and then, in the middle of it.
    assert watched(program, side, words, flush_at=7) == long


@pytest.mark.parametrize("side", ["calls", "public"])
def test_what_does_not_fit_into_one_piece_of_memory(side: str, program: ModuleType) -> None:
    """Calls begin in one piece and end in another."""
    choose = random.Random(side)
    words = [(choose.choice(WORDS), choose.randrange(9)) for _ in range(3000)]
    long = watched(program, side, words, limit=1 << 40, flush_at=1 << 40)
    assert len(long) > 20000
    assert watched(program, side, words, flush_at=1 << 40) == long


@pytest.mark.parametrize(("process", "options"), [(7, {}), (8, {"limit": 1 << 40})], ids=["short", "long"])
def test_ids_of_two_processes(process: int, options: dict[str, Any], program: ModuleType) -> None:
    """After a fork there are objects with ids of both."""
    scope, detail = SIDES["public"]
    wanted = Watched([], Scope(public=scope.public, project=Path(str(program.__file__)).parent), detail=detail)
    events: list[dict[str, Any]] = []
    make: Callable[..., Any] = cores.choose().make
    tracer = make(wanted, events.extend, **options)
    tracer.start()
    try:
        old = program.Base(1)
        for _ in range(3):
            old.again(1)
        tracer.flush()
        tracer.after_fork(process)
        before, new = len(events), program.Base(2)
        expected = []
        for _ in range(3):
            for each in (old, new):
                each.again(1)
                expected += [("func_pre", tracer.identify(each)), ("func_post", tracer.identify(each))]
    finally:
        tracer.stop()
    seen = [(event["event"], event["targetId"]) for event in events[before:] if event["name"].endswith("again")]
    assert seen == expected
    highs = {number >> 32 for _, number in expected}
    assert len(highs) == 2 and process in highs
    assert {event["process"] for event in events[before:]} == {process}
