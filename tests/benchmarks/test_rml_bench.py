"""The benchmark runs, and prints its tables. How fast it all is, no test asks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "rml.py"


def test_the_quick_run_prints_its_tables() -> None:
    command = [sys.executable, str(SCRIPT), "--quick", "--events", "1000"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=300)
    assert done.returncode == 0, done.stderr
    for part in ("| `(a b)*`", "| open / use / close by shuffle", "| live ", "| target "):
        assert part in done.stdout


def test_a_trace_too_small_is_refused() -> None:
    done = subprocess.run([sys.executable, str(SCRIPT), "--events", "10"], capture_output=True, encoding="utf-8")
    assert done.returncode == 2
    assert "a thousand at the least" in done.stderr
