"""The benchmark of explanations runs, and all its ways find the same. How fast they are, no test asks."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from explain.teachers.c.requirements import needs_cbmc

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "explain.py"


def run(*options: str) -> tuple[str, list[list[str]]]:
    done = subprocess.run([sys.executable, str(SCRIPT), *options], capture_output=True, encoding="utf-8", timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = re.findall(r"^\| [^|-].*\|$", done.stdout, re.MULTILINE)
    return done.stdout, [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@needs_cbmc
def test_all_ways_find_the_same() -> None:
    text, rows = run("--quick")
    assert "the same failing words in all ways: yes" in text and "at least 10 x apart in total" in text
    table = [row for row in rows if row[0] == "bubble_sort" and len(row) == 13]
    assert [row[:5] for row in table] == [["bubble_sort", "4", "6", "4", "2"]] * 3
    assert {tuple(row[6:8]) for row in table} == {("6", "5")}
    asking, listed, _ = table
    assert int(asking[8]) > 100 and asking[9].endswith("%)") and listed[8] == "0"
    assert ["bubble_sort", "7", "9", "3"] in [row[:4] for row in rows]


@needs_cbmc
def test_what_does_not_end_is_given_up() -> None:
    text, rows = run("--quick", "--timeout", "0.001")
    assert "nothing could be compared" in text
    assert {row[5] for row in rows if len(row) == 13 and row[0] == "bubble_sort"} == {"more than 0.001"}
