"""Explanations and comparisons in the language of Graphviz."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lawful.reports import dot
from lawful.reports.automaton_drawing import drawing

if TYPE_CHECKING:
    from lawful.explain.comparison import Comparison
    from lawful.explain.explanation import Explanation


def render(explained: Explanation | Comparison) -> str:
    """The picture as one directed graph, with a newline at its end."""
    return dot.render(drawing(explained))
