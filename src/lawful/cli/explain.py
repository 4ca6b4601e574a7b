"""``lawful explain``: one picture of all the ways in which a program fails."""

from __future__ import annotations

import os
from typing import Any

import click

from lawful.cli import explain_options, trace_input
from lawful.cli.options import FILE, NARROW, HeadedCommand
from lawful.errors import LawfulError

_EXAMPLES = """
\b
Examples:
  lawful explain sort.py:merge_sort
  lawful explain package.module:function --error ValueError -o picture.html
  lawful explain tests/test_sort.py::test_sorted
  lawful explain list.c --unwind 2 -o picture.svg
  lawful explain docking.c:step --error end
  lawful explain --traces failing.jsonl passing.jsonl
"""


@click.command(
    name="explain", cls=HeadedCommand, headings=explain_options.HEADINGS, epilog=_EXAMPLES, context_settings=NARROW
)
@click.argument("target", metavar="[TARGET]", required=False)
@click.option(
    "--traces",
    metavar="FAILING PASSING",
    nargs=2,
    type=FILE,
    help="Explain recorded traces (files or folders) instead of a target.",
)
@explain_options.options
def command(
    target: str | None,
    traces: tuple[str, str] | None,
    **flags: Any,
) -> int:
    """Show all the ways in which a program fails, as one automaton.

    TARGET is file.py:function, package.module:function, a pytest node id, file.c or file.c:function. An execution is
    a sequence of events, such as the functions that it calls. The automaton accepts the executions within bounds that
    end in the error. Lawful searches for bounds if you give none. `*` and bold type mark events that all failing
    executions have; D marks states after which all executions fail.

    Exit code: 0, there is an explanation; 2, bad usage or bad input, or nothing fails; 130, interrupted, with the
    result up to then.
    """
    from lawful.explain.api import explain

    if (target is None) is (traces is None):
        raise LawfulError(
            "usage",
            "there is no target" if target is None else "a target and traces are given",
            hint="give a target, as file.py:function or file.c, or a failing and a passing trace with --traces",
        )
    wanted = explain_options.settings(flags)
    trace_input.look_at_traces([trace for trace in traces or () if not os.path.isdir(trace)])
    files = (*explain_options.files_of(target), *(traces or ()))
    return explain_options.show(
        lambda watcher: explain(target, traces=traces or (), settings=wanted, watcher=watcher), flags, files
    )
