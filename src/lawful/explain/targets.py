"""What is to be explained: a Python function, a pytest test, or a C file, by the text that names it."""

from __future__ import annotations

import ast
import inspect
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lawful.errors import LawfulError

HINT = "file.py:function, package.module:function, tests/test_file.py::test_name, or file.c[:function]"
_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_C_FILES = (".c", ".i")


@dataclass(frozen=True)
class PythonTarget:
    """A function, or a method as `Class.method`, of a file or of a module that can be imported."""

    function: str
    file: Path | None = None
    module: str | None = None

    def __str__(self) -> str:
        return f"{self.file or self.module}:{self.function}"


@dataclass(frozen=True)
class PytestTarget:
    """A test, with all its parameters unless the node id names some."""

    file: Path
    node: str

    def __str__(self) -> str:
        return f"{self.file}::{self.node}"


@dataclass(frozen=True)
class CTarget:
    """A C file, and the function that is the program: `main` if none is named."""

    file: Path
    function: str | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.function}" if self.function else str(self.file)


Target = PythonTarget | PytestTarget | CTarget
Function = Callable[..., Any]


def parse_target(text: str, folder: str | os.PathLike[str] | None = None) -> Target:
    """The target that a text names. Files are looked for from a folder: the current one, if none is given."""
    base = Path(folder or ".").absolute()
    if "::" in text:
        name, _, node = text.partition("::")
        if not name.endswith(".py") or not node:
            raise LawfulError("explain-target", f"{text!r} is not a pytest node id", hint=HINT)
        return PytestTarget(_existing(base, name, text), node)
    place, colon, function = text.rpartition(":") if ":" in text else (text, "", "")
    if place.endswith(_C_FILES):
        if colon and not re.fullmatch(r"[^\W\d]\w*", function):
            raise LawfulError("explain-target", f"{function!r} is not the name of a C function", where=text, hint=HINT)
        return CTarget(_existing(base, place, text), function or None)
    if place.endswith(".py"):
        file = _existing(base, place, text)
        if not function:
            raise LawfulError("explain-target", "the function is missing", where=text, hint=_functions_hint(file))
        if not _NAME.fullmatch(function):
            raise LawfulError("explain-target", f"{function!r} is not the name of a function", where=text, hint=HINT)
        return PythonTarget(function, file=file)
    if not colon or not _NAME.fullmatch(place) or not _NAME.fullmatch(function):
        raise LawfulError("explain-target", f"{text!r} is not a target", hint=HINT)
    return PythonTarget(function, module=place)


def target_of(what: str | Target | Function, folder: str | os.PathLike[str] | None = None) -> Target:
    """The target for a text, or for a function of a module."""
    if isinstance(what, str):
        return parse_target(what, folder)
    if isinstance(what, PythonTarget | PytestTarget | CTarget):
        return what
    name = getattr(what, "__qualname__", None)
    try:
        file = inspect.getsourcefile(inspect.unwrap(what))
    except TypeError:
        file = None
    if file is None or not isinstance(name, str) or "<" in name or not Path(file).exists():
        hint = "name a function of a module, not one made inside another function or in C"
        raise LawfulError("explain-target", f"another process cannot find {what!r}", hint=hint)
    return PythonTarget(name, file=Path(file).absolute())


def _existing(base: Path, name: str, text: str) -> Path:
    file = base / name
    if not file.is_file():
        raise LawfulError("explain-target", f"file {name} does not exist", where=text)
    return file


def _functions_hint(file: Path) -> str:
    """Which functions there are, for somebody who named none."""
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError, OSError):
        return HINT
    found = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    public = [name for name in found if not name.startswith("_")] or found
    return f"{file.name}:{public[0]}" + (f", or {', '.join(public[1:8])}" if public[1:] else "") if public else HINT
