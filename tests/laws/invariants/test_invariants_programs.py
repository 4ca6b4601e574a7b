"""The programs beside the ready-made invariants, under watch on every core: one keeps them, the other does not."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lawful.laws.invariants.templates import TEMPLATES
from lawful.sources.python import tracer_choice

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "invariants"
LAWS = sorted(path.stem for path in EXAMPLES.glob("*.toml"))
CORES = tracer_choice.available()


def watched(name: str, program: str, folder: Path, core: str) -> dict[str, Any]:
    shutil.copy(EXAMPLES / f"{name}.{program}.py", folder / "program.py")
    report = folder / "report.json"
    options = [
        "--law",
        str(EXAMPLES / f"{name}.toml"),
        "--set",
        f"core={core}",
        "--format",
        "json",
        "--output",
        str(report),
    ]
    done = subprocess.run(
        [sys.executable, "-m", "lawful", "run", *options, "program.py"],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=120,
    )
    assert report.exists(), done.stdout
    found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    assert found["warnings"] == []
    assert done.returncode == (1 if found["findings"] else 0), done.stdout
    return found


def marked(name: str, program: str) -> list[int]:
    lines = (EXAMPLES / f"{name}.{program}.py").read_text(encoding="utf-8").splitlines()
    return [number for number, line in enumerate(lines, 1) if line.endswith("# violation")]


def test_there_are_programs_for_every_kind() -> None:
    used = {
        line.partition('"')[2].rstrip('"')
        for name in LAWS
        for line in (EXAMPLES / f"{name}.toml").read_text(encoding="utf-8").splitlines()
        if line.startswith("use =")
    }
    assert used == set(TEMPLATES)


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("name", LAWS)
def test_a_program_that_keeps_them(name: str, core: str, tmp_path: Path) -> None:
    assert marked(name, "keeps") == []
    assert watched(name, "keeps", tmp_path, core)["findings"] == []


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("name", LAWS)
def test_a_program_that_breaks_them(name: str, core: str, tmp_path: Path) -> None:
    lines = marked(name, "breaks")
    assert lines
    found = watched(name, "breaks", tmp_path, core)["findings"]
    assert sorted({finding["line"] for finding in found}) == lines
