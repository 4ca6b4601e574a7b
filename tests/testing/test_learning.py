"""`pytest --lawful` that learns: one learner over the session, whether it is one process or several workers."""

from __future__ import annotations

import os
import re
import sqlite3

import pytest

from slipping_program import SLIPPING
from testing import sessions
from testing.sessions import isolated, run

pytest_plugins = ["pytester"]

APP = f"import io\n{SLIPPING}"
TESTS = """
import app
import pytest

@pytest.mark.parametrize("number", range(10))
def test_keeps(number):
    app.one(), app.two(), app.three()

def test_slips():
    app.slips()

@pytest.mark.parametrize("number", range(20))
def test_goes_on(number):
    app.one(), app.two(), app.three()
"""
PYPROJECT = '[tool.pytest.ini_options]\npythonpath = "."\n'
ANOMALY = "a new `io.StringIO` is followed by `io.StringIO.close` in 90 of 91 uses; not at `app.py:19`"
LAWS = ("--lawful-law", "files/left-open", "--lawful-law", "files/use-after-close")


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    isolated(pytester, monkeypatch)
    pytester.makepyfile(app=APP, test_it=TESTS)
    pytester.makefile(".toml", pyproject=PYPROJECT)
    return pytester


def section(result: pytest.RunResult) -> list[str]:
    return [line for line in sessions.section(result) if line]


def header(result: pytest.RunResult) -> str:
    return next(line for line in result.outlines if line.startswith("lawful: "))


def workers(project: pytest.Pytester, *words: str) -> pytest.RunResult:
    pytest.importorskip("xdist")
    return run(project, "-p", "xdist", "-n", "2", *words)


def test_with_no_law_at_all_rules_are_learned(project: pytest.Pytester) -> None:
    result = run(project, "--lawful")
    assert result.ret == 0
    assert result.parseoutcomes() == {"passed": 31}
    assert header(result).startswith("lawful: learning; calls into *; ")
    lines = section(result)
    assert lines[0] == f"1. {ANOMALY}"
    assert "score 0." in lines[1]
    assert any("app.py:19" in line and "not here" in line for line in lines)
    assert re.fullmatch(r"1 finding in \d+ events; \d+ rules? learned", lines[-1])


def test_an_anomaly_is_a_finding(project: pytest.Pytester) -> None:
    assert run(project, "--lawful", "--lawful-fail").ret == 1
    assert run(project, "--lawful", "--lawful-fail", "--deselect", "test_it.py::test_slips").ret == 0


def test_beside_laws_only_if_it_is_asked_for(project: pytest.Pytester) -> None:
    alone = section(run(project, *LAWS))
    assert len(alone) == 1 and alone[0].startswith("0 findings in 2 laws, ") and "rules" not in alone[0]
    both = run(project, *LAWS, "--lawful-learn")
    assert header(both).startswith("lawful: 2 laws; learning; ")
    assert section(both)[0] == f"1. {ANOMALY}"
    assert section(both)[-1].startswith("1 finding in 2 laws, ")
    project.makefile(".toml", pyproject=PYPROJECT + "[tool.lawful.learn]\nalways = true\n")
    assert section(run(project, *LAWS))[0] == f"1. {ANOMALY}"
    none = section(run(project, *LAWS, "--lawful-no-learn"))
    assert none == alone


def test_details_for_those_who_are_very_curious(project: pytest.Pytester) -> None:
    assert "  window    25" not in section(run(project, "--lawful", "-v"))
    assert "  window    25" in section(run(project, "--lawful", "-vv"))


def test_workers_teach_together(project: pytest.Pytester) -> None:
    result = workers(project, "--lawful", "--lawful-fail")
    assert (result.ret, result.parseoutcomes()) == (1, {"passed": 31})
    lines = section(result)
    assert "is followed by `io.StringIO.close`" in lines[0] and lines[0].endswith("not at `app.py:19`")
    assert re.fullmatch(r"1 finding in \d+ events, 2 processes; \d+ rules? learned", lines[-1])


def test_a_store_teaches_later_sessions(project: pytest.Pytester) -> None:
    """One that has no evidence of its own: what it knows is from others."""
    project.makepyfile(
        test_late="import app\ndef test_it():\n    app.slips()\n    for _ in range(40):\n        app.one()\n"
    )
    project.makefile(".toml", pyproject=PYPROJECT + "[tool.lawful.learn]\nthresholds = {'count.enforce' = 45}\n")
    assert section(run(project, "--lawful", "test_late.py"))[0].startswith("nothing unusual in ")
    first = workers(project, "--lawful-store", "history.db", "test_it.py", "--deselect", "test_it.py::test_slips")
    assert section(first)[0].startswith("nothing unusual in ")
    with sqlite3.connect(project.path / "history.db") as store:
        assert store.execute("SELECT count(*) FROM runs").fetchone() == (1,)
    store.close()
    alone = section(run(project, "--lawful-store", "history.db", "test_late.py"))
    assert alone[0].endswith("in 130 of 131 uses; not at `app.py:20`")
    again = section(workers(project, "--lawful-store", "history.db", "test_late.py"))
    assert again[0].startswith("nothing new in ")
    assert again[1] == "1 anomaly that earlier runs had, too; --lawful-set=learn.known=true shows it"
    known = section(workers(project, "--lawful-store", "history.db", "--lawful-set=learn.known=true", "test_late.py"))
    assert known[0] == "Earlier runs had these, too:"
    assert any("; not at `app.py:" in line for line in known[1:3])


def test_workers_find_what_is_new(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_late="import app\ndef test_it():\n    app.slips()\n    for _ in range(40):\n        app.one()\n"
    )
    project.makefile(".toml", pyproject=PYPROJECT + "[tool.lawful.learn]\nthresholds = {'count.enforce' = 45}\n")
    workers(project, "--lawful-store", "history.db", "test_it.py", "--deselect", "test_it.py::test_slips")
    together = section(workers(project, "--lawful-store", "history.db", "test_late.py"))
    assert together[0].endswith("not at `app.py:20`")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("--lawful-store app.py", "error[store-not-ours]: app.py"),
        ("--lawful-store missing/history.db", "error[store-unreadable]: missing/history.db"),
        ("--lawful-store history.db --lawful-law files", "error[usage]: there is a store, but nothing is learned"),
    ],
)
def test_mistakes_are_told_before_the_tests_run(words: str, text: str, project: pytest.Pytester) -> None:
    for result in (run(project, *words.split()), workers(project, *words.split())):
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert text in result.stderr.str()
        assert "passed" not in result.stdout.str()
    assert not (project.path / "history.db").exists()


def test_a_store_that_cannot_be_written_in_the_end_is_told(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_zero=f"def test_it():\n    open({os.fspath(project.path / 'history.db')!r}, 'w').write('x' * 200)\n"
    )
    result = run(project, "--lawful-store", "history.db", "--lawful-calls", "io")
    assert result.ret == 0
    lines = section(result)
    assert lines[0] == f"1. {ANOMALY}"
    assert lines[-1] == "warning: cannot keep the learned rules: this is no SQLite file"


def test_forked_processes_of_tests_teach_too(project: pytest.Pytester) -> None:
    if not hasattr(os, "fork"):
        pytest.skip("needs fork")
    project.makepyfile(
        test_fork="""
        import os, app

        def test_it():
            child = os.fork()
            if not child:
                for number in range(40):
                    app.one(), app.two()
                    if number == 5:
                        app.slips()
                os._exit(0)
            os.waitpid(child, 0)
        """
    )
    lines = section(run(project, "--lawful", "test_fork.py"))
    assert lines[0].endswith("not at `app.py:19`")
    assert "2 processes; " in lines[-1]
