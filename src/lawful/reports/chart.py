"""Line charts as SVG, without any dependency: panels above each other that share their x axis."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from math import ceil, floor, isfinite, log10
from typing import NamedTuple

from lawful.engine.wording import cut
from lawful.reports.svg import opening, xml

# Colours that colour-blind readers can tell apart; the dashes also work in black and white.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#56b4e9")
DASHES = ("", "7 3", "2 3", "9 3 2 3")

_LEFT, _RIGHT, _BOTTOM = 76, 20, 46
_TITLE, _LEGEND, _MARKS, _GAP = 30, 20, 16, 14
_INK, _GRID, _MARK = "#333", "#e3e3e3", "#999"
_LETTER = 6.4  # the width of an average letter
_MAX_TICKS = 8


def number(value: float) -> str:
    """A number beside a tick."""
    if value == 0:
        return "0"
    if 1e-3 <= abs(value) < 1e4:
        return f"{value:.10g}"
    if 1e4 <= abs(value) < 1e12:
        for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
            if abs(value) >= size:
                return f"{value / size:.6g}{letter}"
    digits, power = f"{value:.5e}".split("e")
    return f"{float(digits):g}e{int(power)}"


def percent(value: float) -> str:
    """A share beside a tick."""
    return f"{100 * value:.12g} %"


def nines(doubt: float) -> str:
    """A confidence beside the tick of what it lacks to 1."""
    return f"{100 * (1 - Decimal(f'{doubt:.3g}')):f}".rstrip("0").rstrip(".") + " %" if doubt < 1 else "0 %"


@dataclass(frozen=True)
class Axis:
    """An axis; ends that are not given are those of the data, rounded to ticks."""

    label: str = ""
    log: bool = False
    low: float | None = None
    high: float | None = None
    form: Callable[[float], str] = number
    falling: bool = False  # small values above, or to the right


@dataclass(frozen=True)
class Series:
    """A line, or with `step` a staircase, through points in the order of x. A value that is not finite is a gap."""

    name: str
    points: Sequence[tuple[float, float]]
    step: bool = False


class VerticalLine(NamedTuple):
    """A vertical line through all panels: where something began."""

    x: float
    text: str = ""


@dataclass(frozen=True)
class Panel:
    """Series with one y axis."""

    series: Sequence[Series]
    y: Axis


@dataclass(frozen=True)
class Chart:
    """A picture: panels from top to bottom."""

    title: str
    x: Axis
    panels: Sequence[Panel]
    vertical_lines: Sequence[VerticalLine] = ()


class Scale(NamedTuple):
    """From values to a length, with the values that have ticks."""

    low: float
    high: float
    log: bool
    ticks: tuple[float, ...]
    falling: bool = False

    def share(self, value: float) -> float | None:
        """Where between the ends, from 0 to 1; None if nowhere."""
        if not isfinite(value) or (self.log and value <= 0):
            return None
        if self.log:
            share = (log10(value) - log10(self.low)) / (log10(self.high) - log10(self.low))
        else:
            share = (value - self.low) / (self.high - self.low)
        return 1 - share if self.falling else share


def scale(axis: Axis, values: Iterator[float]) -> Scale:
    """The scale of an axis for these values."""
    shown = [value for value in values if isfinite(value) and (value > 0 or not axis.log)]
    ends = [end for end in (axis.low, axis.high) if end is not None]
    low = axis.low if axis.low is not None else min(shown + ends, default=1.0 if axis.log else 0.0)
    high = axis.high if axis.high is not None else max(shown + ends, default=1.0)
    make = _log_scale if axis.log else _linear_scale
    return make(low, high, axis.low is not None, axis.high is not None)._replace(falling=axis.falling)


def _linear_scale(low: float, high: float, low_given: bool, high_given: bool) -> Scale:
    if not high > low:
        # A single value stands in the middle, and 0 at the bottom.
        margin = abs(low) / 2 or 1.0
        low, high = (low if low_given or low == 0 else low - margin), high + margin
    step = _nice((high - low) / 5)
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    low = low if low_given else first * step
    high = high if high_given else last * step
    ticks = (at * step for at in range(first, last + 1))
    slack = (high - low) * 1e-9
    return Scale(low, high, False, tuple(tick for tick in ticks if low - slack <= tick <= high + slack))


def _log_scale(low: float, high: float, low_given: bool, high_given: bool) -> Scale:
    first, last = floor(log10(low) + 1e-9), ceil(log10(high) - 1e-9)
    last = max(last, first + 1)
    low = low if low_given else 10.0**first
    high = high if high_given and high > low else 10.0**last
    every = ceil((last - first) / _MAX_TICKS)
    ticks = [10.0**power for power in range(first, last + 1) if power % every == 0]
    if last - first <= 2:
        ticks = [factor * 10.0**power for power in range(first, last + 1) for factor in (1, 2, 5)]
    return Scale(low, high, True, tuple(tick for tick in ticks if low * 0.999999 <= tick <= high * 1.000001))


def _nice(least: float) -> float:
    """The next of 1, 2, 5, 10, 20, 50, ..."""
    power = 10.0 ** floor(log10(least))
    return next(factor * power for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= least * (1 - 1e-9))


def render_svg(chart: Chart, *, width: int = 760, panel_height: int = 180) -> str:
    """The whole picture as a file's text."""
    inner = width - _LEFT - _RIGHT
    points = [point for panel in chart.panels for series in panel.series for point in series.points]
    x = scale(chart.x, iter([*(point[0] for point in points), *(marker.x for marker in chart.vertical_lines)]))
    marks = _marks(chart.vertical_lines, x, inner)
    body: list[str] = []
    top = _TITLE + _MARKS * (max((mark.row for mark in marks), default=-1) + 1) + 4
    for at, panel in enumerate(chart.panels):
        top += _LEGEND * _legend_rows(panel, inner)
        last = at == len(chart.panels) - 1
        body += _panel(panel, chart.x, x, top, inner, panel_height, with_labels=last)
        top += panel_height + (0 if last else _GAP)
    height = top + _BOTTOM
    head = [
        opening(width, height, _INK, role='role="img" font-size="12"'),
        f"<title>{xml(chart.title)}</title>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        f'<text x="{width / 2:g}" y="20" text-anchor="middle" font-size="15" font-weight="bold">'
        f"{xml(cut(chart.title, int(width / 8.5)))}</text>",
    ]
    if chart.x.label:
        head.append(
            f'<text x="{_LEFT + inner / 2:g}" y="{height - 8}" text-anchor="middle">{xml(chart.x.label)}</text>'
        )
    return "\n".join([*head, *_markers(marks, top), *body, "</svg>"]) + "\n"


def _panel(
    panel: Panel, x_axis: Axis, x: Scale, top: int, inner: int, height: int, *, with_labels: bool
) -> Iterator[str]:
    y = scale(panel.y, (point[1] for series in panel.series for point in series.points))
    for tick in y.ticks:
        at = top + height * (1 - (y.share(tick) or 0.0))
        yield f'<path d="M{_LEFT} {at:.1f}h{inner}" stroke="{_GRID}"/>'
        yield f'<text x="{_LEFT - 7}" y="{at + 4:.1f}" text-anchor="end">{xml(panel.y.form(tick))}</text>'
    room = 0.0
    for tick in x.ticks:
        at = _LEFT + inner * (x.share(tick) or 0.0)
        yield f'<path d="M{at:.1f} {top + height}v5" stroke="{_INK}"/>'
        label = x_axis.form(tick)
        half = len(label) * _LETTER / 2
        if with_labels and at - half >= room:
            yield f'<text x="{at:.1f}" y="{top + height + 18}" text-anchor="middle">{xml(label)}</text>'
            room = at + half + _LETTER
    yield f'<rect x="{_LEFT}" y="{top}" width="{inner}" height="{height}" fill="none" stroke="{_INK}"/>'
    if panel.y.label:
        middle = top + height / 2
        yield (
            f'<text x="16" y="{middle:g}" text-anchor="middle" transform="rotate(-90 16 {middle:g})">'
            f"{xml(panel.y.label)}</text>"
        )
    for place, series in enumerate(panel.series):
        path = _path(series, x, y, top, inner, height)
        if path:
            yield f'<path d="{path}" fill="none" stroke-linejoin="round" {_pen(place)}/>'
    yield from _legend(panel, top, inner)


def _pen(place: int) -> str:
    dash = DASHES[place % len(DASHES)]
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'stroke="{COLOURS[place % len(COLOURS)]}" stroke-width="2"{dashes}'


def _path(series: Series, x: Scale, y: Scale, top: int, inner: int, height: int) -> str:
    """The line, in pieces where there are gaps, without points that nobody could see."""
    places: list[tuple[float, float] | None] = []
    for point in series.points:
        across, up = x.share(point[0]), y.share(point[1])
        if across is None or up is None or not 0 <= across <= 1:
            places.append(None)
        else:
            # Values beyond the ends of the axis are drawn at its edge.
            places.append((_LEFT + inner * across, top + height * (1 - min(1.0, max(0.0, up)))))
    pieces = []
    for there, group in groupby(places, key=lambda place: place is not None):
        if there:
            thin = list(_thinned([place for place in group if place is not None]))
            moves = [f"M{thin[0][0]:.1f} {thin[0][1]:.1f}"]
            for across, down in thin[1:]:
                moves.append(f"H{across:.1f}V{down:.1f}" if series.step else f"L{across:.1f} {down:.1f}")
            if len(thin) == 1:
                moves.append("h2")  # a point alone would not be seen
            pieces.append("".join(moves))
    return "".join(pieces)


def _thinned(places: list[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """Of the points in one column of pixels: the first, the lowest, the highest, and the last."""
    for _, group in groupby(places, key=lambda place: int(place[0])):
        column = list(group)
        if len(column) <= 4:
            yield from column
            continue
        heights = [down for _, down in column]
        kept = {0, heights.index(min(heights)), heights.index(max(heights)), len(column) - 1}
        yield from (column[at] for at in sorted(kept))


def _legend_rows(panel: Panel, inner: int) -> int:
    places = _legend_places(panel, inner)
    return max((row for _, row, _ in places), default=-1) + 1


def _legend_places(panel: Panel, inner: int) -> list[tuple[float, int, str]]:
    """Where each name stands: how far to the right, in which row; none if there is nothing to tell apart."""
    if not any(series.name for series in panel.series):
        return []
    found, at, row = [], 0.0, 0
    for series in panel.series:
        name = cut(series.name, int(inner / _LETTER - 10))
        size = 34 + len(name) * _LETTER + 14
        if at and at + size > inner:
            at, row = 0.0, row + 1
        found.append((at, row, name))
        at += size
    return found


def _legend(panel: Panel, top: int, inner: int) -> Iterator[str]:
    places = _legend_places(panel, inner)
    rows = _legend_rows(panel, inner)
    for number_of, (at, row, name) in enumerate(places):
        left, middle = _LEFT + at, top - _LEGEND * (rows - row) + 8
        yield f'<path d="M{left:.1f} {middle}h26" {_pen(number_of)}/>'
        yield f'<text x="{left + 32:.1f}" y="{middle + 4}">{xml(name)}</text>'


class _Mark(NamedTuple):
    at: float
    start: float  # of its text
    row: int
    text: str


def _marks(vertical_lines: Sequence[VerticalLine], x: Scale, inner: int) -> list[_Mark]:
    """Each marker with the row of its text, so that texts neither cover each other nor leave the picture."""
    ends: list[float] = []  # of the rows
    found = []
    for marker in sorted(vertical_lines):
        across = x.share(marker.x)
        if across is None or not 0 <= across <= 1:
            continue
        at = inner * across
        name = cut(marker.text, int(inner / _LETTER))
        start = max(0.0, min(at - 3, inner - len(name) * _LETTER))
        row = next((row for row, end in enumerate(ends) if end <= start), len(ends))
        if name:
            ends[row : row + 1] = [start + (len(name) + 2) * _LETTER]
        found.append(_Mark(at, start, row if name else 0, name))
    return found


def _markers(marks: list[_Mark], bottom: int) -> Iterator[str]:
    for mark in marks:
        line = _TITLE + _MARKS * mark.row + 12
        yield f'<path d="M{_LEFT + mark.at:.1f} {line + 3}V{bottom}" stroke="{_MARK}" stroke-dasharray="4 3"/>'
        if mark.text:
            # On white, where the line of another one passes behind it.
            size = len(mark.text) * _LETTER
            yield f'<rect x="{_LEFT + mark.start:.1f}" y="{line - 10}" width="{size:.1f}" height="13" fill="#fff"/>'
            yield f'<text x="{_LEFT + mark.start:.1f}" y="{line}">{xml(mark.text)}</text>'
