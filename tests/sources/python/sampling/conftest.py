"""Programs that are own code, and tracers of every core."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from lawful.laws.protocol import Law
from lawful.sources.python import tracer_choice
from lawful.sources.python.scope import Scope
from lawful.sources.python.tracer_protocol import Event, Sampling
from lawful.sources.python.watch_planner import LawWatchPlanner

Load = Callable[[str], ModuleType]
Make = Callable[..., Any]


@pytest.fixture
def load(tmp_path: Path) -> Iterator[Load]:
    """Runs a text as the module `prog`, which is own code."""

    def run(source: str) -> ModuleType:
        path = tmp_path / "prog.py"
        path.write_text(source, encoding="utf-8")
        module = ModuleType("prog")
        sys.modules["prog"] = module
        exec(compile(source, str(path), "exec"), module.__dict__)
        return module

    yield run
    sys.modules.pop("prog", None)


@pytest.fixture(params=tracer_choice.available())
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """Makes tracers of one core. They are stopped in the end."""
    made: list[Any] = []

    def create(events: list[Event], laws: list[Law], sampling: Sampling | None, **options: Any) -> Any:
        on_seen = options.pop("on_seen", None)
        wanted = LawWatchPlanner(laws, Scope(project=tmp_path), sampling=sampling)
        wanted.on_seen = on_seen
        options.setdefault("flush_at", 1000)
        tracer = tracer_choice.choose(request.param).make(wanted, events.extend, **options)
        made.append(tracer)
        return tracer

    yield create
    for tracer in made:
        tracer.stop()
