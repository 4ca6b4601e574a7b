"""The Python and the laws in the documentation are true: they run, and print what the pages show."""

from __future__ import annotations

import doctest
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

import check_docs
from lawful import rml

PAGES = check_docs.pages()


def blocks(page: Path, language: str) -> list[tuple[int, str]]:
    """The fenced blocks of one language, each with the line where its text begins."""
    tokens = MarkdownIt("commonmark").parse(page.read_text(encoding="utf-8"))
    return [
        (token.map[0] + 2, token.content)
        for token in tokens
        if token.type == "fence" and token.info.split()[:1] == [language] and token.map
    ]


def named(page: Path) -> str:
    return page.relative_to(check_docs.ROOT).as_posix()


def run(blocks: list[tuple[int, str]], page: str) -> list[str]:
    """Run blocks in order in one namespace; says what differs from what they show."""
    names: dict[str, Any] = {"__name__": "__main__"}
    found: list[str] = []
    for line, text in blocks:
        if ">>>" not in text:
            exec(compile("\n" * (line - 1) + text, page, "exec"), names)
            continue
        test = doctest.DocTestParser().get_doctest(text, {}, page, page, line - 1)
        test.globs = names  # not a copy: the next block goes on where this one ends
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE, verbose=False)
        runner.run(test, out=found.append, clear_globs=False)
    return found


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=named)
def test_the_python_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(check_docs.ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    assert run(blocks(page, "python"), named(page)) == []


LAWS = [(page, line, text) for page in PAGES for line, text in blocks(page, "rml")]


@pytest.mark.parametrize(("page", "line", "text"), LAWS, ids=[f"{named(page)}:{line}" for page, line, _ in LAWS])
def test_a_law_on_a_page_compiles_and_is_the_file_that_it_names(page: Path, line: int, text: str) -> None:
    rml.compile(text, name=f"{named(page)}:{line}")
    first, _, rest = text.partition("\n")
    if file := re.fullmatch(r"// (examples/\S+\.rml)", first):
        assert rest == (check_docs.ROOT / file[1]).read_text(encoding="utf-8")


def test_a_difference_is_found() -> None:
    assert run([(1, "x = 1\n"), (2, ">>> x\n1\n")], "page") == []
    assert "Expected:\n    2\nGot:\n    1" in "".join(run([(1, "x = 1\n"), (2, ">>> x\n2\n")], "page"))
    with pytest.raises(ZeroDivisionError):
        run([(1, "1 / 0\n")], "page")
