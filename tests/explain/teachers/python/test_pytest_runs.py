"""Tests as programs: parametrised ones, Hypothesis tests, those with fixtures, in classes, and missing ones."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from explain import brute
from lawful.errors import LawfulError
from lawful.explain.teacher import Basis, Bounds, Limits
from lawful.explain.teachers.python.execution_source import PythonSource

Tests = Callable[..., PythonSource]

PROGRAM = """
    def push(xs, x): xs.append(x)
    def pop(xs): return xs.pop()
    def run(text):
        xs = []
        for each in text:
            push(xs, each) if each == "(" else pop(xs)
        return xs
"""

TESTS = """
    import time
    import unittest
    import pytest
    from stack import run

    @pytest.fixture
    def prefix():
        return "("

    @pytest.mark.parametrize("text", ["", "()", ")(", "(()", pytest.param("(", marks=pytest.mark.skip)])
    def test_some(text):
        assert run(text) == []

    def test_with_fixture(prefix, tmp_path):
        print("printed by the test")
        run(prefix + "))")

    class TestGroup:
        def test_method(self):
            run("()")

    class TestOld(unittest.TestCase):
        def test_old(self):
            self.assertEqual(run("("), [])

        def test_old_skipped(self):
            self.skipTest("not today")

    class TestNothing:
        def test_broken(self, missing_fixture):
            pass

        def test_skips(self):
            pytest.skip("not today")

    @pytest.mark.parametrize("n", [0, 1])
    def test_flaky(n):
        for each in {str(each) for each in range(30 if n == 0 else 0)}:
            run("(" if int(each) % 2 else "()")

    @pytest.mark.parametrize("n", [0, 1])
    def test_slow(n):
        run("(")
        while n:
            time.sleep(0.01)
"""

DRAWN = """
    from hypothesis import assume, given, settings, strategies as st
    from stack import run

    class TestAll:
        @settings(max_examples=100, derandomize=True, database=None)
        @given(st.text("()", max_size=3))
        def test_drawn(self, text):
            assume(text != "((")
            assert run(text) is not None

        @given(st.just("(").map(lambda _: 1 / 0))
        def test_undrawable(self, text):
            pass
"""


@pytest.fixture
def tests(tmp_path: Path) -> Tests:
    (tmp_path / "stack.py").write_text(textwrap.dedent(PROGRAM))
    (tmp_path / "test_stack.py").write_text(textwrap.dedent(TESTS))
    (tmp_path / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\npythonpath = ["."]\naddopts = "-p no:hypothesispytest"\n'
    )

    (tmp_path / "test_drawn.py").write_text(textwrap.dedent(DRAWN))

    def made(node: str, file: str = "test_stack.py", **options: object) -> PythonSource:
        return PythonSource(f"{file}::{node}", folder=tmp_path, **options)  # type: ignore[arg-type]

    return made


def test_each_parametrisation_is_an_execution(tests: Tests) -> None:
    with tests("test_some", error="test") as source:
        assert set(source.alphabet.labels) == {"push", "pop", "run", "failed"}
        assert brute.spelled(source, 1) == {
            (("run",), False),
            (("run", "push", "pop"), False),
            (("run", "pop", "failed"), True),
            (("run", "push", "push", "pop", "failed"), True),
        }
        examples = {each.example for each in source.executions(Bounds(1, 9))}
        assert examples == {"text=''", "text='()'", "text=')('", "text='(()'"}
        assert source.report.basis is Basis.SAMPLED
        assert source.counts.executions == 4


def test_one_parametrisation_by_its_id(tests: Tests) -> None:
    with tests("test_some[()]") as source:
        assert brute.spelled(source, 1) == {(("run", "push", "pop"), False)}


def test_each_example_of_hypothesis_is_an_execution(tests: Tests) -> None:
    with tests("TestAll", "test_drawn.py", error="IndexError") as source:
        assert set(source.alphabet.labels) == {"push", "pop", "run", "IndexError"}
        found = brute.spelled(source, 1)
        # Not only the first that fails, nor only the smallest.
        assert brute.failing(found) == {("run", "pop", "IndexError"), ("run", "push", "pop", "pop", "IndexError")}
        texts = {each.example for each in source.executions(Bounds(1, 9))}
        assert texts and all(text is not None and text.startswith("text='") for text in texts)
        assert (("run", "push", "push"), False) not in found  # an example that the test rejects is not an execution
        assert any("test_undrawable: call failed" in each for each in source.report.warnings)


def test_fixtures_classes_and_output(tests: Tests, capfd: pytest.CaptureFixture[str]) -> None:
    with tests("test_with_fixture", events=["push", "pop"]) as source:
        assert brute.spelled(source, 1) == {(("push", "pop", "pop", "error"), True)}
        assert "passed" in source.output  # towards pytest nothing fails, so that all is run
    with tests("TestGroup::test_method") as source:
        assert brute.spelled(source, 1) == {(("run", "push", "pop"), False)}
    with tests("TestOld") as source:
        assert brute.spelled(source, 1) == {(("run", "push", "error"), True)}
    assert capfd.readouterr() == ("", "")


def test_a_test_that_is_not_deterministic_is_named(tests: Tests) -> None:
    with tests("test_flaky") as source:
        brute.spelled(source, 1, 300)
        [said] = [each for each in source.report.warnings if "not deterministic" in each]
        assert said == "not deterministic: run twice, the test did different things, e.g. n=0"


def test_tests_that_do_not_end(tests: Tests) -> None:
    with tests("test_slow") as source:
        assert brute.spelled(source, 1, limits=Limits(seconds_per_execution=0.3)) == {(("run", "push"), False)}
        assert any("1 execution did not end within 0.3 s, e.g. that of n=1" in each for each in source.report.warnings)


def test_what_cannot_run_is_named(tests: Tests) -> None:
    with tests("TestNothing") as source:
        assert brute.spelled(source, 1) == set()
        assert any("test_broken: setup failed" in each for each in source.report.warnings)
    with pytest.raises(LawfulError) as caught:
        tests("test_some[nothing]")
    assert caught.value.slug == "explain-pytest"


def test_a_test_has_its_own_inputs(tests: Tests) -> None:
    with pytest.raises(LawfulError) as caught:
        tests("test_some", inputs="gen.py:x")
    assert caught.value.slug == "explain-inputs"


def test_a_test_file_that_does_not_load(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -p no:hypothesispytest\n")
    (tmp_path / "test_bad.py").write_text("import nothing_like_this\ndef test_x(): pass\n")
    with pytest.raises(LawfulError) as caught:
        PythonSource("test_bad.py::test_x", folder=tmp_path)
    assert caught.value.slug == "explain-pytest"
    assert "nothing_like_this" in caught.value.message
