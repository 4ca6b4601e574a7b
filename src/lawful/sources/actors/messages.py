"""Messages between groups of a running program: wraps a `WatchPlanner`, and adds the calls that carry messages."""

from __future__ import annotations

import inspect
import weakref
from _thread import allocate_lock
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from lawful import core
from lawful.sources.actors.entry_points import EntryPoint, EntryPoints
from lawful.sources.actors.group_calls import GroupCalls
from lawful.sources.actors.groups import NOBODY, Groups, Party, program_frame, self_of
from lawful.sources.actors.message_events import Answer, MessageEvents, PendingReply
from lawful.sources.actors.message_specs import MessageSpec, MessageSpecs, all_bindings
from lawful.sources.actors.pykka import PykkaActors
from lawful.sources.actors.ray import RayActors
from lawful.sources.actors.tasks import TaskQueues
from lawful.sources.python import names
from lawful.sources.python.tracer_protocol import Callee, CodePlan, Event, Want

if TYPE_CHECKING:
    from lawful.laws.grammar.groups import Binding
    from lawful.sources.actors.outbox import Inbox, Outbox
    from lawful.sources.python.watch_planner import LawWatchPlanner

_ON_CALL: Final = Want.ON_CALL | Want.SITE
_NOTHING: Final = Want(0)
_NEAR: Final = 6  # frames between a method and the put that it makes

Carry = Callable[[tuple[Any, ...], "dict[str, Any] | None"], Answer]


class InlineJudge(Protocol):
    """Decides which messages the C core may check without events."""

    @property
    def inline_check(self) -> Any:
        """The C core's inline check; None: all messages need events."""
        ...

    def inline_steps(self, headers: Sequence[Event]) -> tuple[tuple[tuple[int, Any, int], ...] | None, int]:
        """The steps of laws for messages with these headers, and their version. None: they need their events."""
        ...


class _Waiting(NamedTuple):
    """A coroutine that was called and has not begun."""

    args: tuple[int, ...]  # their addresses
    coroutine: weakref.ref[Any]
    call: PendingReply | None


class _Handler(NamedTuple):
    """How to handle the start of a code object."""

    code: CodeType
    wants: Want
    carry: Carry | None  # of a library's function
    entry: EntryPoint | None  # of the program's own


class MessageSource:
    """Implements `WatchPlanner`: reports a message where it is sent, before it goes out."""

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
        """`given`: bindings of groups from outside the views. If `numbered`, events count what their sender has sent.

        If `at_once`, a violation must be known before the message goes out. If messages are not `judged`,
        they are for the trace only.
        """
        self._wanted = wanted
        self.specs = MessageSpecs(laws, wanted.main)
        self._entry_points = EntryPoints(self.specs, wanted.main)
        self.groups_of = Groups(all_bindings(laws, given), self.specs, wanted.main)
        self.join_token: Callable[[], str] | None = None  # makes the file by which other processes join the run
        self.events = MessageEvents(replies=self.specs.replies, numbered=numbered)
        self.message_cache: Any = None  # of the C core
        self.group_calls = GroupCalls(self)  # what the C core knows of calls
        self.inline_judge: InlineJudge | None = None  # checks messages without events
        self.serve: Callable[[], None] | None = None  # starts to answer other processes
        self.at_once = at_once
        self.judged = judged
        self.outbox: Outbox | None = None  # takes the messages, if no process sees all of them
        self.inbox: Inbox | None = None  # in the first process: gives the messages of all processes
        self.operation = wanted.operation
        self.field = wanted.field
        self.class_name = wanted.class_name
        self.numbered = numbered
        self._carriers: dict[tuple[str, str], tuple[Carry, Want, str | None]] = {}
        self._handlers: dict[int, _Handler] = {}  # by the ids of code objects
        self._has_entries = False  # are there entry points?
        self._by_caller: list[tuple[Callable[[Any, type | None], bool], Carry]] = []
        self._called: dict[int, tuple[Any, Carry]] = {}
        self._names: set[str] = set()  # of functions that carry messages by their callers
        self._waiting: dict[int, list[_Waiting]] = {}  # by the ids of code objects
        self._lock = allocate_lock()
        # These carry messages, beside plain calls. No library is imported: its code is recognised when it first runs.
        self._tasks = TaskQueues(self)
        self.learn_types = self._tasks.learn_types
        for source in (self._tasks, PykkaActors(self), RayActors(self)):
            source.register()

    def attach(self, tracer: Any) -> None:
        """Report the messages that this tracer sees."""
        self.events.identify = tracer.identify
        if core.native is not None and tracer.name != "python" and not self.numbered:
            self.message_cache = tracer.message_cache = self._tasks.new_message_cache(core.native)

    def enable_inline(self, inline_judge: InlineJudge) -> None:
        """Let the C core check messages without events."""
        if self.message_cache is not None and inline_judge.inline_check is not None:
            self.inline_judge, self.message_cache.inline_check = inline_judge, inline_judge.inline_check

    def carries(
        self, module: str, function: str, carry: Carry, wants: Want = _NOTHING, *, message_cache: str | None = None
    ) -> None:
        """Report when a function of a library starts. `message_cache`: the C core's name for it, if it has one."""
        self._carriers[module, function] = carry, _ON_CALL | wants, message_cache

    def carries_by_caller(self, name: str, fits: Callable[[Any, type | None], bool], carry: Carry) -> None:
        """Report where the program calls a function of a library by this name."""
        self._names.add(name)
        self._by_caller.append((fits, carry))

    @property
    def on_seen(self) -> Callable[[CodeType], object] | None:
        return self._wanted.on_seen

    @property
    def warnings(self) -> list[str]:
        """Warnings for the user at the end."""
        found = self.groups_of.unseen(self.specs.groups)
        if self.inbox is not None and self.inbox.missing:
            found.append(f"{self.inbox.missing} messages of other processes are missing")
        return found

    def rest(self) -> list[Event]:
        """At the end: messages of other processes that were not reported yet."""
        return [] if self.inbox is None else self.inbox.take(over=True)

    def after_fork(self, process: int) -> None:
        self._lock = allocate_lock()  # the thread that held it may not be in this process
        self.events.after_fork(process)

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
                wants &= ~Want.ON_RETURN  # the C core asks for returns when it needs them
            return self._reporting(plan, code, module, wants)
        own = scope.own(code.co_filename)
        entry = self._entry_points.of(code, module, own)
        if entry is not None:
            ends = Want.ON_RETURN if any(spec.reply for spec in entry.specs) else _NOTHING
            self._handlers[id(code)] = _Handler(code, _ON_CALL | ends, None, entry)
            self._has_entries = True
            if self.message_cache is not None:
                self.message_cache.has_entries = True  # the call that puts a message may be reported as that message
                if self.groups_of.plain_calls and not entry.waits and not ends:
                    self.group_calls.add_entry_point(code, method=entry.function is None)
            plan = self._reporting(plan, code, module, _ON_CALL | ends)
        return self._entry_points.probed(plan, code, self._names) if own else plan

    def _reporting(self, plan: CodePlan | None, code: CodeType, module: str, wants: Want) -> CodePlan:
        if plan is None:
            filename = code.co_filename
            plan = CodePlan(None, (), self._wanted.scope.event_file(filename), self._wanted.scope.own(filename))
        callee = plan.callee or Callee(names.code_name(code, module), _NOTHING)
        return plan._replace(callee=callee._replace(wants=callee.wants | wants))

    def receiver_callee(self, code: CodeType, receiver: type) -> Callee | None:
        callee = self._wanted.receiver_callee(code, receiver)
        found = self._handlers.get(id(code))
        if found is None or found.code is not code:
            return callee
        entry = found.entry
        if entry is not None and not self._entry_points.receives(entry, receiver):
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
        entry = self._entry_points.of(code, names.module_of(function), own)
        if entry is None or not self._entry_points.receives(entry, receiver):
            return None
        return lambda args, kwargs: self._announced(entry, args, kwargs)

    # -- events of calls ------------------------------------------------------------------------------------

    def on_call(self, subject: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Answer:
        answer = self._on_call(subject, args, kwargs)
        if self.outbox is None:
            return answer
        events, token = ([], None) if answer is None else answer
        return self._written(events), token

    def _written(self, events: list[Event]) -> list[Event]:
        """Write events to the outbox; the events to report in their place."""
        assert self.outbox is not None
        if events:
            self.outbox.put([self._here() | event for event in events])
        return [] if self.inbox is None else self.inbox.take()

    def _here(self) -> Event:
        """The current place of the program."""
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
        events = self.events.reply(token, result, exception) if is_call else token(result, exception)
        return events if self.outbox is None else self._written(events)

    # -- calls ------------------------------------------------------------------------------------

    def _announced(self, entry: EntryPoint, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Answer:
        """The program calls a coroutine function: the call is the message, whenever the coroutine runs."""
        answer = self._group_call(entry, args, kwargs, self.groups_of.current())
        events, call = ([], None) if answer is None else answer

        known = tuple(map(id, args))  # the coroutine keeps them alive

        def called(result: object, exception: str | None) -> list[Event]:
            if exception is None:
                made = _Waiting(known, weakref.ref(result), call if isinstance(call, PendingReply) else None)
                with self._lock:
                    waiting = self._waiting.get(id(entry.code), [])
                    alive = [each for each in waiting if each.coroutine() is not None]
                    self._waiting[id(entry.code)] = [*alive, made]
            return []

        return events, called

    def _started(self, entry: EntryPoint, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Answer:
        if entry.waits:
            here = tuple(map(id, args))
            with self._lock:
                waiting = self._waiting.get(id(entry.code), [])
                for place, each in enumerate(waiting):
                    # Here, keyword arguments follow the positional ones; there, they were left out.
                    if here[: len(each.args)] == each.args and each.coroutine() is not None:
                        del waiting[place]
                        return None if each.call is None else ([], each.call)
        return self._group_call(entry, args, kwargs, self.groups_of.current(callee=entry.code), learns=True)

    def _group_call(
        self,
        entry: EntryPoint,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any] | None,
        sender: Party,
        *,
        learns: bool = False,
    ) -> Answer:
        """The message that a call is, if it goes from one group to another."""
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
        return self.events.message(specs, sender, receiver, target, args, kwargs)

    def reported_by_call(self, specs: tuple[MessageSpec, ...]) -> bool:
        """Is this inside a method whose call was reported as the same message?"""
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
        """The events, at the place of the caller if a method of the receiver only passes the message on."""
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
