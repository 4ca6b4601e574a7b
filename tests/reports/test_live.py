"""The report on a running program: for people in 80 columns, for programs as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.gold_files import assert_gold
from lawful.engine.run import LawRun
from lawful.engine.wording import describe
from lawful.laws.rml import compile
from lawful.reports import gather
from lawful.reports.live import report_lines
from lawful.reports.sources import SourceLines
from lawful.reports.text import finding_lines, plain
from reports.sample_reports import render_json, render_text

GOLD = Path(__file__).parent / "gold"

FILES = compile(
    """
    open(f) matches {event:'func_post', name:'open', resultId:f};
    write(f) matches {event:'func_pre', name:'io.TextIOWrapper.write', targetId:f};
    close(f) matches {event:'func_pre', name:'io.TextIOWrapper.close', targetId:f};
    relevant matches open(_) | write(_) | close(_);
    Main = relevant >> Files;
    Files = {let f; open(f) (Files | (write(f)* close(f)))}?;
    """,
    name="laws/files.rml",
)
LOST = compile(r"a matches {event:'checkout'}; b matches {event:'b'}; Main = a none \/ b? a?;", name="lost.rml")
PROGRAM = """\
def work(path, other):
    first = open(path, "w")
    first.write("a")
    first.close()
    for word in ("b", "c"):
        first.write(word)  # a comment that is long enough for the line to be cut at the end of eighty columns
    second = open(other, "w")
    second.write("d")
"""


def event(kind: str, name: str, line: int, **parts: Any) -> dict[str, Any]:
    return {"event": kind, "name": name, **parts, "file": "app.py", "line": line, "thread": 1, "time": line / 8}


def opened(number: int, line: int, path: str) -> dict[str, Any]:
    return event("func_post", "open", line, args=[path, "w"], resultId=number)


def wrote(number: int, line: int, text: str) -> dict[str, Any]:
    return event("func_pre", "io.TextIOWrapper.write", line, targetId=number, args=[text])


def closed(number: int, line: int) -> dict[str, Any]:
    return event("func_pre", "io.TextIOWrapper.close", line, targetId=number, args=[])


def a_run() -> LawRun:
    run = LawRun([FILES, LOST])
    run.deliver([opened(1, 2, "a.txt"), wrote(1, 3, "a"), closed(1, 4)])
    run.log.context = "tests/test_app.py::test_work"
    run.deliver([wrote(1, 6, "b"), wrote(1, 6, "c")])
    run.log.context = None
    run.deliver([opened(2, 7, "b.txt"), wrote(2, 8, "d")])
    run.deliver([{"event": "checkout", "targetId": 9, "express": True, "file": "gone.py", "line": 3, "thread": 2}])
    run.end()
    return run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(PROGRAM)
    return tmp_path


def test_text(folder: Path) -> None:
    assert_gold(render_text(a_run(), folder=folder), GOLD / "live.txt")


def test_json(folder: Path) -> None:
    assert_gold(json.dumps(json.loads(render_json(a_run())), indent=1) + "\n", GOLD / "live_json.txt")


def test_nothing_found() -> None:
    run = LawRun([FILES])
    run.deliver([opened(1, 2, "a"), closed(1, 3)])
    run.end()
    assert render_text(run) == "0 findings in 1 law, 2 events, 1 thread\n"
    report = json.loads(render_json(run))
    assert (report["findings"], report["events"], report["errors"]) == ([], 2, [])


def test_what_went_wrong_is_said(folder: Path) -> None:
    run = a_run()
    run.processes, run.dropped, run.log.omitted = 3, 1200, 1
    run.errors.append("an internal error in Lawful: ValueError: \x1b[31m")
    run.warn("law.rml: a guard over text")
    assert_gold(render_text(run, folder=folder).rpartition("\n\n")[2], GOLD / "live_remarks.txt")


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_too_long(folder: Path, width: int) -> None:
    run = a_run()
    run.errors.append("a fault " * 40)
    for finding in run.findings:
        finding.contexts |= {f"tests/{'long/' * 30}test_{number}.py": number for number in range(200)}
    text = render_text(run, width=width, folder=folder)
    assert max(map(len, text.splitlines())) <= width
    assert "and 196 more" in text


def test_colours_change_no_text(folder: Path) -> None:
    run = a_run()
    spans = [span for line in report_lines(run, folder) for span in line]
    assert any(span.style == "bold red" for span in spans)
    assert plain(report_lines(run, folder)) == render_text(run, folder=folder)


def test_hostile_text_is_made_harmless(tmp_path: Path) -> None:
    (tmp_path / "e\x1bvil.py").write_text("x = '\x1b[2J'\n")
    run = LawRun([FILES])
    bad = wrote(1, 1, "\x1b]0;title\x07")
    bad["file"] = "e\x1bvil.py"
    run.deliver([bad])
    text = render_text(run, folder=tmp_path)
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "␛[2J" in text


# -- source lines ----------------------------------------------------------------------------------


def test_source_lines(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes("# coding: latin-1\n    ä = 1\n\n".encode("latin-1"))
    (tmp_path / "bad.py").write_bytes(b"\xff\xfe\xff")
    (tmp_path / "folder.py").mkdir()
    lines = SourceLines(tmp_path)
    assert lines.line("a.py", 2) == "ä = 1"
    assert lines.line(str(tmp_path / "a.py"), 1) == "# coding: latin-1"
    for file, number in (("a.py", 3), ("a.py", 0), ("a.py", 99), ("bad.py", 1), ("folder.py", 1), ("<string>", 1)):
        assert lines.line(file, number) is None
    assert lines.line(None, 1) is None
    assert lines.line("a\0b.py", 1) is None


def test_a_file_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("one\n")
    lines = SourceLines(tmp_path)
    assert lines.line("a.py", 1) == "one"
    path.unlink()
    assert lines.line("a.py", 1) == "one"


def test_a_finding_without_source(tmp_path: Path) -> None:
    run = a_run()
    text = plain(finding_lines(gather.of_live(run, SourceLines(tmp_path)).items[0], SourceLines(tmp_path)))
    assert "|" not in text


# -- words -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"event": "func_pre", "name": "len", "args": [None], "argIds": [4]}, "len(object 4)"),
        ({"event": "func_pre", "name": "f"}, "f"),
        ({"event": "func_pre", "name": "f", "args": list(range(9))}, "f(0, 1, 2, 3, 4, 5, …)"),
        (
            {"event": "func_pre", "name": "f", "args": [], "kwargs": {"a": 1, "b": None}, "kwargIds": {"b": 2}},
            "f(a=1, b=object 2)",
        ),
        (
            {"event": "func_post", "name": "str.strip", "target": " x", "args": [], "res": "x"},
            'str.strip() on " x" returned: "x"',
        ),
        ({"event": "func_raise", "name": "open", "args": ["a"], "exception": "OSError"}, 'open("a") raised OSError'),
        ({"event": "new", "name": "T", "targetId": 3, "args": [1]}, "T(1) made object 3"),
        ({"event": "gone", "name": "T", "targetId": 3}, "T object 3 is gone"),
        ({"event": "field_write", "name": "T.x", "targetId": 3, "res": 7}, "T.x = 7 on object 3"),
        ({"event": "field_read", "name": "T.x", "targetId": 3, "resultId": 7}, "T.x on object 3 is read: object 7"),
        ({"event": "iter_next", "name": "list_iterator.__next__", "targetId": 3}, "list_iterator.__next__ on object 3"),
        ({"event": "yield", "name": "g", "targetId": 3}, "g on object 3 yields"),
        ({"event": "resume", "name": "g"}, "g goes on"),
        ({"event": "checkout", "args": [1], "userId": 3, "line": 9}, 'checkout(1) {"userId":3}'),
        ({"n": 1}, 'None {"n":1}'),
    ],
)
def test_events_in_words(given: dict[str, Any], words: str) -> None:
    assert describe(given) == words
