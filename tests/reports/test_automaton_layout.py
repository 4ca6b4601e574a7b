"""The layout: nothing covers anything else, every arrow goes from border to border, and forward where it can."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from math import hypot, isclose
from random import Random

import pytest

from lawful.reports.automaton_layers import Link, StateShape
from lawful.reports.automaton_layout import AutomatonLayout, Point, layered

RADIUS = 16.0
Boxes = list[tuple[float, float, float, float]]


def circles(count: int) -> list[StateShape]:
    return [StateShape(2 * RADIUS, 2 * RADIUS) for _ in range(count)]


def random_links(rng: Random, count: int, *, forward: bool) -> list[Link]:
    """All states can be reached from the first; with loops and both ways between two states unless `forward`."""
    ends = {(rng.randrange(max(0, state - 4), state), state) for state in range(1, count)}
    for _ in range(rng.randrange(2 * count)):
        source, target = rng.randrange(count), rng.randrange(count)
        if not forward or source < target:
            ends.add((source, target))
    found = [Link(*each, rng.uniform(8, 160), 15.0 * rng.randint(1, 3)) for each in sorted(ends)]
    # The same two states again, as when one event is drawn bold and another is not.
    found += [Link(each.source, each.target, 40, 15) for each in found if rng.random() < 0.1]
    rng.shuffle(found)
    return found


def boxes_of(shapes: list[StateShape], layout: AutomatonLayout) -> Boxes:
    return [
        (x - shape.width / 2, y - shape.height / 2, x + shape.width / 2, y + shape.height / 2)
        for shape, (x, y) in zip(shapes, layout.centres, strict=True)
    ]


def labels_of(links: list[Link], layout: AutomatonLayout) -> Boxes:
    found = []
    for link, route in zip(links, layout.routes, strict=True):
        x, y = route.label
        found.append((x - link.width / 2, y - link.height / 2, x + link.width / 2, y + link.height / 2))
    return found


def overlapping(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    slack = 1e-6
    return (
        one[0] < other[2] - slack
        and other[0] < one[2] - slack
        and one[1] < other[3] - slack
        and other[1] < one[3] - slack
    )


def sampled(points: tuple[Point, ...], steps: int = 6) -> Iterator[Point]:
    """Points on the curves, by de Casteljau."""
    for at in range(0, len(points) - 1, 3):
        for step in range(steps + 1):
            share, left = step / steps, list(points[at : at + 4])
            while len(left) > 1:
                left = [
                    (a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share) for a, b in itertools.pairwise(left)
                ]
            yield left[0]


def check_everything(shapes: list[StateShape], links: list[Link], layout: AutomatonLayout) -> None:
    assert len(layout.centres) == len(shapes)
    assert len(layout.routes) == len(links)
    states, labels = boxes_of(shapes, layout), labels_of(links, layout)
    for one, other in itertools.combinations(states + labels, 2):
        assert not overlapping(one, other)
    for box in states + labels:
        assert box[0] >= 0 and box[1] >= 0 and box[2] <= layout.width and box[3] <= layout.height
    for link, route in zip(links, layout.routes, strict=True):
        assert len(route.points) % 3 == 1
        assert on_border(route.points[0], shapes[link.source], layout.centres[link.source])
        assert on_border(route.points[-1], shapes[link.target], layout.centres[link.target])
        for x, y in sampled(route.points):
            assert 0 <= x <= layout.width and 0 <= y <= layout.height
            for state, box in enumerate(states):
                if state not in (link.source, link.target):
                    assert not (box[0] < x < box[2] and box[1] < y < box[3])


def on_border(point: Point, shape: StateShape, centre: Point) -> bool:
    dx, dy = abs(point[0] - centre[0]), abs(point[1] - centre[1])
    if shape.round:
        return isclose(hypot(dx, dy), shape.width / 2, abs_tol=1e-6)
    x_side, y_side = isclose(dx, shape.width / 2), isclose(dy, shape.height / 2)
    return (x_side and dy <= shape.height / 2) or (y_side and dx <= shape.width / 2)


@pytest.mark.parametrize("down", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_random_automata(seed: int, down: bool) -> None:
    rng = Random(seed)
    shapes = circles(rng.randint(1, 22))
    links = random_links(rng, len(shapes), forward=False)
    check_everything(shapes, links, layered(shapes, links, down=down))


@pytest.mark.parametrize("down", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_boxes_of_many_sizes(seed: int, down: bool) -> None:
    rng = Random(seed)
    shapes = [StateShape(rng.uniform(60, 200), rng.uniform(25, 60), False) for _ in range(rng.randint(1, 15))]
    links = random_links(rng, len(shapes), forward=False)
    check_everything(shapes, links, layered(shapes, links, down=down))


@pytest.mark.parametrize("down", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_without_cycles_every_arrow_goes_forward(seed: int, down: bool) -> None:
    rng = Random(seed)
    shapes = circles(rng.randint(2, 24))
    links = random_links(rng, len(shapes), forward=True)
    layout = layered(shapes, links, down=down)
    along = [centre[1 if down else 0] for centre in layout.centres]
    for link, route in zip(links, layout.routes, strict=True):
        assert layout.layers[link.source] < layout.layers[link.target]
        assert along[link.source] + 2 * RADIUS < along[link.target]
        way = [point[1 if down else 0] for point in sampled(route.points)]
        assert way == sorted(way)
    assert layout.layers[0] == 0 < min(layout.layers[1:])
    check_everything(shapes, links, layout)


def test_a_chain_is_a_straight_line() -> None:
    links = [Link(at, at + 1, 40.0 + at, 15) for at in range(9)]
    layout = layered(circles(10), links)
    assert len({round(y, 6) for _, y in layout.centres}) == 1
    assert all(len({round(y, 6) for _, y in route.points}) == 1 for route in layout.routes)


def test_arrows_that_need_not_cross_do_not() -> None:
    """A ladder, whose rungs come in an order that invites crossings."""
    links = [Link(0, 1, 20, 15), Link(0, 2, 20, 15), Link(0, 3, 20, 15)]
    links += [Link(1, 6, 20, 15), Link(2, 5, 20, 15), Link(3, 4, 20, 15)]
    links += [Link(each, 7, 20, 15) for each in (4, 5, 6)]
    layout = layered(circles(8), links)
    first = sorted((1, 2, 3), key=lambda state: layout.centres[state][1])
    partner = {1: 6, 2: 5, 3: 4}
    assert [partner[state] for state in first] == sorted((4, 5, 6), key=lambda state: layout.centres[state][1])


def test_a_long_arrow_is_straight_between_its_ends() -> None:
    links = [*(Link(at, at + 1, 30, 15) for at in range(7)), Link(0, 7, 30, 15)]
    layout = layered(circles(8), links)
    inner = layout.routes[-1].points[6:-6]
    assert len({round(y, 6) for _, y in inner}) == 1


def test_two_loops_of_one_state_are_on_two_sides() -> None:
    links = [Link(0, 0, 50, 15), Link(0, 0, 70, 30)]
    layout = layered(circles(1), links)
    check_everything(circles(1), links, layout)
    middle = layout.centres[0][1]
    assert layout.routes[0].label[1] < middle < layout.routes[1].label[1]


def test_the_first_arrow_comes_from_outside() -> None:
    for down in (False, True):
        layout = layered(circles(2), [Link(0, 1, 9, 15), Link(1, 0, 9, 15)], down=down)
        start, tip = layout.start
        axis = 1 if down else 0
        assert start[axis] < tip[axis] < layout.centres[0][axis] < layout.centres[1][axis]
        assert on_border(tip, circles(1)[0], layout.centres[0])


def test_sixty_states() -> None:
    rng = Random(60)
    shapes = circles(60)
    links = random_links(rng, 60, forward=False)
    check_everything(shapes, links, layered(shapes, links, down=True))
