"""``lawful explain``: one picture of all the ways in which a program fails."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import click

from lawful.cli import explain_options, trace_input
from lawful.cli.options import FILE, NARROW
from lawful.errors import LawfulError

_EXAMPLES = """
\b
Examples:
  lawful explain sort.py:merge_sort
  lawful explain package.module:function --error ValueError -o picture.html
  lawful explain tests/test_sort.py::test_sorted
  lawful explain list.c --unwind 2 -o picture.svg
  lawful explain docking.c:step --explain-end
  lawful explain --traces failing.jsonl passing.jsonl
"""


@click.command(name="explain", epilog=_EXAMPLES, context_settings=NARROW)
@click.argument("target", metavar="[TARGET]", required=False)
@click.option(
    "--traces",
    metavar="FAILING PASSING",
    nargs=2,
    type=FILE,
    help="Explain recorded traces, files or folders of files, in the place of a target.",
)
@click.option("--explain-end", is_flag=True, help="Explain all executions that come to their end, not an error.")
@explain_options.options(learners=("auto", "words", "table", "tree", "dont-care"))
def command(
    target: str | None,
    traces: tuple[str, str] | None,
    explain_end: bool,
    **flags: Any,
) -> int:
    """Show all the ways in which a program fails, as one automaton.

    TARGET is file.py:function, package.module:function, a pytest node id, file.c or file.c:function. Its
    executions within bounds are sequences of events, such as the functions that are called. The automaton accepts
    those that end in the error. Bounds are searched if they are not given. Events that all failing
    executions have are marked with `*`, and drawn bold; states after which all executions fail are marked with D.

    Exit code: 0, there is an explanation; 2, bad usage or bad input, or nothing fails; 130, interrupted, with what
    there was by then.
    """
    from lawful.explain.api import explain
    from lawful.explain.compared_program import END

    if (target is None) is (traces is None):
        raise LawfulError(
            "usage",
            "there is no target" if target is None else "a target and traces are given",
            hint="give a target, as file.py:function or file.c, or a failing and a passing trace with --traces",
        )
    wanted = explain_options.settings(flags)
    if explain_end:
        if wanted.error not in (None, END):
            raise LawfulError("usage", "--explain-end explains the end: there is no --error with it")
        wanted = replace(wanted, error=END)
    trace_input.look_at_traces([trace for trace in traces or () if not os.path.isdir(trace)])
    files = (*explain_options.files_of(target), *(traces or ()))
    return explain_options.show(
        lambda watcher: explain(target, traces=traces or (), settings=wanted, watcher=watcher), flags, files
    )
