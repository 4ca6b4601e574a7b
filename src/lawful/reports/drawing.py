"""A drawing of states and arrows that is bound to no format; `dot`, `mermaid` and `automaton_svg` write it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Role = Literal["plain", "good", "lost", "bad"]
"""What a reader should see at once: nothing special; all is well for ever; it is too late; it went wrong."""

LABEL_WIDTH = 36


@dataclass(frozen=True, slots=True)
class Node:
    """A state. Its name is what edges and clusters know it by, and is not shown."""

    name: str
    label: str  # may have several lines
    start: bool = False
    accepting: bool = False
    role: Role = "plain"
    detail: str = ""  # what a pointer resting on it shows, where the format can
    round: bool = False  # a circle, as automata have them in books, or a box


@dataclass(frozen=True, slots=True)
class Edge:
    """An arrow between two nodes."""

    source: str
    target: str
    label: str = ""
    dashed: bool = False
    role: Role = "plain"
    bold: bool = False
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Nodes in a frame with a title; a node is in one cluster at most."""

    label: str
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Drawing:
    """Nodes, the edges between them, and frames around some of them."""

    title: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    clusters: tuple[Cluster, ...] = ()

    def loose(self) -> list[Node]:
        """The nodes that are in no cluster."""
        framed = {name for cluster in self.clusters for name in cluster.nodes}
        return [node for node in self.nodes if node.name not in framed]

    def members(self, cluster: Cluster) -> list[Node]:
        return [node for node in self.nodes if node.name in cluster.nodes]

    def identifiers(self) -> dict[str, str]:
        """For each node a word that is safe in every format."""
        return {node.name: f"s{number}" for number, node in enumerate(self.nodes)}


def listed(labels: Sequence[str], width: int = LABEL_WIDTH) -> str:
    """Labels of parallel arrows as one, broken into lines between labels where it gets long."""
    lines: list[str] = []
    for label in labels:
        if lines and len(lines[-1]) + len(label) + 2 <= width:
            lines[-1] += f", {label}"
        else:
            lines.append(label)
    return ",\n".join(lines)


def shortened(text: str, width: int = LABEL_WIDTH, lines: int = 2) -> str:
    """A long text on a few lines, the rest left out."""
    return "\n".join(
        textwrap.wrap(text, width, max_lines=lines, placeholder=" …", break_long_words=True, break_on_hyphens=False)
    )
