"""RML: trace expressions over events that are JSON objects (`compile` a law, then `check` or `monitor`)."""

from lawful.laws.rml.law import RmlLaw, RmlMonitor, compile

__all__ = ["RmlLaw", "RmlMonitor", "compile"]
