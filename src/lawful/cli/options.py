"""Options and settings that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from lawful import config

Decorator = Callable[[Any], Any]

NARROW = {"max_content_width": 80}
"""The context settings of every command: help that fits a terminal of 80 columns."""

FILE = click.Path(readable=False)
"""The path of a file. `readable=False` turns off click's own check, because our errors say more."""

text_or_json = click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Choose the format.",
)
skip_bad_lines = click.option(
    "--skip-bad-lines", "skip_bad", is_flag=True, help="Skip lines that are not events, and count them."
)
store = click.option(
    "--store",
    metavar="FILE",
    type=FILE,
    help="Keep the counts of all runs in FILE, start with them, and report only what is new.",
)


def _settings(ctx: click.Context, param: click.Parameter, words: tuple[str, ...]) -> config.Config:
    return config.from_words(words)


set_option = click.option(
    "--set",
    "settings",
    metavar="KEY=VALUE",
    multiple=True,
    callback=_settings,
    help="Set KEY of [tool.lawful] for this run, as learn.window=50. `docs/configuration.md` lists all keys.",
)
"""Settings that are too rare for an option of their own. The value of the parameter is a `config.Config`."""


class HeadedCommand(click.Command):
    """A command whose help shows the options under headings."""

    def __init__(self, *args: Any, headings: Mapping[str, Sequence[str]], **more: Any) -> None:
        """`headings` has the names of the parameters under each heading; all others come last."""
        super().__init__(*args, **more)
        self._headings = headings

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        shown = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        rows = {param.name: row for param in shown if (row := param.get_help_record(ctx)) is not None}
        headed = {name for names in self._headings.values() for name in names}
        others = [name for name in rows if name not in headed]
        for heading, names in (*self._headings.items(), ("Other options", others)):
            if here := [rows[name] for name in names if name in rows]:
                with formatter.section(heading):
                    formatter.write_dl(here)


def options(*several: Decorator) -> Decorator:
    """Several options as one decorator; `--help` shows them in this order."""

    def decorate(command: Any) -> Any:
        for option in reversed(several):
            command = option(command)
        return command

    return decorate


def laws(text: str) -> Decorator:
    """`--law`, with its help."""
    return click.option("--law", "laws", metavar="FILE|NAME", multiple=True, type=FILE, help=text)


def repeatable(name: str, metavar: str, text: str) -> Decorator:
    """An option that may be given several times."""
    return click.option(name, metavar=metavar, multiple=True, help=text)
