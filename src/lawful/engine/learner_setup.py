"""Sets a learner up from options, configuration and earlier runs, and keeps its counts for later ones."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lawful.config import LearnConfig
from lawful.errors import LawfulError
from lawful.learning import templates
from lawful.learning.parameters import Learning
from lawful.learning.reported_before import FunctionOf, ReportedBefore
from lawful.sources.python.scope import Scope

if TYPE_CHECKING:
    from lawful.learning.learner import Learner

USUAL = "all"  # for `--without-template`: all default templates
EVERYTHING = "*"  # the default scope of learning: calls from own code to other code


def parameters(asked: LearnConfig, **more: Any) -> Learning:
    """What options and configuration ask for, as the learner has it."""
    values: dict[str, Any] = {
        "window": asked.window,
        "budget": asked.budget,
        "strategy": asked.strategy,
        "seed": asked.seed,
        "tune": asked.tune,
    }
    return Learning(
        templates=chosen(asked.templates, asked.without_templates),
        thresholds=dict(asked.thresholds),
        joins=frozenset(asked.joins),
        **{name: value for name, value in values.items() if value is not None},
        **more,
    )


def chosen(added: Sequence[str], removed: Sequence[str]) -> tuple[str, ...]:
    """The usual templates and the added ones, without the removed ones: whatever means the same."""
    usual = () if USUAL in removed else templates.DEFAULT
    kept = templates.distinct((*usual, *added))
    for text in removed:
        if text == USUAL:
            continue
        meant = templates.scenario(text)
        left = tuple(each for each in kept if templates.scenario(each) not in (meant, meant.swapped()))
        if left == kept:
            raise LawfulError(
                "template-unknown",
                f"`{text}` is not a template of this run, so it cannot be left out",
                hint=f"there are {', '.join(f'`{each}`' for each in kept)}",
            )
        kept = left
    return kept


def widened(scope: Scope) -> Scope:
    """The scope of a run that learns: if none was given, there must be something to learn from."""
    if scope.calls or scope.public or scope.fields:
        return scope
    return Scope((EVERYTHING,), (), (), scope.include, scope.exclude, scope.project)


class LearningHistory:
    """A store of earlier runs. It is open only while it is used: what a program forks must not inherit it."""

    def __init__(self, path: str, function: FunctionOf) -> None:
        """Raises what is wrong with the file. `function` finds the function of a line: it identifies anomalies."""
        from lawful.learning.store import Store  # SQLite is for those who use it

        Store(path).close()
        self._path = os.path.abspath(path)  # the program may change the folder
        self._function = function

    def recall(self, learner: Learner) -> None:
        """Give the learner what earlier runs have counted and reported."""
        from lawful.learning.store import Store

        with Store(self._path) as store:
            learner.reported_before = ReportedBefore(store.reported(), self._function)
            learner.remember(store.known(learner.parameters.templates), store.histories(), store.novelty())

    def keep(self, learner: Learner) -> None:
        """Add what this run has counted and reported."""
        from lawful.learning.store import Run, Store, new_run_id

        learned_with = learner.parameters
        with Store(self._path) as store:
            run = Run(new_run_id(), learner.events, learned_with.window)
            counted, histories = learner.shared_pairs(), learner.shared_histories()
            store.add([run], learned_with.templates, counted, histories, learner.report_record(), learner.novelty())
