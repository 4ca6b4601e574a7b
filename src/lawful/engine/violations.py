"""The program after a violation: it goes on, gets an exception before the event happens, or ends."""

from __future__ import annotations

from _thread import get_ident
from typing import TYPE_CHECKING, Final, Literal

from lawful.engine.wording import message

if TYPE_CHECKING:
    from lawful.engine.findings import Event, Finding

OnViolation = Literal["report", "raise", "stop", "count"]
AT_ONCE: Final = ("raise", "stop")  # what is to be done before the program goes on

# Kinds of events about something that has already happened: it is too late to raise an exception in front of it.
AFTER: Final = frozenset({"func_post", "func_raise", "new", "gone", "field_read", "yield"})


class Violation(Exception):
    """What is about to happen would break a law. It has not happened."""

    __module__ = "lawful"  # where its users find it

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding)
        self.finding = finding

    def __str__(self) -> str:
        return f"{self.finding.law}: {message(self.finding)}"


class Stop(SystemExit):
    """A law was broken, and the program ends as by `sys.exit(1)`, with its cleaning up."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(1)
        self.finding = finding


Offence = tuple["Finding", "Event"]  # a violation, and the event that made it


class ViolationResponse:
    """Raises `Violation` or `Stop`, as `on_violation` says."""

    def __init__(self, on_violation: OnViolation) -> None:
        self.on_violation = on_violation
        self.stopping: Finding | None = None  # the program is to end for this
        self._stopped: set[int] = set()  # threads in which `Stop` was raised

    @property
    def at_once(self) -> bool:
        """Must the program wait until its last event is judged?"""
        return self.on_violation in AT_ONCE

    def prevents(self, offence: Offence | None) -> bool:
        """Can an exception prevent what breaks the law?"""
        return offence is not None and self.on_violation == "raise" and offence[1].get("event") not in AFTER

    def stop_for(self, offence: Offence | None) -> None:
        if self.on_violation == "stop" and offence is not None and self.stopping is None:
            self.stopping = offence[0]

    def act(self, offence: Offence | None, last: Event | None) -> None:
        """Raise what is to be raised after a batch with this offence and this last event."""
        if offence is not None and self.prevents(offence):
            raise Violation(offence[0])
        # Ending one thread does not end the others: each ends where it next is seen. An object is reclaimed anywhere,
        # also where an exception would be lost.
        if self.stopping is not None and last is not None and last.get("event") != "gone":
            me = get_ident()
            if me not in self._stopped:
                self._stopped.add(me)
                raise Stop(self.stopping)
