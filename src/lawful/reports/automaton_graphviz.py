"""Placing by Graphviz, where it is installed: Lawful gives it sizes, reads positions, and draws itself."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from typing import Any

from lawful.reports.automaton_layers import Link, StateShape
from lawful.reports.automaton_layout import START, AutomatonLayout, Point, Route

SECONDS = 5.0
_INCH = 72.0


def placed(
    shapes: Sequence[StateShape], links: Sequence[Link], *, start: int = 0, down: bool = False, program: str = "dot"
) -> AutomatonLayout | None:
    """The layout by Graphviz; None if it is not there, takes too long, or answers what cannot be read."""
    found = shutil.which(program)
    if found is None:
        return None
    source = "".join(_lines(shapes, links, start, down))
    try:
        answer = subprocess.run(
            [found, "-Tjson0"], input=source.encode(), capture_output=True, timeout=SECONDS, check=True
        )
        return _read(json.loads(answer.stdout), shapes, len(links), start)
    except (OSError, subprocess.SubprocessError, ValueError, LookupError, TypeError):
        return None  # the layout of our own does as well


def _lines(shapes: Sequence[StateShape], links: Sequence[Link], start: int, down: bool) -> Iterator[str]:
    yield f"digraph {{ rankdir={'TB' if down else 'LR'}; nodesep=0.25; ranksep=0.3; margin=0\n"
    yield 'node [fixedsize=true, label=""]\n'
    yield "edge [arrowhead=none]\n"
    yield 'start [shape=point, width=0.01, label=""]\n'
    for state, shape in enumerate(shapes):
        size = f"width={shape.width / _INCH:.4f}, height={shape.height / _INCH:.4f}"
        yield f"n{state} [shape={'circle' if shape.round else 'box'}, {size}]\n"
    yield f"start -> n{start} [weight=4]\n"
    for number, link in enumerate(links):
        # Graphviz puts labels at their lines without any space between.
        size = f'WIDTH="{round(link.width) + 10}" HEIGHT="{round(link.height) + 6}"'
        table = f'<<TABLE BORDER="0" CELLBORDER="0" CELLPADDING="0" FIXEDSIZE="TRUE" {size}><TR><TD></TD></TR></TABLE>>'
        yield f'n{link.source} -> n{link.target} [id="e{number}", label={table}]\n'
    yield "}\n"


def _read(graph: Any, shapes: Sequence[StateShape], links: int, start: int) -> AutomatonLayout:
    left, bottom, right, top = map(float, graph["bb"].split(","))
    edge = 10.0

    def point(text: str) -> Point:
        x, y = map(float, text.split(","))
        return (x - left + edge, top - y + edge)

    centres = {each["name"]: point(each["pos"]) for each in graph["objects"]}
    routes: dict[str, Route] = {}
    for each in graph["edges"]:
        if "id" in each:
            points = tuple(point(part) for part in each["pos"].split() if part[0] not in "es")
            if len(points) % 3 != 1:
                raise ValueError("no sequence of curves")
            routes[each["id"]] = Route(points, point(each["lp"]))
    first, nowhere = centres[f"n{start}"], centres["start"]
    length = max(1.0, sum((one - other) ** 2 for one, other in zip(first, nowhere, strict=True)) ** 0.5)
    ahead = ((first[0] - nowhere[0]) / length, (first[1] - nowhere[1]) / length)
    # The arrow from nowhere comes almost along an axis: half of the size on that one is how far the border is.
    shape = shapes[start]
    border = (shape.width if abs(ahead[0]) > abs(ahead[1]) else shape.height) / 2
    tip = (first[0] - ahead[0] * border, first[1] - ahead[1] * border)
    back = min(length - border, START)
    return AutomatonLayout(
        right - left + 2 * edge,
        top - bottom + 2 * edge,
        tuple(centres[f"n{state}"] for state in range(len(shapes))),
        tuple(routes[f"e{number}"] for number in range(links)),
        ((tip[0] - ahead[0] * back, tip[1] - ahead[1] * back), tip),
    )
