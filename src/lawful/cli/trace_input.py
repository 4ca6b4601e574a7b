"""What the commands share that read traces and report on them: looking before, reading, printing."""

from __future__ import annotations

import gc
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import IO, TYPE_CHECKING, Any

import click

from lawful.atomic_write import atomic_write
from lawful.diagnostics import printable
from lawful.errors import LawfulError

if TYPE_CHECKING:
    from lawful.events.reader import TraceReader


def look_at_traces(traces: Sequence[str]) -> None:
    """Whatever is wrong with the names of traces comes out before any long work begins."""
    from lawful.events.reader import open_trace  # what reads no trace must not wait for it
    from lawful.events.streams import os_error

    if traces.count("-") > 1:
        raise LawfulError("usage", "standard input can be read only once", hint="give `-` only once")
    for trace in traces:
        if trace == "-":
            continue
        try:
            mode = os.stat(trace).st_mode
        except OSError as error:
            raise os_error(error, trace) from error
        except ValueError:  # a null byte in the name: opening it tells
            mode = 0
        if not stat.S_ISFIFO(mode):  # which would wait for its writer
            open_trace(trace).close()


def look_at_output(output: str | None, inputs: Iterable[str | None], what: str = "report") -> None:
    """Whether a report can go there, long before it does: it must not take the place of what is read.

    It is opened when the report is ready, so that a run that fails leaves an older report as it is.
    """
    if output is None:
        return
    if os.path.isdir(output) or not os.path.isdir(os.path.dirname(output) or "."):
        raise LawfulError("file", "no file can be written there", where=output)
    keep(inputs, output, what)


def keep(needed: Iterable[str | None], output: str, what: str = "report") -> None:
    """Refuse to write where something is that is needed."""
    if any(_same(path, output) for path in needed if path is not None):
        raise LawfulError("usage", f"the {what} would overwrite a file that is needed", where=output)


def _same(path: str, output: str) -> bool:
    """Do both name one file, be it there or not?"""
    if os.path.exists(path) and os.path.exists(output):
        return os.path.samefile(path, output)
    return os.path.realpath(path) == os.path.realpath(output)


def words(texts: Iterable[str]) -> tuple[str, ...]:
    """The words of options that may be given several times, or once with commas."""
    return tuple(dict.fromkeys(word.strip() for text in texts for word in text.split(",") if word.strip()))


def batches(reader: TraceReader, progress: bool) -> Iterable[list[dict[str, Any]]]:
    """The events of a trace; with a progress bar where that can be seen."""
    if not (progress and sys.stderr.isatty()):
        return reader.batches()
    from lawful.cli.progress import with_progress

    return with_progress(reader)


def tell_skipped(reader: TraceReader) -> None:
    """How many lines were no events."""
    if reader.bad_lines:
        lines = "line" if reader.bad_lines == 1 else "lines"
        click.echo(f"{printable(reader.name)}: {reader.bad_lines} bad {lines} skipped", err=True)


def printer(target: IO[str]) -> tuple[Callable[[Iterator[Any]], None], int]:
    """How lines are shown, and in how many columns: in colour on a terminal, where alone it is worth importing rich."""
    from lawful.reports.text import WIDTH, plain

    if not target.isatty():

        def write(lines: Iterator[Any]) -> None:
            target.write(plain(lines))
            target.flush()

        return write, WIDTH

    from rich.console import Console

    width = Console(file=target).width
    return lambda lines: print_in_colour(lines, target), max(60, min(width, 120))


def print_in_colour(lines: Iterator[Any], target: IO[str]) -> None:
    """Lines of a report, on a terminal."""
    from rich.console import Console
    from rich.text import Text

    console = Console(file=target, highlight=False)
    for line in lines:
        console.print(Text.assemble(*line), soft_wrap=True)


@contextmanager
def opened(output: str | None) -> Iterator[IO[str]]:
    """The file for a report, or standard output."""
    try:
        with nullcontext(sys.stdout) if output is None else atomic_write(output) as target:
            yield target
    except OSError as error:
        if error.filename is None:
            error.filename = output  # which a failed write does not name
        raise


@contextmanager
def rare_collections() -> Iterator[None]:
    """Let the cyclic garbage collector rest for most of the run.

    Every batch brings thousands of dicts and drops them again by counting references; looking for cycles among them
    finds nothing and costs time. Collections are made rare, not switched off: memory must stay bounded whatever a
    monitor leaves behind. This is the command line's own process, so nobody else is affected.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(200_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def number(option: str, text: str) -> float:
    """A number, or one in percent."""
    from decimal import Decimal

    digits = text.strip()
    try:
        # In decimals: 0.001 % is 1e-5, and not the float beside it.
        return float(Decimal(digits[:-1]) / 100) if digits.endswith("%") else float(digits)
    except (ValueError, ArithmeticError):
        raise LawfulError(
            "confidence-range", f"{option}: {text!r} is no number", hint="write 0.00001, 1e-5 or 0.001%"
        ) from None
