"""The events of messages: which groups they are for, and what they say."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from lawful.sources.actors.groups import Party
from lawful.sources.actors.message_specs import MessageSpec
from lawful.sources.actors.values import add_answer, add_values
from lawful.sources.actors.weak_table import WeakTable
from lawful.sources.python.tracer_protocol import Event


class Endpoint(NamedTuple):
    """The group at one end of a call, by its id, so that the group is not kept alive."""

    names: tuple[str, ...]
    number: Any  # None: unknown


class PendingReply(NamedTuple):
    """A message that may be answered."""

    replies: tuple[MessageSpec, ...]
    sender: Endpoint
    receiver: Endpoint
    target: Any  # the id of the called object
    number: int


Answer = tuple[list[Event], Any] | None
"""The events of a call, and what `on_return` is given when it ends: a `PendingReply`, a function, or None."""


class MessageEvents:
    """Makes the events of messages and of their answers."""

    def __init__(self, *, replies: bool, numbered: bool) -> None:
        """`replies`: a view names answers. If `numbered`, events count what their sender has sent."""
        self.identify: Callable[[object], Any] = id  # of the tracer, when there is one
        self.stand_ins: dict[type, Callable[[Any], Any]] = {}  # by class: the id of the object it stands for
        self._replies = replies
        self._numbered = numbered
        self._sent: WeakTable[itertools.count[int]] = WeakTable()
        self._numbers = itertools.count(1)

    def after_fork(self, process: int) -> None:
        self._numbers = itertools.count((process << 32) + 1)

    def reply(self, call: PendingReply, result: object, exception: str | None) -> list[Event]:
        """The events of an answer."""
        found: list[Event] = []
        for spec in call.replies:
            end = call.receiver if spec.direction == "send" else call.sender
            if not end.names or (spec.group is not None and spec.group not in end.names):
                continue
            event = _header(spec, end.names, end.number)
            if call.target is not None:
                event["targetId"] = call.target
            event["reply"] = True
            event["callId"] = call.number
            if exception is not None:
                event["exception"] = exception
            else:
                add_answer(event, result, self.identity)
            found.append(event)
        return found

    def message(
        self,
        specs: tuple[MessageSpec, ...],
        sender: Party,
        receiver: Party,
        target: Any,
        args: Sequence[Any],
        kwargs: Mapping[str, Any] | None,
        *,
        answerable: bool = True,
    ) -> Answer:
        """The events of a message, if it goes from one group to another or to somebody outside."""
        if sender.is_same(receiver):
            return None
        events = self.headers(specs, sender, receiver, target)
        replies = tuple(spec for spec in specs if spec.reply) if answerable and self._replies else ()
        number = next(self._numbers) if replies else 0
        if events:
            values: Event = {}
            add_values(values, args, kwargs, self.identity)
            for event in events:
                event.update(values)
                if number:
                    event["callId"] = number
        if self._numbered and events and sender.key is not None:
            self._count(events, sender.key)
        call = None
        if replies:
            called = None if target is None else self.identity(target)
            call = PendingReply(replies, self.endpoint(sender), self.endpoint(receiver), called, number)
        return (events, call) if events or call is not None else None

    def headers(self, specs: Iterable[MessageSpec], sender: Party, receiver: Party, target: Any) -> list[Event]:
        """The headers of a message's events. They are the same for all messages of a name between these two."""
        if sender.is_same(receiver):
            return []
        events = []
        for spec in specs:
            party = sender if spec.direction == "send" else receiver
            if spec.reply or not party.is_of(spec.group):
                continue
            event = _header(spec, party.names, self.number(party))
            if target is not None:
                event["targetId"] = party.number if target is party.key else self.identity(target)
            caller = sender.object
            if caller is not None:
                event["callerId"] = self.number(sender) if caller is sender.key else self.identity(caller)
            events.append(event)
        return events

    def endpoint(self, party: Party) -> Endpoint:
        return Endpoint(party.names, self.number(party) if party.names else None)

    def number(self, party: Party) -> Any:
        """The id of a group."""
        number = party.number
        if number is None:
            number = party.number = self.identity(party.key)
        return number

    def _count(self, events: list[Event], sender: Any) -> None:
        counter = self._sent.get(sender) or self._sent.put(sender, itertools.count(1))
        number = next(counter)
        for event in events:
            event["senderId"] = self.identity(sender)
            event["seq"] = number

    def identity(self, value: Any) -> Any:
        """The id of an object. A stand-in has the id of its object."""
        stands_for = self.stand_ins.get(type(value))
        return self.identify(value) if stands_for is None else stands_for(value)


def _header(spec: MessageSpec, names: tuple[str, ...], number: Any) -> Event:
    return {"event": spec.direction, "name": spec.name, "group": spec.group or names[0], "groupId": number}
