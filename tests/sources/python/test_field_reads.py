"""Fields that a method reads, and laws about their writes: `*.__hash__.*`."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, fields, make_dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

import lawful
from lawful.laws import rml
from lawful.sources.python.field_reads import fields_read
from lawful.sources.python.scope import Scope
from lawful.sources.python.tracer_protocol import Operation, Want
from lawful.sources.python.watch_planner import LawWatchPlanner

LAW = """
written(object) matches {event: 'field_write', name: '*.__hash__.*', targetId: object};
Main = written(_) >> empty;
"""
OWN = Scope(project=Path(__file__).parent)


class Base:
    slope = 1  # a default

    def __init__(self) -> None:
        self.a, self.b, self.c, self.__private, self._shown = range(5)
        self.unused = 9

    def __hash__(self) -> int:
        return hash((self.a, self.slope))


class Heir(Base):
    pass


class Through(Base):
    @property
    def shown(self) -> int:
        return self._shown

    def key(self) -> tuple[int, int]:
        return self.b, self.shown

    def __hash__(self) -> int:
        return hash((super().__hash__(), self.key(), self.__class__.__name__))


class Explicit(Through):
    def __hash__(self) -> int:
        return super(Explicit, self).__hash__() + self.c  # noqa: UP008


class Beyond(Through):
    def __hash__(self) -> int:
        return super(Through, self).__hash__() + self.c


class Inner(Base):
    def __hash__(self) -> int:
        return hash(tuple(self.a + each for each in range(self.b))) + sum([self.c for _ in range(2)])


class Private(Base):
    def __init__(self) -> None:
        super().__init__()
        self.__private = 3

    def __hash__(self) -> int:
        one = two = self.__private
        return one + two * self.a


class Slots:
    __slots__ = ("a", "b")

    def __init__(self) -> None:
        self.a = self.b = 1

    def __hash__(self) -> int:
        other = 1
        return hash((other, self.a))


@pytest.mark.parametrize("kind", [Base, Heir, Through, Explicit, Inner, Private, Slots])
def test_they_are_what_the_interpreter_reads(kind: type) -> None:
    read: set[str] = set()

    def spy(self: object, name: str) -> Any:
        read.add(name)
        return object.__getattribute__(self, name)

    hash(type("Spied", (kind,), {"__getattribute__": spy})())
    known = {"a", "b", "c", "slope", "_shown", "_Private__private", "_Base__private", "unused"}
    assert fields_read(kind, "__hash__") == read & known
    assert fields_read(kind, "__hash__")


@pytest.mark.parametrize("count", [0, 1, 5, 5, 5, 5, 300])
@pytest.mark.parametrize("slots", [False, True])
def test_of_a_dataclass_they_are_those_it_says(count: int, slots: bool) -> None:
    choose = random.Random(count).choice
    made = [
        (f"f{each}", int, field(default=each, hash=choose([None, True, False]), compare=choose([True, False])))
        for each in range(count)
    ]
    kind = make_dataclass("Made", made, unsafe_hash=True, slots=slots)
    counted = {each.name for each in fields(kind) if (each.compare if each.hash is None else each.hash)}
    assert fields_read(kind, "__hash__") == counted


@dataclass(frozen=True)
class Frozen:
    x: int


class Guarded(Base):
    def __setattr__(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)


class Kept(Base):
    def __hash__(self) -> int:
        if self.b is None:
            self.b = hash(self.a)
        return self.b


class KeptInside(Base):
    def key(self) -> int:
        self.b = self.a
        return self.b

    def __hash__(self) -> int:
        return hash((self.key(), self.c))


class KeptBySetattr(Base):
    def __hash__(self) -> int:
        object.__setattr__(self, "b", self.a)
        return self.b


class KeptByProperty(Base):
    @cached_property
    def key(self) -> int:
        return self.a

    def __hash__(self) -> int:
        return hash(self.key)


class Unhashable:
    __hash__ = None  # type: ignore[assignment]


class Still:
    @staticmethod
    def __hash__() -> int:
        return 1


@pytest.mark.parametrize(
    "kind",
    [Frozen, Guarded, Kept, KeptInside, KeptBySetattr, KeptByProperty, Unhashable, Still, object, int, type, Exception],
)
def test_there_may_be_none_that_count(kind: type) -> None:
    assert fields_read(kind, "__hash__") == frozenset()


def test_what_a_class_leaps_over_does_not_count() -> None:
    assert fields_read(Beyond, "__hash__") == {"c"}


def test_there_is_nothing_of_a_method_that_is_not_there() -> None:
    assert fields_read(Base, "missing") == frozenset()


def watched(name: str = "*.__hash__.*", other: str = "", scope: Scope = OWN) -> LawWatchPlanner:
    laws = [rml.compile(LAW.replace("*.__hash__.*", each)) for each in (name, other) if each]
    return LawWatchPlanner(laws, scope)


def test_a_law_is_told_of_their_writes_alone() -> None:
    callee = watched().field("a", Heir)
    assert callee is not None
    assert callee.name == "*.__hash__.*"
    assert callee.wants & (Want.READ | Want.WRITE) == Want.WRITE
    assert watched().field("unused", Heir) is None
    assert watched().field("a", Kept) is None


def test_only_writes_are_looked_at() -> None:
    plan = watched().plan(Base.__init__.__code__, __name__)
    assert plan is not None
    assert {probe.operation for probe in plan.probes} == {Operation.SET_FIELD}
    assert len(plan.probes) == 6
    plan = watched().plan(Base.__hash__.__code__, __name__)
    assert plan is not None
    assert not plan.probes


def test_a_law_may_name_class_and_method() -> None:
    here = watched(f"{__name__}.Through.key.*")
    assert here.field("b", Through) is not None
    assert here.field("b", Explicit) is not None
    assert here.field("b", Inner) is None
    assert here.field("a", Through) is None


def test_who_names_the_field_itself_goes_first() -> None:
    own = f"{__name__}.Base.a"
    callee = watched(other=own).field("a", Heir)
    assert callee is not None
    assert callee.name == own
    scope = Scope(project=OWN.project, fields=(f"{__name__}.Base",))
    callee = watched(scope=scope).field("a", Heir)
    assert callee is not None
    assert callee.name.startswith(__name__)


def test_writes_in_the_program_are_seen() -> None:
    with lawful.watch([rml.compile(LAW, name="written")]) as watch:
        one, lazy = Heir(), Kept()
        one.a = 5
        one.unused = 6
        one.slope += 1
        del one.a
        lazy.a = 7
        hash(lazy)
    lines = [(finding.event or {}).get("class") for finding in watch.findings]
    assert lines == [f"{__name__}.Heir"] * 4  # one by `__init__`


def test_a_write_can_be_prevented() -> None:
    one = Slots()
    with lawful.watch([rml.compile(LAW, name="written")], on_violation="raise"):
        one.b = 2
        with pytest.raises(lawful.Violation):
            one.a = 2
    assert (one.a, one.b) == (1, 2)


def test_what_brought_the_objects_together_is_among_the_evidence() -> None:
    table: dict[Slots, int] = {}
    with lawful.watch(["hashes/key-field-written"]) as watch:
        one, *others = (Slots() for _ in range(100))
        table[one] = 1
        for each in others:
            table[each] = 2
        one.a = 2
    (finding,) = watch.findings
    assert finding.event is not None
    joined = [event for _, event in finding.history if event.get("argIds", [None])[0] == finding.event["targetId"]]
    assert [event["name"] for event in joined] == ["dict.__setitem__"]
    assert joined[0]["line"] < finding.event["line"]
