"""Makes the teacher for what a user names: a Python or C program, or recorded traces."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

from lawful.errors import LawfulError, TraceError
from lawful.explain.compared_program import END, ComparedProgram, ObservedEndings
from lawful.explain.learning_run import Naming
from lawful.explain.settings import ExplainSettings
from lawful.explain.targets import CTarget, Function, PytestTarget, PythonTarget, target_of
from lawful.explain.teacher import MOST_EVENTS, ExecutionSource, Teacher
from lawful.explain.teachers.executions import ExecutionsTeacher

ASSERT, ABORT = "assert", "abort"  # how C programs fail
_NO_WAY = ("c-no-assertion", "c-error-unreachable")  # an end that a program does not have: it may have another
_SKIP = "--skip-bad-lines"


def naming_in(folder: str, shown: Naming) -> Naming:
    """How files of a folder are called: `shown` is asked with the whole path."""

    def named(file: str) -> str:
        inside = os.path.join(folder, file)
        return shown(inside if os.path.exists(inside) else os.path.abspath(file))

    return named


def teacher_of_target(
    target: str | Function, settings: ExplainSettings, folder: str | None, stack: ExitStack, shown: Naming
) -> tuple[Teacher, Naming]:
    """The teacher of a target, and how its files are called. What runs for it ends with the stack."""
    found = target_of(target, folder)
    if isinstance(found, CTarget):
        return _of_c(found, settings, stack), naming_in(os.path.dirname(found.file), shown)
    source, project = _python_source(found, settings, folder, stack)
    return ExecutionsTeacher(source, settings.limits), naming_in(project, shown)


def compared_program(
    target: str | Function, settings: ExplainSettings, folder: str | None, stack: ExitStack, shown: Naming
) -> ComparedProgram:
    """A target as one of the versions to compare: all its executions, unless settings choose an error.

    `shown` is how a file is called, by its whole path."""
    found = target_of(target, folder)
    if not isinstance(found, CTarget):
        source, project = _python_source(found, settings, folder, stack)
        naming = naming_in(project, shown)
        if settings.error is None:
            return ObservedEndings(source, settings.limits, naming, project)
        return ComparedProgram({settings.error: ExecutionsTeacher(source, settings.limits)}, naming, project, source)
    kinds: dict[str, Teacher] = {}
    missing: LawfulError | None = None
    for kind in (ASSERT, ABORT, END) if settings.error is None else (settings.error,):
        try:
            kinds[kind] = _of_c(found, replace(settings, error=kind), stack)
        except LawfulError as error:
            if error.slug not in _NO_WAY:
                raise
            missing = missing or error
    if missing is not None and not kinds:
        raise missing
    project = os.path.dirname(found.file)
    return ComparedProgram(kinds, naming_in(project, shown), project)


def teacher_of_traces(failing: Sequence[str], passing: Sequence[str], settings: ExplainSettings) -> Teacher:
    """The teacher of recorded executions. Their files may be on another machine."""
    from lawful.explain.teachers.traces import TraceSource

    refused = {"inputs": settings.inputs, "error": settings.error, "event-kind": settings.kinds}
    for option, value in refused.items():
        _refuse(bool(value), f"--{option} is not for traces, which are recorded already")
    _refuse_c_options(settings)
    try:
        source = TraceSource(failing, passing, events=settings.events)
    except TraceError as error:
        if error.hint is not None and _SKIP in error.hint:  # an option of other commands
            error.hint = f"`lawful trace convert {_SKIP} BAD GOOD` writes a trace without what cannot be read"
        raise
    return ExecutionsTeacher(source, settings.limits)


def _python_source(
    target: PythonTarget | PytestTarget, settings: ExplainSettings, folder: str | None, stack: ExitStack
) -> tuple[ExecutionSource, str]:
    """A program that is run, and the folder of its project."""
    from lawful.config import find_project
    from lawful.explain.teachers.python.execution_source import PythonSource
    from lawful.explain.teachers.python.options import EventChoice

    hint = "--set explain.learner=table asks queries, and needs no other teacher"
    _refuse(settings.teacher != "one-run", "explain.teacher=asking is for C programs", hint)
    _refuse_c_options(settings)
    kinds = tuple(kind for kind in settings.kinds if kind != "learn")
    _refuse(len(kinds) < len(settings.kinds), "--event-kind learn is for C programs", "Python's is emits")
    source = PythonSource(
        target,
        inputs=settings.inputs,
        events=EventChoice(settings.events, kinds or None, settings.most_events or MOST_EVENTS, settings.also),
        error=settings.error,
        way=settings.way,
        limits=settings.limits,
        seed=settings.seed,
        samples=settings.samples,
        folder=folder,
    )
    stack.callback(source.close)
    return source, str(find_project(target.file or folder or "."))


def _of_c(target: CTarget, settings: ExplainSettings, stack: ExitStack) -> Teacher:
    from lawful.explain.teachers.c import c_teacher

    _refuse(settings.inputs is not None, "--inputs are for Python programs: a C program is looked at for all inputs")
    hint = "--set explain.teacher=one-run or asking"
    _refuse(settings.way != "auto", f"explain.way={settings.way} is for Python programs", hint)
    teacher = c_teacher(
        target.file,
        target.function,
        events=settings.events,
        kinds=settings.kinds,
        error=settings.error,
        way=settings.teacher,
        limits=settings.limits,
        most=settings.most_events or MOST_EVENTS,
        include=settings.include,
        define=settings.define,
    )
    stack.callback(teacher.close)
    return teacher


def _refuse_c_options(settings: ExplainSettings) -> None:
    for option, value in {"include": settings.include, "define": settings.define}.items():
        _refuse(bool(value), f"--{option} is for C programs")


def _refuse(wrong: bool, message: str, hint: str | None = None) -> None:
    if wrong:
        raise LawfulError("usage", message, hint=hint)
