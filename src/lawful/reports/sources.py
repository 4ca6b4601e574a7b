"""Lines of source files, for reports. They are read from the files, never from the running program."""

from __future__ import annotations

import ast
import os
import tokenize
import warnings
from collections.abc import Iterator
from functools import cached_property

from lawful.diagnostics import printable

_LONGEST_FILE = 4 * 1024 * 1024


class SourceLines:
    """Reads files once. Names that are not absolute are below the project folder."""

    def __init__(self, folder: str | os.PathLike[str] = ".") -> None:
        self._folder = os.fspath(folder)
        self._files: dict[str, list[str]] = {}
        self._functions: dict[str, list[tuple[int, int, str]]] = {}

    def line(self, file: str | None, number: int | None) -> str | None:
        """A line without its indentation, harmless to a terminal; None if it cannot be had."""
        if file is None or number is None:
            return None
        lines = self._lines(file)
        return printable(lines[number - 1].strip()) or None if 0 < number <= len(lines) else None

    def excerpt(self, file: str | None, number: int | None, around: int) -> dict[int, str]:
        """The line and so many before and after it, by number, with their indentation; nothing if it cannot be had."""
        if file is None or number is None:
            return {}
        lines = self._lines(file)
        if not 0 < number <= len(lines):
            return {}
        first, last = max(1, number - around), min(len(lines), number + around)
        return {each: lines[each - 1].rstrip("\r") for each in range(first, last + 1)}

    def function(self, file: str | None, number: int | None) -> str:
        """The qualified name of the function or class around a line; empty outside of them, or if unknown."""
        if file is None or number is None:
            return ""
        if file not in self._functions:
            self._functions[file] = list(_functions("\n".join(self._lines(file))))
        around = [each for each in self._functions[file] if each[0] <= number <= each[1]]
        return max(around)[2] if around else ""  # of those around a line, the innermost begins last

    def in_repository(self, file: str) -> str:
        """The file as it is called from the root of the repository that the project is in, if it is in one."""
        return file if os.path.isabs(file) else self._prefix + file.replace("\\", "/")

    @cached_property
    def _prefix(self) -> str:
        folder = root = os.path.realpath(self._folder)
        while not os.path.exists(os.path.join(root, ".git")):
            if root == os.path.dirname(root):
                return ""
            root = os.path.dirname(root)
        between = os.path.relpath(folder, root).replace("\\", "/")
        return "" if between == "." else f"{between}/"

    def _lines(self, file: str) -> list[str]:
        if file not in self._files:
            self._files[file] = self._read(file)
        return self._files[file]

    def _read(self, file: str) -> list[str]:
        path = os.path.join(self._folder, file)
        try:
            # Reading something else than a regular file could block for ever.
            if not os.path.isfile(path) or os.path.getsize(path) > _LONGEST_FILE:
                return []
            with tokenize.open(path) as source:  # in the encoding that the file says it has
                return source.read().split("\n")
        except (OSError, SyntaxError, ValueError):
            return []


def _functions(text: str) -> Iterator[tuple[int, int, str]]:
    """First line, last line and name of all functions and classes."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # which are the program's own business
            pending: list[tuple[ast.AST, str]] = [(ast.parse(text), "")]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    while pending:
        node, prefix = pending.pop()
        for child in ast.iter_child_nodes(node):
            inner = prefix
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                first = min([child.lineno, *(each.lineno for each in child.decorator_list)])
                yield first, child.end_lineno or first, prefix + child.name
                inner = f"{prefix}{child.name}."
            pending.append((child, inner))
