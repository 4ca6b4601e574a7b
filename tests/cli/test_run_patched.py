"""Programs that put others in the places of threads, locks, clocks and files: Lawful goes on with its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.hosted import USE, hosted

PATCHED = """
import _thread, io, os, sys, threading, time

def replace(module, name):
    original = getattr(module, name)
    def another(*arguments, **options):
        if "lawful" in sys._getframe(1).f_code.co_filename.split(os.sep):
            raise RuntimeError(f"{name} is the program's own affair")
        return original(*arguments, **options)
    setattr(module, name, another)

threading._CRLock = None
for name in ("RLock", "Lock", "get_ident"):
    replace(threading, name)
for name in ("allocate_lock", "start_new_thread", "get_ident", "get_native_id", "RLock"):
    replace(_thread, name)
replace(time, "sleep")
"""
CHILD = """
if os.fork():
    print(os.waitstatus_to_exitcode(os.wait()[1]))
time.sleep(0.25)  # so long that the clock has ticked
"""


@pytest.mark.parametrize("core", ["native", "python"])
@pytest.mark.parametrize(
    "options", [("--law", "std"), ("--law", "std", "--learn"), ("--trace", "t.jsonl", "--law", "std")]
)
def test_ours_stay_ours(tmp_path: Path, options: tuple[str, ...], core: str) -> None:
    (tmp_path / "app.py").write_text(PATCHED + CHILD + USE)
    done = hosted(tmp_path, "run", *options, "-o", "r.txt", "app.py", env={"LAWFUL_CORE": core})
    assert (done.out, done.err, done.code) == ("closed\n0\nclosed\n", "", 1)
    report = (tmp_path / "r.txt").read_text()
    assert "use-after-close" in report
    assert "cut short" not in report


FROZEN = """
import builtins, io, os, pathlib, sys, time

def refuse(*arguments, **options):
    raise FileNotFoundError("there are no files")

others = {id(time.monotonic): lambda: 1e9, id(time.perf_counter): lambda: 1e9, id(io.open): refuse, id(os.stat): refuse}
names = [(module, name) for module in list(sys.modules.values()) for name in list(vars(module)) if module is not None]
kept = [(module, name, vars(module)[name]) for module, name in names if id(vars(module)[name]) in others]
for module, name, original in kept:
    setattr(module, name, others[id(original)])
sleep = time.sleep
"""
THAWED = """
sleep(0.25)
for module, name, original in kept:
    setattr(module, name, original)
"""


@pytest.mark.parametrize("core", ["native", "python"])
def test_frozen_clocks_and_fake_files(tmp_path: Path, core: str) -> None:
    """As freezegun and pyfakefs put them into every module. Laws are first read while they are there."""
    (tmp_path / "app.py").write_text(FROZEN + USE.replace("open(__file__)", "io.StringIO()") + THAWED + USE)
    options = ("--law", "std", "--trace", "t.jsonl", "-o", "r.txt")
    done = hosted(tmp_path, "run", *options, "app.py", env={"LAWFUL_CORE": core})
    assert (done.out, done.err, done.code) == ("closed\nclosed\n", "", 1)
    report = (tmp_path / "r.txt").read_text()
    assert "use-after-close" in report
    assert "cut short" not in report
    times = [json.loads(line)["time"] for line in (tmp_path / "t.jsonl").read_text().splitlines()]
    assert times == sorted(times)
    assert times[-1] < 1e6


PATHS = """
import os, os.path, time

def replace(module, name, stand_in):
    kept.append((module, name, getattr(module, name)))
    setattr(module, name, stand_in)

def refuse(*arguments, **options):
    raise RuntimeError("it may block")

kept = []
sleep = time.sleep
for name in ("stat", "lstat", "readlink", "getcwd", "open"):
    replace(os, name, refuse)
for name in ("abspath", "relpath", "realpath", "normpath", "join", "isdir", "isfile", "islink"):
    replace(os.path, name, refuse)
replace(os.path, "exists", lambda path: True)
os.sep = "!"
import shop.stock
os.sep = "/"
"""


@pytest.mark.parametrize("core", ["native", "python"])
def test_paths_that_are_not_to_be_asked_for(tmp_path: Path, core: str) -> None:
    """As those who look for calls that block put them there, and tests that want another answer."""
    folder = tmp_path / "real"
    folder.mkdir()
    (folder / "stock.py").write_text(USE + USE.replace("f.read()", "f.read()  # lawful: ignore"))
    (folder / "link.py").symlink_to("stock.py")
    (tmp_path / "shop").symlink_to("real", target_is_directory=True)
    (tmp_path / "app.py").write_text(PATHS + "import shop.link" + THAWED)
    done = hosted(tmp_path, "run", "--law", "std", "-o", "r.txt", "app.py", env={"LAWFUL_CORE": core})
    assert (done.out, done.err, done.code) == ("closed\n" * 4, "", 1)
    report = (tmp_path / "r.txt").read_text()
    assert "shop/stock.py:4: files/use-after-close" in report
    assert "shop/link.py:4: files/use-after-close" in report
    assert "cut short" not in report
    assert ":10" not in report


LEFT = """
import builtins, os
def refuse(*arguments, **options):
    raise RuntimeError("never again")
builtins.open = builtins.print = builtins.sorted = refuse
os.getpid = os.fork = refuse
"""


@pytest.mark.parametrize("core", ["native", "python"])
@pytest.mark.parametrize("output", ["-", "r.txt"])
def test_what_is_never_put_back(tmp_path: Path, output: str, core: str) -> None:
    (tmp_path / "app.py").write_text(USE + LEFT)
    done = hosted(tmp_path, "run", "--law", "std", "-o", output, "app.py", env={"LAWFUL_CORE": core})
    assert (done.out, done.code) == ("closed\n", 1)
    report = done.err if output == "-" else (tmp_path / "r.txt").read_text()
    assert report.startswith("app.py:4: files/use-after-close")
