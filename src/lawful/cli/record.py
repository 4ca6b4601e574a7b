"""``lawful record``: runs a program under watch and writes what it does into a trace file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from lawful import config
from lawful.cli import options, program_options
from lawful.cli.law_input import load_laws
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


@click.command(
    name="record",
    cls=program_options.ProgramCommand,
    headings={"What to record": ("laws", "calls", "public", "exclude")},
    epilog=_EXAMPLES,
    context_settings=options.NARROW,
)
@click.argument("program", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--output",
    "-o",
    "trace",
    metavar="OUT",
    type=options.FILE,
    help="Write the trace to OUT: .jsonl or .json, or these with .gz or .zst after it.",
)
@options.laws("Record the events that this law can match; the law itself is not checked.")
@program_options.scope_options
@click.option("--quiet", "-q", is_flag=True, help="Do not print how many events were recorded.")
@click.pass_context
def command(
    ctx: click.Context, /, program: tuple[str, ...], quiet: bool, settings: config.Config, **flags: Any
) -> Callable[[], int]:
    """Run a program under watch and write its trace.

    The program runs as `python SCRIPT ARGUMENTS` or `python -m MODULE ARGUMENTS` would run it, with the same output
    and the same exit code. Put Lawful's options before its name. Lawful records what --calls and --public name, and
    what the laws can match. It writes the trace while the program runs: if the program is killed, the trace is
    complete up to that moment.

    Exit code: the program's own.
    """
    found = program_options.find_program(ctx, program)
    both, watched = program_options.combined_settings(found, config.combined(settings, config.Config(**flags)))
    if watched.trace is None:
        raise LawfulError("usage", "there is no trace to write", hint="name it: -o run.jsonl")
    scope = watched.scope
    if not (scope.calls or scope.public or scope.fields or both.laws):
        hint = "--calls stdlib records the calls into the standard library, --public PKG those of a package's functions"
        raise LawfulError("usage", "nothing says what to record", hint=hint)
    laws = load_laws(both.laws, both.functions)
    host = ProgramHost(found, replace(watched, judge=False), laws, lambda session: _report(session, quiet))
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
