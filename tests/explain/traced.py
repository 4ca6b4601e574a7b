"""All executions of a Python program on listed inputs, by the interpreter's own tracing: nothing of the teachers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType
from typing import Any

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "explain" / "python"

Word = tuple[str, ...]
Words = set[tuple[Word, bool]]
"""The functions that were entered, the error among them, and whether the execution failed."""


def loaded(file: Path) -> dict[str, Any]:
    """What the program defines."""
    scope: dict[str, Any] = {"__name__": "traced"}
    exec(compile(file.read_text(), str(file), "exec"), scope)
    return scope


def executions(
    file: Path,
    functions: Iterable[str],
    inputs: Callable[[dict[str, Any]], Iterable[tuple[Any, ...]]],
    error: str = "error",
) -> Words:
    """The words of `main` over these functions."""
    scope = loaded(file)
    return {word_of(file, scope, functions, each, error) for each in inputs(scope)}


def word_of(
    file: Path, scope: dict[str, Any], functions: Iterable[str], given: tuple[Any, ...], error: str = "error"
) -> tuple[Word, bool]:
    """The word of one execution. An assertion that fails is the error; another exception is an end."""
    seen, path = frozenset(functions), []

    def entered(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename == str(file) and code.co_name in seen:
            path.append(code.co_name)

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        scope["main"](*given)
    except AssertionError:
        return (*path, error), True
    except Exception:
        return tuple(path), False
    finally:
        sys.settrace(before)
    return tuple(path), False
