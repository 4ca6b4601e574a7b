"""``lawful locality``: what it says, and of what."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.gold_files import assert_gold
from lawful.cli.main import main

GOLD = Path(__file__).parent / "gold" / "locality"

Capture = pytest.CaptureFixture[str]


def event(name: str, number: int | None, kind: str = "func_pre") -> dict[str, Any]:
    return {"event": kind, "name": name} | ({} if number is None else {"targetId": number})


CALLS = ((1, 2), (2, 1), (2, 1), (1, 2), (3, 1), (1, 3), (2, 3), (2, 2), (3, 1))
FIGURE_2 = [event("m.X", 1, "new"), *(event(f"m.X.method{method}", who) for who, method in CALLS)]
FAR = [event("m.Far.go", 1), *(event("m.Near.go", 10 + n // 2) for n in range(60)), event("m.Far.go", 1)]


@pytest.fixture(autouse=True)
def inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passed = [event("f", None), event("m.X.method1", 3, "func_post"), event("m.X", 3, "gone")]
    for name, events in {
        "figure_2.jsonl": FIGURE_2,
        "far.jsonl": FAR,
        "passed.jsonl": FIGURE_2 + passed,
        "plain.jsonl": [event("f", None)] * 3,
        "once.jsonl": [event("m.X.go", 1)],
        "empty.jsonl": [],
    }.items():
        (tmp_path / name).write_text("".join(json.dumps(each) + "\n" for each in events))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("gold", "words"),
    [
        ("figure_2", "figure_2.jsonl --window 3"),
        ("far", "far.jsonl"),
        ("several", "far.jsonl passed.jsonl once.jsonl"),
        ("once", "once.jsonl"),
        ("empty", "empty.jsonl"),
    ],
)
def test_text(gold: str, words: str, capsys: Capture) -> None:
    assert main(["locality", *words.split()]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert_gold(shown.out, GOLD / f"{gold}.txt")


def test_json(capsys: Capture) -> None:
    assert main(["locality", "far.jsonl", "passed.jsonl", "--format", "json", "--window", "40"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["events"], found["objects"], found["pairs"], found["largest"]) == (72, 34, 38, 61)
    assert {row["window"]: row["pairs"] for row in found["table"]} == {
        5: 37, 10: 37, 25: 37, 40: 37, 50: 37, 100: 38, 200: 38,
    }  # fmt: skip
    assert found["skipped_events"] == {"no object": 1, "func_post": 1, "gone": 1}
    assert [part["pairs"] for part in found["traces"]] == [31, 7]
    assert found["types"]["not_verifiable"] == [{"name": "m.Far", "events": 2, "pairs": 1, "largest": 61}]
    assert found["phases"] == [0] * 9 + [1]
    assert found["suggestion"] == 25


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("plain.jsonl", "error[learn-no-objects]: none of the 3 events"),
        ("no.jsonl", "error[trace-not-found]: no.jsonl"),
        ("far.jsonl --window -1", "error[window-range]"),
        ("far.jsonl --join friends", "error[join-unknown]"),
        ("far.jsonl --output far.jsonl", "error[usage]: far.jsonl: the report would overwrite"),
        ("", "error[usage]: missing argument 'TRACE...'"),
    ],
)
def test_mistakes(words: str, message: str, capsys: Capture) -> None:
    assert main(["locality", *words.split()]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(message)
