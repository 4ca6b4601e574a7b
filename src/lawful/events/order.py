"""Messages in the order in which their senders sent them, whatever the order of their arrival."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from lawful.events.event_kinds import Event

SENDER: Final = "senderId"
NUMBER: Final = "seq"
"""An event with both says which message of its sender it is, counted from 1. The events of one message share them."""

_MAX_HELD: Final = 1000  # events of one sender, until the missing ones are given up
_MAX_SENDERS: Final = 20  # named in warnings


class _Sender:
    __slots__ = ("held", "last", "missing")

    def __init__(self) -> None:
        self.last = 0  # the number of its last message that was let through
        self.held: dict[int, list[Event]] = {}
        self.missing = 0


class SenderOrder:
    """Holds back events that came too early, until the earlier ones of their sender have come.

    Between senders, the order of arrival stays, as far as each sender's own order allows.
    """

    def __init__(self) -> None:
        self.moved = 0
        """How many events were held back, and are in their place now."""
        self.late = 0
        """How many came after something that was sent later had been let through, or came twice."""
        self._senders: dict[int | str, _Sender] = {}
        # Whose last message may have a second event, which comes before what was held back.
        self._current: _Sender | None = None

    def arrange(self, events: Iterable[Event]) -> list[Event]:
        """The events that can be let through now."""
        found: list[Event] = []
        for event in events:
            number, name = event.get(NUMBER), event.get(SENDER)
            sender = None
            if number.__class__ is int and isinstance(name, int | str):
                sender = self._senders.get(name)
                if sender is None:
                    sender = self._senders[name] = _Sender()
            current = self._current
            if current is not None and (current is not sender or number != current.last):
                self._release(current, found)
                self._current = None
            if sender is None:
                found.append(event)
            else:
                self._take(sender, number, event, found)  # type: ignore[arg-type]
        return found

    def _take(self, sender: _Sender, number: int, event: Event, found: list[Event]) -> None:
        if number <= sender.last + 1:
            self.late += number < sender.last
            found.append(event)
            if number > sender.last:
                sender.last = number
                self._current = sender if sender.held else None
            return
        self.moved += 1
        sender.held.setdefault(number, []).append(event)
        if sum(map(len, sender.held.values())) > _MAX_HELD:
            self._give_up(sender, found)

    def _release(self, sender: _Sender, found: list[Event]) -> None:
        while sender.last + 1 in sender.held:
            sender.last += 1
            found += sender.held.pop(sender.last)

    def _give_up(self, sender: _Sender, found: list[Event]) -> None:
        """What is missing up to the first that is there will not come."""
        first = min(sender.held)
        sender.missing += first - sender.last - 1
        sender.last = first - 1
        self._release(sender, found)

    def rest(self) -> list[Event]:
        """At the end: what still waits, in each sender's order."""
        found: list[Event] = []
        for sender in self._senders.values():
            self._release(sender, found)
            while sender.held:
                self._give_up(sender, found)
        return found

    def warnings(self) -> Iterator[str]:
        """Warnings about messages that could not be put in order."""
        missing = [(name, sender.missing) for name, sender in self._senders.items() if sender.missing]
        for name, count in missing[:_MAX_SENDERS]:
            yield f"{count:,} message{'s' if count > 1 else ''} of the sender {name!r} never came"
        if len(missing) > _MAX_SENDERS:
            yield f"messages of {len(missing) - _MAX_SENDERS:,} other senders never came"
        if self.late:
            yield f"{self.late:,} message{'s' if self.late > 1 else ''} came too late to be put in order, or twice"
