"""The page in a real browser: what a person sees and does there, with the mouse or by keyboard alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from browser import SCREENSHOTS, browser, needs_browser
from lawful.engine.run import LawRun
from lawful.laws.rml import compile
from lawful.reports import gather, html
from lawful.reports.core import Report
from lawful.reports.sources import SourceLines
from reports.sample_reports import EVIL, evil_report, learned_report, live_report

__all__ = ["browser"]

pytestmark = needs_browser

Open = Callable[..., Any]


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Open]:
    """Opens a report, and sees that nothing goes wrong in it and that it asks for nothing."""
    faults: list[str] = []
    pages: list[Any] = []

    def open_report(report: Report, *, fragment: str = "", title: str | None = None, **options: Any) -> Any:
        path = tmp_path / "report.html"
        path.write_text(html.render(report, title=title), encoding="utf-8")
        page = browser.new_page(**{"viewport": {"width": 1100, "height": 900}, **options})
        pages.append(page)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.on("dialog", lambda dialog: (faults.append("a dialog"), dialog.dismiss()))
        page.on(
            "request", lambda asked: faults.append(asked.url) if not asked.url.startswith(("file:", "data:")) else None
        )
        page.goto(f"{path.as_uri()}{fragment}")
        return page

    yield open_report
    for page in pages:
        page.close()
    assert faults == []


def keep(page: Any, name: str) -> None:
    """Keep a picture for whoever wants to see what the tests saw."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"report-{name}.png", full_page=True)


def shows(page: Any, text: str) -> None:
    """Wait until the list says so."""
    page.wait_for_selector(f"#findings-shown:has-text('{text}')")


def many(number: int, tmp_path: Path) -> Report:
    """A law that is broken at so many places."""
    law = compile("use matches {event:'func_pre'}; Main = use >> empty;", name="never.rml")
    run = LawRun([law], history=0)
    run.log._by_law["never.rml"] = -number  # there is a limit
    for at in range(1, number + 1):
        run.deliver([{"event": "func_pre", "name": f"f{at}", "targetId": at, "file": "a.py", "line": at}])
    return gather.of_live(run, SourceLines(tmp_path))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_finding_opens_with_its_evidence(opened: Open, tmp_path: Path, scheme: str) -> None:
    page = opened(live_report(tmp_path), color_scheme=scheme)
    first = page.locator("#findings > li").first
    assert first.locator(".what").inner_text() == 'io.TextIOWrapper.write("b") on object 1 is not allowed here'
    assert first.locator(".panel").is_hidden()
    first.locator("button").click()
    assert first.locator("h3 > button").get_attribute("aria-expanded") == "true"
    assert first.locator(".source .hit").inner_text().strip() == "first.write(word)"
    assert first.locator("ol.events > li").count() == 4
    assert first.locator("svg.drawn .dot").count() == 4
    assert "write(f) matches" in first.locator("pre mark.refused").inner_text()
    assert "open" in first.locator("pre mark.expected").all_inner_texts()
    first.locator("summary").click()
    assert first.locator("svg.drawn .call").count() == 4
    page.locator("details.law > summary").first.click()
    assert page.locator("img.picture").first.evaluate("picture => picture.naturalWidth") > 50
    keep(page, scheme)
    first.locator("h3 > button").click()
    assert first.locator(".panel").is_hidden()


def test_a_fingerprint_finds_by_its_beginning_only(opened: Open, tmp_path: Path) -> None:
    """Its digits are in nobody's mind who looks for something else."""
    report = many(300, tmp_path)
    page = opened(report)
    known = report.items[7].mark.fingerprint
    page.fill("#findings-filter", known[:10])
    shows(page, "1 of 300")
    page.fill("#findings-filter", known[3:12])
    shows(page, "0 of 300")


def test_it_can_be_read_by_keyboard_alone(opened: Open, tmp_path: Path) -> None:
    page = opened(many(300, tmp_path))
    focused = "document.activeElement.querySelector('.what')?.textContent ?? document.activeElement.id"
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert page.evaluate(focused).startswith("f2 ")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    assert page.locator("#findings > li").first.locator(".panel").is_visible()
    page.keyboard.press("/")
    assert page.evaluate(focused) == "findings-filter"
    page.keyboard.type("f23")
    shows(page, "11 of 300")
    assert page.locator("#findings > li").count() == 11
    # A key that is a letter of the filter is no command there.
    page.keyboard.type("j")
    shows(page, "0 of 300")
    assert page.evaluate(focused) == "findings-filter"


def test_a_long_list_grows_when_asked(opened: Open, tmp_path: Path) -> None:
    page = opened(many(250, tmp_path))
    assert page.locator("#findings > li").count() == 100
    page.click("#findings-more")
    assert page.locator("#findings > li").count() == 200
    assert page.evaluate("document.activeElement.querySelector('.what').textContent").startswith("f101 ")
    page.click("#findings-more")
    assert page.locator("#findings > li").count() == 250
    assert page.locator("#findings-more").is_hidden()


def test_they_can_be_ordered_and_chosen_by_law(opened: Open, tmp_path: Path) -> None:
    report = live_report(tmp_path)
    report.items += learned_report(tmp_path).items
    page = opened(report)
    page.select_option("#findings-order", "place")
    lines = [
        text.split(":")[1].split(" ")[0]
        for text in page.locator("#findings .where").all_inner_texts()
        if "app.py" in text
    ]
    assert lines == sorted(lines, key=int)
    page.select_option("#findings-law", "learned")
    assert set(page.locator("#findings .badge").all_inner_texts()) == {"anomaly"}


def test_an_address_opens_one_finding(opened: Open, tmp_path: Path) -> None:
    report = live_report(tmp_path)
    page = opened(report, fragment=f"#{report.items[1].mark.fingerprint}")
    assert page.locator("#findings > li").count() == 1
    assert page.locator("#findings .panel").is_visible()


def test_rules_can_be_filtered_and_sorted(opened: Open, tmp_path: Path) -> None:
    page = opened(learned_report(tmp_path))
    if page.locator("#findings > li").count() > 1:  # one alone is open
        page.locator("#findings button").first.click()
    assert page.locator("#findings .side.good").first.is_visible()
    rows = page.locator("#rules tbody tr")
    before = rows.count()
    head = page.locator("#rules th:nth-child(2)")
    for way, falling in (("descending", True), ("ascending", False)):
        head.locator("button").click()
        failed = [int(row.split("\t")[1]) for row in rows.all_inner_texts()]
        assert failed == sorted(failed, reverse=falling)
        assert head.get_attribute("aria-sort") == way
    page.click("#rules th:nth-child(6) button")
    assert head.get_attribute("aria-sort") is None
    page.fill("#rules-filter", "lib.File.close lib.File.open")
    page.wait_for_selector(f"#rules-shown:has-text(' of {before} rules')")
    assert 0 < rows.count() < before
    assert all("close" in text and "open" in text for text in rows.all_inner_texts())
    keep(page, "rules")


def test_names_that_mean_harm_are_text(opened: Open, tmp_path: Path) -> None:
    page = opened(evil_report(tmp_path), title=EVIL)
    assert page.title() == EVIL
    assert EVIL in page.locator("#findings .what").first.inner_text()
    for each in page.locator("details > summary").all():
        each.click()
    assert page.locator("img:not([src^='data:'])").count() == 0
    assert page.locator("script").count() == 2
    keep(page, "hostile")


def test_nothing_sticks_out_of_a_narrow_window(opened: Open, tmp_path: Path) -> None:
    page = opened(live_report(tmp_path), viewport={"width": 360, "height": 700})
    page.locator("#findings button").first.click()
    for each in page.locator("summary").all():
        each.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    keep(page, "narrow")


def test_ten_thousand_findings_are_there(opened: Open, tmp_path: Path) -> None:
    page = opened(many(10_000, tmp_path))
    assert page.locator("#findings-shown").inner_text() == "10,000 findings, the first 100 are shown"
    page.fill("#findings-filter", "f9999")
    shows(page, "1 of")
    page.locator("#findings button").first.click()
    assert page.locator("#findings .panel").is_visible()


def test_without_scripts_the_findings_are_a_list(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(html.render(live_report(tmp_path)), encoding="utf-8")
    page = browser.new_page(java_script_enabled=False)
    page.goto(path.as_uri())
    assert "app.py:6: laws/files.rml: io.TextIOWrapper.write" in page.locator("noscript ol li").first.inner_text()
    page.close()
