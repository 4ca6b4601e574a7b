"""`lawful laws list|show|test|new`, as a newcomer uses them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lawful.laws import catalog


def lawful(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "lawful", *words],
        cwd=folder,
        env=os.environ | {"COLUMNS": "100", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_all_laws_are_listed(tmp_path: Path):
    told = json.loads(lawful(tmp_path, "laws", "list", "--format", "json").stdout)
    assert [law["name"] for law in told] == catalog.names()
    assert all(law["title"] and law["url"].startswith("https://docs.python.org/") for law in told)
    done = lawful(tmp_path, "laws", "list", "files", "locks/release-unheld")
    assert "A closed file is not used" in done.stdout and "locks/release-unheld" in done.stdout
    assert "threads/" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_a_law_is_shown(tmp_path: Path):
    done = lawful(tmp_path, "laws", "show", "files/use-after-close")
    for words in ("A closed file is not used", "with` block", "Main =", "# violation", "io.html#io.IOBase.close"):
        assert words in done.stdout
    told = json.loads(lawful(tmp_path, "laws", "show", "files/use-after-close", "--format", "json").stdout)
    assert told["text"] == catalog.find("files/use-after-close").read_text()


@pytest.mark.parametrize("words", [["show", "nothing"], ["show", "files"], ["list", "nothing"], ["test", "nothing"]])
def test_unknown_names_are_told(tmp_path: Path, words):
    done = lawful(tmp_path, "laws", *words)
    assert done.returncode == 2 and "error[law-not-found]" in done.stderr


def test_a_new_law_works_at_once_and_is_tested(tmp_path: Path):
    (tmp_path / "pyproject.toml").write_text("")
    done = lawful(tmp_path, "laws", "new", "order-paid-once")
    assert done.returncode == 0 and "lawful laws test project/order-paid-once" in done.stdout
    done = lawful(tmp_path, "laws", "test", "project")
    assert done.returncode == 0 and "1 law, as they should be" in done.stdout, done.stdout + done.stderr
    assert lawful(tmp_path, "laws", "new", "order-paid-once").returncode == 2
    assert "error[law-name]" in lawful(tmp_path, "laws", "new", "../x").stderr
    law = tmp_path / "laws" / "order-paid-once.rml"
    law.write_text(law.read_text().replace("Thing.use'", "Thing.unused'"))
    done = lawful(tmp_path, "laws", "test", "project")
    assert done.returncode == 1 and "order-paid-once.breaks.py:17: not found" in done.stdout
    law.write_text("nonsense")
    done = lawful(tmp_path, "laws", "test", "project")
    assert done.returncode == 1 and "cannot be run" in done.stdout and "Traceback" not in done.stdout


def test_a_program_without_marks_or_that_fails_is_wrong(tmp_path: Path):
    (tmp_path / "pyproject.toml").write_text("")
    lawful(tmp_path, "laws", "new", "one")
    keeps, breaks = tmp_path / "laws" / "one.keeps.py", tmp_path / "laws" / "one.breaks.py"
    breaks.write_text(breaks.read_text().replace("# violation", ""))
    keeps.write_text("raise SystemExit(7)\n")
    done = lawful(tmp_path, "laws", "test", "project")
    assert done.returncode == 1
    assert "no line of one.breaks.py" in done.stdout and "ends with the code 7" in done.stdout
    assert "one.breaks.py:17: found" in done.stdout


def test_some_of_the_catalogue(tmp_path: Path):
    done = lawful(tmp_path, "laws", "test", "threads/start-once", "files/use-after-close", "--jobs", "2")
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[0].split() == ["ok", "threads/start-once"]
