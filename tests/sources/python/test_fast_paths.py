"""The short way of frequent events tells the same as the long one, which a tracer with a limit always takes."""

from __future__ import annotations

import importlib.util
import io
import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from lawful import core
from lawful.events.event_kinds import to_dict
from lawful.events.writer import TraceWriter
from lawful.sources.python import tracer_choice
from lawful.sources.python.scope import Scope
from lawful.sources.python.tracer_protocol import Want
from lawful.sources.python.watch_planner import SCOPE_DETAIL, LawWatchPlanner
from sources.python.test_learner_feed import Numbers

Fields = list[tuple[str, Any]]  # of an event

PROGRAM = """
import copy
import functools
import math
import re
import weakref


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
    kinds = (None, True, b"", (k,), [k], {k}, {}, object, len)
    for each in (TEXTS[k % 7], NUMBERS[k], NUMBERS[k + 5], FLOATS[k % 7], *kinds):
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


def passed_on(text, again=True):
    one(text)
    text.upper()
    keyed(text, named=text)
    if again:
        passed_on(text, False)


class Weak:
    pass


def is_gone_at_once():
    thing = Weak()
    held = weakref.ref(thing)
    one(thing)
    keyed(thing, named=[thing])
    del thing
    return held() is None


def flush():
    pass


def flushes(*values):
    flushed(values[0], values[1], values[2])


def flushed(number, text, half):
    flush()
    number, text, half = number, None, None
    return number


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
        for each in [type("Kind%d" % n, (Base,), {})(n) for n in range(12)] * 2:
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
        matches = re.compile("w").match
        matches(text)
        for each in (text, [k], {}, Base):
            each.__sizeof__() if each is not Base else each.plain(k)


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
    "yields alone": (Scope(public=("prog",)), Want.YIELD),
    "values": (Scope(calls=("*", "prog")), SCOPE_DETAIL),
    "values at starts": (Scope(calls=("*",)), Want.PRE | Want.ARGS),
    "values at ends": (Scope(calls=("*",)), Want.POST | Want.ARGS | Want.RESULT | Want.NEW),
    "results alone": (Scope(calls=("*",)), Want.PRE | Want.POST | Want.RESULT),
    "ends alone": (Scope(calls=("*",)), Want.POST | Want.RAISE),
    "arguments": (Scope(calls=("*",)), Want.PRE | Want.POST | Want.ARGS | Want.RAISE),
    "values of functions": (Scope(public=("prog",)), SCOPE_DETAIL),
    "both": (Scope(calls=("*",), public=("prog",)), Want.PRE | Want.POST),
}
pytestmark = pytest.mark.skipif(tracer_choice.choose().name != "monitoring", reason="only that core has a short way")


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
    wanted = LawWatchPlanner([], Scope(calls=scope.calls, public=scope.public, project=project), detail=detail)
    events: list[dict[str, Any]] = []
    make: Callable[..., Any] = tracer_choice.choose().make
    tracer = make(wanted, events.extend, **options)
    run(program, words, tracer)
    assert tracer.events == len(events)
    return comparable(events)


def run(program: ModuleType, words: list[tuple[str, int]], tracer: Any) -> None:
    tracer.start()
    try:
        program.run(words)
    finally:
        tracer.stop()
    assert tracer.fault is None


def comparable(events: list[dict[str, Any]]) -> list[Fields]:
    """Without times, which are in order, and with the ids 1, 2, ... in the order in which they are met.

    The order of the fields counts.
    """
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
    assert len(long) > (100 if side == "yields alone" else 300)
    assert watched(program, side, words) == long
    # Buffers that are full now and then, in the middle of it.
    assert watched(program, side, words, flush_at=7) == long


@pytest.mark.parametrize("seed", range(3))
def test_the_learner_is_told_the_same_in_the_short_way(seed: int, program: ModuleType) -> None:
    choose = random.Random(seed)
    words = [(choose.choice(WORDS), choose.randrange(9)) for _ in range(1000)]  # each place more often than is a habit
    scope = Scope(calls=("*", "prog"), project=Path(str(program.__file__)).parent)
    make: Callable[..., Any] = tracer_choice.choose().make

    def learned(reported: Callable[[list[dict[str, Any]]], None], **options: Any) -> None:
        run(program, words, make(LawWatchPlanner([], scope, learn=True), reported, **options))

    long, short = Numbers(), Numbers()
    learned(long.feed, limit=1 << 40)
    learned(lambda events: None, learner=short)
    found = short.result()
    assert found == long.result()
    assert found["events"] > 3000


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
    wanted = LawWatchPlanner([], Scope(public=scope.public, project=Path(str(program.__file__)).parent), detail=detail)
    events: list[dict[str, Any]] = []
    make: Callable[..., Any] = tracer_choice.choose().make
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


# -- what is held, and for how long ------------------------------------------------------------------------------------


def tracer_of_values(program: ModuleType, deliver: Callable[[list[Any]], object], **options: Any) -> Any:
    project = Path(str(program.__file__)).parent
    make: Callable[..., Any] = tracer_choice.choose().make
    return make(
        LawWatchPlanner([], Scope(calls=("*", "prog"), project=project), detail=SCOPE_DETAIL), deliver, **options
    )


@pytest.mark.parametrize("flush_at", [3, 1 << 40])
def test_strings_are_given_back(program: ModuleType, flush_at: int) -> None:
    texts = ["".join(["text ", str(number)]) for number in range(20)]
    before = [sys.getrefcount(text) for text in texts]
    tracer = tracer_of_values(program, lambda events: None, flush_at=flush_at)
    tracer.start()
    try:
        for each in [*texts, *texts, *texts, ""]:
            program.passed_on(each)
            program.ends(each)
    finally:
        tracer.stop()
    assert tracer.events > 1000
    assert [sys.getrefcount(text) for text in texts] == before


def test_strings_of_events_that_nobody_wants_are_given_back(program: ModuleType) -> None:
    text = "".join(["text", " that is new"])
    before = sys.getrefcount(text)
    tracer = tracer_of_values(program, lambda events: None)
    tracer.start()
    try:
        for _ in range(20):
            program.passed_on(text)
        tracer.after_fork(0)
        assert sys.getrefcount(text) == before
    finally:
        tracer.stop()


def test_objects_die_as_they_would(program: ModuleType) -> None:
    tracer = tracer_of_values(program, lambda events: None, flush_at=1 << 40)
    tracer.start()
    try:
        assert all(program.is_gone_at_once() for _ in range(20))
    finally:
        tracer.stop()


def test_numbers_are_those_of_the_moment(program: ModuleType) -> None:
    """Arguments of a call whose end is reported after its beginning was delivered."""
    events: list[dict[str, Any]] = []
    tracer = tracer_of_values(program, events.extend, flush_at=1 << 40)
    program.flush = tracer.flush  # type: ignore[attr-defined]
    tracer.start()
    try:
        for number in range(20):
            program.flushes(number, str(number), number / 2)
    finally:
        tracer.stop()
    ends = [event for event in events if event["event"] == "func_post" and event["name"] == "prog.flushed"]
    expected = [([number, str(number), number / 2], [number]) for number in range(20)]
    assert [(event["args"], [event["res"]]) for event in ends] == expected


# -- as text -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("side", ["calls", "values", "values at ends", "values of functions"])
def test_lines_say_what_events_say(side: str, program: ModuleType) -> None:
    choose = random.Random(side)
    words = [(choose.choice(WORDS), choose.randrange(9)) for _ in range(150)]
    scope, detail = SIDES[side]
    project = Path(str(program.__file__)).parent
    wanted = LawWatchPlanner([], Scope(calls=scope.calls, public=scope.public, project=project), detail=detail)
    briefs: list[Any] = []
    make: Callable[..., Any] = tracer_choice.choose().make
    tracer = make(wanted, briefs.extend, gone=True)
    tracer.lazy_events = True
    tracer.start()
    try:
        program.run(words)
        tracer.emit({"event": "mine", "name": "\udc80"})
    finally:
        tracer.stop()
    writer = TraceWriter(io.BytesIO())
    assert core.native is not None
    lines = core.native.json_lines(briefs, writer.lines).splitlines()
    events = [to_dict(each) for each in briefs]
    expected = writer.lines(events).splitlines()  # type: ignore[arg-type]
    assert len(lines) == len(events) > 1000
    assert [list(json.loads(line).items()) for line in lines] == [list(json.loads(line).items()) for line in expected]


def test_times_are_read_back_as_they_were(program: ModuleType) -> None:
    briefs: list[Any] = []
    tracer = tracer_of_values(program, briefs.extend, began=time.monotonic() / 7)
    tracer.lazy_events = True
    tracer.start()
    program.run([("values", 1)] * 3)
    tracer.stop()
    assert core.native is not None
    lines = core.native.json_lines(briefs, TraceWriter(io.BytesIO()).lines).splitlines()
    times = [to_dict(each)["time"] for each in briefs]
    assert times[0] > 0 and times == sorted(times)
    assert [json.loads(line)["time"] for line in lines] == times
