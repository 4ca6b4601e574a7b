"""A fixture that runs each test of a module with every core there is."""

from __future__ import annotations

import pytest

from lawful.sources.python import tracer_choice


@pytest.fixture(params=tracer_choice.available(), autouse=True)
def core(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    choose = tracer_choice.choose
    monkeypatch.setattr(tracer_choice, "choose", lambda wanted="": choose(wanted or request.param))
    name: str = request.param
    return name
