"""A file that gives its content in pieces of the sizes it is told, as a pipe may."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from lawful.errors import TraceError
from lawful.events import open_trace


class Trickle:
    """Reads give one piece each; the last size repeats."""

    def __init__(self, content: bytes, sizes: Iterable[int]) -> None:
        self.content = content
        self.position = 0
        self.sizes = iter(sizes)

    def read(self, limit: int) -> bytes:
        size = min(limit, next(self.sizes))
        piece = self.content[self.position : self.position + size]
        self.position += len(piece)
        return piece


def steadily(content: bytes, size: int) -> Any:
    return Trickle(content, itertools.repeat(size))


def split_at(content: bytes, position: int) -> Any:
    return Trickle(content, itertools.chain([position] if position else [], itertools.repeat(1 << 30)))


def everything(source: Any, **options: Any) -> tuple[list[Any], int, tuple[str, str | None] | None]:
    """All that reading comes to: the events, the number of bad lines, the fault's slug and place."""
    events: list[Any] = []
    fault = None
    with open_trace(source, **options) as reader:
        try:
            for batch in reader.batches():
                assert batch, "no batch is empty"
                events += batch
        except TraceError as error:
            fault = error.slug, error.where
            assert error.slug.startswith("trace-")
            error.render().encode()  # it can be shown
        assert reader.events == len(events)
        return events, reader.bad_lines, fault
