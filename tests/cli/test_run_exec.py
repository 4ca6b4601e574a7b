"""A program that becomes another one: what was found until then is told before."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import io, os, sys
f = io.StringIO(); f.close()
try:
    f.read()
except ValueError:
    pass
print("before", flush=True)
try:
    {exec}
except OSError as error:
    print("failed")
"""


@pytest.mark.parametrize(
    ("how", "output"),
    [
        ("os.execv(sys.executable, [sys.executable, '-c', 'print(7); raise SystemExit(3)'])", "before\n7\n"),
        ("os.execvp('no-such-program', ['x'])", "before\nfailed\n"),
    ],
)
@pytest.mark.parametrize("core", ["", "python"])
def test_the_report_comes_first(tmp_path: Path, how, output, core):
    (tmp_path / "program.py").write_text(PROGRAM.format(exec=how))
    command = [
        sys.executable,
        "-m",
        "lawful",
        "run",
        "--law",
        "files/use-after-close",
        *(["--set", f"core={core}"] if core else []),
    ]
    told = subprocess.run([*command, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert told.stdout == output
    assert told.returncode == (3 if "7" in output else 0)
    assert told.stderr.count("program.py:5: files/use-after-close") == 1
    assert "another program took the place" in told.stderr
    words = ["--format", "json", "--output", "r.json", "program.py"]
    subprocess.run([*command, *words], cwd=tmp_path, capture_output=True, timeout=60)
    assert len(json.loads((tmp_path / "r.json").read_text())["findings"]) == 1
