"""The hooks of the pure-Python core before `sys.monitoring`: a profile function, and trace functions on single frames.

The profile function sees functions start and end. If a function has probes, it puts a trace function on the frame,
which sees every instruction and every exception. That needs a trace function of the thread, too: the program's own, if
it has one, else one that does nothing.
"""

from __future__ import annotations

import dis
import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType, MethodType
from typing import TYPE_CHECKING, Any

from lawful.sources.python import frames
from lawful.sources.python.frames import MISSING
from lawful.sources.python.instructions import handlers
from lawful.sources.python.monitoring_hooks import OWN_FOLDER
from lawful.sources.python.per_object import PerObject
from lawful.sources.python.tracer_protocol import Want
from lawful.sources.python.watched_code import WatchedCode

if TYPE_CHECKING:
    from lawful.sources.python.pytracer import PythonTracer

Trace = Callable[[FrameType, str, Any], Any]

_RESUME = dis.opmap["RESUME"]
_YIELD_VALUE = dis.opmap["YIELD_VALUE"]
_RETURN_VALUE = dis.opmap["RETURN_VALUE"]
_RERAISE = dis.opmap["RERAISE"]
# Where these meet the end of an iteration, there is an event of an exception that goes nowhere.
_SWALLOWS = frozenset({dis.opmap["FOR_ITER"], dis.opmap["SEND"]})
# The profile function sees an end by an exception as if the function returned None.
_NEEDS_EXCEPTIONS = Want.RAISE | Want.ON_RETURN | Want.YIELD


class _Seen:
    """The plan of a frame's code, and where its bytecode handles or raises exceptions."""

    def __init__(self, code: CodeType, known: WatchedCode | None) -> None:
        self.known = known
        self.raw = code.co_code if known is not None else b""
        table = code.co_exceptiontable if known is not None else b""
        self.handlers = [(2 * each.start, 2 * each.end) for each in handlers(table)]
        wants = known.callee.wants if known is not None and known.callee is not None else Want(0)
        self.reraises = bool(wants & _NEEDS_EXCEPTIONS) and _RERAISE in self.raw[::2]

    def catches(self, offset: int) -> bool:
        return any(start <= offset < end for start, end in self.handlers)


class SettraceHooks:
    """A profile function in every thread, and trace functions on the frames that matter."""

    def __init__(self, tracer: PythonTracer) -> None:
        self._tracer = tracer
        self._codes, self._callee, self._caller = tracer.codes, tracer.callee, tracer.caller
        self.running = False
        self._seen: PerObject[_Seen] = PerObject()
        self._unwinding: dict[int, BaseException] = {}
        self._only_ours: dict[int, tuple[bool, bool]] = {}  # frames with our trace function alone: what they had before
        self._dropped: set[int] = set()  # frames whose trace function raised, so that the interpreter dropped it
        self._top = None if tracer.read is None else frames.make_top(tracer.read)
        self._before: tuple[Any, Any] = (None, None)
        self._thread = 0  # where it was installed
        # Bound once: they are compared by identity.
        self._profile_function: Trace = self._profile
        self._trace_function: Trace = self._no_trace
        self._frame_function: Trace = self.frame_event

    def after_fork(self) -> None:
        pass  # nothing is held by a thread

    def install(self) -> None:
        """This thread, and those to come."""
        self._before = sys.getprofile(), threading.getprofile()
        if any(each is not None and not callable(each) for each in self._before):
            raise RuntimeError("another profiler is active")
        self.running = True
        self._thread = threading.get_ident()
        threading.setprofile(self._profile_function)
        sys.setprofile(self._profile_function)
        self._look_at_running(sys._getframe())

    def _look_at_running(self, frame: FrameType | None) -> None:
        """Functions that run already will not start again."""
        try:
            while frame is not None:
                seen = self._look_at(frame)
                if seen.known is not None:
                    self._watch_frame(seen, seen.known, frame)
                    self._codes.report_start(seen.known, frame.f_code)
                frame = frame.f_back
        except Exception as error:
            self._tracer.failed(error)

    def rearm(self) -> None:
        """The interpreter reports all starts: the table of codes knows which are new."""
        self._codes.rearm()

    def remove(self) -> None:
        """What was there before comes back. Other threads see to it themselves, at their next event."""
        above = self._hooks_above()
        if above is None:
            if sys.getprofile() is self._profile_function:
                sys.setprofile(self._before[0])
            elif self._tracer.fault is None and self._thread == threading.get_ident():  # not if our thread ends it
                self._tracer.fault = RuntimeError("another profiler replaced the tracer")
            threading.setprofile(self._before[1])
        else:
            above._before = self._before
        if sys.gettrace() is self._trace_function:
            other = above or _owner(self._before[0])
            sys.settrace(None if other is None else other._trace_function)
        self.running = False
        frame: FrameType | None = sys._getframe()
        while frame is not None:
            self._leave_frame(frame)
            frame = frame.f_back
        self._seen.clear()
        self._tracer.forget_codes()
        self._unwinding.clear()
        self._only_ours.clear()
        self._dropped.clear()

    def _hooks_above(self) -> SettraceHooks | None:
        """Those of a tracer that started later, still runs, and passes events on to these."""
        hooks = _owner(sys.getprofile())
        while hooks is not None and hooks is not self:
            below = _owner(hooks._before[0])
            if below is self:
                return hooks
            hooks = below
        return None

    # -- the profile function --------------------------------------------------------------------

    def _profile(self, frame: FrameType, event: str, arg: Any) -> None:
        previous = self._before[0]
        if previous is not None:
            previous(frame, event, arg)
        if event not in ("call", "return") and not self._tracer.sees_calls_only:
            lost = event == "c_call" and id(frame) in self._dropped
            if not lost and not (event == "c_return" and arg is sys.settrace):
                return
        if not self.running:
            if sys.getprofile() is self._profile_function:
                sys.setprofile(None)
            return
        try:
            self._tracer.observe(self._on_profile, frame, event, arg)
        except BaseException:
            # The interpreter now drops this function. A trace function puts it back.
            if sys.gettrace() is None:
                sys.settrace(self._trace_function)
            raise

    def _on_profile(self, frame: FrameType, event: str, arg: Any) -> None:
        seen, blind = self._look_at(frame), self._tracer.sees_calls_only
        if event == "call" and self._dropped:
            self._restore(frame.f_back)
        if event == "c_return" and self._only_ours and not blind:
            self._join_others(frame)
        if seen.known is None:
            return
        if event == "call":
            self._call(seen, seen.known, frame)
        elif event == "return":
            self._dropped.discard(id(frame))
            if seen.known.callee is not None:
                self._return(seen, seen.known, frame, arg)
            if seen.raw[frame.f_lasti] == _YIELD_VALUE:
                self._leave_frame(frame)
            self._only_ours.pop(id(frame), None)
        elif event == "c_call" and blind:
            self._caller.called(seen.known, frame, frame.f_lasti, arg, MISSING)
        elif event == "c_call":
            self._restore(frame)
        elif event == "c_return" and blind:
            self._caller.ended(seen.known, frame)
        elif event == "c_return":
            self._watch_frame(seen, seen.known, frame)

    def _look_at(self, frame: FrameType) -> _Seen:
        code = frame.f_code
        found = self._seen.get(code)
        if found is not None:
            return found
        seen = _Seen(code, None if code.co_filename.startswith(OWN_FOLDER) else self._codes.plan(frame))
        return self._seen.setdefault(code, seen)

    def _call(self, seen: _Seen, known: WatchedCode, frame: FrameType) -> None:
        at = frame.f_lasti
        starts = at < 0 or (seen.raw[at] == _RESUME and seen.raw[at + 1] & 3 == 0)
        self._watch_frame(seen, known, frame)
        self._codes.report_start(known, frame.f_code)
        if known.callee is None or self._tracer.sampler.asleep(known.groups, known.may_create):
            return
        self._unwinding.pop(id(frame), None)
        if starts:
            self._callee.started(known, frame.f_code, frame)
        else:
            self._callee.resumed(known, frame)

    def _watch_frame(self, seen: _Seen, known: WatchedCode, frame: FrameType) -> None:
        if not known.probes and (known.callee is None or not known.callee.wants & _NEEDS_EXCEPTIONS):
            return
        if sys.gettrace() is None:
            sys.settrace(self._trace_function)
        other = frame.f_trace
        if other is None:
            self._only_ours[id(frame)] = frame.f_trace_lines, frame.f_trace_opcodes
            frame.f_trace = self._frame_function
            frame.f_trace_lines = False
        elif not self._has_frame(other):
            # The program may have replaced our function: then it did not ask for the events that we asked for.
            lines, opcodes = self._only_ours.pop(id(frame), (frame.f_trace_lines, frame.f_trace_opcodes))
            frame.f_trace_lines = lines
            frame.f_trace = _SharedTrace(self, other, lines, opcodes)
        if not self._tracer.sees_calls_only and (known.probes or seen.reraises):
            frame.f_trace_opcodes = True

    def _has_frame(self, trace: Any) -> bool:
        """Is our trace function among those that this one calls?"""
        while isinstance(trace, _SharedTrace) and trace.hooks is not self:
            trace = trace.other
        return isinstance(trace, _SharedTrace) or trace is self._frame_function

    def _join_others(self, frame: FrameType | None) -> None:
        """Debuggers replace the trace function of the frames that run: call theirs and ours."""
        while frame is not None:
            if id(frame) in self._only_ours and frame.f_trace is not None and not self._has_frame(frame.f_trace):
                seen = self._look_at(frame)
                if seen.known is not None:
                    self._watch_frame(seen, seen.known, frame)
            frame = frame.f_back

    def _leave_frame(self, frame: FrameType) -> None:
        """As the program wants it to be: a generator that rests may be traced by others when it goes on."""
        ours, alone = frame.f_trace, self._only_ours.pop(id(frame), (True, False))
        if ours is self._frame_function:
            frame.f_trace, (frame.f_trace_lines, frame.f_trace_opcodes) = None, alone
        elif isinstance(ours, _SharedTrace) and ours.hooks is self:
            frame.f_trace, frame.f_trace_lines, frame.f_trace_opcodes = ours.other, ours.lines, ours.opcodes

    def _restore(self, frame: FrameType | None) -> None:
        """A frame that was lost calls something: what it calls is still on its stack."""
        if frame is None or id(frame) not in self._dropped:
            return
        self._dropped.discard(id(frame))
        seen = self._look_at(frame)
        if seen.known is not None:
            self._watch_frame(seen, seen.known, frame)
            probe = seen.known.probes.get(frame.f_lasti)
            if probe is not None:
                self._caller.before(seen.known, frame, probe)

    def _return(self, seen: _Seen, known: WatchedCode, frame: FrameType, value: object) -> None:
        error = self._unwinding.pop(id(frame), None)
        op = seen.raw[frame.f_lasti]
        if op == _RETURN_VALUE:
            self._callee.returned(known, frame, value)
        elif error is not None:
            self._callee.unwound(known, frame, error)
        elif op == _YIELD_VALUE:
            self._callee.yielded(known, frame, value)

    # -- trace functions -------------------------------------------------------------------------

    def _no_trace(self, frame: FrameType, event: str, arg: Any) -> None:
        if not self.running:
            if sys.gettrace() is self._trace_function:
                sys.settrace(None)
        elif sys.getprofile() is None:
            sys.setprofile(self._profile_function)

    def traces_alone(self) -> bool:
        """Does the program trace nothing itself? Frames may still have functions from when it did."""
        return _owner(sys.gettrace()) is not None

    def frame_event(self, frame: FrameType, event: str, arg: Any) -> Any:
        if not self.running:
            return None
        if self._tracer.thread.in_tracer or (event != "opcode" and event != "exception"):
            return self._frame_function
        if sys.getprofile() is None:
            sys.setprofile(self._profile_function)
        try:
            self._tracer.observe(self._on_opcode if event == "opcode" else self._on_exception, frame, arg)
        except BaseException:
            self._dropped.add(id(frame))
            raise
        return self._frame_function

    def _on_opcode(self, frame: FrameType, arg: None) -> None:
        seen = self._look_at(frame)
        known = seen.known
        if known is None:
            return
        offset = frame.f_lasti
        if offset in known.results:
            self._caller.after(known, frame, offset)
        probe = known.probes.get(offset)
        if probe is not None:
            self._caller.before(known, frame, probe)
        if seen.reraises and seen.raw[offset] == _RERAISE and self._top and not seen.catches(offset):
            # CPython has no exception events for these.
            self._unwinding[id(frame)] = self._top(frame)

    def _on_exception(self, frame: FrameType, arg: tuple[type, BaseException, object]) -> None:
        seen = self._look_at(frame)
        if seen.known is None or (arg[0] is StopIteration and seen.raw[frame.f_lasti] in _SWALLOWS):
            return
        if seen.known.callee is not None and not seen.catches(frame.f_lasti):
            self._unwinding[id(frame)] = arg[1]
        if self._caller.has_open(frame):
            self._caller.raised(frame, arg[1])


def _owner(function: object) -> SettraceHooks | None:
    """The hooks that a profile function belongs to."""
    owner = function.__self__ if type(function) is MethodType else None
    return owner if type(owner) is SettraceHooks else None


class _SharedTrace:
    """Our trace function of a frame that has one already, and the other."""

    def __init__(self, hooks: SettraceHooks, other: Any, lines: bool, opcodes: bool) -> None:
        self.hooks = hooks
        self.other = other
        self.lines, self.opcodes = lines, opcodes

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Any:
        wanted = self.opcodes if event == "opcode" else self.lines if event == "line" else True
        by_lawful = isinstance(self.other, _SharedTrace) or _owner(self.other) is not None
        if self.other is not None and wanted and (by_lawful or not self.hooks.traces_alone()):
            ours = frame.f_trace_opcodes
            frame.f_trace_opcodes = self.opcodes
            self.other = self.other(frame, event, arg)
            self.lines, self.opcodes = frame.f_trace_lines, frame.f_trace_opcodes
            frame.f_trace_opcodes = ours
        self.hooks.frame_event(frame, event, arg)
        return self if self.hooks.running else self.other
