"""Writes to fields in every form that the compiler has: where they are looked at, value and owner must lie ready."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from lawful.sources.python.sites import probes
from lawful.sources.python.tracer_protocol import Event, Operation, Tracer
from sources.python.by_name import WRITE

FORMS = """
import sys
LOG = []
class Box:
    def __init__(self, label):
        object.__setattr__(self, "label", label)
    def __setattr__(self, name, value):
        # What really happens, as the object itself logs it.
        LOG.append((self.label, value, sys._getframe(1).f_lineno))
        object.__setattr__(self, name, value)
    def __enter__(self):
        return 70
    def __exit__(self, *error):
        return None
    def given(self, value):
        self.x = value
    def counted(self):
        self.x += 1
    def const(self):
        self.x = 5
    def chosen(self, flag):
        self.x = 1 if flag else 2
        self.x = flag and 3
        (self
         .x) = (
            flag,
            4,
        )[1]
    def shared(self):
        def inner():
            self.x = 6
        inner()
        self.x = 7

def one():
    return 8

def many(a, b, *rest, **more):
    a.x = b.x = 9
    a.x, b.x = 10, 11
    a.x, *b.x = 12, 13
    [a.x, b.x] = rest
    a.x = one()
    a.x = b.label
    a.x = -a.x if isinstance(a.x, int) else 14
    for a.x in (15, 16):
        pass
    with b as a.x:
        pass
    a.inner = b
    a.inner.x = 17
    value = 18
    a.x = value
    del value
    try:
        a.x = value
    except UnboundLocalError:
        a.x = 19
    boxes = [a, b]
    boxes[0].x = 20
    boxes[1].x *= 2
    a.x: int = 21
    a.x = [i for i in range(3)][2]
    lambda: more
    more["k"].x = 22
    a.x += 1; b.x -= 1
    a.x = yielded(b)

def yielded(b):
    def generate():
        b.x = (yield 23)
        b.x = 24
    made = generate()
    next(made)
    try:
        made.send(25)
    except StopIteration:
        return 26

def run():
    a, b = Box("a"), Box("b")
    a.given(1); a.counted(); a.const(); a.chosen(True); a.chosen(0); b.shared()
    many(a, b, 30, 31, k=b)
    names = [f"v{i}" for i in range(300)]
    space = {"__name__": __name__}
    # So many variables that their numbers need a prefix.
    exec("def wide(a):\\n" + "".join(f"    {n} = {i}\\n" for i, n in enumerate(names))
         + "    late = a\\n    late.x = v299\\n    late.x += 1\\n    a.x = v0\\n", space)
    space["wide"](a)

run()
"""


def test_every_form(make: Callable[..., Tracer], prog: Callable[[str], ModuleType]) -> None:
    events: list[Event] = []
    tracer = make(events.extend, calls={"prog.Box.x": WRITE, "prog.Box.inner": WRITE})
    tracer.start()
    module = prog(FORMS)
    tracer.stop()
    assert tracer.fault is None
    labels: dict[int, str] = {}
    reported = [
        (labels.setdefault(event["targetId"], "ab?"[len(labels)]), event.get("res"), event["line"]) for event in events
    ]
    plain = (int, str, bool)
    assert reported == [(label, value if type(value) in plain else None, line) for label, value, line in module.LOG]
    assert len(reported) > 40


def test_most_writes_are_looked_at_one_instruction_early(prog: Callable[[str], ModuleType]) -> None:
    module = prog(FORMS)
    for name in ("given", "counted", "const"):
        (found,) = probes(vars(module.Box)[name].__code__, frozenset({Operation.SET_FIELD}))
        assert found.early
        assert found.early[0] == found.offset - 2
