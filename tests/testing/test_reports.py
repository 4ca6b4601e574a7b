"""Reports of a test session in other formats, and its baseline."""

from __future__ import annotations

import json
import os

import pytest

from reports.test_json_schema import errors
from testing.sessions import run, section
from testing.test_plugin import BREAKS, project

__all__ = ["project"]
pytest_plugins = ["pytester"]

FAILS = """
def test_fails():
    app.barge_in()
    assert False
"""
NEW = """
def test_new():
    app.Door().enter()
    assert False
"""


def test_a_report_is_written_in_every_format(project: pytest.Pytester) -> None:
    project.makepyfile(BREAKS)
    for name, begins in (
        ("r.json", "{"),
        ("r.sarif", "{"),
        ("r.xml", "<?xml"),
        ("r.html", "<!DOCTYPE"),
        ("r.txt", "app.py:13"),
    ):
        assert run(project, "--lawful", "--lawful-output", name).ret == 0
        assert (project.path / name).read_text().startswith(begins)
    report = json.loads((project.path / "r.json").read_text())
    assert errors(report) == []
    assert report["findings"][0]["mark"]["function"] == "barge_in"
    assert sum(report["findings"][0]["contexts"].values()) == 3


def test_an_older_report_stays_if_there_is_no_room_for_another(project: pytest.Pytester) -> None:
    project.makepyfile(BREAKS)
    project.makeconftest("""
        import pytest
        from resource import RLIMIT_FSIZE, getrlimit, setrlimit
        @pytest.hookimpl(wrapper=True, trylast=True)
        def pytest_sessionfinish():
            soft, hard = getrlimit(RLIMIT_FSIZE)
            setrlimit(RLIMIT_FSIZE, (20, hard))
            yield
            setrlimit(RLIMIT_FSIZE, (soft, hard))
    """)
    (project.path / "r.txt").write_text("older")
    done = run(project, "--lawful", "--lawful-output", "r.txt", "-p", "no:cacheprovider")
    assert done.ret == 0
    assert any("the report is not written: [Errno 27] File too large" in line for line in section(done))
    assert (project.path / "r.txt").read_text() == "older"


def test_annotations_need_no_file(project: pytest.Pytester) -> None:
    project.makepyfile(BREAKS)
    lines = section(run(project, "--lawful", "--lawful-format", "github"))
    assert any(line.startswith("::error file=app.py,line=13,title=door.rml::") for line in lines)


def test_a_baseline_is_written_and_hides(project: pytest.Pytester) -> None:
    project.makepyfile(BREAKS)
    first = run(project, "--lawful-update-baseline", "--lawful-fail")
    assert first.ret == 0
    assert "baseline: 1 finding is known now" in section(first)
    # Everything moves down; it is the same finding.
    (project.path / "app.py").write_text("# a line\n\n" + (project.path / "app.py").read_text())
    again = run(project, "--lawful-baseline", "lawful-baseline.json", "--lawful-fail")
    assert again.ret == 0
    assert section(again)[0].startswith("0 findings, 1 known and hidden in 1 law")
    assert run(project, "--lawful", "--lawful-fail").ret == 1


@pytest.mark.parametrize("workers", [(), ("-p", "xdist", "-n", "1")], ids=["alone", "in workers"])
def test_what_is_hidden_is_not_named_where_a_test_failed(project: pytest.Pytester, workers: tuple[str, ...]) -> None:
    """The sections of a test name what is new, and only that."""
    project.makepyfile(BREAKS + FAILS)
    named = "lawful call"
    assert named in run(project, "--lawful", *workers).stdout.str()
    first = run(project, "--lawful-update-baseline", *workers)
    assert first.ret == 1 and named not in first.stdout.str()
    again = run(project, "--lawful-baseline", "lawful-baseline.json", *workers)
    assert again.ret == 1 and named not in again.stdout.str()
    project.makepyfile(BREAKS + FAILS + NEW)
    more = run(project, "--lawful-baseline", "lawful-baseline.json", *workers).stdout.str()
    assert more.count(named) == 1
    assert "in        test_what_is_hidden_is_not_named_where_a_test_failed.py::test_new (call)" in more


def test_the_configuration_names_the_baseline(project: pytest.Pytester) -> None:
    project.makepyfile(BREAKS)
    path = project.path / "pyproject.toml"
    path.write_text(path.read_text() + '\nbaseline = "known.json"\n')
    assert run(project, "--lawful-update-baseline").ret == 0
    assert (project.path / "known.json").exists()
    assert run(project, "--lawful", "--lawful-fail").ret == 0


@pytest.mark.parametrize(
    ("words", "slug"),
    [
        (["--lawful-baseline", "gone.json"], "baseline-not-found"),
        (["--lawful-format", "sarif"], "usage"),
        (["--lawful-output", "no/such/r.html"], "file"),
    ],
)
def test_what_is_wrong_is_told_before_the_tests(project: pytest.Pytester, words: list[str], slug: str) -> None:
    project.makepyfile("def test_it(): pass")
    result = run(project, *words)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f"error[{slug}]" in result.stderr.str()


def test_a_file_that_moves_the_rootdir_is_warned_of(project: pytest.Pytester) -> None:
    """pytest takes a file after an option of a plugin for a path of tests, and looks for its rootdir there, too."""
    inner = project.path / "inner"
    inner.mkdir()
    project.makepyfile(BREAKS)
    for file in (*project.path.glob("*.py"), project.path / "door.rml", project.path / "pyproject.toml"):
        file.rename(inner / file.name)
    known = project.path / "known.json"
    os.chdir(inner)
    first = run(project, "--lawful-update-baseline", f"--lawful-baseline={known}")
    assert "warning" not in first.stdout.str()
    law = f"--lawful-law={inner / 'door.rml'}"
    moved = run(project, law, "--lawful-baseline", "../known.json")
    text = " ".join(section(moved))
    assert f"rootdir is {project.path}, not {inner}; write --lawful-baseline=../known.json" in text
    stays = run(project, "--lawful-baseline=../known.json")
    assert "warning" not in stays.stdout.str() and "1 known" in " ".join(section(stays))
