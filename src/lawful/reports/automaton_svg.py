"""Drawings of automata as SVG, light and dark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

from lawful.reports.automaton_drawing import drawings, legend, title
from lawful.reports.automaton_layers import Link, StateShape
from lawful.reports.automaton_layout import AutomatonLayout, Point, Route, layered
from lawful.reports.drawing import Drawing, Edge, Node
from lawful.reports.svg import fit, flat, opening, width, xml

if TYPE_CHECKING:
    from lawful.explain.comparison import Comparison
    from lawful.explain.explanation import Explanation

LETTERS, LINE = 12.0, 15.0  # sizes of letters and of lines, of labels
LEAST_RADIUS = 16.0
WIDEST = 1200.0  # pixels: what is wider is drawn downwards, if that is narrower
_TITLE, _HEAD = 15.0, 34.0
_KIND = 'class="lawful-automaton" '
_INK = "#222222"
_FILLS = {"plain": "#ffffff", "good": "#dcefdc", "lost": "#e3e3e3", "bad": "#f6d5d5"}
_INKS = {"plain": _INK, "good": "#2e7d32", "lost": "#888888", "bad": "#b3261e"}
_STYLE = """@media (prefers-color-scheme: dark) {
.lawful-automaton .paper { fill: #16181c }
.lawful-automaton text { fill: #e6e6e6 }
.lawful-automaton .state :is(circle, rect) { fill: #24272d; stroke: #e6e6e6 }
.lawful-automaton .state.lost :is(circle, rect) { fill: #4a4d55 }
.lawful-automaton .state.bad :is(circle, rect) { fill: #6b2622 }
.lawful-automaton .state.good :is(circle, rect) { fill: #23502a }
.lawful-automaton .line { stroke: #e6e6e6 }
.lawful-automaton .tip { fill: #e6e6e6 }
.lawful-automaton .edge.bad .line { stroke: #ff8a80 }
.lawful-automaton .edge.bad .tip { fill: #ff8a80 }
}"""


def render(explained: Explanation | Comparison) -> str:
    """The picture, or those of all sides of a comparison, as a file's text."""
    drawn = drawings(explained)
    return beside(drawn, title(explained) if len(drawn) > 1 else "", legend(explained))


def beside(drawn: Sequence[Drawing], heading: str = "", legend: Sequence[str] = ()) -> str:
    """Drawings side by side, each below its title, in rows that are not too wide, and a legend; as a file's text.

    Frames are left out.
    """
    panels = [AutomatonPanel.of(each) for each in drawn]
    rows: list[list[AutomatonPanel]] = [[]]
    for panel in panels:
        if rows[-1] and sum(each.room for each in rows[-1]) + panel.room > 1.4 * WIDEST:
            rows.append([])
        rows[-1].append(panel)
    top = _HEAD if heading else 0.0
    heights = [_HEAD + max(panel.layout.height for panel in row) for row in rows]
    wide = max(sum(panel.room for panel in row) for row in rows)
    wide = max([wide, *(min(width(line, LETTERS) + 40, 640.0) for line in legend)])
    wide, high = max(wide, min(width(heading, _TITLE, bold=True) + 20, 960.0)), top + sum(heights)
    high += LINE * len(legend) + 8 if legend else 0
    lines = [
        opening(wide, high, _INK, kind=_KIND),
        f"<title>{xml(heading or panels[0].title)}</title>",
        *([f"<desc>{xml(flat('. '.join(legend)))}</desc>"] if legend else []),
        f"<style>{_STYLE}</style>",
        f'<rect class="paper" width="{wide:.0f}" height="{high:.0f}" fill="#ffffff"/>',
    ]
    if heading:
        lines.append(_headline(wide / 2, 23, heading, wide))
    for row, tall in zip(rows, heights, strict=True):
        left = 0.0
        for panel in row:
            if left:
                lines.append(f'<path class="line" d="M{left:.1f} {top + 8:.1f}v{tall - 16:.1f}" stroke="#999999"/>')
            lines.append(_headline(left + panel.room / 2, top + 23, panel.title, panel.room))
            across = left + (panel.room - panel.layout.width) / 2
            lines += [f'<g transform="translate({across:.1f} {top + _HEAD:.1f})">', *panel.lines(), "</g>"]
            left += panel.room
        top += tall
    for at, line in enumerate(legend):
        shown = xml(fit(flat(line), wide - 16, LETTERS))
        lines.append(
            f'<text class="legend" x="10" y="{top + LINE * (at + 0.8):.1f}" font-size="{LETTERS:g}">{shown}</text>'
        )
    return "\n".join([*lines, "</svg>"]) + "\n"


def inline(drawn: Drawing) -> str:
    """The drawing for a page that has a title and styles of its own, and whose arrows can be chosen."""
    panel = AutomatonPanel.of(drawn)
    role = f'role="group" aria-label="{xml(drawn.title)}"'
    head = opening(panel.layout.width, panel.layout.height, _INK, kind=_KIND, role=role)
    return "\n".join([head, *panel.lines(choosable=True), "</svg>"])


def _headline(x: float, y: float, words: str, room: float) -> str:
    shown = xml(fit(words, room - 12, _TITLE, bold=True))
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{_TITLE:g}" font-weight="bold" text-anchor="middle">{shown}</text>'
    )


@dataclass(frozen=True)
class AutomatonPanel:
    """A drawing and where everything in it is."""

    drawn: Drawing
    layout: AutomatonLayout
    shapes: Sequence[StateShape]

    @property
    def title(self) -> str:
        return flat(self.drawn.title)

    @property
    def room(self) -> float:
        """How wide it is with its title, within reason."""
        return max(self.layout.width, min(width(self.title, _TITLE, bold=True) + 20, 480.0))

    @staticmethod
    def of(drawn: Drawing) -> AutomatonPanel:
        """Places a drawing: to the right if it is not too wide, else downwards if that is narrower."""
        numbers = {node.name: number for number, node in enumerate(drawn.nodes)}
        links = [
            Link(numbers[edge.source], numbers[edge.target], *label_size(edge.label, edge.bold)) for edge in drawn.edges
        ]
        start = next((number for number, node in enumerate(drawn.nodes) if node.start), 0)
        shapes = _shapes(drawn.nodes)
        layout = layered(shapes, links, start=start)
        if layout.width > WIDEST:
            downwards = layered(shapes, links, start=start, down=True)
            layout = downwards if downwards.width < layout.width else layout
        return AutomatonPanel(drawn, layout, shapes)

    def lines(self, *, choosable: bool = False) -> Iterator[str]:
        """All elements; with `choosable`, arrows are buttons for the keyboard and for readers of the screen."""
        for number, (edge, route) in enumerate(zip(self.drawn.edges, self.layout.routes, strict=True)):
            yield from self._edge(number, edge, route, choosable)
        (x0, y0), tip = self.layout.start
        yield '<g class="edge start">'
        line = f"M{x0:.1f} {y0:.1f}L{tip[0]:.1f} {tip[1]:.1f}"
        yield f'<path class="line" d="{line}" stroke="{_INK}" stroke-width="1.3"/>'
        yield f'<path class="tip" d="{arrow_tip((x0, y0), tip, 7)}"/></g>'
        for node, shape, centre in zip(self.drawn.nodes, self.shapes, self.layout.centres, strict=True):
            yield from self._node(node, shape, centre)

    def _edge(self, number: int, edge: Edge, route: Route, choosable: bool) -> Iterator[str]:
        pen = f'stroke="{_INKS[edge.role]}" stroke-width="{2.8 if edge.bold else 1.3}"'
        pen += ' stroke-dasharray="6 4"' if edge.dashed else ""
        classes = "".join([" bold" if edge.bold else "", "" if edge.role == "plain" else f" {edge.role}"])
        more = ""
        if choosable:
            spoken = f"from state {edge.source} to state {edge.target}: {edge.label}"
            more = f' tabindex="0" role="button" aria-label="{xml(flat(spoken))}"'
        yield f'<g class="edge{classes}" data-edge="{number}"{more}>'
        if edge.detail:
            yield f"<title>{xml(edge.detail)}</title>"
        path = curve(route.points)
        if choosable:
            yield f'<path class="reach" d="{path}" fill="none" stroke="transparent" stroke-width="14"/>'
        yield f'<path class="line" d="{path}" fill="none" {pen}/>'
        ink = "" if edge.role == "plain" else f' fill="{_INKS[edge.role]}"'
        yield f'<path class="tip" d="{arrow_tip(route.points[-2], route.points[-1], 10 if edge.bold else 8)}"{ink}/>'
        if edge.label:
            yield label(edge.label, route.label, bold=edge.bold)
        yield "</g>"

    def _node(self, node: Node, shape: StateShape, centre: Point) -> Iterator[str]:
        pen = f'fill="{_FILLS[node.role]}" stroke="{_INK}" stroke-width="1.3"'
        classes = " ".join(["state", *(["accepting"] if node.accepting else []), node.role])
        yield f'<g class="{classes}" data-state="{xml(node.name)}">'
        if node.detail:
            yield f"<title>{xml(node.detail)}</title>"
        for inner in (0.0, 3.5) if node.accepting else (0.0,):
            wide, high = shape.width / 2 - inner, shape.height / 2 - inner
            if node.round:
                yield f'<circle cx="{centre[0]:.1f}" cy="{centre[1]:.1f}" r="{wide:.1f}" {pen}/>'
            else:
                place = f'x="{centre[0] - wide:.1f}" y="{centre[1] - high:.1f}"'
                yield f'<rect {place} width="{2 * wide:.1f}" height="{2 * high:.1f}" rx="6" {pen}/>'
        yield label(node.label, centre, bold=False)
        yield "</g>"


def _shapes(nodes: Sequence[Node]) -> list[StateShape]:
    """Boxes as large as their texts, and circles that are all of one size."""
    radius = max([LEAST_RADIUS, *(width(flat(node.label), LETTERS) / 2 + 7 for node in nodes if node.round)])
    shapes = []
    for node in nodes:
        wide, high = label_size(node.label)
        shapes.append(StateShape(2 * radius, 2 * radius) if node.round else StateShape(wide + 20, high + 14, False))
    return shapes


def label_size(words: str, bold: bool = False) -> tuple[float, float]:
    """How wide and how high a label is."""
    if not words:
        return 0.0, 0.0
    lines = words.split("\n")
    return max(width(flat(line), LETTERS, bold=bold) for line in lines), LINE * len(lines)


def label(words: str, centre: Point, *, bold: bool) -> str:
    """A text of several lines around its middle."""
    x = f"{centre[0]:.1f}"
    lines = words.split("\n")
    first = centre[1] - LINE * (len(lines) - 1) / 2 + LETTERS * 0.35
    weight = ' font-weight="bold"' if bold else ""
    head = f'<text x="{x}" y="{first:.1f}" font-size="{LETTERS:g}" text-anchor="middle"{weight}>'
    if len(lines) == 1:
        return f"{head}{xml(flat(words))}</text>"
    spans = (f'<tspan x="{x}" y="{first + LINE * at:.1f}">{xml(flat(line))}</tspan>' for at, line in enumerate(lines))
    return f"{head}{''.join(spans)}</text>"


def curve(points: Sequence[Point]) -> str:
    """Bézier curves, one after the other."""
    parts = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    for at in range(1, len(points), 3):
        parts.append("C" + " ".join(f"{x:.1f} {y:.1f}" for x, y in points[at : at + 3]))
    return "".join(parts)


def arrow_tip(before: Point, tip: Point, size: float) -> str:
    """The head of an arrow that comes from one point and ends in another."""
    dx, dy = tip[0] - before[0], tip[1] - before[1]
    length = sqrt(dx * dx + dy * dy) or 1.0
    dx, dy = dx / length * size, dy / length * size
    back = (tip[0] - dx, tip[1] - dy)
    return (
        f"M{tip[0]:.1f} {tip[1]:.1f}L{back[0] - dy * 0.42:.1f} {back[1] + dx * 0.42:.1f}"
        f"L{back[0] + dy * 0.42:.1f} {back[1] - dx * 0.42:.1f}Z"
    )
