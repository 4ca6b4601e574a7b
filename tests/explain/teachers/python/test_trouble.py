"""Programs that do not end, die, print, or do something else each time: nothing of it is kept quiet."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from explain import brute
from lawful.errors import LawfulError
from lawful.explain.teacher import Basis, Bounds, Limits
from lawful.explain.teachers.python.execution_source import PythonSource

Program = Callable[..., PythonSource]
QUICK = Limits(seconds_per_execution=0.2)


@pytest.fixture
def program(tmp_path: Path) -> Program:
    def made(text: str, **options: object) -> PythonSource:
        file = tmp_path / "prog.py"
        file.write_text(textwrap.dedent(text))
        return PythonSource(f"{file}:main", **options)  # type: ignore[arg-type]

    return made


def warned(source: PythonSource, text: str) -> bool:
    return any(text in each for each in source.report.warnings)


def test_a_function_that_never_ends_is_cut_and_named(program: Program) -> None:
    source = program(
        """
        def step(): pass
        def main(n: int):
            step()
            while n == 2:
                try:
                    pass
                except BaseException:
                    pass
            assert n != 1
        """
    )
    with source:
        found = brute.spelled(source, 2, limits=QUICK)
        assert found == {(("step",), False), (("step", "error"), True)}
        assert warned(source, "1 execution did not end within 0.2 s, e.g. that of n=2")
        assert source.report.basis is Basis.SAMPLED


def test_a_function_that_catches_everything_is_cut_too(program: Program) -> None:
    source = program(
        """
        def main(n: bool):
            for _ in range(3):
                try:
                    while n:
                        pass
                except BaseException:
                    pass
        """
    )
    with source:
        found = brute.spelled(source, 1, limits=QUICK)
        assert not brute.failing(found)


def test_many_that_never_end_stop_the_run(program: Program) -> None:
    source = program("def step(): pass\ndef main(n: int):\n    step()\n    while n >= 0: pass\n")
    with source:
        brute.spelled(source, 20, limits=Limits(seconds_per_execution=0.05))
        assert source.report.reached == ["stopped after 10 executions that did not end"]
        assert source.report.basis is Basis.SAMPLED


def test_endless_events_end_an_execution_at_once(program: Program) -> None:
    source = program(
        """
        def step(): pass
        def main(n: bool):
            step()
            while n:
                step()
        """
    )
    with source:
        began = time.monotonic()
        assert brute.spelled(source, 1, 10, Limits(seconds_per_execution=60)) == {(("step",), False)}
        assert time.monotonic() - began < 60
        assert warned(source, "at least 1 word is longer than 10 and left out, e.g. that of n=True")
        assert source.report.basis is Basis.COMPLETE  # within the bounds


@pytest.mark.parametrize(("how", "fails"), [("os._exit(0)", False), ("os._exit(3)", True), ("os.abort()", True)])
def test_a_program_that_ends_its_process_is_gone_on_with(program: Program, how: str, fails: bool) -> None:
    source = program(
        f"""
        import os
        def before(): pass
        def after(): pass
        def main(n: int):
            before()
            if n == 1:
                {how}
            after()
            assert n != -2
        """
    )
    with source:
        died = (("before", "error"), True) if fails else (("before",), False)
        assert brute.spelled(source, 2) == {(("before", "after"), False), (("before", "after", "error"), True), died}
        assert warned(source, "the program ended its process (") and warned(source, "e.g. with n=1")
        assert source.report.basis is Basis.COMPLETE


def test_a_program_that_always_ends_its_process(program: Program) -> None:
    source = program("import os\ndef step(): pass\ndef main(n: int):\n    step()\n    os._exit(n + 5)\n")
    with source:
        assert brute.spelled(source, 3) == {(("step", "error"), True)}
        assert source.counts.executions == 7


def test_a_process_that_hangs_where_no_signal_reaches_it(program: Program) -> None:
    source = program(
        """
        import signal
        def step(): pass
        def main(n: int):
            step()
            if n == 1:
                signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
                while True:
                    pass
        """
    )
    with source:
        assert brute.spelled(source, 1, limits=QUICK) == {(("step",), False)}
        assert warned(source, "did not end within 0.2 s, e.g. that of n=1")


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("import random\ndef chosen(n): return random.random() < 0.5", "chance"),
        ("def chosen(n): return [*{'a', 'b', 'c', 'd', 'e', 'f', str(n)}][0] < 'c'", "the order of sets"),
        ("import time\ndef chosen(n): return time.perf_counter_ns() // 100 % 2", "chance, time"),
        # Each bit is an event: two processes must not do the same by chance.
        (
            "def clear(): pass\n"
            "def chosen(n): return any([step() if id(step) >> bit & 1 else clear() for bit in range(12, 40)])",
            "addresses",
        ),
    ],
    ids=["random", "sets", "time", "addresses"],
)
def test_what_is_not_deterministic_is_named(program: Program, text: str, cause: str) -> None:
    source = program(f"{text}\ndef step(): pass\ndef main(n: int):\n    if chosen(n):\n        step()\n")
    with source:
        brute.spelled(source, 12)
        assert warned(source, "not deterministic: run twice with n=") and warned(source, cause)
        assert source.report.basis is Basis.SAMPLED
        assert not warned(source, "Lawful runs each in a process of its own")


def test_with_few_inputs_chance_shows_too(program: Program) -> None:
    text = "import random\ndef step(): pass\ndef main(n: bool):\n    if random.random() < 0.5:\n        step()\n"
    with program(text) as source:
        brute.spelled(source, 1)
        assert warned(source, "it depends on chance")


def test_executions_that_change_later_ones_are_run_apart(program: Program) -> None:
    source = program(
        """
        seen = []
        def first(): pass
        def again(): pass
        def main(n: int):
            seen.append(n)
            first() if len(seen) == 1 else again()
            assert n < 2
        """
    )
    with source:
        assert brute.spelled(source, 2) == {(("first",), False), (("first", "error"), True)}
        assert warned(source, "Lawful runs each in a process of its own")
        assert source.report.basis is Basis.COMPLETE
        assert brute.spelled(source, 1) == {(("first",), False)}
        assert warned(source, "Lawful runs each in a process of its own")  # for each bound


def test_chance_that_is_settled_is_none(program: Program) -> None:
    source = program(
        """
        import random, sys
        random.seed(7)
        def low(): pass
        def high(): pass
        def main(n: int):
            assert sys.argv[1:] == []
            for _ in range(abs(n)):
                low() if random.random() < 0.5 else high()
        """
    )
    chance = random.Random(7)
    word = tuple("low" if chance.random() < 0.5 else "high" for _ in range(4))
    with source:
        assert brute.spelled(source, 4) == {(word[:length], False) for length in range(5)}
        assert warned(source, "Lawful runs each in a process of its own")
        assert source.report.basis is Basis.COMPLETE


def test_executions_that_change_later_ones_cannot_be_run_apart_symbolically(program: Program) -> None:
    pytest.importorskip("z3")
    text = "seen = []\ndef again(): pass\ndef main(n: int):\n    seen.append(n)\n    if len(seen) > 1: again()\n"
    with program(text, way="symbolic") as source:
        brute.spelled(source, 2)
        assert warned(source, "explain.way=exhaustive can run each in a process of its own")
        assert source.report.basis is Basis.SAMPLED


def test_inputs_that_are_not_deterministic_are_named(program: Program, tmp_path: Path) -> None:
    (tmp_path / "gen.py").write_text("import random\ndef inputs():\n    yield random.random()\n")
    with program("def step(): pass\ndef main(x):\n    step()\n", inputs=f"{tmp_path / 'gen.py'}:inputs") as source:
        brute.spelled(source, 1)
        assert warned(source, "not deterministic: input 0 is once 0.")
        assert source.report.basis is Basis.SAMPLED


def test_output_is_kept_apart(program: Program, capfd: pytest.CaptureFixture[str]) -> None:
    source = program(
        """
        import os, sys
        print("loading")
        def step():
            print("step")
            os.write(2, b"deep")
        def main(n: bool):
            step()
            assert not n
        """
    )
    with source:
        assert brute.failing(brute.spelled(source, 1)) == {("step", "error")}
        assert "loading" in source.output and "deep" in source.output
    assert capfd.readouterr() == ("", "")


def test_a_flood_of_output_blocks_nobody(program: Program) -> None:
    with program("def step(): print('x' * 100_000)\ndef main(n: int):\n    for _ in range(20): step()\n") as source:
        assert len(brute.spelled(source, 2)) == 1
        assert len(source.output) <= 2 * 64 * 1024


def test_the_program_reads_no_input_of_ours(program: Program) -> None:
    with program("def step(): pass\ndef main(n: bool):\n    step()\n    input()\n", error="EOFError") as source:
        assert brute.spelled(source, 1) == {(("step", "EOFError"), True)}


def test_limits_are_kept_and_named(program: Program) -> None:
    text = "def step(): pass\ndef main(n: int):\n    for _ in range(abs(n)): step()\n"
    with program(text) as source:
        assert len(brute.spelled(source, 9, limits=Limits(paths=5))) == 3
        assert source.report.reached == ["stopped after 5 paths"]
        assert source.counts.executions == 5
        assert len(brute.spelled(source, 9, limits=Limits(words=4))) == 4
        assert source.report.reached == ["stopped after 4 words"]
        assert len(brute.spelled(source, 2, limits=Limits(paths=5))) == 3  # which is just all
        assert source.report.reached == [] and source.report.basis is Basis.COMPLETE
    slow = "import time\ndef step(): time.sleep(0.02)\ndef main(n: int):\n    for _ in range(abs(n)): step()\n"
    with program(slow) as source:
        brute.spelled(source, 50, limits=Limits(seconds=0.3))
        assert source.report.reached == ["stopped after 0.3 seconds"]
        assert source.report.basis is Basis.SAMPLED


def test_ctrl_c_ends_the_program_and_gives_what_there_was(tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text(
        "import time\ndef step(): time.sleep(0.05)\ndef main(n: int):\n    for _ in range(abs(n)): step()\n"
    )
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import os
            from lawful.explain.teacher import Bounds, Limits
            from lawful.explain.teachers.python.execution_source import PythonSource
            source = PythonSource("prog.py:main")
            found = []
            try:
                for each in source.executions(Bounds(60, 100), Limits(seconds_per_execution=100)):
                    found.append(each)
                    print("found", source._children.get()._process.pid, flush=True)
            except KeyboardInterrupt:
                print("interrupted with", len(found), source.report.basis.name, flush=True)
            """
        )
    )
    with subprocess.Popen([sys.executable, str(script)], cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        killer = threading.Timer(60, process.kill)
        killer.start()
        child = int(process.stdout.readline().split()[1])
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        killer.cancel()
    assert "interrupted with" in rest and "SAMPLED" in rest and "interrupted with 0" not in rest
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def test_whoever_stops_early_can_begin_again(program: Program) -> None:
    text = "def step(): pass\ndef main(n: int):\n    for _ in range(abs(n)): step()\n"
    with program(text) as source:
        first = next(iter(source.executions(Bounds(3, 10))))
        assert first.word == ()
        assert len(brute.spelled(source, 3, 10)) == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import nothing_like_this", "No module named 'nothing_like_this'"),
        ("def main(:", "invalid syntax"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("import sys; sys.exit(3)", "SystemExit: 3"),
        ("import os; print('last words', flush=True); os._exit(4)", "exit code 4): last words"),
    ],
)
def test_a_program_that_cannot_be_loaded(program: Program, text: str, message: str) -> None:
    with pytest.raises(LawfulError) as caught:
        program(text)
    assert caught.value.slug == "explain-load"
    assert message in caught.value.message


def test_a_name_that_is_not_there(program: Program) -> None:
    with pytest.raises(LawfulError) as caught:
        program("def other(): pass")
    assert caught.value.slug == "explain-target"
    assert caught.value.hint == "there are other"
