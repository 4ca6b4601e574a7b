"""Both tracers, and all planners, have what the protocol declares, with the same signatures."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest

from lawful.sources.actors.messages import MessageSource
from lawful.sources.python import tracer_choice
from lawful.sources.python.children import ProcessWatchPlanner
from lawful.sources.python.scope import Scope
from lawful.sources.python.tracer_protocol import Tracer, TracerFactory, WatchPlanner
from lawful.sources.python.watch_planner import LawWatchPlanner


def declared(protocol: type) -> tuple[dict[str, FunctionType], set[str]]:
    """The methods of a protocol, and the names of its attributes and properties."""
    own = {name: value for name, value in vars(protocol).items() if not name.startswith("_")}
    methods = {name: value for name, value in own.items() if isinstance(value, FunctionType)}
    properties = {name for name, value in own.items() if isinstance(value, property)}
    return methods, properties | set(protocol.__annotations__)


def parameters(function: Callable[..., Any], *, bound: bool = False) -> list[tuple[str, object]]:
    """Names and defaults, without `self`."""
    found = [(each.name, each.default) for each in inspect.signature(function).parameters.values()]
    return found if bound or not found or found[0][0] != "self" else found[1:]


METHODS, ATTRIBUTES = declared(Tracer)
PLANNER_METHODS, PLANNER_ATTRIBUTES = declared(WatchPlanner)


def planners() -> list[Any]:
    plain = LawWatchPlanner([], Scope())
    return [plain, MessageSource(plain, [], {}), ProcessWatchPlanner(plain)]


@pytest.mark.parametrize("core", tracer_choice.available())
def test_a_tracer_is_made_as_declared(core: str) -> None:
    options = {name for name, _ in parameters(TracerFactory.__call__)} - {"planner", "deliver"}
    make: Any = tracer_choice.choose(core).make
    assert options <= {name for name, _ in parameters(make, bound=True)}


@pytest.mark.parametrize("core", tracer_choice.available())
@pytest.mark.parametrize("name", sorted(METHODS))
def test_a_tracer_has_the_declared_methods(core: str, name: str) -> None:
    tracer: Any = tracer_choice.choose(core).make(LawWatchPlanner([], Scope()), lambda batch: None)
    assert parameters(getattr(tracer, name), bound=True) == parameters(METHODS[name])


@pytest.mark.parametrize("core", tracer_choice.available())
def test_a_tracer_has_the_declared_attributes(core: str) -> None:
    tracer = tracer_choice.choose(core).make(LawWatchPlanner([], Scope()), lambda batch: None)
    assert {name for name in ATTRIBUTES if not hasattr(tracer, name)} == set()
    assert tracer.name == core


@pytest.mark.parametrize("planner", planners(), ids=lambda planner: type(planner).__name__)
def test_a_planner_has_what_is_declared(planner: Any) -> None:
    for name, method in PLANNER_METHODS.items():
        assert parameters(getattr(planner, name), bound=True) == parameters(method), name
    assert {name for name in PLANNER_ATTRIBUTES if not hasattr(planner, name)} == set()
