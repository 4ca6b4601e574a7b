"""A law may name a method of every class, as `*.__hash__`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import lawful
from lawful.laws import rml
from lawful.sources.python.scope import Scope
from lawful.sources.python.tracer_protocol import Want
from lawful.sources.python.watch_planner import LawWatchPlanner

LAW = """
hashed(object, value) matches {event: 'func_post', name: '*.__hash__', targetId: object, res: value};
Main = hashed(_, _)*;
"""


class Plain:
    def __hash__(self) -> int:
        return 1

    def other(self) -> int:
        return 2


class Heir(Plain):
    pass


class Own(Plain):
    def __hash__(self) -> int:
        return 10 + super().__hash__()


@dataclass(unsafe_hash=True)
class Generated:
    x: int


@pytest.fixture
def watched() -> LawWatchPlanner:
    return LawWatchPlanner([rml.compile(LAW)], Scope(project=Path(__file__).parent))


@pytest.mark.parametrize(
    ("function", "receiver"),
    [(Plain.__hash__, Plain), (Plain.__hash__, Heir), (Own.__hash__, Own), (Generated.__hash__, Generated)],
)
def test_methods_of_all_classes_report_themselves(
    watched: LawWatchPlanner, function: Callable[[Any], int], receiver: type
) -> None:
    code = function.__code__
    plan = watched.plan(code, __name__)
    assert plan is not None
    assert plan.callee is not None
    callee = watched.receiver_callee(code, receiver)
    assert callee is not None
    assert callee.name == "*.__hash__"
    assert callee.wants & (Want.POST | Want.RESULT | Want.RECEIVER) == Want.POST | Want.RESULT | Want.RECEIVER


def test_what_is_passed_on_to_a_base_class_does_not(watched: LawWatchPlanner) -> None:
    assert watched.plan(Plain.__hash__.__code__, __name__) is not None
    assert watched.receiver_callee(Plain.__hash__.__code__, Own) is None


def test_no_other_method_does(watched: LawWatchPlanner) -> None:
    plan = watched.plan(Plain.other.__code__, __name__)
    assert plan is None or plan.callee is None


def test_the_calls_of_sets_and_dicts_are_seen() -> None:
    law = rml.compile(LAW.replace("Main = hashed(_, _)*;", "Main = hashed(_, _) >> empty;"), name="hashed")
    with lawful.watch([law]) as watch:
        table = {Own(): 1}
        assert Plain() not in table
        _ = {Generated(3)}
    results = [finding.event["res"] for finding in watch.findings if finding.event is not None]
    assert results == [11, 1, hash(Generated(3))]
