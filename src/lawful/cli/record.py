"""``lawful record``: runs a program under watch and writes what it does into a trace file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from lawful import config
from lawful.cli import run_host
from lawful.errors import LawfulError

if TYPE_CHECKING:
    from lawful.engine.session import Session

_EXAMPLES = """
\b
Examples:
  lawful record -o run.jsonl --calls sqlite3 app.py --port 8000
  lawful record -o run.jsonl.gz --public app.models -m app
  lawful record -o run.jsonl --law files app.py
"""


@click.command(name="record", cls=run_host.ProgramCommand, epilog=_EXAMPLES, context_settings={"max_content_width": 80})
@click.argument("program", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--output",
    "-o",
    "trace",
    metavar="OUT",
    type=click.Path(readable=False),
    help="The trace: .jsonl, .json, and these with .gz or .zst after it.",
)
@click.option(
    "--law",
    "laws",
    metavar="FILE|NAME",
    multiple=True,
    type=click.Path(readable=False),
    help="Record what this law can match; it is not judged.",
)
@run_host.scope_options
@click.option("--quiet", "-q", is_flag=True, help="Do not say how much was recorded.")
@click.pass_context
def command(ctx: click.Context, /, program: tuple[str, ...], quiet: bool, **flags: Any) -> Callable[[], int]:
    """Run a program under watch and write its trace.

    The program runs as `python SCRIPT ARGUMENTS` or `python -m MODULE ARGUMENTS` would run it, with the same output
    and the same exit code. Options of Lawful come before its name. What is recorded is what --calls, --public and
    --fields ask for, and what the laws can match. The trace is written while the program runs, and is complete up to
    the last moment if it is killed.

    Exit code: the program's own.
    """
    ready = run_host.find_program(ctx, program)
    both, settings = run_host.combined_settings(ready, config.Config(**flags))
    if settings.trace is None:
        raise LawfulError("usage", "there is no trace to write", hint="name it: -o run.jsonl")
    scope = settings.scope
    if not (scope.calls or scope.public or scope.fields or both.laws):
        hint = "--calls stdlib records the calls into the standard library, --public PKG those of a package's functions"
        raise LawfulError("usage", "nothing says what to record", hint=hint)
    laws = run_host.load_laws(both.laws, both.functions)
    host = run_host.ProgramHost(ready, replace(settings, judge=False), laws, lambda session: _report(session, quiet))
    run_host.warn_before_run(host.session, both)
    return host


def _report(session: Session, quiet: bool) -> None:
    from lawful.engine.wording import count

    live = session.live
    for text in (*live.faults, *live.warnings):
        run_host.notify(text)
    if live.dropped:
        run_host.notify(f"{count(live.dropped, 'event')} dropped")
    if not quiet:
        run_host.notify(f"{count(live.events, 'event')} in {session.settings.trace}")
