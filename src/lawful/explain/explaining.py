"""What a user calls: explain a target, compare two versions of it, look into a merge of four."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from lawful.errors import LawfulError
from lawful.explain import differences, opening, revisions
from lawful.explain.differences import Comparison, How
from lawful.explain.explanation import Explanation
from lawful.explain.model import Teacher
from lawful.explain.opening import END, Function, Settings, changed
from lawful.explain.studying import (
    Naming,
    Study,
    Watcher,
    explanation,
    from_here,
    left_out,
    nothing,
    sees,
    study,
    unreachable,
)

_MANY_EVENTS = 1000  # in a comparison no event is left out for the sake of a picture: it would be missed in one version

_LINE = re.compile(r":\d+$")


def explain(
    target: str | Function | None = None,
    *,
    traces: Sequence[str] = (),
    watcher: Watcher = lambda bounds, states, asked: None,
    folder: str | None = None,
    settings: Settings | None = None,
    **changes: Any,
) -> Explanation:
    """The automaton of all the ways in which a target goes wrong.

    `target` is what the command line takes (`file.py:function`, `package.module:function`, a pytest node id, `file.c`,
    `file.c:function`), or a function; or there is none, and `traces` are the failing and the passing trace. What else
    can be said are the fields of `Settings`, of its bounds (`Range`) and its limits (`Limits`), by their names."""
    settings = changed(settings, changes)
    name = _name(target, traces)
    with ExitStack() as stack:
        opened = _opened(target, traces, settings, folder, stack)
        done = study(
            opened.teacher,
            learner=settings.learner,
            within=settings.within,
            seconds=settings.limits.seconds,
            watcher=watcher,
            naming=opened.naming(from_here),
        )
        if nothing(done):
            raise unreachable(done, settings.within, name)
        found = explanation(done, name, ends=settings.ends)
        return replace(found, warnings=(*_about_events(done, found, settings.events), *found.warnings))


def diff(
    old: str | Function,
    new: str | Function,
    *,
    target: str | None = None,
    watcher: Watcher = lambda bounds, states, asked: None,
    folder: str | None = None,
    settings: Settings | None = None,
    **changes: Any,
) -> Comparison:
    """What two versions do differently.

    With a `target`, `old` and `new` are git revisions or folders in which it is to be found. Without one, they are
    targets themselves. All executions are compared, or with an `error`, those that end in it."""
    settings = _comparing(changed(settings, changes))
    with ExitStack() as stack:
        teachers = _versions(stack, (old, new), target, settings, folder)
        names = (_name(old, ()), _name(new, ()))
        return differences.diff(names, teachers, target=target, ends=settings.ends, how=_how(settings, watcher))


def merge(
    base: str | Function,
    a: str | Function,
    b: str | Function,
    merged: str | Function,
    *,
    target: str | None = None,
    watcher: Watcher = lambda bounds, states, asked: None,
    folder: str | None = None,
    settings: Settings | None = None,
    **changes: Any,
) -> Comparison:
    """What a merge does that its branches do not, what it has lost, and what it has brought back."""
    settings = _comparing(changed(settings, changes))
    with ExitStack() as stack:
        teachers = _versions(stack, (base, a, b, merged), target, settings, folder)
        names = (_name(base, ()), _name(a, ()), _name(b, ()), _name(merged, ()))
        return differences.merge(names, teachers, target=target, ends=settings.ends, how=_how(settings, watcher))


def _about_events(done: Study, found: Explanation, patterns: Sequence[str]) -> tuple[str, ...]:
    """What is to be said where the picture shows nothing but the error, since it has no events."""
    own = found.alphabet.events[:-1]
    if not own:
        return (
            "there are no events but the error: no functions or events of the project's own code were found, and "
            "what is installed is not its own; try a function of your own that calls it, with --event-kind calls "
            "or --event PATTERN",
        )
    if not patterns or not sees(done.teacher):
        return ()
    done.at(found.bounds)
    seen = {edge.letter for edge in found.picture.edges}.union(*done.teacher.passes())
    if any(letter in seen or event.file is not None for letter, event in enumerate(own)):
        return ()
    text = f"no event of the program matches {', '.join(patterns)}"
    if found.complete and not left_out(done.search.last.report):
        hint = "the name of a function, as the traceback shows it, or of what is emitted; * matches anything"
        raise LawfulError("explain-events", text, where=found.target, hint=hint)
    return (f"{text}, as far as was seen",)


def _how(settings: Settings, watcher: Watcher) -> How:
    return How(settings.learner, settings.within, settings.limits.seconds, watcher)


def _comparing(settings: Settings) -> Settings:
    return replace(settings, error=settings.error or END, most_events=settings.most_events or _MANY_EVENTS)


def _versions(
    stack: ExitStack,
    names: Sequence[str | Function],
    target: str | None,
    settings: Settings,
    folder: str | None,
) -> list[tuple[Teacher, Naming]]:
    """A teacher for each version, and how its files are shown."""
    if target is None:
        found = [_opened(_checked(name, folder), (), settings, folder, stack) for name in names]
        return [(each.teacher, each.naming(from_here)) for each in found]
    versions = []
    for name in names:
        if not isinstance(name, str):
            raise LawfulError("usage", "with a target, versions are git revisions or folders")
        versions.append(stack.enter_context(revisions.opened(name, folder)))
    target = revisions.in_versions(target, versions, folder)
    revisions.look_for(target, versions)
    if settings.error is not None and _LINE.search(settings.error):
        settings = replace(settings, error=revisions.in_versions(settings.error, versions, folder))
    teachers: list[tuple[Teacher, Naming]] = []
    for version in versions:
        opened = _opened(target, (), settings, version.folder, stack)
        teachers.append((opened.teacher, opened.naming(version.shown)))
    return teachers


def _checked(name: str | Function, folder: str | None) -> str | Function:
    """Somebody who compares revisions without saying of what is told so."""
    if isinstance(name, str) and ":" not in name and revisions.is_revision(name, folder):
        raise LawfulError(
            "usage",
            f"{name} is a revision: a target is needed",
            hint=f"--target package.module:function, beside {name}",
        )
    return name


def _opened(
    target: str | Function | None,
    traces: Sequence[str],
    settings: Settings,
    folder: str | None,
    stack: ExitStack,
) -> opening.Opened:
    """A teacher for a target, which is closed with the stack."""
    if target is not None:
        return opening.opened(target, settings, folder, stack)
    if len(traces) == 2:
        return opening.of_traces(traces[:1], traces[1:], settings)
    hint = "a target, or a failing and a passing trace: --traces FAILING PASSING"
    raise LawfulError("usage", "there is no target", hint=hint)


def _name(target: str | Function | None, traces: Sequence[str]) -> str:
    if isinstance(target, str):
        return target
    if target is None:
        return ", ".join(os.path.basename(trace) for trace in traces)
    return f"{target.__module__}:{target.__qualname__}"
