"""States in layers, ordered so that few arrows cross, and their places in them: what a layered layout must decide."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf

GAP = 14.0  # between what stands in one layer
_SWEEPS = 16
_EFFORT = 24_000  # nodes that are looked at in all sweeps together; large graphs get fewer sweeps
_SWAPS = 6
_SETTLING = 24
_STRAIGHTENING = 8


@dataclass(frozen=True, slots=True)
class StateShape:
    """A state to be placed: a circle, or a box of this size."""

    width: float
    height: float
    round: bool = True


@dataclass(frozen=True, slots=True)
class Link:
    """An arrow to be placed: between which states, and how large its label is."""

    source: int
    target: int
    width: float
    height: float


@dataclass(slots=True)
class LayerGraph:
    """What has a place in the layers: the states, and after them the bends. All lists are by their numbers."""

    layer: list[int] = field(default_factory=list)
    size: list[float] = field(default_factory=list)  # along the way
    before: list[float] = field(default_factory=list)  # across it, on both sides of the line
    after: list[float] = field(default_factory=list)
    left: list[list[int]] = field(default_factory=list)  # neighbours in the layer before
    right: list[list[int]] = field(default_factory=list)

    def add(self, layer: int, size: float, before: float, after: float) -> int:
        self.layer.append(layer)
        self.size.append(size)
        self.before.append(before)
        self.after.append(after)
        self.left.append([])
        self.right.append([])
        return len(self.layer) - 1


# -- layers ------------------------------------------------------------------------------------------------------------


def turned(count: int, links: Sequence[Link], start: int) -> list[bool]:
    """Which links go back: those that close a cycle when all are followed, in depth, from the start."""
    leaving: list[list[int]] = [[] for _ in range(count)]
    for number, link in enumerate(links):
        leaving[link.source].append(number)
    found = [False] * len(links)
    seen, open_ = [False] * count, [False] * count
    for root in [start, *range(count)]:
        if seen[root]:
            continue
        seen[root] = open_[root] = True
        path: list[tuple[int, Iterator[int]]] = [(root, iter(leaving[root]))]
        while path:
            node, rest = path[-1]
            number = next(rest, -1)
            if number < 0:
                open_[node] = False
                path.pop()
                continue
            target = links[number].target
            if open_[target]:
                found[number] = True
            elif not seen[target]:
                seen[target] = open_[target] = True
                path.append((target, iter(leaving[target])))
    return found


def ranks(count: int, links: Sequence[Link], turned: Sequence[bool]) -> list[int]:
    """A layer for each state, such that links go forward, and short where that is possible."""
    ends = [
        (link.target, link.source) if back else (link.source, link.target)
        for link, back in zip(links, turned, strict=True)
        if link.source != link.target
    ]
    after: list[list[int]] = [[] for _ in range(count)]
    before: list[list[int]] = [[] for _ in range(count)]
    for source, target in ends:
        after[source].append(target)
        before[target].append(source)
    waiting = [len(each) for each in before]
    order = [node for node in range(count) if not waiting[node]]
    found = [0] * count
    for node in order:  # which grows on the way
        for target in after[node]:
            found[target] = max(found[target], found[node] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                order.append(target)
    # A state with more arrows out of it than into it is pulled to where they go.
    for node in reversed(order):
        if before[node] and len(after[node]) > len(before[node]):
            found[node] = min(found[target] for target in after[node]) - 1
    return found


def first_order(graph: LayerGraph, start: int, count: int) -> list[list[int]]:
    """The layers in the order in which a walk in depth meets what is in them."""
    layers: list[list[int]] = [[] for _ in range(max(graph.layer) + 1)]
    seen = [False] * len(graph.layer)
    for root in [start, *range(count)]:
        pending = [root]
        while pending:
            node = pending.pop()
            if not seen[node]:
                seen[node] = True
                layers[graph.layer[node]].append(node)
                pending += reversed(graph.right[node])
    return layers


# -- order within the layers -------------------------------------------------------------------------------------------


def uncross(graph: LayerGraph, layers: list[list[int]]) -> None:
    """Reorders the layers so that few arrows cross: by the mean of neighbours' places, and by swapping neighbours."""
    place = [0] * len(graph.layer)
    for layer in layers:
        for at, node in enumerate(layer):
            place[node] = at
    best, fewest = [list(layer) for layer in layers], _crossings(graph, layers, place)
    for sweep in range(max(2, min(_SWEEPS, _EFFORT // len(place)))):
        if not fewest:
            break
        forward = sweep % 2 == 0
        beside = graph.left if forward else graph.right
        for layer in layers[1:] if forward else layers[-2::-1]:
            means = {node: _mean(beside[node], place, place[node]) for node in layer}
            layer.sort(key=means.__getitem__)
            for at, node in enumerate(layer):
                place[node] = at
        _swap(graph, layers, place)
        found = _crossings(graph, layers, place)
        if found < fewest:
            best, fewest = [list(layer) for layer in layers], found
    layers[:] = best


def _mean(nodes: Sequence[int], place: Sequence[int], otherwise: int) -> float:
    return sum(place[node] for node in nodes) / len(nodes) if nodes else float(otherwise)


def _crossings(graph: LayerGraph, layers: Sequence[Sequence[int]], place: Sequence[int]) -> int:
    total = 0
    for layer in layers:
        met: list[int] = []
        for node in layer:
            ends = sorted(place[other] for other in graph.right[node])
            total += sum(len(met) - bisect_right(met, end) for end in ends)
            for end in ends:
                insort(met, end)
    return total


def _swap(graph: LayerGraph, layers: Sequence[list[int]], place: list[int]) -> None:
    """Swaps neighbours as long as that helps."""
    for _ in range(_SWAPS):
        better = False
        for layer in layers:
            for at in range(len(layer) - 1):
                one, other = layer[at], layer[at + 1]
                if _between(graph, other, one, place) < _between(graph, one, other, place):
                    layer[at], layer[at + 1] = other, one
                    place[one], place[other] = at + 1, at
                    better = True
        if not better:
            return


def _between(graph: LayerGraph, one: int, other: int, place: Sequence[int]) -> int:
    """How often the arrows of two nodes cross if they stand in this order."""
    total = 0
    for beside in (graph.left, graph.right):
        for end in beside[one]:
            for end_other in beside[other]:
                total += place[end] > place[end_other]
    return total


# -- coordinates across the layers -------------------------------------------------------------------------------------


def coordinates(graph: LayerGraph, layers: Sequence[Sequence[int]], count: int) -> list[float]:
    """Near to neighbours, long arrows straight, and nothing over anything else."""
    across = [0.0] * len(graph.layer)
    for layer in layers:
        _spread(graph, layer, [(0.0, 1.0)] * len(layer), across)
    for turn in range(_SETTLING):
        # First from side to side, to come near; then by both sides at once.
        sides = [graph.left, graph.right] if turn < _SETTLING // 2 else [None]
        for side in sides:
            for layer in layers if side is not graph.right else layers[::-1]:
                wishes = []
                for node in layer:
                    others = graph.left[node] + graph.right[node] if side is None else side[node]
                    pull = at = 0.0
                    for other in others:
                        # Bends in the middle of a long arrow should be hard to see.
                        weight = 2.0 if min(node, other) < count else 8.0
                        pull += weight
                        at += weight * across[other]
                    wishes.append((at / pull, pull) if pull else (across[node], 0.1))
                _spread(graph, layer, wishes, across)
    _straighten(graph, layers, across)
    return across


def _spread(
    graph: LayerGraph, layer: Sequence[int], wishes: Sequence[tuple[float, float]], across: list[float]
) -> None:
    """The places nearest to those wished for that keep the order and the distances: an isotonic regression."""
    offsets: list[float] = []
    offset = 0.0
    blocks: list[tuple[float, float, int]] = []  # mean, weight, how many
    for at, node in enumerate(layer):
        if at:
            offset += graph.after[layer[at - 1]] + GAP + graph.before[node]
        offsets.append(offset)
        wish, weight = wishes[at]
        mean, size = wish - offset, 1
        while blocks and blocks[-1][0] > mean:
            other, other_weight, other_size = blocks.pop()
            mean = (mean * weight + other * other_weight) / (weight + other_weight)
            weight += other_weight
            size += other_size
        blocks.append((mean, weight, size))
    at = 0
    for mean, _, size in blocks:
        for _ in range(size):
            across[layer[at]] = mean + offsets[at]
            at += 1


def _straighten(graph: LayerGraph, layers: Sequence[Sequence[int]], across: list[float]) -> None:
    """Makes paths without forks straight, as far as there is room, and moves them to where their ends pull them."""
    room = _Room(graph, layers, across)
    runs: list[list[int]] = []
    for path in _paths(graph):
        while path:
            low, high, size = room.of(path)
            run, path = path[:size], path[size:]
            place = max(low, min(high, sum(across[node] for node in run) / size))
            for node in run:
                across[node] = place
            runs.append(run)
    for turn in range(_STRAIGHTENING):
        for run in runs if turn % 2 == 0 else runs[::-1]:
            ends = graph.left[run[0]] + graph.right[run[-1]]
            low, high, size = room.of(run)
            # Without any room, rounding can leave a little less than zero.
            if ends and size == len(run):
                place = max(low, min(high, sum(across[node] for node in ends) / len(ends)))
                for node in run:
                    across[node] = place


def _paths(graph: LayerGraph) -> Iterator[list[int]]:
    """All nodes, each in the longest path in which each is the only neighbour of the next, on either side."""
    alone = [
        len(left) == 1 and len(graph.right[left[0]]) == 1 for left in graph.left
    ]  # continues the path of its only neighbour
    for first in range(len(graph.layer)):
        if not alone[first]:
            path = [first]
            while len(graph.right[path[-1]]) == 1 and alone[graph.right[path[-1]][0]]:
                path.append(graph.right[path[-1]][0])
            yield path


class _Room:
    """How far nodes can move before they meet what stands beside them."""

    def __init__(self, graph: LayerGraph, layers: Sequence[Sequence[int]], across: list[float]) -> None:
        self._graph = graph
        self._across = across
        self._above: list[int | None] = [None] * len(graph.layer)
        self._below: list[int | None] = [None] * len(graph.layer)
        for layer in layers:
            for one, other in pairwise(layer):
                self._below[one], self._above[other] = other, one

    def of(self, path: Sequence[int]) -> tuple[float, float, int]:
        """Between which places a path can lie as a straight line, and how much of it can, from its beginning."""
        low, high = -inf, inf
        for at, node in enumerate(path):
            above, below = self._above[node], self._below[node]
            least, most = -inf, inf
            if above is not None:
                least = self._across[above] + self._graph.after[above] + GAP + self._graph.before[node]
            if below is not None:
                most = self._across[below] - self._graph.before[below] - GAP - self._graph.after[node]
            # What touches leaves room for a line; sums that are rounded otherwise must not decide about that.
            if at and max(low, least) > min(high, most) + 1e-6:
                return low, high, at
            low, high = max(low, least), min(high, most)
        return low, high, len(path)
