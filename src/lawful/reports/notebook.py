"""Explanations and comparisons in notebooks: `%load_ext lawful.reports.notebook` shows them as pages to ask."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from lawful.reports import automaton_svg, explained_html

if TYPE_CHECKING:
    from lawful.explain.comparison import Comparison
    from lawful.explain.explanation import Explanation

_HIGH = 720  # pixels
_SHOWN = (("lawful.explain.explanation", "Explanation"), ("lawful.explain.comparison", "Comparison"))


def svg(explained: Explanation | Comparison) -> str:
    """The picture alone: what `_repr_svg_` should give."""
    return automaton_svg.render(explained)


def html(explained: Explanation | Comparison) -> str:
    """The page in a frame: what `_repr_html_` should give. Page and notebook cannot reach into each other."""
    page = escape(explained_html.render(explained))
    return f'<iframe sandbox="allow-scripts" width="100%" height="{_HIGH}" srcdoc="{page}"></iframe>'


def load_ipython_extension(ipython: Any) -> None:
    """What IPython calls for `%load_ext`. Viewers that run no scripts take the picture."""
    formatters = ipython.display_formatter.formatters
    for module, name in _SHOWN:
        formatters["text/html"].for_type_by_name(module, name, html)
        formatters["image/svg+xml"].for_type_by_name(module, name, svg)
