"""`pytest --lawful`, on small projects, each in a process of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import check_docs
from lawful.sources.python import tracer_choice
from testing.sessions import isolated, run, section

pytest_plugins = ["pytester"]

APP = """
class Door:
    def open(self):
        self.is_open = True

    def enter(self):
        return "in"

    def close(self):
        self.is_open = False


def barge_in():
    Door().enter()
"""

LAW = """
open(d) matches {event: 'func_pre', name: 'app.Door.open', targetId: d};
enter(d) matches {event: 'func_pre', name: 'app.Door.enter', targetId: d};
close(d) matches {event: 'func_pre', name: 'app.Door.close', targetId: d};
relevant matches open(_) | enter(_) | close(_);
Main = relevant >> Doors;
Doors = {let d; open(d) (Door<d> | Doors)}?;
Door<d> = enter(d)* close(d)?;
"""

PYPROJECT = """
[tool.pytest.ini_options]
pythonpath = "."
[tool.lawful]
laws = ["door.rml"]
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    isolated(pytester, monkeypatch)
    pytester.makepyfile(app=APP)
    pytester.makefile(".rml", door=LAW)
    pytester.makefile(".toml", pyproject=PYPROJECT)
    return pytester


def outcomes(result: pytest.RunResult) -> dict[str, int]:
    return result.parseoutcomes()


BREAKS = """
import app

def test_keeps():
    door = app.Door()
    door.open()
    door.enter()
    door.close()

def test_breaks():
    app.barge_in()

def test_breaks_too():
    app.barge_in()
    app.barge_in()
"""


def test_off_it_imports_nothing_of_the_library(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_off="""
        import sys

        def test_it():
            assert "pytest_lawful" in sys.modules
            assert [name for name in sys.modules if name.split(".")[0] in ("lawful", "msgspec", "click", "rich")] == []
            assert sys.getprofile() is None
            if sys.version_info >= (3, 12):
                assert [sys.monitoring.get_tool(tool) for tool in range(6)] == [None] * 6
        """
    )
    result = run(project)
    assert outcomes(result) == {"passed": 1}
    assert "lawful" not in "".join(line for line in result.outlines if not line.startswith("plugins:"))


def test_findings_are_told_with_place_law_count_and_tests(project: pytest.Pytester) -> None:
    project.makepyfile(test_it=BREAKS)
    result = run(project, "--lawful")
    assert (result.ret, outcomes(result)) == (0, {"passed": 3})
    told = "\n".join(section(result))
    assert "app.py:13" in told
    assert "door.rml" in told
    assert "3 times" in told
    assert "test_it.py::test_breaks (call)" in told
    assert "test_it.py::test_breaks_too (call)" in told
    assert "test_keeps" not in told


def test_what_is_asked_for_stands_in_the_header(project: pytest.Pytester) -> None:
    project.makepyfile(test_it=BREAKS)
    result = run(project, "--lawful")
    result.stdout.fnmatch_lines(["lawful: 1 law*"])


def test_a_law_on_the_command_line_implies_the_watch(project: pytest.Pytester) -> None:
    project.makefile(".toml", pyproject='[tool.pytest.ini_options]\npythonpath = "."\n')
    project.makepyfile(test_it=BREAKS)
    assert "app.py:13" in "\n".join(section(run(project, "--lawful-law", "door.rml")))


def test_findings_fail_the_run_if_asked_to(project: pytest.Pytester) -> None:
    project.makepyfile(test_it=BREAKS)
    result = run(project, "--lawful", "--lawful-fail")
    assert (result.ret, outcomes(result)) == (1, {"passed": 3})
    result = run(project, "--lawful", "--lawful-fail", "-k", "keeps")
    assert (result.ret, outcomes(result)) == (0, {"passed": 1, "deselected": 2})


def test_findings_fail_the_run_without_a_terminal_too(project: pytest.Pytester) -> None:
    project.makepyfile(test_it=BREAKS)
    result = run(project, "--lawful", "--lawful-fail", "-p", "no:terminal")
    assert (result.ret, result.outlines, result.errlines) == (1, [], [])


def test_the_exit_status_of_failing_tests_is_kept(project: pytest.Pytester) -> None:
    project.makepyfile(test_it="import app\ndef test_it():\n    app.barge_in()\n    assert 0\n")
    assert run(project, "--lawful").ret == 1
    project.makepyfile(test_it="import app\nimport nonsense\n")
    assert run(project, "--lawful", "--lawful-fail").ret == 2
    result = run(project, "--lawful", "--lawful-fail", "-k", "nothing", "app.py")
    assert result.ret == 5


def test_a_failing_test_shows_what_it_broke(project: pytest.Pytester) -> None:
    project.makepyfile(test_it="import app\ndef test_it():\n    print('mine')\n    app.barge_in()\n    assert 0\n")
    result = run(project, "--lawful")
    result.stdout.re_match_lines([r"-+ Captured stdout call -+", "mine", r"-+ lawful call -+", r".*app\.py:13.*"])


FIXTURES = """
import pytest
import app

@pytest.fixture(scope="session")
def house():
    app.Door().enter()
    yield
    app.Door().enter()

@pytest.fixture
def room(house):
    yield
    app.Door().enter()

def test_first(room):
    pass

def test_second(house):
    app.Door().enter()
"""


def test_findings_in_fixtures_name_them_and_the_test(project: pytest.Pytester) -> None:
    project.makepyfile(test_it=FIXTURES)
    told = "\n".join(section(run(project, "--lawful")))
    blamed = re.findall(r"(?m)^(test_it\.py:\d+):|(test_it\.py::\w+ \([^)]+\))", told)
    assert [line or test for line, test in blamed] == [
        "test_it.py:6",
        "test_it.py::test_first (setup of session fixture house)",
        "test_it.py:13",
        "test_it.py::test_first (teardown of fixture room)",
        "test_it.py:19",
        "test_it.py::test_second (call)",
        "test_it.py:8",
        "test_it.py::test_second (teardown of session fixture house)",
    ]


def test_what_is_imported_is_watched(project: pytest.Pytester) -> None:
    project.makeconftest("import app\napp.Door().enter()\n")
    project.makepyfile(test_it="import app\napp.Door().enter()\ndef test_it():\n    pass\n")
    for words in ((), ("--collect-only",)):
        told = "\n".join(section(run(project, "--lawful", *words)))
        assert "conftest.py:2" in told
        assert "test_it.py:2" in told
        assert "test_it.py (collection)" in told


LOGGED = """
import logging, logging.config

def test_configures():
    logging.config.dictConfig({"version": 1, "disable_existing_loggers": False})

def test_logs():
    logging.getLogger("shop").error("out of pens")

def test_closes(tmp_path):
    handler = logging.FileHandler(tmp_path / "log", mode="w")
    logging.getLogger("shop").addHandler(handler)
    handler.close()
    logging.getLogger("shop").error("lost")
    logging.getLogger("shop").removeHandler(handler)
"""


def test_handlers_of_pytest_are_not_the_programs(project: pytest.Pytester) -> None:
    """`dictConfig` closes all handlers, pytest's among them, and that goes on to hear every test."""
    project.makepyfile(test_logging=LOGGED)
    result = run(project, "--lawful-law", "logging", "test_logging.py")
    assert outcomes(result) == {"passed": 3}
    found = [line.partition(": A")[0] for line in section(result) if "handler-after-close" in line]
    assert found == ["test_logging.py:13: logging/handler-after-close"]


def test_xdist_workers_are_gathered(project: pytest.Pytester) -> None:
    project.makepyfile(test_it=BREAKS, test_more="import app\ndef test_more():\n    app.barge_in()\n")
    result = run(project, "-p", "xdist", "-n", "2", "--lawful", "--lawful-fail")
    assert (result.ret, outcomes(result)) == (1, {"passed": 4})
    told = "\n".join(section(result))
    assert told.count("app.py:13") == 1
    assert "4 times" in told
    for test in (
        "test_it.py::test_breaks (call)",
        "test_it.py::test_breaks_too (call)",
        "test_more.py::test_more (call)",
    ):
        assert test in told


def test_xdist_each(project: pytest.Pytester) -> None:
    project.makepyfile(test_it="import app\ndef test_it():\n    app.barge_in()\n")
    result = run(project, "-p", "xdist", "--dist", "each", "--tx", "2*popen", "--lawful")
    assert (result.ret, outcomes(result)) == (0, {"passed": 2})
    told = "\n".join(section(result))
    assert told.count("app.py:13") == 1
    assert "2 times" in told


def test_an_xdist_worker_that_dies_is_told_of(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_it="""
        import os
        import app

        def test_breaks():
            app.barge_in()

        def test_dies():
            os.kill(os.getpid(), 9)
        """
    )
    result = run(project, "-p", "xdist", "-n", "1", "--lawful", "--lawful-fail")
    assert (result.ret, outcomes(result)) == (1, {"passed": 1, "failed": 1})
    told = "\n".join(section(result))
    assert "worker gw0 ended early" in told
    assert "app.py:13" in told  # what it had reported before
    assert "test_it.py::test_breaks (call)" in told


def test_the_trace_is_written(project: pytest.Pytester) -> None:
    project.makepyfile(test_it=BREAKS)
    run(project, "--lawful", "--lawful-trace", "out.jsonl")
    events = [json.loads(line) for line in (project.path / "out.jsonl").read_text().splitlines()]
    entered = [event for event in events if event["name"] == "app.Door.enter" and event["event"] == "func_pre"]
    assert [(event["file"], event["line"]) for event in entered] == [("test_it.py", 6)] + [("app.py", 13)] * 3


def test_calls_public_and_fields(project: pytest.Pytester) -> None:
    project.makefile(".toml", pyproject='[tool.pytest.ini_options]\npythonpath = "."\n')
    project.makepyfile(test_it="import json\nimport app\ndef test_it():\n    json.dumps([])\n    app.Door().open()\n")
    scopes = ("--lawful-calls", "json", "--lawful-public", "app", "--lawful-set=fields=app.Door")
    result = run(project, *scopes, "--lawful-trace", "out.jsonl")
    assert (result.ret, outcomes(result)) == (0, {"passed": 1})
    events = [json.loads(line) for line in (project.path / "out.jsonl").read_text().splitlines()]
    seen = {(event["event"], event["name"]) for event in events}
    assert seen >= {("func_pre", "json.dumps"), ("func_pre", "app.Door.open"), ("field_write", "app.Door.is_open")}


def test_bad_settings_are_usage_errors(project: pytest.Pytester) -> None:
    project.makepyfile(test_it=BREAKS)
    for words in (("--lawful-law", "nowhere.rml"), ("--lawful-calls", "no name")):
        for more in ((), ("-p", "xdist", "-n", "1")):
            result = run(project, *words, *more)
            assert result.ret == 4
            assert re.match(r"ERROR: error\[[a-z-]+\]: ", result.errlines[0])
            assert "passed" not in result.stdout.str()


def test_a_test_goes_on_after_a_subtest_that_fails(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_it="""
        import unittest, app
        class TestIt(unittest.TestCase):
            def test_sub(self):
                for number in range(3):
                    with self.subTest(number=number):
                        self.assertNotEqual(number, 1)
                app.barge_in()
            def tearDown(self):
                app.barge_in()
        """
    )
    project.makeconftest("import app\ndef pytest_runtest_logreport(report): report.when == 'call' and app.barge_in()\n")
    run(project, "--lawful", "--lawful-output", "r.json")
    finding = json.loads((project.path / "r.json").read_text())["findings"][0]
    assert finding["contexts"]["test_it.py::TestIt::test_sub (call)"] >= 2  # and what is told of subtests meanwhile
    assert finding["count"] > finding["contexts"]["test_it.py::TestIt::test_sub (call)"]  # what is told of the test


@pytest.mark.parametrize("option", ["--lawful-output", "--lawful-trace"])
def test_tests_are_not_overwritten(project: pytest.Pytester, option: str) -> None:
    path = project.makepyfile(test_it=BREAKS)
    before = path.read_text()
    result = run(project, "--lawful", option, "test_it.py")
    assert result.ret == 4
    assert "would overwrite Python code" in result.errlines[0]
    assert path.read_text() == before


def test_what_stops_a_run_keeps_the_summary(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_it="""
        import app

        def test_breaks():
            app.barge_in()

        def test_interrupts():
            raise KeyboardInterrupt

        def test_never():
            app.Door().enter()
        """
    )
    result = run(project, "--lawful")
    assert result.ret == 2
    told = "\n".join(section(result))
    assert "test_it.py::test_breaks (call)" in told
    assert "test_never" not in told
    project.makepyfile(
        test_it=BREAKS + "\ndef test_no():\n    app.barge_in()\n    assert 0\n\ndef test_never():\n    app.barge_in()\n"
    )
    for more in ((), ("-p", "xdist", "-n", "1")):
        result = run(project, "--lawful", "-x", *more)
        assert outcomes(result) == {"passed": 3, "failed": 1}
        told = "\n".join(section(result))
        assert "test_it.py::test_breaks (call)" in told
        assert "test_never" not in told


def test_sessions_inside_a_session(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_it="""
        import sys
        import app

        pytest_plugins = ["pytester"]
        INNER = "import app\\ndef test_inner():\\n    app.barge_in()\\n"

        def test_plain_inside(pytester):
            pytester.makepyfile(app=open(app.__file__).read(), test_inner=INNER)
            pytester.inline_run("-p", "no:cacheprovider").assertoutcome(passed=1)

        def test_watched_inside(pytester):
            pytester.makepyfile(app=open(app.__file__).read(), test_inner=INNER)
            pytester.inline_run("--lawful", "-p", "pytest_lawful", "-p", "no:cacheprovider").assertoutcome(passed=1)

        def test_afterwards():
            app.barge_in()
        """
    )
    result = run(project, "--lawful")
    assert (result.ret, outcomes(result)) == (0, {"passed": 3})
    assert "test_it.py::test_afterwards (call)" in "\n".join(section(result))


def test_a_watch_that_cannot_begin_is_told_of(project: pytest.Pytester) -> None:
    project.makepyfile(test_it=BREAKS)
    project.makepyfile(
        spoiler="""
        from lawful.engine.session import Session

        def broken(self):
            raise ZeroDivisionError("spoiled")

        Session.start = broken
        """
    )
    result = run(project, "-p", "spoiler", "--lawful")
    assert (result.ret, outcomes(result)) == (0, {"passed": 3})
    assert section(result)[0] == "not watched: ZeroDivisionError: spoiled"


PLACES = (
    "lawful.testing.session_watch.SessionWatch.enter",
    "lawful.engine.run.LawRun._judge",
    "lawful.engine.session.Session._judge_rest",
    "lawful.sources.python.watch_planner.LawWatchPlanner.plan",
)


@pytest.mark.parametrize("core", tracer_choice.available())
@pytest.mark.parametrize("place", PLACES)
def test_a_fault_of_lawful_reaches_the_summary_but_no_test(
    project: pytest.Pytester, place: str, core: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.makefile(".toml", pyproject=PYPROJECT + f'core = "{core}"\n')
    project.makepyfile(test_it=BREAKS)
    module, kind, method = place.rsplit(".", 2)
    project.makepyfile(
        spoiler=f"""
        from {module} import {kind}

        def broken(*args, **named):
            raise ZeroDivisionError("spoiled")

        def pytest_collection_finish(session):
            {kind}.{method} = broken
        """
    )
    result = run(project, "-p", "spoiler", "--lawful")
    assert (result.ret, outcomes(result)) == (0, {"passed": 3})
    assert "ZeroDivisionError: spoiled" in "\n".join(section(result))
    assert "Traceback" not in "\n".join(section(result))
    monkeypatch.setenv("LAWFUL_DEBUG", "1")
    told = "\n".join(section(run(project, "-p", "spoiler", "--lawful")))
    assert "Traceback (most recent call last)" in told
    assert ", in broken\n" in told


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_forked_child_is_watched_and_disturbs_nothing(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_it="""
        import os
        import app

        def test_forks():
            child = os.fork()
            if not child:
                app.barge_in()
                os._exit(3)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3

        def test_after():
            pass
        """
    )
    result = run(project, "--lawful")
    assert (result.ret, outcomes(result)) == (0, {"passed": 2})
    assert "app.py:13" in "\n".join(section(result))


SAME = """
import sys
import threading
import warnings
import pytest

@pytest.fixture
def broken():
    raise OSError("broken fixture")

def test_passes(): pass
def test_fails(): assert [1, 2] == [1, 3]
def test_error(broken): pass
@pytest.mark.skip(reason="no")
def test_skipped(): pass
@pytest.mark.xfail
def test_xfails(): assert 0
@pytest.mark.xfail
def test_xpasses(): pass
def test_captured(capsys):
    print("out")
    print("err", file=sys.stderr)
    assert capsys.readouterr() == ("out\\n", "err\\n")
def test_warns():
    with pytest.warns(UserWarning):
        warnings.warn("look")
    warnings.warn("again")
@pytest.mark.parametrize("n", range(3))
def test_recursion(n):
    def down(n): return down(n + 1)
    with pytest.raises(RecursionError):
        down(n)
def test_threads():
    found = []
    threads = [threading.Thread(target=found.append, args=(n,)) for n in range(5)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    assert sorted(found) == [0, 1, 2, 3, 4]
def test_traceback():
    import app
    try:
        app.Door().nothing()
    except AttributeError as error:
        frames = []
        trace = error.__traceback__
        while trace:
            frames.append(trace.tb_frame.f_code.co_name)
            trace = trace.tb_next
        assert frames == ["test_traceback"]
"""


def test_the_results_are_those_without_it(project: pytest.Pytester) -> None:
    project.makepyfile(test_it=SAME)

    def shown(result: pytest.RunResult) -> list[str]:
        text = re.sub(r"0x[0-9a-f]+|\d+\.\d+s|[=_-]{3,}", "", result.stdout.str())
        text = re.sub(r"(?ms)^ lawful $.*?(?=^ short test summary)|^lawful: .*?\n", "", text)
        return text.splitlines()

    plain = run(project, "-ra")
    scopes = ("--lawful-calls", "*", "--lawful-public", "app")
    watched = run(project, "-ra", "--lawful", *scopes)
    assert shown(watched) == shown(plain)
    assert (watched.ret, outcomes(watched)) == (plain.ret, outcomes(plain))


def test_the_project_declares_the_plugin() -> None:
    project = tomllib.loads((check_docs.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["entry-points"]["pytest11"] == {"lawful": "pytest_lawful"}
    assert project["tool"]["setuptools"]["py-modules"] == ["pytest_lawful"]
    assert (Path(check_docs.ROOT) / "src" / "pytest_lawful.py").is_file()


def test_tests_can_emit_events(project: pytest.Pytester) -> None:
    project.makefile(".rml", once="once matches {event:'once'};\nMain = once?;\n")
    project.makepyfile(
        test_it="""
        import lawful

        def test_once():
            lawful.emit("once")

        def test_twice():
            lawful.emit("once")
        """
    )
    result = run(project, "--lawful-law", "once.rml")
    assert outcomes(result) == {"passed": 2}
    shown = "\n".join(section(result))
    assert "test_it.py:7: once.rml" in shown
    assert "test_it.py::test_twice (call)" in shown


def test_pytest_does_not_mind_that_it_runs_under_watch(project: pytest.Pytester) -> None:
    # As an installed package has it: pytest looks at the files of those who bring plugins.
    site = project.mkdir("site")
    for name in ("lawful", "pytest_lawful.py"):
        (site / name).symlink_to(check_docs.ROOT / "src" / name)
    about = site / "lawful-9.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: lawful\nVersion: 9\n")
    (about / "RECORD").write_text("lawful/__init__.py,,\npytest_lawful.py,,\n")
    (about / "entry_points.txt").write_text("[pytest11]\nlawful = pytest_lawful\n")
    project.makepyfile(test_it="def test(): pass")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    command = ["run", "--law", "door.rml", "-m", "pytest", "-p", "no:cacheprovider", "-W", "error", "test_it.py"]
    done = subprocess.run(
        [sys.executable, "-m", "lawful", *command],
        cwd=project.path,
        env=environment | {"PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "lawful-9" in done.stdout
    assert "1 passed" in done.stdout
