"""What `lawful explain`, `lawful diff` and `lawful merge` share: options, progress, and where the result goes."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from lawful.cli import trace_input
from lawful.cli.options import FILE, text_or_json
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
_Command = TypeVar("_Command", bound=Callable[..., Any])

_number = click.IntRange(min=1)
_INTERRUPTED = 130
_CODES = {"same": 0, "differs": 1, "undecided": 3}


class _Seconds(click.FloatRange):
    """A time: `nan` is no number that anything could be compared with, and what is infinite needs no limit."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = super().convert(value, param, ctx)
        if not math.isfinite(found):
            self.fail(f"{value} is no number of seconds", param, ctx)
        return found


_seconds = _Seconds(min=0, min_open=True)


_EXPLORING_OPTIONS = (
    click.option("--event", "events", metavar="PATTERN", multiple=True, help="An event to see. Repeatable."),
    click.option(
        "--event-kind",
        "kinds",
        type=click.Choice(["entries", "branches", "calls", "emits", "learn"]),
        multiple=True,
        help="Which kinds of events. Repeatable.",
    ),
    click.option("--error", metavar="ERROR", help="An exception, an assertion's line, or end: KeyError, file.py:17."),
    click.option("--inputs", metavar="FILE.py:NAME", help="Where the inputs of a Python function come from."),
    click.option("--samples", metavar="N", type=_number, default=2000, show_default=True, help="Of --way testing."),
    click.option("--seed", metavar="N", type=int, default=0, show_default=True, help="Of --way testing."),
    click.option(
        "--include",
        metavar="FOLDER",
        multiple=True,
        type=FILE,
        help="Where headers of a C program are. Repeatable.",
    ),
    click.option("--define", metavar="NAME=VALUE", multiple=True, help="A macro of a C program. Repeatable."),
    click.option("--unwind", metavar="B", type=_number, help="Fix the loops of C, the size of inputs of Python."),
    click.option("--word-length", metavar="N", type=_number, help="Fix how many events a word can have."),
    click.option("--max-unwind", metavar="B", type=_number, default=4, show_default=True, help="Search up to this."),
    click.option(
        "--max-word-length", metavar="N", type=_number, default=40, show_default=True, help="Search up to this."
    ),
    click.option("--all-bounds", is_flag=True, help="Go on to the greatest bounds, also when nothing changes."),
    click.option(
        "--way",
        type=click.Choice(["auto", "exhaustive", "symbolic", "testing"]),
        default="auto",
        show_default=True,
        help="How a Python program is explored.",
    ),
    click.option(
        "--teacher",
        type=click.Choice(["one-run", "asking"]),
        default="one-run",
        show_default=True,
        help="How a C program is explored: at once, or a process for each question.",
    ),
)
_LIMIT_AND_OUTPUT_OPTIONS = (
    click.option("--seconds", metavar="S", type=_seconds, help="Stop after this time."),
    click.option(
        "--max-words",
        metavar="N",
        type=_number,
        default=100_000,
        show_default=True,
        help="Stop after so many words.",
    ),
    click.option(
        "--max-paths", metavar="N", type=_number, default=1_000_000, show_default=True, help="And executions."
    ),
    click.option(
        "--execution-seconds",
        metavar="S",
        type=_seconds,
        default=2.0,
        show_default=True,
        help="Cut an execution off after this time.",
    ),
    click.option(
        "--execution-memory",
        metavar="MB",
        type=_number,
        default=1024,
        show_default=True,
        help="And when it needs more memory, in Python.",
    ),
    text_or_json,
    click.option(
        "-o",
        "--output",
        "outputs",
        metavar="FILE",
        multiple=True,
        type=FILE,
        help="Write it there too: .svg, .dot, .mmd, .html or .json. Repeatable.",
    ),
    click.option("--no-progress", is_flag=True, help="Show no progress."),
)


def options(*, learners: tuple[str, ...]) -> Callable[[_Command], _Command]:
    """The options of all three commands, for `settings` and `show`."""
    learner = click.option(
        "--learner",
        type=click.Choice(learners),
        default="auto",
        show_default=True,
        help="How the automaton is made.",
    )
    return option_group(*_EXPLORING_OPTIONS, learner, *_LIMIT_AND_OUTPUT_OPTIONS)


def settings(flags: dict[str, Any]) -> ExplainSettings:
    """What the options say."""
    from lawful.explain.bounds import Range
    from lawful.explain.settings import ExplainSettings
    from lawful.explain.teacher import Limits

    same = ("events", "kinds", "error", "inputs", "way", "samples", "seed", "include", "define", "teacher", "learner")
    bounds = ("unwind", "word_length", "max_unwind", "max_word_length")
    return ExplainSettings(
        **{name: flags[name] for name in same},
        within=Range(**{name: flags[name] for name in bounds}, every=flags["all_bounds"]),
        limits=Limits(
            words=flags["max_words"],
            paths=flags["max_paths"],
            seconds=flags["seconds"],
            seconds_per_execution=flags["execution_seconds"],
            megabytes=flags["execution_memory"],
        ),
    )


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
