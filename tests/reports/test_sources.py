"""Lines of source files, and the functions around them."""

from __future__ import annotations

import ast
import random
from pathlib import Path

import pytest

from lawful.reports.sources import SourceLines

PROGRAM = '''\
import os

@decorated(
    1
)
def first():
    """Text."""
    def inner():
        return 1
    return inner

class Thing:
    attribute = 1

    async def method(self):
        return [x for x in ()]

last = lambda: 1
'''


@pytest.fixture
def lines(tmp_path: Path) -> SourceLines:
    (tmp_path / "a.py").write_text(PROGRAM)
    return SourceLines(tmp_path)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (1, ""),
        (3, "first"),
        (6, "first"),
        (8, "first.inner"),
        (9, "first.inner"),
        (10, "first"),
        (11, ""),
        (13, "Thing"),
        (15, "Thing.method"),
        (16, "Thing.method"),
        (18, ""),
        (99, ""),
    ],
)
def test_the_function_around_a_line(lines: SourceLines, line: int, name: str) -> None:
    assert lines.function("a.py", line) == name


def test_the_function_is_the_innermost_one_of_a_real_module() -> None:
    # The standard library's own walk over a tree, as a slow and simple judge.
    file = Path(ast.__file__)
    tree = ast.parse(file.read_text())
    lines = SourceLines(file.parent)
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    nodes = [node for node in ast.walk(tree) if isinstance(node, kinds)]
    for line in random.Random(1).sample(range(1, len(file.read_text().splitlines())), 200):
        around = [
            node
            for node in nodes
            if min([node.lineno, *(each.lineno for each in node.decorator_list)]) <= line <= (node.end_lineno or 0)
        ]
        innermost = min(around, key=lambda node: (node.end_lineno or 0) - node.lineno).name if around else ""
        assert lines.function(file.name, line).rpartition(".")[2] == innermost


def test_an_excerpt_stays_inside_the_file(lines: SourceLines) -> None:
    assert lines.excerpt("a.py", 1, 2) == {1: "import os", 2: "", 3: "@decorated("}
    assert lines.excerpt("a.py", 13, 1) == {12: "class Thing:", 13: "    attribute = 1", 14: ""}
    assert lines.excerpt("a.py", 999, 3) == {} == lines.excerpt("gone.py", 1, 3) == lines.excerpt(None, None, 3)


@pytest.mark.parametrize("text", ["def (:", "x = '\\d'\nif x is 1: pass\n", "\0", "(" * 10_000])
def test_whatever_the_file_holds(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.py").write_text(text)
    assert SourceLines(tmp_path).function("a.py", 1) == ""


def test_a_file_is_called_from_the_root_of_its_repository(tmp_path: Path) -> None:
    project = tmp_path / "repo" / "back" / "end"
    project.mkdir(parents=True)
    assert SourceLines(project).in_repository("app.py") == "app.py"
    (tmp_path / "repo" / ".git").mkdir()
    assert SourceLines(project).in_repository("app.py") == "back/end/app.py"
    assert SourceLines(tmp_path / "repo").in_repository("a/app.py") == "a/app.py"
    assert SourceLines(project).in_repository("/usr/lib/a.py") == "/usr/lib/a.py"
