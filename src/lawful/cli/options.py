"""Options and settings that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from lawful import config

Decorator = Callable[[Any], Any]

NARROW = {"max_content_width": 80}
"""The context settings of every command: help that fits a terminal of 80 columns."""

FILE = click.Path(readable=False)
"""The path of a file. `readable=False` turns off click's own check, because our errors say more."""

text_or_json = click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
skip_bad_lines = click.option(
    "--skip-bad-lines", "skip_bad", is_flag=True, help="Go on after lines that are no events, and count them."
)
functions = click.option(
    "--functions",
    metavar="FILE.py",
    multiple=True,
    type=FILE,
    help="Run this file first: views may call its functions.",
)
diagram = click.option(
    "--diagram",
    metavar="OUT.svg",
    type=FILE,
    help="Draw how a view was broken; .mmd or .md for Mermaid. Further violations go to OUT-2.svg and so on.",
)


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


def history(text: str) -> Decorator:
    """`--history`, with its help."""
    return click.option("--history", metavar="N", type=click.IntRange(0, config.MAX_COUNT), help=text)


def repeatable(name: str, metavar: str, text: str) -> Decorator:
    """An option that may be given several times."""
    return click.option(name, metavar=metavar, multiple=True, help=text)
