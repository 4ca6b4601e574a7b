"""``lawful explain``: from a target to text, JSON and pictures; what it says to bad input."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from explain.programs import SORT, needs_cbmc
from lawful.cli.main import main

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sort.py").write_text(SORT)
    return tmp_path


def told(capsys: Capture, *words: str, code: int = 0) -> str:
    assert main(["explain", *words]) == code
    shown = capsys.readouterr()
    assert shown.err == ""
    return shown.out


def explained(capsys: Capture, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(told(capsys, *words, "--format", "json"))
    return found


def refused(capsys: Capture, *words: str) -> str:
    assert main(["explain", *words]) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.startswith("error[")
    return shown.err


def test_a_python_function(capsys: Capture) -> None:
    text = told(capsys, "sort.py:merge_sort")
    assert "sort > sort > sort > merge > take > rest > error" in text
    assert "complete within bounds" in text and "unwind 2, words of up to 8 events" in text
    assert "numbers=[0, 0]" in text and "sort.py:6" in text


def test_json_goes_to_standard_output_alone(capsys: Capture) -> None:
    found = explained(capsys, "sort.py:merge_sort")
    keys = "alphabet states edges initial accepting transitions dominating doomed bounds complete queries".split()
    assert found.keys() >= set(keys)
    assert found["alphabet"] == ["sort", "merge", "take", "rest", "error"]
    assert (found["states"], len(found["edges"]), found["accepting"], found["complete"]) == (8, 7, [7], True)
    assert found["bounds"] == {"unwind": 2, "word_length": 8}
    assert found["edges"][-1]["line"] == 6 and found["edges"][-1]["input"] == "numbers=[0, 0]"


def test_fixed_bounds(capsys: Capture) -> None:
    found = explained(capsys, "sort.py:merge_sort", "--unwind", "3", "--word-length", "20")
    assert found["bounds"] == {"unwind": 3, "word_length": 20} and found["iterations"] == 1
    # Both of two, or the second of three, are equal to or greater than what stands before: by hand.
    inputs = {word["input"] for word in found["words"]}
    assert "numbers=[0, 0]" in inputs and len(found["words"]) == found["words_total"] > 1


def test_every_learner_finds_the_same_failures(capsys: Capture) -> None:
    bounds = ("--unwind", "3", "--word-length", "20")
    words = explained(capsys, "sort.py:merge_sort", *bounds)
    assert words["learner"] == "words"
    for learner in ("table", "tree", "dont-care"):
        other = explained(capsys, "sort.py:merge_sort", *bounds, "--set", f"explain.learner={learner}")
        assert other["words"] == words["words"] and other["learner"] == learner
        assert other["dominating"] == words["dominating"] or learner == "dont-care"
        assert other["states"] <= words["states"]


def test_chosen_events_and_errors(capsys: Capture) -> None:
    found = explained(capsys, "sort.py:merge_sort", "--event", "merge", "--error", "sort.py:6")
    assert found["alphabet"] == ["merge", "sort.py:6"]
    assert [word["word"] for word in found["words"]] == [["merge", "sort.py:6"]]


def test_the_end_in_place_of_an_error(capsys: Capture) -> None:
    found = explained(capsys, "sort.py:merge_sort", "--error", "end", "--unwind", "2")
    assert ["sort", "end"] in [word["word"] for word in found["words"]] and found["error"] == "end"
    assert explained(capsys, "sort.py:merge_sort", "--error", "end", "--unwind", "2")["words"] == found["words"]


def test_all_bounds_are_snapshots(capsys: Capture) -> None:
    found = explained(capsys, "sort.py:merge_sort", "--set", "explain.all-bounds=true", "--set", "explain.max-unwind=3")
    assert {each["bounds"]["unwind"] for each in found["snapshots"]} == {1, 2, 3}
    assert found["bounds"]["unwind"] == 3


def test_pictures_are_written(capsys: Capture, here: Path) -> None:
    outputs = [word for ending in ("svg", "dot", "mmd", "html", "json") for word in ("-o", f"out.{ending}")]
    text = told(capsys, "sort.py:merge_sort", *outputs)
    assert "written: out.html" in text
    assert ET.parse(here / "out.svg").getroot().tag.endswith("svg")
    assert (here / "out.dot").read_text().startswith("digraph")
    assert (here / "out.mmd").read_text().startswith("flowchart")
    assert "<html" in (here / "out.html").read_text()
    assert json.loads((here / "out.json").read_text())["states"] == 8


def test_traces(capsys: Capture, here: Path) -> None:
    def trace(name: str, *names: str) -> str:
        events = ({"event": "func_pre", "name": each, "file": "app.py", "line": 7} for each in names)
        (here / name).write_text("".join(json.dumps(event) + "\n" for event in events))
        return name

    failing, passing = trace("failing.jsonl", "open", "read", "close"), trace("passing.jsonl", "open", "close")
    found = explained(capsys, "--traces", failing, passing)
    assert [word["word"] for word in found["words"]] == [["open", "read", "close", "error"]]
    assert found["basis"] == "sampled" and found["complete"] is False
    assert found["edges"][0]["file"] == "app.py" and "failing.jsonl" in found["words"][0]["input"]
    for name in (failing, passing):
        (here / Path(name).stem).mkdir()
        (here / name).rename(here / Path(name).stem / name)
    folders = explained(capsys, "--traces", "failing", "passing")
    assert [word["word"] for word in folders["words"]] == [word["word"] for word in found["words"]]


def test_a_pytest_test(capsys: Capture, here: Path) -> None:
    (here / "test_sort.py").write_text(
        "import pytest\n\nfrom sort import sort\n\n\n"
        "@pytest.mark.parametrize('numbers', [[], [1], [2, 1], [1, 2]])\n"
        "def test_sorted(numbers: list[int]) -> None:\n    assert sort(numbers) == sorted(numbers)\n"
    )
    found = explained(capsys, "test_sort.py::test_sorted", "--error", "test", "--set", "explain.execution-seconds=30")
    assert len(found["words"]) == 1 and "sort" in found["dominating"]


def test_limits_are_named(capsys: Capture) -> None:
    found = explained(
        capsys,
        "sort.py:merge_sort",
        "--unwind",
        "4",
        "--set",
        "explain.max-paths=10",
        "--set",
        "explain.way=exhaustive",
    )
    assert found["limits_reached"] == ["stopped after 10 paths"]
    assert found["complete"] is False and found["basis"] == "sampled"


def test_what_is_not_deterministic_is_named(capsys: Capture, here: Path) -> None:
    (here / "dice.py").write_text(
        "import random\n\n\ndef six() -> None: ...\n\n\ndef roll(n: int) -> None:\n"
        "    if random.randrange(2):\n        six()\n    assert n < 1\n"
    )
    found = explained(capsys, "dice.py:roll", "--unwind", "4", "--word-length", "5")
    assert any("determin" in warning for warning in found["warnings"]) and found["complete"] is False


def test_a_function_that_never_ends_is_cut_off(capsys: Capture, here: Path) -> None:
    (here / "loop.py").write_text(
        "def step() -> None: ...\n\n\ndef spin(n: int) -> None:\n    step()\n    while n > 0:\n        pass\n"
        "    assert n > -1\n\n\ndef walk(n: int) -> None:\n    while n > 0:\n        step()\n    assert n > -1\n"
    )
    found = explained(capsys, "loop.py:spin", "--unwind", "1", "--set", "explain.execution-seconds=0.2")
    assert found["complete"] is False and any("n=1" in warning for warning in found["warnings"])
    limit = "1 execution was cut off after the time that each has (explain.execution-seconds)"
    assert found["limits_reached"] == [limit]
    assert [word["word"] for word in found["words"]] == [["step", "error"]]
    # The word of one that goes on for ever is beyond every bound, but nobody has seen its end.
    found = explained(capsys, "loop.py:walk", "--unwind", "1", "--set", "explain.execution-seconds=0.2")
    assert found["complete"] is False and any("longer than" in warning for warning in found["warnings"])
    assert [limit.split(" after ")[0] for limit in found["limits_reached"]] == ["1 execution was cut off"]
    assert [word["word"] for word in found["words"]] == [["error"]]


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        ("while True:\n        pass", "explain.execution-seconds"),
        ("while True:\n        step()", "explain.max-word-length"),
    ],
)
def test_what_to_do_where_nothing_ends(capsys: Capture, here: Path, body: str, hint: str) -> None:
    (here / "loop.py").write_text(f"def step() -> None: ...\n\n\ndef f(n: int) -> None:\n    {body}\n")
    assert main(["explain", "loop.py:f", "--unwind", "1", "--set", "explain.execution-seconds=0.2"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("error[explain-unreachable]") and hint in told.splitlines()[-1]


def test_errors_name_files_from_here(capsys: Capture, here: Path) -> None:
    (here / "sub").mkdir()
    (here / "sub" / "bad.py").write_text("def f(n: int:\n")
    (here / "sub" / "test_bad.py").write_text("import missing_module\n\n\ndef test_x() -> None: ...\n")
    for target in ("sub/bad.py:f", "sub/test_bad.py::test_x", f"{here}/sub/bad.py:f"):
        assert main(["explain", target]) == 2
        told = capsys.readouterr().err
        assert "sub/" in told and str(here) not in told


@pytest.mark.parametrize(
    ("words", "slug", "said"),
    [
        ("", "usage", "there is no target"),
        ("sort.py:merge_sort --traces a b", "usage", "a target and traces"),
        ("nowhere.py:f", "explain-target", "file nowhere.py does not exist"),
        ("sort.py", "explain-target", "the function is missing"),
        ("sort.py:nothing", "explain-target", "nothing does not exist"),
        ("nowhere.module:f", "explain-load", "cannot be imported"),
        ("nowhere.c", "explain-target", "file nowhere.c does not exist"),
        ("sort.py:merge_sort --unwind 0", "usage", "--unwind"),
        ("sort.py:merge_sort --unwind x", "usage", "--unwind"),
        ("sort.py:merge_sort --seconds 0", "usage", "--seconds"),
        ("sort.py:merge_sort --error KeyError --set explain.max-unwind=2", "explain-unreachable", "ends in 'KeyError'"),
        ("sort.py:merge_sort --set explain.learner=guess", "config-value", "`learner` must be one of"),
        ("sort.py:merge_sort --set explain.teacher=asking", "usage", "for C programs"),
        ("sort.py:merge_sort --event-kind learn", "usage", "for C programs"),
        ("sort.py:merge_sort -o picture.png", "usage", "does not say what to write"),
        ("sort.py:merge_sort -o nowhere/picture.svg", "file", "no file can be written"),
        ("--traces nowhere.jsonl nowhere.jsonl", "trace-not-found", "nowhere.jsonl"),
        ("--traces sort.py sort.py", "trace-", "sort.py"),
    ],
)
def test_bad_input(capsys: Capture, words: str, slug: str, said: str) -> None:
    error = refused(capsys, *words.split())
    assert error.startswith(f"error[{slug}") and said in error
    assert "Traceback" not in error


def test_the_program_is_not_overwritten(capsys: Capture, here: Path) -> None:
    (here / "program.json").write_text("{}\n")
    assert "overwrite" in refused(capsys, "--traces", "program.json", "program.json", "-o", "program.json")


def test_a_python_file_that_does_not_parse(capsys: Capture, here: Path) -> None:
    (here / "broken.py").write_text("def f(:\n")
    assert "broken.py" in refused(capsys, "broken.py:f")


C_PROGRAM = """\
#include <assert.h>
int nondet_int(void);
void f(void) {}
void g(void) {}
int main(void) {
    int n = nondet_int();
    if (n > 3) f(); else g();
    if (n > 5) { g(); assert(n < 10); }
    return 0;
}
"""


@needs_cbmc
@pytest.mark.parametrize(
    "options", ["", "--set explain.teacher=asking", "--set explain.learner=tree", "--set explain.learner=dont-care"]
)
def test_a_c_program(capsys: Capture, here: Path, options: str) -> None:
    (here / "toy.c").write_text(C_PROGRAM)
    found = explained(capsys, "toy.c", "--unwind", "1", *options.split())
    assert found["alphabet"][:2] == ["f", "g"] and found["complete"]
    assert found["dominating"][-1] == found["error"]
    assert ["f", "g", found["error"]] in [word["word"] for word in found["words"]]
    assert {edge["file"] for edge in found["edges"]} == {"toy.c"}
    assert found["edges"][-1]["line"] == 8 and found["edges"][-1]["input"]


@needs_cbmc
def test_a_c_file_that_does_not_parse(capsys: Capture, here: Path) -> None:
    (here / "broken.c").write_text("int main( {\n")
    assert "broken.c" in refused(capsys, "broken.c")


@needs_cbmc
def test_words_cannot_be_listed_by_asking(capsys: Capture, here: Path) -> None:
    (here / "toy.c").write_text(C_PROGRAM)
    error = refused(capsys, "toy.c", "--set", "explain.teacher=asking", "--set", "explain.learner=words")
    assert error.startswith("error[explain-learner]")


def test_without_cbmc(capsys: Capture, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "toy.c").write_text(C_PROGRAM)
    monkeypatch.setenv("LAWFUL_CBMC", str(here / "nowhere"))
    error = refused(capsys, "toy.c")
    assert error.startswith("error[no-cbmc]") and "install" in error


def test_ctrl_c_gives_the_best_so_far(here: Path) -> None:
    # The first bound is quick, the others take minutes.
    (here / "slow.py").write_text(
        "import time\n\n\ndef step() -> None: ...\n\n\ndef f(numbers: list[int]) -> None:\n"
        "    if len(numbers) > 1:\n        open('started', 'w').close()\n        time.sleep(1)\n"
        "    for _ in numbers:\n        step()\n    assert not numbers\n"
    )
    command = [
        sys.executable,
        "-m",
        "lawful",
        "explain",
        "slow.py:f",
        "--set",
        "explain.all-bounds=true",
        "--set",
        "explain.way=exhaustive",
    ]
    run = subprocess.Popen(
        [*command, "--set", "explain.execution-seconds=60", "--format", "json"],
        cwd=here,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + 60
        while not (here / "started").exists() and run.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.5)
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=60)
    finally:
        run.kill()
    assert (run.returncode, err) == (130, "")
    found = json.loads(out)
    assert found["interrupted"] is True and found["complete"] is False
    assert [word["word"] for word in found["words"]] == [["step", "error"]]


def test_progress_is_shown_on_a_terminal_only(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    from io import StringIO

    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    assert main(["explain", "sort.py:merge_sort", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["states"] == 8
    assert "unwind 2" in screen.getvalue()
    screen.truncate(0)
    assert main(["explain", "sort.py:merge_sort", "--no-progress"]) == 0
    assert screen.getvalue().strip("\0") == ""


def test_interrupted_before_anything_was_found(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    for name in ("explain", "diff", "merge"):
        monkeypatch.setattr(f"lawful.explain.api.{name}", interrupted)
        targets = ["sort.py:merge_sort"] * {"explain": 1, "diff": 2, "merge": 4}[name]
        assert main([name, *targets]) == 130
        shown = capsys.readouterr()
        assert shown.out == "" and shown.err == "interrupted before anything was found\n"


@pytest.mark.parametrize("value", ["nan", "inf"])
def test_no_number_of_seconds(capsys: Capture, value: str) -> None:
    assert "not a number of seconds" in refused(capsys, "sort.py:merge_sort", "--seconds", value)
    word = f"explain.execution-seconds={value}"
    assert "a positive number of seconds" in refused(capsys, "sort.py:merge_sort", "--set", word)


def test_where_it_fails_is_listed(capsys: Capture, here: Path) -> None:
    (here / "several.py").write_text(
        "def low(): raise KeyError\ndef high(): raise ValueError\ndef main(n: int):\n"
        "    if n < 0: low()\n    if n > 0: high()\n"
    )
    text = told(capsys, "several.py:main", "--unwind", "1")
    assert "fails at  several.py:1: KeyError, 1 word | def low(): raise KeyError" in text
    assert "fails at  several.py:2: ValueError, 1 word | def high(): raise ValueError" in text


def test_in_which_sense_states_are_doomed(capsys: Capture, here: Path) -> None:
    (here / "spin.py").write_text(
        "def go(): pass\ndef main(n: int):\n    go()\n    while n > 0: pass\n    assert False\n"
    )
    text = told(capsys, "spin.py:main", "--unwind", "1", "--set", "explain.execution-seconds=0.2")
    assert "doomed    state 2 (by the picture alone" in text
