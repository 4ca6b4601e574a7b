"""Lawful watches programs run and checks what they do against laws.

PYTEST_DONT_REWRITE: as the package of a plugin it would be, and pytest warns if it is imported before pytest is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lawful import explain
    from lawful.engine.findings import Finding
    from lawful.engine.violations import Violation
    from lawful.errors import LawError, LawfulError, TraceError
    from lawful.laws import grammar, invariants, rml
    from lawful.laws.invariants import invariant
    from lawful.laws.loader import load_law
    from lawful.laws.protocol import Law, Monitor, Outcome, Verdict
    from lawful.learning.learner import Learner
    from lawful.learning.parameters import Parameters
    from lawful.learning.window_protocol import Anomaly, Rule
    from lawful.sources.python.emitting import emit
    from lawful.watching import watch, watched

__version__ = "0.1.0"

__all__ = [
    "Anomaly",
    "Finding",
    "Law",
    "LawError",
    "LawfulError",
    "Learner",
    "Monitor",
    "Outcome",
    "Parameters",
    "Rule",
    "TraceError",
    "Verdict",
    "Violation",
    "__version__",
    "emit",
    "explain",
    "grammar",
    "invariant",
    "invariants",
    "load_law",
    "rml",
    "watch",
    "watched",
]

# Where each public name lives. It is imported when it is first used: a program that only wants one of them, and every
# command of the command line, starts without the rest.
_HOMES = {
    "Anomaly": "lawful.learning.window_protocol",
    "Finding": "lawful.engine.findings",
    "Law": "lawful.laws.protocol",
    "LawError": "lawful.errors",
    "LawfulError": "lawful.errors",
    "Learner": "lawful.learning.learner",
    "Monitor": "lawful.laws.protocol",
    "Outcome": "lawful.laws.protocol",
    "Parameters": "lawful.learning.parameters",
    "Rule": "lawful.learning.window_protocol",
    "TraceError": "lawful.errors",
    "Verdict": "lawful.laws.protocol",
    "Violation": "lawful.engine.violations",
    "emit": "lawful.sources.python.emitting",
    "explain": "lawful",
    "grammar": "lawful.laws",
    "invariant": "lawful.laws.invariants",
    "invariants": "lawful.laws",
    "load_law": "lawful.laws.loader",
    "rml": "lawful.laws",
    "watch": "lawful.watching",
    "watched": "lawful.watching",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    whole = home in ("lawful", "lawful.laws")  # a package is named, not something in it
    value = import_module(f"{home}.{name}") if whole else getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
