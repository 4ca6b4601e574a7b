"""Texts that name what is to be explained."""

from __future__ import annotations

from pathlib import Path

import pytest

from lawful.errors import LawfulError
from lawful.explain.targets import CTarget, PytestTarget, PythonTarget, parse_target, target_of


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def _hidden(): pass\ndef first(): pass\nasync def second(): pass\n")
    (tmp_path / "empty.py").write_text("def (")
    (tmp_path / "a.c").write_text("")


def test_targets(tmp_path: Path) -> None:
    assert parse_target("a.py:first", tmp_path) == PythonTarget("first", file=tmp_path / "a.py")
    assert parse_target(f"{tmp_path}/a.py:C.m") == PythonTarget("C.m", file=tmp_path / "a.py")
    assert parse_target("pkg.mod:f") == PythonTarget("f", module="pkg.mod")
    assert parse_target("mod:C.m") == PythonTarget("C.m", module="mod")
    assert parse_target("a.py::test_x[1:2]", tmp_path) == PytestTarget(tmp_path / "a.py", "test_x[1:2]")
    assert parse_target("a.py::T::test_x", tmp_path) == PytestTarget(tmp_path / "a.py", "T::test_x")
    assert parse_target("a.c", tmp_path) == CTarget(tmp_path / "a.c")
    assert parse_target("a.c:main", tmp_path) == CTarget(tmp_path / "a.c", "main")


def test_targets_are_shown_as_they_are_named(tmp_path: Path) -> None:
    for text in ("a.py:first", "pkg.mod:f", "a.py::test_x", "a.c", "a.c:main"):
        assert str(parse_target(text, tmp_path)).removeprefix(f"{tmp_path}/") == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a target"),
        ("pkg.mod", "is not a target"),
        ("pkg mod:f", "is not a target"),
        ("mod:", "is not a target"),
        ("missing.py:f", "file missing.py does not exist"),
        ("missing.c", "file missing.c does not exist"),
        ("missing.py::test", "file missing.py does not exist"),
        ("a.py::", "not a pytest node id"),
        ("pkg::test", "not a pytest node id"),
        ("a.py", "the function is missing"),
        ("a.py:", "the function is missing"),
        ("a.py:1st", "not the name of a function"),
        ("a.c:a.b", "not the name of a C function"),
    ],
)
def test_what_names_nothing(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(LawfulError) as caught:
        parse_target(text, tmp_path)
    assert caught.value.slug == "explain-target"
    assert message in caught.value.message


def test_whoever_names_no_function_is_told_which_there_are(tmp_path: Path) -> None:
    with pytest.raises(LawfulError) as caught:
        parse_target("a.py", tmp_path)
    assert caught.value.hint == "a.py:first, or second"
    with pytest.raises(LawfulError) as caught:
        parse_target("empty.py", tmp_path)
    assert "file.py:function" in str(caught.value.hint)


def test_functions_are_targets() -> None:
    assert target_of(parse_target) == PythonTarget("parse_target", file=Path(parse_target.__code__.co_filename))
    known = PythonTarget("f", module="m")
    assert target_of(known) is known
    assert target_of("m:f") == known
    for nowhere in (len, lambda: None, "x".join, 3):
        with pytest.raises(LawfulError) as caught:
            target_of(nowhere)  # type: ignore[arg-type]
        assert caught.value.slug == "explain-target"
