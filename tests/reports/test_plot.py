"""Plots in a terminal: read back, the line is where the axes say."""

from __future__ import annotations

import pytest

from lawful.reports.chart import Axis, Chart, Panel, Series, VerticalLine
from lawful.reports.plot import plot_lines
from lawful.reports.text import plain

STRAIGHT = Series("", [(0.0, 0.0), (10.0, 1.0)])


def drawn(chart: Chart, width: int = 60, height: int = 11) -> list[str]:
    return plain(plot_lines(chart, width=width, height=height)).splitlines()


def test_a_straight_line() -> None:
    lines = drawn(Chart("Title", Axis("runs"), [Panel([STRAIGHT], Axis("y"))]))
    assert lines[0] == "Title"
    rows = [line.partition("|") for line in lines[1:12]]
    assert [label.strip() for label, _, _ in rows][::2] == ["1", "0.8", "0.6", "0.4", "0.2", "0"]
    columns = [{at for at, char in enumerate(cells) if char == "*"} for _, _, cells in rows]
    everything = sorted(column for row in columns for column in row)
    assert everything == list(range(max(everything) + 1))  # each column once
    for row, there in enumerate(columns):
        for column in there:
            assert (10 - row) / 10 == pytest.approx(column / max(everything), abs=0.051)
    assert lines[12].strip().startswith("+---")
    assert lines[13].split() == ["0", "2", "4", "6", "8", "10"]
    assert lines[14].strip() == "runs"
    assert max(map(len, lines)) <= 60


def test_markers_series_and_steep_lines() -> None:
    other = Series("", [(0.0, 1.0), (10.0, 5.0)])  # leaves the picture, and runs along its edge
    lines = drawn(
        Chart("t", Axis(), [Panel([STRAIGHT, other], Axis(high=1.0))], [VerticalLine(5.0), VerticalLine(50.0)])
    )
    assert sum(line.count(":") for line in lines) == 9  # where no line covers it
    assert set(lines[1].partition("|")[2]) == {"o"}


def test_nothing_to_draw() -> None:
    lines = drawn(Chart("t", Axis(), [Panel([Series("", [])], Axis())]))
    assert not any("*" in line for line in lines)
    assert len(lines) == 14
    assert not any("*" in line for line in drawn(Chart("t", Axis(), [Panel([Series("", [(5, 0)])], Axis(log=True))])))
