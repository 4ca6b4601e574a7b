"""Asyncio: what tasks put into each other's queues, and the futures in which they answer."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterable
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

from lawful.sources.actors.groups import NOBODY, Party, current_task
from lawful.sources.actors.queue_items import NAMES, QueueItem, is_future_class, plain_fields, read
from lawful.sources.actors.values import is_object
from lawful.sources.actors.weak_table import WeakTable
from lawful.sources.python.tracer_protocol import Event, Want

if TYPE_CHECKING:
    from lawful.sources.actors.message_events import Answer, PendingReply
    from lawful.sources.actors.message_specs import MessageSpec
    from lawful.sources.actors.messages import MessageSource

_QUEUES = "asyncio.queues"
_MAX_ROUTES = 1000
_MAX_EVENTS = 8  # of one message that the C core knows
_NOTHING: list[Event] = []


class _Reader:
    """The reader of a queue. The C core has the same type (`QueueReader`)."""

    __slots__ = (
        "early_senders",
        "next",
        "party",
        "reported",
        "routes",
        "shared",
        "shared_routes",
        "specs_by_name",
        "standard",
        "task",
    )

    def __init__(self) -> None:
        self.task: Callable[[], Any] | None = None  # the last reader
        self.party: Party | None = None  # None: nobody has read yet
        self.shared = False  # several tasks read: the receiver is known when one takes the message
        self.standard = False  # for the C core: a queue of asyncio's own classes
        self.next = 0  # for the C core: which message is taken next; 0: that is not known
        self.early_senders: dict[int, Party] = {}  # senders of waiting messages by address, before the first reader
        self.specs_by_name: dict[str, tuple[MessageSpec, ...]] = {}  # what messages of a name may be, for this reader
        self.reported: set[int] = set()  # addresses of reported messages that were there when a second reader came
        self.routes: dict[str, dict[Any, Any]] = {}  # for the C core: by name and sender
        self.shared_routes: dict[str, dict[Any, Any]] = {}  # the same for several readers, by name and reader


class TaskQueues:
    """A queue belongs to the task that reads from it: a put sends that task a message."""

    def __init__(self, messages: MessageSource) -> None:
        self._messages = messages
        self._new_reader: Callable[[], _Reader] = _Reader
        self._new_route: Callable[[tuple[Event, ...], Any, tuple[str, ...], Any, int], Any] | None = None
        self._readers: WeakTable[_Reader] = WeakTable()
        self._calls: WeakTable[PendingReply] = WeakTable()  # with replies to come, by their futures
        self._types: WeakTable[bool] = WeakTable()  # classes: do events show their objects by ids?
        self._shapes: WeakTable[tuple[str, tuple[str, ...]]] = WeakTable()  # of classes whose objects are messages
        # Code of tasks outside of groups: the class whose method it is; of a function, None or (its argument's class,).
        self._ungrouped: WeakTable[type | tuple[type] | None] = WeakTable()

    def register(self) -> None:
        messages = self._messages
        if not messages.groups_of.tasks and not messages.groups_of.objects:
            return
        messages.carries(_QUEUES, "Queue.put_nowait", self._put, message_cache="put")
        messages.carries(_QUEUES, "Queue.get", self._waits, message_cache="get")
        messages.carries(_QUEUES, "Queue.get_nowait", self._takes, Want.ON_RETURN, message_cache="take")
        if messages.specs.replies:
            messages.carries_by_caller("set_result", _is_future_method("set_result"), self._answers)
            messages.carries_by_caller("set_exception", _is_future_method("set_exception"), self._fails)

    def new_message_cache(self, native: ModuleType) -> Any:
        """A cache with all that the C core needs to handle known messages without Python."""
        messages = self._messages
        self._new_reader = native.QueueReader
        if not messages.groups_of.walks:
            self._new_route = native.Route
        groups = messages.groups_of
        tables = (  # in the order of message_cache.h
            self._readers,
            groups.parties,
            self._types,
            self._shapes,
            self._ungrouped,
            messages.group_calls.callers,
            messages.group_calls.entry_points,
        )
        entries = tuple(each.entries for each in tables)
        return native.MessageCache(messages.specs.by_name, entries, NAMES, groups.matches, groups.plain_names)

    def _reader(self, queue: Any) -> _Reader:
        reader = self._readers.get(queue)
        if reader is None:
            reader = self._readers.put(queue, self._new_reader())
            reader.standard = _is_standard(type(queue))
            reader.next = _next(type(queue)) if reader.standard else 0
        return reader

    # -- sending ----------------------------------------------------------------------------------

    def _put(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Answer:
        queue, value = args[0], args[1]
        if type(value) is tuple and value and type(value[0]) is str and not self._messages.specs.of(value[0]):
            return None  # the most frequent case
        item = read(value)
        specs = () if item is None else self._messages.specs.of(item.name)
        full = queue._maxsize > 0 and queue.full()
        if item is None or not specs or full or self._messages.reported_by_call(specs):
            return None  # if the queue is full, the put will fail
        reader = self._reader(queue)
        party = reader.party
        if reader.shared or (party is None and item.target is None):
            return self._put_early(reader, value, item, specs)
        if item.target is not None and (party is None or party.object is not item.target):
            party = self._messages.groups_of.of_object(item.target)
            return self._report(item, self._fitting(specs, party, item.target), party, item.target)
        assert party is not None
        target = party.object
        fitting = reader.specs_by_name.get(item.name)
        if fitting is None:
            fitting = self._fitting(specs, party, target)
            if len(reader.specs_by_name) < _MAX_ROUTES:
                reader.specs_by_name[item.name] = fitting
        if self._is_plain(value, item):
            self._learn_sender(reader, item, fitting, party, target, fitting[0].parameters if fitting else ())
        return self._report(item, fitting, party, target)

    def _is_plain(self, value: Any, item: QueueItem) -> bool:
        """Can the C core read such a message?"""
        if self._new_route is None or item.future is not None:
            return False
        kind = type(value)
        if kind is tuple:
            return bool(item.args == value[1:])
        if kind is dict:
            return "args" not in value and "kwargs" not in value
        if item.ordered and self._shapes.get(kind) is None:
            fields = plain_fields(kind)
            if fields is not None:
                self._shapes.put(kind, (item.name, fields))
        return kind is str or self._shapes.get(kind) is not None

    def _learn_sender(
        self,
        reader: _Reader,
        item: QueueItem,
        specs: tuple[MessageSpec, ...],
        party: Party,
        target: Any,
        parameters: tuple[str, ...],
    ) -> None:
        """Let the C core report such messages of this sender from now on."""
        task = current_task()
        if task is None:
            return
        sender = self._messages.groups_of.of_task(task)
        if not sender.names:
            self._learn_ungrouped(task, sender.object)
        headers = self._messages.events.headers(specs, sender, party, target)
        self._learn_route(reader.routes, item, sender, headers, target, parameters)

    def _learn_route(
        self,
        all_routes: dict[str, dict[Any, Any]],
        item: QueueItem,
        party: Party,
        headers: list[Event],
        target: Any,
        parameters: tuple[str, ...],
    ) -> None:
        """Keep a route of messages with this name; `party` is its sender, or one of several readers."""
        assert self._new_route is not None
        self.learn_types((*item.args, *(item.kwargs or {}).values()))
        if party.alias is ...:
            party.alias = self._messages.events.identity(party.object)
        routes = all_routes.setdefault(item.name, {})
        if len(all_routes) > _MAX_ROUTES or len(headers) > _MAX_EVENTS:
            return
        if len(routes) >= _MAX_ROUTES:
            routes.clear()
        judge = self._messages.inline_judge
        inline_steps, version = (None, 0) if judge is None else judge.inline_steps(headers)
        known_by = party if party.alias is False else party.alias
        routes[known_by] = self._new_route(tuple(headers), target, parameters, inline_steps, version)

    def learn_types(self, values: Iterable[Any]) -> None:
        """Find out whether events show objects of these classes by ids."""
        for value in values:
            kind = type(value)
            if self._types.get(kind) is None:
                self._types.put(kind, is_object(kind) and self._has_own_id(kind))

    def _learn_ungrouped(self, task: Any, owner: Any) -> None:
        """Treat other tasks with the same code like this one, unless their names put them into groups."""
        coroutine = task.get_coro()
        code = getattr(coroutine, "cr_code", None)
        if code is None or code.co_cellvars:
            return
        if owner is not None:
            if code.co_argcount and self._has_own_id(type(owner)):
                self._ungrouped.put(code, type(owner))
        elif code.co_argcount:  # its argument decides whose method it is
            first, given = code.co_varnames[0], coroutine.cr_frame.f_locals
            if first in given:
                self._ungrouped.put(code, (type(given[first]),))
        elif "self" not in code.co_freevars:
            self._ungrouped.put(code, None)

    def _has_own_id(self, kind: type) -> bool:
        return kind not in self._messages.events.stand_ins and not is_future_class(kind)

    def _fitting(self, specs: Iterable[MessageSpec], receiver: Party, target: Any) -> tuple[MessageSpec, ...]:
        return tuple(spec for spec in specs if self._is_for(spec, receiver, target))

    def _report(self, item: QueueItem, specs: tuple[MessageSpec, ...], receiver: Party, target: Any) -> Answer:
        if not specs:
            return None
        sender = self._messages.groups_of.current()
        events = self._sent(item, specs, sender, receiver, target, specs[0].parameters)
        return self._messages.placed(events, target), None

    def _sent(
        self,
        item: QueueItem,
        specs: tuple[MessageSpec, ...],
        sender: Party,
        receiver: Party,
        target: Any,
        parameters: tuple[str, ...],
    ) -> list[Event]:
        """The events of a message. If it has a future, that will get the reply."""
        values, named = item.arguments(parameters)
        answerable = item.future is not None
        answer = self._messages.events.message(specs, sender, receiver, target, values, named, answerable=answerable)
        events, call = answer or ([], None)
        if item.future is not None and call is not None:
            self._calls.put(item.future, call)
        return events

    def _is_for(self, spec: MessageSpec, receiver: Party, target: Any) -> bool:
        """Is this the receiver that the view names?"""
        if spec.owner in receiver.words or spec.owner in receiver.names:
            return True
        return target is not None and self._messages.specs.is_class(spec.owner, type(target))

    def _put_early(self, reader: _Reader, value: Any, item: QueueItem, specs: tuple[MessageSpec, ...]) -> Answer:
        """Report that it is sent. Its reception is reported when the reader is known."""
        sender = self._messages.groups_of.current()
        sent = tuple(spec for spec in specs if spec.direction == "send" or spec.reply)
        events = self._sent(item, sent, sender, NOBODY, item.target, specs[0].parameters)
        if not reader.shared:
            reader.early_senders[id(value)] = sender
        elif item.target is None and self._is_plain(value, item):
            self._learn_sender(reader, item, sent, NOBODY, None, specs[0].parameters)
        return events, None

    # -- receiving --------------------------------------------------------------------------------

    def _takes(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Answer:
        """A task takes a message. With several readers, the result says which message."""
        answer = self._waits(args, kwargs)
        reader = self._reader(args[0])
        return (_NOTHING, partial(self._taken, reader)) if reader.shared else answer

    def _waits(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Answer:
        """A task wants a message."""
        queue = args[0]
        reader = self._reader(queue)
        task = current_task()
        if reader.shared or task is None or (reader.task is not None and reader.task() is task):
            return None
        reader.task = weakref.ref(task)
        party = self._messages.groups_of.of_task(task)
        if reader.party is None:
            reader.party = party
            return self._catch_up(queue, reader, party), None
        if not reader.party.is_same(party):
            reader.shared = True
            if self._messages.message_cache is not None:
                self._messages.message_cache.has_shared_queues = True
            reader.routes.clear()  # the receiver may differ from now on
            reader.reported.update(map(id, getattr(queue, "_queue", ())))
        return None

    def _catch_up(self, queue: Any, reader: _Reader, party: Party) -> list[Event]:
        """The first reader came: report that it receives the waiting messages."""
        events: list[Event] = []
        # A message that is not there was prevented by a law.
        for value in getattr(queue, "_queue", ()):
            sender = reader.early_senders.get(id(value))
            item = None if sender is None else read(value)
            if sender is not None and item is not None:
                events += self._received(item, sender, party, self._found(item, party))
        reader.early_senders.clear()
        return events

    def _found(self, item: QueueItem, party: Party) -> PendingReply | None:
        """The pending reply of a message, completed by its receiver."""
        call = None if item.future is None else self._calls.get(item.future)
        if call is None:
            return None
        events = self._messages.events
        target = None if party.object is None else events.identity(party.object)
        return self._calls.put(item.future, call._replace(receiver=events.endpoint(party), target=target))

    def _received(self, item: QueueItem, sender: Party, party: Party, call: PendingReply | None) -> list[Event]:
        target = item.target if item.target is not None else party.object
        fitting = self._receptions(item, party, target)
        if not fitting:
            return []
        values, named = item.arguments(fitting[0].parameters)
        answer = self._messages.events.message(fitting, sender, party, target, values, named, answerable=False)
        events = [] if answer is None else answer[0]
        if call is not None:
            for event in events:
                event["callId"] = call.number
        return events

    def _receptions(self, item: QueueItem, party: Party, target: Any) -> tuple[MessageSpec, ...]:
        """What a message may be for this reader."""
        specs = (each for each in self._messages.specs.of(item.name) if each.direction == "receive" and not each.reply)
        return self._fitting(specs, party, target)

    def _taken(self, reader: _Reader, value: Any, exception: str | None) -> list[Event]:
        """One of several readers has taken a message."""
        item = None if exception is not None else read(value)
        task = current_task()
        if item is None or task is None:
            return []
        if id(value) in reader.reported:
            reader.reported.discard(id(value))
            return []
        party = self._messages.groups_of.of_task(task)
        if item.target is None and reader.next and self._is_plain(value, item):
            specs, target = self._receptions(item, party, party.object), party.object
            headers = self._messages.events.headers(specs, NOBODY, party, target)
            parameters = specs[0].parameters if specs else ()
            self._learn_route(reader.shared_routes, item, party, headers, target, parameters)
        return self._received(item, NOBODY, party, self._found(item, party))

    # -- answering --------------------------------------------------------------------------------

    def _answers(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Answer:
        return self._reply(args[0], args[1], None) if len(args) == 2 else None

    def _fails(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Answer:
        if len(args) < 2:
            return None
        kind = args[1] if isinstance(args[1], type) else type(args[1])
        return self._reply(args[0], None, self._messages.class_name(kind))

    def _reply(self, future: Any, result: Any, exception: str | None) -> Answer:
        call, events = self._calls.get(future), self._messages.events
        if call is None:
            return None
        if call.receiver.number is None:
            call = call._replace(receiver=events.endpoint(self._messages.groups_of.current()))
        return events.reply(call, result, exception), None


def _is_standard(kind: type) -> bool:
    """Is `_queue` of such a queue what asyncio makes of it?"""
    queue = getattr(sys.modules.get("asyncio"), "Queue", None)
    if queue is None or not issubclass(kind, queue):
        return False
    inits = (queue._init, sys.modules["asyncio"].LifoQueue._init, sys.modules["asyncio"].PriorityQueue._init)
    same = all(getattr(kind, name) is getattr(queue, name) for name in ("full", "qsize", "__getattribute__"))
    return same and kind._init in inits and not hasattr(kind, "__getattr__")  # type: ignore[attr-defined]


def _next(kind: Any) -> int:
    """Which message such a queue gives next: 1, the first; 2, the last; 0: another. As in routes.h."""
    asyncio = sys.modules["asyncio"]
    for place, known in enumerate((asyncio.Queue, asyncio.LifoQueue), 1):
        if all(getattr(kind, name) is getattr(known, name) for name in ("_init", "_get", "empty", "get_nowait")):
            return place
    return 0


def _is_future_method(name: str) -> Any:
    def fits(function: Any, receiver: type | None) -> bool:
        return getattr(function, "__name__", None) == name and receiver is not None and is_future_class(receiver)

    return fits
