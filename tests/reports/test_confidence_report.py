"""The report on confidence: what it says is true, also after rounding; table, JSON and picture."""

from __future__ import annotations

import json
import random
import re
import xml.etree.ElementTree as ET
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from cli.gold_files import assert_gold
from lawful.confidence.policy_run import PolicyMove
from lawful.confidence.statistics import Claim, ClaimState
from lawful.confidence.summary import ClassSummary, LawSummary, Point
from lawful.reports.confidence import chart, part, part_of, picture, plain_json, report_lines, rounded, sentence, sure
from lawful.reports.text import plain


def render_text(summaries: list[ClassSummary], **options: Any) -> str:
    return plain(report_lines(summaries, **options))


GOLD = Path(__file__).parent / "gold"
NEEDED = 1_151_287


def law(name: str, n: int, k: int = 0, unknown: int = 0) -> LawSummary:
    return LawSummary(1e-5, 1e-5, n, k, name, unknown)


def series(end: float, overhead: bool = True) -> tuple[Point, ...]:
    points = []
    for second in range(0, 1200, 10):
        cost = 9.0 if second < 360 else 2.0 if second < 660 else 0.33
        clean = min(NEEDED, int(NEEDED * second / end))
        points.append(Point(second, 1.0 if second < end else 0.0, clean, cost if overhead else None))
    return tuple(points)


def summary(name: str, *laws: LawSummary, end: float = 360.0, **more: Any) -> ClassSummary:
    values: dict[str, Any] = {
        "state": "off",
        "rate": 0.0,
        "created": 2_000_000,
        "sampled": 1_500_000,
        "alive": 0,
        "moves": (PolicyMove(end, "on", "off", "after 1,151,287 clean samples"),),
        "series": series(end),
    }
    return ClassSummary(name, laws=laws, **(values | more))


ALL = [
    summary("vfs.Dentry", law("refcount", NEEDED), law("leak", NEEDED, unknown=1)),
    summary("vfs.Inode", law("refcount", 1_497_717, 1), end=660.0, alive=3, state="on", rate=1.0),
    summary("vfs.Handle", law("a law with quite a long name", 2_000, 50, unknown=2), rate=1 / 64, state="s6"),
    summary("vfs.Mount", law("refcount", 0), rate=0.5, moves=()),
    summary("a.module.with.a.name.that.is.long.enough.to.fill.a.line.of.the.report.on.its.own.Pool", law("r", 50_000)),
]


def test_the_whole_report() -> None:
    assert_gold(render_text(ALL, moves=True), GOLD / "confidence.txt")
    assert render_text([]) == render_text([summary("x")]) == "no class of objects was sampled\n"


@pytest.mark.parametrize("width", [80, 100, 60])
def test_lines_fit(width: int) -> None:
    lines = render_text(ALL[:3], width=width, moves=True).splitlines()
    # A narrow table is as wide as its numbers.
    assert max(map(len, lines)) <= max(width, 78)


def test_many_moves_are_cut() -> None:
    moves = tuple(PolicyMove(float(at), f"s{at}", f"s{at + 1}", "after 10 clean samples") for at in range(20))
    text = render_text([summary("x.Y", law("r", 5), moves=moves)], moves=True)
    assert "(12 earlier moves)" in text and "s19 -> s20" in text and "s11 ->" not in text
    assert "s19" not in render_text([summary("x.Y", law("r", 5), moves=moves)])


def test_what_a_statistician_would_sign() -> None:
    assert sentence("vfs.Dentry", law("refcount", NEEDED)) == (
        "with 99.999 % confidence fewer than 1 in 100,000 objects of vfs.Dentry break refcount"
    )
    after = sentence("X", law("r", 1_497_717, 1))
    assert after == "with 99.998 % confidence fewer than 1 in 100,000 objects of X break r, after 1 violation"
    assert "1 more clean sample is needed" in sentence("X", law("r", NEEDED - 1))
    half = LawSummary(0.5, 0.01, 7, law="r")
    assert sentence("X", half) == "with 99 % confidence fewer than 50 % of objects of X break r"


def test_numbers_are_rounded_to_the_safe_side() -> None:
    source = random.Random(3)
    for _ in range(2000):
        value = 10 ** source.uniform(-11, -1e-9)
        exact = Fraction(repr(value))
        assert Fraction(sure(value).removesuffix(" %")) / 100 <= 1 - exact
        for at_least in (False, True):
            text = part(value, at_least=at_least)
            if text.endswith("%"):
                stated = Fraction(text.removesuffix(" %")) / 100
            else:
                stated = 1 / Fraction(text.removeprefix("1 in ").replace(",", ""))
            assert stated <= exact if at_least else stated >= exact
            assert abs(stated / exact - 1) < Fraction(1, 9)
        up, down = rounded(value, up=True), rounded(value, up=False)
        assert Decimal(down) <= Decimal(repr(value)) <= Decimal(up)
        assert float(up) == pytest.approx(value, rel=1e-5)


def test_round_numbers_stay_round() -> None:
    assert (sure(0.9999300022049589), sure(1 - 2**-53)) == ("0.0069 %", "0.00000000000001 %")
    assert [sure(doubt) for doubt in (1.0, 0.5, 0.05, 1e-5, 2e-5, 1e-12, 1e-300, 0.0)] == [
        "0 %", "50 %", "95 %", "99.999 %", "99.998 %", *["99.9999999999 %"] * 3,
    ]  # fmt: skip
    assert [part(rate) for rate in (1e-5, 0.001, 0.1, 0.25, 1.0, 0.0)] == [
        "1 in 100,000", "1 in 1,000", "1 in 10", "25 %", "100 %", "0 %",
    ]  # fmt: skip
    assert (part_of(0.25, "things"), part_of(0.01, "things")) == ("25 % of things", "1 in 100 things")


def test_json() -> None:
    found = json.loads(json.dumps(plain_json(ALL)))
    assert [each["class"] for each in found] == [each.class_name for each in ALL]
    first = found[0]["laws"][0]
    assert (first["samples"], first["violations"], first["claim"]) == (NEEDED, 0, "reached")
    assert (first["error_rate"], first["stated_confidence"], first["needed"]) == (1e-5, 0.99999, NEEDED)
    assert first["says"] == sentence("vfs.Dentry", ALL[0].laws[0])
    assert found[1]["series"][36] == {"time": 360, "rate": 1, "clean": 627974, "overhead": 2, "violations": 0}
    assert found[1]["moves"] == [
        {"time": 660.0, "source": "on", "target": "off", "why": "after 1,151,287 clean samples"}
    ]
    assert found[2]["laws"][0]["claim"] == "refuted" and found[2]["laws"][0]["least"] > 1e-5
    json.dumps(plain_json([summary("bad \udcff name", law("l\udcff", 1))]), ensure_ascii=False).encode()


def test_names_play_no_tricks() -> None:
    text = render_text([summary("x\x1b[31m", law("l\x1b]0;", 1))], moves=True)
    assert "\x1b" not in text
    assert "\x1b" not in picture([summary("x\x1b[31m", law("l\x1b]0;", 1))])


def test_the_picture() -> None:
    drawing = chart(ALL[:2])
    assert [panel.y.label for panel in drawing.panels] == ["overhead", "confidence"]
    assert drawing.x.label == "minutes"
    # One overhead, that of the program; a line of confidence for each class.
    assert [[line.name for line in panel.series] for panel in drawing.panels] == [[""], ["vfs.Dentry", "vfs.Inode"]]
    assert [(marker.x, marker.text) for marker in drawing.vertical_lines] == [
        (6, "vfs.Dentry: off"),
        (11, "vfs.Inode: off"),
    ]
    dentry = drawing.panels[1].series[0].points
    assert dentry[0] == (0, 1) and dentry[-1][1] == pytest.approx(1e-5, rel=1e-5)
    svg = picture(ALL[:2])
    labels = [each.text for each in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
    assert "99.999 %" in labels and "1000 %" in labels


def test_pictures_of_little() -> None:
    assert [panel.y.label for panel in chart([]).panels] == ["confidence"]
    ET.fromstring(picture([]))
    bare = summary("x", law("r", 5), series=(Point(0.0, 1.0, 0),), moves=())
    assert len(chart([bare]).panels) == 1
    ET.fromstring(picture([bare]))
    several = chart([summary("x", law("r", 5)), summary("y", law("r", 5), series=series(360)[:50])])
    assert [line.name for line in several.panels[0].series] == ["x", "y"]


def test_a_violation_is_seen_in_the_picture() -> None:
    points = (Point(0, 1, 0), Point(1, 1, 500_000), Point(2, 1, 500_000, None, 1))
    (line,) = chart([summary("x", law("r", 500_001, 1), series=points, moves=())]).panels[0].series
    doubts = [doubt for _, doubt in line.points]
    assert doubts[1] < doubts[2]
    assert doubts[2] == pytest.approx(Claim(1e-5, 1e-5, 500_001, 1).doubt)


def test_states_that_were_left_at_once_are_not_marked() -> None:
    moves = tuple(PolicyMove(500 + at / 10, f"s{at}", f"s{at + 1}", "why") for at in range(9))
    drawing = chart(
        [summary("x", law("r", 5), moves=(PolicyMove(100, "s", "t", "why"), *moves, PolicyMove(5000, "a", "b", "c")))]
    )
    assert [marker.text for marker in drawing.vertical_lines] == ["x: t", "x: s9"]


def test_a_summary_says_what_its_claim_says() -> None:
    claim = Claim(1e-3, 0.01, 3000, 1)
    found = LawSummary(claim.epsilon, claim.delta, claim.samples, claim.violations, "r", 4)
    assert (found.samples, found.violations, found.unknown, found.state) == (3000, 1, 4, claim.state)
    assert (found.bound, found.confidence, found.needed) == (claim.bound, claim.confidence, claim.needed)
    assert found.missing == max(0, claim.needed - 3000)
    assert LawSummary(0.5, 0.5, 100, law="r").missing == 0
    assert {each.state for one in ALL for each in one.laws} == set(ClaimState)


def test_sentences_name_no_rate_twice() -> None:
    for one in ALL:
        for each in one.laws:
            assert not re.search(r"%\s+%|1 in 1 in|\d objects objects", sentence(one.class_name, each))


def test_one_that_is_alive_is_no_sample() -> None:
    shown = {alive: " ".join(render_text([summary("a.B", law("l", 9), alive=alive)]).split()) for alive in (1, 2)}
    assert "1 still alive, which is not a sample;" in shown[1]
    assert "2 still alive, which are not samples;" in shown[2]
