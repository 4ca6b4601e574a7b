"""Options of the commands that report findings: the format, the file, and the baseline."""

from __future__ import annotations

import click

from lawful.cli.options import FILE, Decorator, options
from lawful.diagnostics import printable
from lawful.reports.formats import FORMATS

_GUESSED = "by the name of FILE: .json, .sarif, .xml, .html; else text"


def report_options(where: str) -> Decorator:
    """Options of the report; `where` says to which place it goes by default."""
    return options(
        click.option("--output", "-o", metavar="FILE", type=FILE, help=f"Write the report there.  [default: {where}]"),
        click.option("--format", "form", type=click.Choice(FORMATS), help=f"Choose the format.  [default: {_GUESSED}]"),
        click.option("--baseline", metavar="FILE", type=FILE, help="Hide the known findings that this file lists."),
        click.option("--update-baseline", is_flag=True, hidden=True),  # of `lawful baseline update`
    )


def notify_baseline_written(path: str | None, written: int | None) -> None:
    """That a baseline was written, on standard error."""
    if written is not None and path is not None:
        click.echo(f"{printable(path)}: {baseline_written(written)}", err=True)


def baseline_written(written: int) -> str:
    """How many findings a baseline has now."""
    return f"{written:,} {'finding is' if written == 1 else 'findings are'} known from now on"
