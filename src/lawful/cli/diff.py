"""``lawful diff``: what two versions of a program do differently."""

from __future__ import annotations

from typing import Any

import click

from lawful.cli import explain_options
from lawful.cli.options import NARROW, HeadedCommand

_EXAMPLES = """
\b
Examples:
  lawful diff HEAD~1 HEAD --target package.module:function
  lawful diff main . --target sort.py:merge_sort --error AssertionError
  lawful diff old.c new.c
  lawful diff v1.py:step v2.py:step --format json -o difference.svg
"""


@click.command(
    name="diff", cls=HeadedCommand, headings=explain_options.HEADINGS, epilog=_EXAMPLES, context_settings=NARROW
)
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option("--target", metavar="TARGET", help="Compare this target, if OLD and NEW are revisions or folders.")
@explain_options.options
def command(
    old: str,
    new: str,
    target: str | None,
    **flags: Any,
) -> int:
    """Show what two versions of a program do differently.

    With --target, OLD and NEW are git revisions, or folders (`.`: the files as they are now); your files are left
    alone. Without it they are targets themselves, as for `lawful explain`. Each side of the difference is an
    automaton, with words that only one version has, and inputs. All executions are compared, by their events and by
    how they end: well, or with which exception. --error narrows this to those that end in it, --error end to those
    that come to their end.

    Exit code: 0, no difference within the bounds; 1, the behaviour differs; 2, bad usage or bad input; 3, undecided,
    since executions were cut off; 130, interrupted, with what was compared by then.
    """
    from lawful.explain.api import diff

    wanted = explain_options.settings(flags)
    files = explain_options.files_of(*((target,) if target else (old, new)))
    return explain_options.show(
        lambda watcher: diff(old, new, target=target, settings=wanted, watcher=watcher), flags, files
    )
