"""Events and trace files: the vocabulary, reading and writing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lawful.events.event_kinds import EVENT_KINDS, FIELDS, Event, mentioned_ids
from lawful.lazy_names import lazy_names

if TYPE_CHECKING:
    from lawful.events.reader import MAX_VALUE as MAX_VALUE
    from lawful.events.reader import TraceReader as TraceReader
    from lawful.events.reader import open_trace as open_trace
    from lawful.events.writer import Format as Format
    from lawful.events.writer import TraceWriter as TraceWriter

# A program that is watched needs no trace files.
_HOMES = {"lawful.events.reader": "MAX_VALUE TraceReader open_trace", "lawful.events.writer": "Format TraceWriter"}
__getattr__, __dir__, _names = lazy_names(__name__, _HOMES)
__all__ = ["EVENT_KINDS", "FIELDS", "Event", "mentioned_ids", *_names]
