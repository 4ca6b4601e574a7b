"""Child processes are watched, and what they do is in the one report and the one trace."""

from __future__ import annotations

import json
import signal
import tempfile
from pathlib import Path
from typing import Any

import pytest

from cli.hosted import Result, events, hosted
from lawful.sources.python import tracer_choice

USE = """\
def use():
    f = open(__file__)
    f.close()
    try:
        f.read()
    except ValueError:
        pass
"""
LAW = "files/use-after-close"


def run(folder: Path, text: str, *arguments: str) -> tuple[Result, dict[str, Any], list[dict[str, Any]]]:
    """The result, the report and the trace of a program."""
    (folder / "prog.py").write_text(text, encoding="utf-8")
    options = ["--law", LAW, "--trace", "t.jsonl", "--format", "json", "--output", "r.json", "--set", "fail-on=never"]
    options += [
        "--set",
        f"core={tracer_choice.choose().name}",
    ]  # by name: where it is the slow one, Lawful need not say so
    # Not in a folder of pytest's: names of sockets must be short.
    with tempfile.TemporaryDirectory() as temporary:
        result = hosted(folder, "run", *options, "prog.py", *arguments, env={"TMPDIR": temporary})
        assert not list(Path(temporary).glob("lawful-*")), "the folder of the run is still there"
    return result, json.loads((folder / "r.json").read_text()), events(folder / "t.jsonl")


def counted(report: dict[str, Any]) -> int:
    return sum(finding["count"] for finding in report["findings"])


def processes(trace: list[dict[str, Any]]) -> dict[int, int]:
    """How often each process reads, by number; 0 is the first."""
    found: dict[int, int] = {}
    for event in trace:
        if event["event"] == "func_pre" and event["name"] == "io.TextIOWrapper.read":
            number = event.get("process", 0)
            found[number] = found.get(number, 0) + 1
    return found


ENDS = {
    "os._exit": "os._exit(3)",
    "sys.exit": "sys.exit(3)",
    "exception": "sys.stderr = None; raise ValueError",
    "falls off": "",
}


@pytest.mark.parametrize("end", ENDS)
def test_a_forked_child_is_watched_to_its_end(end: str, tmp_path: Path) -> None:
    text = (
        f"import os, sys\n{USE}use()\nchild = os.fork()\nuse()\n"
        f"if child == 0:\n    {ENDS[end] or 'pass'}\nelse:\n    os.wait()\n"
    )
    result, report, trace = run(tmp_path, text)
    assert (result.err, result.code) == ("", 0)
    assert processes(trace) == {0: 2, 1: 1}
    assert (counted(report), report["processes"], report["events"]) == (3, 2, len(trace))
    assert report["warnings"] == []


def test_ids_of_children_are_their_own(tmp_path: Path) -> None:
    text = (
        f"import os\n{USE}use()\nfor _ in range(2):\n    if os.fork() == 0:\n        use()\n        os._exit(0)\n"
        "    os.wait()\nuse()\n"
    )
    _, _, trace = run(tmp_path, text)
    for event in trace:
        assert event["targetId"] >> 32 == event.get("process", 0)
    times = [event["time"] for event in trace]
    assert times == sorted(times)


def test_grandchildren(tmp_path: Path) -> None:
    text = (
        f"import os\n{USE}if os.fork() == 0:\n    if os.fork() == 0:\n        use()\n        os._exit(0)\n"
        "    os.wait()\n    use()\n    os._exit(0)\nos.wait()\nuse()\n"
    )
    _, report, trace = run(tmp_path, text)
    assert processes(trace) == {0: 1, 1: 1, 2: 1}
    assert (counted(report), report["processes"]) == (3, 3)


RESTS = """\
import os, pathlib, signal, subprocess, sys, time
def rests(pid):
    # Has this child, which has done something, handed in all of it?
    for path in pathlib.Path(os.environ["TMPDIR"]).glob("lawful-*/*.pid"):
        if path.read_text().split()[0] == str(pid):
            return path.stat().st_mode & 0o700 == 0o600
"""
REST = "for _ in range(3000):\n    if os.path.exists('used') and rests(child): break\n    time.sleep(0.01)\n"
KILL = "subprocess.run([sys.executable, '-c', f'import os; os.kill({child}, 9)'])"  # somebody does
KILLED = "a child process ended before it could say so: the last of what it did may be missing here"
ENDED = "a child process was ended by the program: the last of what it did may be missing here"


@pytest.mark.parametrize(
    ("kill", "warnings"),
    [
        (KILL, [KILLED]),
        (f"os.kill(child, 0); os.kill(child, signal.SIGCONT.value); {KILL}", [KILLED]),
        ("os.kill(child, signal.SIGKILL)", []),
        ("os.kill(child, 9)", []),
        ("os.killpg(os.getpgid(child), 9)", []),
        ("os.kill(-os.getpgid(child), 9)", []),
    ],
)
def test_a_killed_child_leaves_what_it_did(kill: str, warnings: list[str], tmp_path: Path) -> None:
    text = (
        f"{RESTS}{USE}child = os.fork()\nif child == 0:\n    os.setpgid(0, 0)\n    use()\n    os.mkdir('used')\n"
        f"    time.sleep(60)\n{REST}{kill}\nprint(os.waitstatus_to_exitcode(os.wait()[1]))\n"
    )
    result, report, trace = run(tmp_path, text)
    assert result.out == f"{-signal.SIGKILL}\n"
    assert processes(trace) == {1: 1}
    assert counted(report) == 1
    assert report["warnings"] == warnings


THREE = """\
import multiprocessing
def wait(is_stopped):
    use()
    ready.release()
    go.acquire()
    while is_stopped:
        use()
        signal.raise_signal(signal.SIGSTOP)
    time.sleep(60)
context = multiprocessing.get_context("fork")
ready, go = context.Semaphore(0), context.Semaphore(0)
children = [context.Process(target=wait, args=(is_stopped,)) for is_stopped in (False, True, False)]
for process in children: process.start()
for process in children: ready.acquire()
for process in children:
    while not rests(process.pid): time.sleep(0.01)
for process in children: go.release()
while os.waitpid(children[1].pid, os.WUNTRACED) and rests(children[1].pid):
    os.kill(children[1].pid, signal.SIGCONT)
"""


def test_it_is_told_apart_who_killed_which_child(tmp_path: Path) -> None:
    text = (
        f"{RESTS}{USE}{THREE}children[0].terminate()\nchildren[1].kill()\nchild = children[2].pid\n{KILL}\n"
        "for process in children: process.join()\nprint([process.exitcode for process in children])\n"
    )
    result, report, trace = run(tmp_path, text)
    assert result.out == f"{[-signal.SIGTERM, -signal.SIGKILL, -signal.SIGKILL]}\n"
    assert report["processes"] == 4
    # The second one was stopped in the middle of its work: it has events that it did not report.
    assert report["warnings"] == [KILLED, ENDED]
    assert {1, 2, 3} == processes(trace).keys()


def test_a_child_whose_last_event_came_by_itself_has_told_all(tmp_path: Path) -> None:
    """It came so soon after others that more were expected."""
    text = (
        f"{RESTS}child = os.fork()\nif child == 0:\n    f = open(__file__)\n    time.sleep(0.3)\n    f.close()\n"
        f"    os.mkdir('used')\n    time.sleep(60)\n{REST}os.kill(child, 9)\nos.wait()\n"
    )
    _, report, trace = run(tmp_path, text)
    assert report["warnings"] == []
    assert [event["name"] for event in trace if event["event"] == "func_pre"][-1].endswith("close")


def test_a_child_that_was_dead_already_was_not_killed_by_the_program(tmp_path: Path) -> None:
    text = (
        f"{RESTS}{USE}child = os.fork()\nif child == 0:\n    use()\n    os.mkdir('used')\n    time.sleep(60)\n"
        f"{REST}{KILL}\nos.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)\nos.kill(child, 9)\nos.wait()\n"
    )
    _, report, _ = run(tmp_path, text)
    assert report["warnings"] == [KILLED]


def test_a_child_that_becomes_another_program_has_told_all(tmp_path: Path) -> None:
    text = (
        f"import os, sys\n{USE}child = os.fork()\nif child == 0:\n    use()\n"
        "    os.execv(sys.executable, [sys.executable, '-c', 'print(1)'])\n"
        "print(os.waitstatus_to_exitcode(os.wait()[1]))\n"
    )
    result, report, trace = run(tmp_path, text)
    assert (result.out, result.err) == ("1\n0\n", "")
    assert processes(trace) == {1: 1}
    assert (counted(report), report["warnings"]) == (1, [])


def test_events_about_processes_are_only_told_to_those_who_ask(tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text(
        "import multiprocessing, os, signal, time\nsignal.signal(signal.SIGUSR1, lambda *_: None)\n"
        "os.kill(os.getpid(), signal.SIGUSR1)\ncontext = multiprocessing.get_context('fork')\n"
        "child = context.Process(target=time.sleep, args=(60,))\nchild.start()\nchild.terminate()\nchild.join()\n"
    )
    for options, expected in (["--calls", "time"], []), (["--calls", "os"], ["os.getpid", "os.kill"]):
        assert hosted(tmp_path, "record", "-o", "t.jsonl", *options, "prog.py").code == 0
        found = [event["name"] for event in events(tmp_path / "t.jsonl") if event["event"] == "func_pre"]
        assert found == expected


PROGRAM = (
    USE
    + """\
import multiprocessing, os, sys
from concurrent.futures import ProcessPoolExecutor
def work(number):
    use()
    return number
def deep(number):
    child = multiprocessing.Process(target=work, args=(1,))
    child.start()
    child.join()
    use()
def leave(number):
    use()
    os._exit(0)
if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    how = sys.argv[2]
    if how == "process":
        children = [context.Process(target=work, args=(number,)) for number in range(2)]
        for child in children:
            child.start()
        for child in children:
            child.join()
        print([child.exitcode for child in children])
    elif how == "pool":
        with context.Pool(2) as pool:
            print(pool.map(work, range(4), chunksize=1))
    elif how == "closed pool":
        pool = context.Pool(2)
        print(pool.map(work, range(4)))
        pool.close()
        pool.join()
    elif how == "executor":
        with ProcessPoolExecutor(2, mp_context=context) as executor:
            print(list(executor.map(work, range(4))))
    else:
        child = context.Process(target={"deep": deep, "leave": leave}[how], args=(0,))
        child.start()
        child.join()
        print(child.exitcode)
"""
)
EXPECTED = {
    "process": ("[0, 0]\n", 2),
    "pool": ("[0, 1, 2, 3]\n", 4),
    "closed pool": ("[0, 1, 2, 3]\n", 4),
    "executor": ("[0, 1, 2, 3]\n", 4),
    "deep": ("0\n", 2),
    "leave": ("0\n", 1),
}


@pytest.mark.parametrize("how", EXPECTED)
@pytest.mark.parametrize("way", ["fork", "spawn", "forkserver"])
def test_multiprocessing(way: str, how: str, tmp_path: Path) -> None:
    out, times = EXPECTED[how]
    result, report, trace = run(tmp_path, PROGRAM, way, how)
    assert (result.out, result.err, result.code) == (out, "", 0)
    found = processes(trace)
    assert 0 not in found
    assert (sum(found.values()), counted(report)) == (times, times)
    assert report["processes"] >= 2
    assert report["errors"] == []
    # The end of `with Pool` kills its workers, perhaps while one is about to hand in what it did after its last answer.
    warnings = [each for each in report["warnings"] if how != "pool" or "was ended by the program" not in each]
    assert warnings == []
