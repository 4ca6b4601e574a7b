"""One run: traces, or the events of a running program, go through the monitors of laws, and findings come out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lawful.lazy_names import lazy_names

if TYPE_CHECKING:
    from lawful.engine.findings import Finding, Numbered
    from lawful.engine.run import LawRun
    from lawful.engine.trace_run import LawResult, TraceRun, TraceSettings

__all__ = ["Finding", "LawResult", "LawRun", "Numbered", "TraceRun", "TraceSettings"]

# A program that is watched must not wait for what only traces need.
_HOMES = {
    "lawful.engine.findings": "Finding Numbered",
    "lawful.engine.run": "LawRun",
    "lawful.engine.trace_run": "LawResult TraceRun TraceSettings",
}
__getattr__, __dir__, _ = lazy_names(__name__, _HOMES)
