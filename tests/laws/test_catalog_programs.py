"""The programs of the catalogue, under watch on every core: one keeps its law, the other breaks it where it says."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lawful.laws import catalog
from lawful.sources.python import cores

CORES = cores.available()


def watched(program: Path, folder: Path, core: str, *laws: str) -> list[tuple[str, int]]:
    """The law and the line of each finding. The program runs in a copy: what lies in Lawful is not watched."""
    copy = folder / "program.py"
    shutil.copy(program, copy)
    report = folder / "report.json"
    options = [word for law in laws for word in ("--law", law)]
    command = ["run", *options, "--core", core, "--format", "json", "--output", str(report), str(copy)]
    done = subprocess.run(
        [sys.executable, "-m", "lawful", *command],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=120,
    )
    assert report.exists(), done.stdout
    found = json.loads(report.read_text(encoding="utf-8"))
    assert found["warnings"] == []
    assert done.returncode == (1 if found["findings"] else 0), done.stdout
    assert {finding["file"] for finding in found["findings"]} <= {"program.py"}
    return sorted((finding["law"], finding["line"]) for finding in found["findings"])


def marked(program: Path) -> list[int]:
    lines = program.read_text(encoding="utf-8").splitlines()
    return [number for number, line in enumerate(lines, 1) if line.endswith("# violation")]


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("name", catalog.names())
def test_a_program_that_keeps_the_law(name: str, core: str, tmp_path: Path) -> None:
    law = catalog.load(name)
    assert marked(law.keeps) == []
    # It keeps the laws that raise no false alarms all the more.
    assert watched(law.keeps, tmp_path, core, "std", name) == []


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("name", catalog.names())
def test_a_program_that_breaks_the_law(name: str, core: str, tmp_path: Path) -> None:
    law = catalog.load(name)
    lines = marked(law.breaks)
    assert lines
    assert watched(law.breaks, tmp_path, core, name) == [(name, line) for line in lines]
