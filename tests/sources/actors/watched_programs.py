"""Programs under a view, in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import lawful
from lawful import grammar
from lawful.watching import Watch

Event = dict[str, Any]


def watched(view: str, program: Callable[[], Any], groups: Mapping[str, str] | None = None, **options: Any) -> Watch:
    """A program under a view; nothing must have gone wrong in watching it."""
    with lawful.watch([grammar.compile(view)], groups=groups, **options) as watch:
        program()
    assert not watch.warnings, watch.warnings
    return watch


def messages_of(events: list[Event]) -> list[tuple[str, str, int]]:
    """Direction, name and group of each."""
    return [(event["event"], event["name"], event["groupId"]) for event in events]
