"""What monitors of all languages share: they number events, keep the verdict at the end, and sum up a trace."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Literal

from lawful.laws.protocol import Event, MonitorDefaults, Outcome, Verdict


class MonitorBase(MonitorDefaults, ABC):
    """A monitor without the state of its law."""

    def __init__(self) -> None:
        self.events = 0
        self.rejected_at: int | Literal["end"] | None = None
        self.doomed_at: int | None = None
        self._ended: Verdict | None = None

    def step(self, event: Event) -> Verdict:
        return self.feed([event])

    def feed(self, events: Iterable[Event], numbers: Sequence[int] | None = None) -> Verdict:
        if not isinstance(events, list):
            events = list(events)
        if events:
            numbers = numbers or range(self.events + 1, self.events + len(events) + 1)
            self._feed(events, numbers)
            self.events = numbers[-1]
        return self.verdict

    @abstractmethod
    def _feed(self, events: list[Event], numbers: Sequence[int]) -> None:
        """Take events with these numbers, up to one that is rejected."""

    def end(self) -> Verdict:
        if self._ended is None:
            accepted = self._accepts
            if not accepted and self.rejected_at is None:
                self.rejected_at = "end"
            self._ended = Verdict.TRUE if accepted else Verdict.FALSE
        return self._ended

    @property
    @abstractmethod
    def _accepts(self) -> bool:
        """May the trace end here?"""

    @property
    @abstractmethod
    def _open_verdict(self) -> Verdict:
        """The verdict while the trace goes on."""

    @property
    def verdict(self) -> Verdict:
        return self._open_verdict if self._ended is None else self._ended

    def outcome(self) -> Outcome:
        return Outcome(self._accepts, self._open_verdict, self.rejected_at, self.doomed_at, self.events)
