"""What a user chooses for a Python program: which events, which error, which way."""

from __future__ import annotations

import ast
import fnmatch
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from lawful.errors import LawfulError

ExplorationWay = Literal["auto", "exhaustive", "symbolic", "testing"]
EventKind = Literal["entries", "branches", "calls", "emits"]
EVENT_KINDS: tuple[EventKind, ...] = get_args(EventKind)
EXPLORATION_WAYS: tuple[ExplorationWay, ...] = get_args(ExplorationWay)


@dataclass(frozen=True)
class EventChoice:
    """Which events are letters.

    `kinds`: entries of own functions, branches of own code, calls that own code makes, what `lawful.emit` says. None:
    what is emitted, if the program emits; else entries. With patterns also calls of what is not own code.
    `patterns`: names as `merge`, `Node.*`, `pkg.mod.*` or `list.append`; none: chosen automatically, the nearest to
    the error first, `most` of them."""

    patterns: tuple[str, ...] = ()
    kinds: tuple[EventKind, ...] | None = None
    most: int = 12  # as `teacher.MOST_EVENTS`, which the child process does not import
    also: tuple[tuple[str, tuple[Any, ...], str], ...] = ()
    """Events of other versions of the program, which are letters in this one too: the kind, key and label of each."""

    def __post_init__(self) -> None:
        for kind in self.kinds or ():
            if kind not in EVENT_KINDS:
                message = f"unknown kind of events {kind!r}"
                raise LawfulError("explain-events", message, hint=", ".join(EVENT_KINDS))

    def matches(self, *names: str) -> bool:
        """Does a pattern name one of these? Without patterns all are meant."""
        return not self.patterns or any(fnmatch.fnmatchcase(name, each) for name in names for each in self.patterns)


def events_of(what: EventChoice | Sequence[str] | None) -> EventChoice:
    """The choice of events, of which often only the patterns are given."""
    if isinstance(what, EventChoice):
        return what
    return EventChoice((what,) if isinstance(what, str) else tuple(what or ()))


@dataclass(frozen=True)
class ErrorChoice:
    """What counts as failing. `name`: an exception's; `file` and the lines: where it must have been raised."""

    kind: Literal["exception", "type", "line", "end"]
    label: str = "error"
    name: str = ""
    file: str = ""
    first: int = 0
    last: int = 0


def error_of(text: str | None, folder: str | os.PathLike[str] | None = None, file: Path | None = None) -> ErrorChoice:
    """The error that a text names: `exception`, `test`, `end`, `file.py:17`, `:17`, or an exception's name."""
    if text is None or text in ("exception", "test", "error", ""):
        return ErrorChoice("exception", "failed" if text == "test" else "error")
    if text == "end":
        return ErrorChoice("end", "end")
    by_line = re.fullmatch(r"(.*\.py)?:?(\d+)", text)
    if by_line:
        name, line = by_line[1], int(by_line[2])
        place = Path(folder or ".").absolute() / name if name else file
        if place is None:
            raise LawfulError("explain-error", f"the file of line {line} is missing", hint=f"file.py:{line}")
        first, last = _statement(place, line, text)
        return ErrorChoice("line", f"{place.name}:{line}", file=str(place), first=first, last=last)
    if not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*", text):
        hint = "an exception as AssertionError or pkg.mod.MyError, a line as file.py:17, or end"
        raise LawfulError("explain-error", f"{text!r} does not name an error", hint=hint)
    return ErrorChoice("type", text.rpartition(".")[2], name=text)


def _statement(file: Path, line: int, text: str) -> tuple[int, int]:
    """The lines of the smallest statement that a line belongs to."""
    try:
        tree = ast.parse(file.read_bytes())
    except OSError as error:
        raise LawfulError("explain-error", f"{file.name}: {error.strerror}", where=text) from None
    except (SyntaxError, ValueError) as error:
        raise LawfulError("explain-error", f"{file.name} is not valid Python: {error}", where=text) from None
    spans = []
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)  # of an `if`, only what stands before its block
            last = max(node.lineno, body[0].lineno - 1) if body else node.end_lineno or node.lineno
            if node.lineno <= line <= last:
                spans.append((last - node.lineno, node.lineno, last))
    if not spans:
        raise LawfulError("explain-error", f"line {line} of {file.name} has no statement", where=text)
    _, first, last = min(spans)
    return first, last
