"""``lawful baseline``: writes down which findings are known, so that reports show only new ones."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import click

from lawful import config
from lawful.cli.options import FILE, NARROW
from lawful.cli.reporting import baseline_written
from lawful.diagnostics import printable
from lawful.errors import LawfulError
from lawful.reports import baseline as baselines
from lawful.reports.fingerprints import Mark

_RUNS = ("run", "check", "learn")
"""Commands whose findings can go into a baseline."""

_EXAMPLES = """
\b
Examples:
  lawful run --law std --format json -o report.json app.py
  lawful baseline update report.json
  lawful baseline update --add night.json
  lawful baseline update run --law std app.py
  lawful run --law std --baseline lawful-baseline.json app.py

A report of the name run, check or learn is ./run.
"""


@click.group(name="baseline", no_args_is_help=True, epilog=_EXAMPLES, context_settings=NARROW)
def command() -> None:
    """Record which findings are known: `--baseline FILE` hides them."""


class _Update(click.Command):
    """Has other commands beside its arguments: `run`, `check` and `learn`, with all that follows these."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if args[:1] and args[0] in _RUNS:
            inner: click.Command = importlib.import_module(f"lawful.cli.{args[0]}").command
            return inner.make_context(args[0], ["--update-baseline", *args[1:]], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@command.command(name="update", cls=_Update, epilog=_EXAMPLES, context_settings=NARROW)
@click.argument("reports", metavar="REPORT...", nargs=-1, required=True, type=FILE)
@click.option(
    "--baseline",
    "path",
    metavar="FILE",
    type=FILE,
    help=f"Write this baseline.  [default: that of pyproject.toml, or {config.BASELINE} beside it]",
)
@click.option("--add", is_flag=True, help="Keep what is in the baseline already, and add to it.")
def update(reports: tuple[str, ...], path: str | None, add: bool) -> None:
    """Write the findings of reports into the baseline.

    A REPORT is what `--format json` writes, of `lawful run`, `lawful check` or `lawful learn`; `-` is standard input.
    Instead of a report there can be a whole command, as in `lawful baseline update run app.py`: it is run, and what it
    finds is known from then on.
    """
    from lawful.config import find_project

    folder = os.fspath(find_project(os.getcwd()))
    path = path or config.load(folder).baseline or os.path.relpath(os.path.join(folder, config.BASELINE))
    baselines.check_writable(path)
    found: list[Mark] = []
    for report in reports:
        found = baselines.merged(found, baselines.marks_in(_decoded(report), report))
    if add and os.path.exists(path):
        found = baselines.merged(baselines.parse(_content(path), path), found)
    baselines.write(path, found)
    click.echo(f"{printable(path)}: {baseline_written(len(found))}")


def _content(path: str) -> bytes:
    if path == "-":
        return sys.stdin.buffer.read()
    with open(path, "rb") as file:
        return file.read()


def _decoded(path: str) -> Any:
    import json

    try:
        return json.loads(_content(path))
    except (ValueError, RecursionError) as error:
        hint = "write one with `--format json`"
        raise LawfulError("baseline-report", "this is not a JSON report of Lawful", where=path, hint=hint) from error
