"""Tests that expect to fail, and fixtures that fail: what pytest makes of a test counts, with the line of the error."""

from __future__ import annotations

from pathlib import Path

import pytest

from lawful.explain.teacher import Bounds, Execution
from lawful.explain.teachers.python.execution_source import PythonSource

TESTS = """\
import unittest
import pytest
from hypothesis import given, settings, strategies as st
from lawful import emit

class TestExpecting:
    @pytest.mark.xfail(strict=True)
    @pytest.mark.parametrize("n", [0, 1])
    def test_strict(self, n):
        emit("fails as expected" if n else "passes unexpectedly")
        assert not n

    @pytest.mark.xfail
    def test_lenient(self):
        emit("lenient")

    @pytest.mark.xfail(raises=KeyError, strict=True)
    def test_other_error(self):
        emit("other error")
        [].pop()

    def test_inside(self):
        emit("inside")
        pytest.xfail("known")

    @pytest.mark.xfail(run=False)
    def test_not_run(self):
        emit("not run")

    @pytest.mark.xfail(strict=True)
    @settings(derandomize=True, database=None)
    @given(st.booleans())
    def test_drawn(self, well):
        emit("drawn well" if well else "drawn badly")
        assert well

    @pytest.mark.xfail(strict=True)
    @settings(derandomize=True, database=None)
    @given(st.just(1))
    def test_drawn_in_vain(self, one):
        emit("drawn unexpectedly")

    def test_leaves(self):
        emit("leaves")
        raise KeyboardInterrupt

    async def test_awaited(self):
        emit("awaited")
        [].pop()

    @pytest.mark.skip
    def test_skipped(self):
        emit("skipped")

    def test_last(self):
        emit("last")

class TestAround:
    @pytest.fixture
    def prepared(self):
        emit("preparing")
        raise LookupError

    @pytest.fixture
    def cleared(self):
        emit("not shown")
        yield
        emit("clearing")
        raise OSError

    def test_unprepared(self, prepared):
        emit("unprepared")

    @pytest.mark.xfail(strict=True)
    def test_unprepared_expecting(self, prepared):
        emit("unprepared")

    def test_cleared(self, cleared):
        emit("cleared")

    def test_cleared_too_late(self, cleared):
        emit("too late")
        raise ValueError

class TestOld(unittest.TestCase):
    def setUp(self):
        if "unprepared" in self.id():
            raise TypeError

    def tearDown(self):
        if "cleared" in self.id():
            raise NameError

    def test_unprepared(self):
        emit("unprepared")

    def test_cleared(self):
        emit("old cleared")

    @unittest.expectedFailure
    def test_expecting(self):
        emit("old expecting")
        [].pop()

    @unittest.expectedFailure
    def test_in_vain(self):
        emit("old unexpectedly")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -x -p no:hypothesispytest\n")
    return tmp_path


def found(folder: Path, group: str, error: str | None = None) -> tuple[dict[tuple[str, ...], Execution], list[str]]:
    """Executions by their words, and warnings."""
    with PythonSource(f"test_it.py::{group}", folder=folder, error=error) as source:
        executions = list(source.executions(Bounds(1, 20)))
        words = {source.alphabet.spelled(each.word): each for each in executions}
        assert len(words) == len(executions)
        return words, source.report.warnings


def line(text: str) -> int:
    return next(number for number, each in enumerate(TESTS.splitlines(), 1) if text in each)


def test_a_failure_that_is_expected_is_none_and_an_expected_one_that_does_not_come_is(folder: Path) -> None:
    words, warnings = found(folder, "TestExpecting")
    assert {word: each.error for word, each in words.items() if each.failed} == {
        ("passes unexpectedly", "error"): "XPASS(strict)",
        ("other error", "error"): "IndexError",
        ("drawn unexpectedly", "error"): "XPASS(strict)",
        ("leaves", "error"): "KeyboardInterrupt",
        ("awaited", "error"): "IndexError",
    }
    assert {word for word, each in words.items() if not each.failed} == {
        ("fails as expected",),
        ("lenient",),
        ("inside",),
        ("drawn well",),
        ("drawn badly",),
        ("last",),
    }
    unexpected = words["passes unexpectedly", "error"]
    assert unexpected.places is not None and unexpected.example == "n=0"
    assert unexpected.places[-1] == ("test_it.py", line("xfail(strict=True)"))
    assert all(each.startswith("never seen: ") for each in warnings)


def test_an_error_in_a_fixture_is_one_of_the_test(folder: Path) -> None:
    words, warnings = found(folder, "TestAround")
    places = {word: (each.error, each.places and each.places[-1]) for word, each in words.items()}
    assert places == {
        ("preparing", "error"): ("LookupError", ("test_it.py", line("raise LookupError"))),
        ("preparing",): ("", None),
        ("cleared", "clearing", "error"): ("OSError", ("test_it.py", line("raise OSError"))),
        ("too late", "error"): ("ValueError", ("test_it.py", line("raise ValueError"))),
    }
    assert [each for each in warnings if "never seen" not in each] == [
        f"test_it.py::TestAround::test_cleared_too_late: teardown failed: test_it.py:{line('raise OSError')}: OSError"
    ]
    with PythonSource("test_it.py::TestAround", folder=folder, error="OSError") as source:
        failing = [source.alphabet.spelled(each.word) for each in source.executions(Bounds(1, 20)) if each.failed]
    assert failing == [("cleared", "clearing", "OSError")]


def test_classes_of_unittest(folder: Path) -> None:
    words, _ = found(folder, "TestOld")
    assert {word: each.error for word, each in words.items()} == {
        ("error",): "TypeError",
        ("old cleared", "error"): "NameError",
        ("old expecting",): "",
        ("old unexpectedly", "error"): "Failed",
    }
    unprepared = words["error",]
    assert unprepared.places is not None and unprepared.places[-1] == ("test_it.py", line("raise TypeError"))
