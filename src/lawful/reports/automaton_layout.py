"""Where the states and arrows of a drawing go: in layers, after Sugiyama, Tagawa and Toda, with room for every label.

`static/layout.js` is this and `automaton_layers` in JavaScript, for pages that draw anew:
what is changed here is changed there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt

from lawful.reports.automaton_layers import (
    LayerGraph,
    Link,
    StateShape,
    coordinates,
    first_order,
    ranks,
    turned,
    uncross,
)

Point = tuple[float, float]

MARGIN = 10.0
LOOP = 24.0  # how far a loop goes out from the border of its state
START = 26.0  # the arrow that comes from nowhere
LABEL_GAP = 4.0  # between a line and its label
_LAYER_GAP = 18.0
_DRIFT = 5.0  # how far a line leaves its place in a layer; less than the gap
_STEEP = 0.16  # how much further layers go apart where arrows between them are steep
_WIDEST_GAP = 90.0
_PORT = 0.22  # how much of its way to the side an arrow makes along the border of its state


@dataclass(frozen=True, slots=True)
class Route:
    """A placed arrow: the first point and then three for each Bézier curve; and the middle of its label."""

    points: tuple[Point, ...]
    label: Point


@dataclass(frozen=True, slots=True)
class AutomatonLayout:
    """A placed drawing. Layers are numbered along the way that arrows go."""

    width: float
    height: float
    centres: tuple[Point, ...]
    routes: tuple[Route, ...]
    start: tuple[Point, Point]
    layers: tuple[int, ...] = ()


def layered(
    shapes: Sequence[StateShape], links: Sequence[Link], *, start: int = 0, down: bool = False
) -> AutomatonLayout:
    """Places states and the arrows between them, to the right or downwards."""
    return _Placing(shapes, links, start, down).layout()


@dataclass(slots=True)
class _Chain:
    """A link as it runs through the layers: its states with a bend in each layer between; one of them has the label."""

    nodes: list[int]
    turned: bool  # goes against the layers, and is therefore followed from its end
    label: int


class _Placing:
    def __init__(self, shapes: Sequence[StateShape], links: Sequence[Link], start: int, down: bool) -> None:
        count = len(shapes)
        self._links = links
        self._round = [shape.round for shape in shapes]
        # Half of each state's size, along the way and across it.
        self._long = [(shape.height if down else shape.width) / 2 for shape in shapes]
        self._wide = [(shape.width if down else shape.height) / 2 for shape in shapes]
        self._start = start
        self._down = down
        back = turned(count, links, start)
        self._graph = LayerGraph()
        for rank, long, wide in zip(ranks(count, links, back), self._long, self._wide, strict=True):
            self._graph.add(2 * rank, 2 * long, wide, wide)
        self._chains = [self._chain(link, each) for link, each in zip(links, back, strict=True)]
        self._opposite = _opposite(links)
        for link, opposite in zip(links, self._opposite, strict=True):
            if link.source == link.target:
                self._make_room(link, opposite)
        self._layers = first_order(self._graph, start, count)
        uncross(self._graph, self._layers)
        self._across = coordinates(self._graph, self._layers, count)
        self._along, self._half = self._lengthwise()

    def _chain(self, link: Link, turned: bool) -> _Chain | None:
        """The bends of a link, between its ends; None for a loop."""
        graph = self._graph
        if link.source == link.target:
            return None
        first, last = (link.target, link.source) if turned else (link.source, link.target)
        low, high = graph.layer[first], graph.layer[last]
        middle = low + 2 * ((high - low - 2) // 4) + 1
        nodes = [first]
        label = first
        for layer in range(low + 1, high):
            if layer == middle:
                if self._down:
                    label = graph.add(layer, link.height, 3.0, link.width + LABEL_GAP)
                else:
                    label = graph.add(layer, link.width + 8, link.height + LABEL_GAP, 3.0)
                nodes.append(label)
            else:
                nodes.append(graph.add(layer, 0.0, 3.0, 3.0))
        nodes.append(last)
        for one, other in pairwise(nodes):
            graph.right[one].append(other)
            graph.left[other].append(one)
        return _Chain(nodes, turned, label)

    def _make_room(self, loop: Link, opposite: bool) -> None:
        """Loops stand above their state, or on its right where arrows go down; a second one on the opposite side."""
        graph, at = self._graph, loop.source
        sides = graph.after if opposite is not self._down else graph.before
        breadth, length = (loop.width, loop.height) if self._down else (loop.height, loop.width)
        sides[at] = max(sides[at], self._wide[at] + LOOP + LABEL_GAP + breadth)
        graph.size[at] = max(graph.size[at], length)

    def _lengthwise(self) -> tuple[list[float], list[float]]:
        """For each layer its middle and half of its length."""
        half = [max(self._graph.size[node] for node in layer) / 2 for layer in self._layers]
        along = [MARGIN + max(half[0], self._long[self._start] + START)]
        for at in range(1, len(half)):
            steepest = 0.0
            for node in self._layers[at]:
                for other in self._graph.left[node]:
                    steepest = max(steepest, abs(self._across[node] - self._across[other]))
            gap = min(_WIDEST_GAP, _LAYER_GAP + _STEEP * steepest)
            along.append(along[-1] + half[at - 1] + gap + half[at])
        return along, half

    def layout(self) -> AutomatonLayout:
        graph = self._graph
        low = min(at - before for at, before in zip(self._across, graph.before, strict=True)) - MARGIN
        high = max(at + after for at, after in zip(self._across, graph.after, strict=True)) + MARGIN
        self._across = [at - low for at in self._across]
        routes = []
        for link, chain, opposite in zip(self._links, self._chains, self._opposite, strict=True):
            routes.append(self._loop(link, opposite) if chain is None else self._route(link, chain))
        centres = [self._point(self._along[graph.layer[node]], self._across[node]) for node in range(len(self._wide))]
        begin = self._along[graph.layer[self._start]] - self._long[self._start]
        across = self._across[self._start]
        length, breadth = self._along[-1] + self._half[-1] + MARGIN, high - low
        return AutomatonLayout(
            breadth if self._down else length,
            length if self._down else breadth,
            tuple(centres),
            tuple(routes),
            (self._point(begin - START, across), self._point(begin, across)),
            tuple(graph.layer[node] // 2 for node in range(len(self._wide))),
        )

    def _point(self, along: float, across: float) -> Point:
        return (across, along) if self._down else (along, across)

    def _route(self, link: Link, chain: _Chain) -> Route:
        """Almost straight through each layer, where every bend has a place of its own; curved between the layers."""
        stops: list[tuple[float, float, float]] = []  # along, across and the slope there; every other piece is straight
        last = len(chain.nodes) - 1
        for at, node in enumerate(chain.nodes):
            layer = self._graph.layer[node]
            middle, half, across = self._along[layer], self._half[layer], self._across[node]
            if at in (0, last):
                side = 1.0 if at == 0 else -1.0
                aim = self._across[chain.nodes[1 if at == 0 else last - 1]] - across
                wide = self._wide[node]
                port = max(-0.65, min(0.65, aim * _PORT / wide)) * wide
                out = sqrt(wide * wide - port * port) if self._round[node] else self._long[node]
                edge = (middle + side * out, across + port, 0.0)
                band = (middle + side * half, across + port, 0.0)
                stops += [edge, band] if at == 0 else [band, edge]
            else:
                slope = 0.0 if node == chain.label else self._slope(*chain.nodes[at - 1 : at + 2])
                stops.append((middle - half, across - slope * half, slope))
                stops.append((middle + half, across + slope * half, slope))
        points = [stops[0][:2]]
        for (x0, y0, slope0), (x1, y1, slope1) in pairwise(stops):
            if x1 - x0 > 1e-9:
                reach = (x1 - x0) / 2
                points += [(x0 + reach, y0 + slope0 * reach), (x1 - reach, y1 - slope1 * reach), (x1, y1)]
        if chain.turned:
            points.reverse()
        middle, line = self._along[self._graph.layer[chain.label]], self._across[chain.label]
        return Route(tuple(self._point(*each) for each in points), self._beside(link, middle, line, False))

    def _slope(self, before: int, node: int, after: int) -> float:
        """How a line passes a bend: as steep as the flatter of its two sides, but it stays within its place."""
        layer = self._graph.layer[node]
        at, middle = self._across[node], self._along[layer]
        one = (at - self._across[before]) / (middle - self._along[layer - 1])
        other = (self._across[after] - at) / (self._along[layer + 1] - middle)
        if one * other <= 0:
            return 0.0
        most = min(abs(one), abs(other), _DRIFT / max(1.0, self._half[layer]))
        return most if one > 0 else -most

    def _beside(self, link: Link, along: float, line: float, opposite: bool) -> Point:
        """The middle of a label beside its line."""
        if self._down:
            away = LABEL_GAP + link.width / 2
            return (line - away if opposite else line + away, along)
        away = LABEL_GAP + link.height / 2
        return (along, line + away if opposite else line - away)

    def _loop(self, link: Link, opposite: bool) -> Route:
        along, across = self._along[self._graph.layer[link.source]], self._across[link.source]
        side = 1.0 if opposite is not self._down else -1.0
        wide = self._wide[link.source]
        near, far, low = wide * 0.6, wide * 1.3, wide * 0.8
        if not self._round[link.source]:
            near, far, low = 8.0, 20.0, wide
        # The curve's top is at three quarters of the way to its control points.
        high = low + (wide + LOOP - low) * 4 / 3
        places = ((-near, low), (-far, high), (far, high), (near, low))
        points = tuple(self._point(along + ahead, across + side * out) for ahead, out in places)
        return Route(points, self._beside(link, along, across + side * (wide + LOOP), opposite))


def _opposite(links: Sequence[Link]) -> list[bool]:
    """Which links are the second loop of their state."""
    looped: set[int] = set()
    found = []
    for link in links:
        loop = link.source == link.target
        found.append(loop and link.source in looped)
        if loop:
            looped.add(link.source)
    return found
