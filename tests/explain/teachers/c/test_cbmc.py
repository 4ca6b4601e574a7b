"""Where Lawful looks for CBMC, and the error if it does not find it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from lawful.errors import LawfulError
from lawful.explain.teachers.c.cbmc import find_cbmc


def pretend(folder: Path, says: str, name: str = "cbmc") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{says}\n")
    path.chmod(0o755)
    return path


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("LAWFUL_CBMC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python" / "python3"))


def test_none_is_an_error_that_says_how_to_get_it() -> None:
    with pytest.raises(LawfulError) as caught:
        find_cbmc()
    assert caught.value.slug == "no-cbmc"
    for way in ("apt install cbmc", "brew install cbmc", "make cbmc", "LAWFUL_CBMC"):
        assert way in str(caught.value.hint)


def test_it_is_found_in_the_path_or_beside_python(tmp_path: Path) -> None:
    beside = pretend(tmp_path / "python", "echo '6.6.0 (cbmc-6.6.0)'")
    assert find_cbmc().path == str(beside)
    in_path = pretend(tmp_path / "path", "echo '5.12 (cbmc-5.12)'")
    assert find_cbmc().path == str(in_path)


def test_one_that_does_not_run_is_passed_over(tmp_path: Path) -> None:
    pretend(tmp_path / "path", "exit 3")
    beside = pretend(tmp_path / "python", "echo '6.6.0 (cbmc-6.6.0)'")
    assert find_cbmc().path == str(beside)


def test_the_variable_goes_first_and_must_be_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(tmp_path / "path", "echo 6.6.0")
    monkeypatch.setenv("LAWFUL_CBMC", str(pretend(tmp_path / "own", "echo 5.95.1", "checker")))
    assert find_cbmc().version == (5, 95, 1)
    monkeypatch.setenv("LAWFUL_CBMC", str(tmp_path / "no" / "checker"))
    with pytest.raises(LawfulError, match="LAWFUL_CBMC is"):
        find_cbmc()


def test_newer_versions_are_told_not_to_check_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAWFUL_CBMC", str(pretend(tmp_path / "old", "echo 5.12")))
    assert find_cbmc().flags == []
    monkeypatch.setenv("LAWFUL_CBMC", str(pretend(tmp_path / "new", "echo 6.6.0")))
    assert "--no-standard-checks" in find_cbmc().flags


def test_a_run_without_an_answer_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    says = 'case "$1" in --version) echo 5.12 ;; *) echo "no such option" >&2; exit 6 ;; esac'
    monkeypatch.setenv("LAWFUL_CBMC", str(pretend(tmp_path / "bad", says)))
    with pytest.raises(LawfulError) as caught:
        find_cbmc().asked(["program.i"])
    assert caught.value.slug == "cbmc-failed"
    assert "no such option" in caught.value.message
