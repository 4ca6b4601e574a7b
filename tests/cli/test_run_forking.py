"""``lawful run`` on programs with child processes, where Lawful cannot do its work as usual."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cli.hosted import ENVIRONMENT, USE, hosted

FORK = f"""\
import os
if child := os.fork():
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
{USE}
"""
SPAWN = """\
import multiprocessing
def work():
    f = open(__file__)
    f.close()
    try:
        f.read()
    except ValueError:
        print('closed', flush=True)
if __name__ == "__main__":
    child = multiprocessing.get_context("spawn").Process(target=work)
    child.start()
    child.join()
    print(child.exitcode)
    work()
"""
NOWHERE = """\
import os, sys
def refuse(name, arguments):
    if name == "os.mkdir":
        raise OSError(30, "Read-only file system")
sys.addaudithook(refuse)
"""
BROKEN = """\
import sys
def refuse(name, arguments):
    if name == "os.mkdir":
        raise RuntimeError("not this one")
sys.addaudithook(refuse)
"""


def plain(folder: Path) -> str:
    words = [sys.executable, "app.py"]
    return subprocess.run(words, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=60).stdout


@pytest.mark.parametrize("core", ["native", "python"])
@pytest.mark.parametrize("name", ["tempfile", "random", "shutil"])
def test_modules_of_the_program_are_not_imported_for_a_fork(tmp_path: Path, name: str, core: str) -> None:
    (tmp_path / f"{name}.py").write_text("print('imported')\n")
    (tmp_path / "app.py").write_text(FORK)
    done = hosted(tmp_path, "run", "--law", "files", "-o", "r.txt", "app.py", env={"LAWFUL_CORE": core})
    assert (done.out, done.err, done.code) == (plain(tmp_path), "", 1)
    assert "2 processes" in (tmp_path / "r.txt").read_text()


@pytest.mark.parametrize("core", ["native", "python"])
@pytest.mark.parametrize("how", ["report", "stop"])
@pytest.mark.parametrize("program", [FORK, SPAWN], ids=["fork", "spawn"])
def test_where_no_folder_can_be_made_children_are_not_watched(
    tmp_path: Path, program: str, how: str, core: str
) -> None:
    (tmp_path / "app.py").write_text(NOWHERE + program.replace("f.read()", "f.closed" if how == "stop" else "f.read()"))
    words = ("run", "--law", "files", "--on-violation", how, "-o", "r.txt", "app.py")
    done = hosted(tmp_path, *words, env={"LAWFUL_CORE": core})
    assert (done.out, done.err, done.code) == (plain(tmp_path), "", int(how == "report"))
    report = " ".join((tmp_path / "r.txt").read_text().split())
    assert "child processes are not watched: no folder can be made for what they see: Read-only file system" in report
    assert ("use-after-close" in report) == (how == "report")
    assert "cut short" not in report


@pytest.mark.parametrize("core", ["native", "python"])
@pytest.mark.parametrize("program", [FORK, SPAWN], ids=["fork", "spawn"])
def test_a_fault_of_ours_while_a_child_begins_is_told_in_the_report_only(
    tmp_path: Path, program: str, core: str
) -> None:
    (tmp_path / "app.py").write_text(BROKEN + program)
    done = hosted(tmp_path, "run", "--law", "files", "-o", "r.txt", "app.py", env={"LAWFUL_CORE": core})
    assert (done.out, done.err, done.code) == (plain(tmp_path), "", 0)
    assert "watching was cut short" in (tmp_path / "r.txt").read_text()
