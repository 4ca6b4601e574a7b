"""Calls from one group to another that are like earlier ones: what the C core must know to see to them by itself."""

from __future__ import annotations

import inspect
from collections import Counter
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, Final

from lawful.sources.actors.groups import NOBODY, Party, program_frame, self_of
from lawful.sources.actors.tables import Table
from lawful.sources.python.tracer_protocol import Event

if TYPE_CHECKING:
    from lawful.sources.actors.messages import Exchange
    from lawful.sources.actors.specs import Spec

Side = tuple[int, tuple[str, ...], Any, bool] | None
"""Who is at work in a frame: a kind, the groups, the id of the group if it is a module, and is there an object?"""

_SOMEBODY, _OBJECT, _OUTSIDE, _MODULE = range(4)  # as in crossing.c
_OF_CALLER, _OF_TARGET, _OF_ALL = range(3)
_DEEPEST: Final = 200  # frames
_KEEN: Final = 200  # times that something may be learned from a call of a method; then of one in so many, because
_SELDOM: Final = 64  # there must be something about it that cannot be learned
_MOST_EVENTS: Final = 8

Pattern = tuple[tuple[tuple[Event, int], ...], Any, int]


class Crossings:
    """What Python has found out about calls."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self.owners: Table[dict[int, Any]] = Table()  # of code, by classes: sides
        self.doors: Table[tuple[bool, dict[Side, dict[int, Any]]]] = Table()  # of code: methods? by sides and classes
        self._types: Table[Table[Side]] = Table()
        self._patterns: Table[dict[Side, Table[Pattern]]] = Table()
        self.asked: Counter[int] = Counter()  # by the ids of code objects

    def open(self, code: CodeType, *, method: bool) -> None:
        """Calls of this code may be messages."""
        varied = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS) or code.co_kwonlyargcount
        if not varied and (code.co_argcount or not method):
            self.doors.put(code, (method, {}))
            self._patterns.put(code, {})
            self._exchange.post.calls = True

    def learn(
        self, code: CodeType, specs: tuple[Spec, ...], sender: Party, receiver: Party, target: Any, args: Any
    ) -> None:
        """From now on the C core sees to such calls."""
        door, bench = self.doors.get(code), self._exchange.bench
        self.asked[id(code)] += 1
        asked = self.asked[id(code)]
        if door is None or bench is None or (asked > _KEEN and asked % _SELDOM):
            return
        self._exchange.learn_kinds(args)
        found, side = self._caller(code)
        if not found or (side is not None and side[0] == _OBJECT and sender.object is target):
            return
        heads = self._exchange.heads(specs, sender, receiver, target)
        given = tuple(self._template(head, spec, sender, receiver) for head, spec in self._with_specs(heads, specs))
        if len(heads) > _MOST_EVENTS or [self._filled(each, sender, target) for each in given] != heads:
            return
        turns, version = bench.turns(heads) if heads else (None, 0 if bench.court is None else bench.court.version)
        patterns = self._patterns.get(code)
        assert patterns is not None
        if side not in patterns:
            patterns[side] = Table()
            door[1][side] = patterns[side].entries
        patterns[side].put(type(target), (given, turns, version))

    def _with_specs(self, heads: list[Event], specs: tuple[Spec, ...]) -> list[tuple[Event, Spec]]:
        """Each with the message of a view that it is: they are in the same order."""
        found, rest = [], iter(specs)
        for head in heads:
            for spec in rest:
                if (spec.direction, spec.name, spec.reply) == (head["event"], head["name"], False) and (
                    spec.group is None or spec.group == head["group"]
                ):
                    found.append((head, spec))
                    break
        return found

    def _template(self, head: Event, spec: Spec, sender: Party, receiver: Party) -> tuple[Event, int]:
        party = sender if spec.direction == "send" else receiver
        begin = {key: head[key] for key in ("event", "name", "group")}
        if party.key is not None and party.key is party.object:
            return begin, _OF_CALLER if party is sender else _OF_TARGET
        return begin | {"groupId": head["groupId"]}, _OF_ALL

    def _filled(self, given: tuple[Event, int], sender: Party, target: Any) -> Event:
        """What the C core will make of it."""
        begin, whose = given
        event = dict(begin)
        caller = None if sender.object is None else self._exchange.identity(sender.object)
        called = None if target is None else self._exchange.identity(target)
        if whose != _OF_ALL:
            event["groupId"] = caller if whose == _OF_CALLER else called
        if called is not None:
            event["targetId"] = called
        if caller is not None:
            event["callerId"] = caller
        return event

    # -- who calls --------------------------------------------------------------------------------

    def _caller(self, callee: CodeType) -> tuple[bool, Side]:
        """The side of who calls, if it may be known by what is on the stack; those of all frames on the way."""
        frame = program_frame()
        if frame is not None and frame.f_code is callee:
            frame = frame.f_back
        for _ in range(_DEEPEST):
            if frame is None:
                break
            side = self._side(frame)
            if side is not None and side[0] != _SOMEBODY:
                return True, side
            frame = frame.f_back
        return True, None

    def _side(self, frame: FrameType) -> Side:
        code = frame.f_code
        types = self._types.get(code)
        if types is None:
            types = self._types.put(code, Table())
            self.owners.put(code, types.entries)
        return types.put(type(_candidate(frame)), self._found(frame))

    def _found(self, frame: FrameType) -> Side:
        groups = self._exchange.groups_of
        owner = self_of(frame)
        if owner is not None:
            names, outside = groups.of_type(type(owner))
            if names:
                return _OBJECT, names, None, True
            if outside:
                party = groups.of_object(owner)
                if party is NOBODY:
                    return _OUTSIDE, (), None, True
                return _MODULE, party.names, self._exchange.number(party), True
        module = groups.of_module(str(frame.f_globals.get("__name__", "")))
        if module is not None:
            return _MODULE, module.names, self._exchange.number(module), owner is not None
        return None if owner is None else (_SOMEBODY, (), None, True)


def _candidate(frame: FrameType) -> Any:
    """Whose method it may be, as the C core sees it."""
    code = frame.f_code
    if code.co_argcount:
        return frame.f_locals.get(code.co_varnames[0])
    return frame.f_locals.get("self") if "self" in code.co_freevars else None
