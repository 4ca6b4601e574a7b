"""Distances between successive events of one object, and what is made of them."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lawful.learning.locality import DEFAULT_WINDOW, PAPER, Locality, sizes
from lawful.learning.window_protocol import Word

WORDS = [Word("new", "m.X"), Word("func_pre", "m.X.go"), Word("func_pre", "m.Y.go"), Word("func_pre", "go")]


def measured(*traces: list[tuple[int, int]], window: int = DEFAULT_WINDOW) -> Locality:
    """Traces of (name, object), fed in two batches each."""
    found = Locality(window=window)
    for trace in traces:
        for batch in (trace[: len(trace) // 2], trace[len(trace) // 2 :]):
            found.feed([name for name, _ in batch], [number for _, number in batch], WORDS)
        found.end()
    return found


def test_figure_2() -> None:
    x, y, z = 1, 2, 3
    found = measured([(1, who) for who in (x, x, y, y, x, z, x, y, y, z)])
    # The figure's distances are 1 3 1 4 2 4 1.
    assert (found.pairs, found.largest, found.objects) == (7, 4, 3)
    assert [tuple(bucket) for bucket in found.histogram()] == [(1, 1, 3), (2, 3, 2), (4, 7, 2)]
    by_window = [measured([(1, who) for who in (x, x, y, y, x, z, x, y, y, z)], window=n).near for n in range(6)]
    assert by_window == [0, 3, 4, 5, 7, 7]


TRACES = st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 12)), max_size=400), max_size=3)


@given(TRACES, st.integers(0, 60))
def test_all_numbers_are_those_of_a_simple_count(traces: list[list[tuple[int, int]]], window: int) -> None:
    found = measured(*traces, window=window)
    pairs: list[tuple[int, int, float]] = []  # distance, name of the later event, place in its trace
    for trace in traces:
        places: dict[int, list[int]] = defaultdict(list)
        for place, (_, number) in enumerate(trace):
            places[number].append(place)
        for of_one in places.values():
            for before, after in pairwise(of_one):
                pairs.append((after - before, trace[after][0], after / len(trace)))
    distances = [distance for distance, _, _ in pairs]
    assert found.pairs == len(pairs)
    assert found.largest == max(distances, default=0)
    for size, within in found.table():
        assert within == sum(distance <= size for distance in distances)
    for least, most, number in found.histogram():
        assert number == sum(least <= distance <= most for distance in distances)
    assert sum(bucket.pairs for bucket in found.histogram()) == len(pairs)
    far = [place for distance, _, place in pairs if distance > window]
    assert found.phases == [sum(int(place * 10) == tenth for place in far) for tenth in range(10)]
    kinds = ["m.X", "m.X", "m.Y", ""]
    largest: dict[str, int] = defaultdict(int)
    for distance, name, _ in pairs:
        largest[kinds[name]] = max(largest[kinds[name]], distance)
    near, rest = found.verifiable()
    assert {kind.name for kind in near} == {name for name, most in largest.items() if most <= window}
    assert {kind.name for kind in rest} == {name for name, most in largest.items() if most > window}
    assert [part.events for part in found.parts] == [len(trace) for trace in traces]
    assert [sum(column) for column in zip(*(part.within for part in found.parts), strict=True)] == (
        [sum(distance <= size for distance in distances) for size in PAPER] if traces else []
    )


def far_apart(distance: int, times: int) -> list[tuple[int, int]]:
    """One object that comes every so many events, among objects that come once."""
    return [(1, 0) if place % distance == 0 else (1, place) for place in range(distance * times + 1)]


def test_the_table_goes_on_to_the_largest_distance() -> None:
    assert list(sizes(4)) == [5, 10, 25, 50, 100, 200]
    assert list(sizes(200)) == [5, 10, 25, 50, 100, 200]
    assert list(sizes(801)) == [5, 10, 25, 50, 100, 200, 400, 800, 1600]
    assert measured(far_apart(801, 2), window=7).table() == [
        *((size, 0) for size in (5, 7, 10, 25, 50, 100, 200, 400, 800)),
        (1600, 2),
    ]


def test_a_size_that_was_not_counted_is_not_guessed() -> None:
    found = measured(far_apart(801, 2))
    assert (found.within(801), found.within(25)) == (2, 0)
    with pytest.raises(ValueError, match="not counted"):
        found.within(26)


@pytest.mark.parametrize(
    ("trace", "window"),
    [
        ([(1, 0)] * 50, 25),  # no less than the default
        (far_apart(60, 40), 100),
        (far_apart(6400, 3), 6400),
        (far_apart(20_000, 3), 25),  # no window that one could take shows any of it
        (far_apart(20_000, 2) + [(1, -1)] * 2 + [(1, who) for who in (-2, *range(-300, -100), -2)], 400),
    ],
)
def test_the_suggestion(trace: list[tuple[int, int]], window: int) -> None:
    assert measured(trace).suggestion() == window


def test_phases_of_a_long_trace_are_right_to_a_thousandth() -> None:
    length = 100_003
    trace = [(1, place) for place in range(1, length + 1)]
    trace[0] = trace[5000] = trace[5100] = trace[45_000] = trace[99_999] = (1, 0)
    assert measured(trace).phases == [2, 0, 0, 0, 1, 0, 0, 0, 0, 1]


def test_an_object_that_is_gone_is_not_kept() -> None:
    found = Locality()
    for number in range(1000):
        found.feed([1, 1], [number, number], WORDS)
        found.gone(number)
    found.gone(-1)
    assert (found.pairs, found.objects, len(found._last)) == (1000, 1000, 0)
