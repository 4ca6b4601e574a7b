"""What notebooks show of findings, laws and confidence: tables, in which everything is text."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from xml.etree import ElementTree

import lawful
from lawful import markup
from lawful.confidence.summary import ClassSummary, LawSummary, Summaries
from lawful.engine.live_learning import as_finding
from lawful.laws import grammar, invariants, rml
from reports.sample_reports import ENDING, EVIL, a_learner, a_run, evil_report


def parsed(html: str) -> ElementTree.Element:
    """The markup is so plain that a reader of XML takes it."""
    return ElementTree.fromstring(f"<all>{html.replace('<br>', '<br/>')}</all>")


def cells(html: str) -> list[str]:
    return ["".join(cell.itertext()) for cell in parsed(html).iter("td")]


def test_a_finding_is_a_table_of_events() -> None:
    first = a_run().findings[0]
    html = first._repr_html_()
    assert "app.py:6" in html
    assert cells(html)[:3] == ["1", 'open("1.txt", "w") returned: object 1', "app.py:2"]
    assert cells(html)[-3] == "→"


def test_an_anomaly_shows_a_good_and_a_bad_use() -> None:
    html = as_finding(a_learner().anomalies()[0])._repr_html_()
    heads = ["".join(head.itertext()) for head in parsed(html).iter("th")]
    assert "not here" in heads
    assert "as here" in heads
    assert "lib.File.close" in cells(html)


def test_laws_show_their_text() -> None:
    law = rml.compile("a matches {event: '<b>'}; Main = a*;", name=f"{EVIL}.rml")
    assert "".join(parsed(law._repr_html_()).itertext()) == f"{EVIL}.rmla matches {{event: '<b>'}}; Main = a*;"
    bank = invariants.compile('[[invariant]]\nclass = "a.B"\nalways = "o.x >= 0"\n', name="b.toml")
    assert "a.B" in bank._repr_html_()
    view = Path(__file__).parents[1] / "examples" / "replication" / "worker.view"
    shown = lawful.load_law(view)
    assert isinstance(shown, grammar.law.GrammarLaw)
    assert "WorkerView" in shown._repr_html_()


def test_confidence_is_a_table() -> None:
    law = LawSummary(0.01, 0.01, 500, 0, "balance")
    summary = ClassSummary(f"bank.{EVIL}", "off", 1.0, 500, 500, 0, (), (law,))
    assert summary._repr_html_() == Summaries([summary])._repr_html_()
    found = cells(summary._repr_html_())
    assert found[:4] == [f"bank.{EVIL}", "balance", "500", "0"]
    assert found[-1] == "reached"


def test_a_watch_shows_what_it_found(tmp_path: Path) -> None:
    with lawful.watch(laws=["files"]) as run:
        with open(tmp_path / "a", "w") as file:
            pass
        with suppress(ValueError):
            file.write("b")
    html = run._repr_html_()
    assert "1 findings" in html
    assert "io.TextIOWrapper.write" in "".join(cells(html))
    assert run._repr_svg_() is None
    assert run.confidence == []


def test_a_watch_that_samples_shows_how_sure_it_is() -> None:
    class Account:
        def __init__(self) -> None:
            self.balance = 1

    law = invariants.invariant(Account, always="o.balance >= 0")
    with lawful.watch(laws=[law], sampling=lawful.Sampling(confidence=0.9, error_rate=0.1, policy="off")) as run:
        for _ in range(50):
            Account()
    assert isinstance(run.confidence, Summaries)
    found = cells(run._repr_html_())
    assert int(found[2]) >= 22
    assert found[-1] == "reached"


def test_nothing_becomes_markup(tmp_path: Path) -> None:
    for item in evil_report(tmp_path).items:
        tags = {element.tag for element in parsed(item.finding._repr_html_()).iter()}
        assert tags <= {"all", "div", "p", "b", "br", "code", "table", "thead", "tbody", "tr", "th", "td"}
    assert markup.text(ENDING) == "&lt;/script&gt;&lt;script&gt;alert(2)&lt;/script&gt;"
    assert markup.text("\udc80\x1b") == "&lt;U+DC80&gt;\u241b"
