"""Ctrl-C where Lawful itself is at work, before the program and after it."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from cli.hosted import USE, Result, hosted

# When the interpreter tells of this, a signal comes.
STRIKE = """\
import os, signal, sys
def strike(event, arguments):
    global struck
    if not struck and event == {event!r} and {name!r} in str(arguments[0]):
        struck = True
        signal.raise_signal(signal.SIGINT)
struck = False
sys.addaudithook(strike)
"""
DIED = -signal.SIGINT


def struck(folder: Path, event: str, name: str, *words: str, core: str = "native") -> Result:
    (folder / "sitecustomize.py").write_text(STRIKE.format(event=event, name=name))
    (folder / "use.py").write_text("print('begun')\n" + USE)
    return hosted(folder, *words, "use.py", env={"PYTHONPATH": str(folder), "LAWFUL_CORE": core})


@pytest.mark.parametrize("module", ["lawful.engine.session", "lawful.laws.rml.parser"])
def test_before_the_program_begins(tmp_path: Path, module: str) -> None:
    (tmp_path / "law.rml").write_text("Main = any*;\n")
    done = struck(tmp_path, "import", module, "run", "--law", "law.rml")
    assert (done.out, done.err, done.code) == ("", "", DIED)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the interpreter does not tell of new threads")
@pytest.mark.parametrize("core", ["native", "python"])
def test_when_the_watching_begins(tmp_path: Path, core: str) -> None:
    done = struck(
        tmp_path, "_thread.start_new_thread", "Flusher._loop", "run", "-o", "r.txt", "--law", "files", core=core
    )
    assert (done.out, done.err, done.code) == ("", "KeyboardInterrupt\n", DIED)


@pytest.mark.parametrize("core", ["native", "python"])
@pytest.mark.parametrize("module", ["lawful.reports.gather", "lawful.reports.html"])
def test_while_the_report_is_made(tmp_path: Path, module: str, core: str) -> None:
    (tmp_path / "r.html").write_text("older")
    done = struck(tmp_path, "import", module, "run", "--law", "files", "-o", "r.html", core=core)
    said = "lawful: the report is not complete: interrupted by KeyboardInterrupt\n"
    assert (done.out, done.err, done.code) == ("begun\nclosed\n", said, DIED)
    assert (tmp_path / "r.html").read_text() == "older"
