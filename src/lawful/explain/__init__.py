"""Explain: the automaton of all the ways to an error, learned from a program or traces, and how versions differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lawful.explain.api import diff, explain, merge
    from lawful.explain.automata import Automaton
    from lawful.explain.bounds import Range
    from lawful.explain.comparison import Comparison
    from lawful.explain.explanation import Explanation
    from lawful.explain.settings import ExplainSettings
    from lawful.explain.teacher import Limits

__all__ = ["Automaton", "Comparison", "ExplainSettings", "Explanation", "Limits", "Range", "diff", "explain", "merge"]

_HOMES = {
    "Automaton": "automata",
    "Comparison": "comparison",
    "Explanation": "explanation",
    "Limits": "teacher",
    "Range": "bounds",
    "ExplainSettings": "settings",
    "diff": "api",
    "explain": "api",
    "merge": "api",
}


def __getattr__(name: str) -> object:
    # A process that runs somebody's program imports parts of this package, and nothing that it does not need.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
