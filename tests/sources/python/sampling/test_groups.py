"""What belongs to which group, and what others want, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lawful.laws import rml
from lawful.laws.protocol import Law
from lawful.sources.python.scope import Scope
from lawful.sources.python.tracer_protocol import Sampling, Want
from lawful.sources.python.watch_planner import LawWatchPlanner
from sources.python.sampling.programs import (
    law,
)


def watched(*rules: Law, sampling: Sampling, **scope: Any) -> LawWatchPlanner:
    return LawWatchPlanner(rules, Scope(project=Path(__file__).parent, **scope), sampling=sampling)


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
    assert plan.may_create
    assert [(probe.groups, probe.may_create) for probe in plan.probes] == [((4,), False)]
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
    # A static method does not belong to an object.
    alone = wanted.plan(Thing.alone.__code__, __name__)
    assert alone is not None
    assert alone.callee is not None
    assert (alone.callee.group, alone.groups) == (0, ())


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
