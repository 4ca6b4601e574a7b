"""What tests of samples share: a program that counts, laws, and flips of coins."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from lawful.laws import rml
from lawful.laws.protocol import Law
from lawful.sources.python.tracer_protocol import Event, Sampling

Load = Callable[[str], ModuleType]
Make = Callable[..., Any]


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
