"""Learning while a program runs: nothing is lost or counted twice, whatever threads and processes there are."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from cli.hosted import ENVIRONMENT, LAWFUL, Result, hosted
from lawful import core
from lawful.engine.live_learning import LiveLearner
from lawful.learning import templates
from lawful.learning.parameters import Learning
from oracle import ocd

needs_native = pytest.mark.skipif(not hasattr(core.native, "Window"), reason="the C core is not built, or not wanted")

# -- threads -------------------------------------------------------------------------------------


class Tracer:
    """A tracer that writes into the window by the hand of the test."""

    learns = True
    learner: object = None


def live(**parameters: Any) -> tuple[LiveLearner, Any]:
    """A learner and its window."""
    made = LiveLearner(Learning(**parameters))
    made.start(Tracer())  # type: ignore[arg-type]
    return made, made.window


def push_all(window: Any, parts: list[list[tuple[int, int, int]]]) -> None:
    """Each part on a thread of its own."""

    def push(part: list[tuple[int, int, int]]) -> None:
        for event in part:
            window.push(*event)

    threads = [threading.Thread(target=push, args=(part,), daemon=True) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "the program waits for ever"


NAMES = 3  # of each thread
SITES = 5


def parts_of(seed: int, threads: int, length: int) -> list[list[tuple[int, int, int]]]:
    """Events of several threads, each with names and objects of its own."""
    chance = random.Random(seed)
    return [
        [
            (NAMES * thread + chance.randrange(NAMES), chance.randrange(SITES), 1000 * thread + chance.randrange(20))
            for _ in range(length)
        ]
        for thread in range(threads)
    ]


def number(made: LiveLearner, threads: int) -> None:
    """Give the numbers that a tracer would ask for."""
    for name in range(NAMES * threads):
        assert made.word("func_pre", f"list.{name}") == name
    for site in range(SITES):
        assert made.site("prog.py", site) == site


@needs_native
@pytest.mark.parametrize("seed", range(3))
def test_threads_keep_their_order(seed: int) -> None:
    threads, length = 8, 300
    made, window = live(window=threads * length, all_rules=True, tune=False)
    number(made, threads)
    parts = parts_of(seed, threads, length)
    push_all(window, parts)
    made.finish()
    assert made.learner.events == threads * length
    # All is in the window until the end, and threads have no names in common: their order does not matter.
    expected = ocd.run(templates.DEFAULT, [(name, id_) for part in parts for name, _, id_ in part], threads * length)
    assert set(window.known()) == {(a, b) for a, b in expected if a < b}
    for first, second in window.known():
        counts = window.counts(first, second)
        got = [(satisfied, counts.total - satisfied) for satisfied in counts.satisfied]
        assert got[0::2] == expected[first, second]
        assert got[1::2] == expected[second, first]


@needs_native
def test_a_slow_learner_makes_the_program_wait_and_every_tick_is_served_once(monkeypatch: pytest.MonkeyPatch) -> None:
    threads, length, every = 8, 60_000, 1000
    made, window = live(tune_every=every)
    number(made, threads)
    ticks: list[int] = []
    tick = made.learner.tick

    def slow() -> None:
        ticks.append(window.events)
        time.sleep(0.001)
        tick()

    monkeypatch.setattr(made.learner, "tick", slow)
    push_all(window, parts_of(7, threads, length))
    made.finish()
    assert window.events == window.pushed == threads * length
    assert ticks == list(range(every, threads * length + 1, every))


@needs_native
def test_ticks_are_those_of_the_same_events_offline() -> None:
    chance = random.Random(1)
    trace: list[tuple[str, int, int]] = []
    for id_ in range(400):  # three of them are not closed
        line = 10 * chance.randrange(5)
        reads = [("read", line + 1, id_)] * chance.randrange(4)
        trace += [("open", line, id_), *reads, ("peek", 99, id_) if id_ % 120 == 119 else ("close", line + 2, id_)]
    parameters = {"tune_every": 100, "budget": 0, "seed": 3}
    made, window = live(**parameters)
    for name, line, id_ in trace:
        window.push(made.word("func_pre", name), made.site("app.py", line), id_)
    made.finish()
    offline = LiveLearner(Learning(**parameters))  # type: ignore[arg-type]
    offline.feed(
        [
            {"event": "func_pre", "name": name, "targetId": id_, "file": "app.py", "line": line}
            for name, line, id_ in trace
        ]
    )
    offline.finish()
    assert [move.event for move in made.learner.moves] == [move.event for move in offline.learner.moves]
    assert len(made.learner.moves) > 5
    assert made.learner.to_json() == {**offline.learner.to_json(), "skipped_events": {}}


@needs_native
def test_a_fault_of_a_tick_ends_no_program(monkeypatch: pytest.MonkeyPatch) -> None:
    made, window = live(tune_every=100)
    number(made, 1)

    def fail() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(made.learner, "tick", fail)
    push_all(window, parts_of(1, 1, 300_000))
    with pytest.raises(ZeroDivisionError):
        made.finish()


@needs_native
def test_parameters_that_make_all_new_can_be_changed_while_events_come() -> None:
    made, window = live(tune_every=1000, all_rules=True)
    number(made, 1)
    (part,) = parts_of(5, 1, 10_000)
    for event in part:
        window.push(*event)
    made.catch_up()
    made.learner.change(templates=("ab",))
    assert made.window is not window
    for event in part:
        made._stream.push(*event)
    made.finish()
    assert made.learner.events == 20_000
    assert {rule.pattern for rule in made.learner.rules(all=True)} == {"ab"}


def threads_of_the_system() -> int:
    return len(os.listdir("/proc/self/task"))


@needs_native
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="threads are counted in /proc")
def test_threads_rest_while_a_process_forks_and_begin_when_there_is_work() -> None:
    before = threads_of_the_system()
    made, window = live()
    number(made, 1)
    assert threads_of_the_system() == before + 2
    (part,) = parts_of(5, 1, 5000)
    for event in part[:100]:
        window.push(*event)
    made.before_fork()
    assert threads_of_the_system() == before
    made.after_fork_in_parent()
    for event in part[:100]:
        window.push(*event)
    made.before_fork()  # nobody has begun for so few
    assert threads_of_the_system() == before
    made.after_fork_in_parent()
    for event in part:
        window.push(*event)
    made.before_fork()
    assert threads_of_the_system() == before
    made.after_fork_in_parent()
    assert not made._working
    made.catch_up()
    assert window.events == window.pushed == 5200
    made.finish()
    assert threads_of_the_system() == before


@needs_native
def test_forks_while_threads_are_at_work() -> None:
    made, window = live(tune_every=1000)
    number(made, 4)
    parts = parts_of(9, 4, 40_000)
    done = threading.Event()

    def fork() -> None:
        while not done.is_set():
            made.before_fork()
            made.after_fork_in_parent()

    forking = threading.Thread(target=fork)
    forking.start()
    push_all(window, parts)
    done.set()
    forking.join()
    made.finish()
    assert window.events == window.pushed == 160_000


# -- programs ------------------------------------------------------------------------------------

USE = """\
import os, sys, signal, threading, time
import multiprocessing as mp
def use(n):
    x = []
    for i in range(n):
        x.append(i)
"""

# A program, how many events it makes, and in how many processes.
PROGRAMS = {
    "nothing": ("print('nothing')", 0, 1),
    "few": ("use(10)", 10, 1),
    "many": ("use(100_000)", 100_000, 1),
    "exception": ("use(10)\nraise ValueError('the program')", 10, 1),
    "exit": ("use(10)\nsys.exit(7)", 10, 1),
    "_exit": ("use(10)\nsys.stdout.flush()\nos._exit(7)", 10, 1),
    "exit in a thread": (
        "def f():\n    use(10)\n    sys.exit(3)\nt = threading.Thread(target=f)\nt.start()\nt.join()\n"
        "print(threading.active_count())",
        10,
        1,
    ),
    "exception in a thread": (
        "def f():\n    use(10)\n    raise KeyError\nthreading.excepthook = lambda args: print(args.exc_type)\n"
        "t = threading.Thread(target=f)\nt.start()\nt.join()",
        10,
        1,
    ),
    "eight threads": (
        "ts = [threading.Thread(target=use, args=(10_000,)) for _ in range(8)]\n"
        "for t in ts: t.start()\nprint(threading.active_count() <= 9)\nfor t in ts: t.join()",
        80_000,
        1,
    ),
    "fork": (
        "use(10)\nif os.fork() == 0:\n    use(5)\n    print(threading.enumerate() == [threading.main_thread()])\n"
        "    sys.exit(3)\nprint(os.waitstatus_to_exitcode(os.wait()[1]), threading.active_count())\nuse(20)",
        35,
        2,
    ),
    "fork and _exit": (
        "if os.fork() == 0:\n    use(5000)\n    os._exit(3)\nprint(os.waitstatus_to_exitcode(os.wait()[1]))\nuse(20)",
        5020,
        2,
    ),
    "fork, and nothing in it": ("if os.fork() == 0:\n    os._exit(0)\nos.wait()\nuse(3)", 3, 2),
    "fork, and an exception": (
        "use(3)\nif os.fork() == 0:\n    use(3)\n    raise ValueError('child')\n"
        "print(os.waitstatus_to_exitcode(os.wait()[1]))",
        6,
        2,
    ),
    "nested forks": (
        "for i in range(3):\n    use(10)\n    if os.fork():\n        print(os.waitstatus_to_exitcode(os.wait()[1]))\n"
        "        use(100)\n        sys.exit(i)\n    use(1)\nuse(1000)",
        3 * 10 + 3 * 100 + 3 * 1 + 1000,
        4,
    ),
    "many children": (
        "for i in range(30):\n    use(10)\n    if os.fork() == 0:\n        use(i)\n        os._exit(0)\n    os.wait()",
        300 + sum(range(30)),
        31,
    ),
    "fork after much": (
        "use(50_000)\nif os.fork() == 0:\n    use(50_000)\n    os._exit(0)\nuse(50_000)\nos.wait()",
        150_000,
        2,
    ),
    "fork in a thread": (
        "def f():\n    use(10)\n    if os.fork() == 0:\n        use(10)\n        os._exit(0)\n    os.wait()\n"
        "    use(10)\nimport warnings\nwarnings.simplefilter('ignore')\nt = threading.Thread(target=f)\nt.start()\n"
        "use(10)\nt.join()",
        40,
        2,
    ),
    "fork and exec": (
        "if os.fork() == 0:\n    use(10)\n    os.execvp(sys.executable, [sys.executable, '-c', 'print(1)'])\n"
        "print(os.waitstatus_to_exitcode(os.wait()[1]))",
        10,
        2,
    ),
    "fork and an exec that fails": (
        "if os.fork() == 0:\n    use(10)\n    try:\n        os.execv('/nowhere', ['nowhere'])\n    except OSError:\n"
        "        use(10)\n        os._exit(3)\nprint(os.waitstatus_to_exitcode(os.wait()[1]))",
        20,
        2,
    ),
    "signal": (
        "signal.signal(signal.SIGUSR1, lambda *_: use(10))\nfor _ in range(20):\n"
        "    os.kill(os.getpid(), signal.SIGUSR1)\n    use(10)",
        400,
        1,
    ),
    "interrupt": (
        "def f(*_): raise KeyboardInterrupt\nsignal.signal(signal.SIGALRM, f)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.2)\ntry:\n    while True: time.sleep(0.01)\n"
        "except KeyboardInterrupt:\n    use(10)\n    print('interrupted')",
        10,
        1,
    ),
}
MULTI = {
    "pool that is left": ("with mp.get_context(WAY).Pool(2) as p: print(p.map(job, range(4), 1))", 400),
    "pool with much": ("with mp.get_context(WAY).Pool(2) as p: print(p.map(much, range(4), 1))", 80_000),
    "pool that is closed": (
        "p = mp.get_context(WAY).Pool(2)\n    print(p.map(job, range(4)))\n    p.close()\n    p.join()",
        400,
    ),
    "process": ("p = mp.get_context(WAY).Process(target=job, args=(1,))\n    p.start()\n    p.join()", 100),
    "daemon": (
        "p = mp.get_context(WAY).Process(target=job, args=(1,), daemon=True)\n    p.start()\n    p.join()\n"
        "    print(p.exitcode)",
        100,
    ),
}


def compared(folder: Path, text: str, *options: str, env: dict[str, str] | None = None) -> dict[str, Any]:
    """The report, if the program is the same watched and not."""
    (folder / "prog.py").write_text(text, encoding="utf-8")
    env = {"PYTHONWARNINGS": "default::DeprecationWarning", **(env or {})}
    words = [
        *options,
        "--set",
        "include=list.append",
        "--format",
        "json",
        "--output",
        "r.json",
        "--set",
        "fail-on=never",
    ]
    done = subprocess.run(
        [sys.executable, "prog.py"], cwd=folder, env=ENVIRONMENT | env, capture_output=True, text=True, timeout=120
    )
    # Not in a folder of pytest's: names of sockets must be short.
    with tempfile.TemporaryDirectory() as temporary:
        result = hosted(folder, "run", *words, "prog.py", env={**env, "TMPDIR": temporary})
        assert not list(Path(temporary).glob("lawful-*")), "the folder of the run is still there"
    assert _ours(result) == _ours(Result(done.stdout, done.stderr, done.returncode))
    report: dict[str, Any] = json.loads((folder / "r.json").read_text())
    assert report["errors"] == []
    return report


def _ours(result: Result) -> Result:
    """Without what Lawful itself says, and without the numbers of processes in warnings."""
    lines = [line for line in result.err.splitlines() if not line.startswith("lawful: ")]
    return result._replace(err=re.sub(r"pid=\d+", "pid", "\n".join(lines)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_event_is_learned_from_once(name: str, tmp_path: Path) -> None:
    text, events, processes = PROGRAMS[name]
    report = compared(tmp_path, f"{USE}{text}\n")
    assert (report["learned"]["events"], report["events"]) == (events, events)
    assert (report["processes"], report["warnings"]) == (processes, [])


WAYS = {"core": ["--set", "core=python"], "environment": [], "trace": ["--trace", "t.jsonl"]}


@pytest.mark.parametrize("name", ["nothing", "few", "_exit", "eight threads", "nested forks", "fork and _exit"])
@pytest.mark.parametrize("way", WAYS)
def test_so_it_is_where_events_are_delivered(name: str, way: str, tmp_path: Path) -> None:
    text, events, processes = PROGRAMS[name]
    env = {"LAWFUL_CORE": "python"} if way == "environment" else {}
    report = compared(tmp_path, f"{USE}{text}\n", *WAYS[way], env=env)
    assert report["learned"]["events"] == events
    assert (report["processes"], report["warnings"]) == (processes, [])


@pytest.mark.parametrize("name", MULTI)
@pytest.mark.parametrize("way", ["fork", "spawn", "forkserver"])
def test_workers_hand_in_what_they_learned(name: str, way: str, tmp_path: Path) -> None:
    text, events = MULTI[name]
    jobs = "def job(n):\n    use(100)\n    return n\ndef much(n):\n    use(20_000)\n    return n\n"
    report = compared(tmp_path, f"{USE}{jobs}WAY = {way!r}\nif __name__ == '__main__':\n    {text}\n")
    assert report["learned"]["events"] == events
    assert report["warnings"] == []


@pytest.mark.parametrize("options", [[], ["--set", "core=python"], ["--trace", "t.jsonl"]])
def test_counts_of_workers_are_added(options: list[str], tmp_path: Path) -> None:
    text = (
        "import os\ndef use():\n    for _ in range(50):\n        x = []\n        x.append(1)\n        x.clear()\n"
        "for _ in range(3):\n    if os.fork() == 0:\n        use()\n        os._exit(0)\n    os.wait()\nuse()\n"
    )
    (tmp_path / "prog.py").write_text(text)
    words = ["--set", "include=list.append", "--set", "include=list.clear", "--format", "json", "--output", "r.json"]
    result = hosted(tmp_path, "run", *options, *words, "prog.py")
    assert result.code == 0
    rules = json.loads((tmp_path / "r.json").read_text())["learned"]["rules"]
    (rule,) = [rule for rule in rules if (rule["a"], rule["b"], rule["pattern"]) == ("list.append", "list.clear", "ab")]
    assert (rule["satisfied"], rule["failed"]) == (200, 0)


def test_ctrl_c_ends_a_program_as_it_does_without_us(tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text(f"{USE}print('begun', flush=True)\nwhile True: use(10)\n")

    def interrupted(command: list[str]) -> tuple[str, int]:
        process = subprocess.Popen(
            [*command, "prog.py"],
            cwd=tmp_path,
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        return err.strip().splitlines()[-1], process.returncode

    options = ["run", "--set", "include=list.append", "--format", "json", "--output", "r.json"]
    assert interrupted([*LAWFUL, *options]) == interrupted([sys.executable]) == ("KeyboardInterrupt", -signal.SIGINT)
    report = json.loads((tmp_path / "r.json").read_text())
    if core.native_tracer is not None:  # in pure Python a signal may strike in the midst of our work, which ends it
        assert report["errors"] == []
    assert all(fault.startswith("interrupted by KeyboardInterrupt") for fault in report["errors"])
    assert report["learned"]["events"] > 0
