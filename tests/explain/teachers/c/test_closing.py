"""What a solver holds is given back: at the end, on an error, on Ctrl-C, and where nobody thinks of it."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from contextlib import closing
from pathlib import Path

import pytest

from explain.one_run_words import executions
from explain.teachers.c.requirements import needs_cbmc
from lawful.explain import explain
from lawful.explain.teacher import Bounds
from lawful.explain.teachers.c import c_teacher
from lawful.explain.teachers.c.formula import Formula
from lawful.explain.teachers.c.one_run_teacher import OneRunTeacher

pytestmark = needs_cbmc
TEXT = 'int main(void) { while (nondet_bool()) Learn("a"); assert(0); }\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "program.c"
    found.write_text(TEXT)
    return found


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Formula]:
    """The formulas that are made from now on."""
    found: list[Formula] = []
    plain = Formula.__init__

    def noted(self: Formula, path: Path, error: int) -> None:
        plain(self, path, error)
        found.append(self)

    monkeypatch.setattr(Formula, "__init__", noted)
    return found


def test_a_teacher_that_is_closed_can_be_asked_again(file: Path, opened: list[Formula]) -> None:
    with closing(c_teacher(file)) as teacher:
        assert isinstance(teacher, OneRunTeacher)
        teacher.bound(Bounds(3, 4))
        before = teacher.failing
        passing = list(executions(teacher, Bounds(3, 4)))
        assert passing == list(executions(teacher, Bounds(3, 4)))  # each time all of them
        teacher.close()
        assert opened and not any(each.close.alive for each in opened)
        assert teacher.member((0, 1)) is not None and teacher.failing == before
        assert teacher.example((0, 1)) is not None
    assert not any(each.close.alive for each in opened)


def test_explain_closes_its_teacher(file: Path, opened: list[Formula]) -> None:
    assert explain(str(file), unwind=2).complete
    assert opened and not any(each.close.alive for each in opened)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_explain_closes_its_teacher_whatever_happens(
    file: Path, opened: list[Formula], monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    def interrupted(self: Formula, *_: object) -> bool:
        raise error

    monkeypatch.setattr(Formula, "solve", interrupted)
    with pytest.raises(BaseException):  # noqa: B017 - what there was before an interruption may be nothing
        explain(str(file), unwind=2)
    assert opened and not any(each.close.alive for each in opened)


@pytest.mark.parametrize("how", ["ends", "raises", "Ctrl-C"])
def test_nothing_is_said_at_the_end_of_a_process_that_closes_nothing(file: Path, how: str) -> None:
    script = f"""
        import signal, sys, time
        from lawful.explain.teacher import Bounds
        from lawful.explain.teachers.c import c_teacher
        teacher = c_teacher({str(file)!r})
        teacher.bound(Bounds(3, 4))
        assert teacher.member((0, 1)) is not None
        print("asked", flush=True)
        if {how!r} == "raises":
            sys.exit(3)
        if {how!r} == "Ctrl-C":
            time.sleep(60)
        """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "asked\n"
        if how == "Ctrl-C":
            process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert "Exception ignored" not in said
    assert (said == "") is (how != "Ctrl-C")
