"""Where lives begin, whatever makes the object, and how they end."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from lawful.laws import rml
from lawful.sources.python.tracer_protocol import Event, Sampling
from sources.python.sampling.programs import (
    COUNTER,
    COUNTER_SAMPLING,
    Load,
    Make,
    heads,
    kinds,
    law,
)


def test_objects_that_come_out_of_calls(make: Make, load: Load) -> None:
    module = load("""
import collections
kept = []
def work(n):
    for i in range(n):
        queue = collections.deque()
        queue.append(i)
        queue.popleft()
        del queue
""")
    events: list[Event] = []
    rule = law(("new", "collections.deque"), ("func_pre", "collections.deque.append"))
    tracer = make(events, [rule], Sampling({"collections.deque": 1}))
    tracer.seed(5)
    tracer.sample(1, 0.25)
    tracer.start()
    module.work(400)
    tracer.stop()
    assert tracer.fault is None
    taken = sum(heads(5, 1, 0.25, 400))
    assert kinds(events) == ["born", "new", "func_pre", "gone"] * taken
    assert len({event["targetId"] for event in events}) == taken


MIXED = """
class Base:
    def __init__(self, tag):
        self.rc = tag
class Bare(Base): pass
class Mapping(Base, dict): pass
class Row(Base, list): pass
class Error(Base, Exception): pass
class Number(Base, int):
    def __new__(cls, tag): return int.__new__(cls, 3)
class Own(dict):
    def __init__(self, tag):
        self.rc = tag
def work(kind, n):
    for i in range(n):
        made = kind(i)
        made.rc = -1
        del made
"""


@pytest.mark.parametrize("name", ["Bare", "Mapping", "Row", "Error", "Number", "Own"])
@pytest.mark.parametrize("rate", [1.0, 0.25])
def test_lives_begin_in_init_whatever_makes_the_object(make: Make, load: Load, name: str, rate: float) -> None:
    module = load(MIXED)
    events: list[Event] = []
    holder = "prog.Own" if name == "Own" else "prog.Base"
    tracer = make(events, [law(("new", holder), ("field_write", f"{holder}.rc"))], Sampling({holder: 1}))
    tracer.seed(5)
    tracer.sample(1, rate)
    tracer.start()
    module.work(getattr(module, name), 400)
    tracer.stop()
    assert tracer.fault is None
    taken = sum(heads(5, 1, rate, 400))
    assert [kind for kind in kinds(events) if kind != "gone"] == ["born", "field_write", "new", "field_write"] * taken
    assert tracer.samples(1)[:2] == (400, taken)


def test_functions_whose_result_is_the_object(make: Make, load: Load, tmp_path: Path) -> None:
    module = load("""
def work(path, n):
    for i in range(n):
        with open(path, "w") as file:
            file.write("x")
        del file
""")
    opened = rml.compile("""
opened(x) matches {event: 'func_post', name: 'open', resultId: x};
write(x) matches {event: 'func_pre', name: 'io.TextIOWrapper.write', targetId: x};
Main = (opened(_) \\/ write(_))*;
""")
    events: list[Event] = []
    tracer = make(events, [opened], Sampling({"io.TextIOWrapper": 3}, makers={"open": 3}))
    tracer.sample(3, 0.5)
    tracer.start()
    module.work(str(tmp_path / "file"), 40)
    tracer.stop()
    assert tracer.fault is None
    assert kinds(events) == ["born", "func_post", "func_pre", "gone"] * sum(heads(0, 3, 0.5, 40))
    for born, post in zip(events[::4], events[1::4], strict=True):
        assert post["resultId"] == born["targetId"]


def test_an_init_that_raises(make: Make, load: Load) -> None:
    module = load("""
class Part:
    def __init__(self):
        self.size = 1
        raise ValueError
def work():
    try:
        Part()
    except ValueError:
        pass
""")
    events: list[Event] = []
    tracer = make(events, [law(("new", "prog.Part"), ("field_write", "prog.Part.size"))], Sampling({"prog.Part": 1}))
    tracer.start()
    module.work()
    gc.collect()
    tracer.stop()
    assert kinds(events) == ["born", "field_write", "gone"]


def test_who_made_it(make: Make, load: Load) -> None:
    module = load("""
import functools
class Part:
    def __init__(self):
        self.size = 1
class Maker:
    def make(self):
        return Part()  # line 8
def deep(n):
    return deep(n - 1) if n else functools.reduce(lambda one, other: Maker().make(), [1, 2])  # line 10
""")
    events: list[Event] = []
    rule = law(("field_write", "prog.Part.size"))
    tracer = make(events, [rule], Sampling({"prog.Part": 1}, stacks=True))
    tracer.start()
    module.deep(20)
    tracer.stop()
    stack = events[0]["stack"]
    assert stack[:4] == [
        "prog.py:8 Maker.make",
        "prog.py:10 deep.<locals>.<lambda>",
        "prog.py:10 deep",
        "prog.py:10 deep",
    ]
    assert len(stack) == 8
    assert list(events[0]) == [
        "event",
        "name",
        "class",
        "targetId",
        "sampled",
        "stack",
        "file",
        "line",
        "thread",
        "time",
    ]
    assert {**events[0], "stack": 0, "thread": 1, "time": 0} == {
        "event": "born", "name": "prog.Part", "class": "prog.Part", "targetId": events[0]["targetId"], "sampled": 1,
        "stack": 0, "file": "prog.py", "line": 8, "thread": 1, "time": 0,
    }  # fmt: skip


def test_an_id_does_not_make_a_sample(make: Make, load: Load) -> None:
    module = load(
        COUNTER
        + """
def show(counter): pass
def work(n):
    for _ in range(n):
        counter = Counter()
        show(counter)
        counter.up()
        del counter
"""
    )
    shown = rml.compile("""
shown(x) matches {event: 'func_pre', name: 'prog.show', argIds: [x]};
up(x) matches {event: 'func_pre', name: 'prog.Counter.up', targetId: x};
Main = (shown(_) \\/ up(_))*;
""")
    events: list[Event] = []
    tracer = make(events, [shown], COUNTER_SAMPLING)
    tracer.seed(9)
    tracer.sample(1, 0.5)
    tracer.start()
    module.work(50)
    tracer.stop()
    flips = heads(9, 1, 0.5, 50)
    expected = [["born", "func_pre", "func_pre", "gone"] if head else ["func_pre"] for head in flips]
    assert kinds(events) == [kind for some in expected for kind in some]
    assert len({event["argIds"][0] for event in events if event["name"] == "prog.show"}) == 50


def test_an_end_in_python_is_still_run_once(make: Make, load: Load) -> None:
    module = load("""
ended = []
class Base:
    def __init__(self): self.rc = 0
    def __del__(self): ended.append(type(self).__name__)
def more():
    class Sub(Base): pass
    return Sub
""")
    events: list[Event] = []
    tracer = make(events, [law(("field_write", "prog.Base.rc"))], Sampling({"prog.Base": 1}))
    tracer.start()
    first = module.Base()
    kind = module.more()  # made while its base class tells us of ends
    del first
    tracer.sample(1, 0.0)
    kind()
    module.Base()
    tracer.sample(1, 1.0)
    kind()
    module.Base()
    tracer.stop()
    kind()
    assert module.ended == ["Base", "Sub", "Base", "Sub", "Base", "Sub"]
    assert kinds(events) == ["born", "field_write", "gone"] * 3
