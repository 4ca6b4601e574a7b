"""The shape of the code: sizes, imports, and that docs/architecture.md names what exists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "lawful"

LONGEST_CLASS = 350
LONGEST_FUNCTION = 60
MOST_IMPORTS = 12
MOST_STEPS = 12

COMPOSITION_ROOTS = {  # modules whose job is to put the parts together
    "cli/check.py",
    "cli/explain_options.py",  # of `explain`, `diff` and `merge`
    "cli/laws.py",
    "cli/learn.py",
    "cli/program_options.py",  # of `run` and `record`
    "cli/run.py",
    "engine/session.py",
    "watching.py",
}


def modules() -> list[Path]:
    """All modules of the package, without the example programs of the catalogue."""
    return [path for path in sorted(PACKAGE.rglob("*.py")) if not re.search(r"\.(keeps|breaks)\.py$", path.name)]


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def definitions(tree: ast.AST, *kinds: type[ast.AST]) -> Iterator[tuple[str, int]]:
    """The name and the number of lines of each definition of these kinds."""
    for node in ast.walk(tree):
        if isinstance(node, kinds):
            assert isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            assert node.end_lineno is not None
            yield node.name, node.end_lineno - node.lineno + 1


def imported(tree: ast.AST) -> set[str]:
    """Our modules that a module imports when it runs; imports for type checkers alone do not count."""
    for_types = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for part in ast.walk(node)
    }
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("lawful") and id(node) not in for_types:
            module = node.module or ""
            folder = PACKAGE.parent / module.replace(".", "/")
            found |= {
                f"{module}.{each.name}" if (folder / f"{each.name}.py").exists() else module for each in node.names
            }
    return found


@pytest.mark.parametrize(
    ("kinds", "longest"),
    [((ast.ClassDef,), LONGEST_CLASS), ((ast.FunctionDef, ast.AsyncFunctionDef), LONGEST_FUNCTION)],
    ids=["classes", "functions"],
)
def test_no_definition_is_too_long(kinds: tuple[type[ast.AST], ...], longest: int) -> None:
    too_long = [
        f"{name_of(path)}: {name} has {lines} lines"
        for path in modules()
        for name, lines in definitions(ast.parse(path.read_text("utf-8")), *kinds)
        if lines > longest
    ]
    assert not too_long


def test_no_module_imports_too_many_others() -> None:
    counts = {name_of(path): len(imported(ast.parse(path.read_text("utf-8")))) for path in modules()}
    assert {name: count for name, count in counts.items() if count > MOST_IMPORTS} == {
        name: counts[name] for name in COMPOSITION_ROOTS if counts.get(name, 0) > MOST_IMPORTS
    }
    assert set(counts) >= COMPOSITION_ROOTS


def test_the_c_core_says_what_each_file_is_for() -> None:
    """Every C file opens with what it does, who calls it, its twin and the test that compares the two."""
    files = sorted((PACKAGE / "_native").rglob("*.c"))
    assert files
    silent = [
        name_of(path)
        for path in files
        if not (opening := re.match(r"/\*(.*?)\*/", path.read_text("utf-8"), re.DOTALL))
        or not re.search(r"test_[\w*]+\.py", opening[1])
        or not re.search(r"\b([Cc]all(s|ed|ers?)?|[Uu]se[ds]?|reads?|loads?|makes?|asks?)\b", opening[1])
    ]
    assert not silent


# -- the journeys of docs/architecture.md ----------------------------------------------------------

JOURNEYS = (
    "A call under a law",
    "A call that is learned",
    "A line of a trace",
    "A message of a view",
    "A sampled object",
)
STEP = re.compile(r"^\d+\. `([\w./]+): ([\w.]+)`", re.MULTILINE)


def steps(title: str) -> list[tuple[str, str]]:
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    found = re.search(rf"^### {re.escape(title)}\n(.*?)(?=^##)", text, re.MULTILINE | re.DOTALL)
    assert found is not None, f"docs/architecture.md has no journey {title!r}"
    return STEP.findall(found[1])


def defines(path: Path, name: str) -> bool:
    """Does a file define a function, a class or, written `Class.method`, a method?"""
    text = path.read_text("utf-8")
    if path.suffix in (".c", ".h"):
        found = rf"^[A-Za-z_][\w *]*\b{re.escape(name)}\(|^[A-Z_]*CALLBACK\({re.escape(name)}\b"
        return re.search(found, text, re.MULTILINE) is not None
    nodes: list[ast.stmt] = ast.parse(text).body
    for part in name.split("."):
        for node in nodes:
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.name == part:
                nodes = node.body
                break
        else:
            return False
    return True


@pytest.mark.parametrize("title", JOURNEYS)
def test_journeys_name_what_exists(title: str) -> None:
    found = steps(title)
    assert 3 <= len(found) <= MOST_STEPS
    missing = [
        f"{file}: {name}" for file, name in found if not (PACKAGE / file).is_file() or not defines(PACKAGE / file, name)
    ]
    assert not missing


def test_a_missing_name_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("class A:\n    def b(self): ...\n")
    (tmp_path / "a.c").write_text("static int there(int x) {\n    return missing(x);\n}\n")
    assert defines(tmp_path / "a.py", "A.b") and not defines(tmp_path / "a.py", "b")
    assert defines(tmp_path / "a.c", "there") and not defines(tmp_path / "a.c", "missing")
