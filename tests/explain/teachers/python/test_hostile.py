"""Programs that fork, close what is ours, take our tools, or have modules called like ours: words stay right."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from explain import brute
from lawful.errors import LawfulError
from lawful.explain.teacher import Basis, Limits
from lawful.explain.teachers.python.execution_source import PythonSource

Program = Callable[..., PythonSource]
STEPS = "import os, sys, time\ndef odd(): pass\ndef even(): pass\n"


@pytest.fixture
def program(tmp_path: Path) -> Program:
    def made(text: str, **options: object) -> PythonSource:
        file = tmp_path / "prog.py"
        file.write_text(STEPS + textwrap.dedent(text))
        return PythonSource(f"{file}:main", **options)  # type: ignore[arg-type]

    return made


def warned(source: PythonSource, text: str) -> bool:
    return any(text in each for each in source.report.warnings)


@pytest.mark.parametrize("apart", [False, True])
def test_only_the_process_that_began_an_execution_answers(program: Program, apart: bool) -> None:
    source = program(
        f"""
        seen = []
        def main(n: bool):
            odd()
            seen.append(n)
            if {apart} and len(seen) > 1:
                even()
            if os.fork() == 0:
                even()
                if n:
                    raise ValueError
                return
            _, status = os.wait()
            assert os.waitstatus_to_exitcode(status) == int(n)
        """
    )
    with source:
        assert brute.spelled(source, 1) == {(("odd",), False)}
        assert warned(source, "Lawful runs each in a process of its own") == apart
        assert source.report.basis is Basis.COMPLETE


def test_a_process_that_is_left_behind_holds_nobody_up(program: Program) -> None:
    source = program(
        """
        def main(n: bool):
            odd()
            if os.fork() == 0:
                time.sleep(100)
            if n:
                os._exit(3)
        """
    )
    with source:
        assert brute.spelled(source, 1) == {(("odd",), False), (("odd", "error"), True)}
        assert source.report.basis is Basis.COMPLETE


def test_a_fork_while_the_program_is_loaded_answers_nothing(program: Program) -> None:
    source = program("os.fork()\ndef main(n: bool):\n    odd()\n    assert n\n")
    with source:
        assert brute.spelled(source, 1) == {(("odd",), False), (("odd", "error"), True)}


@pytest.mark.parametrize("then", ["", "[open(os.devnull) for _ in range(20)]"], ids=["closed", "taken"])
def test_closing_files_is_no_failure(program: Program, then: str) -> None:
    source = program(
        f"""
        def main(n: int):
            odd()
            if n:
                os.closerange(0, 4096)
                {then or "pass"}
                even()
            assert n <= 0
        """
    )
    with source:
        found = {(("odd",), False), (("odd", "even"), False), (("odd", "even", "error"), True)}
        assert brute.spelled(source, 1) == found
        assert source.report.basis is Basis.COMPLETE
        assert source.counts.executions == 3


def test_what_was_seen_before_a_process_ended_is_kept(program: Program) -> None:
    source = program(
        """
        def main(n: int):
            if n == 0:
                odd()
            if n == 1:
                time.sleep(100)
            if n == -1:
                os._exit(0)
            even()
        """
    )
    with source:
        found = brute.spelled(source, 2, limits=Limits(seconds_per_execution=0.2))
        assert found == {(("odd", "even"), False), ((), False), (("even",), False)}
        assert warned(source, "1 execution did not end within 0.2 s, e.g. that of n=1")
        assert source.report.basis is Basis.SAMPLED


def test_the_end_of_the_process_beside_it_is_told_as_unknown(program: Program) -> None:
    source = program("def main(n: int):\n    odd()\n    if n == 1:\n        os.killpg(0, 9)\n    assert n >= 0\n")
    with source:
        assert brute.spelled(source, 1) == {(("odd",), False), (("odd", "error"), True)}
        assert warned(source, "1 execution could not be watched")
        assert source.report.basis is Basis.SAMPLED


@pytest.mark.parametrize(
    "how",
    ["for tool in range(6): sys.monitoring.free_tool_id(tool)", "sys.monitoring.set_events(5, 0)"]
    if sys.version_info >= (3, 12)
    else ["sys.settrace(None)"],
)
def test_an_execution_that_ends_the_watch_is_told_as_unknown(program: Program, how: str) -> None:
    source = program(
        f"""
        def main(n: int):
            odd()
            if n == 1:
                {how}
                even()
            assert n >= 0
        """
    )
    with source:
        assert brute.spelled(source, 1) == {(("odd",), False), (("odd", "error"), True)}
        assert warned(source, "1 execution could not be watched, e.g. that of n=1")
        assert source.report.basis is Basis.SAMPLED


def test_to_load_the_program_has_its_time(program: Program) -> None:
    with pytest.raises(LawfulError) as caught:
        program("time.sleep(1000)\ndef main(n: int): pass\n", limits=Limits(seconds=0.5))
    assert caught.value.slug == "explain-load"
    assert "importing it did not end within 0.5 s" in caught.value.message
    assert caught.value.hint is not None and "--seconds" in caught.value.hint


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("where", ["loading", "running", "left the session"])
def test_the_program_ends_with_us(tmp_path: Path, how: signal.Signals, where: str) -> None:
    asleep = "open('pid.part', 'w').write(str(os.getpid())); os.rename('pid.part', 'pid'); time.sleep(1000)"
    leave = "os.setsid();" if where == "left the session" else ""
    text = f"{asleep}\ndef main(): odd()\n" if where == "loading" else f"def main():\n    odd(); {leave} {asleep}\n"
    (tmp_path / "prog.py").write_text(STEPS + text)
    script = (
        "from lawful.explain.teacher import Bounds, Limits\n"
        "from lawful.explain.teachers.python.execution_source import PythonSource\n"
        "limits = Limits(seconds_per_execution=1000)\n"
        "list(PythonSource('prog.py:main', limits=limits).executions(Bounds(1, 9), limits))\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], cwd=tmp_path) as process:
        until = time.monotonic() + 60
        while not (tmp_path / "pid").exists() and time.monotonic() < until:
            time.sleep(0.02)
        worker = int((tmp_path / "pid").read_text())
        process.send_signal(how)
    while _runs(worker) and time.monotonic() < until:
        time.sleep(0.02)
    assert not _runs(worker)


def _runs(process: int) -> bool:
    """Is there such a process, other than one that has ended and nobody asked about?"""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    found = subprocess.run(["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True, check=False)
    return not found.stdout.strip().startswith("Z") and bool(found.stdout.strip())


NAMES = ["random", "signal", "json", "ast", "typing", "dataclasses", "pickle", "struct", "asyncio", "lawful"]


@pytest.mark.parametrize("folder", [".", "src"])
def test_modules_of_the_project_that_are_called_like_ours(tmp_path: Path, folder: str) -> None:
    (tmp_path / folder).mkdir(exist_ok=True)
    for name in NAMES:
        (tmp_path / folder / f"{name}.py").write_text(f"MINE = {name!r}\n")
    imports = "".join(f"import {name}\n" for name in NAMES)
    mine = ", ".join(f"{name}.MINE" for name in NAMES)
    body = f"    odd()\n    if [{mine}] == {NAMES!r}:\n        assert n\n"
    (tmp_path / folder / "prog.py").write_text(f"{imports}def odd(): pass\ndef main(n: bool):\n{body}")
    with PythonSource(f"{folder}/prog.py:main", folder=tmp_path) as source:
        assert brute.spelled(source, 1) == {(("odd",), False), (("odd", "error"), True)}
        assert source.report.basis is Basis.COMPLETE


def test_a_project_with_a_lawful_of_its_own_symbolically(tmp_path: Path) -> None:
    pytest.importorskip("z3")
    package = tmp_path / "src" / "lawful"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "explain.py").write_text("def odd(): pass\ndef main(n: int):\n    odd()\n    assert n != 7777\n")
    with PythonSource("src/lawful/explain.py:main", folder=tmp_path, way="symbolic") as source:
        assert brute.spelled(source, 1) == {(("odd",), False), (("odd", "error"), True)}


@pytest.mark.parametrize(
    ("error", "failing"),
    [("SystemExit", {0, 1}), ("builtins.SystemExit", {0, 1}), ("Leave", {1}), ("BaseException", set()), (None, set())],
)
def test_whoever_names_an_exit_means_it(program: Program, error: str | None, failing: set[int]) -> None:
    source = program(
        """
        class Leave(SystemExit): pass
        def main(n: bool):
            (even if n else odd)()
            raise Leave(0) if n else SystemExit
        """,
        error=error,
    )
    with source:
        assert {word[0] for word in brute.failing(brute.spelled(source, 1))} == {("odd", "even")[n] for n in failing}
