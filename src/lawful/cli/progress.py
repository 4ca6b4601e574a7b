"""A progress bar on standard error, where that is a terminal and the work takes long."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import PurePath

from lawful.diagnostics import printable
from lawful.events.model import Event
from lawful.events.reader import TraceReader

# Shorter work is over before a bar could be read.
_PATIENCE = 0.5


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
            elif time.monotonic() - started > _PATIENCE:
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
