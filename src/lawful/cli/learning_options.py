"""What the commands share that learn: their options, and what these and a project's configuration ask for together."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from lawful import config
from lawful.cli.options import options, store
from lawful.cli.trace_input import look_at_output, opened, words
from lawful.errors import LawfulError

if TYPE_CHECKING:
    from lawful.learning.learner import Learner
    from lawful.learning.parameters import Learning


def _thresholds(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[tuple[str, float], ...]:
    found = []
    for text in values:
        name, _, value = text.partition("=")
        try:
            found.append((name.strip(), float(value)))
        except ValueError:
            raise click.BadParameter(f"{text!r} is not NAME=NUMBER", ctx=ctx, param=param) from None
    return tuple(found)


learner_options = options(
    click.option(
        "--window", metavar="N", type=int, help="Relate events that are at most N events apart.  [default: 25]"
    ),
    click.option("--budget", metavar="N", type=int, help="Report at most about N anomalies.  [default: 10]"),
    click.option(
        "--template",
        "templates",
        metavar="PATTERN",
        multiple=True,
        help="Add a template: a regular expression over a and b, such as `a+bb`.",
    ),
    click.option(
        "--without-template",
        "without_templates",
        metavar="PATTERN",
        multiple=True,
        help="Leave out this template; `all` leaves out the usual nine.",
    ),
    click.option(
        "--strategy", metavar="TEXT", help="Choose which rules count.  [default: meet(count, ratio, context)]"
    ),
    click.option(
        "--threshold",
        "thresholds",
        metavar="NAME=NUMBER",
        multiple=True,
        callback=_thresholds,
        help="Set the start of a threshold, such as ratio.enforce=0.9.",
    ),
    click.option("--seed", metavar="N", type=int, help="Seed the tuner's random choices.  [default: 0]"),
    click.option("--tune/--no-tune", default=None, help="Move thresholds to meet the budget, or leave them."),
    click.option(
        "--join",
        "joins",
        metavar="WORDS",
        multiple=True,
        help="Learn rules about several objects: result, arguments, family.",
    ),
    store,
    click.option("--known", is_flag=True, help="Also report the anomalies that earlier runs in the store had."),
)
"""How rules are learned. What is in range, the learner itself knows: it says the same to all who ask."""


def given(flags: Mapping[str, Any]) -> config.LearnConfig:
    """The options in the form of the configuration."""
    return config.LearnConfig(**{**flags, "joins": words(flags["joins"]), "known": flags["known"] or None})


def parameters(asked: config.LearnConfig, **more: Any) -> Learning:
    """The parameters of the learner."""
    from lawful.engine import learner_setup

    return learner_setup.parameters(asked, **more)


def look_at_export(path: str | None, inputs: Iterable[str | None] = ()) -> str | None:
    """Refuse a bad file name for a law before anything is done. The path is absolute: programs change folders."""
    if path is None:
        return None
    if not path.endswith(".rml"):
        raise LawfulError("usage", "the name of a law ends in .rml", where=path)
    look_at_output(path, inputs, "law")
    return os.path.abspath(path)


def export(learner: Learner, path: str) -> None:
    """Write the enforced rules as a law."""
    from lawful.learning.export import to_rml

    found = learner.anomalies()
    spoken = [anomaly.rule for anomaly in (*found, *found.known)]
    text = to_rml(learner.rules(), spoken, window=learner.parameters.window, histories=learner.history_rules().rules())
    with opened(path) as target:
        target.write(text)
