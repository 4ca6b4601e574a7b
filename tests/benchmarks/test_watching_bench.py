"""The benchmark of watching runs, and prints its tables. How fast it all is, no test asks."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "watching.py"
# The program that needs nothing from the package index.
QUICK = [sys.executable, str(SCRIPT), "--quick", "--program", "collections"]


def run(cache: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [*QUICK, "--cache", str(cache), *options]
    return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=300)


def events(output: str, title: str) -> int:
    found = re.search(rf"^\| {title} +\| +([\d,]+): ", output, re.MULTILINE)
    assert found, output
    return int(found[1].replace(",", ""))


def test_the_quick_run_prints_its_tables(tmp_path: Path) -> None:
    ways = ("plain", "law", "calls", "values", "public", "cprofile", "setprofile")
    done = run(tmp_path, *(f"--way={way}" for way in ways))
    assert done.returncode == 0, done.stdout + done.stderr
    for part in ("geometric mean", "| a law ", "| cProfile ", "| sys.setprofile, empty ", "| `python empty.py` "):
        assert part in done.stdout
    # Every call that returns has its return beside it, and what is public is called, too.
    calls, values = (events(done.stdout, title) for title in ("calls", "calls with arguments and results"))
    assert values >= 2 * calls > events(done.stdout, "public functions") > 0
    assert events(done.stdout, "a law") > 0


def test_a_way_that_fails_is_told(tmp_path: Path) -> None:
    project = tmp_path / f"python-{sys.version.split()[0]}" / "collections"
    project.mkdir(parents=True)
    (project / "complete").touch()
    (project / "containers.py").write_text("raise ValueError('broken')\n", encoding="utf-8")
    done = run(tmp_path, "--way=plain", "--no-start-up")
    assert done.returncode == 1
    assert "FAULT collections, unwatched again: ValueError: broken" in done.stdout


def test_a_program_that_is_not_there_is_refused(tmp_path: Path) -> None:
    done = run(tmp_path, "--program", "nothing")
    assert done.returncode == 2
    assert "nothing" in done.stderr
