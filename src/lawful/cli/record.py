"""``lawful record``: runs a program under watch and writes what it does into a trace file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from lawful import config
from lawful.cli import options, program_options
from lawful.cli.protected_output import notify
from lawful.cli.run_host import ProgramHost
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


@click.command(name="record", cls=program_options.ProgramCommand, epilog=_EXAMPLES, context_settings=options.NARROW)
@click.argument("program", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--output",
    "-o",
    "trace",
    metavar="OUT",
    type=options.FILE,
    help="The trace: .jsonl, .json, and these with .gz or .zst after it.",
)
@options.laws("Record what this law can match; it is not judged.")
@program_options.scope_options
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
    found = program_options.find_program(ctx, program)
    both, settings = program_options.combined_settings(found, config.Config(**flags))
    if settings.trace is None:
        raise LawfulError("usage", "there is no trace to write", hint="name it: -o run.jsonl")
    scope = settings.scope
    if not (scope.calls or scope.public or scope.fields or both.laws):
        hint = "--calls stdlib records the calls into the standard library, --public PKG those of a package's functions"
        raise LawfulError("usage", "nothing says what to record", hint=hint)
    laws = program_options.load_laws(both.laws, both.functions)
    host = ProgramHost(found, replace(settings, judge=False), laws, lambda session: _report(session, quiet))
    program_options.warn_before_run(host.session, both)
    return host


def _report(session: Session, quiet: bool) -> None:
    from lawful.engine.wording import count

    live = session.live
    for text in (*live.errors, *live.warnings):
        notify(text)
    if live.dropped:
        notify(f"{count(live.dropped, 'event')} dropped")
    if not quiet:
        notify(f"{count(live.events, 'event')} in {session.settings.trace}")
