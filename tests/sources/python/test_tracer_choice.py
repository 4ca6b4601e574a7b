"""Which tracer core is chosen, and why not another."""

from __future__ import annotations

import platform
from types import SimpleNamespace
from typing import Any

import pytest

from lawful import core
from lawful.errors import LawfulError
from lawful.sources.python import tracer_choice
from lawful.sources.python.pytracer import PythonTracer

BEST = "monitoring"


class Native:
    pass


def use(monkeypatch: pytest.MonkeyPatch, native: Any, refusal: str | None = None) -> None:
    monkeypatch.setattr(core, "native", native)
    monkeypatch.setattr(core, "native_tracer", native if hasattr(native, "Tracer") else None)
    monkeypatch.setattr(core, "refusal", refusal)


def test_without_c(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, None, "LAWFUL_CORE=python")
    chosen = tracer_choice.choose()
    assert chosen.name == "python"
    assert chosen.make is PythonTracer
    assert chosen.refusals == (("monitoring", "LAWFUL_CORE=python"),)
    assert tracer_choice.available() == ["python"]
    assert tracer_choice.describe().startswith("watching with python core")
    assert "LAWFUL_CORE=python" in tracer_choice.describe()


def test_with_c(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, SimpleNamespace(Tracer=Native))
    chosen = tracer_choice.choose()
    assert chosen.name == BEST
    assert chosen.make is Native
    assert tracer_choice.available() == [BEST, "python"]
    assert tracer_choice.describe() == f"watching with {BEST} core"
    assert tracer_choice.choose("python").make is PythonTracer


def test_c_without_a_tracer(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, SimpleNamespace())
    chosen = tracer_choice.choose()
    assert chosen.name == "python"
    assert dict(chosen.refusals)[BEST] == (
        f"the C tracer needs CPython 3.12 or 3.13, and this is {platform.python_version()}"
    )
    assert "needs CPython 3.12" in tracer_choice.describe()
    with pytest.raises(LawfulError, match=r"needs CPython 3\.12") as caught:
        tracer_choice.choose(BEST)
    assert caught.value.slug == "core-missing"


def test_wanted_but_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, None, "not built")
    with pytest.raises(LawfulError, match="not built") as caught:
        tracer_choice.choose(BEST)
    assert caught.value.slug == "core-missing"


def test_unknown() -> None:
    with pytest.raises(LawfulError) as caught:
        tracer_choice.choose("steam")
    assert caught.value.slug == "core-unknown"
