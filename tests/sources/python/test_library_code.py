"""Library code that a law comes to name while the program runs is seen, whatever it calls itself."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from lawful.laws.rml import compile as law
from lawful.sources.python import tracer_choice
from lawful.sources.python.children import ProcessWatchPlanner
from lawful.sources.python.scope import Scope
from lawful.sources.python.tracer_protocol import Event, Tracer
from lawful.sources.python.watch_planner import LawWatchPlanner

LAW = law(
    "shut(f) matches {event:'func_pre', name:'library.Door.close', targetId:f}; Main = shut(_)*;", name="doors.rml"
)
LIBRARY = """
class Door:
    def open(self): pass
    def close(self): pass

def shut(self): pass
"""
PROGRAM = """
def close(door): door.close()
"""


@pytest.fixture
def library(tmp_path: Path) -> Iterator[ModuleType]:
    yield module("library", LIBRARY, tmp_path / "elsewhere" / "library.py")
    del sys.modules["library"]


def module(name: str, text: str, path: Path) -> ModuleType:
    made = ModuleType(name)
    sys.modules[name] = made
    exec(compile(text, str(path), "exec"), vars(made))
    return made


def watch(tracer_core: str, folder: Path, events: list[Event]) -> Tracer:
    planner = LawWatchPlanner([LAW], Scope(project=folder / "program"))
    return tracer_choice.choose(tracer_core).make(ProcessWatchPlanner(planner), events.extend)


@pytest.mark.parametrize("tracer_core", tracer_choice.available())
def test_what_a_law_names_is_seen_whatever_it_calls_itself(
    tracer_core: str, library: ModuleType, tmp_path: Path
) -> None:
    events: list[Event] = []
    tracer = watch(tracer_core, tmp_path, events)
    tracer.start()
    try:
        library.Door().open()
        library.Door.close = library.shut
        library.Door().close()
    finally:
        tracer.stop()
    assert tracer.fault is None
    assert [event["name"] for event in events] == ["library.Door.close"]


@pytest.mark.parametrize("tracer_core", tracer_choice.available())
def test_what_ran_before_it_was_named_is_seen_where_it_is_called(
    tracer_core: str, library: ModuleType, tmp_path: Path
) -> None:
    program = module("program", PROGRAM, tmp_path / "program" / "program.py")
    events: list[Event] = []
    tracer = watch(tracer_core, tmp_path, events)
    tracer.start()
    try:
        library.shut(None)  # it has its plan now
        library.Door.close = library.shut
        program.close(library.Door())
    finally:
        tracer.stop()
        del sys.modules["program"]
    assert tracer.fault is None
    assert [event["name"] for event in events] == ["library.Door.close"]
