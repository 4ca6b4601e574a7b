"""The page: it needs nothing from elsewhere, shows texts as texts, and answers when it is asked."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from lawful.explain.comparison import Comparison
from lawful.explain.explanation import Explanation, Picture
from lawful.explain.teacher import Bounds
from lawful.reports import explained_html
from lawful.reports.page import embedded
from reports.explanation_samples import HOSTILE, bubble_sort, comparison, failing, hostile, of_words, outcomes

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Page(HTMLParser):
    """What a browser would find in a page."""

    VOID = frozenset({"meta", "input", "link", "br", "img"})

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.quotes: list[str] = []  # where a test's script writes
        self.inside: list[str] = []
        self.raw: dict[str, list[str]] = {"script": [], "style": []}
        self.feed(text)
        self.close()
        assert not self.inside

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.inside.append(tag)
        if tag in self.raw:
            self.raw[tag].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.inside.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.inside and self.inside[-1] in self.raw:
            self.raw[self.inside[-1]][-1] += data
        else:
            self.texts.append(data)
            if self.inside and self.inside[-1] == "q":
                self.quotes.append(data)

    @property
    def data(self) -> Any:
        return json.loads(self.raw["script"][0])


def page(subject: Explanation | Comparison, **more: Any) -> Page:
    return Page(explained_html.render(subject, **more))


@pytest.mark.parametrize("subject", [bubble_sort(), hostile(), comparison()], ids=["bubble", "hostile", "comparison"])
def test_it_needs_nothing_and_runs_only_its_own_script(subject: Explanation | Comparison) -> None:
    found = page(subject)
    for tag, attributes in found.tags:
        assert tag not in ("img", "link", "iframe", "object", "embed", "base")
        for name, value in attributes.items():
            assert not name.startswith("on")
            assert name not in ("src", "style", "xlink:href")
            assert name != "href" or (value or "").startswith("#")
    data, script = found.raw["script"]
    [style] = found.raw["style"]
    assert "http" not in style + script.replace("http://www.w3.org/2000/svg", "")
    assert json.loads(data)
    [policy] = [each.get("content") or "" for _, each in found.tags if "http-equiv" in each]
    for text in (style, script):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none';")


def test_hostile_texts_are_shown() -> None:
    found = page(hostile())
    shown = " ".join(found.texts)
    for label in (*HOSTILE[:4], "<b>boom</b>", "<script>alert(4)</script>.py:f", "</script><b>not a tag</b>"):
        assert label in shown
    assert {tag for tag, _ in found.tags} & {"b", "img"} == set()
    assert [event["label"] for event in found.data["events"]][:2] == list(HOSTILE[:2])


def test_data_cannot_leave_its_element() -> None:
    text = embedded({"</script>": ["<!--", "\u2028", "\ud800", "&amp;"]})
    assert not re.search(r"[<>&\u2028]", text)
    assert json.loads(text) == {"</script>": ["<!--", "\u2028", "\ufffd", "&amp;"]}


def test_sliders_have_every_pair_of_bounds() -> None:
    explanation = bubble_sort()
    found = page(explanation)
    [panel] = found.data["panels"]
    assert [(each["unwind"], each["word_length"]) for each in panel["snapshots"]] == [(1, 8), (2, 8), (2, 12), (3, 12)]
    assert panel["chosen"] == 3
    assert len(panel["pictures"]) == 4  # the last knows its inputs, and is therefore another than the one before
    chosen = panel["pictures"][panel["snapshots"][3]["picture"]]
    assert [each["example"] for each in chosen["edges"]] == [each.example for each in explanation.picture.edges]
    assert {each.get("id") for tag, each in found.tags if each.get("type") == "range"} == {"unwind", "length"}


def test_one_pair_of_bounds_needs_no_slider() -> None:
    found = page(of_words(["a"], ("a",)))
    assert not [each for _, each in found.tags if each.get("type") == "range"]
    other = replace(of_words(["a"], ("a",)), bounds=Bounds(9, 9))
    [panel] = page(other).data["panels"]
    assert panel["snapshots"][panel["chosen"]]["unwind"] == 9


def test_every_control_has_a_name() -> None:
    found = page(bubble_sort())
    labelled = {each["for"] for tag, each in found.tags if tag == "label" and "for" in each}
    for tag, each in found.tags:
        if tag == "input":
            assert each["type"] == "checkbox" or each["id"] in labelled
        if tag == "svg":
            assert each["role"] == "group" and each["aria-label"]
    assert ("html", {"lang": "en"}) in found.tags
    assert any(each.get("aria-live") == "polite" for _, each in found.tags)


def test_source_lines_are_read_from_the_project(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "program.py").write_text("\n" * 9 + "    a = '</script>'\n", encoding="utf-8")
    [panel] = page(of_words(["a"], ("a",)), folder=tmp_path).data["panels"]
    assert panel["pictures"][0]["edges"][0]["source_line"] == "a = '</script>'"


def test_nothing_found() -> None:
    found = page(replace(bubble_sort(), picture=Picture(1, (), ()), snapshots=(), ways=(), ways_total=0))
    assert "AssertionError is not reached within the bounds" in found.texts


def test_a_comparison_has_a_picture_for_each_side() -> None:
    found = page(comparison())
    assert sum(tag == "svg" for tag, _ in found.tags) == 1
    assert "only in new: nothing" in found.texts
    assert "the versions behave differently" in found.texts
    assert [each["title"] for each in found.data["panels"]] == ["only in old"]


def test_where_it_fails_has_a_section() -> None:
    found = page(failing())
    cells = found.texts[found.texts.index("Where it fails") :]
    for text in ("KeyError", "src/program.py:13", "open > error", "open > read > error", "<b>ValueError</b>"):
        assert text in cells
    assert "ends in KeyError or <b>ValueError</b>" in found.texts
    assert "Where it fails" not in page(bubble_sort()).texts, "nothing is known of it"


def test_what_doomed_means_is_said() -> None:
    program = failing()
    paper = replace(program, picture=replace(program.picture, doomed_reading="paper"))
    ends = replace(program, ends=True, failures=())
    for subject, note in (
        (program, "doomed, every execution that comes here fails"),
        (paper, "doomed by the picture alone: not all executions that do not fail are known"),
        (ends, "doomed, the end cannot be escaped from here"),
    ):
        found = page(subject)
        assert f"D: {note}." in " ".join(" ".join(found.texts).split())
        assert {each["doomed_note"] for each in found.data["panels"][0]["pictures"]} == {note}
    plain = replace(program, picture=replace(program.picture, doomed=()))
    assert "doomed" not in " ".join(page(plain).texts)


def test_a_comparison_says_what_the_other_version_does() -> None:
    found = page(outcomes())
    assert "but in new <b>, the same input ends well: open > end" in found.texts
    assert "but in new <b>, the same events fail with KeyError or end well" in found.texts
    assert "unsure: an execution that was not followed to its end may do the same" in found.texts
    assert (found.data["failing"], found.data["ends"]) == ([2], 2)
    assert [each["role"] for each in found.data["panels"]] == ["plain", "plain"]
    ticks = [attributes for tag, attributes in found.tags if "data-event" in attributes]
    assert ["disabled" in each for each in ticks] == [False, False, True, True], "ends cannot be taken out"


# -- in a browser ------------------------------------------------------------------------------------------------------


def in_browser(tmp_path: Path, subject: Explanation | Comparison, acts: str) -> Page:
    """The page after some acts. What the policy would forbid, here a script of the test, is allowed for that."""
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", explained_html.render(subject))
    file = tmp_path / "page.html"
    file.write_text(text.replace("</body>", f"<script>{acts}</script></body>"), encoding="utf-8")
    assert CHROMIUM is not None
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/profile", "--dump-dom"]
    done = subprocess.run([CHROMIUM, *options, file.as_uri()], capture_output=True, timeout=120, check=True)
    return Page(done.stdout.decode())


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_the_page_answers(tmp_path: Path) -> None:
    acts = """
    const pressed = (key) => new KeyboardEvent("keydown", { key, bubbles: true });
    const note = (what) => document.body.appendChild(document.createElement("q")).append(what);
    const caption = () => document.querySelector("figcaption").textContent;
    note(caption());
    document.querySelector('[data-event="4"]').click();
    note(caption());
    note(document.querySelectorAll("figure [data-edge]").length + " arrows");
    document.querySelector('figure [data-edge="0"]').dispatchEvent(pressed("Enter"));
    note(document.querySelector("#detail h2").textContent);
    note(document.querySelector("#detail pre").textContent);
    document.body.dispatchEvent(pressed("Escape"));
    note(document.querySelector("#detail h2").textContent);
    document.getElementById("all").click();
    const unwind = document.getElementById("unwind");
    unwind.value = 0;
    unwind.dispatchEvent(new Event("input"));
    note(caption());
    note(document.getElementById("length-value").textContent);
    document.querySelector("td button").click();
    note(document.querySelectorAll("figure .chosen").length + " chosen");
    """
    explanation = bubble_sort()
    found = in_browser(tmp_path, explanation, acts)
    notes = found.quotes
    first = explanation.snapshots[0].picture
    assert notes[0] == f"{explanation.picture.states} states, {len(explanation.picture.edges)} edges"
    assert notes[1].endswith(", 1 event taken out")
    assert int(notes[2].split()[0]) > 0
    assert notes[3:6] == ["From state 0 to state 1", explanation.picture.edges[0].example, "No arrow chosen"]
    assert notes[6] == f"{first.states} states, {len(first.edges)} edges"
    assert notes[7:] == ["8 (no other was tried)", "1 chosen"]


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_the_page_of_failures_and_of_outcomes(tmp_path: Path) -> None:
    acts = """
    const note = (what) => document.body.appendChild(document.createElement("q")).append(what);
    document.querySelectorAll(".failures tbody td:first-child").forEach((cell) => note(cell.textContent));
    note(document.querySelectorAll(".arrows tbody button").length + " buttons");
    document.querySelector('[data-event="1"]').click();
    document.querySelectorAll("figure .edge.bad").forEach((edge) => note(edge.textContent));
    """
    assert in_browser(tmp_path, failing(), acts).quotes == ["KeyError", "<b>ValueError</b>", "4 buttons"]
    found = in_browser(tmp_path, outcomes(), acts).quotes
    assert found[0] == "7 buttons" and len(found) == 2 and found[1].endswith("KeyError")


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_the_page_of_hostile_texts_runs_none_of_them(tmp_path: Path) -> None:
    acts = """
    document.querySelector('[data-event="3"]').click();
    document.querySelectorAll("td button").forEach((each) => each.click());
    document.body.append(document.createElement("q"));
    """
    alerted = "window.alert = () => document.body.append(document.createElement('img'));"
    found = in_browser(tmp_path, hostile(), alerted + acts)
    tags = {tag for tag, _ in found.tags}
    assert "q" in tags
    assert not tags & {"b", "img"}
    assert sum(tag == "script" for tag, _ in found.tags) == 3  # its data, its own, and the test's
