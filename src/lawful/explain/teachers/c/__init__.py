"""Teachers for programs in C, which ask CBMC."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path

from lawful.errors import LawfulError
from lawful.explain.settings import TeacherName
from lawful.explain.teacher import MOST_EVENTS, Limits


def _need(module: str) -> None:
    """What reads and solves C programs comes with an extra."""
    try:
        importlib.import_module(module)
    except ImportError as error:
        message = f"to explain C programs, {error.name} is missing"
        raise LawfulError("explain-extra", message, hint='pip install "lawful[explain]"') from error


_need("pycparser")

from lawful.explain.teachers.c.base_teacher import CTeacher  # noqa: E402 - not before there is a parser
from lawful.explain.teachers.c.cbmc import find_cbmc  # noqa: E402
from lawful.explain.teachers.c.instrument import instrument  # noqa: E402

__all__ = ["CTeacher", "c_teacher"]


def c_teacher(
    path: str | Path,
    function: str | None = None,
    *,
    events: Sequence[str] = (),
    kinds: Sequence[str] = (),
    error: str | int | None = None,
    way: TeacherName = "one-run",
    limits: Limits | None = None,
    most: int = MOST_EVENTS,
    include: Sequence[str | Path] = (),
    define: Sequence[str] = (),
) -> CTeacher:
    """A teacher of what a C function does, `main` where none is named. Its parameters may be anything.

    `events` are patterns of events and `kinds` of which kind they are (learn, entries, branches, calls); without them,
    the program's own `Learn()` calls, or the functions nearest to the error, at most `most`. `error` is the line of an
    assertion, as 17 or "file.c:17", or "end"; it need not be given where there is only one assertion.

    `way` is how the teacher works: "one-run" has CBMC write one formula for each unwinding and solves that, "asking"
    runs CBMC for each question, as the paper does."""
    if way not in ("one-run", "asking"):
        message = f"unknown way {way!r} to ask about C programs"
        raise LawfulError("c-way", message, hint="ways are one-run and asking")
    teacher: type[CTeacher]
    if way == "asking":
        from lawful.explain.teachers.c.query_teacher import QueryTeacher as teacher
    else:
        _need("pysat.solvers")
        from lawful.explain.teachers.c.one_run_teacher import OneRunTeacher as teacher
    cbmc = find_cbmc()
    try:
        program = instrument(
            path, function, patterns=events, kinds=kinds, error=error, most=most, include=include, define=define
        )
        return teacher(program, limits or Limits(), cbmc)
    except RecursionError as deep:
        message = "a statement or an expression is too deep to be read"
        raise LawfulError("c-not-parsed", message, where=str(path)) from deep
