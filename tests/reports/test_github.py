"""Workflow commands: one line each, whatever stands in them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.gold_files import assert_gold
from lawful.reports import github
from lawful.reports.core import Report
from reports.sample_reports import evil_report, learned_report, live_report, trace_report

GOLD = Path(__file__).parent / "gold"
COMMAND = re.compile(r"::(error|warning|notice) ([^\n:]*(?::(?!:)[^\n:]*)*)::([^\n]*)")


def parsed(line: str) -> tuple[str, dict[str, str], str]:
    """As the runner reads it: properties end at a comma, the text at the line's end; then codes become characters."""
    match = COMMAND.fullmatch(line)
    assert match is not None, line
    pairs = dict(part.split("=", 1) for part in match[2].split(","))
    return match[1], {key: decoded(value) for key, value in pairs.items()}, decoded(match[3])


def decoded(text: str) -> str:
    for code, char in (("%2C", ","), ("%3A", ":"), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
        text = text.replace(code, char)
    return text


def test_gold(tmp_path: Path) -> None:
    assert_gold(github.render(live_report(tmp_path)), GOLD / "live_github.txt")


@pytest.mark.parametrize(
    "make", [live_report, trace_report, learned_report, evil_report], ids=lambda make: make.__name__
)
def test_each_finding_is_one_command(make: Callable[[Path], Report], tmp_path: Path) -> None:
    report = make(tmp_path)
    lines = github.render(report).splitlines()
    found = [parsed(line) for line in lines]
    assert len(found) == len(report.items) + len(report.errors) + len(report.warnings) + 1
    for (level, properties, _), item in zip(found, report.items, strict=False):
        mild = item.anomaly or item.finding.law.endswith("files.rml")  # which says so
        assert level == ("warning" if mild else "error")
        assert properties.get("line") == (None if item.finding.line is None else str(item.finding.line))
    assert found[-1][0] == "notice"


def test_nothing_in_a_name_is_a_command(tmp_path: Path) -> None:
    text = github.render(evil_report(tmp_path))
    assert all(line.startswith("::") and "::stop-commands::" not in line[:20] for line in text.split("\n") if line)
    assert "\x1b" not in text
    assert "\r" not in text


@given(st.text(), st.text())
def test_any_text_comes_through(text: str, title: str) -> None:
    line = github.command("error", text, {"title": title, "line": 3})
    level, properties, found = parsed(line)
    assert (level, properties["line"]) == ("error", "3")
    assert properties["title"] == github._flat(title)
    assert found == "\n".join(github._flat(part) for part in text.split("\n"))
    assert len(line.splitlines()) == 1
