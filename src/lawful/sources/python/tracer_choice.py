"""The choice of the tracer core, and why others were refused."""

from __future__ import annotations

import platform
from typing import NamedTuple, cast

from lawful import core
from lawful.errors import LawfulError
from lawful.sources.python.tracer_protocol import TracerFactory

NAMES = ("monitoring", "python")
"""Best first."""


class Core(NamedTuple):
    """A core that works here, and the better ones that do not, each with the reason."""

    name: str
    make: TracerFactory
    refusals: tuple[tuple[str, str], ...]


def choose(wanted: str = "") -> Core:
    """The best core that works here, or the named one."""
    if wanted not in ("", *NAMES):
        raise LawfulError("core-unknown", f"unknown core {wanted!r}", hint=f"use {' or '.join(NAMES)}")
    refusals: list[tuple[str, str]] = []
    for name in (wanted,) if wanted else NAMES:
        factory, refusal = _try(name)
        if factory is not None:
            return Core(name, factory, tuple(refusals))
        refusals.append((name, refusal))
    raise LawfulError(
        "core-missing",
        f"cannot use the core {wanted!r}: {refusals[0][1]}",
        hint="leave out the setting `core`, or build the C core with `make venv`, which needs a C compiler",
    )


def available() -> list[str]:
    """The cores that work here, best first."""
    return [name for name in NAMES if _try(name)[0] is not None]


def describe() -> str:
    """The line of `lawful --version` about the core."""
    chosen = choose()
    if chosen.name != "python":
        return f"watching with {chosen.name} core"
    from lawful.sources.python import frames

    reasons = "; ".join(f"{name}: {reason}" for name, reason in chosen.refusals)
    _, blind = frames.reader()
    sight = "" if blind is None else f", calls only: {blind}"
    return f"watching with python core{sight} ({reasons})"


def _try(name: str) -> tuple[TracerFactory | None, str]:
    if name == "python":
        from lawful.sources.python.pytracer import PythonTracer  # not needed beside the C core

        return PythonTracer, ""
    if core.native is None:
        return None, core.refusal or "not built"
    if core.native_tracer is None:
        return None, f"the C tracer needs CPython 3.12 or 3.13, and this is {platform.python_version()}"
    return cast(TracerFactory, core.native_tracer.Tracer), ""
