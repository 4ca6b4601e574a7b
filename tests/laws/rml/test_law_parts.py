r"""Laws that ask to be judged in parts: what they are taken apart into, and that this changes no verdict."""

from __future__ import annotations

import pickle
import re
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from lawful import rml
from lawful.laws.protocol import Outcome
from oracle.random_rml import random_case

Event = dict[str, Any]
LINE = "// judged: each part alone\n"
TYPES = "a matches {e: 'a'};\nb matches {e: 'b'};\nc(x) matches {e: 'c', x: x};\nac matches a | c(_);\n"
TWO = TYPES + "Main = A /\\ B;\nA = ac >> a*;\nB = b >> b Last;\nLast = b?;\n"


def names(text: str) -> list[str]:
    return [part.name for part in rml.compile(text, name="r.rml").parts]


def test_every_part_is_a_law_of_its_own() -> None:
    law = rml.compile(LINE + TWO, name="r.rml")
    first, second = law.parts
    assert [first.name, second.name] == ["r.rml: A", "r.rml: B"]
    assert first.source.endswith("ac matches a | c(_);\nMain = A;\nA = ac >> a*;\n")
    assert "b matches" not in first.source
    assert first.check([{"e": "a"}, {"e": "b"}]).accepted
    assert not first.check([{"e": "c", "x": 1}]).accepted
    assert second.check([{"e": "b"}]).accepted
    assert second.parts == (second,)
    assert second.warnings == ()
    copy = pickle.loads(pickle.dumps(second))
    assert (copy.name, copy.source, copy.warnings) == (second.name, second.source, ())


@pytest.mark.parametrize(
    "line",
    ["// judged: each part alone", "  //  judged: each part alone  ", "//judged: each part alone\r", "\ufeff" + LINE],
)
def test_a_comment_asks_for_it(line: str) -> None:
    text = f"{line}\n{TWO}" if line.startswith("\ufeff") else f"// Two.\n{line}\n{TWO}"
    assert names(text) == ["r.rml: A", "r.rml: B"]


@pytest.mark.parametrize(
    "text",
    [
        TWO,
        "// not judged: each part alone\n" + TWO,
        "// judged: each part alone, if you like\n" + TWO,
        TWO.replace("B = b", "B = // judged: each part alone\n    b"),
        TWO.replace("'a'", "'// judged: each part alone'"),
    ],
)
def test_nothing_else_asks_for_it(text: str) -> None:
    law = rml.compile(text)
    assert law.parts == (law,)


@pytest.mark.parametrize(
    ("equations", "found"),
    [
        ("Main = A; A = a /\\ b;", ["A"]),
        ("Main = A /\\ (B /\\ C); A = a; B = b; C = C2 /\\ all; C2 = a;", ["A", "B", "C"]),
        ("Main = A<1> /\\ A<2> /\\ A<1>; A<x> = c(x);", ["A<1>", "A<2>"]),
        ("Main = a* /\\ A /\\ {let x; c(x) c(x)}; A = a;", ["part 1", "A", "part 3"]),
        # Not exactly the same, or nothing to take apart.
        ("Main = all;", None),
        ("Main = a | b;", None),
        ("Main = {let x; c(x) A /\\ c(x) B}; A = c(x); B = c(x);", None),
        ("Main = A /\\ B; A = c(x); B = c(x);", None),
        ("Main = A /\\ B; A = a Main?; B = a*;", None),
    ],
)
def test_what_the_parts_are(equations: str, found: list[str] | None) -> None:
    assert names(LINE + TYPES + equations) == (["r.rml"] if found is None else [f"r.rml: {name}" for name in found])


FILTERS = ("", "wide >> ", "narrow >> ", "narrow >> ", "any >> ")


def joined(seed: int) -> tuple[str, list[Event]]:
    """The intersection of two random laws, each under a filter or not, and the events of both."""
    random = Random(seed)
    types = dict.fromkeys(("wide matches {n:'p'|'q'|'r'};", "narrow matches {n:'p'|'a'};"))
    equations = ["Main = Part0 /\\ Part1;"]
    events = []
    for index in range(2):
        text, own = random_case(10 * seed + index)
        text = re.sub(r"\bd(\d)\b", rf"d{index}_\1", re.sub(r"\b([A-Z]\w*)\b", rf"\1_{index}", text))
        for line in text.splitlines():
            if " matches " in line:
                types[line] = None
            else:
                equations.append(line)
        equations.append(f"Part{index} = {random.choice(FILTERS)}(Main_{index});")
        events += own
    return "\n".join((LINE, *types, *equations)), events


def test_the_parts_say_together_what_the_whole_says() -> None:
    apart = 0
    answers = set()
    for seed in range(120):
        text, events = joined(seed)
        whole = rml.compile(text)
        if whole.parts == (whole,):
            continue
        apart += 1
        single = [part.check(events) for part in whole.parts]
        outcome = whole.check(events)
        assert outcome.accepted == all(each.accepted for each in single)
        assert outcome.rejected_at == first(single, len(events))
        answers.add(outcome.rejected_at)
    assert apart > 50
    assert len(answers) > 4


def first(outcomes: list[Outcome], events: int) -> object:
    places = [each.rejected_at for each in outcomes if each.rejected_at is not None]
    return min(places, key=lambda place: events + 1 if place == "end" else place, default=None)


def test_the_line_changes_nothing_for_the_law_itself() -> None:
    for seed in range(30):
        text, events = joined(seed)
        assert rml.compile(text).check(events) == rml.compile(text.replace(LINE, "")).check(events)


@pytest.mark.parametrize(
    ("main", "selective"),
    [
        ("ac >> a*", True),
        ("ac >> a* : all", True),
        ("(a >> b) /\\ A /\\ all", True),
        ("{let x; c(x) >> c(x)*}", True),
        ("A", True),
        ("all", True),
        ("ac >> a* : b*", False),
        ("(a >> b) \\/ A", False),
        ("(a >> b) /\\ b*", False),
        ("a* all", False),
        ("(a >> a)*", False),
    ],
)
def test_which_laws_pass_over_what_they_do_not_name(main: str, selective: bool) -> None:
    law = rml.compile(f"{TYPES}Main = {main};\nA = b >> A2;\nA2 = b*;\n")
    assert law.selective is selective


def test_a_selective_law_needs_only_its_first_event_and_what_it_can_match() -> None:
    seen = 0
    for seed in range(100):
        text, events = joined(seed)
        other = Random(seed)
        events = [each for event in events for each in (event, *[{"n": "other"}] * other.randrange(2))]
        events = [{"name" if key == "n" else key: value for key, value in event.items()} for event in events]
        whole = rml.compile(text.replace("{n:", "{name:"))
        for law in {whole, *whole.parts}:
            if law.selective:
                wanted = law.check(events)
                routed = [n for n, event in enumerate(events) if n == 0 or can_match(law, event.get("name"))]
                monitor = law.monitor()
                monitor.feed([events[n] for n in routed], [n + 1 for n in routed])
                monitor.end()
                assert replace(monitor.outcome(), events=len(events)) == wanted
                seen += len(routed) < len(events)
    assert seen > 20


def can_match(law: rml.RmlLaw, name: object) -> bool:
    return law.watches is None or any(
        (wanted := dict(watch.keys).get("name")) is None or name in wanted for watch in law.watches
    )
