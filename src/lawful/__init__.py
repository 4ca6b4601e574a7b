"""Lawful watches programs run and checks what they do against laws.

PYTEST_DONT_REWRITE: as the package of a plugin it would be, and pytest warns if it is imported before pytest is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lawful.lazy_names import lazy_names

if TYPE_CHECKING:
    from lawful import explain as explain
    from lawful.confidence.policy_automaton import Policy as Policy
    from lawful.engine.findings import Finding as Finding
    from lawful.engine.violations import Violation as Violation
    from lawful.errors import LawError as LawError
    from lawful.errors import LawfulError as LawfulError
    from lawful.errors import TraceError as TraceError
    from lawful.events.reader import open_trace as open_trace
    from lawful.laws import grammar as grammar
    from lawful.laws import invariants as invariants
    from lawful.laws import rml as rml
    from lawful.laws.loader import load_law as load_law
    from lawful.laws.protocol import Expectation as Expectation
    from lawful.laws.protocol import Law as Law
    from lawful.laws.protocol import Monitor as Monitor
    from lawful.laws.protocol import Outcome as Outcome
    from lawful.laws.protocol import Verdict as Verdict
    from lawful.learning.learner import Learner as Learner
    from lawful.learning.parameters import Learning as Learning
    from lawful.learning.window_protocol import Anomaly as Anomaly
    from lawful.learning.window_protocol import Rule as Rule
    from lawful.sources.python.emitting import emit as emit
    from lawful.sources.python.scope import Scope as Scope
    from lawful.watching import Sampling as Sampling
    from lawful.watching import Watch as Watch
    from lawful.watching import watch as watch

__version__ = "0.2.0"

# A program that only wants one of these names, and every command of the command line, starts without the rest.
_HOMES = {
    "lawful": "explain",
    "lawful.confidence.policy_automaton": "Policy",
    "lawful.engine.findings": "Finding",
    "lawful.engine.violations": "Violation",
    "lawful.errors": "LawError LawfulError TraceError",
    "lawful.events.reader": "open_trace",
    "lawful.laws": "grammar invariants rml",
    "lawful.laws.loader": "load_law",
    "lawful.laws.protocol": "Expectation Law Monitor Outcome Verdict",
    "lawful.learning.learner": "Learner",
    "lawful.learning.parameters": "Learning",
    "lawful.learning.window_protocol": "Anomaly Rule",
    "lawful.sources.python.emitting": "emit",
    "lawful.sources.python.scope": "Scope",
    "lawful.watching": "Sampling Watch watch",
}
__getattr__, __dir__, _names = lazy_names(__name__, _HOMES)
__all__ = [*_names, "__version__"]
