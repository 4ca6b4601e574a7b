"""Findings: a violation with its evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from lawful.laws.protocol import Expectation

Event = dict[str, Any]


class Numbered(NamedTuple):
    """An event with its number in the trace, from 1."""

    number: int
    event: Event


@dataclass
class Finding:
    """Where a law broke, and what is known about it."""

    rejected_at: int | Literal["end"] | None  # None: it is lost (see `doomed_at`), but every event had a step so far
    event: Event | None  # the rejected one
    expectation: Expectation
    doomed_at: int | None
    doomed_event: Event | None
    history: tuple[Numbered, ...] = ()  # earlier events about the same objects, oldest first
    history_note: str | None = None  # why there may be fewer than there were
