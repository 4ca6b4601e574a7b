"""What laws of all languages share: they check whole traces, and notebooks show them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from itertools import islice

from lawful.laws.protocol import Event, Monitor, Outcome

_BATCH = 4096


class LawBase(ABC):
    """A law with a name and a text."""

    name: str
    source: str

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    def _repr_html_(self) -> str:
        from lawful import markup  # only notebooks need it

        return f"<p><b>{markup.text(self.name)}</b></p>{markup.code(self.source)}"

    @abstractmethod
    def monitor(self) -> Monitor: ...

    def check(self, events: Iterable[Event]) -> Outcome:
        """Check a whole trace."""
        if isinstance(events, str | bytes | Mapping):
            hint = "lawful.events.open_trace(path) reads them from a file"
            raise TypeError(f"a trace is events, one after the other; {hint}")
        monitor = self.monitor()
        rest = iter(events)
        while batch := list(islice(rest, _BATCH)):
            monitor.feed(batch)
        monitor.end()
        return monitor.outcome()
