"""JUnit XML, read by a reader that others have written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import junitparser
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.gold_files import assert_gold
from lawful.reports import junit
from lawful.reports.core import Report
from reports.sample_reports import evil_report, learned_report, live_report, trace_report

GOLD = Path(__file__).parent / "gold"
REPORTS: list[Callable[[Path], Report]] = [live_report, trace_report, learned_report, evil_report]


def read(report: Report) -> junitparser.JUnitXml:
    return junitparser.JUnitXml.fromstring(junit.render(report).encode())


def test_gold(tmp_path: Path) -> None:
    assert_gold(junit.render(live_report(tmp_path)), GOLD / "live.xml")


@pytest.mark.parametrize("make", REPORTS, ids=lambda make: make.__name__)
def test_its_counts_are_true(make: Callable[[Path], Report], tmp_path: Path) -> None:
    report = make(tmp_path)
    written = read(report)
    counted = read(report)
    counted.update_statistics()
    for name in ("tests", "failures", "errors", "skipped"):
        assert getattr(written, name) == getattr(counted, name)
    assert written.failures == len(report.items)
    assert written.errors == len(report.errors)


def test_laws_that_are_kept_pass(tmp_path: Path) -> None:
    passed = {case.name for suite in read(live_report(tmp_path)) for case in suite if case.is_passed}
    assert passed == {"kept.rml"}
    suites = {suite.name: suite.failures for suite in read(trace_report(tmp_path))}
    assert suites == {"files.rml": 1, "k.rml": 0}


def test_what_was_hidden_passes(tmp_path: Path) -> None:
    report = live_report(tmp_path)
    report.items.clear()
    assert {case.name for suite in read(report) for case in suite if case.is_passed} == {"laws/files.rml", "kept.rml"}


def test_a_run_without_anything_is_skipped(tmp_path: Path) -> None:
    report = live_report(tmp_path)
    report.items.clear()
    report.laws.clear()
    assert read(report).skipped == 1


@given(st.text(), st.text(st.characters(codec=None)))
def test_any_text_comes_through(message: str, name: str) -> None:
    case = junit._Case("suite", name, "place", "failure", message, message, name, 3)
    element = ElementTree.fromstring(ElementTree.tostring(junit._case(case)))
    assert element[0].text == (kept(message).replace("\r\n", "\n").replace("\r", "\n") or None)
    assert element[0].get("message") == kept(message)
    assert element.get("name") == kept(name)


def kept(text: str) -> str:
    """The text as XML can have it, by the table of its standard."""
    ranges = ((0x9, 0xA), (0xD, 0xD), (0x20, 0xD7FF), (0xE000, 0xFFFD), (0x10000, 0x10FFFF))
    return "".join(char if any(low <= ord(char) <= high for low, high in ranges) else "\ufffd" for char in text)
