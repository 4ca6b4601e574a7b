"""Events and trace files: the vocabulary, reading and writing."""

from lawful.events.model import EVENT_KINDS, FIELDS, Event, mentioned_ids
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
