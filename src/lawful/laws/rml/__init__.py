"""RML: trace expressions over events that are JSON objects (`compile` a law, then `check` or `monitor`)."""

from lawful.laws.rml.law import RmlLaw, compile
from lawful.laws.rml.monitor import RmlMonitor

__all__ = ["RmlLaw", "RmlMonitor", "compile"]
