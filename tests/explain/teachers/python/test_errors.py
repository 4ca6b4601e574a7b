"""What counts as the error: any exception, one by its type, one by its line, a failing test, or the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from explain import brute
from lawful.errors import LawfulError
from lawful.explain.teachers.python.execution_source import PythonSource
from lawful.explain.teachers.python.options import ExplorationWay, error_of

TEXT = """\
import lawful
class Mine(ValueError):
    pass


def step(n):
    assert n != 1, (
        "one"
    )


def main(n: int):
    lawful.emit(f"n={n}")
    step(n)
    assert n != 2
    if n == 3:
        raise Mine("three")
    if n == -1:
        raise SystemExit(2)
    if n == -2:
        raise SystemExit
    try:
        assert n != -3
    except AssertionError:
        pass
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "prog.py"
    found.write_text(TEXT)
    return found


def failing_inputs(file: Path, error: str | None) -> set[int]:
    """The inputs that fail: each has a word of its own, since it is emitted."""
    with PythonSource(f"{file}:main", error=error) as source:
        return {int(word[0].removeprefix("n=")) for word in brute.failing(brute.spelled(source, 3))}


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (None, {1, 2, 3, -1}),
        ("AssertionError", {1, 2}),
        ("ValueError", {3}),
        ("prog.Mine", {3}),
        (":15", {2}),
        (":7", {1}),
        (":8", {1}),
        ("end", {0, -2, -3}),
    ],
)
def test_what_fails(file: Path, error: str | None, expected: set[int]) -> None:
    assert failing_inputs(file, error) == expected


def test_a_line_of_another_file(file: Path, tmp_path: Path) -> None:
    (tmp_path / "top.py").write_text("import prog\ndef main(n: int):\n    prog.main(n)\n")
    with PythonSource("top.py:main", folder=tmp_path, error="prog.py:15", events=["step"]) as source:
        assert brute.failing(brute.spelled(source, 3)) == {("step", "prog.py:15")}
        assert source.alphabet.events[-1].line == 15


@pytest.mark.parametrize("way", ["exhaustive", "symbolic"])
def test_labels_say_what_the_error_is(file: Path, way: ExplorationWay) -> None:
    for error, label in (
        (None, "error"),
        ("Mine", "Mine"),
        ("prog.Mine", "Mine"),
        (":15", "prog.py:15"),
        ("end", "end"),
    ):
        with PythonSource(f"{file}:main", error=error, way=way, events=["step"]) as source:
            assert brute.failing(brute.spelled(source, 3)) == {("step", label)}


def test_an_event_called_like_the_error(tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text("def error(): pass\ndef main(n: bool):\n    error()\n    assert n\n")
    with PythonSource("prog.py:main", folder=tmp_path) as source:
        assert source.alphabet.labels == ("error", "error (error)")


@pytest.mark.parametrize("text", ["a b", "prog.py:99", ":1000", "nowhere.py:3", "3"])
def test_errors_that_are_none(file: Path, text: str) -> None:
    with pytest.raises(LawfulError) as caught:
        error_of(text, file.parent, None if text == "3" else file)
    assert caught.value.slug == "explain-error"
