"""Programs run under a tracer, with one parameter for every core there is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from lawful.sources.python import tracer_choice
from lawful.sources.python.tracer_protocol import Event, Tracer, Want
from sources.python.by_name import FILE, MODULE, ByName

Start = Callable[..., Tracer]


@pytest.fixture(params=tracer_choice.available())
def make(request: pytest.FixtureRequest) -> Iterator[Start]:
    """Makes tracers of one core. They are stopped in the end."""
    made: list[Tracer] = []

    def create(
        deliver: Callable[[list[Event]], None],
        *,
        calls: dict[str, Want] | None = None,
        own: dict[str, Want] | None = None,
        **options: Any,
    ) -> Tracer:
        wanted = ByName(calls or {}, own or {})
        tracer = tracer_choice.choose(request.param).make(wanted, deliver, **{"flush_at": 1000, **options})
        made.append(tracer)
        return tracer

    yield create
    for tracer in made:
        tracer.stop()


@pytest.fixture
def prog() -> Iterator[Callable[[str], ModuleType]]:
    """Runs a text as the module `prog`."""

    def run(source: str) -> ModuleType:
        module = ModuleType(MODULE)
        sys.modules[MODULE] = module
        exec(compile(source, FILE, "exec"), module.__dict__)
        return module

    yield run
    sys.modules.pop(MODULE, None)
