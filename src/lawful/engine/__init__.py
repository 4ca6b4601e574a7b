"""One run: traces, or the events of a running program, go through the monitors of laws, and findings come out."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lawful.engine.findings import Finding, Numbered
    from lawful.engine.run import LawRun
    from lawful.engine.trace_run import LawResult, TraceRun, TraceSettings

__all__ = ["Finding", "LawResult", "LawRun", "Numbered", "TraceRun", "TraceSettings"]

# A program that is watched must not wait for what only traces need.
_HOMES = {
    "Finding": "findings",
    "LawResult": "trace_run",
    "LawRun": "run",
    "Numbered": "findings",
    "TraceRun": "trace_run",
    "TraceSettings": "trace_run",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
