"""A progress bar on standard error, where that is a terminal and the work takes long."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import PurePath
from typing import TYPE_CHECKING

from lawful.diagnostics import printable
from lawful.events.event_kinds import Event
from lawful.events.reader import TraceReader

if TYPE_CHECKING:
    from lawful.explain.learning_run import SearchWatcher
    from lawful.explain.teacher import Bounds

# Shorter work is over before a bar could be read.
_DELAY = 0.5


def with_progress(reader: TraceReader) -> Iterator[list[Event]]:
    """The reader's batches; if they take long, a bar shows how far it is and vanishes at the end."""
    if reader.size is None or not sys.stderr.isatty():
        yield from reader.batches()
        return
    started = time.monotonic()
    with ExitStack() as stack:
        update: Callable[[], None] | None = None
        for batch in reader.batches():
            yield batch
            if update is not None:
                update()
            elif time.monotonic() - started > _DELAY:
                update = stack.enter_context(_bar(reader))


@contextmanager
def _bar(reader: TraceReader) -> Iterator[Callable[[], None]]:
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[events]:,} events"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        name = printable(PurePath(reader.name).name)  # a whole path would leave no room for the bar
        task = progress.add_task(escape(name), total=reader.size, events=reader.events)
        yield lambda: progress.update(task, completed=reader.bytes_read, events=reader.events)


@contextmanager
def search_progress() -> Iterator[SearchWatcher]:
    """A line that says with which bounds is learned, and how long already; it vanishes at the end."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("loading the program, choosing its events", total=None)

        def told(bounds: Bounds, states: int, asked: int) -> None:
            parts = [f"unwind {bounds.unwind}, words of up to {bounds.word_length} events"]
            parts += [f"{states:,} states"] if states else []
            parts += [f"{asked:,} questions"] if asked else []
            progress.update(task, description=", ".join(parts))

        yield told
