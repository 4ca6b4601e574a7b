"""The benchmark of real packages, on a package made for the test: it needs no package index."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from benchmarks.scripts import load

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "real_packages.py"
TESTS = """
import json, os, pytest
from toy import Stack

def test_passes():
    stack = Stack()
    stack.push(json.loads("1"))
    assert stack.pop() == 1

@pytest.mark.parametrize("n", [1, 2])
def test_several(n):
    assert n == 1

@pytest.mark.skip
def test_skipped():
    pass

@pytest.fixture
def broken():
    yield
    raise OSError

def test_teardown(broken):
    assert False

@pytest.mark.skipif(not os.environ.get("ODD"), reason="")
def test_odd():
    pass
"""
TOY = """
class Stack:
    def __init__(self):
        self.items = []
    def push(self, item):
        self.items.append(item)
    def pop(self):
        return self.items.pop()
"""


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    load("tables")
    return load("real_packages")


@pytest.fixture
def environment(bench: ModuleType, tmp_path: Path) -> Any:
    """This interpreter in place of a virtual environment, and the toy in place of what is downloaded."""
    environment = bench.Environment(tmp_path)
    environment.python = Path(sys.executable)
    folder = environment.folder / "source" / "toy-1"
    folder.mkdir(parents=True)
    (folder / "pyproject.toml").touch()
    (folder / "toy.py").write_text(TOY, encoding="utf-8")
    (folder / "test_toy.py").write_text(TESTS, encoding="utf-8")
    return environment


def measured(bench: ModuleType, environment: Any, *keys: str) -> Any:
    package = bench.Package("toy", "1", ("toy",))
    modes = [mode for mode in bench.MODES if mode.key in keys]
    return bench.measure(environment, package, modes, 1, environment.folder / "output")


def test_every_end_of_a_test_is_known(bench: ModuleType, environment: Any) -> None:
    (run, again) = measured(bench, environment).plain
    assert run.outcomes == again.outcomes == {
        "test_toy::test_passes": ["passed"],
        "test_toy::test_several[1]": ["passed"],
        "test_toy::test_several[2]": ["failure"],
        "test_toy::test_skipped": ["skipped"],
        "test_toy::test_teardown": ["failure", "error"],
        "test_toy::test_odd": ["skipped"],
    }  # fmt: skip
    assert run.code == 1
    assert run.cpu > 0


def test_a_watched_suite_ends_as_the_plain_one(bench: ModuleType, environment: Any) -> None:
    result = measured(bench, environment, "public", "both", "laws")
    modes = {mode.key: mode for mode in bench.MODES}
    assert [result.different(modes[key]) for key in ("public", "both", "laws")] == [[], [], []]
    public, both = (result.watched[key][0] for key in ("public", "both"))
    # __init__, push and pop begin and return; json.loads is seen in the caller's place only, as is list.append.
    assert public.events == 6
    assert both.events >= 6 + 4
    assert result.watched["laws"][0].findings is not None
    table = "\n".join(bench.report([result], [modes["public"], modes["both"]]))
    assert "Tests with a different result: none." in table
    assert "toy, fails also plain: test_toy::test_several[2]" in table


def test_a_different_end_is_told(bench: ModuleType, environment: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    result = measured(bench, environment)
    mode = bench.MODES[0]
    monkeypatch.setenv("ODD", "1")
    result.watched[mode.key] = [environment.run(result.package, [])]
    assert result.different(mode) == ["test_toy::test_odd: plain skipped, callee side passed"]
    assert "toy, DIFFERENT: test_toy::test_odd" in "\n".join(bench.report([result], [mode]))
    # A test that is not steady by itself tells nothing.
    result.plain.append(result.watched[mode.key][0])
    assert result.unsteady == {"test_toy::test_odd"}
    assert result.different(mode) == []


def test_a_suite_that_dies_is_different(bench: ModuleType, environment: Any) -> None:
    result = measured(bench, environment)
    mode = bench.MODES[0]
    (environment.source(result.package) / "conftest.py").write_text("import os\nos._exit(3)\n", encoding="utf-8")
    result.watched[mode.key] = [environment.run(result.package, [])]
    lines = result.different(mode)
    assert "exit code: plain 1, callee side 3" in lines
    assert "test_toy::test_passes: plain passed, callee side absent" in lines


def test_watching_that_was_cut_short_is_told(bench: ModuleType, environment: Any) -> None:
    result = measured(bench, environment, "public")
    mode = bench.MODES[0]
    assert result.faults(mode) == []
    run = result.watched[mode.key][0]
    run.output += "\nwatching was cut short: internal error in Lawful: RecursionError (x.py:1)\n6 passed\n"
    assert result.faults(mode) == ["callee side: internal error in Lawful: RecursionError (x.py:1)"]
    assert "toy, CUT SHORT: callee side: internal error" in "\n".join(bench.report([result], [mode]))


def test_findings_are_listed_with_their_verdicts(bench: ModuleType, environment: Any) -> None:
    folder = environment.source(bench.Package("toy", "1", ("toy",)))
    (folder / "test_late.py").write_text(
        "import io\n"
        "def test_late():\n"
        "    file = io.StringIO()\n"
        "    file.close()\n"
        "    for use in (file.read, file.getvalue):\n"
        "        try:\n"
        "            file.read()\n"
        "        except ValueError:\n"
        "            pass\n",
        encoding="utf-8",
    )
    result = measured(bench, environment, "laws")
    modes = [mode for mode in bench.MODES if mode.key == "laws"]
    table = "| `toy` | `files/use-after-close` | `test_late.py:7` | debatable | meant |\n| a | b | c | perhaps | no |\n"
    known = bench.verdicts(
        f"# Findings\n\n| package | law | place | verdict | reason |\n|---|---|---|---|---|\n{table}"
    )
    assert known == {("toy", "files/use-after-close", "test_late.py:7"): "debatable"}
    lines = list(bench.found([result], modes, known))
    assert lines[-1] == "1 findings: 1 debatable."
    assert list(bench.found([result], modes, {}))[-1] == "1 findings: 1 not looked at."
    # What is kept of a run is enough to make the tables again.
    saved = bench.restored(result.package, json.loads(json.dumps(asdict(result))))
    assert list(bench.report([saved], modes)) == list(bench.report([result], modes))
    assert list(bench.found([saved], modes, known)) == lines


def test_all_verdicts_in_the_table_are_read(bench: ModuleType) -> None:
    text = bench.VERDICTS.read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    known = bench.verdicts(text)
    assert len(known) == len(rows) > 0
    assert {package for package, _, _ in known} <= {package.name for package in bench.PACKAGES}
