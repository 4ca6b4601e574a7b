"""Pykka: what actors tell and ask each other."""

from __future__ import annotations

import sys
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final

from lawful.sources.actors.queue_items import QueueItem, read
from lawful.sources.python.tracer_protocol import Want

if TYPE_CHECKING:
    from lawful.sources.actors.message_events import Answer, PendingReply
    from lawful.sources.actors.messages import MessageSource

_MOST_ASKED: Final = 10_000  # unanswered questions


class PykkaActors:
    """Reports a message when a thread calls `tell` or `ask` on the reference of an actor."""

    def __init__(self, messages: MessageSource) -> None:
        self._messages = messages
        self._asked: OrderedDict[int, tuple[Any, PendingReply]] = OrderedDict()  # by the ids of messages
        self._ids: dict[str, Any] = {}  # of actors, by URN: a reference outlives its actor
        self._ready = False

    def register(self) -> None:
        messages = self._messages
        if not messages.groups_of.actors:
            return
        messages.carries("pykka._ref", "ActorRef.tell", self._tell)
        messages.carries("pykka._ref", "ActorRef.ask", self._ask)
        if messages.specs.replies:
            messages.carries("pykka._actor", "Actor._handle_receive", self._handles, Want.ON_RETURN)

    def _tell(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Answer:
        return self._report(args[0], args[1], answerable=False)

    def _ask(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Answer:
        message: Any = args[1]
        events, call = self._report(args[0], message, answerable=True) or ([], None)
        if call is not None:
            self._asked[id(message)] = message, call
            if len(self._asked) > _MOST_ASKED:
                self._asked.popitem(last=False)
        return events, None

    def _report(self, ref: Any, message: Any, *, answerable: bool) -> Answer:
        messages = self._messages
        item = _read(message)
        specs = () if item is None else messages.specs.of(item.name)
        if item is None or not specs:
            return None
        self._get_ready(type(ref))
        kind = ref.actor_class
        fitting = tuple(spec for spec in specs if messages.specs.is_class(spec.owner, kind))
        if not fitting:
            return None
        actor = _actor(ref)
        target = ref if actor is None else actor
        sender = messages.groups_of.current()
        values, named = item.arguments(fitting[0].parameters)
        receiver = messages.groups_of.of_object(target)
        return messages.events.message(fitting, sender, receiver, target, values, named, answerable=answerable)

    def _get_ready(self, kind: type) -> None:
        """Give references and proxies the ids of their actors from now on."""
        if self._ready:
            return
        self._ready = True
        stand_ins = self._messages.events.stand_ins
        stand_ins[kind] = self._of_ref
        proxy = getattr(sys.modules.get("pykka"), "ActorProxy", None)
        if proxy is not None:
            stand_ins[proxy] = lambda value: self._of_ref(object.__getattribute__(value, "actor_ref"))

    def _of_ref(self, ref: Any) -> Any:
        known = self._ids.get(ref.actor_urn)
        if known is None:
            actor = _actor(ref)
            known = self._ids[ref.actor_urn] = self._messages.events.identify(ref if actor is None else actor)
        return known

    def _handles(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Answer:
        found = self._asked.pop(id(args[1]), None)
        return None if found is None or found[0] is not args[1] else ([], found[1])


def _actor(ref: Any) -> Any:
    """The actor behind a reference; None if it is gone."""
    weak = getattr(ref, "_actor_weakref", None)
    return getattr(ref, "_actor", None) if weak is None else weak()


def _read(message: Any) -> QueueItem | None:
    """What a proxy sends is the name of a method, or of an attribute, on the way to it from the actor."""
    kind = type(message)
    if kind.__module__ == "pykka.messages":
        path = getattr(message, "attr_path", ())
        if not path:
            return None
        value = (message.value,) if hasattr(message, "value") else ()
        return QueueItem(
            path[-1], None, tuple(getattr(message, "args", value)), getattr(message, "kwargs", None) or None
        )
    return read(message)
