"""Writes docs/api.md, the reference of the public names, from the signatures and docstrings in the source."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import lawful

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "api.md"

_INTRODUCTION = """\
# Python API

The public names of the package `lawful`. `tools/make_api.py` writes this page from the docstrings.
[Watching from Python](watching-from-python.md) shows them in use.

`import lawful` is cheap: Lawful imports its parts when you first use them. All names have type annotations.
"""
_TOPICS = {
    "Watching a program": "watch Watch Scope Sampling Finding Violation emit",
    "Laws and monitors": "load_law Law Monitor Verdict Outcome Expectation rml grammar invariants",
    "Traces": "open_trace",
    "Learning": "Learner Learning Rule Anomaly",
    "Sampling": "Policy",
    "Explaining failures": "explain",
    "Errors": "LawfulError LawError TraceError",
}
_MADE_BY_LAWFUL = frozenset(("Watch", "Finding", "Outcome", "Expectation", "Comparison", "Explanation"))
_WIDTH = 100
Function = ast.FunctionDef | ast.AsyncFunctionDef


def page() -> str:
    """The page as it should be."""
    listed = {name for names in _TOPICS.values() for name in names.split()}
    if listed != set(lawful.__all__) - {"__version__"}:
        raise SystemExit(f"_TOPICS and lawful.__all__ differ: {sorted(listed ^ set(lawful.__all__))}")
    parts = [_INTRODUCTION]
    for topic, names in _TOPICS.items():
        parts.append(f"## {topic}\n")
        for name in names.split():
            parts += _entry(f"lawful.{name}", getattr(lawful, name), "###")
    return "\n".join(parts).rstrip() + "\n"


def _entry(name: str, value: Any, level: str) -> Iterator[str]:
    yield f"{level} `{name}`\n"
    if isinstance(value, ModuleType):
        yield _paragraphs(inspect.getdoc(value) or "") + "\n"
        for each in sorted(value.__all__):
            if getattr(lawful, each, None) is not getattr(value, each):  # which has its own entry
                yield from _entry(f"{name}.{each}", getattr(value, each), "####")
        return
    node, lines = _definition(value)
    if node is None:
        yield _paragraphs(inspect.getdoc(value) or "") + "\n"
    elif isinstance(node, ast.ClassDef):
        yield from _class(name, value, node, lines)
    else:
        yield _block(_signature(name, node)) + "\n"
        yield _paragraphs(inspect.getdoc(value) or "") + "\n"


def _definition(value: Any) -> tuple[ast.ClassDef | Function | None, list[str]]:
    """The statement that defines a class or a function, and the lines of its file."""
    source = inspect.getsource(importlib.import_module(value.__module__))
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef | Function) and node.name == value.__name__:
            return node, source.splitlines()
    return None, []


def _class(name: str, value: type, node: ast.ClassDef, lines: list[str]) -> Iterator[str]:
    protocol = any(ast.unparse(base) == "Protocol" for base in node.bases)
    start = next((each for each in _functions(node) if each.name == "__init__"), None)
    fields = list(_fields(node, lines))
    if value.__name__ in _MADE_BY_LAWFUL:
        pass
    elif start is not None and not protocol:
        yield _block(_signature(name, start)) + "\n"
    elif any("dataclass" in ast.unparse(each) for each in node.decorator_list):
        yield _block(_wrapped(name, [each[1] for each in fields])) + "\n"
    elif node.bases and not protocol:
        yield _block(f"class {name}({', '.join(ast.unparse(base) for base in node.bases)})") + "\n"
    yield _paragraphs(inspect.cleandoc(value.__doc__ or "")) + "\n"
    rows = [(f"`{field}`", text or f"`{_kind(declared)}`") for field, declared, text in fields]
    for each in _functions(node):
        text = _one_paragraph(ast.get_docstring(each) or "")
        if not each.name.startswith("_") and text:
            shown = each.name if _is_property(each) else _short_signature(each)
            rows.append((f"`{shown}`", text))
    if rows:
        yield "\n".join(["| name | description |", "|---|---|", *(f"| {_cell(a)} | {_cell(b)} |" for a, b in rows)])
        yield ""


def _fields(node: ast.ClassDef, lines: list[str]) -> Iterator[tuple[str, str, str]]:
    """The public fields: name, declaration, and the text that follows as a docstring or a comment."""
    for number, each in enumerate(node.body):
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            field = each.target.id
        elif isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name):
            field = each.targets[0].id
        else:
            continue
        if field.startswith("_") or "ClassVar" in ast.unparse(each):
            continue
        text = _docstring_at(node.body, number + 1) or _comment(lines[(each.end_lineno or each.lineno) - 1])
        yield field, ast.unparse(each), text


def _docstring_at(body: list[ast.stmt], number: int) -> str:
    if number < len(body) and isinstance(after := body[number], ast.Expr) and isinstance(after.value, ast.Constant):
        return _one_paragraph(str(after.value.value))
    return ""


def _kind(declared: str) -> str:
    """The type in a declaration, or its value where it has none."""
    _, _, rest = declared.partition(": " if ": " in declared else " = ")
    return rest.partition(" = ")[0]


def _comment(line: str) -> str:
    _, sharp, text = line.partition("  # ")
    if text.startswith("noqa"):
        return ""
    return f"{text[0].upper()}{text[1:].rstrip('.')}." if sharp else ""


def _functions(node: ast.ClassDef) -> Iterator[Function]:
    return (each for each in node.body if isinstance(each, Function))


def _is_property(node: Function) -> bool:
    return any(ast.unparse(each).endswith("property") for each in node.decorator_list)


def _signature(name: str, node: Function) -> str:
    """`name(parameter: type = default) -> type`, a parameter in each line if it is long."""
    given = node.args
    parts: list[str] = []
    plain = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(plain) - len(given.defaults)) + list(given.defaults)
    for each, default in zip(plain, defaults, strict=True):
        if each.arg not in ("self", "cls"):
            parts.append(_parameter(each, default))
    if given.vararg:
        parts.append(f"*{_parameter(given.vararg, None)}")
    elif given.kwonlyargs:
        parts.append("*")
    parts += [_parameter(each, default) for each, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    if given.kwarg:
        parts.append(f"**{_parameter(given.kwarg, None)}")
    result = f" -> {ast.unparse(node.returns)}" if node.returns and node.name != "__init__" else ""
    return _wrapped(name, parts) + result


def _short_signature(node: Function) -> str:
    """Only the names of the parameters."""
    names = [each.arg for each in (*node.args.posonlyargs, *node.args.args) if each.arg not in ("self", "cls")]
    names += [f"*{node.args.vararg.arg}"] if node.args.vararg else []
    names += [f"{each.arg}=" for each in node.args.kwonlyargs]
    names += [f"**{node.args.kwarg.arg}"] if node.args.kwarg else []
    return f"{node.name}({', '.join(names)})"


def _parameter(node: ast.arg, default: ast.expr | None) -> str:
    kind = f": {ast.unparse(node.annotation)}" if node.annotation else ""
    value = "" if default is None else f" = {ast.unparse(default)}" if kind else f"={ast.unparse(default)}"
    return f"{node.arg}{kind}{value}"


def _wrapped(name: str, parts: list[str]) -> str:
    line = f"{name}({', '.join(parts)})"
    if len(line) <= _WIDTH:
        return line
    return "\n".join([f"{name}(", *(f"    {each}," for each in parts), ")"])


def _block(text: str) -> str:
    return f"```py\n{text}\n```"  # not `python`, which the tests of the pages run


def _one_paragraph(text: str) -> str:
    return " ".join(inspect.cleandoc(text).partition("\n\n")[0].split())


def _paragraphs(text: str) -> str:
    """A docstring as Markdown: a line for each paragraph, and single backticks."""
    text = text.replace("``", "`")
    return "\n\n".join(" ".join(each.split()) for each in re.split(r"\n\s*\n", text))


def _cell(text: str) -> str:
    return text.replace("``", "`").replace("|", "\\|")


def main() -> None:
    """Write the page; with ``--check``, only report if it is out of date."""
    text = page()
    if "--check" in sys.argv:
        sys.exit(None if PAGE.read_text(encoding="utf-8") == text else "docs/api.md is out of date: run make docs")
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
