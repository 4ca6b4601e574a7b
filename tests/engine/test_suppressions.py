"""Findings that the source or the project calls meant: they are counted, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lawful.engine.suppressions import Pattern, Suppressions, means
from lawful.errors import LawfulError

PROGRAM = """
import io
from contextlib import suppress

f = io.StringIO("x")
f.close()
with suppress(ValueError):
    f.read()  {comment}
with suppress(ValueError):
    f.read()
print("done")
"""


def lawful(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "lawful", *words]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    ("comment", "lines"),
    [
        ("", [8, 10]),
        ("# lawful: ignore", [10]),
        ("# lawful: ignore[files/use-after-close]", [10]),
        ("# lawful: ignore[files]", [10]),
        ("#lawful:ignore[locks, files/use-after-close]  and why", [10]),
        ("# lawful: ignore[*-after-close]", [10]),
        ("# lawful: ignore[locks]", [8, 10]),
        ("# lawful: ignore[]", [8, 10]),
        ("# lawful is not ignored", [8, 10]),
    ],
)
def test_a_comment_in_the_line_is_heeded(tmp_path: Path, comment, lines):
    (tmp_path / "program.py").write_text(PROGRAM.format(comment=comment))
    done = lawful(tmp_path, "run", "--law", "files", "--format", "json", "--output", "r.json", "program.py")
    told = json.loads((tmp_path / "r.json").read_text())
    assert [finding["line"] for finding in told["findings"]] == lines
    assert told["suppressed"] == 2 - len(lines)
    assert done.returncode == 1 and done.stdout == "done\n"


@pytest.mark.parametrize(
    ("ignore", "code"),
    [
        (["files"], 0),
        (["files/use-after-close"], 0),
        (["files: program.py"], 0),
        (["*: prog*"], 0),
        (["files: tests/*"], 1),
        (["locks"], 1),
    ],
)
def test_the_project_is_heeded(tmp_path: Path, ignore, code):
    (tmp_path / "program.py").write_text(PROGRAM.format(comment=""))
    (tmp_path / "pyproject.toml").write_text(f"[tool.lawful]\nignore = {json.dumps(ignore)}\n")
    done = lawful(tmp_path, "run", "--law", "files", "program.py")
    assert done.returncode == code
    assert ("2 violations ignored" in done.stderr) == (code == 0)


def test_what_is_meant_is_not_raised(tmp_path: Path):
    (tmp_path / "program.py").write_text(PROGRAM.format(comment="# lawful: ignore[files]"))
    done = lawful(tmp_path, "run", "--law", "files", "--on-violation", "raise", "program.py")
    assert "line 10" in done.stderr and "line 8" not in done.stderr


def test_pytest_heeds_it_too(tmp_path: Path):
    (tmp_path / "test_it.py").write_text(
        "import io\n\ndef test_one():\n    f = io.StringIO()\n    f.close()\n    try:\n"
        "        f.read()  # lawful: ignore[files/use-after-close]\n    except ValueError:\n        pass\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "--lawful", "--lawful-law", "files", "--lawful-fail"]
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stdout
    assert "1 violation ignored" in done.stdout


@pytest.mark.parametrize("text", ["", ":", "files:", " : x"])
def test_what_does_not_say_what_is_ignored_is_an_error(tmp_path: Path, text):
    with pytest.raises(LawfulError) as error:
        Pattern.read(text)
    assert error.value.slug == "config-ignore"
    (tmp_path / "program.py").write_text("")
    (tmp_path / "pyproject.toml").write_text(f"[tool.lawful]\nignore = [{text!r}]\n")
    done = lawful(tmp_path, "run", "--law", "files", "program.py")
    assert done.returncode == 2 and "error[config-ignore]" in done.stderr


def test_words_for_laws():
    assert means("files", "files/left-open") and means("left-open", "files/left-open")
    assert means("mine", "laws/mine.rml") and means("mine.rml", "laws/mine.rml") and means("learned", "learned")
    assert not means("file", "files/left-open") and not means("open", "files/left-open")


def test_only_comments_count_and_they_count_for_their_whole_statement(tmp_path: Path):
    (tmp_path / "a.py").write_text(
        'print("# lawful: ignore")\n'
        "f.read(\n    1,\n)  # lawful: ignore[files]\n"
        "g.read(  # lawful: ignore[locks]\n    2)\n"
        "# lawful: ignore\n"
        "h.read()\n"
        "if x:\n    y()  # lawful: ignore[files]\n"
        '"""\n# lawful: ignore\n"""\n'
    )
    suppressions = Suppressions(folder=tmp_path)
    covered = [line for line in range(1, 16) if suppressions.cover("files/x", "a.py", line)]
    assert covered == [2, 3, 4, 7, 10]
    assert [line for line in range(1, 16) if suppressions.cover("locks/x", "a.py", line)] == [5, 6, 7]


def test_a_file_that_cannot_be_read_says_nothing(tmp_path: Path):
    suppressions = Suppressions(folder=tmp_path)
    assert not suppressions.cover("files/x", "missing.py", 1)
    assert not suppressions.cover("files/x", "nul\0byte.py", 1)
    (tmp_path / "odd.py").write_bytes(b"\xff # lawful: ignore\n")
    assert suppressions.cover("files/x", "odd.py", 1)
    assert not suppressions.cover("files/x", None, None)


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("file", "; did you mean files?"),
        ("files/use-after-clos", "; did you mean files/use-after-close?"),
        ("Files", "; did you mean files?"),
        ("nothing-like-it", ""),
        ("nothing-*", ""),
    ],
)
def test_a_word_that_names_no_law_is_told_with_its_place(tmp_path: Path, word, hint):
    comment = f"# lawful: ignore[{word}]"
    (tmp_path / "program.py").write_text(PROGRAM.format(comment=comment) + f"print('again')  {comment}\n")
    (tmp_path / "pyproject.toml").write_text(f'[tool.lawful]\nignore = ["{word}-2: *.py"]\n')
    lawful(tmp_path, "run", "--law", "files", "-o", "r.json", "program.py")
    told = json.loads((tmp_path / "r.json").read_text())["warnings"]
    assert len(told) == 2
    assert told[0].startswith(f"ignore in pyproject.toml: no law is called '{word}-2'")
    assert told[1] == (
        f"program.py:8: no law is called '{word}', so nothing is ignored by it (and in 1 more place){hint}"
    )


@pytest.mark.parametrize(
    "word", ["", "[files]", "[locks]", "[left-open, *-close]", "[learned]", "[mine.rml]", "[project]", "[kept]"]
)
def test_words_for_laws_of_the_catalogue_and_of_the_run_are_known(tmp_path: Path, word):
    (tmp_path / "mine.rml").write_text("Main = all;\n")
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "laws").mkdir()
    (tmp_path / "laws" / "kept.rml").write_text("Main = all;\n")
    (tmp_path / "program.py").write_text(PROGRAM.format(comment=f"# lawful: ignore{word}"))
    lawful(tmp_path, "run", "--law", "files", "--law", "mine.rml", "-o", "r.json", "program.py")
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["findings"] and not report["warnings"]
