"""``lawful merge``: the example of the paper's Fig. 7, in Python and in C."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from explain.programs import BASE, BRANCH_A, BRANCH_B, MERGED, in_python, needs_cbmc
from lawful.cli.main import main

Capture = pytest.CaptureFixture[str]
FOUR = {"base": BASE, "a": BRANCH_A, "b": BRANCH_B, "merged": MERGED}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in FOUR.items():
        (tmp_path / f"{name}.c").write_text(text)
        (tmp_path / f"{name}.py").write_text(in_python(text))
    return tmp_path


def merged(capsys: Capture, *words: str, code: int) -> dict[str, Any]:
    assert main(["merge", *words, "--format", "json"]) == code
    shown = capsys.readouterr()
    assert shown.err == ""
    found: dict[str, Any] = json.loads(shown.out)
    return found


def words_of(found: dict[str, Any], side: str) -> list[str]:
    return [" ".join(each["word"]) for each in found["differences"][side]["words"]]


@pytest.mark.parametrize("ending", [".py:main", pytest.param(".c", marks=needs_cbmc)])
def test_the_example_of_the_paper(capsys: Capture, ending: str) -> None:
    found = merged(capsys, *(f"{name}{ending}" for name in FOUR), code=1)
    unexpected = "functionA functionZ functionB functionC end"
    assert words_of(found, "not_in_a") == [unexpected], "Fig. 8"
    assert words_of(found, "not_in_b") == [unexpected], "Fig. 9"
    assert words_of(found, "in_neither") == [unexpected]
    assert set(words_of(found, "lost")) == {"functionA functionZ functionB end", "functionA functionB functionC end"}
    assert words_of(found, "back") == [] and found["same"] is False
    assert (found["base"], found["merged"]) == (f"base{ending}", f"merged{ending}")


def test_the_text_names_the_branches(capsys: Capture) -> None:
    assert main(["merge", *(f"{name}.py:main" for name in FOUR)]) == 1
    text = capsys.readouterr().out
    assert "in merged.py:main, not in a.py:main" in text and "in merged.py:main, in neither branch" in text
    assert "functionA > functionZ > functionB > functionC > end" in text


def test_a_merge_that_is_one_of_the_branches(capsys: Capture) -> None:
    found = merged(
        capsys, "base.py:main", "a.py:main", "base.py:main", "a.py:main", "--set", "explain.max-unwind=1", code=0
    )
    assert found["same"] is True and words_of(found, "not_in_a") == []
    assert words_of(found, "not_in_b") == ["functionA functionZ functionB end"], "shown, but what a merge is for"


def test_folders(capsys: Capture, here: Path) -> None:
    for name in FOUR:
        (here / name).mkdir()
        (here / f"{name}.py").rename(here / name / "program.py")
    found = merged(capsys, *FOUR, "--target", "program.py:main", code=1)
    assert found["target"] == "program.py:main"
    assert words_of(found, "in_neither") == ["functionA functionZ functionB functionC end"]


def test_bad_input(capsys: Capture) -> None:
    assert main(["merge", "base.py:main", "a.py:main", "b.py:main"]) == 2
    assert main(["merge", "base.py:main", "a.py:main", "b.py:main", "nowhere.py:main"]) == 2
    shown = capsys.readouterr()
    assert "MERGED" in shown.err and "file nowhere.py does not exist" in shown.err and shown.out == ""
