"""The benchmark of real packages, on a package made for the test: it needs no package index."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

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
    spec = importlib.util.spec_from_file_location("real_packages", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["real_packages"] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


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
    run.output += "\nwatching was cut short: a fault in Lawful: RecursionError (x.py:1)\n6 passed\n"
    assert result.faults(mode) == ["callee side: a fault in Lawful: RecursionError (x.py:1)"]
    assert "toy, CUT SHORT: callee side: a fault" in "\n".join(bench.report([result], [mode]))
