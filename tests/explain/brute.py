"""Brute force for Python programs: functions are replaced by ones that note their names, and called on all inputs."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

from lawful.explain.teacher import Bounds, Limits
from lawful.explain.teachers.python.execution_source import PythonSource

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "explain" / "python"

Words = set[tuple[tuple[str, ...], bool]]


def load(file: Path) -> ModuleType:
    """A module of a file, new each time."""
    spec = importlib.util.spec_from_file_location(f"brute_{file.stem}", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def noting(function: Callable[..., Any], name: str, notes: list[str]) -> Callable[..., Any]:
    """The function, but it says that it is called."""

    def noted(*positional: Any, **named: Any) -> Any:
        notes.append(name)
        return function(*positional, **named)

    return noted


def words(file: Path, names: Iterable[str], inputs: Callable[[Any], Iterable[tuple[Any, ...]]]) -> Words:
    """The words of `main` over these functions, and whether they end in an assertion that fails."""
    module = load(file)
    notes: list[str] = []
    for name in names:
        setattr(module, name, noting(getattr(module, name), name, notes))
    found: Words = set()
    for each in inputs(module):
        notes.clear()
        try:
            module.main(*each)
        except AssertionError:
            found.add(((*notes, "error"), True))
        else:
            found.add((tuple(notes), False))
    return found


def lists(longest: int, values: Iterable[Any]) -> list[tuple[list[Any]]]:
    """All lists up to a length."""
    pool = list(values)
    return [(list(each),) for length in range(longest + 1) for each in product(pool, repeat=length)]


def spelled(source: PythonSource, unwind: int, length: int = 60, limits: Limits | None = None) -> Words:
    """The words of a source."""
    alphabet = source.alphabet
    return {(alphabet.spelled(each.word), each.failed) for each in source.executions(Bounds(unwind, length), limits)}


def failing(found: Words) -> set[tuple[str, ...]]:
    """The words that fail."""
    return {word for word, failed in found if failed}
