"""Drawings in the language of Mermaid, which many Markdown viewers show as pictures."""

from __future__ import annotations

from collections.abc import Iterator

from lawful.diagnostics import printable
from lawful.reports.drawing import Drawing, Edge, Node
from lawful.reports.svg import flat

_CLASSES = {
    "good": "fill:#dcefdc,stroke:#2e7d32",
    "lost": "fill:#eeeeee,stroke:#888888",
    "bad": "fill:#f6d5d5,stroke:#b3261e",
}


def render(drawing: Drawing) -> str:
    """The drawing as a flowchart, with a newline at its end; its title is a comment."""
    return "".join(f"{line}\n" for line in _lines(drawing))


def quote(text: str) -> str:
    """A quoted text: whatever might mean something to Mermaid, Markdown or HTML stands as its code."""
    return '"' + "<br/>".join("".join(map(_character, printable(line))) for line in text.split("\n")) + '"'


def _character(char: str) -> str:
    return char if char.isalnum() or char in " ,()" else f"#{ord(char)};"


def _lines(drawing: Drawing) -> Iterator[str]:
    ids = drawing.identifiers()
    yield "flowchart LR"
    # Two letters of a comment's syntax inside it would not end it, but braces are read even there.
    yield f"  %% {flat(drawing.title).translate({123: '(', 125: ')'})}"
    for node in drawing.loose():
        yield f"  {_node(node, ids[node.name])}"
    for number, cluster in enumerate(drawing.clusters):
        yield f"  subgraph c{number}[{quote(cluster.label)}]"
        for node in drawing.members(cluster):
            yield f"    {_node(node, ids[node.name])}"
        yield "  end"
    for node in drawing.nodes:
        if node.start:
            yield f"  {ids[node.name]}start(( )) --> {ids[node.name]}"
    for edge in drawing.edges:
        yield f"  {ids[edge.source]} {_arrow(edge)} {ids[edge.target]}"
    for role in dict.fromkeys(node.role for node in drawing.nodes if node.role != "plain"):
        yield f"  classDef {role} {_CLASSES[role]}"


def _node(node: Node, name: str) -> str:
    # Mermaid has no doubled box with round corners; the one with doubled sides comes nearest.
    before, after = ("[[", "]]") if node.accepting else ("(", ")")
    if node.round:
        before, after = ("(((", ")))") if node.accepting else ("((", "))")
    return f"{name}{before}{quote(node.label)}{after}{'' if node.role == 'plain' else f':::{node.role}'}"


def _arrow(edge: Edge) -> str:
    arrow = "==>" if edge.bold else "-.->" if edge.dashed else "-->"
    return f"{arrow}|{quote(edge.label)}|" if edge.label else arrow
