"""Explanations and comparisons in the language of Mermaid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lawful.reports import mermaid
from lawful.reports.automaton_drawing import drawing

if TYPE_CHECKING:
    from lawful.explain.comparison import Comparison
    from lawful.explain.explanation import Explanation


def render(explained: Explanation | Comparison) -> str:
    """The picture as a flowchart, with a newline at its end."""
    return mermaid.render(drawing(explained))
