"""Asyncio: what tasks put into each other's queues, and the futures in which they answer."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from lawful.sources.actors.groups import NOBODY, Party, current_task
from lawful.sources.actors.items import Item, read
from lawful.sources.actors.tables import Table
from lawful.sources.python.model import Event, Want

if TYPE_CHECKING:
    from lawful.sources.actors.exchange import Answer, Call, Exchange
    from lawful.sources.actors.specs import Spec

_QUEUES = "asyncio.queues"
_MOST_ROUTES = 1000
_NOTHING: list[Event] = []

Taken = Callable[[Any, "str | None"], "list[Event]"]


class _Reader:
    """Who reads from a queue."""

    __slots__ = ("_taken", "early", "party", "routes", "shared", "task")

    def __init__(self, taken: Taken) -> None:
        self._taken = taken
        self.task: Callable[[], Any] = _nobody  # that read last
        self.party: Party | None = None  # None: nobody has yet
        self.shared = False  # several do: whose a message is turns out when it is taken
        self.early: dict[int, Party] = {}  # who sent what lies there, by its address, as long as nobody reads it
        self.routes: dict[str, tuple[Spec, ...]] = {}  # what a message of this name may be, if it is for this reader

    def ends(self, value: Any, exception: str | None) -> list[Event]:
        """Somebody who waited has a message."""
        return self._taken(value, exception) if self.shared else _NOTHING


def _nobody() -> None:
    """In place of a reference to who is not there yet."""


class Tasks:
    """A queue belongs to the task that reads from it; who puts something into it sends that task a message."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._readers: Table[_Reader] = Table()
        self._calls: Table[Call] = Table()  # that are to be answered, by their futures

    def register(self) -> None:
        exchange = self._exchange
        if not exchange.groups_of.tasks and not exchange.groups_of.objects:
            return
        exchange.carries(_QUEUES, "Queue.put_nowait", self._put)
        exchange.carries(_QUEUES, "Queue.get", self._takes, Want.HAND_END)
        exchange.carries_by_caller("get_nowait", _is_of_queue("get_nowait"), self._takes)
        if exchange.specs.replies:
            exchange.carries_by_caller("set_result", _is_future_method("set_result"), self._answers)
            exchange.carries_by_caller("set_exception", _is_future_method("set_exception"), self._fails)

    def _reader(self, queue: Any) -> _Reader:
        return self._readers.get(queue) or self._readers.put(queue, _Reader(self._taken))

    # -- sending ----------------------------------------------------------------------------------

    def _put(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Answer:
        queue, value = args[0], args[1]
        if type(value) is tuple and value and type(value[0]) is str and not self._exchange.specs.of(value[0]):
            return None  # the most frequent case, and the cheapest
        item = read(value)
        specs = () if item is None else self._exchange.specs.of(item.name)
        full = queue._maxsize > 0 and queue.full()
        if item is None or not specs or full or self._exchange.told_by_call(specs):
            return None  # if it is full, it will not get in
        reader = self._reader(queue)
        party = reader.party
        if reader.shared or (party is None and item.target is None):
            return self._put_early(reader, value, item, specs)
        if item.target is not None and (party is None or party.object is not item.target):
            party = self._exchange.groups_of.of_object(item.target)
            return self._told(item, self._fitting(specs, party, item.target), party, item.target)
        assert party is not None
        target = party.object
        fitting = reader.routes.get(item.name)
        if fitting is None:
            fitting = self._fitting(specs, party, target)
            if len(reader.routes) < _MOST_ROUTES:
                reader.routes[item.name] = fitting
        return self._told(item, fitting, party, target)

    def _sender(self) -> Party:
        return self._exchange.groups_of.current()

    def _fitting(self, specs: Iterable[Spec], receiver: Party, target: Any) -> tuple[Spec, ...]:
        return tuple(spec for spec in specs if self._is_for(spec, receiver, target))

    def _told(self, item: Item, specs: tuple[Spec, ...], receiver: Party, target: Any) -> Answer:
        if not specs:
            return None
        values, named = item.arguments(specs[0].parameters)
        answer = self._exchange.message(
            specs, self._sender(), receiver, target, values, named, answerable=item.future is not None
        )
        if answer is None:
            return None
        if item.future is not None and answer[1] is not None:
            self._calls.put(item.future, answer[1])  # type: ignore[arg-type]
        return self._exchange.placed(answer[0], target), None

    def _is_for(self, spec: Spec, receiver: Party, target: Any) -> bool:
        """Is the receiver who the view says it is?"""
        if spec.owner in receiver.words or spec.owner in receiver.names:
            return True
        return target is not None and self._exchange.specs.is_class(spec.owner, type(target))

    def _put_early(self, reader: _Reader, value: Any, item: Item, specs: tuple[Spec, ...]) -> Answer:
        """It is sent now; who receives it is told when that is known."""
        sender = self._sender()
        values, named = item.arguments(specs[0].parameters)
        sent = tuple(spec for spec in specs if spec.direction == "send" or spec.reply)
        answer = self._exchange.message(
            sent, sender, NOBODY, item.target, values, named, answerable=item.future is not None
        )
        call: Any = None if answer is None else answer[1]
        if item.future is not None and call is not None:
            self._calls.put(item.future, call)
        if not reader.shared:
            reader.early[id(value)] = sender
        return None if answer is None else (answer[0], None)

    # -- receiving --------------------------------------------------------------------------------

    def _takes(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Answer:
        """A task takes a message, or waits for one."""
        queue = args[0]
        reader = self._reader(queue)
        task = current_task()
        if reader.shared or task is None:
            return ([], self._taken) if reader.shared else None
        # While it waits, somebody else may come to read from the same queue.
        then = None if queue._queue else reader.ends
        if task is reader.task():
            return None if then is None else (_NOTHING, then)
        reader.task = weakref.ref(task)
        party = self._exchange.groups_of.of_task(task)
        if reader.party is None:
            reader.party = party
            return self._catch_up(queue, reader, party), then
        if reader.party.is_same(party):
            return _NOTHING, then
        reader.shared = True
        return _NOTHING, self._taken

    def _catch_up(self, queue: Any, reader: _Reader, party: Party) -> list[Event]:
        """It is known now who receives what came before."""
        events: list[Event] = []
        # What is not there did not get in: a law was against it.
        for value in getattr(queue, "_queue", ()):
            sender = reader.early.get(id(value))
            item = None if sender is None else read(value)
            if sender is not None and item is not None:
                events += self._received(item, sender, party, self._found(item, party))
        reader.early.clear()
        return events

    def _found(self, item: Item, party: Party) -> Call | None:
        """The call that a message is, if it is to be answered, now that it is known who receives it."""
        call = None if item.future is None else self._calls.get(item.future)
        if call is None:
            return None
        target = None if party.object is None else self._exchange.identity(party.object)
        return self._calls.put(item.future, call._replace(receiver=self._exchange.end(party), target=target))

    def _received(self, item: Item, sender: Party, party: Party, call: Call | None) -> list[Event]:
        target = item.target if item.target is not None else party.object
        specs = (each for each in self._exchange.specs.of(item.name) if each.direction == "receive" and not each.reply)
        fitting = self._fitting(specs, party, target)
        if not fitting:
            return []
        values, named = item.arguments(fitting[0].parameters)
        answer = self._exchange.message(fitting, sender, party, target, values, named, answerable=False)
        events = [] if answer is None else answer[0]
        if call is not None:
            for event in events:
                event["callId"] = call.number
        return events

    def _taken(self, value: Any, exception: str | None) -> list[Event]:
        """One of several readers has taken a message."""
        item = None if exception is not None else read(value)
        task = current_task()
        if item is None or task is None:
            return []
        party = self._exchange.groups_of.of_task(task)
        return self._received(item, NOBODY, party, self._found(item, party))

    # -- answering --------------------------------------------------------------------------------

    def _answers(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Answer:
        call = self._calls.get(args[0]) if args else None
        if call is None or len(args) < 2:
            return None
        return self._exchange.answered(self._by_whom(call), args[1], None), None

    def _fails(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Answer:
        call = self._calls.get(args[0]) if args else None
        if call is None or len(args) < 2:
            return None
        kind = args[1] if isinstance(args[1], type) else type(args[1])
        return self._exchange.answered(self._by_whom(call), None, self._exchange.class_name(kind)), None

    def _by_whom(self, call: Call) -> Call:
        known = call.receiver.number is not None
        return call if known else call._replace(receiver=self._exchange.end(self._sender()))


def _is_of_queue(name: str) -> Any:
    def fits(function: Any, receiver: type | None) -> bool:
        if getattr(function, "__name__", None) != name or receiver is None:
            return False
        queue = getattr(sys.modules.get("asyncio"), "Queue", None)
        return queue is not None and issubclass(receiver, queue)

    return fits


def _is_future_method(name: str) -> Any:
    def fits(function: Any, receiver: type | None) -> bool:
        if getattr(function, "__name__", None) != name or receiver is None:
            return False
        return is_future_class(receiver)

    return fits


def is_future_class(kind: type) -> bool:
    """Is it the class of asyncio's futures, or one that inherits from it?"""
    future = getattr(sys.modules.get("asyncio"), "Future", None)
    return future is not None and issubclass(kind, future)
