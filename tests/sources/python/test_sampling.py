"""Samples: which objects are told of, that nothing is missed of them, and that the rest is left alone."""

from __future__ import annotations

import gc
import json
import os
import random
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import pytest

from lawful.laws import rml
from lawful.laws.protocol import Law
from lawful.sources.python import cores
from lawful.sources.python.model import Event, Sampling, Want
from lawful.sources.python.sampling import Coin
from lawful.sources.python.scope import Scope
from lawful.sources.python.wanted import Watched

Load = Callable[[str], ModuleType]
Make = Callable[..., Any]


@pytest.fixture
def load(tmp_path: Path) -> Iterator[Load]:
    """Runs a text as the module `prog`, which is own code."""

    def run(source: str) -> ModuleType:
        path = tmp_path / "prog.py"
        path.write_text(source, encoding="utf-8")
        module = ModuleType("prog")
        sys.modules["prog"] = module
        exec(compile(source, str(path), "exec"), module.__dict__)
        return module

    yield run
    sys.modules.pop("prog", None)


@pytest.fixture(params=cores.available())
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """Makes tracers of one core. They are stopped in the end."""
    made: list[Any] = []

    def create(events: list[Event], laws: list[Law], sampling: Sampling | None, **options: Any) -> Any:
        on_seen = options.pop("on_seen", None)
        wanted = Watched(laws, Scope(project=tmp_path), sampling=sampling, on_seen=on_seen)
        options.setdefault("flush_at", 1000)
        tracer = cores.choose(request.param).make(wanted, events.extend, **options)
        made.append(tracer)
        return tracer

    yield create
    for tracer in made:
        tracer.stop()


def law(*matches: tuple[str, str]) -> Law:
    """About events of these kinds and names."""
    declared = "".join(
        f"e{i}(x) matches {{event: '{kind}', name: '{name}', targetId: x}};\n" for i, (kind, name) in enumerate(matches)
    )
    either = " \\/ ".join(f"e{i}(_)" for i in range(len(matches)))
    return rml.compile(f"{declared}Main = ({either})*;")


GOLDEN = 0x9E3779B97F4A7C15


def mix(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % 2**64
    return z ^ (z >> 31)


def heads(seed: int, group: int, rate: float, count: int) -> list[bool]:
    """Flips of splitmix64, written once more."""
    start = mix((seed + group * GOLDEN) % 2**64)
    return [
        (mix((start + (i + 1) * GOLDEN) % 2**64) >> 11) / 2**53 < rate for i in range(count)
    ]  # fmt: skip


# -- against what the program itself says ----------------------------------------------------------------------------

NODES = """
LOG = []
BORN = {1: [], 2: []}

class Node:
    def __init__(self, tag):
        BORN[1].append(tag)
        LOG.append((tag, "field_write", "prog.Node.rc")); self.rc = 0
        self.tag = tag
        LOG.append((tag, "new", "prog.Node"))
    def up(self):
        LOG.append((self.tag, "func_pre", "prog.Node.up"))
        LOG.append((self.tag, "field_write", "prog.Node.rc")); self.rc += 1
        LOG.append((self.tag, "func_post", "prog.Node.up"))
    def deep(self, n):
        LOG.append((self.tag, "func_pre", "prog.Node.deep"))
        if n:
            self.deep(n - 1)
    def steps(self):
        LOG.append((self.tag, "func_pre", "prog.Node.steps"))
        for i in range(2):
            LOG.append((self.tag, "field_write", "prog.Node.rc")); self.rc = i
            yield i

class Leaf(Node):
    def __init__(self, tag):
        BORN[1].append(tag)
        LOG.append((tag, "field_write", "prog.Node.rc")); self.rc = 7
        # A base class's `__init__` is no second birth.
        before = len(BORN[1])
        Node.__init__(self, tag)
        del BORN[1][before:]

class Plain(Node):
    pass

class Slots:
    __slots__ = ("rc", "tag")
    def __init__(self, tag):
        BORN[2].append(tag)
        self.tag = tag
        LOG.append((tag, "field_write", "prog.Slots.rc")); self.rc = 0
    def up(self):
        LOG.append((self.tag, "func_pre", "prog.Slots.up"))
        touch(self)

class Other:
    rc = 0
    def up(self):
        self.rc += 1

def touch(o):
    if type(o) is Slots:
        LOG.append((o.tag, "field_write", "prog.Slots.rc"))
    elif type(o) is not Other:
        LOG.append((o.tag, "field_write", "prog.Node.rc"))
    o.rc = o.rc + 1

KINDS = [Node, Leaf, Plain, Slots]

def run(rng, steps):
    alive = []
    other = Other()
    for tag in range(steps):
        step = rng.random()
        if step < 0.3 or not alive:
            alive.append(KINDS[rng.randrange(4)](tag))
        elif step < 0.5:
            alive.pop(rng.randrange(len(alive)))
        else:
            o = alive[rng.randrange(len(alive))]
            what = rng.randrange(5)
            if what == 0:
                touch(o)
            elif what == 1 or type(o) is Slots:
                o.up()
            elif what == 2:
                o.deep(2)
            elif what == 3:
                list(o.steps())
            else:
                touch(other)
                other.up()
    alive.clear()
    o = None
"""

NODE_LAW = [
    ("new", "prog.Node"),
    ("field_write", "prog.Node.rc"),
    ("func_pre", "prog.Node.up"),
    ("func_post", "prog.Node.up"),
    ("func_pre", "prog.Node.deep"),
    ("func_pre", "prog.Node.steps"),
    ("field_write", "prog.Slots.rc"),
    ("func_pre", "prog.Slots.up"),
]
NODE_SAMPLING = Sampling({"prog.Node": 1, "prog.Slots": 2})


def expected(module: ModuleType, chosen: dict[int, list[bool]]) -> list[tuple[int, str, str]]:
    """What the program has written down, of the objects that the coins have chosen."""
    tags = {
        tag
        for group, flips in chosen.items()
        for tag, is_head in zip(module.BORN[group], flips, strict=True)
        if is_head
    }
    return [entry for entry in module.LOG if entry[0] in tags]


def told(events: list[Event], module: ModuleType, chosen: dict[int, list[bool]]) -> list[tuple[int, str, str]]:
    """What the tracer has told, by the tags of the program."""
    tags = {}
    for group, flips in chosen.items():
        born = [event for event in events if event["event"] == "born" and event["sampled"] == group]
        order = [tag for tag, is_head in zip(module.BORN[group], flips, strict=True) if is_head]
        assert len(born) == len(order)
        tags.update({event["targetId"]: tag for event, tag in zip(born, order, strict=True)})
    rest = [event for event in events if event["event"] not in ("born", "gone")]
    return [(tags[event["targetId"]], event["event"], event["name"]) for event in rest]


@pytest.mark.parametrize("rate", [1.0, 0.5, 0.1, 0.02])
@pytest.mark.parametrize("seed", [0, 1, 2**63 + 12345])
def test_samples_are_told_of_as_if_all_were(make: Make, load: Load, rate: float, seed: int) -> None:
    events: list[Event] = []
    tracer = make(events, [law(*NODE_LAW)], NODE_SAMPLING)
    tracer.seed(seed)
    for group in (1, 2):
        tracer.sample(group, rate)
    module = load(NODES)
    tracer.start()
    module.run(random.Random(seed), 3000)
    gc.collect()
    tracer.flush()
    samples = {group: tracer.samples(group) for group in (1, 2)}
    tracer.stop()
    assert tracer.fault is None
    chosen = {group: heads(seed, group, rate, len(module.BORN[group])) for group in (1, 2)}
    assert told(events, module, chosen) == expected(module, chosen)
    for group in (1, 2):
        assert samples[group] == (len(module.BORN[group]), sum(chosen[group]), 0)
    ids = [event["targetId"] for event in events if event["event"] == "born"]
    assert sorted(ids) == sorted(event["targetId"] for event in events if event["event"] == "gone")
    assert len(set(ids)) == len(ids)


def test_without_sampling_the_events_are_the_same(make: Make, load: Load) -> None:
    """All objects sampled: that is no more and no less than without sampling, but for `born` and `gone`."""
    runs = []
    for sampling in (None, NODE_SAMPLING):
        events: list[Event] = []
        tracer = make(events, [law(*NODE_LAW)], sampling)
        module = load(NODES)
        tracer.start()
        module.run(random.Random(3), 1000)
        tracer.stop()
        assert tracer.fault is None
        numbers: dict[int, int] = {}
        kept = [event for event in events if event["event"] not in ("born", "gone")]
        runs.append([
            (event["event"], event["name"], event["class"], event["line"],
             numbers.setdefault(event["targetId"], len(numbers)))
            for event in kept
        ])  # fmt: skip
    assert runs[0] == runs[1]
    assert len(runs[0]) > 1000


# -- switching off ---------------------------------------------------------------------------------------------------

COUNTER = """
import collections

class Counter:
    def __init__(self):
        self.rc = 0
    def up(self):
        self.rc += 1
    def down(self):
        self.rc -= 1
        return self.rc

def life(times=3):
    counter = Counter()
    for _ in range(times):
        counter.up()
        counter.down()
    return counter

def lives(count, times=3):
    for _ in range(count):
        life(times)
"""
COUNTER_LAW = [
    ("new", "prog.Counter"),
    ("field_write", "prog.Counter.rc"),
    ("func_pre", "prog.Counter.up"),
    ("func_pre", "prog.Counter.down"),
    ("func_post", "prog.Counter.down"),
]
COUNTER_SAMPLING = Sampling({"prog.Counter": 1})
LIFE = [
    "born",
    "field_write",
    "new",
    *(["func_pre", "field_write", "func_pre", "field_write", "func_post"] * 3),
    "gone",
]


def kinds(events: list[Event]) -> list[str]:
    return [event["event"] for event in events]


def sees_everything(tracer: Any) -> bool:
    """Without `sys.monitoring` every start is seen, or none; and the pure-Python core cannot take itself away."""
    return sys.version_info < (3, 12)


def test_off_is_off(make: Make, load: Load) -> None:
    events: list[Event] = []
    tracer = make(events, [law(*COUNTER_LAW)], COUNTER_SAMPLING)
    module = load(COUNTER)
    tracer.start()
    module.lives(3)
    tracer.sample(1, 0.0)
    module.lives(3)  # every place is met once more
    tracer.flush()
    module.lives(3)
    before = tracer.callbacks
    module.lives(100)
    if tracer.name != "python" or not sees_everything(tracer):
        assert tracer.callbacks - before < 5
    tracer.flush()
    assert kinds(events) == LIFE * 3
    tracer.sample(1, 1.0)
    module.lives(2)
    tracer.stop()
    assert tracer.fault is None
    assert kinds(events) == LIFE * 5


def test_a_sample_is_followed_to_its_end_after_the_rate_has_fallen(make: Make, load: Load) -> None:
    events: list[Event] = []
    tracer = make(events, [law(*COUNTER_LAW)], COUNTER_SAMPLING)
    module = load(COUNTER)
    tracer.start()
    counter = module.Counter()
    tracer.sample(1, 0.0)
    for _ in range(1000):
        module.life()
    counter.up()
    assert tracer.samples(1) == (1, 1, 1)
    del counter
    tracer.flush()
    assert tracer.samples(1) == (1, 1, 0)
    module.lives(10)
    tracer.stop()
    assert kinds(events) == ["born", "field_write", "new", "func_pre", "field_write", "gone"]


def test_only_births_are_looked_at_while_there_is_no_sample(make: Make, load: Load) -> None:
    events: list[Event] = []
    tracer = make(events, [law(*COUNTER_LAW)], COUNTER_SAMPLING)
    tracer.sample(1, 1e-12)
    module = load(COUNTER)
    tracer.start()
    module.lives(1000)
    before = tracer.callbacks
    module.lives(1000)
    if not sees_everything(tracer):
        assert 1000 <= tracer.callbacks - before < 1010
    assert tracer.samples(1) == (2000, 0, 0)
    tracer.sample(1, 1.0, 2)
    module.lives(5)
    tracer.stop()
    assert kinds(events) == LIFE * 2
    assert tracer.samples(1) == (2002, 2, 0)


def test_a_budget_ends(make: Make, load: Load) -> None:
    events: list[Event] = []
    tracer = make(events, [law(*COUNTER_LAW)], COUNTER_SAMPLING)
    tracer.sample(1, 0.5, 7)
    module = load(COUNTER)
    tracer.start()
    module.lives(1000)
    tracer.flush()
    assert tracer.samples(1)[1:] == (7, 0)
    flips = heads(0, 1, 0.5, 1000)
    assert tracer.samples(1)[0] == next(n for n in range(1000) if sum(flips[:n]) == 7)
    before = tracer.callbacks
    module.lives(100)
    if tracer.name != "python" or not sees_everything(tracer):
        assert tracer.callbacks - before < 5
    tracer.stop()
    assert kinds(events).count("born") == 7


def test_places_that_several_classes_use(make: Make, load: Load) -> None:
    """One class is off, the other is not: what both use stays awake."""
    events: list[Event] = []
    tracer = make(events, [law(*NODE_LAW)], NODE_SAMPLING)
    module = load(NODES)
    tracer.start()
    tracer.sample(1, 0.0)
    for tag in range(600):
        module.touch(module.Node(tag))
    module.touch(module.Slots(1000))
    node, slots = module.Node(1001), module.Slots(1002)
    for _ in range(600):
        module.touch(node)
        module.touch(slots)
    tracer.stop()
    told_of = [(event["event"], event["name"]) for event in events if event["event"] == "field_write"]
    assert told_of == [("field_write", "prog.Slots.rc")] * (2 + 601)


# -- births ----------------------------------------------------------------------------------------------------------


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
    assert {**events[0], "stack": 0, "time": 0} == {
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


# -- threads, processes, runs ----------------------------------------------------------------------------------------


def test_threads(make: Make, load: Load) -> None:
    """While the rate goes up and down, all is told of an object, or nothing."""
    module = load("""
class Counter:
    def __init__(self, tag):
        self.rc = 0
    def up(self):
        self.rc += 1
def work(n, times):
    for i in range(n):
        counter = Counter(i)
        for _ in range(times):
            counter.up()
""")
    events: list[Event] = []
    rule = law(("field_write", "prog.Counter.rc"), ("func_pre", "prog.Counter.up"))
    tracer = make(events, [rule], Sampling({"prog.Counter": 1}), flush_at=64)
    tracer.start()
    stop = threading.Event()

    def change() -> None:
        rng = random.Random(1)
        while not stop.wait(0.001):
            tracer.sample(1, rng.choice([0.0, 0.01, 0.5, 1.0]))

    changing = threading.Thread(target=change)
    threads = [threading.Thread(target=module.work, args=(400, times)) for times in (1, 2, 3, 4)]
    for thread in (changing, *threads):
        thread.start()
    for thread in threads:
        thread.join()
    stop.set()
    changing.join()
    tracer.flush()
    _, taken, alive = tracer.samples(1)
    tracer.stop()
    assert tracer.fault is None
    assert alive == 0
    lives: dict[int, list[str]] = {}
    for event in events:
        lives.setdefault(event["targetId"], []).append(event["event"])
    assert len(lives) == taken > 0
    assert {tuple(life) for life in lives.values()} <= {
        ("born", "field_write", *("func_pre", "field_write") * times, "gone") for times in (1, 2, 3, 4)
    }


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_process_goes_on_with_other_coins(make: Make, load: Load) -> None:
    events: list[Event] = []
    tracer = make(events, [law(*COUNTER_LAW)], COUNTER_SAMPLING)
    tracer.sample(1, 0.5)
    module = load(COUNTER)
    tracer.start()
    kept = [module.life() for _ in range(100)]
    before = tracer.samples(1)
    assert before == (100, sum(heads(0, 1, 0.5, 100)), sum(heads(0, 1, 0.5, 100)))
    read, write = os.pipe()
    child = os.fork()
    if not child:
        tracer.after_fork(3)
        events.clear()
        first = tracer.samples(1)
        for counter in kept:
            counter.up()
        fresh = [module.life(0) for _ in range(100)]
        tracer.flush()
        told = [(event["event"], event["targetId"]) for event in events]
        os.write(
            write, json.dumps([first, tracer.samples(1), told, [tracer.identify(each) for each in fresh]]).encode()
        )
        os._exit(0)
    os.close(write)
    with open(read, encoding="utf-8") as pipe:
        first, last, told, numbers = json.load(pipe)
    os.waitpid(child, 0)
    assert tracer.samples(1) == before
    tracer.stop()
    alive = before[2]
    assert first == [0, 0, alive]
    assert [kind for kind, _ in told].count("func_pre") == alive
    born = [number for kind, number in told if kind == "born"]
    assert last == [100, len(born), alive + len(born)]
    assert all(number >= 3 * 2**32 for number in born)
    flips = heads(mix(0 ^ 3 * GOLDEN % 2**64), 1, 0.5, 100)
    assert [number in born for number in numbers] == flips


def test_stop_and_start(make: Make, load: Load) -> None:
    events: list[Event] = []
    tracer = make(events, [law(*COUNTER_LAW)], COUNTER_SAMPLING)
    module = load(COUNTER)
    for _ in range(3):
        events.clear()
        tracer.start()
        before = module.life(1)
        module.lives(2)
        assert tracer.samples(1)[2] == 1
        tracer.stop()
        assert kinds(events) == LIFE[:8] + LIFE * 2
        before.up()
        assert tracer.samples(1)[2] == 0
    assert tracer.samples(1)[:2] == (9, 9)


def test_who_is_told_decides_about_the_rate(make: Make, load: Load) -> None:
    """From inside the delivery, as the engine does."""
    module = load(COUNTER)
    born: list[int] = []

    class Deliver(list[Event]):
        def extend(self, batch: Any) -> None:
            super().extend(batch)
            for event in batch:
                if event["event"] == "born":
                    born.append(event["targetId"])
                    tracer.sample(1, 0.0 if len(born) % 2 else 1.0)

    events = Deliver()
    tracer = make(events, [law(*COUNTER_LAW)], COUNTER_SAMPLING, synchronous=True)
    tracer.start()
    module.lives(5)
    assert len(born) == 1
    tracer.sample(1, 1.0)
    module.lives(5)
    tracer.stop()
    assert tracer.fault is None
    assert len(born) == 3
    assert kinds(events) == LIFE * 3


def test_two_tracers_have_their_own_samples(make: Make, load: Load) -> None:
    module = load(COUNTER)
    runs: list[list[Event]] = [[], []]
    tracers = [make(events, [law(("func_pre", "prog.Counter.up"))], COUNTER_SAMPLING) for events in runs]
    if tracers[0].name == "python" and sees_everything(tracers[0]):
        pytest.skip("one tracer at a time")
    for seed, tracer in enumerate(tracers):
        tracer.seed(seed)
        tracer.sample(1, 0.5)
        tracer.start()
    module.lives(60, 1)
    for tracer in tracers:
        tracer.stop()
        assert tracer.fault is None
    for seed, events in enumerate(runs):
        assert kinds(events) == ["born", "func_pre", "gone"] * sum(heads(seed, 1, 0.5, 60))


def test_what_deliver_raises_at_a_birth_reaches_the_program(make: Make, load: Load) -> None:
    module = load(COUNTER)
    wanted = Watched(
        [law(*COUNTER_LAW)], Scope(project=Path(module.life.__code__.co_filename).parent), sampling=COUNTER_SAMPLING
    )

    def refuse(batch: list[Event]) -> None:
        if batch[0]["event"] == "born":
            raise RuntimeError("no")

    for name in cores.available():
        tracer = cores.choose(name).make(wanted, refuse, synchronous=True)
        tracer.start()
        try:
            with pytest.raises(RuntimeError, match="no"):
                module.life()
        finally:
            tracer.stop()
        assert tracer.fault is None


def test_coins_of_both_cores() -> None:
    coin = Coin(7, 3)
    assert [coin.flip(0.3) for _ in range(200)] == heads(7, 3, 0.3, 200)
    for rate in (0.5, 1 / 64):
        coin = Coin(1, 1)
        share = sum(coin.flip(rate) for _ in range(64_000)) / 64_000
        assert abs(share - rate) < 5 * (rate * (1 - rate) / 64_000) ** 0.5


# -- which code runs -------------------------------------------------------------------------------------------------


def test_code_that_starts(make: Make, load: Load) -> None:
    module = load(
        COUNTER
        + """
def other(): pass
"""
    )
    seen: list[str] = []

    def note(code: CodeType) -> None:
        if code.co_filename.endswith("prog.py"):
            seen.append(code.co_name)

    tracer = make([], [law(*COUNTER_LAW)], COUNTER_SAMPLING, on_seen=note)
    tracer.sample(1, 0.0)
    tracer.start()
    module.lives(3)
    assert seen == ["lives", "life", "__init__", "up", "down"]
    module.other()
    assert seen[5:] == ["other"]
    module.lives(3)
    assert len(seen) == 6
    for _ in range(3):
        seen.clear()
        tracer.rearm()
        module.lives(3)
        assert seen == ["lives", "life", "__init__", "up", "down"]
    seen.clear()
    tracer.rearm()
    tracer.rearm()
    module.other()
    module.other()
    assert seen == ["other"]
    tracer.stop()
    assert tracer.fault is None


@pytest.mark.parametrize("again", [False, True])
def test_who_asks_which_code_runs_misses_nothing_of_samples(make: Make, load: Load, again: bool) -> None:
    """The interpreter forgets what one tool asked of instructions when another comes to the code."""
    module = load(
        COUNTER
        + """
def write(counter):
    counter.rc = 1
def direct(n, between):
    for _ in range(n):
        counter = Counter()
        counter.rc = 1
        write(counter)
        between()
        counter.rc = 2
        del counter
"""
    )
    events: list[Event] = []
    seen: list[CodeType] = []
    tracer = make(events, [law(*COUNTER_LAW)], COUNTER_SAMPLING, on_seen=seen.append)
    if again:
        tracer.start()
        module.direct(2, tracer.rearm)
        tracer.stop()
        events.clear()
    tracer.start()
    module.direct(20, lambda: None)
    for _ in range(3):
        tracer.rearm()
        module.direct(20, lambda: None)
    module.direct(20, tracer.rearm)
    tracer.stop()
    assert tracer.fault is None
    assert kinds(events) == ["born", "field_write", "new", *(["field_write"] * 3), "gone"] * 100


# -- what the cost is ------------------------------------------------------------------------------------------------


def test_cost(make: Make, load: Load) -> None:
    events: list[Event] = []
    tracer = make(events, [law(*COUNTER_LAW)], COUNTER_SAMPLING)
    module = load(COUNTER)
    assert tracer.cost == pytest.approx(0, abs=1e-3)
    tracer.start()
    module.lives(2000)
    tracer.flush()
    # A lower bound: no core tells of 38,000 events in less than that.
    assert tracer.cost > 2000 * len(LIFE) * 50e-9
    tracer.stop()
    assert len(events) == 2000 * len(LIFE)


# -- what is grouped -------------------------------------------------------------------------------------------------


def watched(*rules: Law, sampling: Sampling, **scope: Any) -> Watched:
    return Watched(rules, Scope(project=Path(__file__).parent, **scope), sampling=sampling)


class Thing:
    kind = 0

    def __init__(self) -> None:
        self.rc = 0

    def up(self) -> None:
        self.rc += 1

    @staticmethod
    def alone() -> None:
        pass


class SubThing(Thing):
    pass


THING = f"{__name__}.Thing"
SAMPLING = Sampling({THING: 4})


def test_groups_of_callees() -> None:
    rule = law(
        ("new", THING), ("func_pre", f"{THING}.up"), ("field_write", f"{THING}.rc"), ("func_pre", f"{THING}.alone")
    )
    wanted = watched(rule, sampling=SAMPLING)
    assert wanted.groups == {4}
    assert wanted.plan(Thing.up.__code__, __name__) is not None
    plan = wanted.plan(Thing.__init__.__code__, __name__)
    assert plan is not None
    assert plan.groups == (4,)
    assert plan.bears
    assert [(probe.groups, probe.bears) for probe in plan.probes] == [((4,), False)]
    for kind in (Thing, SubThing):
        up = wanted.receiver_callee(Thing.up.__code__, kind)
        assert up is not None
        assert up.group == 4
        born = wanted.receiver_callee(Thing.__init__.__code__, kind)
        assert born is not None
        assert born.group == 4
        assert born.wants & Want.BIRTH
        assert born.wants & Want.NEW
        field = wanted.field("rc", kind)
        assert field is not None
        assert field.group == 4
    # There is no object that a static method belongs to.
    alone = wanted.plan(Thing.alone.__code__, __name__)
    assert alone is not None
    assert alone.callee is not None
    assert (alone.callee.group, alone.groups) == (0, ())
    assert not wanted.only_groups


def test_what_others_want_too_is_told_of_all_objects() -> None:
    sampled = law(("new", THING), ("func_pre", f"{THING}.up"), ("field_write", f"{THING}.rc"))
    other = law(("func_pre", f"{THING}.up"))
    wanted = watched(sampled, other, sampling=SAMPLING._replace(laws=[sampled]))
    assert wanted.groups == {4}
    plan = wanted.plan(Thing.up.__code__, __name__)
    assert plan is not None
    assert plan.groups == ()
    up = wanted.receiver_callee(Thing.up.__code__, Thing)
    field = wanted.field("rc", Thing)
    assert up is not None
    assert field is not None
    assert (up.group, field.group) == (0, 4)
    assert not wanted.only_groups
    assert watched(sampled, sampling=SAMPLING).only_groups


@pytest.mark.parametrize(
    "others",
    [
        law(("new", THING)),
        law(("func_pre", f"{THING}.__init__")),
        rml.compile("call matches {event: 'func_pre'}; Main = call*;"),
    ],
    ids=["new", "init", "anything"],
)
def test_groups_whose_beginnings_others_want_are_not_sampled(others: Law) -> None:
    sampled = law(("field_write", f"{THING}.rc"))
    wanted = watched(sampled, others, sampling=SAMPLING._replace(laws=[sampled]))
    assert wanted.groups == frozenset()
    field = wanted.field("rc", Thing)
    assert field is not None
    assert field.group == 0
    assert watched(sampled, others, sampling=SAMPLING).groups == {4}


@pytest.mark.parametrize("scope", [{"calls": ("*",)}, {"public": ("x",)}, {"fields": ("x.T",)}])
def test_scopes_want_to_see_everything(scope: dict[str, Any]) -> None:
    wanted = watched(law(("func_pre", f"{THING}.up")), sampling=SAMPLING, **scope)
    assert wanted.groups == frozenset()
    up = wanted.receiver_callee(Thing.up.__code__, Thing)
    assert up is None or up.group == 0


def test_calls_of_the_class_are_told_before_there_is_an_object() -> None:
    rule = law(("func_pre", THING), ("func_pre", f"{THING}.up"))
    assert watched(rule, sampling=SAMPLING).groups == frozenset()


def test_samples_that_are_released_are_told_of_no_more(make: Make, load: Load) -> None:
    """Whatever else is in the table of samples, and however it is packed there."""
    events: list[Event] = []
    sampling = Sampling({"prog.Counter": 1, "prog.Part": 2})
    tracer = make(events, [law(*COUNTER_LAW), law(("field_write", "prog.Part.number"))], sampling)
    module = load(COUNTER + "\nclass Part:\n    def __init__(self):\n        self.number = 1\n")
    tracer.start()
    counters = [module.Counter() for _ in range(300)]
    parts = [module.Part() for _ in range(300)]
    del counters[::3], parts[::2]
    tracer.sample(1, 0.0)
    tracer.release(1)
    tracer.flush()
    events.clear()
    for counter in counters:
        counter.up()
    for part in parts:
        part.__init__()
    assert (tracer.samples(1)[2], tracer.samples(2)[2]) == (0, 150)
    del counter, counters, part, parts
    tracer.stop()
    told = [event["name"] for event in events if event["event"] == "gone"]
    assert (told.count("prog.Counter"), told.count("prog.Part")) == (0, 150)
    assert not [event for event in events if "Counter" in event["name"]]
