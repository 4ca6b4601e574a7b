"""The two example programs of a law, run under watch: which lines should be findings, and which are."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_MARK = "# violation"
_TIMEOUT = 120.0  # seconds
_LANGUAGES = (".rml", ".toml", ".view", ".g")


Run = Callable[[Path, list[str]], tuple[int, str]]
"""Runs `lawful` with these arguments in a folder: the exit code, and what it printed."""


def run_all(laws: Mapping[str, Path], jobs: int, core: str | None) -> Iterator[tuple[str, list[str]]]:
    """For each law what is wrong with it, in the order of the laws."""
    with ThreadPoolExecutor(jobs) as pool:
        yield from zip(laws, pool.map(lambda name: problems(name, laws[name], core), laws), strict=True)


def run_in_process(folder: Path, words: list[str]) -> tuple[int, str]:
    """In a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "lawful", *words],
        cwd=folder,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        timeout=_TIMEOUT,
    )
    return done.returncode, done.stdout


def problems(name: str, path: Path, core: str | None, run: Run = run_in_process) -> list[str]:
    """What the programs of a law do that they should not, in words."""
    mistakes: list[str] = []
    for kind in ("keeps", "breaks"):
        program = path.with_suffix(f".{kind}.py")
        if not program.exists():
            mistakes.append(f"there is no {program.name}")
            continue
        expected = expected_lines(program) if kind == "breaks" else []
        if kind == "breaks" and not expected:
            mistakes.append(f"no line of {program.name} ends with `{_MARK}`")
        # The laws of the profile std raise no false alarms: they must not report a correct program.
        found, trouble = findings_of(program, path, core, ["std"] if kind == "keeps" else [], run)
        if trouble:
            mistakes.append(f"{program.name}: {trouble}")
            continue
        mistakes += [f"{program.name}:{line}: not found" for line in sorted(set(expected) - {at for _, at in found})]
        for law, line in found:
            if kind == "keeps" or line not in expected:
                mistakes.append(f"{program.name}:{line}: found, by {name if law == path.name else law}")
    return mistakes


def expected_lines(program: Path) -> list[int]:
    """The lines that are marked as violations."""
    lines = program.read_text(encoding="utf-8").splitlines()
    return [number for number, line in enumerate(lines, 1) if line.endswith(_MARK)]


def findings_of(
    program: Path, law: Path, core: str | None, others: list[str], run: Run = run_in_process
) -> tuple[list[tuple[str, int]], str]:
    """The law and the line of each finding, and what went wrong.

    The program runs in a copy: what lies in Lawful is not watched.
    """
    with tempfile.TemporaryDirectory(prefix="lawful-law-") as name:
        folder = Path(name)
        for each in law.parent.glob(f"{law.stem}.*"):
            if each.suffix in _LANGUAGES:
                shutil.copy(each, folder)
        shutil.copy(program, folder / "program.py")
        report = folder / "report.json"
        words = ["run", "--law", law.name, *(word for other in others for word in ("--law", other))]
        words += [f"--set=core={core}"] if core else []
        words += ["--format", "json", "--output", str(report), "program.py"]
        try:
            code, output = run(folder, words)
        except subprocess.TimeoutExpired:
            return [], f"it does not end within {_TIMEOUT:.0f} seconds"
        try:
            report_data = json.loads(report.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return [], f"it cannot be run: {output.strip()[-500:]}"
    if code not in (0, 1):
        return [], f"it ends with the code {code}: {output.strip()[-500:]}"
    if report_data["warnings"] or report_data["errors"]:
        return [], "; ".join([*report_data["warnings"], *report_data["errors"]])
    return sorted((finding["law"], finding["line"] or 0) for finding in report_data["findings"]), ""
