"""The functions that a user calls: explain a target, compare two versions of it, examine a merge of four."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from lawful.errors import LawfulError
from lawful.explain import revisions, teacher_setup, version_comparison
from lawful.explain.compared_program import ComparedProgram
from lawful.explain.comparison import Comparison
from lawful.explain.explanation import Explanation
from lawful.explain.learning_run import (
    LearningRun,
    SearchSettings,
    SearchWatcher,
    explanation,
    found_nothing,
    learn_from,
    nothing_failed_error,
    relative_to_cwd,
)
from lawful.explain.settings import ExplainSettings, with_changes
from lawful.explain.targets import Function
from lawful.explain.version_comparison import errors_name_version

_MANY_EVENTS = 1000  # in a comparison no event is left out for the sake of a picture: it would be missed in one version

_LINE = re.compile(r":\d+$")


def explain(
    target: str | Function | None = None,
    *,
    traces: Sequence[str] = (),
    watcher: SearchWatcher = lambda bounds, states, asked: None,
    folder: str | None = None,
    settings: ExplainSettings | None = None,
    **changes: Any,
) -> Explanation:
    """The automaton of all the ways in which a target goes wrong.

    `target` is what the command line takes (`file.py:function`, `package.module:function`, a pytest node id, `file.c`,
    `file.c:function`), or a function; or there is none, and `traces` are the failing and the passing trace. What else
    can be said are the fields of `ExplainSettings`, of its bounds (`Range`) and limits (`Limits`), by their names."""
    settings = with_changes(settings, changes)
    name = _name(target, traces)
    with ExitStack() as stack:
        stack.enter_context(_errors_name_known_files())
        if target is not None:
            teacher, naming = teacher_setup.teacher_of_target(target, settings, folder, stack, relative_to_cwd)
        elif len(traces) == 2:
            teacher, naming = teacher_setup.teacher_of_traces(traces[:1], traces[1:], settings), str
        else:
            hint = "a target, or a failing and a passing trace: --traces FAILING PASSING"
            raise LawfulError("usage", "the target is missing", hint=hint)
        done = learn_from(teacher, _search_settings(settings, watcher), naming)
        if found_nothing(done):
            raise nothing_failed_error(done, settings.within, name)
        found = explanation(done, name, ends=settings.ends)
        return replace(found, warnings=(*_event_warnings(done, found, settings.events), *found.warnings))


def diff(
    old: str | Function,
    new: str | Function,
    *,
    target: str | None = None,
    watcher: SearchWatcher = lambda bounds, states, asked: None,
    folder: str | None = None,
    settings: ExplainSettings | None = None,
    **changes: Any,
) -> Comparison:
    """What two versions do differently.

    With a `target`, `old` and `new` are git revisions or folders in which it is to be found. Without one, they are
    targets themselves. All executions are compared by their events and by how they end; with an `error`, those that
    end in it, and with `end`, those that do not fail."""
    return _compare(version_comparison.diff, (old, new), target, watcher, folder, with_changes(settings, changes))


def merge(
    base: str | Function,
    a: str | Function,
    b: str | Function,
    merged: str | Function,
    *,
    target: str | None = None,
    watcher: SearchWatcher = lambda bounds, states, asked: None,
    folder: str | None = None,
    settings: ExplainSettings | None = None,
    **changes: Any,
) -> Comparison:
    """What a merge does that its branches do not, what it has lost, and what it has brought back."""
    versions = (base, a, b, merged)
    return _compare(version_comparison.merge, versions, target, watcher, folder, with_changes(settings, changes))


def _compare(
    compare: Callable[..., Comparison],
    versions: Sequence[str | Function],
    target: str | None,
    watcher: SearchWatcher,
    folder: str | None,
    settings: ExplainSettings,
) -> Comparison:
    settings = replace(settings, most_events=settings.most_events or _MANY_EVENTS)
    how = _search_settings(settings, watcher)
    with ExitStack() as stack:
        programs, warnings = _versions(stack, versions, target, settings, folder)
        names = [_name(version, ()) for version in versions]
        found = compare(names, programs, target=target, narrowed=settings.error is not None, how=how)
        return replace(found, warnings=(*warnings, *found.warnings))


def _search_settings(settings: ExplainSettings, watcher: SearchWatcher) -> SearchSettings:
    return SearchSettings(settings.learner, settings.within, settings.limits.seconds, watcher)


def _event_warnings(done: LearningRun, found: Explanation, patterns: Sequence[str]) -> tuple[str, ...]:
    """The warning where the picture shows only the error, since the program has no events."""
    own = found.alphabet.events[:-1]
    if not own:
        return (
            "the error is the only event: Lawful found no functions or events in the project's own code, to which "
            "installed packages do not belong; try a function of your own that calls them, with --event-kind calls "
            "or --event PATTERN",
        )
    if not patterns or not done.teacher.lists_executions:
        return ()
    done.at(found.bounds)
    seen = {edge.letter for edge in found.picture.edges}.union(*done.teacher.passes())
    if any(letter in seen or event.file is not None for letter, event in enumerate(own)):
        return ()
    text = f"no event of the program matches {', '.join(patterns)}"
    if found.complete and not done.search.last.report.partial:
        hint = "name a function as the traceback shows it, or an emitted event; * matches anything"
        raise LawfulError("explain-events", text, where=found.target, hint=hint)
    return (f"{text} in the executions that Lawful saw",)


def _versions(
    stack: ExitStack,
    names: Sequence[str | Function],
    target: str | None,
    settings: ExplainSettings,
    folder: str | None,
) -> tuple[list[ComparedProgram], list[str]]:
    """The versions, as programs, and the warnings about them."""
    known = stack.enter_context(_errors_name_known_files())
    shown = [_name(name, ()) for name in names]
    open_program = partial(teacher_setup.compared_program, stack=stack)
    if target is None:
        targets = [_refuse_bare_revision(name, folder) for name in names]
        ways = [partial(open_program, each, folder=folder, shown=relative_to_cwd) for each in targets]
        return _open_with_same_events(ways, shown, settings), []
    versions = []
    for name in names:
        if not isinstance(name, str):
            raise LawfulError("usage", "with a target, versions are git revisions or folders")
        versions.append(stack.enter_context(revisions.open_version(name, folder)))
        if versions[-1].taken_out:
            known[versions[-1].folder] = f"{name}:"
    target = revisions.relative_target(target, versions, folder)
    revisions.check_target_exists(target, versions)
    if settings.error is not None and _LINE.search(settings.error):
        settings = replace(settings, error=revisions.relative_target(settings.error, versions, folder))
    if isinstance(settings.inputs, str):
        settings = replace(settings, inputs=_inputs_here(settings.inputs, folder))
    changed = revisions.not_committed(versions, folder)
    ways = [partial(open_program, target, folder=each.folder, shown=each.shown) for each in versions]
    return _open_with_same_events(ways, shown, settings), [] if changed is None else [changed]


def _open_with_same_events(
    ways: Sequence[Callable[..., ComparedProgram]], names: Sequence[str], settings: ExplainSettings
) -> list[ComparedProgram]:
    """Opens versions so that an event of one version is an event in each. Otherwise it would seem to be missing.

    Which events there are is read off a program's text, or found out by running it: one version may show a function
    that another one calls in a way that cannot be read."""
    programs: list[ComparedProgram] = []
    for way, name in zip(ways, names, strict=True):
        with errors_name_version(name):
            programs.append(way(settings=settings))
    known = dict.fromkeys(letter for each in programs for letter in each.letters)
    kinds = {kind for kind, _, _ in known}
    if not settings.kinds and not settings.events and len(kinds) > 1:
        # Each program suggests a kind. Those of one say more than those of another where all have them.
        settings = replace(settings, kinds=("emits",) if "emits" in kinds else ("entries",))
        known = {letter: None for letter in known if letter[0] in settings.kinds}
    for number, (way, program) in enumerate(zip(ways, programs, strict=True)):
        own = {(kind, label) for kind, _, label in program.letters}
        also = tuple(letter for letter in known if letter[0] != "branches" and (letter[0], letter[2]) not in own)
        if also or not {kind for kind, _ in own} <= set(settings.kinds or kinds):
            program.close()
            with errors_name_version(names[number]):
                programs[number] = way(settings=replace(settings, also=also))
    return programs


def _inputs_here(inputs: str, folder: str | None) -> str:
    """The user's own inputs are the same for all versions: they are looked for here, and only then in each version."""
    file, colon, name = inputs.rpartition(":")
    here = os.path.abspath(os.path.join(folder or os.getcwd(), file))
    return f"{here}{colon}{name}" if file.endswith(".py") and os.path.isfile(here) else inputs


@contextmanager
def _errors_name_known_files() -> Iterator[dict[str, str]]:
    """Errors name files as the user does: from the current folder, or as files of a revision, whose copy will be gone.

    More folders can be added, each with what stands for it."""
    known = {os.getcwd(): ""}
    try:
        yield known
    except LawfulError as error:
        for name in ("where", "message", "hint"):
            text = getattr(error, name)
            for folder, shown in known.items() if text else ():
                begin = os.path.join(re.escape(os.path.normpath(folder)), "")
                text = re.sub(rf"(?<![\w/.-]){begin}(?=[^/])", shown.replace("\\", r"\\"), text)
                text = text.replace(f"{shown} {shown}", shown) if shown else text  # the version was named already
            setattr(error, name, text)
        raise


def _refuse_bare_revision(name: str | Function, folder: str | None) -> str | Function:
    """Refuses revisions without a target."""
    if isinstance(name, str) and ":" not in name and revisions.is_revision(name, folder):
        hint = f"--target package.module:function, beside {name}"
        raise LawfulError("usage", f"{name} is a revision: a target is needed", hint=hint)
    return name


def _name(target: str | Function | None, traces: Sequence[str]) -> str:
    if isinstance(target, str):
        return target
    if target is None:
        return ", ".join(os.path.basename(trace) for trace in traces)
    return f"{target.__module__}:{target.__qualname__}"
