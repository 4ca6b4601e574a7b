"""Ids of objects are their own for ever, tracers report deaths, and objects die when they would without a watch."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from lawful.sources.python.pytracer import PythonTracer
from lawful.sources.python.tracer_protocol import Event, Tracer
from sources.python.by_name import BRIEF, CALL, NEW
from sources.python.test_tracer_behaviour import COUNT, names

Make = Callable[..., Tracer]
Run = Callable[[str], ModuleType]


@pytest.mark.parametrize("slots", [False, True])
def test_ids_of_short_lived_objects_are_never_used_twice(make: Make, prog: Run, slots: bool) -> None:
    seen: set[int] = set()
    gone: set[int] = set()

    def deliver(events: list[Event]) -> None:
        for event in events:
            if event["event"] == "gone":
                assert event["targetId"] not in gone
                gone.add(event["targetId"])
            else:
                assert event["targetId"] not in seen
                seen.add(event["targetId"])

    n = 100_000
    tracer = make(deliver, calls={"list.append": BRIEF}, own={"prog.Point.move": BRIEF}, gone=True)
    tracer.start()
    module = prog("""
class Point:
    __slots__ = ("x",)
    def move(self, x):
        self.x = x
def lists(n):
    for i in range(n):
        [].append(i)
def points(n):
    for i in range(n):
        Point().move(i)
""")
    (module.points if slots else module.lists)(n)
    tracer.stop()
    assert tracer.fault is None
    assert len(seen) == n
    assert gone == seen


def test_gone(make: Make, prog: Run) -> None:
    events: list[Event] = []
    tracer = make(events.extend, calls={"prog.Thing": NEW}, own={"prog.Thing.f": BRIEF}, gone=True)
    tracer.start()
    module = prog(
        "class Thing:\n    def f(self): pass\ndef main():\n    t = Thing()\n    t.f()\n    del t\n    Thing()\n"
    )
    module.main()
    tracer.stop()
    kinds = names([event for event in events if event["name"] == "prog.Thing" or event["event"] == "gone"])
    made = ["func_pre prog.Thing", "new prog.Thing", "func_post prog.Thing"]
    assert kinds == [*made, "gone prog.Thing", *made, "gone prog.Thing"]
    deaths = [event for event in events if event["event"] == "gone"]
    births = [event for event in events if event["event"] == "new"]
    assert [event["targetId"] for event in deaths] == [event["targetId"] for event in births]
    assert all(list(event) == ["event", "name", "targetId", "thread", "time"] for event in deaths)


def test_no_gone_unless_asked(make: Make, prog: Run) -> None:
    events: list[Event] = []
    tracer = make(events.extend, own={"prog.Thing.f": BRIEF})
    tracer.start()
    prog(COUNT).work(2)
    tracer.stop()
    assert names(events) == ["func_pre prog.Thing.f"] * 2


def test_objects_die_when_they_would(make: Make, prog: Run) -> None:
    """Nobody's finaliser is put off where weak references work, and exceptions hold no frames."""
    order: list[Any] = []
    tracer = make(lambda events: None, calls={"list.append": CALL, "int": CALL}, own={"prog.Thing.f": CALL})
    tracer.start()
    module = prog("""
class Thing:
    def f(self, order):
        int("x")
    def __del__(self):
        self.order.append("dead")
def inner(order):
    thing = Thing()
    thing.order = order
    thing.f(order)
def main(order):
    try:
        inner(order)
    except ValueError:
        pass
    order.append("after")
""")
    module.main(order)
    tracer.stop()
    assert order == ["dead", "after"]


def test_finalisers_run_though_their_class_is_garbage_too(make: Make, prog: Run) -> None:
    order: list[Any] = []
    tracer = make(lambda events: None, calls={"id": CALL})
    tracer.start()
    module = prog("""
def main(order):
    class Base:
        def __init__(self):
            self.me = self
            id(self)
        def __del__(self):
            order.append(type(self).__name__)
    class Derived(Base):
        pass
    Base()
    Derived()
    class Unknown(Base):
        def __init__(self):
            self.me = self
    Unknown()
    class Quiet:
        pass
    quiet = Quiet()
    quiet.me = quiet
    id(quiet)
""")
    module.main(order)
    gc.collect()
    tracer.stop()
    assert tracer.fault is None
    assert sorted(order) == ["Base", "Derived", "Unknown"]


def test_a_class_that_outlives_its_end_keeps_its_finaliser(make: Make, prog: Run) -> None:
    order: list[Any] = []
    tracer = make(lambda events: None, calls={"id": CALL})
    tracer.start()
    module = prog("""
def main(order):
    class Thing:
        def __init__(self):
            id(self)
        def __del__(self):
            order.append(type(self))
    thing = Thing()
    thing.me = thing
""")
    module.main(order)
    gc.collect()
    (thing,) = order
    prog("def main(thing):\n    id(thing())\n").main(thing)
    tracer.stop()
    assert tracer.fault is None
    gc.collect()
    assert order == [thing, thing]


CHAINS = {
    "wrappers": "print\n    for _ in range(n):\n        link = link.__call__",
    "exceptions": "None\n    for _ in range(n):\n        last, link = link, KeyError()\n        link.__cause__ = last\n"
    "        id(BaseException())",
    "filters": "filter(None, ())\n    for _ in range(n):\n        link = filter(None, link)",
    "tracebacks": "None\n    for _ in range(n):\n        link = TracebackType(link, frame, 1, 1)",
    "frames": "None\n    for _ in range(n):\n        link = own_frame(link)",
    "lists": "None\n    for _ in range(n):\n        link = [link]",
}


@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS)
def test_long_chains_of_objects_die_without_deep_recursion(make: Make, prog: Run, chain: str) -> None:
    tracer = make(lambda events: None, calls={"id": CALL})
    tracer.start()
    module = prog(f"""
import sys
from types import TracebackType
def own_frame(last):
    return sys._getframe()
def main(n):
    frame = sys._getframe()
    link = {chain}
        id(link)
""")
    module.main(2_000 if isinstance(tracer, PythonTracer) else 100_000)
    tracer.stop()
    assert tracer.fault is None


def test_the_garbage_collector_counts_what_it_does_without(make: Make, prog: Run) -> None:
    tracer = make(lambda events: None, calls={"id": CALL})
    tracer.start()
    module = prog("""
import gc
import sys
def main():
    gc.collect()
    things = [set(), {frozenset([i]) for i in range(3)}]
    for thing in things:
        loop = [thing, lambda: loop]
        loop.append(loop)
        id(thing)
    thing = things = loop = None
    return gc.collect()
""")
    watched = module.main()
    tracer.stop()
    assert watched == module.main()


def test_parameters_of_a_specification_die(make: Make, prog: Run) -> None:
    """Weak references to these get no callback, and point into freed memory from then on."""
    events: list[Event] = []
    tracer = make(events.extend, calls={"id": CALL})
    tracer.start()
    module = prog("""
from typing import ParamSpec
def main():
    for _ in range(100):
        id(ParamSpec("P").args)
        id(ParamSpec("P").kwargs)
""")
    module.main()
    tracer.stop()
    assert tracer.fault is None
    ids = [event["argIds"][0] for event in events if event["event"] == "func_pre"]
    assert len(set(ids)) == 200


def test_what_is_first_met_while_it_dies(make: Make, prog: Run) -> None:
    """A generator's weak references are called back before its last code runs; one that is made there never is."""
    events: list[Event] = []
    tracer = make(events.extend, calls={"id": CALL})
    tracer.start()
    module = prog("""
import gc, sys, warnings, weakref

async def ticks():
    try:
        yield 1
    finally:
        reported.append("closed")

async def nothing():
    pass

def begin(agen):
    try:
        agen.__anext__().send(None)
    except StopIteration:
        pass

def dying(agen):
    id(agen)
    reported.append([reference() is None for reference in references])
    if len(reported) % 3 == 0:
        kept.append(agen)

def unawaited(message):
    id(message.source)
    reported.append(type(message.source).__name__)

def closes():
    me = []
    try:
        yield me
    finally:
        for each in gc.get_referrers(me):
            if type(each).__name__ == "generator":
                id(each)
        reported.append([reference() is None for reference in references])

def main():
    global reported, kept, references
    reported, kept = [], []
    before, shown = sys.get_asyncgen_hooks(), warnings._showwarnmsg
    sys.set_asyncgen_hooks(finalizer=dying)
    warnings._showwarnmsg = unawaited
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            for _ in range(50):
                agen = ticks()
                references = [weakref.ref(agen)]
                begin(agen)
                del agen
                nothing()
                generator = closes()
                references = [weakref.ref(generator)]
                next(generator)
                del generator
    finally:
        sys.set_asyncgen_hooks(*before)
        warnings._showwarnmsg = shown
    references = [weakref.ref(agen) for agen in kept]
    kept.clear()
    return reported, [reference() is None for reference in references]
""")
    watched = module.main()
    tracer.stop()
    assert tracer.fault is None
    ids = [event["argIds"][0] for event in events if event["event"] == "func_pre"]
    assert len(ids) >= 100
    assert len(set(ids)) == len(ids)
    assert watched == module.main()


def test_identify(make: Make, prog: Run) -> None:
    events: list[Event] = []
    tracer = make(events.extend, own={"prog.Thing.f": BRIEF})
    tracer.start()
    module = prog(COUNT)
    thing = module.Thing()
    number = tracer.identify(thing)
    assert tracer.identify(thing) == number
    assert tracer.identify([]) != number
    thing.f(1)
    tracer.stop()
    assert [event["targetId"] for event in events] == [number]


def test_objects_are_not_asked(make: Make, prog: Run) -> None:
    """No method of a watched object runs because it is watched."""
    events: list[Event] = []
    tracer = make(events.extend, calls={"list.append": CALL, "len": CALL}, own={"prog.take": CALL}, gone=True)
    module = prog("""
asked = []
class Meta(type):
    def __hash__(cls): asked.append("meta hash"); return 1
    def __eq__(cls, other): asked.append("meta eq"); return True
    def __getattribute__(cls, name): asked.append(name); return type.__getattribute__(cls, name)
class Shy(metaclass=Meta):
    def __hash__(self): asked.append("hash"); return 1
    def __eq__(self, other): asked.append("eq"); return True
    def __repr__(self): asked.append("repr"); return ""
    def __bool__(self): asked.append("bool"); return True
    def __len__(self): asked.append("len"); return 0
    def __getattribute__(self, name): asked.append(name); return object.__getattribute__(self, name)
def take(x, *rest, **more):
    return x
def main():
    x, y = Shy(), Shy()
    asked.clear()
    take(x, y, z=x)
    [].append(x)
    return x
""")
    tracer.start()
    module.main()
    tracer.stop()
    assert tracer.fault is None
    assert len([e for e in events if e["event"] != "gone"]) == 4
    assert module.asked == []


@pytest.mark.parametrize("slots", ["", "__slots__ = ()"])
def test_objects_that_are_first_met_at_their_end_have_ids_of_their_own(make: Make, prog: Run, slots: str) -> None:
    events: list[Event] = []
    tracer = make(events.extend, own={"prog.Thing.close": BRIEF})
    tracer.start()
    module = prog(f"""
class Thing:
    {slots}
    def close(self):
        pass
    def __del__(self):
        self.close()
def work(n):
    for _ in range(n):
        Thing()
""")
    module.work(20)
    tracer.stop()
    assert tracer.fault is None
    assert len({event["targetId"] for event in events}) == len(events) == 20


def test_an_object_that_uses_itself_at_its_end_keeps_its_id(make: Make, prog: Run) -> None:
    events: list[Event] = []
    tracer = make(events.extend, own={"prog.Thing.flush": BRIEF, "prog.Thing.close": BRIEF}, gone=True)
    tracer.start()
    module = prog("""
class Thing:
    def flush(self):
        pass
    def close(self):
        pass
    def __del__(self):
        self.flush()
        self.close()
def work(n):
    for _ in range(n):
        Thing()
""")
    module.work(5)
    tracer.stop()
    assert tracer.fault is None
    assert names(events) == ["func_pre prog.Thing.flush", "func_pre prog.Thing.close", "gone prog.Thing"] * 5
    ids = [event["targetId"] for event in events]
    assert ids[0::3] == ids[1::3] == ids[2::3]


def test_generators_may_be_met_in_their_finalisers(make: Make, prog: Run) -> None:
    """Their weak references are cleared before: one that is made there would outlive them."""
    events: list[Event] = []
    tracer = make(events.extend, calls={"list.append": CALL, "repr": CALL})
    before = sys.unraisablehook
    tracer.start()
    module = prog("""
import sys
def look(unraisable):
    seen.append(repr(unraisable.object)[:26])
seen = []
def rows():
    try:
        yield 1
    finally:
        raise ValueError("no end")
def work(n):
    sys.unraisablehook = look
    for _ in range(n):
        coming = rows()
        next(coming)
        del coming
""")
    try:
        module.work(100)
    finally:
        sys.unraisablehook = before
    tracer.stop()
    gc.collect()
    assert tracer.fault is None
    assert module.seen == ["<generator object rows at "] * 100
    met = [event["argIds"][0] for event in events if event["name"] == "repr" and event["event"] == "func_pre"]
    assert len(set(met)) == 100


def test_a_generator_that_lives_on_after_its_finaliser(make: Make, prog: Run) -> None:
    events: list[Event] = []
    tracer = make(events.extend, calls={"len": CALL, "repr": CALL}, gone=True)
    hooks = sys.get_asyncgen_hooks()
    tracer.start()
    module = prog("""
import sys
async def rows():
    yield 1
def work(n):
    kept = []
    sys.set_asyncgen_hooks(finalizer=kept.append)
    for _ in range(n):
        coming = rows()
        try:
            coming.__anext__().send(None)
        except StopIteration:
            pass
        repr(coming)
        del coming
        repr(kept[-1])
        repr(kept[-1])
    return len(kept)
""")
    try:
        assert module.work(20) == 20
    finally:
        sys.set_asyncgen_hooks(*hooks)
    tracer.stop()
    assert tracer.fault is None
    met = [event["argIds"][0] for event in events if event["name"] == "repr" and event["event"] == "func_pre"]
    assert met[1::3] == met[2::3]
    assert len(set(met)) == 40
