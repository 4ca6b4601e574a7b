"""The page: needs nothing else, says everything, and takes nothing that a program names for markup."""

from __future__ import annotations

import base64
import hashlib
import html as entities
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.gold_files import assert_gold
from lawful.confidence.summary import ClassSummary, LawSummary, Point
from lawful.engine import TraceRun, TraceSettings
from lawful.engine.run import LawRun
from lawful.laws.loader import load_law
from lawful.laws.rml import compile
from lawful.reports import gather, html
from lawful.reports.core import Report
from lawful.reports.law_places import LawPlaces
from lawful.reports.page import embedded
from lawful.reports.sources import SourceLines
from reports.sample_reports import EVIL, evil_report, files, learned_report, live_report, trace_report

GOLD = Path(__file__).parent / "gold"
EXAMPLES = Path(__file__).parents[2] / "examples"
NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
REPORTS: list[Callable[[Path], Report]] = [live_report, trace_report, learned_report, evil_report]


class Page(HTMLParser):
    """A page as a browser's parser sees it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self._open:
            self.texts.setdefault(self._open[-1], []).append(data)

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def data_of(text: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="lawful-data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def without_assets(text: str) -> str:
    """The page with its data spread out, and without what is the same in all."""
    text = re.sub(r"<style>.*?</style>", "<style>…</style>", text, flags=re.DOTALL)
    text = re.sub(r"<script>.*?</script>", "<script>…</script>", text, flags=re.DOTALL)
    text = re.sub(r"sha256-[\w+/=]+", "sha256-…", text)
    text = re.sub(r"data:image/svg\+xml,[^\"]+", "data:image/svg+xml,…", text)
    spread = json.dumps(data_of(text), indent=1)
    return re.sub(
        r'(id="lawful-data">).*?(</script>)', lambda found: f"{found[1]}\n{spread}\n{found[2]}", text, flags=re.DOTALL
    )


@pytest.mark.parametrize("make", [live_report, learned_report], ids=lambda make: make.__name__)
def test_gold(make: Callable[[Path], Report], tmp_path: Path) -> None:
    text = html.render(make(tmp_path), now=NOW)
    assert_gold(without_assets(text), GOLD / f"{make.__name__}.html.txt")


@pytest.mark.parametrize("make", REPORTS, ids=lambda make: make.__name__)
def test_it_needs_nothing_else(make: Callable[[Path], Report], tmp_path: Path) -> None:
    text = html.render(make(tmp_path))
    page = Page(text)
    assert len(page.named("script")) == 2
    assert not page.named("link") + page.named("iframe") + page.named("object") + page.named("base")
    for tag, attributes in page.tags:
        assert not [name for name in attributes if name.startswith("on") or name == "style"], tag
        for name in ("src", "href", "action", "srcset"):
            address = attributes.get(name)
            assert address is None or address.startswith(("#", "data:image/svg+xml,")), (tag, address)


@pytest.mark.parametrize("make", REPORTS, ids=lambda make: make.__name__)
def test_only_its_own_script_and_style_may_run(make: Callable[[Path], Report], tmp_path: Path) -> None:
    text = html.render(make(tmp_path))
    policy = next(each["content"] for each in Page(text).named("meta") if "http-equiv" in each)
    assert policy is not None
    rules = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert rules["default-src"] == "'none'"
    for tag in ("style", "script"):
        content = re.search(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        assert content is not None
        digest = base64.b64encode(hashlib.sha256(content[1].encode()).digest()).decode()
        assert rules[f"{tag}-src"] == f"'sha256-{digest}'"


def test_what_is_named_with_bad_intent_is_text(tmp_path: Path) -> None:
    report = evil_report(tmp_path)
    text = html.render(report, title=f"Lawful: {EVIL}")
    page = Page(text)
    assert [each for each in page.named("img") if not (each["src"] or "").startswith("data:image/svg+xml,")] == []
    assert page.texts["title"] == [f"Lawful: {EVIL}"]
    assert EVIL not in text
    assert data_of(text)["findings"][0]["law"] == report.items[0].finding.law
    assert EVIL in entities.unescape(text)


@given(st.text(st.characters(codec=None)))
def test_any_text_can_be_embedded(content: str) -> None:
    script = embedded({"text": content})
    assert not set("<>&\u2028\u2029") & set(script)
    assert json.loads(script)["text"] == re.sub("[\ud800-\udfff]", "\ufffd", content)


def test_findings_carry_their_evidence(tmp_path: Path) -> None:
    data = data_of(html.render(live_report(tmp_path)))
    first = data["findings"][0]
    assert (first["file"], first["line"], first["function"], first["count"]) == ("app.py", 6, "work", 2)
    assert [data["events"][at]["line"] for at in first["events"]] == [2, 3, 4, 6]
    assert first["broke"] is True
    assert data["files"]["app.py"]["6"] == "        first.write(word)"
    assert ["in", "tests/test_app.py::test_work (2 times)"] in first["facts"]


def test_good_and_bad_uses_stand_beside_each_other(tmp_path: Path) -> None:
    data = data_of(html.render(learned_report(tmp_path)))
    good, bad = data["findings"][0]["good"], data["findings"][0]["bad"][0]
    assert [(name, line) for name, _, line in good["events"]][-1] == ("lib.File.close", 4)
    assert "lib.File.close" not in [name for name, _, _ in bad["events"]]
    assert bad["events"][0] == ["lib.File.open", "app.py", 20]
    assert {row[3] for row in data["rules"]} >= {"enforcing"}


def test_the_law_is_marked_where_it_was_broken(tmp_path: Path) -> None:
    data = data_of(html.render(live_report(tmp_path)))
    law = data["laws"]["laws/files.rml"]
    marked = [(law[start:end], kind) for start, end, kind in data["findings"][0]["spans"]]
    assert marked[0][0].startswith("write(f) matches")
    assert marked[0][1] == "refused"
    assert ("open", "expected") in marked


def test_places_in_a_law(tmp_path: Path) -> None:
    text = """a matches {event:'a', args:[1, {x: _}, ...]} | {event:'b'};
    none_of not matches {event:'c'}; c matches {event:'c', args:[]}; Main = a* c?;"""
    law = compile(text, name="x.rml")
    places = LawPlaces([law])
    for event, wanted in (
        ({"event": "a", "args": [1, {"x": 2}, 3]}, ["a"]),
        ({"event": "a", "args": [1, {}]}, []),
        ({"event": "a", "args": [True, {"x": 2}]}, []),
        ({"event": "b"}, ["a"]),
        ({"event": "c", "args": []}, ["c"]),
        ({"event": "c", "args": [1]}, []),
    ):
        run = LawRun([compile("z matches {}; Main = z >> empty;", name="x.rml")])
        run.deliver([event])
        spans = places.of(run.findings[0])
        assert spans is not None
        assert [text[start:].split()[0] for start, _, kind in spans if kind == "refused"] == wanted


def test_views_come_with_their_messages(tmp_path: Path) -> None:
    law = load_law(EXAMPLES / "replication" / "worker.view")
    run = TraceRun([law], str(EXAMPLES / "replication" / "worker.rejected.3.jsonl"), TraceSettings(messages=20))
    run.run()
    found = gather.TraceFindings(SourceLines(tmp_path), None)
    found.add(run)
    data = data_of(html.render(gather.of_traces(found, pictures=True)))
    assert ElementTree.fromstring(data["findings"][0]["diagram"]).tag.endswith("svg")


def test_confidence_is_a_table_and_a_picture(tmp_path: Path) -> None:
    report = live_report(tmp_path)
    claim = LawSummary(0.01, 0.01, 500, 0, "a.toml: balance")
    points = (Point(0.0, 1.0, 0, 0.1), Point(1.0, 1.0, 500, 0.3))
    report.confidence = [ClassSummary(f"bank.{EVIL}", "off", 1.0, 500, 500, 0, (), (claim,), points)]
    page = Page(html.render(report))
    cells = page.texts["td"]
    assert "500" in cells
    assert any((each["alt"] or "").startswith("Overhead and confidence") for each in page.named("img"))


def test_everything_can_be_reached_and_read_aloud(tmp_path: Path) -> None:
    page = Page(html.render(learned_report(tmp_path)))
    assert page.named("html") == [{"lang": "en"}]
    assert all(each.get("alt") for each in page.named("img"))
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for tag, attributes in page.tags:
        for name in ("aria-labelledby", "aria-controls"):
            assert attributes.get(name) is None or attributes[name] in ids
        if tag == "a":
            assert (attributes["href"] or "")[1:] in ids
        if tag == "th":
            assert "scope" in attributes
    labels = len(page.named("label"))
    assert labels == len(page.named("input")) + len(page.named("select"))


def test_a_run_that_found_nothing(tmp_path: Path) -> None:
    run = LawRun([files()])
    run.end()
    text = html.render(gather.of_live(run, SourceLines(tmp_path)))
    assert "Nothing was found." in text
