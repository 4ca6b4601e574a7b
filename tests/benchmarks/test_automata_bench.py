"""The benchmark of automata runs, and prints its tables. How fast it all is, no test asks."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from lawful import core

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "automata.py"


def run(*options: str) -> list[list[str]]:
    command = [sys.executable, str(SCRIPT), "--repeat", "1", *options]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = re.findall(r"^\| [^|-].*\|$", done.stdout, re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_all_find_the_same_states() -> None:
    rows = run("--states", "12", "--letters", "3")
    differences = [row for row in rows if len(row) == 4 and row[0]]
    learners = [row for row in rows if len(row) == 7 and row[0]]
    cores = 1 if core.native is None else 2
    assert [row[0] for row in differences] == ["lawful"] * cores + ["automata-lib"]
    assert len(learners) == 2 * cores + 2
    assert len({row[3] for row in differences}) == 1 and len({row[3] for row in learners}) == 1
    for name, _, _, _, asked, worked, conjectures in learners:
        assert 0 < int(worked.replace(",", "")) <= int(asked.replace(",", "")) and int(conjectures) > 0
        assert (worked == asked) is name.startswith("AALpy")


def test_what_does_not_end_is_given_up() -> None:
    rows = run("--states", "3", "--letters", "2", "--timeout", "0.001")
    assert {row[2] for row in rows if row[0]} == {"more than 0.001"}
