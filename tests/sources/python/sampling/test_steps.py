"""Samples that keep counts report the same steps as places do, whatever a program does with them."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from lawful.laws import rml
from lawful.laws.protocol import Law
from lawful.sources.python import sites, tracer_choice
from lawful.sources.python.scope import Scope
from lawful.sources.python.tracer_protocol import Event, Operation, Sampling
from lawful.sources.python.watch_planner import LawWatchPlanner
from sources.python.sampling.programs import Load

NATIVE = [core for core in tracer_choice.available() if core != "python"]
TELLS = sys.version_info >= (3, 12)  # there samples can

needs_native = pytest.mark.skipif(not NATIVE, reason="the C core is not built")


def law(*fields: str) -> Law:
    declared = "".join(
        f"e{i}(x, v) matches {{event: 'field_write', name: '{name}', targetId: x, res: v}};\n"
        for i, name in enumerate(fields)
    )
    return rml.compile(declared + "Main = (" + " \\/ ".join(f"e{i}(_, _)" for i in range(len(fields))) + ")*;")


def tracer_of(core: str, folder: Path, rule: Law, events: list[Event], classes: dict[str, int], **options: Any) -> Any:
    wanted = LawWatchPlanner([rule], Scope(project=folder), sampling=Sampling(classes))
    return tracer_choice.choose(core).make(wanted, events.extend, gone=True, **options)


# -- which places make steps -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("o.rc += 1", True),
        ("o.rc -= 1", True),
        ("o.rc -= 2.5", True),
        ("o.rc += 10**20", True),
        ("o.a.rc += 1", True),
        ("o[0].rc += 1", True),
        ("o.rc += 0", False),
        ("o.rc += 0.0", False),
        ("o.rc += True", False),
        ("o.rc += n", False),
        ("o.rc *= 2", False),
        ("o.rc += 'x'", False),
        ("o.rc = o.rc + 1", False),
        ("o.rc = 1", False),
        ("o.rc += 1 if n else 2", False),
        ("o.rc = o.ab = 1", False),
        ("o[1] += 1", False),
    ],
)
def test_steps_are_found_in_the_code(text: str, steps: bool) -> None:
    code = compile(f"def f(o, n):\n    {text}", "f.py", "exec").co_consts[0]
    found = sites.probes(code, frozenset({Operation.SET_FIELD}))
    assert [probe.steps for probe in found] == ([steps] if len(found) == 1 else [False] * len(found))


# -- the same events as the core that knows nothing of this ------------------------------------------------------------

WORLD = """
class Odd:
    "Something that is added to in place."
    def __init__(self, n): self.n = n
    def __iadd__(self, other): self.n += other; return self
    __isub__ = __iadd__

class Plain:
    def __init__(self): self.rc = 0

class Default:
    rc = 3
    def __init__(self): pass

class Slots:
    __slots__ = ("rc",)
    def __init__(self): self.rc = 0

class Half(Slots):
    def __init__(self): self.rc = 1

class Careful:
    def __init__(self): self.rc = 0
    def __setattr__(self, name, value): object.__setattr__(self, name, value)

class Property:
    def __init__(self): self._rc = 0
    @property
    def rc(self): return self._rc
    @rc.setter
    def rc(self, value): self._rc = value

class Borg:
    shared = {"rc": 5}
    def __init__(self):
        self.__dict__ = Borg.shared
        self.rc = 5

class Itself(dict):
    def __init__(self):
        self.__dict__ = self
        self.rc = 0

class Early:
    def __new__(cls):
        made = super().__new__(cls)
        made.rc = 4
        made.other = "x"
        return made
    def __init__(self): self.rc += 1

class Held:
    seen = []
    def __new__(cls):
        made = super().__new__(cls)
        cls.seen.append(vars(made))
        return made
    def __init__(self): self.rc = 0

class Wide:
    def __init__(self):
        self.rc = 0
        for i in range(40): setattr(self, f"f{i}", i)

class Sub(Plain):
    def __init__(self):
        self.rc = 9
        super().__init__()

class Error(Exception):
    def __init__(self): self.rc = 0

def up(o): o.rc += 1
def down(o): o.rc -= 1
def jump(o): o.rc += 2.5
def same(o): o.rc = o.rc
def zero(o): o.rc = 0
def odd(o): o.rc = Odd(1)
def text(o): o.rc = "no number"
def nothing(o): o.rc = None
def big(o): o.rc = 10**30
def behind(o): vars(o)["rc"] = 7
def by_name(o): setattr(o, "rc", 8)
def away(o): del o.rc
def clear(o): vars(o).clear()
def replaced(o): o.__dict__ = {"rc": 2}
def updated(o): vars(o).update(rc=6)
def other(o): o.unwatched = 1
def nested(o):
    def inner():
        o.rc += 1
    inner()
def loop(o):
    for _ in range(3):
        o.rc += 1
def both(o, p):
    o.rc += 1; p.rc -= 1
"""
CLASSES = [
    "Plain", "Default", "Slots", "Half", "Careful", "Property", "Borg", "Itself", "Early", "Held", "Wide", "Sub",
    "Error",
]  # fmt: skip
COMMON = ["up", "down", "up", "loop", "nested", "same", "zero", "jump", "by_name", "big", "other"]
RARE = ["odd", "text", "nothing", "behind", "away", "clear", "replaced", "updated"]


def play(module: ModuleType, seed: int) -> None:
    """Objects come and go, and much is done with them."""
    rng = random.Random(seed)
    names = rng.sample(CLASSES, rng.randint(1, 4))
    rare = rng.choice([0.0, 0.02, 0.2])
    alive: list[Any] = []
    for _ in range(150):
        if len(alive) < 3 or rng.random() < 0.15:
            alive.append(getattr(module, rng.choice(names))())
        elif rng.random() < 0.1:
            del alive[rng.randrange(len(alive))]
        try:
            if rng.random() < 0.1:
                module.both(rng.choice(alive), rng.choice(alive))
            else:
                getattr(module, rng.choice(RARE if rng.random() < rare else COMMON))(rng.choice(alive))
        except (TypeError, AttributeError):
            pass  # a text, or nothing, is not a number; slots are not a dict
    alive.clear()


def reported(core: str, folder: Path, load: Load, seed: int, rate: float) -> list[tuple[Any, ...]]:
    module = load(WORLD)
    events: list[Event] = []
    names = [f"prog.{name}.rc" for name in CLASSES]
    # A group for each, and one for all that have common bases.
    groups = {f"prog.{name}": 1 + number % 3 for number, name in enumerate(CLASSES)}
    tracer = tracer_of(core, folder, law(*names), events, groups)
    tracer.seed(seed)
    for number in (1, 2, 3):
        tracer.sample(number, rate)
    tracer.start()
    play(module, seed)
    tracer.stop()
    assert tracer.fault is None
    ids: dict[int, int] = {}  # in the order in which they are met
    return [
        (each["event"], each["name"], ids.setdefault(each["targetId"], len(ids)), each.get("line"), each.get("res"))
        for each in events
        if each["event"] in ("born", "field_write") and each["name"] != "prog.Odd"
    ]


@needs_native
@pytest.mark.parametrize("rate", [1.0, 0.3])
@pytest.mark.parametrize("seed", range(20))
def test_all_is_told_as_by_places(load: Load, tmp_path: Path, seed: int, rate: float) -> None:
    assert reported(NATIVE[0], tmp_path, load, seed, rate) == reported("python", tmp_path, load, seed, rate)


# -- what it is for ----------------------------------------------------------------------------------------------------

COUNTERS = """
class Counter:
    def __init__(self): self.rc = 0
def up(o): o.rc += 1
def ups(o, n):
    for _ in range(n):
        o.rc += 1
"""


@needs_native
@pytest.mark.skipif(not TELLS, reason="no dict can be watched there")
def test_the_place_sleeps_while_samples_live(load: Load, tmp_path: Path) -> None:
    module = load(COUNTERS)
    events: list[Event] = []
    tracer = tracer_of(NATIVE[0], tmp_path, law("prog.Counter.rc"), events, {"prog.Counter": 1})
    tracer.start()
    module.up(module.Counter())  # places are known now
    sampled = module.Counter()
    tracer.sample(1, 0.0)
    others = [module.Counter() for _ in range(100)]
    before = tracer.callbacks
    for other in others * 50:
        module.up(other)
    module.up(sampled)
    tracer.stop()
    assert tracer.callbacks - before < 500
    assert [each["res"] for each in events if each["event"] == "field_write"] == [0, 1, 0, 1]


@needs_native
@pytest.mark.skipif(not TELLS, reason="no dict can be watched there")
def test_a_full_buffer_is_emptied_though_nothing_else_happens(load: Load, tmp_path: Path) -> None:
    module = load(COUNTERS)
    events: list[Event] = []
    tracer = tracer_of(NATIVE[0], tmp_path, law("prog.Counter.rc"), events, {"prog.Counter": 1}, flush_at=100)
    tracer.start()
    module.up(module.Counter())
    counter = module.Counter()
    module.ups(counter, 10_000)
    assert len(events) > 5_000
    tracer.stop()
    assert [each["res"] for each in events if each["event"] == "field_write"][2:] == list(range(10_001))


@needs_native
def test_two_watch_the_same_object_and_one_ends(load: Load, tmp_path: Path) -> None:
    module = load(COUNTERS)
    first: list[Event] = []
    second: list[Event] = []
    tracers = [
        tracer_of(NATIVE[0], tmp_path, law("prog.Counter.rc"), each, {"prog.Counter": 1}) for each in (first, second)
    ]
    for tracer in tracers:
        tracer.start()
    module.up(module.Counter())
    counter = module.Counter()
    module.up(counter)
    tracers[0].stop()
    module.up(counter)
    tracers[1].stop()
    module.up(counter)
    assert [each["res"] for each in first if each["event"] == "field_write"] == [0, 1, 0, 1]
    assert [each["res"] for each in second if each["event"] == "field_write"] == [0, 1, 0, 1, 2]


@needs_native
def test_a_sample_looks_like_any_other_object(load: Load, tmp_path: Path) -> None:
    import copy

    module = load(COUNTERS)
    tracer = tracer_of(NATIVE[0], tmp_path, law("prog.Counter.rc"), [], {"prog.Counter": 1})
    tracer.start()
    module.up(module.Counter())
    counter = module.Counter()
    counter.name = "x"
    module.up(counter)
    assert type(counter) is module.Counter
    assert vars(counter) == {"rc": 1, "name": "x"} and type(vars(counter)) is dict
    twin = copy.copy(counter)
    module.up(twin)
    del counter.name
    tracer.stop()
    assert vars(counter) == {"rc": 1} and vars(twin) == {"rc": 2, "name": "x"}
