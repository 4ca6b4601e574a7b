"""The benchmark of sampled watching runs, and prints its tables. How fast it all is, no test asks."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "confidence.py"


def run(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), "--quick", *options]
    return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=300)


def rows(output: str, first: str) -> list[list[str]]:
    lines = re.findall(rf"^\| {first} .*\|$", output, re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_what_is_simulated_is_found_as_often_as_the_theory_says() -> None:
    done = run("--part", "simulation")
    assert done.returncode == 0, done.stderr
    found = rows(done.stdout, "simulation")
    assert [row[2] for row in found] == ["0.25", "0.5", "1", "2", "4"]
    # 1 - (1 - p)^M, with M for an error rate and a doubt of 5 %: 59
    assert [row[7] for row in found] == [f"{1 - (1 - 0.05 * factor) ** 59:.4f}" for factor in (0.25, 0.5, 1, 2, 4)]
    assert all(row[8] == "ok" for row in found)


def test_the_unwatched_program_is_measured_beside_itself() -> None:
    done = run("--part", "overhead", "--workload", "tree", "--way", "plain", "--after", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = rows(done.stdout, "make, walk and delete a tree")
    assert row[1] == "unwatched again" and row[4] == "2" and float(row[5]) > 0


def test_a_part_that_is_not_there_is_refused() -> None:
    done = run("--part", "nothing")
    assert done.returncode == 2
    assert "nothing" in done.stderr
