"""A run as a project's configuration and the options ask for it: shared by `lawful run`, `lawful record` and pytest."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lawful.config import Config, LearnConfig
from lawful.engine.watch_settings import BUFFER, WatchSettings
from lawful.sources.python.scope import Scope

if TYPE_CHECKING:
    from lawful.engine.learner_setup import LearningHistory
    from lawful.laws.grammar.groups import Binding

HISTORY = 10
"""How many earlier events a finding shows by default."""


def watch_settings(asked: Config, project: Path, **more: Any) -> WatchSettings:
    """The settings that a configuration asks for; `more` are fields of `WatchSettings` that it does not know."""
    groups: tuple[tuple[str, tuple[Binding, ...]], ...] = ()
    if asked.groups:
        from lawful.laws.grammar.groups import read_groups

        groups = read_groups(asked.groups, where=asked.file)
    values = {
        "scope": Scope(asked.calls, asked.public, asked.fields, asked.include, asked.exclude, project),
        "trace": asked.trace,
        "history": HISTORY if asked.history is None else asked.history,
        "on_violation": asked.on_violation or "report",
        "buffer": asked.buffer or BUFFER,
        "drop": asked.when_full == "drop",
        "core": asked.core,
        "groups": groups,
        "ignore": asked.ignore,
    }
    return WatchSettings(**values | more)


def with_learner(settings: WatchSettings, asked: LearnConfig) -> tuple[WatchSettings, LearningHistory | None]:
    """The settings of a run that learns, and its store of earlier runs, if it has one."""
    from lawful.engine import learner_setup

    # The learner must not prune rules that the store should keep.
    parameters = learner_setup.parameters(asked, all_rules=asked.store is not None)
    settings = replace(settings, scope=learner_setup.widened(settings.scope), learn=parameters)
    if asked.store is None:
        return settings, None
    from lawful.reports.sources import SourceLines

    source = SourceLines(os.path.abspath(settings.scope.project))
    return settings, learner_setup.LearningHistory(asked.store, source.function)
