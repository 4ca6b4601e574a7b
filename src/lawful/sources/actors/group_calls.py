"""Calls from one group to another: what the C core needs to handle calls that are like earlier ones."""

from __future__ import annotations

import inspect
from collections import Counter
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, Final

from lawful.sources.actors.groups import NOBODY, Party, program_frame, self_of
from lawful.sources.actors.weak_table import WeakTable
from lawful.sources.python.tracer_protocol import Event

if TYPE_CHECKING:
    from lawful.sources.actors.message_specs import MessageSpec
    from lawful.sources.actors.messages import MessageSource

CallerRole = tuple[int, tuple[str, ...], Any, bool] | None
"""The role of the caller in a frame: a kind, the groups, the id of a module's group, and is there an object?"""

_SOMEBODY, _OBJECT, _OUTSIDE, _MODULE = range(4)  # as in group_calls.c
_OF_CALLER, _OF_TARGET, _OF_ALL = range(3)
_DEEPEST: Final = 200  # frames
_EAGER_LIMIT: Final = 200  # calls of a method from which to learn; later one in `_LATER_RATE`, because
_LATER_RATE: Final = 64  # something about it cannot be learned
_MAX_EVENTS: Final = 8

Pattern = tuple[tuple[tuple[Event, int], ...], Any, int]


class GroupCalls:
    """What Python has found out about calls, for the C core."""

    def __init__(self, messages: MessageSource) -> None:
        self._messages = messages
        self.callers: WeakTable[dict[int, Any]] = WeakTable()  # of code, by classes: sides
        # Of code: is it a method, and the patterns of its calls by roles and classes.
        self.entry_points: WeakTable[tuple[bool, dict[CallerRole, dict[int, Any]]]] = WeakTable()
        self._types: WeakTable[WeakTable[CallerRole]] = WeakTable()
        self._patterns: WeakTable[dict[CallerRole, WeakTable[Pattern]]] = WeakTable()
        self.asked: Counter[int] = Counter()  # how often `learn` was called, by the ids of code objects

    def add_entry_point(self, code: CodeType, *, method: bool) -> None:
        """Calls of this code may be messages."""
        varied = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS) or code.co_kwonlyargcount
        if not varied and (code.co_argcount or not method):
            self.entry_points.put(code, (method, {}))
            self._patterns.put(code, {})
            self._messages.message_cache.has_group_calls = True

    def learn(
        self, code: CodeType, specs: tuple[MessageSpec, ...], sender: Party, receiver: Party, target: Any, args: Any
    ) -> None:
        """Let the C core handle such calls from now on."""
        entry_point, inline_judge = self.entry_points.get(code), self._messages.inline_judge
        self.asked[id(code)] += 1
        asked = self.asked[id(code)]
        if entry_point is None or inline_judge is None or (asked > _EAGER_LIMIT and asked % _LATER_RATE):
            return
        self._messages.learn_types(args)
        role = self._caller(code)
        if role is not None and role[0] == _OBJECT and sender.object is target:
            return
        headers = self._messages.events.headers(specs, sender, receiver, target)
        given = tuple(_template(header, sender, receiver) for header in headers)
        if len(headers) > _MAX_EVENTS or [self._filled(each, sender, target) for each in given] != headers:
            return
        inline_steps, version = inline_judge.inline_steps(headers)
        patterns = self._patterns.get(code)
        assert patterns is not None
        if role not in patterns:
            patterns[role] = WeakTable()
            entry_point[1][role] = patterns[role].entries
        patterns[role].put(type(target), (given, inline_steps, version))

    def _filled(self, given: tuple[Event, int], sender: Party, target: Any) -> Event:
        """The header that the C core will make of a template."""
        begin, whose = given
        event = dict(begin)
        caller = None if sender.object is None else self._messages.events.identity(sender.object)
        called = None if target is None else self._messages.events.identity(target)
        if whose != _OF_ALL:
            event["groupId"] = caller if whose == _OF_CALLER else called
        if called is not None:
            event["targetId"] = called
        if caller is not None:
            event["callerId"] = caller
        return event

    # -- the caller -------------------------------------------------------------------------------

    def _caller(self, callee: CodeType) -> CallerRole:
        """The role of the caller on the stack. The roles of all frames on the way are remembered."""
        frame = program_frame()
        if frame is not None and frame.f_code is callee:
            frame = frame.f_back
        for _ in range(_DEEPEST):
            if frame is None:
                break
            role = self._role(frame)
            if role is not None and role[0] != _SOMEBODY:
                return role
            frame = frame.f_back
        return None

    def _role(self, frame: FrameType) -> CallerRole:
        code = frame.f_code
        types = self._types.get(code)
        if types is None:
            types = self._types.put(code, WeakTable())
            self.callers.put(code, types.entries)
        return types.put(type(_candidate(frame)), self._found(frame))

    def _found(self, frame: FrameType) -> CallerRole:
        groups = self._messages.groups_of
        owner = self_of(frame)
        if owner is not None:
            names, outside = groups.of_type(type(owner))
            if names:
                return _OBJECT, names, None, True
            if outside:
                party = groups.of_object(owner)
                if party is NOBODY:
                    return _OUTSIDE, (), None, True
                return _MODULE, party.names, self._messages.events.number(party), True
        module = groups.of_module(str(frame.f_globals.get("__name__", "")))
        if module is not None:
            return _MODULE, module.names, self._messages.events.number(module), owner is not None
        return None if owner is None else (_SOMEBODY, (), None, True)


def _template(header: Event, sender: Party, receiver: Party) -> tuple[Event, int]:
    """A header without the ids of objects, and whose id its group has."""
    party = sender if header["event"] == "send" else receiver
    begin = {key: header[key] for key in ("event", "name", "group")}
    if party.key is not None and party.key is party.object:
        return begin, _OF_CALLER if party is sender else _OF_TARGET
    return begin | {"groupId": header["groupId"]}, _OF_ALL


def _candidate(frame: FrameType) -> Any:
    """The object whose method a frame may be, as the C core sees it."""
    code = frame.f_code
    if code.co_argcount:
        return frame.f_locals.get(code.co_varnames[0])
    return frame.f_locals.get("self") if "self" in code.co_freevars else None
