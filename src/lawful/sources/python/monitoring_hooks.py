"""The hooks of the pure-Python core on `sys.monitoring` (3.12 and later)."""

from __future__ import annotations

import contextlib
import inspect
import os
import sys
from _thread import allocate_lock
from collections.abc import Callable
from functools import partial
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

import lawful
from lawful.sources.python.frames import MISSING
from lawful.sources.python.tracer_protocol import Probe, Want
from lawful.sources.python.watched_code import WatchedCode

if TYPE_CHECKING:
    from lawful.sources.python.pytracer import PythonTracer

OWN_FOLDER = os.path.join(os.path.dirname(os.path.abspath(lawful.__file__)), "")
_TOOL_NAME = "lawful"
_GENERATOR = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class MonitoringHooks:
    """One tool of `sys.monitoring`, and a second one for functions whose starts and ends are disabled now and then.

    A disabled event comes back if it is switched off and on for the code object. That does not help with starts, for
    which the first tool asks everywhere.
    """

    def __init__(self, tracer: PythonTracer) -> None:
        self._tracer = tracer
        self._codes, self._sampler = tracer.codes, tracer.sampler
        self._tool = self._second = -1
        self._global = 0
        self._planning = allocate_lock()
        self._monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        self._disable: Any = self._monitoring.DISABLE
        events = self._monitoring.events
        self._callbacks: dict[int, Callable[..., Any]] = {
            events.PY_START: partial(self._start, False),
            events.PY_RETURN: self._return,
            events.PY_YIELD: self._reporter(tracer.callee.yielded),
            events.PY_RESUME: self._reporter(tracer.callee.resumed),
            events.PY_THROW: self._reporter(tracer.callee.resumed),
            events.PY_UNWIND: self._reporter(tracer.callee.unwound),
            events.RAISE: self._raise,
            events.INSTRUCTION: self._instruction,
            events.CALL: self._call,
            events.C_RETURN: self._reporter(tracer.caller.ended),
        }

    def install(self) -> None:
        """Take a tool id that is free, and ask for the start of every function."""
        monitoring = self._monitoring
        events = monitoring.events
        self._tool = self._take_tool()
        if self._tool < 0:
            raise RuntimeError("all tool ids of sys.monitoring are in use")
        self._sampler.wake = self._wake
        for event, callback in self._callbacks.items():
            monitoring.register_callback(self._tool, event, callback)
        for running in sys._current_frames().values():
            self._plan_running(running)
        if self._tool < 0:
            return  # that failed, and the tracer has stopped
        self._global = events.PY_START
        monitoring.set_events(self._tool, self._global)
        # What an earlier user of the tool id had switched off stays so otherwise.
        monitoring.restart_events()

    def _take_tool(self) -> int:
        for tool in (4, 3, 5, 2, 1, 0):
            with contextlib.suppress(ValueError):  # it is in use
                self._monitoring.use_tool_id(tool, _TOOL_NAME)
                return tool
        return -1

    def _second_tool(self) -> int:
        """Its tool id; -1 if none is free."""
        if self._second < 0:
            self._second = self._take_tool()
            events = self._monitoring.events
            if self._second >= 0:
                callbacks = {**self._callbacks, events.PY_START: partial(self._start, True)}
                for event in (events.PY_START, events.PY_RETURN, events.PY_YIELD, events.PY_RESUME):
                    self._monitoring.register_callback(self._second, event, callbacks[event])
        return self._second

    def _plan_running(self, frame: FrameType | None) -> None:
        """Code that is running already will not start again."""
        try:
            while frame is not None:
                code = frame.f_code
                if not code.co_filename.startswith(OWN_FOLDER) and self._codes.get(code) is None:
                    known = self._plan(code, frame)
                    if known is not None:
                        self._codes.report_start(known, code)
                frame = frame.f_back
        except Exception as error:
            self._tracer.failed(error)

    def remove(self) -> None:
        """Give the tool ids back."""
        monitoring = self._monitoring
        tools, self._tool, self._second = (self._tool, self._second), -1, -1
        if tools[0] < 0:
            return
        monitoring.set_events(tools[0], 0)
        for tool in tools:
            if tool >= 0:
                for code, _ in self._codes.living():
                    monitoring.set_local_events(tool, code, 0)
                for event in self._callbacks:
                    monitoring.register_callback(tool, event, None)
                monitoring.free_tool_id(tool)
        self._tracer.forget_codes()

    def _ask_for_exceptions(self) -> None:
        """Exceptions can only be asked for everywhere: once they matter, and not before."""
        events = self._monitoring.events
        wanted = self._global
        if self._tracer.caller.needs_exceptions:
            wanted |= events.RAISE
        if self._tracer.callee.needs_exceptions:
            wanted |= events.PY_UNWIND | events.PY_THROW
        if wanted != self._global and self._tool >= 0:
            self._global = wanted
            self._monitoring.set_events(self._tool, wanted)

    def after_fork(self) -> None:
        self._planning = allocate_lock()  # the thread that held it may not exist here

    def _plan(self, code: CodeType, frame: FrameType) -> WatchedCode | None:
        """Decide about a code object. Threads that come to it meanwhile wait: nothing they do in it is lost."""
        with self._planning:
            known = self._codes.get(code)
            if known is not None and known.armed:
                return known
            known = self._codes.plan(frame)
            if known is not None:
                if self._tool >= 0:
                    known.second_tool = known.callee is not None and bool(known.groups) and self._second_tool() >= 0
                    self._share(code, known)
                    self._switch(code, known)
                known.armed = True
            return known

    def _share(self, code: CodeType, known: WatchedCode) -> None:
        """Let another tool ask before there are events of instructions.

        The interpreter notes which tools want an instruction only where several tools have asked for an event. If
        another one comes later, it begins these notes (up to 3.13 at least) as if nobody wanted any. So the second tool
        asks first, if it needs starts; and then one that leaves again, for tools to come, as that of `sys.settrace`.
        """
        events = self._monitoring.events
        if known.own and known.probes and known.callee is None and self._codes.reports_starts:
            known.second_tool_start = self._second_tool() >= 0
            if known.second_tool_start:
                self._monitoring.set_local_events(self._second, code, events.PY_START)
        guest = self._take_tool() if known.probes and not self._tracer.sees_calls_only else -1
        if guest >= 0:
            self._monitoring.set_local_events(guest, code, events.INSTRUCTION)
            self._monitoring.set_local_events(self._tool, code, events.INSTRUCTION)
            self._monitoring.set_local_events(guest, code, 0)
            self._monitoring.free_tool_id(guest)

    def _switch(self, code: CodeType, known: WatchedCode) -> None:
        """Switch its events on, with all that were disabled."""
        events = self._monitoring.events
        inside, outside = 0, self._events_outside(code, known)
        if known.probes:
            blind = self._tracer.sees_calls_only
            inside = events.CALL | events.C_RETURN | events.C_RAISE if blind else events.INSTRUCTION
        if known.second_tool:
            self._monitoring.set_local_events(self._second, code, 0)
            self._monitoring.set_local_events(self._second, code, outside)
            outside = 0
        self._monitoring.set_local_events(self._tool, code, outside)
        self._monitoring.set_local_events(self._tool, code, inside | outside)

    def _events_outside(self, code: CodeType, known: WatchedCode) -> int:
        """The events of its starts and ends."""
        events = self._monitoring.events
        if known.callee is None:
            return 0
        yields = known.callee.wants & Want.YIELD and code.co_flags & _GENERATOR
        return int(events.PY_START | events.PY_RETURN | (events.PY_YIELD | events.PY_RESUME if yields else 0))

    def _wake(self, group: int, births_only: bool) -> None:
        for code, known in self._codes.living():
            places: list[WatchedCode | Probe] = [known, *known.probes.values()] if known.has_disabled else []
            if any(group in each.groups and (each.may_create or not births_only) for each in places):
                known.has_disabled = False
                self._switch(code, known)

    def rearm(self) -> None:
        """Report the start of all own code once more."""
        for code, known in self._codes.rearm():
            if known.callee is not None and not known.second_tool:
                continue  # its starts are reported anyway
            tool = self._second_tool()
            if tool < 0:
                self._monitoring.restart_events()
                continue
            outside = self._events_outside(code, known)
            start = self._monitoring.events.PY_START
            self._monitoring.set_local_events(tool, code, outside & ~start)
            self._monitoring.set_local_events(tool, code, outside | start)
            if known.probes and not known.second_tool and not known.second_tool_start:
                known.second_tool_start = True  # when it was planned, no tool id was free
                self._switch(code, known)

    def _start(self, second: bool, code: CodeType, offset: int) -> Any:
        if code.co_filename.startswith(OWN_FOLDER):
            return self._disable
        return self._tracer.observe(self._started, code, sys._getframe(1), second)

    def _started(self, code: CodeType, frame: FrameType, second: bool) -> Any:
        known = self._codes.get(code)
        first = known is None
        if known is None or not known.armed:
            known = self._plan(code, frame)
        if known is None:
            return self._disable
        self._codes.report_start(known, code)
        if known.callee is None or known.second_tool != (second or (first and known.second_tool)):
            return self._disable
        if known.second_tool and self._sampler.asleep(known.groups, known.may_create):
            known.has_disabled = True
            return self._disable
        self._tracer.callee.started(known, code, frame)
        self._ask_for_exceptions()
        # From now on the second tool gets its starts.
        return self._disable if known.second_tool and not second else None

    def _return(self, code: CodeType, offset: int, value: object) -> Any:
        known, frame = self._codes.get(code), sys._getframe(1)
        sleeps = known is not None and known.second_tool and self._sampler.asleep(known.groups, False)
        if known is not None and sleeps and not self._tracer.callee.has_open(frame):
            known.has_disabled = True
            return self._disable
        return self._observe(code, self._tracer.callee.returned, frame, value)

    def _reporter(self, report: Callable[..., None]) -> Callable[..., None]:
        """A callback that only reports, with the arguments that the interpreter gives after the offset."""

        def callback(code: CodeType, offset: int, *args: Any) -> None:
            self._observe(code, report, sys._getframe(1), *args)

        return callback

    def _observe(self, code: CodeType, report: Callable[..., None], *args: Any) -> None:
        known = self._codes.get(code)
        if known is not None:
            self._tracer.observe(report, known, *args)

    def _call(self, code: CodeType, offset: int, function: object, first: object) -> Any:
        first = MISSING if first is self._monitoring.MISSING else first
        self._observe(code, self._tracer.caller.called, sys._getframe(1), offset, function, first)
        self._ask_for_exceptions()

    def _raise(self, code: CodeType, offset: int, error: BaseException) -> Any:
        frame = sys._getframe(1)
        if self._tracer.caller.has_open(frame):
            self._tracer.observe(self._tracer.caller.raised, frame, error)

    def _instruction(self, code: CodeType, offset: int) -> Any:
        known = self._codes.get(code)
        if known is None or (offset not in known.probes and offset not in known.results):
            return self._disable
        return self._tracer.observe(self._before_instruction, known, sys._getframe(1), offset)

    def _before_instruction(self, known: WatchedCode, frame: FrameType, offset: int) -> Any:
        caller = self._tracer.caller
        again = False
        if offset in known.results:
            caller.after(known, frame, offset)
            again = not caller.may_disable_result(known, frame, offset)
        probe = known.probes.get(offset)
        if probe is not None:
            again = caller.before(known, frame, probe) or again
            if caller.needs_exceptions:
                self._ask_for_exceptions()
        return None if again else self._disable
