"""One run: traces go through the monitors of laws, and findings come out."""

from lawful.engine.findings import Finding, Numbered
from lawful.engine.run import Case, Settings, TraceRun

__all__ = ["Case", "Finding", "Numbered", "Settings", "TraceRun"]
