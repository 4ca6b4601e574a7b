"""Code of libraries in which nothing can be seen is dismissed by the C core, and by nothing else than that."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, ModuleType

import pytest

from lawful import core
from lawful.laws.rml import compile as law
from lawful.sources.python import tracer_choice
from lawful.sources.python.children import ProcessWatchPlanner
from lawful.sources.python.scope import Scope
from lawful.sources.python.tracer_protocol import CodePlan, Event
from lawful.sources.python.watch_planner import LawWatchPlanner

LAW = law(
    "shut(f) matches {event:'func_pre', name:'library.Door.close', targetId:f}; Main = shut(_)*;", name="doors.rml"
)
LIBRARY = """
import os

class Door:
    def open(self): pass
    def close(self): pass

def first(): pass
def plain(): return [n for n in range(3)]
def shut(self): pass
def leave(): os._exit
def stop(): os.kill
"""
PROGRAM = """
def close(door): door.close()
"""

pytestmark = pytest.mark.skipif(core.native_tracer is None, reason="there is no C core")


class Counting(LawWatchPlanner):
    """Counts what it is asked about."""

    def __init__(self, folder: Path, scope: Scope) -> None:
        super().__init__([LAW], scope)
        self.asked: Counter[str] = Counter()

    def plan(self, code: CodeType, module: str) -> CodePlan | None:
        if module == "library":
            self.asked[code.co_qualname] += 1
        return super().plan(code, module)


@pytest.fixture
def library(tmp_path: Path) -> Iterator[ModuleType]:
    yield module("library", LIBRARY, tmp_path / "elsewhere" / "library.py")
    del sys.modules["library"]


def module(name: str, text: str, path: Path) -> ModuleType:
    made = ModuleType(name)
    sys.modules[name] = made
    exec(compile(text, str(path), "exec"), vars(made))
    return made


def tracers() -> list[str]:
    return [name for name in tracer_choice.available() if name != "python"]


@pytest.mark.parametrize("tracer_core", tracers())
def test_only_what_may_be_of_interest_is_asked_about(tracer_core: str, library: ModuleType, tmp_path: Path) -> None:
    watched = Counting(tmp_path, Scope(project=tmp_path / "program"))
    events: list[Event] = []
    tracer = tracer_choice.choose(tracer_core).make(ProcessWatchPlanner(watched), events.extend)
    tracer.start()
    try:
        library.first()
        library.plain()
        door = library.Door()
        door.open()
        door.close()
        library.leave()
        library.stop()
    finally:
        tracer.stop()
    assert tracer.fault is None
    # The first tells whose file it is; the others have, or use, a name that somebody waits for.
    assert watched.asked == {"first": 1, "Door.close": 1, "leave": 1, "stop": 1}
    assert [event["name"] for event in events] == ["library.Door.close"]
    planned = {name: watched.codes.planned(getattr(library, name).__code__) for name in ("first", "plain", "shut")}
    assert planned["plain"] is not None
    assert not planned["plain"].reports
    assert planned["first"] == planned["plain"]
    assert planned["shut"] is None  # it has not run


@pytest.mark.parametrize("tracer_core", tracers())
def test_what_a_law_names_is_not_dismissed_whatever_it_calls_itself(
    tracer_core: str, library: ModuleType, tmp_path: Path
) -> None:
    watched = Counting(tmp_path, Scope(project=tmp_path / "program"))
    events: list[Event] = []
    tracer = tracer_choice.choose(tracer_core).make(ProcessWatchPlanner(watched), events.extend)
    tracer.start()
    try:
        library.first()
        library.plain()
        library.Door.close = library.shut
        library.Door().close()
    finally:
        tracer.stop()
    assert [event["name"] for event in events] == ["library.Door.close"]
    assert watched.asked["shut"] == 1


@pytest.mark.parametrize("tracer_core", tracers())
def test_what_was_dismissed_and_then_named_is_seen_where_it_is_called(
    tracer_core: str, library: ModuleType, tmp_path: Path
) -> None:
    program = module("program", PROGRAM, tmp_path / "program" / "program.py")
    watched = Counting(tmp_path, Scope(project=tmp_path / "program"))
    events: list[Event] = []
    tracer = tracer_choice.choose(tracer_core).make(ProcessWatchPlanner(watched), events.extend)
    tracer.start()
    try:
        library.first()
        library.shut(None)  # it has its plan now
        library.Door.close = library.shut
        program.close(library.Door())
    finally:
        tracer.stop()
        del sys.modules["program"]
    assert watched.asked["shut"] == 0
    assert [event["name"] for event in events] == ["library.Door.close"]


@pytest.mark.parametrize("scope", [{"public": ("library",)}, {"public": ("library",), "calls": ("stdlib",)}])
def test_who_wants_more_than_names_is_asked_about_all(scope: dict[str, tuple[str, ...]], tmp_path: Path) -> None:
    assert LawWatchPlanner([LAW], Scope(**scope, project=tmp_path)).library_filter is None
    assert LawWatchPlanner([LAW], Scope(project=tmp_path), learn=True).library_filter is None
    assert LawWatchPlanner([LAW], Scope(calls=("stdlib",), project=tmp_path)).library_filter is not None


@pytest.mark.parametrize("tracer_core", tracers())
def test_two_at_once_have_notes_of_their_own(tracer_core: str, library: ModuleType, tmp_path: Path) -> None:
    both = [Counting(tmp_path, Scope(project=tmp_path / "program")) for _ in range(2)]
    tracers = [tracer_choice.choose(tracer_core).make(ProcessWatchPlanner(each), lambda batch: None) for each in both]
    for tracer in tracers:
        tracer.start()
    try:
        library.first()
        library.plain()
    finally:
        for tracer in tracers:
            tracer.stop()
    assert all(each.codes.planned(library.plain.__code__) is not None for each in both)
    assert sum(each.asked["plain"] for each in both) == 1
