"""Drawings in the language of Graphviz."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lawful.diagnostics import printable
from lawful.reports.drawing import Drawing, Edge, Node

_NODE_COLOURS = {"good": "#dcefdc", "lost": "#eeeeee", "bad": "#f6d5d5"}
_EDGE_COLOURS = {"good": "#2e7d32", "lost": "#888888", "bad": "#b3261e"}

# A label is not quite text: a backslash begins an escape, and Graphviz reads HTML's entities in it.
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "&": "&amp;"})


def render(drawing: Drawing) -> str:
    """The drawing as one directed graph, with a newline at its end."""
    return "".join(f"{line}\n" for line in _lines(drawing))


def quote(text: str) -> str:
    """A string of the language that is shown as this text, line by line."""
    return '"' + r"\n".join(printable(line).translate(_ESCAPES) for line in text.split("\n")) + '"'


def _lines(drawing: Drawing) -> Iterator[str]:
    ids = drawing.identifiers()
    yield f"digraph {quote(drawing.title)} {{"
    yield "  rankdir=LR"
    yield '  node [shape=box, style="rounded,filled", fillcolor=white, fontname="Helvetica", fontsize=11]'
    yield '  edge [fontname="Helvetica", fontsize=10]'
    for node in drawing.loose():
        yield from _node(node, ids, "  ")
    for number, cluster in enumerate(drawing.clusters):
        yield f"  subgraph cluster_{number} {{"
        yield f"    label={quote(cluster.label)}"
        yield '    style=rounded; color="#888888"; fontname="Helvetica"; fontsize=11'
        for node in drawing.members(cluster):
            yield from _node(node, ids, "    ")
        yield "  }"
    for edge in drawing.edges:
        yield f"  {ids[edge.source]} -> {ids[edge.target]}{_edge_attributes(edge)}"
    yield "}"


def _node(node: Node, ids: Mapping[str, str], indent: str) -> Iterator[str]:
    name = ids[node.name]
    attributes = {"label": quote(node.label)}
    if node.round:
        attributes["shape"] = "circle"
    if node.accepting:
        attributes["peripheries"] = "2"
    if node.role != "plain":
        attributes["fillcolor"] = quote(_NODE_COLOURS[node.role])
    if node.detail:
        attributes["tooltip"] = quote(node.detail)
    yield f"{indent}{name}{_bracketed(attributes)}"
    if node.start:
        yield f'{indent}{name}_start [shape=point, width=0.12, fillcolor=black, label=""]'
        yield f"{indent}{name}_start -> {name}"


def _edge_attributes(edge: Edge) -> str:
    attributes = {}
    if edge.label:
        attributes["label"] = quote(edge.label)
    if edge.dashed:
        attributes["style"] = "dashed"
    if edge.role != "plain":
        attributes["color"] = attributes["fontcolor"] = quote(_EDGE_COLOURS[edge.role])
    if edge.bold:
        attributes |= {"penwidth": "2.4", "fontname": quote("Helvetica-Bold")}
    if edge.detail:
        attributes["tooltip"] = attributes["labeltooltip"] = quote(edge.detail)
    return _bracketed(attributes)


def _bracketed(attributes: Mapping[str, str]) -> str:
    return f" [{', '.join(f'{key}={value}' for key, value in attributes.items())}]" if attributes else ""
