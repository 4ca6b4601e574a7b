"""Events of functions that report themselves where they start and end, in the pure-Python tracer."""

from __future__ import annotations

from types import CellType, CodeType, FrameType
from typing import Any, Final

from lawful.sources.python.call_events import HEAD, CallEvents, OpenCall, only, receiver_type
from lawful.sources.python.encode import add_arguments
from lawful.sources.python.frames import MISSING
from lawful.sources.python.tracer_protocol import Callee, Event, Want
from lawful.sources.python.watched_code import WatchedCode

_VARARGS: Final = 0x04
_VARKEYWORDS: Final = 0x08
_ENDS: Final = Want.POST | Want.RAISE | Want.NEW | Want.YIELD | Want.ON_RETURN
_EXCEPTIONS: Final = Want.RAISE | Want.YIELD | Want.ON_RETURN


class CalleeEvents(CallEvents):
    """The callee side."""

    def started(self, known: WatchedCode, code: CodeType, frame: FrameType) -> None:
        """A function that reports itself begins."""
        self._open.pop(id(frame), None)
        callee = known.callee
        assert callee is not None
        args = self._locals(known, code, frame, 0, code.co_argcount)
        index = code.co_argcount + code.co_kwonlyargcount
        if code.co_flags & _VARARGS:
            (rest,) = self._locals(known, code, frame, index, 1)
            args += rest if type(rest) is tuple else ()
            index += 1
        first = args[0] if args else MISSING
        if first is not MISSING:
            callee = self._answers.receiver_callee(code, receiver_type(first))
            if callee is None:
                return
        if callee.group or known.groups:
            receiver = first if callee.wants & Want.RECEIVER else MISSING
            if not self._is_sample(receiver) and not self._begins(callee, receiver, frame):
                self._sampler.drowse(known.groups)
                return
        wants = callee.wants
        parts: Event = {"name": callee.name}
        has_receiver = bool(wants & Want.RECEIVER and args)
        if has_receiver and first is not MISSING:
            self._add_receiver(parts, first)
        if wants & Want.ARGS:
            kwargs = self._keywords(known, code, frame, index)
            add_arguments(parts, args[1:] if has_receiver else args, kwargs, self._context.identity.of)
        if wants & Want.PRE:
            self._record("func_pre", parts, self._codes.site(frame, wants))
        token = None
        if wants & Want.ON_CALL:
            objects = [None if each is MISSING else each for each in args]
            token = self._on_call(
                code, objects, self._keywords(known, code, frame, index), self._codes.site(frame, wants)
            )
        if wants & _ENDS:
            self._open[id(frame)] = OpenCall(known, None, wants, parts, {}, None, token=token)
            self.needs_exceptions = self.needs_exceptions or bool(wants & _EXCEPTIONS)

    def _keywords(self, known: WatchedCode, code: CodeType, frame: FrameType, index: int) -> dict[str, Any]:
        """Arguments of a function that starts, by keyword; `index` is that of `**kwargs`."""
        first, count = code.co_argcount, code.co_kwonlyargcount
        named = code.co_varnames[first : first + count]
        kwargs = dict(zip(named, self._locals(known, code, frame, first, count), strict=True))
        if code.co_flags & _VARKEYWORDS:
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
        if known.cells:
            for i, name in enumerate(variables):
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
        wants = call.wants
        self._on_return(call, value, None, lambda: self._codes.site(frame, wants))
        if wants & Want.NEW and "targetId" in call.parts:
            self._record("new", call.parts, self._codes.site(frame, wants))
        if wants & Want.POST:
            self._record("func_post", self._with_result(call, value), self._codes.site(frame, wants))

    def unwound(self, known: WatchedCode, frame: FrameType, error: BaseException) -> None:
        """It ends by an exception."""
        call = self._close(known, frame)
        if call is None:
            return
        wants = call.wants
        self._on_return(call, None, self._answers.class_name(type(error)), lambda: self._codes.site(frame, wants))
        if wants & Want.RAISE:
            self._record("func_raise", self._with_exception(call, error), self._codes.site(frame, wants))

    def yielded(self, known: WatchedCode, frame: FrameType, value: object) -> None:
        """A generator or coroutine yields a value and waits."""
        call = self._generator(known, frame)
        if call is not None:
            self._record("yield", self._with_result(call, value, HEAD), self._codes.site(frame, call.wants))

    def resumed(self, known: WatchedCode, frame: FrameType) -> None:
        """It goes on, perhaps with an exception that is thrown into it."""
        call = self._generator(known, frame)
        if call is not None:
            self._record("resume", only(call.parts, HEAD), self._codes.site(frame, call.wants))

    def _generator(self, known: WatchedCode, frame: FrameType) -> OpenCall | None:
        call = self._open.get(id(frame))
        return call if call is not None and call.code is known and call.wants & Want.YIELD else None


def _contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING
