"""``lawful laws``: what it says about a law, and the drawings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from cli.gold_files import assert_gold
from lawful.cli.main import main

GOLD = Path(__file__).parent / "gold" / "laws"

Capture = pytest.CaptureFixture[str]

FILES = """\
// A file is read only while it is open.
open(f) matches {event: 'func_post', name: 'open', resultId: f};
read(f) matches {event:'func_pre', name:'read'|'readline', targetId:f};
close(f) matches {event: 'func_pre', name: 'close', targetId: f};
Main = {let f; open(f) (File<f> | Main)}?;
File<f> = read(f)* close(f);
"""
LETTERS = "a matches {n: 'a'};\nb matches {n: 'b'};\nc matches {n: 'c'};\n"
TYPES = """\
call(n, x) matches {event: 'func_pre', name: n, args: [x, ...]};
big(x) matches call('add', x) with x > 1000;
huge(x) matches big(x) | call('append', x) with x > 1000000;
quiet not matches {name: 'log' | 'print'};
Main = {let x; huge(x) call('remove', x)}* /\\ quiet*;
"""
LAWS = {
    "files.rml": FILES,
    "simple.rml": LETTERS + "Main = (a b)*;\n",
    "choice.rml": LETTERS + "Main = a (b none \\/ c all);\n",
    "types.rml": TYPES,
    "warned.rml": LETTERS + "Main = a* a B;\nB = b B c \\/ c;\n",
    "counter.rml": LETTERS + "Main = Depth<0>;\nDepth<n> = a Depth<n+1> \\/ if (n > 0) b Depth<n-1> else empty;\n",
    "quoted.rml": "say(x) matches {n: x};\nMain = say('\"|#;<b>\\\\') say('&amp;');\n",
    "many.rml": LETTERS + f"Main = {' '.join(['(a | b | c)'] * 30)};\n",
    "wrong.rml": "Main = a;\n",
}


class Case(NamedTuple):
    arguments: str
    code: int = 0


CASES = {
    "files": Case("explain files.rml"),
    "files_json": Case("explain files.rml --format json"),
    "files_dot": Case("explain files.rml --dot"),
    "files_mermaid": Case("explain files.rml --mermaid"),
    "simple": Case("explain simple.rml"),
    "simple_json": Case("explain simple.rml --format json"),
    "simple_dot": Case("explain simple.rml --dot"),
    "choice": Case("explain choice.rml"),
    "choice_dot": Case("explain choice.rml --dot --with-failures"),
    "choice_mermaid": Case("explain choice.rml --mermaid --with-failures"),
    "types": Case("explain types.rml"),
    "types_json": Case("explain types.rml --format json"),
    "warned": Case("explain warned.rml"),
    "counter": Case("explain counter.rml"),
    "counter_dot": Case("explain counter.rml --dot"),
    "quoted_dot": Case("explain quoted.rml --dot"),
    "quoted_mermaid": Case("explain quoted.rml --mermaid"),
    "many": Case("explain many.rml --max-states 40"),
    "many_dot": Case("explain many.rml --max-states 40 --dot", 2),
    "wrong": Case("explain wrong.rml", 2),
    "missing": Case("explain files.rlm", 2),
    "two_drawings": Case("explain files.rml --dot --format json", 2),
    "dot_and_mermaid": Case("explain files.rml --dot --mermaid", 2),
    "one_state": Case("explain simple.rml --max-states 1"),
}


@pytest.fixture
def laws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in LAWS.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("laws")
@pytest.mark.parametrize("name", CASES)
def test_gold(name: str, capsys: Capture) -> None:
    case = CASES[name]
    assert main(["laws", *case.arguments.split()]) == case.code
    out, err = capsys.readouterr()
    found = f"$ lawful laws {case.arguments}\n{out}" + (f"--- standard error\n{err}" if err else "")
    assert_gold(found, GOLD / f"{name}.txt")


def test_every_gold_file_has_its_case() -> None:
    assert {path.stem for path in GOLD.glob("*.txt")} == set(CASES)


@pytest.mark.usefixtures("laws")
def test_json_goes_to_standard_output_alone(capsys: Capture) -> None:
    assert main(["laws", "explain", "warned.rml", "--format", "json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    found = json.loads(out)
    assert [(each["slug"], each["line"], each["column"]) for each in found["warnings"]] == [("rml-swallowed", 4, 8)]
    assert found["automaton"]["finite_state"]


@pytest.mark.usefixtures("laws")
@pytest.mark.parametrize("command", [[], ["explain"]])
def test_help_has_examples_and_fits(command: list[str], capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["laws", *command, "--help"]) == 0
    text = capsys.readouterr().out
    assert "Examples:\n" in text
    assert max(map(len, text.splitlines())) <= 80


def test_a_deeply_nested_law_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    law = tmp_path / "deep.rml"
    law.write_text("a matches {n:'a'};\nMain = " + "(a " * 1500 + "a" + ")?" * 1500 + ";\n")
    assert main(["laws", "explain", str(law)]) == 0
    assert "n 'a'" in capsys.readouterr().out
