"""``lawful diff``: two targets, two folders, two git revisions."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from explain.programs import BASE, BRANCH_A, REPAIRED, SORT, needs_cbmc
from lawful.cli.main import main
from reports.explanation_samples import comparison

Capture = pytest.CaptureFixture[str]
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "old.py").write_text(SORT)
    (folder / "new.py").write_text(REPAIRED)
    return folder


def told(capsys: Capture, *words: str, code: int) -> str:
    assert main(["diff", *words]) == code
    shown = capsys.readouterr()
    assert shown.err == ""
    return shown.out


def compared(capsys: Capture, *words: str, code: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(told(capsys, *words, "--format", "json", code=code))
    return found


def words_of(found: dict[str, Any], side: str) -> list[list[str]]:
    return [each["word"] for each in found["differences"][side]["words"]]


def test_behaviour_that_differs(capsys: Capture) -> None:
    found = compared(capsys, "old.py:merge_sort", "new.py:merge_sort", code=1)
    assert (found["same"], found["complete"], found["old"]) == (False, True, "old.py:merge_sort")
    assert words_of(found, "only_old") == [
        ["sort", "sort", "sort", "merge", "take", "rest", "AssertionError"],
        ["sort", "sort", "sort", "merge", "take", "rest", "end"],
    ]
    assert ["sort", "sort", "sort", "merge", "take", "rest", "rest", "end"] in words_of(found, "only_new")
    failing, ending = found["differences"]["only_old"]["words"]
    assert failing["fails"] and not ending["fails"]
    assert failing["elsewhere"] == [
        {
            "version": "new.py:merge_sort",
            "by": "input",
            "word": ["sort", "sort", "sort", "merge", "take", "rest", "rest", "end"],
            "fails": False,
        }
    ], "the same input fails in one and ends in the other"
    assert found["differences"]["only_new"]["words"][0]["input"] == "numbers=[0, 0]"
    assert {edge["file"] for edge in found["differences"]["only_new"]["edges"]} <= {"new.py", None}


def test_errors_that_differ(capsys: Capture) -> None:
    text = told(capsys, "old.py:merge_sort", "new.py:merge_sort", "--error", "AssertionError", code=1)
    assert "only in old.py:merge_sort" in text and "only in new.py:merge_sort: nothing" in text
    assert "numbers=[0, 0]" in text


def test_the_same_behaviour(capsys: Capture, here: Path) -> None:
    (here / "new.py").write_text(SORT.replace("middle", "half"))
    found = compared(capsys, "old.py:merge_sort", "new.py:merge_sort", "--set", "explain.max-unwind=3", code=0)
    assert found["same"] is True and found["bounds"]["unwind"] == 3
    assert words_of(found, "only_old") == words_of(found, "only_new") == []


def test_a_version_that_fails_where_the_other_ends(capsys: Capture, here: Path) -> None:
    head = "def push(s: list) -> None:\n    s.append(1)\n\n\ndef pop(s: list) -> None:\n    s.pop()\n\n\n"
    head += "def run(ops: list[bool]) -> None:\n    s: list[int] = []\n    for op in ops:\n        "
    (here / "old.py").write_text(f"{head}push(s) if op else pop(s)\n")
    (here / "new.py").write_text(f"{head}if op:\n            push(s)\n        elif s:\n            pop(s)\n")
    text = told(capsys, "old.py:run", "new.py:run", code=1)
    assert "way       pop > IndexError" in text and "in new.py:run, the same input ends well: end" in text
    found = compared(capsys, "old.py:run", "new.py:run", "--unwind", "2", "-o", "page.html", code=1)
    assert found["verdict"] == "differs" and found["complete"] is True
    assert found["ends"] == [{"end": "IndexError", "fails": True}, {"end": "end", "fails": False}]
    assert words_of(found, "only_old") == [["pop", "IndexError"]] and words_of(found, "only_new") == []
    page = (here / "page.html").read_text()
    assert "but in new.py:run, the same input ends well: end" in page
    compared(capsys, "old.py:run", "new.py:run", "--unwind", "2", "--error", "end", code=0)
    narrowed = compared(capsys, "old.py:run", "new.py:run", "--unwind", "2", "--error", "IndexError", code=1)
    assert narrowed["ends"] == [{"end": "IndexError", "fails": True}]


def test_a_version_that_does_not_end(capsys: Capture, here: Path) -> None:
    head = "def a() -> None: ...\n\n\ndef b() -> None: ...\n\n\ndef f(n: int) -> None:\n"
    (here / "old.py").write_text(f"{head}    a()\n    while n > 0:\n        pass\n")
    (here / "new.py").write_text(f"{head}    a()\n    if n > 0:\n        b()\n")
    (here / "other.py").write_text(f"{head}    b()\n")
    limits = ("--unwind", "1", "--set", "explain.execution-seconds=0.3")
    found = compared(capsys, "old.py:f", "new.py:f", *limits, code=3)
    assert found["verdict"] == "undecided" and found["complete"] is False
    assert "old.py:f" in found["limits_reached"][0] and "explain.execution-seconds" in found["limits_reached"][0]
    assert found["differences"]["only_new"]["certain"] is False
    found = compared(capsys, "old.py:f", "other.py:f", *limits, code=1)
    assert found["differences"]["only_new"]["certain"] is True, "what was cut off had begun with something else"


BRANCHES = "def f(n: int) -> int:\n    if n > 0:\n        return 1\n    while n < -1:\n        n += 1\n    return 0\n"


def test_lines_that_have_moved_are_no_difference(capsys: Capture, here: Path) -> None:
    (here / "old.py").write_text(BRANCHES)
    (here / "new.py").write_text("# a note\n\n" + BRANCHES.replace("    while", "\n    while"))
    compared(capsys, "old.py:f", "new.py:f", "--unwind", "2", code=0)
    (here / "new.py").write_text("# a note\n" + BRANCHES.replace("n > 0", "n > 1"))
    found = compared(capsys, "old.py:f", "new.py:f", "--unwind", "2", code=0)
    assert found["same"], "for other inputs, but nothing new happens"
    (here / "new.py").write_text("# a note\n" + BRANCHES.replace("n < -1", "n < -3"))
    found = compared(capsys, "old.py:f", "new.py:f", "--unwind", "2", code=1)
    assert words_of(found, "only_old") == [["f:2 else", "f:4 loop", "f:4 done", "end"]]


def test_what_is_an_event_in_one_version_is_one_in_the_other(capsys: Capture, here: Path) -> None:
    head = "def helper() -> None: ...\n\n\ndef f(n: int) -> None:\n"
    (here / "old.py").write_text(f"{head}    if n > 0:\n        helper()\n")
    (here / "new.py").write_text(f"{head}    if n > 0:\n        globals()['help' + 'er']()\n")
    for error in ((), ("--error", "end")):
        compared(capsys, "old.py:f", "new.py:f", "--unwind", "1", *error, code=0)
        compared(capsys, "new.py:f", "old.py:f", "--unwind", "1", *error, code=0)
    # A program without functions would be told by its branches: not beside one that has some.
    (here / "new.py").write_text("def f(n: int) -> None:\n    if n > 0:\n        print()\n")
    found = compared(capsys, "old.py:f", "new.py:f", "--unwind", "1", code=1)
    assert words_of(found, "only_old") == [["helper", "end"]] and words_of(found, "only_new") == []


@needs_git
def test_inputs_are_looked_for_here(capsys: Capture, project: Path) -> None:
    (project / "own.py").write_text("numbers = [[2, 1]]\n")
    target = ("--target", "pkg.mod:merge_sort", "--inputs", "own.py:numbers")
    found = compared(capsys, "HEAD~1", "HEAD", *target, code=1)
    assert {each["input"] for each in found["differences"]["only_old"]["words"]} == {"[2, 1]"}


@needs_git
def test_an_error_names_its_version(capsys: Capture, project: Path) -> None:
    module = project / "src" / "pkg" / "mod.py"
    module.write_text(module.read_text().replace("def merge_sort(numbers: list[int])", "def merge_sort(numbers)"))
    assert main(["diff", "HEAD", ".", "--target", "pkg.mod:merge_sort"]) == 2
    assert capsys.readouterr().err.startswith("error[explain-inputs]: .: ")


def test_pictures(capsys: Capture, here: Path) -> None:
    outputs = [word for ending in ("svg", "dot", "mmd", "html", "json") for word in ("-o", f"out.{ending}")]
    told(capsys, "old.py:merge_sort", "new.py:merge_sort", *outputs, code=1)
    assert ET.parse(here / "out.svg").getroot().tag.endswith("svg")
    assert "digraph" in (here / "out.dot").read_text() and "flowchart" in (here / "out.mmd").read_text()
    assert "<html" in (here / "out.html").read_text()
    assert json.loads((here / "out.json").read_text())["same"] is False


def git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(("git", *identity, *words), cwd=folder, check=True, capture_output=True, stdin=subprocess.DEVNULL)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    (folder / "src" / "pkg").mkdir(parents=True)
    (folder / "src" / "pkg" / "__init__.py").touch()
    module = folder / "src" / "pkg" / "mod.py"
    git(folder, "init", "--quiet")
    for text in (SORT, REPAIRED):
        module.write_text(text)
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "-m", "change")
    monkeypatch.chdir(folder)
    return folder


@needs_git
@pytest.mark.parametrize("target", ["pkg.mod:merge_sort", "src/pkg/mod.py:merge_sort"])
def test_git_revisions(capsys: Capture, project: Path, target: str) -> None:
    before = sorted((str(path), path.read_bytes()) for path in project.rglob("*") if path.is_file())
    found = compared(capsys, "HEAD~1", "HEAD", "--target", target, code=1)
    assert (found["target"], found["old"], found["new"]) == (target, "HEAD~1", "HEAD")
    assert [word[-2:] for word in words_of(found, "only_old")] == [["rest", "AssertionError"], ["rest", "end"]]
    assert found["differences"]["only_old"]["edges"][0]["file"] == "HEAD~1:src/pkg/mod.py"
    after = sorted((str(path), path.read_bytes()) for path in project.rglob("*") if path.is_file())
    assert after == before, "nothing of the user's is touched"


@needs_git
def test_a_revision_and_the_files_as_they_are(capsys: Capture, project: Path) -> None:
    target = ("--target", "pkg.mod:merge_sort", "--set", "explain.max-unwind=2")
    assert compared(capsys, "HEAD", ".", *target, code=0)["same"] is True
    (project / "src" / "pkg" / "mod.py").write_text(SORT)
    found = compared(capsys, "HEAD", ".", *target, code=1)
    assert found["differences"]["only_new"]["edges"][0]["file"] == "src/pkg/mod.py"


@needs_git
def test_in_a_pipeline(project: Path) -> None:
    command = [sys.executable, "-m", "lawful", "diff", "HEAD~1", "HEAD", "--target", "pkg.mod:merge_sort"]
    done = subprocess.run([*command, "--format", "json"], cwd=project, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (1, "") and json.loads(done.stdout)["same"] is False


def test_folders(capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in (("v1", SORT), ("v2", REPAIRED)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "sort.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    found = compared(capsys, "v1", "v2", "--target", "sort.py:merge_sort", code=1)
    assert found["differences"]["only_old"]["edges"][0]["file"] == "v1/sort.py"


@needs_git
def test_what_is_not_committed_is_told(capsys: Capture, project: Path) -> None:
    (project / "src" / "pkg" / "mod.py").write_text(SORT)
    target = ("--target", "pkg.mod:merge_sort", "--unwind", "2")
    found = compared(capsys, "HEAD~1", "HEAD", *target, code=1)
    assert "does not compare the files that you changed since HEAD" in found["warnings"][0]
    assert not compared(capsys, "HEAD~1", ".", *target, code=0)["warnings"]


@needs_git
def test_errors_name_the_revision(capsys: Capture, project: Path) -> None:
    assert main(["diff", "HEAD~1", "HEAD", "--target", "src/pkg/mod.py:nothing"]) == 2
    assert capsys.readouterr().err.startswith("error[explain-target]: HEAD~1:src/pkg/mod.py:nothing: ")


def test_revisions_where_there_is_no_repository(capsys: Capture, here: Path) -> None:
    assert main(["diff", "HEAD~1", "HEAD", "--target", "old.py:merge_sort"]) == 2
    assert capsys.readouterr().err.startswith("error[revision-not-found]: HEAD~1: ")


@needs_git
@pytest.mark.parametrize(
    ("words", "slug"),
    [
        ("HEAD~1 HEAD", "usage"),
        ("HEAD~1 nowhere --target pkg.mod:merge_sort", "revision-not-found"),
        ("HEAD~1 HEAD --target pkg.mod:nothing", "explain-target"),
        ("HEAD~1 HEAD --target nowhere.py:f", "explain-target"),
        ("HEAD~1", "usage"),
        ("HEAD~1 HEAD --target pkg.mod:merge_sort --set explain.learner=dont-care", "explain-learner"),
        ("src/pkg/mod.py:merge_sort nowhere.py:f", "explain-target"),
    ],
)
def test_bad_input(capsys: Capture, project: Path, words: str, slug: str) -> None:
    assert main(["diff", *words.split()]) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.startswith(f"error[{slug}]")


@needs_cbmc
def test_c_programs(capsys: Capture, here: Path) -> None:
    (here / "old.c").write_text(BASE)
    (here / "new.c").write_text(BRANCH_A)
    found = compared(capsys, "old.c", "new.c", "--set", "explain.max-unwind=2", code=1)
    assert words_of(found, "only_old") == [["functionA", "functionB", "end"]]
    assert words_of(found, "only_new") == [["functionA", "functionZ", "functionB", "end"]]
    assert compared(capsys, "old.c", "old.c", "--set", "explain.max-unwind=2", code=0)["same"] is True


STACK = """
#include <assert.h>
#include <stdlib.h>
int nondet_int(void);
void push(void) {}
void pop(void) {}
int main(void) {
    int size = 0;
    for (int turn = 0; turn < 2; turn++) {
        if (nondet_int()) { push(); size++; }
        else POP
    }
    if (size == 2 && nondet_int()) STOP;
    return 0;
}
"""


@needs_cbmc
def test_c_programs_that_fail(capsys: Capture, here: Path) -> None:
    careless, careful = "{ pop(); assert(size > 0); size--; }", "if (size > 0) { pop(); size--; }"
    for name, pop, stop in (
        ("old", careless, "assert(0)"),
        ("new", careful, "assert(0)"),
        ("aborting", careless, "abort()"),
    ):
        (here / f"{name}.c").write_text(STACK.replace("POP", pop).replace("STOP", stop))
    found = compared(capsys, "old.c", "new.c", "--unwind", "3", code=1)
    assert words_of(found, "only_old") == [["pop", "assert"]]
    assert words_of(found, "only_new") == [["end"], ["push", "end"]]
    found = compared(capsys, "old.c", "aborting.c", "--unwind", "3", code=1)
    assert words_of(found, "only_old") == [["push", "push", "assert"]]
    assert words_of(found, "only_new") == [["push", "push", "abort"]]
    assert compared(capsys, "old.c", "aborting.c", "--unwind", "3", "--error", "end", code=0)["same"] is True


@needs_git
def test_a_target_by_its_whole_path(capsys: Capture, here: Path) -> None:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    for words in (("init", "--quiet"), ("add", "."), ("commit", "--quiet", "-m", "one")):
        subprocess.run(("git", *identity, *words), check=True, cwd=here)
    (here / "old.py").write_text(REPAIRED)
    relative = compared(capsys, "HEAD", ".", "--target", "old.py:merge_sort", code=1)
    whole = compared(capsys, "HEAD", ".", "--target", f"{here}/old.py:merge_sort", code=1)
    assert whole["differences"] == relative["differences"]
    (here / "later.py").write_text(SORT)
    assert main(["diff", "HEAD", ".", "--target", f"{here}/later.py:merge_sort"]) == 2
    assert "HEAD has no file later.py" in capsys.readouterr().err


@pytest.mark.parametrize(("verdict", "code"), [("same", 0), ("differs", 1), ("undecided", 3), ("interrupted", 130)])
def test_exit_codes(capsys: Capture, monkeypatch: pytest.MonkeyPatch, verdict: str, code: int) -> None:
    found = comparison(same=verdict in ("same", "interrupted"))
    if verdict == "undecided":
        found = replace(found, sides=tuple(replace(side, certain=False) for side in found.sides))
    found = replace(found, interrupted=verdict == "interrupted")
    monkeypatch.setattr("lawful.explain.api.diff", lambda *_, **__: found)
    text = told(capsys, "old.py:f", "new.py:f", code=code)
    assert ("interrupted: only a part of the executions was compared" in text) is found.interrupted


def test_interrupted_before_anything_was_compared(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("lawful.explain.api.diff", stopped)
    assert main(["diff", "old.py:f", "new.py:f"]) == 130
    assert capsys.readouterr().err == "interrupted before anything was found\n"
