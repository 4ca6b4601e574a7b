"""Programs that put others in the places of threads, locks and sleep, as gevent does: Lawful goes on with its own."""

from __future__ import annotations

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
