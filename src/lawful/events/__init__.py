"""Events and trace files: the vocabulary, reading and writing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lawful.events.event_kinds import EVENT_KINDS, FIELDS, Event, mentioned_ids

if TYPE_CHECKING:
    from lawful.events.reader import MAX_VALUE, TraceReader, open_trace
    from lawful.events.writer import Format, TraceWriter

__all__ = [
    "EVENT_KINDS",
    "FIELDS",
    "MAX_VALUE",
    "Event",
    "Format",
    "TraceReader",
    "TraceWriter",
    "mentioned_ids",
    "open_trace",
]

# A program that is watched needs no trace files: these are imported when they are first used.
_HOMES = {
    "MAX_VALUE": "lawful.events.reader",
    "TraceReader": "lawful.events.reader",
    "open_trace": "lawful.events.reader",
    "Format": "lawful.events.writer",
    "TraceWriter": "lawful.events.writer",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
