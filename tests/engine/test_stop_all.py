"""A law that stops the program stops all its processes, whoever waits for the one that has broken it."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cli.hosted import hosted
from lawful.engine import stop_all
from lawful.engine.stop_all import StopAll
from lawful.sources.python.run_folder import RunFolder

PROGRAM = """\
import multiprocessing as mp
import sys
from concurrent.futures import ProcessPoolExecutor

def use(n):
    if n == 2:
        f = open(__file__)
        f.close()
        f.read()
    return n

def two(way):
    with mp.get_context(way).Pool(1) as pool:
        pool.map(use, [2])

if __name__ == "__main__":
    way, how = sys.argv[1:]
    context = mp.get_context(way)
    try:
        if how == "pool":
            with context.Pool(2) as pool:
                pool.map(use, range(4), chunksize=1)
        elif how == "closed pool":
            pool = context.Pool(2)
            waits = pool.apply_async(use, (2,))
            pool.close()
            waits.get()
        elif how == "executor":
            with ProcessPoolExecutor(2, mp_context=context) as executor:
                list(executor.map(use, range(4)))
        elif how == "process":
            child = context.Process(target=use, args=(2,))
            child.start()
            child.join()
            import time
            time.sleep(60)
        else:
            child = context.Process(target=two, args=(way,))
            child.start()
            child.join()
            import time
            time.sleep(60)
        print("went on")
    finally:
        print("cleaned up")
"""


@pytest.mark.parametrize("how", ["pool", "closed pool", "executor", "process", "pool of a child"])
@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_no_process_waits_for_one_that_a_law_has_stopped(way: str, how: str, tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text(PROGRAM, encoding="utf-8")
    options = ["--law", "files/use-after-close", "--on-violation", "stop", "--format", "json", "--output", "r.json"]
    result = hosted(tmp_path, "run", *options, "prog.py", way, how)
    report = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert (result.code, result.out) == (1, "cleaned up\n")
    assert [(finding["law"], finding["count"]) for finding in report["findings"]] == [("files/use-after-close", 1)]
    assert report["errors"] == []


@pytest.fixture
def run(tmp_path: Path) -> Any:
    """What a process knows of its run: it is the first one."""
    folder = RunFolder(str(tmp_path))
    return SimpleNamespace(number=0, folder=folder, found=lambda: folder, over=False)


@pytest.fixture
def unset() -> Any:
    yield
    signal.signal(signal.SIGURG, signal.SIG_DFL)


@pytest.mark.usefixtures("unset")
def test_who_waits_is_told_by_a_signal(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stop_all, "GRACE", 0.0)
    run.over = True  # so that nothing else is done
    here = StopAll(run, lambda code: None)
    here.check_stop()  # nobody has asked for it
    here.before_child()
    run.folder.request_stop()
    teller = threading.Timer(0.05, here.check_stop)
    teller.start()
    with pytest.raises(SystemExit) as ending:
        time.sleep(60)
    teller.join()
    assert ending.value.code == 1


@pytest.mark.usefixtures("unset")
def test_where_no_handler_can_be_set_the_next_child_is_another_chance(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(number: int, handler: object) -> None:
        raise ValueError("signal only works in main thread of the main interpreter")  # inside the tracer

    here = StopAll(run, lambda code: None)
    with monkeypatch.context() as patch:
        patch.setattr(signal, "signal", refuse)
        here.before_child()
    assert run.folder.request_stop() == []
    assert signal.getsignal(signal.SIGURG) is signal.SIG_DFL
    os.unlink(os.path.join(run.folder.path, "halt"))
    here.before_child()
    assert run.folder.request_stop() == [os.getpid()]


def test_a_signal_that_the_program_uses_is_left_to_it(run: Any) -> None:
    def own(number: int, frame: object) -> None:
        pass

    before = signal.signal(signal.SIGURG, own)
    try:
        StopAll(run, lambda code: None).before_child()
        assert signal.getsignal(signal.SIGURG) is own
    finally:
        signal.signal(signal.SIGURG, before)


def test_a_process_without_children_looks_for_nothing(run: Any) -> None:
    run.folder.request_stop()
    StopAll(run, lambda code: None).check_stop()
    assert signal.getsignal(signal.SIGURG) is signal.SIG_DFL


def test_a_process_that_does_not_end_is_ended(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    codes: list[tuple[str, int]] = []
    done = threading.Event()

    def end(code: int) -> None:
        codes.append(("ended", code))
        done.set()

    monkeypatch.setattr(stop_all, "GRACE", 0.0)
    monkeypatch.setattr(stop_all, "_SIGNAL", None)
    monkeypatch.setattr(os, "_exit", end)
    here = StopAll(run, lambda code: codes.append(("told", code)))
    here.before_child()
    run.folder.request_stop()
    here.check_stop()
    assert done.wait(60)
    assert codes == [("told", 1), ("ended", 1)]
