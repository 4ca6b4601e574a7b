"""Events of calls in the pure-Python tracer: what both sides of a call share, and functions that report themselves."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from types import CellType, CodeType, FrameType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from lawful.sources.python import names
from lawful.sources.python.encode import add_arguments, add_receiver, add_result, is_primitive
from lawful.sources.python.frames import MISSING
from lawful.sources.python.tracer_protocol import Callee, Event, Probe, Want
from lawful.sources.python.watched_code import WatchedCode

if TYPE_CHECKING:
    from lawful.sources.python.pytracer import PythonTracer

_HEAD: Final = ("name", "class", "target", "targetId")
_ENDS: Final = Want.POST | Want.RAISE | Want.NEW | Want.YIELD | Want.ON_RETURN
_EXCEPTIONS: Final = Want.RAISE | Want.YIELD | Want.ON_RETURN


class OpenCall(NamedTuple):
    """A call that has begun and not ended."""

    code: WatchedCode
    wants: Want
    parts: Event
    site: Event  # of the caller side, like all that follows `token`
    token: object = None  # what `WatchPlanner.on_return` gets
    probe: Probe | None = None
    kind: type | None = None  # the class, if one is called
    unborn: int = 0  # the group that the result may be an object of


class CallEvents:
    """One side of calls. Holds no frame, and no object beyond what `Identity` holds."""

    def __init__(self, tracer: PythonTracer) -> None:
        self._tracer = tracer
        self._codes, self._answers = tracer.codes, tracer.answers
        self._sampler, self._read = tracer.sampler, tracer.read
        # By the id of the frame: a frame has one call at a time, and its object lives as long as itself.
        self._open: dict[int, OpenCall] = {}
        self.needs_exceptions = False  # there was a call whose end by an exception is wanted

    def has_open(self, frame: FrameType) -> bool:
        """Whether a call of this frame has begun and not ended."""
        return id(frame) in self._open

    def clear(self) -> None:
        self._open.clear()
        self.needs_exceptions = False

    def _close(self, known: WatchedCode, frame: FrameType) -> OpenCall | None:
        call = self._open.pop(id(frame), None)
        return call if call is not None and call.code is known else None

    def _on_call(self, subject: object, args: Iterable[Any], kwargs: dict[str, Any], site: Event) -> object:
        answer = self._tracer.planner.on_call(subject, tuple(args), kwargs or None)
        if answer is None:
            return None
        self._tracer.record_together(answer[0], site)
        return answer[1]

    def _on_return(self, call: OpenCall, result: object, exception: str | None, site: Event) -> None:
        if call.token is not None:
            self._tracer.record_together(self._tracer.planner.on_return(call.token, result, exception), site)

    def _is_sample(self, value: object) -> bool:
        return value is not MISSING and self._sampler.has(self._tracer.identity.known(value))

    def _born(self, callee: Callee, value: object, frame: FrameType | None, site: Event) -> None:
        number = self._tracer.identity.of(value)
        self._sampler.take(callee.group, number)
        name = self._answers.class_name(type(value))
        parts: Event = {"name": name, "class": name, "targetId": number, "sampled": callee.group}
        if callee.wants & Want.STACK:
            parts["stack"] = self._codes.stack(frame)
        self._tracer.record("born", parts, site)

    def _parts(self, callee: Callee, receiver: object) -> Event:
        parts: Event = {"name": callee.name}
        if receiver is not MISSING:
            name = None if is_primitive(receiver) else self._answers.class_name(receiver_type(receiver))
            add_receiver(parts, receiver, name, self._tracer.identity.of)
        return parts

    def _with_result(self, call: OpenCall, value: object, keys: Iterable[str] | None = None) -> Event:
        parts = call.parts.copy() if keys is None else only(call.parts, keys)
        if call.wants & Want.RESULT:
            add_result(parts, value, self._tracer.identity.of)
        return parts

    def _with_exception(self, call: OpenCall, error: BaseException) -> Event:
        name, number = self._answers.class_name(type(error)), self._tracer.identity.of(error)
        return {**call.parts, "exception": name, "excId": number}


def receiver_type(receiver: Any) -> type:
    """The type of a receiver; a class, on which class methods are called, stands for itself."""
    kind = type(receiver)
    return receiver if names.inherits(kind, type) else kind


def only(parts: Event, keys: Iterable[str]) -> Event:
    return {key: parts[key] for key in keys if key in parts}


class CalleeEvents(CallEvents):
    """The callee side: functions that report themselves where they start and end."""

    def started(self, known: WatchedCode, code: CodeType, frame: FrameType) -> None:
        """A function that reports itself begins."""
        self._open.pop(id(frame), None)
        callee = known.callee
        assert callee is not None
        args = self._locals(known, code, frame, 0, code.co_argcount)
        index = code.co_argcount + code.co_kwonlyargcount
        if code.co_flags & inspect.CO_VARARGS:
            (rest,) = self._locals(known, code, frame, index, 1)
            args += rest if type(rest) is tuple else ()
            index += 1
        first = args[0] if args else MISSING
        if first is not MISSING:
            callee = self._answers.receiver_callee(code, receiver_type(first))
            if callee is None:
                return
        wants = callee.wants
        has_receiver = bool(wants & Want.RECEIVER)  # once: operators of `Want` are slow
        receiver = first if has_receiver else MISSING
        anything = not callee.group and not known.groups
        if not (anything or self._is_sample(receiver) or self._begins(callee, receiver, frame)):
            self._sampler.drowse(known.groups)
            return
        parts = self._parts(callee, receiver)
        if wants & Want.ARGS:
            kwargs = self._keywords(known, code, frame, index)
            add_arguments(parts, args[1:] if has_receiver else args, kwargs, self._tracer.identity.of)
        if wants & Want.PRE:
            self._tracer.record("func_pre", parts, self._codes.site(frame, wants))
        token = None
        if wants & Want.ON_CALL:
            objects = [None if each is MISSING else each for each in args]
            kwargs = self._keywords(known, code, frame, index)
            token = self._on_call(code, objects, kwargs, self._codes.site(frame, wants))
        if wants & _ENDS:
            self._open[id(frame)] = OpenCall(known, wants, parts, {}, token)
            self.needs_exceptions = self.needs_exceptions or bool(wants & _EXCEPTIONS)

    def _keywords(self, known: WatchedCode, code: CodeType, frame: FrameType, index: int) -> dict[str, Any]:
        """Arguments of a function that starts, by keyword; `index` is that of `**kwargs`."""
        first, count = code.co_argcount, code.co_kwonlyargcount
        named = code.co_varnames[first : first + count]
        kwargs = dict(zip(named, self._locals(known, code, frame, first, count), strict=True))
        if code.co_flags & inspect.CO_VARKEYWORDS:
            (found,) = self._locals(known, code, frame, index, 1)
            if type(found) is dict:
                kwargs.update(found)
        return kwargs

    def _locals(self, known: WatchedCode, code: CodeType, frame: FrameType, index: int, count: int) -> list[Any]:
        if not count:
            return []
        variables = code.co_varnames[index : index + count]
        if self._read is None:
            values = frame.f_locals
            return [values.get(name, MISSING) for name in variables]
        found = self._read(frame, index, count)
        for i, name in enumerate(variables if known.cells else ()):
            if name in known.cells and type(found[i]) is CellType:
                found[i] = _contents(found[i])
        return found

    def _begins(self, callee: Callee, receiver: object, frame: FrameType) -> bool:
        """A function starts in which the life of an object may begin: does that of a sample?"""
        if receiver is MISSING or not callee.wants & Want.BIRTH or not self._sampler.flip(callee.group):
            return False
        self._born(callee, receiver, frame.f_back, self._codes.site(frame, callee.wants))
        return True

    def returned(self, known: WatchedCode, frame: FrameType, value: object) -> None:
        """It returns."""
        call = self._close(known, frame)
        if call is None:
            return
        site = self._codes.site(frame, call.wants)
        self._on_return(call, value, None, site)
        if call.wants & Want.NEW and "targetId" in call.parts:
            self._tracer.record("new", call.parts, site)
        if call.wants & Want.POST:
            self._tracer.record("func_post", self._with_result(call, value), site)

    def unwound(self, known: WatchedCode, frame: FrameType, error: BaseException) -> None:
        """It ends by an exception."""
        call = self._close(known, frame)
        if call is None:
            return
        site = self._codes.site(frame, call.wants)
        self._on_return(call, None, self._answers.class_name(type(error)), site)
        if call.wants & Want.RAISE:
            self._tracer.record("func_raise", self._with_exception(call, error), site)

    def yielded(self, known: WatchedCode, frame: FrameType, value: object) -> None:
        """A generator or coroutine yields a value and waits."""
        call = self._generator(known, frame)
        if call is not None:
            self._tracer.record("yield", self._with_result(call, value, _HEAD), self._codes.site(frame, call.wants))

    def resumed(self, known: WatchedCode, frame: FrameType, error: BaseException | None = None) -> None:
        """It goes on, perhaps with an exception that is thrown into it."""
        call = self._generator(known, frame)
        if call is not None:
            self._tracer.record("resume", only(call.parts, _HEAD), self._codes.site(frame, call.wants))

    def _generator(self, known: WatchedCode, frame: FrameType) -> OpenCall | None:
        call = self._open.get(id(frame))
        return call if call is not None and call.code is known and call.wants & Want.YIELD else None


def _contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING
