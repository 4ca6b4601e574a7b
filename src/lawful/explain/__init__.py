"""Explain: the automaton of all the ways to an error, learned from a program or traces, and how versions differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lawful.lazy_names import lazy_names

if TYPE_CHECKING:
    from lawful.explain.api import diff, explain, merge
    from lawful.explain.automata import Automaton
    from lawful.explain.bounds import Range
    from lawful.explain.comparison import Comparison
    from lawful.explain.explanation import Explanation
    from lawful.explain.settings import ExplainSettings
    from lawful.explain.teacher import Limits

__all__ = ["Automaton", "Comparison", "ExplainSettings", "Explanation", "Limits", "Range", "diff", "explain", "merge"]

# A process that runs the explained program imports parts of this package, and nothing that it does not need.
_HOMES = {
    "lawful.explain.api": "diff explain merge",
    "lawful.explain.automata": "Automaton",
    "lawful.explain.bounds": "Range",
    "lawful.explain.comparison": "Comparison",
    "lawful.explain.explanation": "Explanation",
    "lawful.explain.settings": "ExplainSettings",
    "lawful.explain.teacher": "Limits",
}
__getattr__, __dir__, _ = lazy_names(__name__, _HOMES)
