"""``lawful diff``: two targets, two folders, two git revisions."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from explain.programs import BASE, BRANCH_A, REPAIRED, SORT, needs_cbmc
from lawful.cli.main import main

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
    assert words_of(found, "only_old") == [["sort", "sort", "sort", "merge", "take", "rest", "end"]]
    assert ["sort", "sort", "sort", "merge", "take", "rest", "rest", "end"] in words_of(found, "only_new")
    assert found["differences"]["only_new"]["words"][0]["input"] == "numbers=[0, 0]"
    assert {edge["file"] for edge in found["differences"]["only_new"]["edges"]} <= {"new.py", None}


def test_errors_that_differ(capsys: Capture) -> None:
    text = told(capsys, "old.py:merge_sort", "new.py:merge_sort", "--error", "AssertionError", code=1)
    assert "only in old.py:merge_sort" in text and "only in new.py:merge_sort: nothing" in text
    assert "numbers=[0, 0]" in text


def test_the_same_behaviour(capsys: Capture, here: Path) -> None:
    (here / "new.py").write_text(SORT.replace("middle", "half"))
    found = compared(capsys, "old.py:merge_sort", "new.py:merge_sort", "--max-unwind", "3", code=0)
    assert found["same"] is True and found["bounds"]["unwind"] == 3
    assert words_of(found, "only_old") == words_of(found, "only_new") == []


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
    assert words_of(found, "only_old") == [["sort", "sort", "sort", "merge", "take", "rest", "end"]]
    assert found["differences"]["only_old"]["edges"][0]["file"] == "HEAD~1:src/pkg/mod.py"
    after = sorted((str(path), path.read_bytes()) for path in project.rglob("*") if path.is_file())
    assert after == before, "nothing of the user's is touched"


@needs_git
def test_a_revision_and_the_files_as_they_are(capsys: Capture, project: Path) -> None:
    target = ("--target", "pkg.mod:merge_sort", "--max-unwind", "2")
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
@pytest.mark.parametrize(
    ("words", "slug"),
    [
        ("HEAD~1 HEAD", "usage"),
        ("HEAD~1 nowhere --target pkg.mod:merge_sort", "revision-not-found"),
        ("HEAD~1 HEAD --target pkg.mod:nothing", "explain-target"),
        ("HEAD~1 HEAD --target nowhere.py:f", "explain-target"),
        ("HEAD~1", "usage"),
        ("HEAD~1 HEAD --target pkg.mod:merge_sort --learner dont-care", "usage"),
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
    found = compared(capsys, "old.c", "new.c", "--max-unwind", "2", code=1)
    assert words_of(found, "only_old") == [["functionA", "functionB", "end"]]
    assert words_of(found, "only_new") == [["functionA", "functionZ", "functionB", "end"]]
    assert compared(capsys, "old.c", "old.c", "--max-unwind", "2", code=0)["same"] is True


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
    assert "there is no file later.py in HEAD" in capsys.readouterr().err
