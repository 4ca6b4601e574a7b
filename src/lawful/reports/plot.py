"""A panel of a chart in a terminal, in plain characters."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from lawful.reports.chart import Axis, Chart, Scale, scale
from lawful.reports.text import WIDTH, Line, Span

_HEIGHT = 12
_MARKS = "*o+x#"


def plot_lines(chart: Chart, *, width: int = WIDTH, height: int = _HEIGHT) -> Iterator[Line]:
    """The first panel of the chart, with its title above."""
    panel = chart.panels[0]
    x = scale(chart.x, (point[0] for series in panel.series for point in series.points))
    y = scale(panel.y, (point[1] for series in panel.series for point in series.points))
    labels = _at_rows(panel.y, y, height)
    left = max(map(len, labels.values()), default=0)
    columns = max(10, width - left - 3)
    cells = [[" "] * columns for _ in range(height)]
    for marker in chart.vertical_lines:
        across = x.share(marker.x)
        if across is not None and 0 <= across <= 1:
            for line in cells:
                line[round((columns - 1) * across)] = ":"
    for place, series in enumerate(panel.series):
        for column, row in _cells(series.points, x, y, columns, height):
            cells[row][column] = _MARKS[place % len(_MARKS)]
    yield [Span(chart.title, "bold")]
    for row, line in enumerate(cells):
        yield [Span(f"{labels.get(row, ''):>{left}} |"), Span("".join(line).rstrip(), "cyan")]
    yield [Span(f"{'':>{left}} +{'-' * columns}")]
    yield [Span(f"{'':>{left}}  {_below(chart.x, x, columns)}")]
    if chart.x.label:
        yield [Span(f"{'':>{left}}  {chart.x.label:^{columns}}".rstrip())]


def _cells(
    points: Sequence[tuple[float, float]], x: Scale, y: Scale, columns: int, height: int
) -> Iterator[tuple[int, int]]:
    """For each column the row of the line, between the points beside it."""
    places = [(across, up) for a, b in points if (across := x.share(a)) is not None and (up := y.share(b)) is not None]
    places.sort()
    for column in range(columns):
        across = column / (columns - 1)
        after = bisect_left(places, (across,))
        beside = places[max(0, after - 1) : after + 1]
        if not beside or not beside[0][0] - 1e-9 <= across <= beside[-1][0] + 1e-9:
            continue
        (first, low), (last, high) = beside[0], beside[-1]
        up = low if last == first else low + (high - low) * (across - first) / (last - first)
        yield column, round((height - 1) * (1 - min(1.0, max(0.0, up))))


def _at_rows(axis: Axis, y: Scale, height: int) -> dict[int, str]:
    found: dict[int, str] = {}
    for tick in y.ticks:
        up = y.share(tick)
        if up is not None:
            found.setdefault(round((height - 1) * (1 - up)), axis.form(tick))
    return found


def _below(axis: Axis, x: Scale, columns: int) -> str:
    """The numbers below the axis, as many as there is room for."""
    line = ""
    for tick in x.ticks:
        across = x.share(tick)
        label = axis.form(tick)
        start = round((columns - 1) * (across or 0.0)) - len(label) // 2
        start = max(0, min(start, columns - len(label)))
        if not line or start > len(line):
            line = line.ljust(start) + label
    return line
