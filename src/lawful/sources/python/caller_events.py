"""Events of probed instructions, where code calls something or works on an object, in the pure-Python tracer."""

from __future__ import annotations

from types import (
    BuiltinFunctionType,
    FrameType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, Final

from lawful.sources.python import names
from lawful.sources.python.call_events import CallEvents, OpenCall, only, receiver_type
from lawful.sources.python.encode import add_arguments, add_result, is_primitive
from lawful.sources.python.frames import MISSING
from lawful.sources.python.stack_walk import OPERANDS, RESULT_ABOVE_BASE
from lawful.sources.python.tracer_protocol import CALLS, FIELDS, NEXTS, Callee, Event, Operation, Probe, Want
from lawful.sources.python.watched_code import WatchedCode

_ENDS: Final = Want.POST | Want.RAISE | Want.NEW | Want.ON_RETURN
_ARGUMENTS: Final = ("args", "argIds", "kwargs", "kwargIds")
_CALL_FUNCTIONS: Final = (FunctionType, MethodDescriptorType, WrapperDescriptorType)


class CallerEvents(CallEvents):
    """The caller side."""

    def before(self, known: WatchedCode, frame: FrameType, probe: Probe) -> bool:
        """A probed instruction is about to run. False: it need not be looked at again."""
        self._open.pop(id(frame), None)
        assert self._read is not None
        if self._sampler.asleep(probe.groups, probe.may_create):
            known.has_disabled = True
            return False
        operation = probe.operation
        if operation is Operation.CALL or operation is Operation.CALL_EX:  # quicker than to look into `CALLS`
            return self._before_call(known, frame, probe)
        if operation in FIELDS:
            self._before_field(known, frame, probe)
        else:
            self._before_operation(known, frame, probe)
        return True

    def called(self, known: WatchedCode, frame: FrameType, offset: int, function: Any, first: Any) -> None:
        """A call is about to happen. Only the function is known, and its first argument or `MISSING`."""
        probe = known.probes.get(offset)
        self._open.pop(id(frame), None)
        if probe is None or probe.operation not in CALLS:
            return
        method = first is not MISSING and type(function) is FunctionType and _is_method(function, first)
        function, receiver, _ = _unbind(function, None if first is MISSING else [first], method)
        callee = self._answers.callee(function, None if receiver is MISSING else receiver_type(receiver))
        if callee is None or callee.wants & Want.CALLEE_SIDE or (callee.group and not self._is_sample(receiver)):
            return
        self._begin(known, frame, probe, callee, function, receiver, None, {})

    def ended(self, known: WatchedCode, frame: FrameType, *called: object) -> None:
        """A call has returned. What it gave is not known."""
        call = self._close(known, frame)
        if call is not None and call.wants & Want.POST:
            self._tracer.record("func_post", call.parts, call.site)

    def _before_call(self, known: WatchedCode, frame: FrameType, probe: Probe) -> bool:
        assert self._read is not None
        fixed = 2 if probe.operation is Operation.CALL else 3
        one, two, *values = self._read(frame, known.bottom + probe.base, fixed + probe.count)
        args, kwargs = _arguments(probe, values)
        called = two if one is MISSING else one
        method = one is not MISSING and two is not MISSING
        if method and args is not None:
            args = [two, *args]
        function, receiver, rest = _unbind(called, args, method)
        if receiver is called:
            callee = self._answers.operation("__call__", type(receiver))
        else:
            callee = self._answers.callee(function, None if receiver is MISSING else receiver_type(receiver))
        if callee is not None and receiver is MISSING and rest and callee.wants & Want.RECEIVER:
            receiver, *rest = rest
            callee = self._answers.callee(function, receiver_type(receiver))
        if callee is None or callee.wants & Want.CALLEE_SIDE:
            # A function that a global refers to is the same one next time. An attribute need not be.
            return receiver is not MISSING or method or not probe.by_global or probe.name != _plain_name(function)
        kind = function if names.inherits(type(function), type) else None
        unborn = callee.group if kind is not None or callee.wants & Want.BIRTH else 0
        if not self._is_skipped(callee, probe, receiver, unborn):
            self._begin(known, frame, probe, callee, function, receiver, rest, kwargs, kind, unborn)
        return True

    def _before_operation(self, known: WatchedCode, frame: FrameType, probe: Probe) -> None:
        operation, name = probe.operation, probe.name or ""
        assert self._read is not None
        values = self._read(frame, known.bottom + probe.base, OPERANDS[operation])
        if operation is Operation.EXIT_RAISED:
            _, owner, _ = _unbind(values[0], [], False)
            error = values[3]
            # The traceback would keep every frame alive.
            args: list[Any] = [type(error), error, None]
            callee = None if owner is MISSING else self._answers.operation(name, receiver_type(owner))
        else:
            owner, args = _operands(operation, values)
            callee = self._answers.operation(name, type(owner))
            in_place = operation is Operation.BINARY and name.startswith("__i")
            if callee is None and in_place and names.lookup(type(owner), name) is None:
                # `x += y` is `x = x + y` if the class has no `__iadd__`.
                callee = self._answers.operation(f"__{name[3:]}", type(owner))
        if callee is None or callee.wants & Want.CALLEE_SIDE or self._is_skipped(callee, probe, owner):
            return
        if operation in NEXTS and callee.wants & Want.NEXT:
            self._tracer.record("iter_next", self._parts(callee, owner), _site(known, probe, callee.wants))
        self._begin(known, frame, probe, callee, None, owner, args, {})

    def _before_field(self, known: WatchedCode, frame: FrameType, probe: Probe) -> None:
        assert self._read is not None
        operation = probe.operation
        is_read = operation is Operation.GET_FIELD
        count = 2 if operation is Operation.SET_FIELD else 1
        *value, owner = self._read(frame, known.bottom + probe.base, count)
        callee = None if is_primitive(owner) else self._answers.field(probe.name or "", receiver_type(owner))
        if callee is None:
            return
        wants = callee.wants
        if not wants & (Want.READ if is_read else Want.WRITE) or self._is_skipped(callee, probe, owner):
            return
        parts, site = self._parts(callee, owner), _site(known, probe, wants)
        if is_read and wants & Want.RESULT and probe.result >= 0:
            # It is recorded with the value that was read, when that is known.
            self.needs_exceptions = True
            self._open[id(frame)] = OpenCall(known, wants, parts, site, probe=probe)
            return
        if value and wants & Want.RESULT:
            add_result(parts, value[0], self._tracer.identity.of)
        self._tracer.record("field_read" if is_read else "field_write", parts, site)

    def _is_skipped(self, callee: Callee, probe: Probe, receiver: object, unborn: int = 0) -> bool:
        """Is it an object that is not a sample, where only samples are wanted?"""
        if not callee.group or (unborn and not self._sampler.asleep((unborn,), True)) or self._is_sample(receiver):
            return False
        self._sampler.drowse(probe.groups)
        return True

    def _begin(
        self,
        known: WatchedCode,
        frame: FrameType,
        probe: Probe,
        callee: Callee,
        function: object,
        receiver: object,
        args: list[Any] | None,
        kwargs: dict[str, Any],
        kind: type | None = None,
        unborn: int = 0,
    ) -> None:
        """A call begins. The receiver may be `MISSING`; the arguments are without it, and None if unknown."""
        wants, parts = callee.wants, self._parts(callee, receiver)
        if wants & Want.ARGS and args is not None:
            add_arguments(parts, args, kwargs, self._tracer.identity.of)
        site = _site(known, probe, wants)
        if wants & Want.PRE and not unborn:
            self._tracer.record("func_pre", parts, site)
        token = None
        if wants & Want.ON_CALL and args is not None:
            objects = args if receiver is MISSING else [receiver, *args]
            token = self._on_call(function, objects, kwargs, _site(known, probe, Want.SITE))
        if (unborn or wants & _ENDS) and probe.result >= 0:
            self.needs_exceptions = True
            self._open[id(frame)] = OpenCall(known, wants, parts, site, token, probe, kind, unborn)
        if wants & Want.EXIT:
            self._tracer.flush_now()

    def after(self, known: WatchedCode, frame: FrameType, offset: int) -> None:
        """An instruction runs before which the result of another one may be there."""
        call = self._open.get(id(frame))
        if call is None or call.code is not known or call.probe is None or call.probe.result != offset:
            return
        del self._open[id(frame)]
        value = self._result(known, frame, call.probe)
        if call.probe.operation is Operation.GET_FIELD:
            self._tracer.record("field_read", self._with_result(call, value), call.site)
            return
        if call.unborn and not self._is_sampled_result(call, frame, value):
            return
        self._on_return(call, value, None, call.site)
        if call.wants & Want.NEW and call.kind is not None and _is_made(call, call.kind, value):
            made = self._answers.class_name(type(value))
            parts: Event = {"name": call.parts["name"], "class": made, "targetId": self._tracer.identity.of(value)}
            self._tracer.record("new", parts | only(call.parts, _ARGUMENTS), call.site)
        if call.wants & Want.POST:
            self._tracer.record("func_post", self._with_result(call, value), call.site)

    def _result(self, known: WatchedCode, frame: FrameType, probe: Probe) -> Any:
        above = RESULT_ABOVE_BASE.get(probe.operation)
        if above is None:
            return None
        assert self._read is not None
        (value,) = self._read(frame, known.bottom + probe.base + above, 1)
        is_inverted = probe.operation is Operation.CONTAINS and probe.count and type(value) is bool
        return not value if is_inverted else value

    def _is_sampled_result(self, call: OpenCall, frame: FrameType, value: object) -> bool:
        """A call whose callee has a group gives an object: is it a sample, perhaps from now on?"""
        if is_primitive(value) or (call.kind is not None and not _is_made(call, call.kind, value)):
            return False
        if self._is_sample(value):
            return True
        if not call.wants & Want.BIRTH or not self._sampler.flip(call.unborn):
            return False
        self._born(Callee(call.parts["name"], call.wants, call.unborn), value, frame, call.site)
        return True

    def may_disable_result(self, known: WatchedCode, frame: FrameType, offset: int) -> bool:
        """Need nothing be recorded where results are seen, until there is a sample?"""
        probe = known.results[offset]
        if not self._sampler.asleep(probe.groups, probe.may_create) or self.has_open(frame):
            return False
        known.has_disabled = True
        return True

    def raised(self, frame: FrameType, error: BaseException) -> None:
        """An exception comes up in a frame: from its open call, if it has one."""
        call = self._open.pop(id(frame), None)
        if call is None or call.code is not self._codes.get(frame.f_code) or call.unborn:
            return
        self._on_return(call, None, self._answers.class_name(type(error)), call.site)
        if call.wants & Want.RAISE and call.probe is not None and call.probe.operation is not Operation.GET_FIELD:
            self._tracer.record("func_raise", self._with_exception(call, error), call.site)


def _site(known: WatchedCode, probe: Probe, wants: Want) -> Event:
    return {"file": known.file, "line": known.lines.get(probe.offset, 0)} if wants & Want.SITE else {}


def _arguments(probe: Probe, values: list[Any]) -> tuple[list[Any] | None, dict[str, Any]]:
    """The arguments of a call by position and by keyword; None if they are not known before the call."""
    if probe.operation is Operation.CALL and not probe.keywords:
        return values, {}
    if probe.operation is Operation.CALL:
        split = len(values) - len(probe.keywords)
        return values[:split], dict(zip(probe.keywords, values[split:], strict=True))
    several, kwargs = values if probe.count else (values[0], {})
    # The call itself iterates anything else, and must stay the only one to do so.
    is_known = type(several) in (tuple, list) and type(kwargs) is dict
    return (list(several), kwargs) if is_known else (None, {})


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


def _unbind(called: Any, args: list[Any] | None, method: bool) -> tuple[Any, Any, list[Any] | None]:
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
        if owner is None or names.inherits(type(owner), ModuleType):
            return called, MISSING, args
        found = names.descriptor_of(called)
        return (called, MISSING, args) if found is called else (found, owner, args)
    if names.is_method_type(kind):
        return (called, args[0], args[1:]) if args else (called, MISSING, args)
    if names.inherits(kind, type):
        return called, MISSING, args
    entry = names.lookup(kind, "__call__")
    if entry is not None and type(entry[1]) in _CALL_FUNCTIONS and names.unwrapped(called) is called:
        return entry[1], called, args
    return called, MISSING, args


def _is_made(call: OpenCall, kind: type, value: object) -> bool:
    # Not every call of a class makes an object of it: `type(x)`, `bool(x)`, a `__new__` of its own.
    if is_primitive(value) or not names.inherits(type(value), kind):
        return False
    return kind is not type or len(call.parts.get("args", ())) != 1


def _is_method(function: FunctionType, receiver: object) -> bool:
    found = names.lookup(type(receiver), function.__name__)
    return found is not None and found[1] is function


def _plain_name(function: Any) -> str | None:
    kind = type(function)
    if kind is FunctionType or kind is BuiltinFunctionType:
        name = function.__name__
        return name if type(name) is str else None
    if kind is type:
        return vars(type)["__name__"].__get__(function)  # type: ignore[no-any-return]
    return None
