"""``lawful run``: a program under the eyes of laws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import click

from lawful import config
from lawful.cli import hosting
from lawful.errors import LawfulError

_EXAMPLES = """
\b
Examples:
  lawful run --law files.rml app.py --port 8000
  lawful run --law files --law locks -m app
  lawful run --law sql.rml --calls sqlite3 --trace run.jsonl app.py
"""


# Paths are `readable=False`, which only turns click's own check off: our errors say more.
@click.command(name="run", cls=hosting.Hosting, epilog=_EXAMPLES, context_settings={"max_content_width": 80})
@click.argument("program", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--law",
    "laws",
    metavar="FILE|NAME",
    multiple=True,
    type=click.Path(readable=False),
    help="A law: a file, or a name of the catalogue that comes with Lawful.",
)
@hosting.scope_options
@click.option(
    "--trace",
    metavar="OUT",
    type=click.Path(readable=False),
    help="Write the events to this file while the program runs.",
)
@click.option(
    "--output",
    metavar="FILE",
    type=click.Path(readable=False),
    help="Write the report there.  [default: standard error]",
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option(
    "--on-violation",
    type=click.Choice(config.ON_VIOLATION),
    help="Report it at the end, raise lawful.Violation before the call that breaks the law, or stop the program."
    "  [default: report]",
)
@click.option(
    "--fail-on",
    type=click.Choice(config.FAIL_ON),
    help="Exit with 1 for findings even if the program's own code is another, or never for them.",
)
@click.option(
    "--history",
    metavar="N",
    type=click.IntRange(min=0),
    help="How many earlier events to show with a finding.  [default: 10]",
)
@click.option("--quiet", "-q", is_flag=True, help="Say nothing if nothing was found.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    program: tuple[str, ...],
    output: str | None,
    form: Literal["text", "json"],
    quiet: bool,
    **flags: Any,
) -> Callable[[], int]:
    """Run a program under watch and judge what it does.

    The program runs as `python SCRIPT ARGUMENTS` or `python -m MODULE ARGUMENTS` would run it, with the same output
    and the same exit code. Options of Lawful come before its name. What is watched is what the laws can match, and
    what --calls, --public and --fields ask for. More is read from [tool.lawful] in the pyproject.toml of the
    program's project.

    Exit code: the program's own; if that is 0 and a law was broken, 1.
    """
    ready = hosting.prepare(ctx, program)
    given = config.Config(**flags)
    both, settings = hosting.settled(ready, given)
    if not (both.laws or settings.trace):
        hint = "--law FILE, a name of the catalogue as in --law files, or laws in [tool.lawful] of pyproject.toml"
        raise LawfulError("usage", "there is no law to judge the program by, and no trace to write", hint=hint)
    laws = hosting.load_laws(both.laws)
    file = hosting.open_report(output, [*both.laws, settings.trace])
    host = hosting.Host(
        ready, settings, laws, lambda session: hosting.write_report(session, file, form, quiet), both.fail_on
    )
    hosting.warn_before(host.session, both)
    return host
