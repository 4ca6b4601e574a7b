"""A law about objects that this process has not seen: that is told only if nobody else may have seen them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

LAW = '[[invariant]]\nname = "fine"\nclass = "program.Thing"\nalways = "o.x >= 0"\n'
THING = "class Thing:\n    def __init__(self):\n        self.x = 0\n"


def run(folder: Path, text: str, *options: str) -> str:
    (folder / "law.toml").write_text(LAW)
    (folder / "program.py").write_text(text)
    command = [sys.executable, "-m", "lawful", "run", "--law", "law.toml", *options, "program.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60).stderr


def test_nobody_has_seen_one(tmp_path: Path):
    assert "invariant-class-unseen" in run(tmp_path, THING)


def test_a_child_process_has(tmp_path: Path):
    text = f"import os\n{THING}pid = os.fork()\nif pid == 0:\n    Thing()\n    os._exit(0)\nos.waitpid(pid, 0)\n"
    told = run(tmp_path, text)
    assert "2 processes" in told and "was seen" not in told


def test_an_earlier_run_has_seen_enough(tmp_path: Path):
    text = f"{THING}for _ in range(100):\n    Thing()\n"
    options = ("--confidence", "0.9", "--error-rate", "0.1", "--store", "s.db")
    assert "reached" in run(tmp_path, text, *options)
    told = run(tmp_path, text, *options)
    assert "reached" in told and "was seen" not in told
