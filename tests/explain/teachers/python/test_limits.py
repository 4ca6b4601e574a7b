"""What an execution may take, how it may end, and what it may leave behind: memory, exits, processes, threads."""

from __future__ import annotations

import os
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from explain import brute
from lawful.explain.teacher import Basis, Bounds, Execution, Limits
from lawful.explain.teachers.python.execution_source import PythonSource

Program = Callable[..., PythonSource]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    def made(text: str, **options: object) -> PythonSource:
        file = tmp_path / "prog.py"
        file.write_text(textwrap.dedent(text))
        return PythonSource("prog.py:main", folder=tmp_path, **options)  # type: ignore[arg-type]

    return made


def by_input(source: PythonSource, bound: int, limits: Limits | None = None) -> dict[str, Execution]:
    return {str(each.example): each for each in source.executions(Bounds(bound, 60), limits)}


HUNGRY = """
    import lawful
    kept, seen = [], []
    def main(n: int):
        seen.append(n)
        lawful.emit(f"n={n}")
        if n == 1:
            bytearray(10**12)
        if n == 2:
            while True:
                kept.append(bytearray(10**6))
        if n == -1:
            raise MemoryError("of its own")
        if n == -2:
            bytearray(10**7)
"""


@pytest.mark.parametrize("apart", [False, True])
def test_an_execution_that_takes_too_much_memory_is_cut_and_named(program: Program, apart: bool) -> None:
    limits = Limits(megabytes=100, seconds_per_execution=60)
    # Executions that change later ones are run each in a process of its own.
    text = HUNGRY.replace("seen.append(n)", "lawful.emit('again') if seen else seen.append(n)") if apart else HUNGRY
    with program(text, limits=limits) as source:
        found = by_input(source, 2, limits)
        assert set(found) == {"n=0", "n=-1", "n=-2"}
        assert apart is any("in a process of its own" in each for each in source.report.warnings)
        assert [each.error for each in found.values() if each.failed] == ["MemoryError"]
        assert source.report.reached == ["2 executions needed more than 100 MB of memory, e.g. that of n=1"]
        assert source.report.basis is Basis.SAMPLED and source.report.left_out


def test_without_a_limit_memory_is_the_machines(program: Program) -> None:
    limits = Limits(megabytes=None)
    with program("def main(n: bool):\n    bytearray(2 * 10**8)\n    assert n\n", limits=limits) as source:
        assert {each.error for each in by_input(source, 1, limits).values()} == {"", "AssertionError"}
    few = Limits(megabytes=100)
    with program("def main(n: bool):\n    bytearray(2 * 10**8)\n    assert n\n", limits=few) as source:
        assert by_input(source, 1, few) == {}
        assert source.report.reached == ["2 executions needed more than 100 MB of memory, e.g. that of n=False"]


def test_many_that_take_too_much_memory_stop_the_run(program: Program) -> None:
    limits = Limits(megabytes=50)
    with program("def main(n: int):\n    bytearray(10**12)\n", limits=limits) as source:
        assert by_input(source, 20, limits) == {}
        assert source.report.reached[1:] == ["stopped after 10 executions that needed too much memory"]


def test_memory_on_symbolic_paths(program: Program) -> None:
    pytest.importorskip("z3")
    limits = Limits(megabytes=500)
    text = (
        "def step(): pass\ndef main(n: int):\n    step()\n    if n > 7:\n        bytearray(10**12)\n    assert n != 5\n"
    )
    with program(text, limits=limits, way="symbolic") as source:
        found = brute.spelled(source, 2, limits=limits)
        assert found == {(("step",), False), (("step", "error"), True)}
        [said] = source.report.reached
        assert said.startswith("1 execution needed more than 500 MB of memory, e.g. that of n=")
        assert source.report.basis is Basis.SAMPLED


WAYS_TO_END = """
    import os, sys
    import lawful
    def deeper(n): deeper(n + 1)
    def main(n: int):
        print("said", n)
        sys.stderr.write("complained")
        lawful.emit(f"n={n}")
        assert sys.stdin.read() == "" and sys.stdin.readline() == ""
        if n == 1: sys.exit()
        if n == -1: sys.exit(3)
        if n == 2: sys.exit("sorry")
        if n == -2: raise SystemExit
        if n == 3: raise KeyboardInterrupt
        if n == -3: deeper(n)
        if n == 4: raise MemoryError
        if n == -4: os._exit(0)
        if n == 5: os._exit(6)
        if n == -5: raise GeneratorExit
"""

ERRORS = {
    "n=-1": "SystemExit",
    "n=2": "SystemExit",
    "n=3": "KeyboardInterrupt",
    "n=-3": "RecursionError",
    "n=4": "MemoryError",
    "n=5": "exit code 6",
    "n=-5": "GeneratorExit",
}


def test_ways_to_end(program: Program, capfd: pytest.CaptureFixture[str]) -> None:
    with program(WAYS_TO_END) as source:
        found = by_input(source, 5)
        assert set(found) == {f"n={n}" for n in range(-5, 6)}  # whatever one does, the others are run
        assert {name: each.error for name, each in found.items() if each.failed} == ERRORS
        assert source.report.basis is Basis.COMPLETE
    with program(WAYS_TO_END, error="end") as source:
        ended = {name for name, each in by_input(source, 5).items() if each.failed}
        assert ended == {"n=0", "n=1", "n=-2", "n=-4"}
    assert capfd.readouterr() == ("", "")


def test_one_word_keeps_each_of_its_errors(program: Program) -> None:
    text = """
        def step(): pass
        def main(n: int):
            step()
            if n > 0:
                raise KeyError if n > 1 else ValueError
            if n < 0:
                raise KeyError
    """
    with program(text) as source:
        found = [each for each in source.executions(Bounds(2, 9)) if each.failed]
        assert {each.word for each in found} == {source.alphabet.word("step", "error")}
        assert {(each.error, each.places and each.places[-1]) for each in found} == {
            ("ValueError", ("prog.py", 6)),
            ("KeyError", ("prog.py", 6)),
            ("KeyError", ("prog.py", 8)),
        }
        # A word is one word, however many errors it ends in.
        two = Limits(words=2)
        assert len({each.word for each in source.executions(Bounds(2, 9), two)}) == 2
        assert source.report.reached == []


LEAVING = {
    "a process": "if os.fork() == 0:\n        note()\n        time.sleep(1000)",
    "another program": "note(subprocess.Popen(['sleep', '1000']).pid)",
    "one in another session": (
        "if os.fork() == 0:\n        os.setsid()\n        if os.fork() == 0:\n            note()\n"
        "            time.sleep(1000)\n        os._exit(0)"
    ),
    "many": "for _ in range(4): os.fork()\n    note()\n    time.sleep(1000)",
}


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="only Linux gives us what another process left")
@pytest.mark.parametrize("what", LEAVING)
def test_what_is_left_behind_ends_with_the_program(program: Program, tmp_path: Path, what: str) -> None:
    text = f"""
import os, subprocess, time
def step(): pass
def note(pid=None): open({str(tmp_path)!r} + "/pids", "a").write(f"{{pid or os.getpid()}}\\n")
def main(n: bool):
    step()
    {LEAVING[what]}
"""
    limits = Limits(seconds_per_execution=1)
    with program(text, limits=limits, events=["step"]) as source:
        assert (brute.spelled(source, 1, limits=limits) == {(("step",), False)}) is (what != "many")
        if what == "many":
            assert any("did not end within 1 s" in each for each in source.report.warnings)
    noted = tmp_path / "pids"
    until = time.monotonic() + 30
    while not noted.exists() and time.monotonic() < until:
        time.sleep(0.01)
    pids = [int(line) for line in noted.read_text().split()]
    assert pids
    while any(map(_runs, pids)) and time.monotonic() < until:
        time.sleep(0.01)
    assert not any(map(_runs, pids))


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_a_thread_left_behind_does_not_end_in_other_executions(program: Program) -> None:
    text = """
        import threading, time
        def step(): pass
        def beat():
            while True:
                step()
                time.sleep(0.001)
        def main(n: bool):
            if n:
                threading.Thread(target=beat).start()
    """
    with program(text) as source:
        brute.spelled(source, 1, 200)
        assert source.report.warnings and source.report.basis is Basis.SAMPLED


def test_a_thread_left_behind_is_named_even_if_it_does_the_same_each_time(program: Program) -> None:
    text = """
        import threading
        def step(): pass
        def beat(go):
            go.wait()
            step()
        def main(n: bool):
            go = threading.Event()
            thread = threading.Thread(target=beat, args=(go,), daemon=True)
            thread.start()
            if n:
                go.set()
                thread.join()
    """
    with program(text, events=["step"]) as source:
        assert brute.spelled(source, 1, 200) == {((), False), (("step",), False)}
        assert source.report.basis is Basis.SAMPLED
        assert () in source.report.begun
        said = "1 execution left threads running, e.g. that of n=False: what they do later is not seen"
        assert said in source.report.warnings
