"""Charts, read back from the SVG: points are where the ticks say, and nothing of a text gets into the markup."""

from __future__ import annotations

import random
import re
import xml.etree.ElementTree as ET
from itertools import pairwise
from math import inf, log10, nan

import pytest

from lawful.reports.chart import (
    Axis,
    Chart,
    Panel,
    Scale,
    Series,
    VerticalLine,
    nines,
    number,
    percent,
    render_svg,
    scale,
)

SVG = "{http://www.w3.org/2000/svg}"
Place = tuple[float, float]


class Picture:
    """What a reader sees: texts with their places, and lines in colour."""

    def __init__(self, svg: str) -> None:
        self.root = ET.fromstring(svg)
        self.texts = [
            (float(each.attrib["x"]), float(each.attrib["y"]), each.text or "", each.attrib.get("text-anchor", "start"))
            for each in self.root.iter(f"{SVG}text")
        ]
        # Lines have a width of 2; those of a legend are 26 long.
        self.lines = [
            each.attrib["d"]
            for each in self.root.iter(f"{SVG}path")
            if each.attrib.get("stroke-width") == "2" and not each.attrib["d"].endswith("h26")
        ]
        self.frames = [each for each in self.root.iter(f"{SVG}rect") if each.attrib["fill"] == "none"]

    @property
    def words(self) -> list[str]:
        return [text for _, _, text, _ in self.texts]

    def axis_y(self) -> list[tuple[float, str]]:
        return [(y - 4, text) for _, y, text, anchor in self.texts if anchor == "end"]

    def axis_x(self) -> list[tuple[float, str]]:
        bottom = float(self.frames[-1].attrib["y"]) + float(self.frames[-1].attrib["height"])
        return [(x, text) for x, y, text, anchor in self.texts if anchor == "middle" and y == bottom + 18]


def pieces(path: str) -> list[list[Place]]:
    """The corners of each piece of a line."""
    found: list[list[Place]] = []
    for letter, numbers in re.findall(r"([MLHVh])([^MLHVh]*)", path):
        values = [float(each) for each in numbers.split()]
        if letter == "M":
            found.append([(values[0], values[1])])
        elif letter == "L":
            found[-1].append((values[0], values[1]))
        elif letter == "H":
            found[-1].append((values[0], found[-1][-1][1]))
        elif letter == "V":
            found[-1].append((found[-1][-1][0], values[0]))
    return found


def reader(ticks: list[tuple[float, str]], log: bool) -> tuple[float, float]:
    """What ticks say about an axis: its unit and its origin, from the first and the last of them."""
    (first, low), (last, high) = ticks[0], ticks[-1]
    a, b = float(low), float(high)
    if log:
        a, b = log10(a), log10(b)
    return (b - a) / (last - first), a - first * (b - a) / (last - first)


@pytest.mark.parametrize("seed", range(12))
def test_points_are_where_the_ticks_say(seed: int) -> None:
    source = random.Random(seed)
    x_log, y_log = seed % 2 == 1, seed // 2 % 2 == 1
    size = 10 ** source.uniform(-6, 6)
    xs = sorted(source.uniform(1, 1000) for _ in range(source.randint(2, 60)))
    points = [(x, size * source.uniform(0.001, 1)) for x in xs]
    plain = repr  # labels that lose nothing
    chart = Chart(
        "t", Axis("x", log=x_log, form=plain), [Panel([Series("s", points)], Axis("y", log=y_log, form=plain))]
    )
    picture = Picture(render_svg(chart))
    (unit_x, origin_x), (unit_y, origin_y) = reader(picture.axis_x(), x_log), reader(picture.axis_y(), y_log)
    ((places,),) = [pieces(line) for line in picture.lines]
    assert len(places) == len(points)
    for (across, down), (x, y) in zip(places, points, strict=True):
        # Places have one digit: that is the tolerance.
        assert across * unit_x + origin_x == pytest.approx(log10(x) if x_log else x, abs=0.2 * abs(unit_x))
        assert down * unit_y + origin_y == pytest.approx(log10(y) if y_log else y, abs=0.2 * abs(unit_y))


def test_steps_go_across_and_then_up() -> None:
    chart = Chart("t", Axis(), [Panel([Series("", [(0, 0), (1, 1), (2, 0.5)], step=True)], Axis())])
    ((places,),) = [pieces(line) for line in Picture(render_svg(chart)).lines]
    assert len(places) == 5
    for (x0, y0), (x1, y1) in pairwise(places):
        assert x0 == x1 or y0 == y1


def test_gaps() -> None:
    points = [(1, 1), (2, 2), (3, nan), (4, inf), (5, -1), (6, 0), (7, 3), (8, 4), (9, nan), (10, 5)]
    chart = Chart("t", Axis(), [Panel([Series("", points)], Axis(log=True))])
    (line,) = Picture(render_svg(chart)).lines
    assert [len(piece) for piece in pieces(line)] == [2, 2, 1]
    assert line.endswith("h2")  # the last point is alone, and is seen


def test_small_values_above() -> None:
    chart = Chart("t", Axis(), [Panel([Series("", [(0, 1), (1, 1e-5)])], Axis(log=True, form=nines, falling=True))])
    picture = Picture(render_svg(chart))
    ((places,),) = [pieces(line) for line in picture.lines]
    assert places[1][1] < places[0][1]  # y grows downwards
    heights = {text: y for y, text in picture.axis_y()}
    assert heights["99.999 %"] < heights["99.9 %"] < heights["90 %"] < heights["0 %"]


def test_panels_share_their_x_axis() -> None:
    upper = Panel([Series("overhead", [(0, 9), (6, 2), (12, 0.3)])], Axis("overhead", low=0, form=percent))
    lower = Panel([Series("a", [(0, 0), (20, 1)]), Series("b", [(0, 0), (10, 1)])], Axis("confidence", low=0, high=1))
    picture = Picture(
        render_svg(Chart("both", Axis("minutes"), [upper, lower], [VerticalLine(6, "phase 2"), VerticalLine(12)]))
    )
    assert len(picture.frames) == 2
    assert [frame.attrib["x"] for frame in picture.frames] == [picture.frames[0].attrib["x"]] * 2
    assert [frame.attrib["width"] for frame in picture.frames] == [picture.frames[0].attrib["width"]] * 2
    assert float(picture.frames[0].attrib["y"]) < float(picture.frames[1].attrib["y"])
    assert len(picture.lines) == 3
    assert {"both", "minutes", "overhead", "confidence", "a", "b", "phase 2"} <= set(picture.words)
    # One row of numbers, below; the same place is the same x in both panels.
    assert [text for _, text in picture.axis_x()] == ["0", "5", "10", "15", "20"]
    unit, origin = reader(picture.axis_x(), False)
    (top,), (bottom,) = pieces(picture.lines[0]), pieces(picture.lines[1])
    assert top[0][0] == bottom[0][0]
    assert top[2][0] * unit + origin == pytest.approx(12, abs=0.1)
    dashed = [each.attrib["d"] for each in picture.root.iter(f"{SVG}path") if each.attrib.get("stroke") == "#999"]
    assert [float(d[1:].split()[0]) * unit + origin for d in dashed] == pytest.approx([6, 12], abs=0.1)


def test_texts_of_markers_do_not_cover_each_other() -> None:
    vertical_lines = [VerticalLine(at, f"a phase with a name {at}") for at in (0, 1, 2, 3, 50, 98, 99, 100)]
    chart = Chart("t", Axis(), [Panel([Series("", [(0, 0), (100, 1)])], Axis())], vertical_lines)
    picture = Picture(render_svg(chart))
    places = [(x, y, text) for x, y, text, _ in picture.texts if text.startswith("a phase")]
    assert len(places) == len(vertical_lines)
    for at, (x, y, text) in enumerate(places):
        assert x >= 0 and x + 6.4 * len(text) <= float(picture.root.attrib["width"])
        assert all(y != other_y or abs(x - other_x) > 6.4 * len(text) for other_x, other_y, _ in places[:at])


NASTY = "</text><script>alert(1)</script> & \"'\x00\x1b[31m\ud800 ü"


def test_texts_are_escaped() -> None:
    chart = Chart(
        NASTY, Axis(NASTY), [Panel([Series(NASTY, [(0, 0), (1, 1)])], Axis(NASTY))], [VerticalLine(0.5, NASTY)]
    )
    svg = render_svg(chart)
    assert "<script" not in svg
    svg.encode()
    root = ET.fromstring(svg)
    assert {each.tag.removeprefix(SVG) for each in root.iter()} == {"svg", "title", "rect", "text", "path"}
    shown = NASTY.replace("\x00", "\ufffd").replace("\x1b", "\ufffd").replace("\ud800", "\ufffd")
    assert Picture(svg).words.count(shown) == 5


def test_long_series_are_thinned_without_losing_their_ends() -> None:
    source = random.Random(5)
    points = [(float(x), source.random()) for x in range(100_000)]
    points[77_777] = (77_777.0, 5.0)
    svg = render_svg(Chart("t", Axis(), [Panel([Series("", points)], Axis())]))
    assert len(svg) < 100_000
    ((places,),) = [pieces(line) for line in Picture(svg).lines]
    frame = Picture(svg).frames[0]
    assert min(y for _, y in places) == pytest.approx(float(frame.attrib["y"]), abs=0.1)  # 5.0 is the highest tick


@pytest.mark.parametrize("points", [[], [(0.0, 0.0)], [(3.0, 7.0)], [(nan, 1.0)], [(1.0, -5.0)], [(1e300, 1e-300)]])
@pytest.mark.parametrize("log", [False, True])
def test_little_to_show(points: list[Place], log: bool) -> None:
    picture = Picture(render_svg(Chart("t", Axis(log=log), [Panel([Series("s", points)], Axis(log=log))])))
    assert len(picture.axis_x()) >= 2
    assert len(picture.axis_y()) >= 2


@pytest.mark.parametrize("seed", range(200))
def test_ticks_are_round_and_around_the_data(seed: int) -> None:
    source = random.Random(seed)
    size = 10 ** source.uniform(-12, 12)
    values = [size * source.uniform(-1 if seed % 2 else 0, 1) for _ in range(source.randint(1, 5))]
    found = scale(Axis(), iter(values))
    assert found.low <= min(values) and max(values) <= found.high * (1 + 1e-9)
    assert 2 <= len(found.ticks) <= 9
    step = found.ticks[1] - found.ticks[0]
    assert f"{step:.3e}"[0] in "125" and f"{step:.3e}"[1:6] == ".000e"
    logarithmic = scale(Axis(log=True), iter([abs(value) for value in values]))
    assert logarithmic.low <= min(map(abs, values)) * (1 + 1e-9)
    assert max(map(abs, values)) <= logarithmic.high * (1 + 1e-9)
    assert 2 <= len(logarithmic.ticks) <= 10


def test_given_ends_are_kept() -> None:
    assert scale(Axis(low=0.0, high=7.0), iter([1.0, 100.0])) == Scale(0.0, 7.0, False, (0.0, 2.0, 4.0, 6.0))
    assert scale(Axis(log=True, low=3.0, high=2000.0), iter([])).ticks == (10.0, 100.0, 1000.0)
    assert 1.0 in scale(Axis(log=True, low=1e-15, high=1.0), iter([])).ticks


def test_numbers() -> None:
    shown = [number(value) for value in (0, 0.001, 1e-5, 2.5, 1000, 20_000, 1.5e6, 3e9, 2e15, -5e-7)]
    assert shown == ["0", "0.001", "1e-5", "2.5", "1000", "20k", "1.5M", "3G", "2e15", "-5e-7"]
    assert [percent(0.05), percent(9), nines(1), nines(0.1), nines(1e-5), nines(1e-15)] == [
        "5 %", "900 %", "0 %", "90 %", "99.999 %", "99.9999999999999 %",
    ]  # fmt: skip
