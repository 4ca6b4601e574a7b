"""A program, and questions to the planner about it."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

from lawful.laws import rml
from lawful.laws.protocol import Law
from lawful.sources.python.scope import Scope
from lawful.sources.python.tracer_protocol import Callee, CodePlan, Operation, Want
from lawful.sources.python.watch_planner import LawWatchPlanner

PROG = __name__
FILE = Path(__file__).name
OWN = Scope(project=Path(__file__).parent)
CALLS = {Operation.CALL, Operation.CALL_EX}
ALL_CALLS = Want.PRE | Want.POST | Want.RAISE


def law(*matches: str) -> Law:
    """A law over events that look so; a bare name stands for any event of that name."""
    bodies = [each if each.startswith("{") else f"{{name: '{each}'}}" for each in matches]
    declared = "".join(f"e{i} matches {body};\n" for i, body in enumerate(bodies))
    either = " \\/ ".join(f"e{i}" for i in range(len(bodies)))
    return rml.compile(f"{declared}Main = ({either})*;")


def watched(*matches: str, scope: Scope = OWN, **options: Any) -> LawWatchPlanner:
    return LawWatchPlanner([law(*matches)] if matches else [], scope, **options)


def code_of(function: Any) -> CodeType:
    function = getattr(function, "__func__", function)
    code: CodeType = function.__code__
    return code


def plan(wanted: LawWatchPlanner, function: Any) -> CodePlan | None:
    return wanted.plan(code_of(function), getattr(function, "__func__", function).__globals__["__name__"])


def reported(wanted: LawWatchPlanner, function: Any, receiver: type | None = None) -> str | None:
    """The name under which a function reports itself, as a core finds it."""
    found = plan(wanted, function)
    if found is None or found.callee is None:
        return None
    callee = found.callee if receiver is None else wanted.receiver_callee(code_of(function), receiver)
    return None if callee is None else callee.name


def name_of(callee: Callee | None) -> str | None:
    return None if callee is None else callee.name


def operations(wanted: LawWatchPlanner, function: Any) -> set[Operation]:
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
