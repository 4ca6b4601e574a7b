"""``lawful record``: the trace of a program."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from cli.hosted import USE, events, hosted


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "use.py").write_text(USE)
    return tmp_path


def test_calls_are_recorded(folder: Path) -> None:
    result = hosted(folder, "record", "-o", "t.jsonl", "--calls", "io", "use.py")
    assert result == ("closed\n", "lawful: 5 events in t.jsonl\n", 0) or result[::2] == ("closed\n", 0)
    found = [(each["event"], each["name"], each.get("line")) for each in events(folder / "t.jsonl")]
    assert ("func_pre", "io.TextIOWrapper.close", 2) in found
    assert ("func_raise", "io.TextIOWrapper.read", 4) in found


def test_what_a_law_can_match_is_recorded_and_not_judged(folder: Path) -> None:
    result = hosted(folder, "record", "-o", "t.jsonl", "--law", "files/use-after-close", "-q", "use.py")
    assert result == ("closed\n", "", 0)
    assert "io.TextIOWrapper.read" in {each["name"] for each in events(folder / "t.jsonl")}


def test_a_compressed_trace(folder: Path) -> None:
    hosted(folder, "record", "-o", "t.jsonl.gz", "--calls", "io", "use.py")
    with gzip.open(folder / "t.jsonl.gz", "rt") as file:
        assert json.loads(file.readline())["event"] == "func_pre"


@pytest.mark.parametrize(("ends", "code"), [("raise SystemExit(5)", 5), ("1 / 0", 1), ("import os; os._exit(7)", 7)])
def test_the_exit_code_is_the_programs_and_the_trace_is_whole(ends: str, code: int, folder: Path) -> None:
    (folder / "use.py").write_text(USE + ends + "\n")
    assert hosted(folder, "record", "-o", "t.jsonl", "--calls", "io", "use.py").code == code
    assert events(folder / "t.jsonl")[-1]["name"] == "io.TextIOWrapper.read"


def test_a_recorded_trace_can_be_checked(folder: Path) -> None:
    (folder / "law.rml").write_text("read matches {name:'io.TextIOWrapper.read'};\nMain = (read all) \\/ all;\n")
    hosted(folder, "record", "-o", "t.jsonl", "--calls", "io", "use.py")
    assert hosted(folder, "check", "law.rml", "--trace", "t.jsonl").code == 0
