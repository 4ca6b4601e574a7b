"""Tables in Markdown and messages about progress, for all benchmarks."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator


def table(head: list[str], rows: Iterable[list[str]]) -> Iterator[str]:
    """The lines of a table; all columns but the first stand to the right."""
    lines = [head, *rows]
    widths = [max(3, *(len(line[column]) for line in lines)) for column in range(len(head))]
    lines.insert(1, ["-" * widths[0]] + ["-" * (width - 1) + ":" for width in widths[1:]])
    for line in lines:
        first, *others = (cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        yield f"| {' | '.join([line[0].ljust(len(first)), *others])} |"


def progress(text: str) -> None:
    """Say on standard error what is being measured."""
    print(f"... {text}", file=sys.stderr, flush=True)
