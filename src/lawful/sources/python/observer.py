"""What the pure-Python core makes of a started function and of a probed instruction, on whatever hook they come."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterable
from types import (
    BuiltinFunctionType,
    CellType,
    ClassMethodDescriptorType,
    CodeType,
    FrameType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, Final, NamedTuple

from lawful.sources.python import names
from lawful.sources.python.encode import (
    add_arguments,
    add_exception,
    add_receiver,
    add_result,
    is_primitive,
)
from lawful.sources.python.frames import MISSING, Read, stack_bottom
from lawful.sources.python.identity import Identity, IdentityCache, is_a
from lawful.sources.python.object_sampling import ObjectSampler
from lawful.sources.python.sites import RESULT_ABOVE_BASE
from lawful.sources.python.tracer_protocol import Callee, CodePlan, Event, Operation, Probe, Want, WatchPlanner, told

_VARARGS = 0x04
_VARKEYWORDS = 0x08
_ENDS: Final = Want.POST | Want.RAISE | Want.NEW | Want.YIELD | Want.ON_RETURN
_AFTER: Final = Want.POST | Want.RAISE | Want.NEW | Want.ON_RETURN
_FIRST_IS_RECEIVER: Final = (MethodDescriptorType, WrapperDescriptorType, ClassMethodDescriptorType)
_CALL_FUNCTIONS: Final = (FunctionType, MethodDescriptorType, WrapperDescriptorType)
_WITHOUT_END: Final = (Operation.SET_FIELD, Operation.DELETE_FIELD)
_STACK: Final = 8
"""Places that `born` has."""
_DEPTH: Final = 200
"""Frames among which they are looked for."""

Emit = Callable[[str, Event, Event], None]
"""`emit(kind, parts, site)`: adds thread, task and time."""


class Code:
    """A code object that matters, and what its hooks must know of it."""

    __slots__ = (
        "__weakref__", "apart", "bears", "bottom", "callee", "cells", "file", "groups", "own", "probes", "ready",
        "ref", "results", "shared", "slept", "unseen",
    )  # fmt: skip

    def __init__(self, code: CodeType, plan: CodePlan, forget: Callable[[object], None]) -> None:
        self.ref = weakref.ref(code, forget)
        self.own = self.unseen = plan.own
        self.groups = plan.groups
        self.bears = plan.bears
        self.apart = False  # its starts and ends are told to a tool of their own
        self.shared = False  # so are its starts, which tell nothing but that it runs
        self.slept = False  # something in it is switched off
        self.ready = False  # the interpreter tells of what is wanted in it
        self.callee = _told(plan.callee)
        self.file = plan.file
        self.probes = {probe.offset: probe for probe in plan.probes}
        ended = (probe for probe in self.probes.values() if probe.result >= 0 and probe.operation not in _WITHOUT_END)
        self.results = {probe.result: probe for probe in ended}
        self.bottom = stack_bottom(code)
        self.cells = frozenset(code.co_cellvars)


class _Call(NamedTuple):
    """A call that has begun and not ended."""

    code: Code
    probe: Probe | None  # on the caller side
    wants: Want
    parts: Event
    site: Event
    kind: type | None  # the class, if one is called
    unborn: int = 0  # the group that the result may be an object of
    token: object = None  # what is to be handed back at its end


class Observer:
    """Decides by `WatchPlanner` and makes events. Holds no frame, and no object beyond what `Identity` holds."""

    def __init__(
        self,
        wanted: WatchPlanner,
        identity: Identity,
        emit: Emit,
        emit_all: Callable[[list[Event], Event], None],
        flush: Callable[[], None],
        read: Read | None,
        sampler: ObjectSampler,
    ) -> None:
        self._wanted = wanted
        self.sampler = sampler
        self.identity = identity
        self._emit = emit
        self._emit_all = emit_all
        self._flush = flush
        self._read = read
        self._codes: dict[int, Code] = {}
        self._callees: IdentityCache[Callee | None] = IdentityCache()
        self._receivers: IdentityCache[Callee | None] = IdentityCache()
        self._operations: dict[str, IdentityCache[Callee | None]] = {}
        self._fields: dict[str, IdentityCache[Callee | None]] = {}
        self._class_names: IdentityCache[str] = IdentityCache()
        self._places: IdentityCache[Code | None] = IdentityCache()
        # By the id of the frame: a frame has one call at a time, and its object lives as long as itself.
        self._started: dict[int, _Call] = {}
        self._pending: dict[int, _Call] = {}
        self.needs_raise = False  # a caller-side call is to be followed to its end
        self.needs_unwind = False  # a callee-side one

    # -- code objects ----------------------------------------------------------------------------

    def code(self, code: CodeType) -> Code | None:
        """What is known of a code object that matters."""
        known = self._codes.get(id(code))
        return known if known is not None and known.ref() is code else None

    def look_at(self, code: CodeType, frame: FrameType) -> Code | None:
        """Decide about a code object that has not been seen, or did not matter."""
        module = frame.f_globals.get("__name__")
        plan = self._wanted.plan(code, module if type(module) is str else "?")
        if plan is None:
            return None
        key = id(code)

        def forget(_: object, codes: dict[int, Code] = self._codes) -> None:
            codes.pop(key, None)

        made = Code(code, plan, forget)
        known = self._codes.setdefault(key, made)
        if known.ref() is not code:  # its place was that of a code object which is gone
            known = self._codes[key] = made
        return known  # another thread may have been quicker

    def starts(self, known: Code, code: CodeType) -> None:
        """Own code starts."""
        if known.unseen:
            known.unseen = False
            on_seen = self._wanted.on_seen
            if on_seen is not None:
                on_seen(code)

    @property
    def tells_seen(self) -> bool:
        """Does somebody want to know which code starts?"""
        return self._wanted.on_seen is not None

    def rearm(self) -> list[tuple[CodeType, Code]]:
        """The code whose next start is to be told."""
        found = []
        for known in list(self._codes.values()) if self._wanted.on_seen is not None else []:
            code = known.ref()
            if code is not None and known.own and not known.unseen:
                known.unseen = True
                found.append((code, known))
        return found

    def sleepers(self) -> list[tuple[CodeType, Code]]:
        """Code in which something is switched off."""
        found = list(self._codes.values())
        return [(code, known) for known in found if known.slept and (code := known.ref()) is not None]

    def codes(self) -> list[CodeType]:
        """The code objects that matter and live."""
        return [code for known in list(self._codes.values()) if (code := known.ref()) is not None]

    def forget_codes(self) -> None:
        """Nothing is watched any more: all codes are looked at anew if that begins again."""
        for table in (self._codes, self._started, self._pending):
            table.clear()
        self._places.clear()
        self.needs_raise = self.needs_unwind = False

    def class_name(self, kind: type) -> str:
        """The name of a class, as events have it."""
        known = self._class_names.get(kind)
        if known is not None:
            return known[0]
        name = self._wanted.class_name(kind)
        self._class_names.put(name, kind)
        return name

    # -- callee side -----------------------------------------------------------------------------

    def started(self, known: Code, code: CodeType, frame: FrameType) -> None:
        """A function that reports itself begins."""
        callee = known.callee
        assert callee is not None
        named = code.co_argcount
        positional = self._locals(known, code, frame, 0, named)
        index = named + code.co_kwonlyargcount
        rest: tuple[object, ...] = ()
        if code.co_flags & _VARARGS:
            (found,) = self._locals(known, code, frame, index, 1)
            rest = found if type(found) is tuple else ()
            index += 1
        first = positional[0] if positional else rest[0] if rest else MISSING
        if first is not MISSING:
            callee = self._receiver_callee(code, _receiver_type(first))
            if callee is None:
                self._started.pop(id(frame), None)
                return
        if callee.group or known.groups:
            receiver = first if callee.wants & Want.RECEIVER else MISSING
            if not self._is_sample(receiver) and not self._begins(callee, receiver, frame):
                self._started.pop(id(frame), None)
                self.sampler.drowse(known.groups)
                return
        wants = callee.wants
        parts: Event = {"name": callee.name}
        args = [*positional, *rest]
        if wants & Want.RECEIVER and args:
            receiver = args.pop(0)
            if receiver is not MISSING:
                self._add_receiver(parts, receiver)
        if wants & Want.ARGS:
            add_arguments(parts, args, self._keywords(known, code, frame, index), self.identity.of)
        self._started.pop(id(frame), None)
        if wants & Want.PRE:
            self._emit("func_pre", parts, self._site(frame, wants))
        token = None
        if wants & Want.ON_CALL:
            args = [None if each is MISSING else each for each in (*positional, *rest)]
            token = self._on_call(code, args, self._keywords(known, code, frame, index), self._site(frame, wants))
        if wants & _ENDS:
            self._started[id(frame)] = _Call(known, None, wants, parts, {}, None, token=token)
            if wants & (Want.RAISE | Want.YIELD | Want.ON_RETURN):
                self.needs_unwind = True

    def _keywords(self, known: Code, code: CodeType, frame: FrameType, index: int) -> dict[str, Any]:
        """Arguments of a function that starts, by keyword; `index` is that of `**kwargs`."""
        named = code.co_argcount
        kwargs = dict(
            zip(
                code.co_varnames[named : named + code.co_kwonlyargcount],
                self._locals(known, code, frame, named, code.co_kwonlyargcount),
                strict=True,
            )
        )
        if code.co_flags & _VARKEYWORDS:
            (found,) = self._locals(known, code, frame, index, 1)
            if type(found) is dict:
                kwargs.update(found)
        return kwargs

    def _on_call(self, subject: object, args: Iterable[Any], kwargs: dict[str, Any], site: Event) -> object:
        answer = self._wanted.on_call(subject, tuple(args), kwargs or None)
        if answer is None:
            return None
        self._emit_all(answer[0], site)
        return answer[1]

    def _on_return(self, call: _Call, result: object, exception: str | None, site: Event) -> None:
        if call.token is not None:
            self._emit_all(self._wanted.on_return(call.token, result, exception), site)

    def _is_sample(self, value: object) -> bool:
        return value is not MISSING and self.sampler.has(self.identity.known(value))

    def _begins(self, callee: Callee, receiver: object, frame: FrameType) -> bool:
        """A function starts that may be the beginning of a life: is it that of a sample?"""
        if receiver is MISSING or not callee.wants & Want.BIRTH or not self.sampler.flip(callee.group):
            return False
        self._born(callee, receiver, frame.f_back, self._site(frame, callee.wants))
        return True

    def _born(self, callee: Callee, value: object, frame: FrameType | None, site: Event) -> None:
        number = self.identity.of(value)
        self.sampler.take(callee.group, number)
        name = self.class_name(type(value))
        parts: Event = {"name": name, "class": name, "targetId": number, "sampled": callee.group}
        if callee.wants & Want.STACK:
            parts["stack"] = self._stack(frame)
        self._emit("born", parts, site)

    def _stack(self, frame: FrameType | None) -> list[str]:
        """The innermost places of own code; if there are none, the one that makes it."""
        found: list[str] = []
        first = frame
        for _ in range(_DEPTH):
            if frame is None or len(found) == _STACK:
                break
            known = self.code(frame.f_code) or self._look_up(frame)
            if known is not None and known.own:
                found.append(f"{known.file}:{frame.f_lineno or 0} {frame.f_code.co_qualname}")
            frame = frame.f_back
        if not found and first is not None:
            found.append(f"{first.f_code.co_filename}:{first.f_lineno or 0} {first.f_code.co_qualname}")
        return found

    def returned(self, known: Code, frame: FrameType, value: object) -> None:
        """It returns."""
        call = self._started.pop(id(frame), None)
        if call is None or call.code is not known:
            return
        self._on_return(call, value, None, self._site(frame, call.wants))
        if call.wants & Want.NEW and "targetId" in call.parts:
            self._emit("new", call.parts, self._site(frame, call.wants))
        if call.wants & Want.POST:
            self._emit("func_post", self._with_result(call, value), self._site(frame, call.wants))

    def unwound(self, known: Code, frame: FrameType, error: BaseException) -> None:
        """It ends by an exception."""
        call = self._started.pop(id(frame), None)
        if call is not None and call.code is known:
            self._on_return(call, None, self.class_name(type(error)), self._site(frame, call.wants))
        if call is not None and call.code is known and call.wants & Want.RAISE:
            self._emit("func_raise", self._with_exception(call, error), self._site(frame, call.wants))

    def yielded(self, known: Code, frame: FrameType, value: object) -> None:
        """A generator or coroutine gives something away and waits."""
        call = self._started.get(id(frame))
        if call is not None and call.code is known and call.wants & Want.YIELD:
            self._emit("yield", self._with_result(call, value, _HEAD), self._site(frame, call.wants))

    def resumed(self, known: Code, frame: FrameType) -> None:
        """It goes on, perhaps with an exception that is thrown into it."""
        call = self._started.get(id(frame))
        if call is not None and call.code is known and call.wants & Want.YIELD:
            self._emit("resume", _only(call.parts, _HEAD), self._site(frame, call.wants))

    def _receiver_callee(self, code: CodeType, kind: type) -> Callee | None:
        known = self._receivers.get(code, kind)
        if known is not None:
            return known[0]
        callee = _told(self._wanted.receiver_callee(code, kind))
        self._receivers.put(callee, code, kind)
        return callee

    def _locals(self, known: Code, code: CodeType, frame: FrameType, index: int, count: int) -> list[Any]:
        if not count:
            return []
        variables = code.co_varnames[index : index + count]
        if self._read is None:
            values = frame.f_locals
            return [values.get(name, MISSING) for name in variables]
        found = self._read(frame, index, count)
        if known.cells:
            for i, name in enumerate(variables):
                if name in known.cells and type(found[i]) is CellType:
                    found[i] = _contents(found[i])
        return found

    def _site(self, frame: FrameType, wants: Want) -> Event:
        """The nearest caller that is own code, else the direct one."""
        if not wants & Want.SITE:
            return {}
        direct = caller = frame.f_back
        while caller is not None:
            known = self.code(caller.f_code) or self._look_up(caller)
            if known is not None and known.own:
                return {"file": known.file, "line": caller.f_lineno or 0}
            caller = caller.f_back
        return {} if direct is None else {"file": direct.f_code.co_filename, "line": direct.f_lineno or 0}

    def _look_up(self, frame: FrameType) -> Code | None:
        """A frame that began before the tracer did: it has no hooks, but it may be a place."""
        code = frame.f_code
        known = self._places.get(code)
        if known is not None:
            return known[0]
        module = frame.f_globals.get("__name__")
        plan = self._wanted.plan(code, module if type(module) is str else "?")
        place = None if plan is None else Code(code, plan, _nothing)
        self._places.put(place, code)
        return place

    # -- caller side -----------------------------------------------------------------------------

    def before(self, known: Code, frame: FrameType, probe: Probe) -> bool:
        """A probed instruction is about to run. False: it need not be looked at again."""
        key = id(frame)
        if key in self._pending:
            del self._pending[key]
        assert self._read is not None
        if self.sampler.asleep(probe.groups, probe.bears):
            known.slept = True
            return False
        operation = probe.operation
        if operation is Operation.CALL:
            values = self._read(frame, known.bottom + probe.base, 2 + probe.count)
            return self._before_call(known, key, probe, values[0], values[1], values[2:], {})
        if operation is Operation.CALL_EX:
            values = self._read(frame, known.bottom + probe.base, 3 + probe.count)
            args: Any = values[2]
            kwargs: Any = values[3] if probe.count else {}
            # Anything else is iterated by the call itself, which must stay the only one to do so.
            if type(args) in (tuple, list) and type(kwargs) is dict:
                return self._before_call(known, key, probe, values[0], values[1], list(args), kwargs)
            return self._before_call(known, key, probe, values[0], values[1], None, {})
        self._before_operation(known, frame, key, probe)
        return True

    @property
    def blind(self) -> bool:
        """The value stack cannot be read: calls are to be told by `called` and `ended`."""
        return self._read is None

    def called(self, known: Code, frame: FrameType, offset: int, function: Any, first: Any) -> None:
        """A call is about to happen. Only the function is known, and its first argument or `MISSING`."""
        probe = known.probes.get(offset)
        self._pending.pop(id(frame), None)
        if probe is None or probe.operation not in _CALLS:
            return
        method = first is not MISSING and type(function) is FunctionType and _is_method(function, first)
        args = None if first is MISSING else [first]
        function, receiver, _ = _behind(function, args, method)
        callee = self._callee(function, None if receiver is MISSING else _receiver_type(receiver))
        if callee is None or callee.wants & Want.CALLEE_SIDE or (callee.group and not self._is_sample(receiver)):
            return
        self._begin(known, id(frame), probe, callee, receiver, None, {})

    def ended(self, known: Code, frame: FrameType) -> None:
        """A call has returned. What it gave is not known."""
        call = self._pending.pop(id(frame), None)
        if call is not None and call.code is known and call.wants & Want.POST:
            self._emit("func_post", call.parts, call.site)

    def _before_call(
        self,
        known: Code,
        key: int,
        probe: Probe,
        one: Any,
        two: Any,
        args: list[Any] | None,
        kwargs: dict[str, Any],
    ) -> bool:
        method = False
        if one is MISSING:
            called = two
        else:
            called = one
            if two is not MISSING:
                method = True
                args = None if args is None else [two, *args]
        if probe.keywords and args is not None:
            split = len(args) - len(probe.keywords)
            kwargs = dict(zip(probe.keywords, args[split:], strict=True))
            args = args[:split]
        function, receiver, rest = _behind(called, args, method)
        if receiver is called:
            callee = self._operation("__call__", type(receiver))
        else:
            callee = self._callee(function, None if receiver is MISSING else _receiver_type(receiver))
        if callee is not None and receiver is MISSING and rest and callee.wants & Want.RECEIVER:
            receiver, *rest = rest
            callee = self._callee(function, _receiver_type(receiver))
        if callee is None or callee.wants & Want.CALLEE_SIDE:
            # A function that a global stands for is the same one next time. An attribute need not be.
            return receiver is not MISSING or method or not probe.by_global or probe.name != _own_name(function)
        kind = function if is_a(type(function), type) else None
        unborn = callee.group if kind is not None or callee.wants & Want.BIRTH else 0
        if not self._passes(callee, probe, receiver, unborn):
            self._begin(known, key, probe, callee, receiver, rest, kwargs, kind, unborn, function)
        return True

    def _passes(self, callee: Callee, probe: Probe, receiver: object, unborn: int = 0) -> bool:
        """Is it an object that nothing is told of?"""
        if not callee.group or (unborn and not self.sampler.asleep((unborn,), True)) or self._is_sample(receiver):
            return False
        self.sampler.drowse(probe.groups)
        return True

    def _begin(
        self,
        known: Code,
        key: int,
        probe: Probe,
        callee: Callee,
        receiver: object,
        args: list[Any] | None,
        kwargs: dict[str, Any],
        kind: type | None = None,
        unborn: int = 0,
        function: object = None,
    ) -> None:
        wants = callee.wants
        parts: Event = {"name": callee.name}
        if receiver is not MISSING:
            self._add_receiver(parts, receiver)
        if wants & Want.ARGS and args is not None:
            add_arguments(parts, args, kwargs, self.identity.of)
        site: Event = {"file": known.file, "line": probe.line} if wants & Want.SITE else {}
        if wants & Want.PRE and not unborn:
            self._emit("func_pre", parts, site)
        token = None
        if wants & Want.ON_CALL and args is not None:
            objects = args if receiver is MISSING else [receiver, *args]
            token = self._on_call(function, objects, kwargs, {"file": known.file, "line": probe.line})
        if (unborn or wants & _AFTER) and probe.result >= 0:
            self.needs_raise = True
            self._pending[key] = _Call(known, probe, wants, parts, site, kind, unborn, token)
        if wants & Want.EXIT:
            self._flush()

    def _before_operation(self, known: Code, frame: FrameType, key: int, probe: Probe) -> None:
        operation = probe.operation
        assert self._read is not None
        at = known.bottom + probe.base
        if operation in _FIELD_OPERATIONS:
            self._before_field(known, key, probe, self._read(frame, at, 2 if operation is Operation.SET_FIELD else 1))
            return
        values = self._read(frame, at, _OPERANDS[operation])
        name = probe.name or ""
        if operation is Operation.EXIT_RAISED:
            _, owner, _ = _behind(values[0], [], False)
            error = values[3]
            # The traceback would keep every frame alive.
            args: list[Any] = [type(error), error, None]
            callee = None if owner is MISSING else self._operation(name, _receiver_type(owner))
        else:
            owner, args = _operands(operation, values)
            callee = self._operation(name, type(owner))
            in_place = operation is Operation.BINARY and name.startswith("__i")
            if callee is None and in_place and names.lookup(type(owner), name) is None:
                # `x += y` is `x = x + y` where there is no other way.
                callee = self._operation(f"__{name[3:]}", type(owner))
        if callee is None or callee.wants & Want.CALLEE_SIDE or self._passes(callee, probe, owner):
            return
        if operation in _NEXTS and callee.wants & Want.NEXT:
            parts: Event = {"name": callee.name}
            self._add_receiver(parts, owner)
            self._emit("iter_next", parts, {"file": known.file, "line": probe.line} if callee.wants & Want.SITE else {})
        self._begin(known, key, probe, callee, owner, args, {})

    def _before_field(self, known: Code, key: int, probe: Probe, values: list[Any]) -> None:
        operation = probe.operation
        owner = values[-1]
        callee = None if is_primitive(owner) else self._field(probe.name or "", _receiver_type(owner))
        if callee is None:
            return
        wants = callee.wants
        wanted = wants & (Want.READ if operation is Operation.GET_FIELD else Want.WRITE)
        if not wanted or self._passes(callee, probe, owner):
            return
        parts: Event = {"name": callee.name}
        self._add_receiver(parts, owner)
        site: Event = {"file": known.file, "line": probe.line} if wants & Want.SITE else {}
        if operation is Operation.GET_FIELD and wants & Want.RESULT and probe.result >= 0:
            # It is told with the value that was read, when that is known.
            self.needs_raise = True
            self._pending[key] = _Call(known, probe, wants, parts, site, None)
            return
        if operation is Operation.SET_FIELD and wants & Want.RESULT:
            add_result(parts, values[0], self.identity.of)
        self._emit("field_read" if operation is Operation.GET_FIELD else "field_write", parts, site)

    def after(self, known: Code, frame: FrameType, offset: int) -> None:
        """An instruction runs before which the result of another one may be there."""
        key = id(frame)
        call = self._pending.get(key)
        if call is None or call.code is not known or call.probe is None or call.probe.result != offset:
            return
        del self._pending[key]
        probe = call.probe
        above = RESULT_ABOVE_BASE.get(probe.operation)
        value: Any = None
        if above is not None:
            assert self._read is not None
            (value,) = self._read(frame, known.bottom + probe.base + above, 1)
            if probe.operation is Operation.CONTAINS and probe.count and type(value) is bool:
                value = not value
        if probe.operation is Operation.GET_FIELD:
            self._emit("field_read", self._with_result(call, value), call.site)
            return
        if call.unborn and not self._comes_out(call, frame, value):
            return
        self._on_return(call, value, None, call.site)
        if call.wants & Want.NEW and call.kind is not None:
            self._new(call, call.kind, value)
        if call.wants & Want.POST:
            self._emit("func_post", self._with_result(call, value), call.site)

    def _comes_out(self, call: _Call, frame: FrameType, value: object) -> bool:
        """An object comes out of a call whose callee has a group: is it a sample, perhaps from now on?"""
        if is_primitive(value) or (call.kind is not None and not _is_made(call, call.kind, value)):
            return False
        if self._is_sample(value):
            return True
        if not call.wants & Want.BIRTH or not self.sampler.flip(call.unborn):
            return False
        self._born(Callee(call.parts["name"], call.wants, call.unborn), value, frame, call.site)
        return True

    def _new(self, call: _Call, kind: type, value: object) -> None:
        made = type(value)
        if not _is_made(call, kind, value):
            return
        parts: Event = {
            "name": call.parts["name"],
            "class": self.class_name(made),
            "targetId": self.identity.of(value),
        }
        parts.update(_only(call.parts, _ARGUMENTS))
        self._emit("new", parts, call.site)

    def ends_unseen(self, known: Code, frame: FrameType, offset: int) -> bool:
        """Need nothing be told where results are seen, until there is a sample?"""
        probe = known.results[offset]
        if not self.sampler.asleep(probe.groups, probe.bears) or self.has_pending(frame):
            return False
        known.slept = True
        return True

    def raised(self, frame: FrameType, error: BaseException) -> None:
        """An exception comes up in a frame: from its pending call, if it has one."""
        call = self._pending.pop(id(frame), None)
        if call is None or call.code.ref() is not frame.f_code:
            return
        if call.unborn:
            return
        self._on_return(call, None, self.class_name(type(error)), call.site)
        if not call.wants & Want.RAISE:
            return
        if call.probe is not None and call.probe.operation is not Operation.GET_FIELD:
            self._emit("func_raise", self._with_exception(call, error), call.site)

    def has_started(self, frame: FrameType) -> bool:
        """Whether the start of this frame was told, or its end is to be."""
        return id(frame) in self._started

    def has_pending(self, frame: FrameType) -> bool:
        """Whether a call of this frame has not ended."""
        return id(frame) in self._pending

    def _add_receiver(self, parts: Event, receiver: object) -> None:
        name = None if is_primitive(receiver) else self.class_name(_receiver_type(receiver))
        add_receiver(parts, receiver, name, self.identity.of)

    def _with_result(self, call: _Call, value: object, keys: Iterable[str] | None = None) -> Event:
        parts = _only(call.parts, keys)
        if not call.wants & Want.RESULT:
            return parts
        add_result(parts, value, self.identity.of)
        return parts

    def _with_exception(self, call: _Call, error: BaseException) -> Event:
        parts = call.parts.copy()
        add_exception(parts, error, self.class_name(type(error)), self.identity.of)
        return parts

    # -- what WatchPlanner says, once ------------------------------------------------------------------

    def _callee(self, function: Any, receiver: type | None) -> Callee | None:
        subject = function
        if type(function) is FunctionType and not function.__code__.co_freevars:
            # Functions that close over something may be a decorator's: these share their code, but not their name.
            subject = function.__code__
        known = self._callees.get(subject, receiver)
        if known is not None:
            return known[0]
        callee = _told(self._wanted.callee(function, receiver))
        self._callees.put(callee, subject, receiver)
        return callee

    def _operation(self, name: str, kind: type) -> Callee | None:
        answers = self._operations.get(name)
        if answers is None:
            answers = self._operations[name] = IdentityCache()
        known = answers.get(kind)
        if known is not None:
            return known[0]
        callee = _told(self._wanted.operation(name, kind))
        answers.put(callee, kind)
        return callee

    def _field(self, name: str, kind: type) -> Callee | None:
        answers = self._fields.get(name)
        if answers is None:
            answers = self._fields[name] = IdentityCache()
        known = answers.get(kind)
        if known is not None:
            return known[0]
        callee = _told(self._wanted.field(name, kind))
        answers.put(callee, kind)
        return callee


_HEAD: Final = ("name", "class", "target", "targetId")
_ARGUMENTS: Final = ("args", "argIds", "kwargs", "kwargIds")
_FIELD_OPERATIONS: Final = frozenset({Operation.GET_FIELD, Operation.SET_FIELD, Operation.DELETE_FIELD})
_CALLS: Final = frozenset({Operation.CALL, Operation.CALL_EX})
_NEXTS: Final = frozenset({Operation.NEXT, Operation.ASYNC_NEXT})
_OPERANDS: Final = {
    Operation.ENTER: 1,
    Operation.EXIT_RAISED: 4,
    Operation.ASYNC_ENTER: 1,
    Operation.ITER: 1,
    Operation.NEXT: 1,
    Operation.ASYNC_ITER: 1,
    Operation.ASYNC_NEXT: 1,
    Operation.AWAIT: 1,
    Operation.CONTAINS: 2,
    Operation.GET_ITEM: 2,
    Operation.SET_ITEM: 3,
    Operation.DELETE_ITEM: 2,
    Operation.GET_SLICE: 3,
    Operation.SET_SLICE: 4,
    Operation.BINARY: 2,
    Operation.COMPARE: 2,
    Operation.UNARY: 1,
}


def _operands(operation: Operation, values: list[Any]) -> tuple[Any, list[Any]]:
    """The receiver, and the arguments that its special method is called with."""
    if operation is Operation.CONTAINS:
        return values[1], values[:1]
    if operation is Operation.SET_ITEM:
        return values[1], [values[2], values[0]]
    if operation is Operation.GET_SLICE:
        return values[0], [slice(values[1], values[2])]
    if operation is Operation.SET_SLICE:
        return values[1], [slice(values[2], values[3]), values[0]]
    return values[0], values[1:]


def _behind(called: Any, args: list[Any] | None, method: bool) -> tuple[Any, Any, list[Any] | None]:
    """The function behind something that is called, its receiver or `MISSING`, and the other arguments."""
    kind = type(called)
    if kind is FunctionType:
        # The call of an `__exit__` that is a static method has the form of a method call on None.
        if method and args and args[0] is not None:
            return called, args[0], args[1:]
        return called, MISSING, args
    if kind is MethodType:
        return called.__func__, called.__self__, args
    if kind is BuiltinFunctionType or kind is MethodWrapperType:
        owner = called.__self__
        if owner is None or is_a(type(owner), ModuleType):
            return called, MISSING, args
        found = names.behind(called)
        return (called, MISSING, args) if found is called else (found, owner, args)
    if kind in _FIRST_IS_RECEIVER:
        return (called, args[0], args[1:]) if args else (called, MISSING, args)
    if is_a(kind, type):
        return called, MISSING, args
    entry = names.lookup(kind, "__call__")
    if entry is not None and type(entry[1]) in _CALL_FUNCTIONS and names.wrapped(called) is called:
        return entry[1], called, args
    return called, MISSING, args


def _is_made(call: _Call, kind: type, value: object) -> bool:
    # Not every call of a class makes an object of it: `type(x)`, `bool(x)`, a `__new__` of its own.
    if is_primitive(value) or not is_a(type(value), kind):
        return False
    return kind is not type or len(call.parts.get("args", ())) != 1


def _told(callee: Callee | None) -> Callee | None:
    return None if callee is None else callee._replace(wants=told(callee.wants))


def _receiver_type(receiver: Any) -> type:
    """The type of a receiver; a class, on which class methods are called, stands for itself."""
    kind = type(receiver)
    return receiver if is_a(kind, type) else kind


def _only(parts: Event, keys: Iterable[str] | None) -> Event:
    return parts.copy() if keys is None else {key: parts[key] for key in keys if key in parts}


def _nothing(_: object) -> None:
    pass


def _is_method(function: FunctionType, receiver: object) -> bool:
    found = names.lookup(type(receiver), function.__name__)
    return found is not None and found[1] is function


def _own_name(function: Any) -> str | None:
    kind = type(function)
    if kind is FunctionType or kind is BuiltinFunctionType:
        name = function.__name__
        return name if type(name) is str else None
    if kind is type:
        return vars(type)["__name__"].__get__(function)  # type: ignore[no-any-return]
    return None


def _contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


def current_task() -> object | None:
    """The asyncio task that runs in this thread, if asyncio is in use at all."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return None
    try:
        loop = asyncio._get_running_loop()
        return None if loop is None else asyncio.current_task(loop)
    except AttributeError:  # it is being imported
        return None
