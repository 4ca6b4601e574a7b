"""What `lawful explain`, `lawful diff` and `lawful merge` share: options, progress, and where the result goes."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import click

from lawful import config
from lawful.cli import trace_input
from lawful.cli.options import FILE, set_option, text_or_json
from lawful.cli.options import options as option_group
from lawful.diagnostics import printable
from lawful.errors import LawfulError

if TYPE_CHECKING:
    from lawful.explain.comparison import Comparison
    from lawful.explain.explanation import Explanation
    from lawful.explain.learning_run import SearchWatcher
    from lawful.explain.settings import ExplainSettings

Form = Literal["text", "json"]
_ENDINGS = (".svg", ".dot", ".mmd", ".html", ".json")

_number = click.IntRange(min=1)
_INTERRUPTED = 130
_CODES = {"same": 0, "differs": 1, "undecided": 3}


class _Seconds(click.FloatRange):
    """A time: `nan` is no number that anything could be compared with, and what is infinite needs no limit."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = super().convert(value, param, ctx)
        if not math.isfinite(found):
            self.fail(f"{value} is not a number of seconds", param, ctx)
        return found


_seconds = _Seconds(min=0, min_open=True)


HEADINGS = {
    "What to explain": ("traces", "target", "error", "inputs"),
    "Events": ("events", "kinds"),
    "C programs": ("include", "define"),
    "How far to look": ("unwind", "word_length", "seconds"),
    "Report": ("form", "outputs", "no_progress"),
}

options = option_group(
    click.option(
        "--event", "events", metavar="PATTERN", multiple=True, help="Show events that match PATTERN. Repeatable."
    ),
    click.option(
        "--event-kind",
        "kinds",
        type=click.Choice(["entries", "branches", "calls", "emits", "learn"]),
        multiple=True,
        help="Show events of this kind. Repeatable.",
    ),
    click.option(
        "--error",
        metavar="ERROR",
        help="Explain this error: an exception (KeyError), the line of an assertion (file.py:17), or `end` for"
        " executions that end without an error.",
    ),
    click.option("--inputs", metavar="FILE.py:NAME", help="Take the inputs of a Python function from NAME."),
    click.option(
        "--include",
        metavar="FOLDER",
        multiple=True,
        type=FILE,
        help="Look for headers of a C program in FOLDER. Repeatable.",
    ),
    click.option("--define", metavar="NAME=VALUE", multiple=True, help="Define a macro of a C program. Repeatable."),
    click.option(
        "--unwind", metavar="B", type=_number, help="Unwind loops of C programs, and bound inputs of Python, by B."
    ),
    click.option("--word-length", metavar="N", type=_number, help="Follow at most N events of an execution."),
    click.option("--seconds", metavar="S", type=_seconds, help="Stop after S seconds."),
    text_or_json,
    click.option(
        "-o",
        "--output",
        "outputs",
        metavar="FILE",
        multiple=True,
        type=FILE,
        help="Also write the result to FILE: .svg, .dot, .mmd, .html or .json. Repeatable.",
    ),
    click.option("--no-progress", is_flag=True, help="Do not show progress."),
    set_option,
)
"""The options of `explain`, `diff` and `merge`, for `settings` and `show`."""

_CONFIGURED = {
    "all_bounds": "every",
    "max_words": "words",
    "max_paths": "paths",
    "execution_seconds": "seconds_per_execution",
    "execution_memory": "megabytes",
}
"""Keys of `[tool.lawful.explain]` whose setting has another name."""


def settings(flags: dict[str, Any]) -> ExplainSettings:
    """The settings that the options and the project's configuration ask for."""
    from lawful.explain.settings import with_changes

    project = config.load(os.fspath(config.find_project(os.getcwd())))
    configured = vars(config.combined(project.explain, flags["settings"].explain))
    changes = {_CONFIGURED.get(name, name): value for name, value in configured.items() if value is not None}
    given = ("events", "kinds", "error", "inputs", "include", "define", "unwind", "word_length", "seconds")
    return with_changes(None, changes | {name: flags[name] for name in given})


def show(
    find: Callable[[SearchWatcher], Explanation | Comparison], flags: dict[str, Any], files: tuple[str | None, ...]
) -> int:
    """Finds what a command shows, writes and prints it, and gives the exit code. `files` must not be overwritten."""
    from lawful.explain.comparison import Comparison

    outputs: tuple[str, ...] = flags["outputs"]
    _look_at_outputs(outputs, files)
    try:
        with _progress(not flags["no_progress"]) as watcher:
            found = find(watcher)
    except KeyboardInterrupt:
        click.echo("interrupted before anything was found", err=True)
        return _INTERRUPTED
    _report(found, flags["form"], outputs)
    if found.interrupted:
        return _INTERRUPTED
    return _CODES[found.verdict] if isinstance(found, Comparison) else 0


def _look_at_outputs(outputs: tuple[str, ...], inputs: tuple[str | None, ...]) -> None:
    """Whether the results can be written, before there are any."""
    for output in outputs:
        if not output.endswith(_ENDINGS):
            raise LawfulError(
                "usage",
                "its name does not say what to write",
                where=output,
                hint=f"it may end in {', '.join(_ENDINGS)}",
            )
        trace_input.look_at_output(output, inputs)


def files_of(*targets: str | None) -> tuple[str | None, ...]:
    """The files of targets, which must not be overwritten."""
    return tuple((target and target.partition("::")[0].rpartition(":")[0]) or target for target in targets)


@contextmanager
def _progress(wanted: bool) -> Iterator[SearchWatcher]:
    """How far the search has come, on a terminal."""
    if not wanted or not sys.stderr.isatty():
        yield lambda bounds, states, asked: None
        return
    from lawful.cli.progress import search_progress

    with search_progress() as watcher:
        yield watcher


def _report(result: Explanation | Comparison, form: Form, outputs: tuple[str, ...]) -> None:
    """Writes the files, and prints the report."""
    for output in outputs:
        with trace_input.opened(output) as file:
            file.write(_rendered(result, os.path.splitext(output)[1]))
    if form == "json":
        click.echo(_json(result), nl=False)
        return
    from lawful.reports import explained

    show, width = trace_input.printer(sys.stdout)
    show(explained.lines(result, width=width, folder=os.getcwd()))
    for output in outputs:
        click.echo(f"written: {printable(output)}")


def _json(result: Explanation | Comparison) -> str:
    return json.dumps(result.to_json()) + "\n"


def _rendered(result: Explanation | Comparison, ending: str) -> str:
    if ending == ".json":
        return _json(result)
    if ending == ".html":
        from lawful.reports import explained_html

        return explained_html.render(result, folder=os.getcwd())
    from lawful.reports import automaton_drawing, automaton_svg, dot, mermaid

    if ending == ".svg":
        return automaton_svg.render(result)
    drawing = automaton_drawing.drawing(result)
    return dot.render(drawing) if ending == ".dot" else mermaid.render(drawing)
