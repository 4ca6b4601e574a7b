"""Nothing is missed of samples: against what the program itself says."""

from __future__ import annotations

import gc
import random
from types import ModuleType

import pytest

from lawful.sources.python.tracer_protocol import Event, Sampling
from sources.python.sampling.programs import (
    Load,
    Make,
    heads,
    law,
)

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
        # A base class's `__init__` is not a second birth.
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


def reported(events: list[Event], module: ModuleType, chosen: dict[int, list[bool]]) -> list[tuple[int, str, str]]:
    """The events of the tracer, by the tags of the program."""
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
    assert reported(events, module, chosen) == expected(module, chosen)
    for group in (1, 2):
        assert samples[group] == (len(module.BORN[group]), sum(chosen[group]), 0)
    ids = [event["targetId"] for event in events if event["event"] == "born"]
    assert sorted(ids) == sorted(event["targetId"] for event in events if event["event"] == "gone")
    assert len(set(ids)) == len(ids)


def test_without_sampling_the_events_are_the_same(make: Make, load: Load) -> None:
    """All objects sampled: the same events as without sampling, but for `born` and `gone`."""
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
