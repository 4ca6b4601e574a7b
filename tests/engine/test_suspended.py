"""What Lawful itself does when a program forks is not the program's doing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lawful.sources.python import tracer_choice

LAW = """
joined matches {event: 'func_post', name: 'posixpath.join'};
folder matches {event: 'func_post', name: 'tempfile.mkdtemp'};
Main = (joined \\/ folder)*;
"""
PROGRAM = """
import os, posixpath

for number in range(3):
    child = os.fork()
    if child == 0:
        for part in range(number):
            posixpath.join("a", "b")
        os._exit(0)
    os.waitpid(child, 0)
print("done")
"""


@pytest.mark.parametrize("how", ["report", "raise"])
@pytest.mark.parametrize("core", tracer_choice.available())
def test_a_fork_is_not_seen_to_join_paths(core: str, how: str, tmp_path: Path) -> None:
    (tmp_path / "paths.rml").write_text(LAW)
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "lawful", "run", "--set", f"core={core}", "--on-violation", how]
    done = subprocess.run(
        [*command, "--law", "paths.rml", "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert done.stderr.startswith("0 findings in 1 law, 3 events"), done.stderr
