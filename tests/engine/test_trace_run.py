"""One trace and several laws: one pass, and who is decided when."""

from __future__ import annotations

import io
import json
import os
import threading
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

from lawful.engine import Case, Settings, TraceRun
from lawful.events import TraceReader
from lawful.laws.protocol import Verdict
from lawful.laws.rml import compile

Event = dict[str, Any]
HEAD = "a matches {e:'a'};\nb matches {e:'b'};\nc(x) matches {e:'c', x:x};\n"
A, B = {"e": "a"}, {"e": "b"}
LONG = 30_000  # events, more than one batch


def run(tmp_path: Path, laws: Sequence[str], events: Iterable[Event], **settings: Any) -> TraceRun:
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    result = TraceRun([compile(HEAD + law) for law in laws], str(path), Settings(**settings))
    result.run()
    return result


def states(result: TraceRun) -> list[tuple[bool | None, Verdict]]:
    return [(case.accepted, case.verdict) for case in result.cases]


def test_every_law_gets_its_own_answer(tmp_path: Path) -> None:
    laws = ["Main = a b;", "Main = a*;", "Main = a b a;", "Main = a all;"]
    result = run(tmp_path, laws, [A, B])
    assert states(result) == [
        (True, Verdict.CURRENTLY_TRUE),
        (False, Verdict.FALSE),
        (False, Verdict.CURRENTLY_FALSE),
        (True, Verdict.TRUE),
    ]
    places = [case.finding and case.finding.rejected_at for case in result.cases]
    assert places == [None, 2, "end", None]
    assert (result.events, result.complete) == (2, True)


def test_a_law_is_fed_until_it_is_decided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fed: dict[int, int] = {}
    feed = Case.feed

    def counted(case: Case, events: list[Event], numbers: Sequence[int]) -> bool:
        fed[id(case)] = fed.get(id(case), 0) + len(events)
        return feed(case, events, numbers)

    monkeypatch.setattr(Case, "feed", counted)
    result = run(tmp_path, ["Main = a*;", "Main = b;", "Main = a all;"], [A] * LONG)
    assert [case.accepted for case in result.cases] == [True, False, True]
    all_events, *others = (fed[id(case)] for case in result.cases)
    assert all_events == result.events == LONG
    assert all(events < LONG for events in others)


def test_reading_stops_when_all_is_decided(tmp_path: Path) -> None:
    result = run(tmp_path, ["Main = b;", "Main = a all;"], [A] * LONG)
    assert states(result) == [(False, Verdict.FALSE), (True, Verdict.TRUE)]
    assert not result.complete
    assert result.events < LONG


def test_fail_fast_leaves_the_others_undecided(tmp_path: Path) -> None:
    result = run(tmp_path, ["Main = b;", "Main = a*;"], [A] * LONG, fail_fast=True)
    assert states(result) == [(False, Verdict.FALSE), (None, Verdict.CURRENTLY_TRUE)]
    assert not result.complete


def test_the_place_is_right_in_later_batches(tmp_path: Path) -> None:
    result = run(tmp_path, ["Main = a* b;"], [*[A] * LONG, {"e": "b", "mark": 1}, A, A], history=2)
    finding = result.cases[0].finding
    assert finding is not None
    assert (finding.rejected_at, finding.event) == (LONG + 2, A)
    assert [number for number, _ in finding.history] == [LONG, LONG + 1]


def test_a_fault_keeps_what_was_decided(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"e":"a"}\n{"e":"b"}\noops\n')
    result = TraceRun(
        [compile(HEAD + law) for law in ("Main = b;", "Main = any*;", "Main = a all;")], str(path), Settings()
    )
    result.run()
    assert [case.accepted for case in result.cases] == [False, None, True]
    assert result.error is not None and result.error.slug == "trace-bad-json"
    assert not result.complete


def test_a_trace_that_cannot_be_opened_is_a_fault(tmp_path: Path) -> None:
    result = TraceRun([compile(HEAD + "Main = a;")], str(tmp_path / "none"), Settings())
    result.run()
    assert result.error is not None and result.error.slug == "trace-not-found"
    assert result.cases[0].accepted is None


def test_a_pipe_is_a_stream(tmp_path: Path) -> None:
    path = str(tmp_path / "pipe")
    os.mkfifo(path)
    told: list[tuple[Any, int]] = []

    def tell(case: Case) -> None:
        assert case.finding is not None
        told.append((case.finding.rejected_at, len(case.finding.history)))

    result = TraceRun([compile(HEAD + "Main = {let x; c(x) c(x)*};")], path, Settings(), on_finding=tell)
    writer = threading.Thread(
        target=lambda: Path(path).write_text('{"e":"c","x":1}\n{"e":"c","x":1}\n{"e":"c","x":2}\n')
    )
    writer.start()
    result.run()
    writer.join()
    assert told == [(3, 2)]


def test_an_interruption_can_be_concluded(tmp_path: Path) -> None:
    def watched(reader: TraceReader) -> Iterable[list[Event]]:
        yield from reader.batches()
        raise KeyboardInterrupt

    path = tmp_path / "t.jsonl"
    path.write_text('{"e":"a"}\n{"e":"b"}\n')
    result = TraceRun([compile(HEAD + law) for law in ("Main = b;", "Main = any*;")], str(path), Settings())
    with pytest.raises(KeyboardInterrupt):
        result.run(watched)
    result.conclude()
    first, second = result.cases
    assert first.finding is not None and first.finding.rejected_at == 1
    assert (second.accepted, second.verdict, result.events) == (None, Verdict.CURRENTLY_TRUE, 2)


def test_standard_input_has_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(b'{"e":"a"}\n'))
    monkeypatch.setattr("sys.stdin", stdin)
    result = TraceRun([compile(HEAD + "Main = a;")], "-", Settings())
    result.run()
    assert (result.name, result.events, result.cases[0].accepted) == ("<stdin>", 1, True)


# -- laws that pass over what they do not name -----------------------------------------------------

NAMES = "abcdefgh"
SELECTIVE = [
    f"x matches {{event: 'e', name: '{one}'}};\ny matches {{name: '{two}'}};\nxy matches x | y;\n{main}"
    for one, two in pairwise(NAMES)
    for main in ("Main = xy >> (x y)*;", "Main = xy >> x none \\/ y*;", "Main = y >> y y;")
]
OTHERS = ["a matches {name: 'a'};\nMain = a*;", "Main = any*;", "a matches {name: 'a'};\nMain = a >> a : any*;"]


def random_events(random: Random) -> list[Event]:
    odd: list[Event] = [{}, {"event": "e"}, {"name": "b"}, {"event": ["e"], "name": "c"}, {"event": "e", "name": {}}]
    names = random.sample(NAMES, random.randint(1, len(NAMES)))
    return [
        random.choice(odd) if random.random() < 0.1 else {"event": "e", "name": random.choice(names)}
        for _ in range(random.randint(0, 8))
    ]


@pytest.mark.parametrize("batch", [1, 3, 100])
def test_who_gets_an_event_changes_no_answer(tmp_path: Path, batch: int) -> None:
    random = Random(batch)
    laws = [compile(text, name=str(number)) for number, text in enumerate([*SELECTIVE, *OTHERS])]
    assert [law.selective for law in laws] == [True] * len(SELECTIVE) + [False] * len(OTHERS)
    seen = set()
    for _ in range(60):
        events = random_events(random)
        path = tmp_path / "t.jsonl"
        path.write_text("".join(json.dumps(event) + "\n" for event in events))
        result = TraceRun(laws, str(path), Settings())

        def pieces(reader: TraceReader) -> Iterable[list[Event]]:
            found = list(reader)
            return (found[at : at + batch] for at in range(0, len(found), batch))

        result.run(pieces)
        for case in result.cases:
            wanted = case.law.check(events)
            finding = case.finding
            assert case.accepted is wanted.accepted
            assert (case.verdict is Verdict.FALSE) is (wanted.verdict is Verdict.FALSE)
            assert (finding.rejected_at if finding else None) == wanted.rejected_at
            assert (finding.doomed_at if finding else None) == wanted.doomed_at
            if finding is not None:
                at, lost = wanted.rejected_at, wanted.doomed_at
                assert finding.event == (events[at - 1] if isinstance(at, int) else None)
                assert finding.doomed_event == (events[lost - 1] if lost else None)
            seen.add((wanted.rejected_at, wanted.doomed_at))
    assert len(seen) > 10


def test_a_law_is_given_only_what_it_can_match(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fed: dict[str, list[int]] = {}
    feed = Case.feed

    def noted(case: Case, events: list[Event], numbers: Sequence[int]) -> bool:
        fed.setdefault(case.law.name, []).extend(numbers)
        return feed(case, events, numbers)

    monkeypatch.setattr(Case, "feed", noted)
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps({"event": "e", "name": name}) + "\n" for name in "abbca"))
    laws = [compile(f"x matches {{name: '{name}'}};\nMain = x >> x*;", name=name) for name in NAMES]
    TraceRun([*laws, compile("Main = any*;", name="all")], str(path), Settings()).run()
    assert fed == {"a": [1, 5], "b": [1, 2, 3], "c": [1, 4], **{name: [1] for name in "defgh"}, "all": [1, 2, 3, 4, 5]}


def test_warnings_have_the_number_in_the_trace(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    events = [{"name": "a", "v": 1}] * 9 + [{"name": "b", "v": "x"}, {"name": "b", "v": 1}]
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    laws = [compile(f"x matches {{name: '{name}', v: v}} with v > 0;\nMain = x >> x*;") for name in NAMES]
    result = TraceRun(laws, str(path), Settings())
    result.run()
    texts = [text for case in result.cases for text in case.monitor.warnings()]
    assert len(texts) == 1
    assert texts[0].endswith("(at event 10)")
    assert laws[1].check(events).accepted


def test_a_law_in_parts_is_judged_by_each(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in [B, A, B, A]))
    text = HEAD + "Main = One /\\ Two /\\ Three;\nOne = a >> a;\nTwo = b >> b*;\nThree = b >> b;\n"
    whole = compile(text, name="r")
    apart = compile("// judged: each part alone\n" + text, name="r")
    found = []
    for law in (whole, apart):
        result = TraceRun([law], str(path), Settings())
        result.run()
        found.append({case.law.name: case.finding and case.finding.rejected_at for case in result.cases})
        assert {case.whole for case in result.cases} == {law}
    assert found == [{"r": 3}, {"r: One": 4, "r: Two": None, "r: Three": 3}]
