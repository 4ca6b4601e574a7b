"""A monitor around a machine that takes steps: what RML and views have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

from lawful.laws.monitor_base import MonitorBase
from lawful.laws.protocol import Event, Verdict

_MOST_WARNINGS = 100


class StepMachine(Protocol):
    """What takes the steps, and makes no change before it knows that there is one."""

    failed: bool

    @property
    def at(self) -> int:
        """Which of the events that were fed last it is looking at."""
        ...

    @property
    def halts(self) -> bool:
        """May the trace end here?"""
        ...

    def feed(self, events: Any, start: int, stop_when_dead: bool, /) -> int:
        """Take events from `start` on: the position of the first that fails or leaves a dead state.

        Without one, the number of events.
        """
        ...


M = TypeVar("M", bound=StepMachine)


class MachineMonitor(MonitorBase, Generic[M]):
    """Numbers, verdicts and warnings around a machine."""

    prepares_late = True

    def __init__(self) -> None:
        super().__init__()
        self._numbers: Sequence[int] = ()  # of the events that are being fed
        self._fed: Sequence[int] = ()  # the numbers of those that were fed last
        self._rejected: Event | None = None
        self._warnings: dict[str, str] = {}

    @cached_property
    def _machine(self) -> M:
        return self._new_machine()

    @property
    def prepared(self) -> bool:
        """Was the law read, because an event has come or by `prepare`?"""
        return "_machine" in self.__dict__

    def prepare(self) -> None:
        """Read the law now, which would otherwise be done when its first event comes."""
        self._machine  # noqa: B018  (it is made where it is first asked for, and kept)

    @property
    def _at_first(self) -> Verdict | None:
        """The verdict before there is a machine, if it is known without one."""
        return None

    @abstractmethod
    def _new_machine(self) -> M:
        """A machine at its start, which tells `_warn` what is odd."""

    def _warn(self, message: str) -> None:
        if message not in self._warnings and len(self._warnings) < _MOST_WARNINGS:
            number = self._numbers[self._machine.at] if self._numbers else self.events
            place = f"at event {number}" if number else "before the first event"
            self._warnings[message] = f"{message} ({place})"

    def warnings(self) -> tuple[str, ...]:
        return tuple(self._warnings.values())

    # -- events -----------------------------------------------------------------------------------

    def _feed(self, events: list[Event], numbers: Sequence[int]) -> None:
        self._numbers = numbers
        position = 0
        while position < len(events) and not self._machine.failed:
            position = self._machine.feed(events, position, self.doomed_at is None)
            if self._machine.failed:
                self.rejected_at = numbers[position]
                self._rejected = events[position]
            elif position < len(events):
                self.doomed_at = numbers[position]
                position += 1
        self._fed, self._numbers = numbers, ()

    def forgive(self) -> bool:
        if self.doomed_at is not None or not isinstance(self.rejected_at, int):
            return False
        self._machine.failed = False  # a step that fails changes nothing: it still is where it was
        self.events = self.rejected_at
        self.rejected_at = self._rejected = None
        return True

    def again(self) -> bool:
        return False

    # -- verdicts --------------------------------------------------------------------------------

    @property
    @abstractmethod
    def _accepts_all(self) -> bool:
        """Is everything accepted that may still come?"""

    @property
    def _accepts(self) -> bool:
        if not self.prepared and self._at_first is not None:
            return self._at_first.accepts
        return not self._machine.failed and self._machine.halts

    @property
    def _open_verdict(self) -> Verdict:
        if not self.prepared and self._at_first is not None:
            return self._at_first
        if self._machine.failed or self.doomed_at is not None:
            return Verdict.FALSE
        if self._accepts_all:
            return Verdict.TRUE
        return Verdict.CURRENTLY_TRUE if self._machine.halts else Verdict.CURRENTLY_FALSE

    # -- out and in -------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        # A pickled monitor takes no event back, so it need not know the last ones.
        return {name: value for name, value in self.__dict__.items() if name != "_machine"} | {"_fed": ()}
