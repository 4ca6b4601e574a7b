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

from lawful.engine import TraceRun, TraceSettings, trace_run
from lawful.engine.findings import Finding
from lawful.engine.law_judge import LawJudge
from lawful.engine.suppressions import Suppressions
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
    result = TraceRun([compile(HEAD + law) for law in laws], str(path), TraceSettings(**settings))
    result.run()
    return result


def states(result: TraceRun) -> list[tuple[bool | None, Verdict]]:
    return [(law.accepted, law.verdict) for law in result.results]


def test_every_law_gets_its_own_answer(tmp_path: Path) -> None:
    laws = ["Main = a b;", "Main = a*;", "Main = a b a;", "Main = a all;"]
    result = run(tmp_path, laws, [A, B])
    assert states(result) == [
        (True, Verdict.CURRENTLY_TRUE),
        (False, Verdict.FALSE),
        (False, Verdict.CURRENTLY_FALSE),
        (True, Verdict.TRUE),
    ]
    assert [law.rejected_at for law in result.results] == [None, 2, "end", None]
    assert [finding.rejected_at for finding in result.findings] == [2, "end"]
    assert (result.events, result.complete) == (2, True)


def test_a_law_is_fed_until_it_is_decided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fed: dict[int, int] = {}
    feed = LawJudge.judge_events

    def counted(judge: LawJudge, events: list[Event], numbers: Sequence[int], broken: Any) -> None:
        fed[id(judge)] = fed.get(id(judge), 0) + len(events)
        feed(judge, events, numbers, broken)

    monkeypatch.setattr(LawJudge, "judge_events", counted)
    result = run(tmp_path, ["Main = a*;", "Main = b;", "Main = a all;"], [A] * LONG, first_only=True)
    assert [law.accepted for law in result.results] == [None, False, True]
    fed.clear()
    result = run(tmp_path, ["Main = a*;", "Main = a (b /\\ a);", "Main = a all;"], [A] * LONG)
    assert [law.accepted for law in result.results] == [True, False, True]
    all_events, *others = (fed[id(judge)] for judge in result.law_run.laws)
    assert all_events == result.events == LONG
    assert all(events < LONG for events in others)


def test_reading_stops_when_all_is_decided(tmp_path: Path) -> None:
    result = run(tmp_path, ["Main = a (b /\\ a);", "Main = a all;"], [A] * LONG)
    assert states(result) == [(False, Verdict.FALSE), (True, Verdict.TRUE)]
    assert not result.complete
    assert result.events < LONG


def test_all_violations_are_found_and_counted(tmp_path: Path) -> None:
    result = run(tmp_path, ["Main = a*;"], [A, B, A, B, {"event": "x"}] * LONG)
    first, second = result.findings
    assert (first.rejected_at, first.count) == (2, 2 * LONG)
    assert (second.rejected_at, second.count) == (5, LONG)
    assert [(law.rejected_at, law.verdict) for law in result.results] == [(2, Verdict.FALSE)]
    assert (result.complete, result.law_run.violations) == (True, 3 * LONG)


def test_first_leaves_the_others_undecided(tmp_path: Path) -> None:
    result = run(tmp_path, ["Main = b;", "Main = a*;"], [A] * LONG, first_only=True)
    assert states(result) == [(False, Verdict.FALSE), (None, Verdict.CURRENTLY_TRUE)]
    assert not result.complete


def test_the_place_is_right_in_later_batches(tmp_path: Path) -> None:
    result = run(tmp_path, ["Main = a* b;"], [*[A] * LONG, {"e": "b", "mark": 1}, A, A], history=2)
    (finding,) = result.findings
    assert (finding.rejected_at, finding.event, finding.count) == (LONG + 2, A, 2)
    assert [number for number, _ in finding.history] == [LONG, LONG + 1]


def test_a_fault_keeps_what_was_decided(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"e":"a"}\n{"e":"b"}\noops\n')
    result = TraceRun(
        [compile(HEAD + law) for law in ("Main = b;", "Main = any*;", "Main = a all;")], str(path), TraceSettings()
    )
    result.run()
    assert [law.accepted for law in result.results] == [False, None, True]
    assert result.error is not None and result.error.slug == "trace-bad-json"
    assert not result.complete


def test_a_trace_that_cannot_be_opened_is_a_fault(tmp_path: Path) -> None:
    result = TraceRun([compile(HEAD + "Main = a;")], str(tmp_path / "none"), TraceSettings())
    result.run()
    assert result.error is not None and result.error.slug == "trace-not-found"
    assert result.results[0].accepted is None


def test_a_pipe_is_a_stream(tmp_path: Path) -> None:
    path = str(tmp_path / "pipe")
    os.mkfifo(path)
    told: list[tuple[Any, int]] = []

    def tell(finding: Finding) -> None:
        told.append((finding.rejected_at, len(finding.history)))

    result = TraceRun([compile(HEAD + "Main = {let x; c(x) c(x)*};")], path, TraceSettings(), on_finding=tell)
    writer = threading.Thread(
        target=lambda: Path(path).write_text('{"e":"c","x":1}\n{"e":"c","x":1}\n{"e":"c","x":2}\n')
    )
    writer.start()
    result.run()
    writer.join()
    assert told == [(3, 2)]


def test_an_interruption_keeps_what_was_found(tmp_path: Path) -> None:
    def watched(reader: TraceReader) -> Iterable[list[Event]]:
        yield from reader.batches()
        raise KeyboardInterrupt

    path = tmp_path / "t.jsonl"
    path.write_text('{"e":"a"}\n{"e":"b"}\n')
    result = TraceRun([compile(HEAD + law) for law in ("Main = b;", "Main = any*;")], str(path), TraceSettings())
    with pytest.raises(KeyboardInterrupt):
        result.run(watched)
    first, second = result.results
    assert [finding.rejected_at for finding in result.findings] == [1]
    assert (first.accepted, first.rejected_at) == (False, 1)
    assert (second.accepted, second.verdict, result.events) == (None, Verdict.CURRENTLY_TRUE, 2)


def test_standard_input_has_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(b'{"e":"a"}\n'))
    monkeypatch.setattr("sys.stdin", stdin)
    result = TraceRun([compile(HEAD + "Main = a;")], "-", TraceSettings())
    result.run()
    assert (result.name, result.events, result.results[0].accepted) == ("<stdin>", 1, True)


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
        result = TraceRun(laws, str(path), TraceSettings())

        def pieces(reader: TraceReader) -> Iterable[list[Event]]:
            found = list(reader)
            return (found[at : at + batch] for at in range(0, len(found), batch))

        result.run(pieces)
        for law in result.results:
            wanted = law.law.check(events)
            found = [finding for finding in result.findings if finding.law == law.law.name]
            assert law.accepted is wanted.accepted
            assert (law.verdict is Verdict.FALSE) is (wanted.verdict is Verdict.FALSE)
            assert (law.rejected_at, law.doomed_at) == (wanted.rejected_at, wanted.doomed_at)
            assert bool(found) is not wanted.accepted
            if found:
                at, lost = wanted.rejected_at if wanted.doomed_at is None else None, wanted.doomed_at
                assert (found[0].rejected_at, found[0].doomed_at) == (at, lost)
                assert found[0].event == (events[at - 1] if isinstance(at, int) else None)
                assert found[0].doomed_event == (events[lost - 1] if lost else None)
            seen.add((wanted.rejected_at, wanted.doomed_at))
    assert len(seen) > 10


def test_a_law_is_given_only_what_it_can_match(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fed: dict[str, list[int]] = {}
    feed = LawJudge.judge_events

    def noted(judge: LawJudge, events: list[Event], numbers: Sequence[int], broken: Any) -> None:
        fed.setdefault(judge.law.name, []).extend(numbers)
        feed(judge, events, numbers, broken)

    monkeypatch.setattr(LawJudge, "judge_events", noted)
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps({"event": "e", "name": name}) + "\n" for name in "abbca"))
    laws = [compile(f"x matches {{name: '{name}'}};\nMain = x >> x*;", name=name) for name in NAMES]
    TraceRun([*laws, compile("Main = any*;", name="all")], str(path), TraceSettings()).run()
    assert fed == {"a": [1, 5], "b": [1, 2, 3], "c": [1, 4], **{name: [1] for name in "defgh"}, "all": [1, 2, 3, 4, 5]}


def test_warnings_have_the_number_in_the_trace(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    events = [{"name": "a", "v": 1}] * 9 + [{"name": "b", "v": "x"}, {"name": "b", "v": 1}]
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    laws = [compile(f"x matches {{name: '{name}', v: v}} with v > 0;\nMain = x >> x*;") for name in NAMES]
    result = TraceRun(laws, str(path), TraceSettings())
    result.run()
    texts = [text for law in result.results for text in law.warnings]
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
        result = TraceRun([law], str(path), TraceSettings())
        result.run()
        found.append({each.law.name: each.rejected_at for each in result.results})
        assert {each.whole for each in result.results} == {law}
    assert found == [{"r": 3}, {"r: One": 4, "r: Two": None, "r: Three": 3}]


# -- what led to a violation -----------------------------------------------------------------------

USES = """\
use(x) matches {use:x};
done(x) matches {done:x};
Main = {let x; use(x) (Uses<x> | Main)}?;
Uses<x> = use(x)* done(x)?;
"""


def earlier(result: TraceRun) -> list[list[int]]:
    return [[number for number, _ in finding.history] for finding in result.findings]


def used(tmp_path: Path, events: Iterable[Event], **settings: Any) -> TraceRun:
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    result = TraceRun([compile(USES)], str(path), TraceSettings(**settings))
    result.run()
    return result


def test_events_long_before_are_found(tmp_path: Path) -> None:
    events = [{"use": 1}, *[{"use": 2}] * LONG, {"done": 1}, *[{"use": 2}] * LONG, {"done": 1}]
    assert earlier(used(tmp_path, events)) == [[1, LONG + 2]]


@pytest.mark.parametrize(
    ("value", "others"),
    [
        (1, [{"use": 11}, {"use": -1}, {"use": 1.0}, {"use": "1"}, {"use": True}]),
        (-1, [{"use": 1}]),
        (10**30, [{"use": 10**31}]),
        ("x", [{"use": "xx"}]),
        ('q"\\\n\u2028é', [{"use": "q"}]),
    ],
)
def test_values_are_told_apart(tmp_path: Path, value: Any, others: list[Event]) -> None:
    assert earlier(used(tmp_path, [{"use": value}, {"done": value}, *others, {"done": value}])) == [[1, 2]]


def test_a_trace_that_is_gone_is_said_to_be(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps({"use": 1}) + "\n" for _ in range(LONG)) + '{"done": 1}\n{"done": 1}\n')
    result = TraceRun([compile(USES)], str(path), TraceSettings(history=LONG))

    def pieces(reader: TraceReader) -> Iterable[list[Event]]:
        for batch in reader.batches():
            yield batch
            path.unlink(missing_ok=True)

    result.run(pieces)
    (finding,) = result.findings
    assert finding.history_note == "the trace could not be read again: there is no such file"


def test_what_is_kept_of_a_stream_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_run, "_KEPT_EVENTS", 10)
    rows = "".join(json.dumps({"use": number % 2}) + "\n" for number in range(1, 40)) + '{"done": 1}\n' * 2
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(rows.encode())))

    def one_by_one(reader: TraceReader) -> Iterable[list[Event]]:
        return ([event] for event in reader)

    result = TraceRun([compile(USES)], "-", TraceSettings(history=9))
    result.run(one_by_one)
    assert earlier(result) == [[31, 33, 35, 37, 39, 40]]
    assert result.findings[0].history_note == "events before #31 are not kept from a stream"


def test_suppressed_violations_are_counted_and_not_found(tmp_path: Path) -> None:
    events = [{"done": 1, "file": "app.py", "line": line} for line in (1, 2)]
    (tmp_path / "app.py").write_text("done()  # lawful: ignore\ndone()\n")
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    result = TraceRun([compile(USES)], str(path), suppressions=Suppressions((), tmp_path))
    result.run()
    assert [finding.line for finding in result.findings] == [2]
    assert result.law_run.log.suppressed == 1
    assert result.results[0].rejected_at == 1  # the outcome is that of `Law.check`
    first = TraceRun(
        [compile(USES)], str(path), TraceSettings(first_only=True), suppressions=Suppressions((), tmp_path)
    )
    first.run()
    assert [finding.line for finding in first.findings] == [2]
