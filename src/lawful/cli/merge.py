"""``lawful merge``: what a merge does that its branches do not."""

from __future__ import annotations

from typing import Any

import click

from lawful.cli import explain_options
from lawful.cli.options import NARROW, HeadedCommand

_EXAMPLES = """
\b
Examples:
  lawful merge base.py:main a.py:main b.py:main merged.py:main
  lawful merge $(git merge-base a b) a b HEAD --target package.module:function
  lawful merge base.c a.c b.c merged.c -o merge.svg
"""


@click.command(
    name="merge", cls=HeadedCommand, headings=explain_options.HEADINGS, epilog=_EXAMPLES, context_settings=NARROW
)
@click.argument("base", metavar="BASE")
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.argument("merged", metavar="MERGED")
@click.option("--target", metavar="TARGET", help="Compare this target, if the versions are revisions or folders.")
@explain_options.options
def command(
    base: str,
    a: str,
    b: str,
    merged: str,
    target: str | None,
    **flags: Any,
) -> int:
    """Show what a merge made of two branches.

    BASE is what both branches began with, A and B are the branches, MERGED is what came out. All are given as for
    `lawful diff`. The report has what MERGED does and A does not, what it does and B does not, and what calls for a
    look: what neither branch does, what a branch has added and is gone, what a branch has removed and is back.

    Exit code: 0, nothing calls for a look within the bounds; 1, something does; 2, bad usage or bad input; 3,
    undecided, since executions were cut off; 130, interrupted, with what was compared by then.
    """
    from lawful.explain.api import merge

    wanted = explain_options.settings(flags)
    files = explain_options.files_of(*((target,) if target else (base, a, b, merged)))
    return explain_options.show(
        lambda watcher: merge(base, a, b, merged, target=target, settings=wanted, watcher=watcher), flags, files
    )
