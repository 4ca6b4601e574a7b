"""Messages between groups of a running program: wraps a `WatchPlanner`, and adds the calls that carry messages."""

from __future__ import annotations

import inspect
import itertools
import weakref
from _thread import allocate_lock
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from lawful import core
from lawful.diagnostics import did_you_mean
from lawful.sources.actors.group_calls import GroupCalls
from lawful.sources.actors.groups import NOBODY, Groups, Party, program_frame, self_of
from lawful.sources.actors.message_specs import MessageSpec, MessageSpecs, all_bindings, plain, views
from lawful.sources.actors.values import add_answer, add_values
from lawful.sources.actors.weak_table import WeakTable
from lawful.sources.python import name_resolution, names
from lawful.sources.python.instructions import UnknownBytecodeError
from lawful.sources.python.sites import probes
from lawful.sources.python.tracer_protocol import Callee, CodePlan, Event, Operation, Want

if TYPE_CHECKING:
    from lawful.laws.grammar.groups import Binding
    from lawful.sources.actors.outbox import Inbox, Outbox
    from lawful.sources.python.watch_planner import LawWatchPlanner

_ON_CALL: Final = Want.ON_CALL | Want.SITE
_NOTHING: Final = Want(0)
_NEAR: Final = 6  # frames between a method and what it passes its call on to
_CALLS: Final = frozenset({Operation.CALL, Operation.CALL_EX})

Answer = tuple[list[Event], object] | None
Carry = Callable[[tuple[Any, ...], "dict[str, Any] | None"], Answer]


class Endpoint(NamedTuple):
    """The group at one end of a call, by its id, so that it is not kept alive."""

    names: tuple[str, ...]
    number: Any  # None: nobody knows


class PendingReply(NamedTuple):
    """A message that may be answered."""

    replies: tuple[MessageSpec, ...]
    sender: Endpoint
    receiver: Endpoint
    target: Any  # the id of who is called
    number: int


class InlineJudge(Protocol):
    """Who judges messages."""

    @property
    def inline_check(self) -> Any:
        """The C core's place for those that need no event; None: there is none."""
        ...

    def inline_steps(self, headers: Sequence[Event]) -> tuple[tuple[tuple[int, Any, int], ...] | None, int]:
        """What is done there for messages whose events begin like this; None: they need their events. And a version."""
        ...


class _Waiting(NamedTuple):
    """A coroutine that was called and has not begun."""

    args: tuple[int, ...]  # their addresses
    coroutine: weakref.ref[Any]
    call: PendingReply | None


class _Entry(NamedTuple):
    """A function of the program that messages go to."""

    code: CodeType
    specs: tuple[MessageSpec, ...]
    function: str | None  # the module, if it belongs to no object
    waits: bool  # it is a coroutine function: calling it and running it are two things


class _Handler(NamedTuple):
    """What is done when a code object starts."""

    code: CodeType
    wants: Want
    carry: Carry | None  # of a library's function
    entry: _Entry | None  # of the program's own


class MessageSource:
    """Implements `WatchPlanner`: a message is told where it is sent, before it goes."""

    def __init__(
        self,
        wanted: LawWatchPlanner,
        laws: Sequence[Any],
        given: Mapping[str, tuple[Binding, ...]],
        *,
        numbered: bool = False,
        at_once: bool = False,
        judged: bool = True,
    ) -> None:
        """`given`: what groups are, from outside the views. If `numbered`, events count what their sender has sent.

        If `at_once`, a law that is broken is to be told of before the message goes out. If messages are not `judged`,
        they are for the trace only.
        """
        self._wanted = wanted
        self.specs = MessageSpecs(laws, wanted.main)
        self.groups_of = Groups(all_bindings(laws, given), self.specs, wanted.main)
        self.identify: Callable[[object], Any] = id  # of the tracer, when there is one
        self.passport: Callable[[], str] | None = None  # makes a file by which processes of others join the run
        self.stand_ins: dict[type, Callable[[Any], Any]] = {}  # what has the id of another object, and which
        self.message_cache: Any = None  # the C core's memory of messages
        self.group_calls = GroupCalls(self)  # and what it knows of calls
        self.inline_judge: InlineJudge | None = None  # judges messages without events
        self.serve: Callable[[], None] | None = None  # answers the questions of these
        self.at_once = at_once
        self.judged = judged
        self.outbox: Outbox | None = None  # where messages go, if no process sees all of them
        self.inbox: Inbox | None = None  # the same in the first process: where they come from
        self.operation = wanted.operation
        self.field = wanted.field
        self.class_name = wanted.class_name
        self.numbered = numbered
        self._sent: WeakTable[itertools.count[int]] = WeakTable()
        self._numbers = itertools.count(1)
        self._carriers: dict[tuple[str, str], tuple[Carry, Want, str | None]] = {}
        self._handlers: dict[int, _Handler] = {}  # by the ids of code objects
        self._has_entries = False  # are some of them the program's own?
        self._by_caller: list[tuple[Callable[[Any, type | None], bool], Carry]] = []
        self._called: dict[int, tuple[Any, Carry]] = {}
        self._names: set[str] = set()  # by which something is called that tells of messages
        self._waiting: dict[int, list[_Waiting]] = {}  # by the ids of code objects
        self._lock = allocate_lock()
        self._carry()

    def _carry(self) -> None:
        """What carries messages, beside plain calls. Nothing is imported: it is recognised when it first runs."""
        from lawful.sources.actors.pykka import PykkaActors
        from lawful.sources.actors.ray import RayActors
        from lawful.sources.actors.tasks import TaskQueues

        self._tasks = TaskQueues(self)
        self.learn_types = self._tasks.learn_types
        for source in (self._tasks, PykkaActors(self), RayActors(self)):
            source.register()

    def attach(self, tracer: Any) -> None:
        """Messages are those that this tracer sees."""
        self.identify = tracer.identify
        if core.native is not None and tracer.name != "python" and not self.numbered:
            self.message_cache = tracer.message_cache = self._tasks.new_message_cache(core.native)

    def enable_inline(self, inline_judge: InlineJudge) -> None:
        """Messages may be judged without events."""
        if self.message_cache is not None and inline_judge.inline_check is not None:
            self.inline_judge, self.message_cache.inline_check = inline_judge, inline_judge.inline_check

    def carries(
        self, module: str, function: str, carry: Carry, wants: Want = _NOTHING, *, message_cache: str | None = None
    ) -> None:
        """Report when a function of a library starts. `message_cache`: the C core's name for it, if it has one."""
        self._carriers[module, function] = carry, _ON_CALL | wants, message_cache

    def carries_by_caller(self, name: str, fits: Callable[[Any, type | None], bool], carry: Carry) -> None:
        """A function of a library is told of where own code calls it by this name."""
        self._names.add(name)
        self._by_caller.append((fits, carry))

    @property
    def on_seen(self) -> Callable[[CodeType], object] | None:
        return self._wanted.on_seen

    library_filter: Any = None

    def exempt_from_filter(self, loads: frozenset[str], modules: tuple[str, ...]) -> None:
        """There is no filter: any code may send messages."""

    @property
    def warnings(self) -> list[str]:
        """What the user should know at the end."""
        found = self.groups_of.unseen(self.specs.groups)
        if self.inbox is not None and self.inbox.missing:
            found.append(f"{self.inbox.missing} messages of other processes are missing")
        return found

    def rest(self) -> list[Event]:
        """At the end: what other processes have sent, as far as it was not told yet."""
        return [] if self.inbox is None else self.inbox.take(over=True)

    def after_fork(self, process: int) -> None:
        self._lock = allocate_lock()  # who held it may not be here
        self._numbers = itertools.count((process << 32) + 1)

    # -- WatchPlanner -----------------------------------------------------------------------------------

    def plan(self, code: CodeType, module: str) -> CodePlan | None:
        plan = self._wanted.plan(code, module)
        scope = self._wanted.scope
        if scope.lawful(code.co_filename):
            return plan
        carrier = self._carriers.get((module, code.co_qualname))
        if carrier is not None:
            carry, wants, message_cache = carrier
            self._handlers[id(code)] = _Handler(code, wants, carry, None)
            if self.message_cache is not None and message_cache is not None and not code.co_cellvars:
                setattr(self.message_cache, message_cache, code)
                wants &= ~Want.ON_RETURN  # the C core asks for ends when somebody wants to see one
            return self._reporting(plan, code, module, wants)
        own = scope.own(code.co_filename)
        entry = self._entry(code, module, own)
        if entry is not None:
            ends = Want.ON_RETURN if any(spec.reply for spec in entry.specs) else _NOTHING
            self._handlers[id(code)] = _Handler(code, _ON_CALL | ends, None, entry)
            self._has_entries = True
            if self.message_cache is not None:
                self.message_cache.has_entries = True  # what is put may have been told of as a call
                if self.groups_of.plain_calls and not entry.waits and not ends:
                    self.group_calls.add_entry_point(code, method=entry.function is None)
            plan = self._reporting(plan, code, module, _ON_CALL | ends)
        return self._probed(plan, code) if own else plan

    def _reporting(self, plan: CodePlan | None, code: CodeType, module: str, wants: Want) -> CodePlan:
        if plan is None:
            filename = code.co_filename
            plan = CodePlan(None, (), self._wanted.scope.event_file(filename), self._wanted.scope.own(filename))
        callee = plan.callee or Callee(names.code_name(code, module), _NOTHING)
        return plan._replace(callee=callee._replace(wants=callee.wants | wants))

    def _entry(self, code: CodeType, module: str, own: bool) -> _Entry | None:
        specs = self.specs.of(code.co_name)
        if not specs or not code.co_flags & inspect.CO_OPTIMIZED:
            return None
        if not own:  # a law must say where it is
            specs = tuple(spec for spec in specs if spec.owner.partition(".")[0] == module.partition(".")[0])
        place = module if code.co_qualname == code.co_name else None
        if place is None and self._is_static(code, module):
            place = f"{module}.{code.co_qualname.rpartition('.')[0]}"
        if place is not None:
            specs = tuple(spec for spec in specs if self.specs.is_module(spec.owner, place))
        if not specs:
            return None
        return _Entry(code, specs, place, bool(code.co_flags & inspect.CO_COROUTINE))

    def _is_static(self, code: CodeType, module: str) -> bool:
        found = name_resolution.resolve(f"{module}.{code.co_qualname}", self._wanted.main)
        return found is not None and isinstance(found.entry, staticmethod)

    def _probed(self, plan: CodePlan | None, code: CodeType) -> CodePlan | None:
        """With probes where something is called that may be a message when it is called, and not when it runs."""
        by_method = self.specs.by_method
        wanted = {name for name in code.co_names if name in self._names or plain(name) in by_method}
        if not wanted or plan is None:
            return plan
        known = {probe.offset for probe in plan.probes}
        try:
            more = [each for each in probes(code, _CALLS) if each.name in wanted and each.offset not in known]
        except UnknownBytecodeError:
            return plan
        return plan._replace(probes=tuple(sorted([*plan.probes, *more], key=lambda probe: probe.offset)))

    def receiver_callee(self, code: CodeType, receiver: type) -> Callee | None:
        callee = self._wanted.receiver_callee(code, receiver)
        found = self._handlers.get(id(code))
        if found is None or found.code is not code:
            return callee
        entry = found.entry
        if entry is not None and entry.function is None and not self._fitting(entry.specs, receiver):
            return callee
        if callee is None:
            callee = Callee(code.co_qualname, _NOTHING)
        return callee._replace(wants=callee.wants | found.wants, group=0)

    def callee(self, function: Any, receiver: type | None) -> Callee | None:
        callee = self._wanted.callee(function, receiver)
        carry = self._carry_of(function, receiver)
        if carry is None:
            return callee
        self._called[id(function)] = function, carry
        wants = _ON_CALL | Want.ON_RETURN
        if callee is None or callee.wants & Want.CALLEE_SIDE:
            return Callee(names.function_name(function) or names.UNKNOWN, wants)
        return callee._replace(wants=callee.wants | wants, group=0)

    def _carry_of(self, function: Any, receiver: type | None) -> Carry | None:
        for fits, carry in self._by_caller:
            if fits(function, receiver):
                return carry
        if type(function) is not FunctionType or not function.__code__.co_flags & inspect.CO_COROUTINE:
            return None
        code = function.__code__
        own = self._wanted.scope.own(code.co_filename)
        entry = self._entry(code, names.module_of(function), own)
        if entry is None or (entry.function is None and (receiver is None or not self._fitting(entry.specs, receiver))):
            return None
        return lambda args, kwargs: self._announced(entry, args, kwargs)

    def _fitting(self, specs: Iterable[MessageSpec], kind: type) -> bool:
        return any(self.specs.is_class(spec.owner, kind) for spec in specs)

    # -- events of calls ------------------------------------------------------------------------------------

    def on_call(self, subject: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Answer:
        answer = self._on_call(subject, args, kwargs)
        if self.outbox is None:
            return answer
        events, token = ([], None) if answer is None else answer
        return self._written(events), token

    def _written(self, events: list[Event]) -> list[Event]:
        """Write them down with those of other processes; what is to be told in their place."""
        assert self.outbox is not None
        if events:
            self.outbox.put([self._here() | event for event in events])
        return [] if self.inbox is None else self.inbox.take()

    def _here(self) -> Event:
        """The place of the program that is at work."""
        frame = program_frame()
        scope = self._wanted.scope
        while frame is not None and not scope.own(frame.f_code.co_filename):
            frame = frame.f_back
        if frame is None:
            return {}
        return {"file": scope.event_file(frame.f_code.co_filename), "line": frame.f_lineno or 0}

    def _on_call(self, subject: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Answer:
        if type(subject) is CodeType:
            _, _, carry, entry = self._handlers[id(subject)]
            if carry is not None:
                return carry(args, kwargs)
            return None if entry is None else self._started(entry, args, kwargs)
        found = self._called.get(id(subject))
        return None if found is None else found[1](args, kwargs)

    def on_return(self, token: Any, result: object, exception: str | None) -> list[Event]:
        is_call = isinstance(token, PendingReply)
        events = self.answered(token, result, exception) if is_call else token(result, exception)
        return events if self.outbox is None else self._written(events)

    def answered(self, call: PendingReply, result: object, exception: str | None) -> list[Event]:
        """The events of an answer."""
        found: list[Event] = []
        for spec in call.replies:
            end = call.receiver if spec.direction == "send" else call.sender
            if not end.names or (spec.group is not None and spec.group not in end.names):
                continue
            event: Event = {
                "event": spec.direction,
                "name": spec.name,
                "group": spec.group or end.names[0],
                "groupId": end.number,
            }
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

    # -- calls ------------------------------------------------------------------------------------

    def _announced(self, entry: _Entry, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Answer:
        """Own code calls a coroutine function: that is the message, whenever it will run."""
        answer = self._group_call(entry, args, kwargs, self.groups_of.current())
        events, call = ([], None) if answer is None else answer

        known = tuple(map(id, args))  # which the coroutine keeps alive

        def called(result: object, exception: str | None) -> list[Event]:
            if exception is None:
                made = _Waiting(known, weakref.ref(result), call if isinstance(call, PendingReply) else None)
                with self._lock:
                    waiting = self._waiting.get(id(entry.code), [])
                    alive = [each for each in waiting if each.coroutine() is not None]
                    self._waiting[id(entry.code)] = [*alive, made]
            return []

        return events, called

    def _started(self, entry: _Entry, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Answer:
        if entry.waits:
            here = tuple(map(id, args))
            with self._lock:
                waiting = self._waiting.get(id(entry.code), [])
                for place, each in enumerate(waiting):
                    # Arguments by keyword stand behind the others here, and were not among them there.
                    if here[: len(each.args)] == each.args and each.coroutine() is not None:
                        del waiting[place]
                        return None if each.call is None else ([], each.call)
        return self._group_call(entry, args, kwargs, self.groups_of.current(callee=entry.code), learns=True)

    def _group_call(
        self,
        entry: _Entry,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any] | None,
        sender: Party,
        *,
        learns: bool = False,
    ) -> Answer:
        """A call: is it one from one group to another?"""
        specs, target = entry.specs, None
        if entry.function is not None:
            receiver = self.groups_of.of_module(entry.function) or NOBODY
        elif args:
            target, args = args[0], args[1:]
            specs = tuple(spec for spec in specs if self.specs.is_class(spec.owner, type(target)))
            receiver = self.groups_of.of_object(target)
        else:
            return None
        if learns and self.inline_judge is not None:
            self.group_calls.learn(entry.code, specs, sender, receiver, target, args)
        return self.message(specs, sender, receiver, target, args, kwargs)

    def reported_by_call(self, specs: tuple[MessageSpec, ...]) -> bool:
        """Is this about to happen inside a method that was told of as the same message?"""
        if not self._has_entries:
            return False
        frame = program_frame()
        for _ in range(_NEAR):
            if frame is None:
                return False
            found = self._handlers.get(id(frame.f_code))
            if found is not None and found.code is frame.f_code and found.entry is not None:
                return any(spec in specs for spec in found.entry.specs)
            frame = frame.f_back
        return False

    def placed(self, events: list[Event], target: Any) -> list[Event]:
        """The same, at the place of who calls a method of the receiver that does nothing but pass the message on."""
        frame, passed = program_frame(), False
        scope = self._wanted.scope
        while frame is not None and events and target is not None:
            if scope.own(frame.f_code.co_filename):
                if self_of(frame) is not target:
                    if passed:
                        place = {"file": scope.event_file(frame.f_code.co_filename), "line": frame.f_lineno or 0}
                        return [event | place for event in events]
                    break
                passed = True
            frame = frame.f_back
        return events

    # -- events -----------------------------------------------------------------------------------

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
        replies = tuple(spec for spec in specs if spec.reply) if answerable and self.specs.replies else ()
        number = next(self._numbers) if replies else 0
        if events:
            values: Event = {}
            add_values(values, args, kwargs, self.identity)
            for event in events:
                event.update(values)
                if number:
                    event["callId"] = number
        if self.numbered and events and sender.key is not None:
            self._count(events, sender.key)
        call = None
        if replies:
            called = None if target is None else self.identity(target)
            call = PendingReply(replies, self.end(sender), self.end(receiver), called, number)
        return (events, call) if events or call is not None else None

    def headers(self, specs: Iterable[MessageSpec], sender: Party, receiver: Party, target: Any) -> list[Event]:
        """How the events of a message begin, which is the same for all messages of a name between these two."""
        if sender.is_same(receiver):
            return []
        events = []
        for spec in specs:
            party = sender if spec.direction == "send" else receiver
            if spec.reply or not party.is_of(spec.group):
                continue
            event = self._header(spec, party, target)
            caller = sender.object
            if caller is not None:
                event["callerId"] = self.number(sender) if caller is sender.key else self.identity(caller)
            events.append(event)
        return events

    def end(self, party: Party) -> Endpoint:
        return Endpoint(party.names, self.number(party) if party.names else None)

    def number(self, party: Party) -> Any:
        """The id of a group."""
        number = party.number
        if number is None:
            number = party.number = self.identity(party.key)
        return number

    def _header(self, spec: MessageSpec, party: Party, target: Any) -> Event:
        event: Event = {
            "event": spec.direction,
            "name": spec.name,
            "group": spec.group or party.names[0],
            "groupId": self.number(party),
        }
        if target is not None:
            event["targetId"] = party.number if target is party.key else self.identity(target)
        return event

    def _count(self, events: list[Event], sender: Any) -> None:
        counter = self._sent.get(sender) or self._sent.put(sender, itertools.count(1))
        number = next(counter)
        for event in events:
            event["senderId"] = self.identity(sender)
            event["seq"] = number

    def identity(self, value: Any) -> Any:
        """The id of an object; what stands for another one has its id."""
        stands_for = self.stand_ins.get(type(value))
        return self.identify(value) if stands_for is None else stands_for(value)


def unbound(laws: Sequence[Any], given: Mapping[str, tuple[Binding, ...]]) -> list[str]:
    """Views whose groups nobody has bound to anything, in words."""
    bindings = all_bindings(laws, given)
    found = []
    for law in views(laws):
        if law.group is None and not bindings:
            found.append(f"{law.name} does not say which group it is about")
        elif law.group is not None and law.group not in bindings:
            found.append(f"{law.name} is about {law.group}, and nothing says what that is in the program")
    return found


def misnamed(laws: Sequence[Any], given: Iterable[str]) -> list[str]:
    """Names that were given to groups, and that no view has, but nearly; in words. (Others may be for other views.)"""
    known = {law.group for law in views(laws)}
    names = [name for name in known if name is not None]
    near = ((name, did_you_mean(name, names)) for name in given if None not in known and name not in known)
    return [f"no view is about a group {name}: did you mean {other}?" for name, other in near if other is not None]
