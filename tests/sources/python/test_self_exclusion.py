"""What Lawful itself asks of the system is not taken for the program's doing."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from lawful.sources.python import flusher, tracer_choice

PROGRAM = """
import os, time
for _ in range(2):
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    time.sleep(0.15)
"""
LAW = "asked matches {event: 'func_pre', name: 'os.path.exists' | 'genericpath.exists'}; Main = asked >> empty;"


@pytest.mark.parametrize("core", tracer_choice.available())
def test_a_program_that_forks_asks_for_no_files(core: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "asked.rml").write_text(LAW)
    command = [sys.executable, "-W", "ignore", "-m", "lawful", "run", "--set", f"core={core}", "--law", "asked.rml"]
    command += ["--format", "json", "--output", "report.json", "program.py"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60, capture_output=True)
    report = json.loads((tmp_path / "report.json").read_text())
    assert (report["findings"], report["errors"]) == ([], [])


def test_signals_are_kept_from_a_thread() -> None:
    inherited: list[set[int | signal.Signals]] = []

    def work() -> None:
        flusher.block_signals()
        inherited.append(signal.pthread_sigmask(signal.SIG_BLOCK, ()))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert signal.SIGINT in inherited[0]


@pytest.mark.parametrize("core", tracer_choice.available())
def test_what_our_own_threads_do_is_not_recorded(core: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import time\ntime.sleep(0.3)\n")
    command = [
        sys.executable,
        "-m",
        "lawful",
        "record",
        "--set",
        f"core={core}",
        "--public",
        "signal",
        "--public",
        "enum",
    ]
    command += ["-o", "trace.jsonl", "program.py"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60, capture_output=True)
    assert (tmp_path / "trace.jsonl").read_text() == ""
