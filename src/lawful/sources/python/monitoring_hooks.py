"""The hooks of the pure-Python core on `sys.monitoring` (3.12 and later)."""

from __future__ import annotations

import contextlib
import os
import sys
from _thread import allocate_lock
from collections.abc import Callable
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

import lawful
from lawful.sources.python.frames import MISSING
from lawful.sources.python.observer import Code
from lawful.sources.python.tracer_protocol import Want

if TYPE_CHECKING:
    from lawful.sources.python.pytracer import PythonTracer

OWN_FOLDER = os.path.join(os.path.dirname(os.path.abspath(lawful.__file__)), "")
_TOOL_NAME = "lawful"
_GENERATOR = 0x20 | 0x80 | 0x200  # CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR


class MonitoringHooks:
    """One tool of `sys.monitoring`, and a second one for functions whose starts and ends sleep now and then.

    What was disabled comes back if its event is switched off and on for the code object. That does not help with
    starts, for which the first tool asks everywhere.
    """

    def __init__(self, tracer: PythonTracer) -> None:
        self._tracer = tracer
        self._observer = tracer.observer
        self._tool = -1
        self._second = -1
        self._global = 0
        self._planning = allocate_lock()
        self._monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        self._disable: Any = self._monitoring.DISABLE

    def install(self) -> None:
        """Take a tool id that is free, and ask to be told of every function that starts."""
        monitoring = self._monitoring
        events = monitoring.events
        self._tool = self._take_tool()
        if self._tool < 0:
            raise RuntimeError("no tool id of sys.monitoring is free")
        self._observer.sampler.wake = self._wake
        for event, callback in self._callbacks():
            monitoring.register_callback(self._tool, event, callback)
        for running in sys._current_frames().values():
            self._look_at_running(running)
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
        """-1: there is none, and we must go without."""
        if self._second < 0:
            self._second = self._take_tool()
            events = self._monitoring.events
            for event, callback in (
                (events.PY_START, self._second_start),
                (events.PY_RETURN, self._return),
                (events.PY_YIELD, self._yield),
                (events.PY_RESUME, self._resume),
            ):
                if self._second >= 0:
                    self._monitoring.register_callback(self._second, event, callback)
        return self._second

    def _look_at_running(self, frame: FrameType | None) -> None:
        """Code that is running already will not start again."""
        try:
            while frame is not None:
                code = frame.f_code
                if not code.co_filename.startswith(OWN_FOLDER) and self._observer.code(code) is None:
                    known = self._look_at(code, frame)
                    if known is not None:
                        self._observer.starts(known, code)
                frame = frame.f_back
        except Exception as error:
            self._tracer.failed(error)

    def remove(self) -> None:
        """Give the tool id back."""
        monitoring = self._monitoring
        tool, self._tool = self._tool, -1
        if tool < 0:
            return
        monitoring.set_events(tool, 0)
        for code in self._observer.codes():
            monitoring.set_local_events(tool, code, 0)
        for event, _ in self._callbacks():
            monitoring.register_callback(tool, event, None)
        monitoring.free_tool_id(tool)
        second, self._second = self._second, -1
        if second >= 0:
            for code in self._observer.codes():
                monitoring.set_local_events(second, code, 0)
            for event, _ in self._callbacks():
                monitoring.register_callback(second, event, None)
            monitoring.free_tool_id(second)
        self._observer.forget_codes()

    def _callbacks(self) -> list[tuple[int, Callable[..., Any]]]:
        events = self._monitoring.events
        return [
            (events.PY_START, self._start),
            (events.PY_RETURN, self._return),
            (events.PY_YIELD, self._yield),
            (events.PY_RESUME, self._resume),
            (events.PY_THROW, self._throw),
            (events.PY_UNWIND, self._unwind),
            (events.RAISE, self._raise),
            (events.INSTRUCTION, self._instruction),
            (events.CALL, self._call),
            (events.C_RETURN, self._c_return),
        ]

    def _need(self) -> None:
        """Exceptions can only be asked for everywhere: once they matter, and not before."""
        observer = self._observer
        events = self._monitoring.events
        wanted = self._global
        if observer.needs_raise:
            wanted |= events.RAISE
        if observer.needs_unwind:
            wanted |= events.PY_UNWIND | events.PY_THROW
        if wanted != self._global and self._tool >= 0:
            self._global = wanted
            self._monitoring.set_events(self._tool, wanted)

    def after_fork(self) -> None:
        self._planning = allocate_lock()  # who held it may not be here

    def _look_at(self, code: CodeType, frame: Any) -> Any:
        """Decide about a code object. Threads that come to it meanwhile wait: what they do in it would not be told."""
        with self._planning:
            known = self._observer.code(code)
            if known is not None and known.ready:
                return known
            known = self._observer.look_at(code, frame)
            if known is None:
                return None
            if self._tool >= 0:
                known.apart = known.callee is not None and bool(known.groups) and self._second_tool() >= 0
                self._share(code, known)
                self._switch(code, known)
            known.ready = True
            return known

    def _share(self, code: CodeType, known: Code) -> None:
        """Let another tool ask before there are events of instructions.

        Which tools want an instruction is noted for each of them only where several tools have asked for an event. If
        another one comes later, the interpreter (up to 3.13 at least) begins these notes as if nobody wanted any, and
        instructions tell nothing any more. So the second tool asks first, if it will be told of starts; and then one
        that leaves again, for whoever else may come. `sys.settrace` is a tool, too.
        """
        events = self._monitoring.events
        if known.own and known.probes and known.callee is None and self._observer.tells_seen:
            known.shared = self._second_tool() >= 0
            if known.shared:
                self._monitoring.set_local_events(self._second, code, events.PY_START)
        guest = self._take_tool() if known.probes and not self._observer.blind else -1
        if guest >= 0:
            self._monitoring.set_local_events(guest, code, events.INSTRUCTION)
            self._monitoring.set_local_events(self._tool, code, events.INSTRUCTION)
            self._monitoring.set_local_events(guest, code, 0)
            self._monitoring.free_tool_id(guest)

    def _switch(self, code: CodeType, known: Code) -> None:
        """On, with all that was disabled."""
        events = self._monitoring.events
        inside, outside = 0, self._events_outside(code, known)
        if known.probes:
            inside = events.CALL | events.C_RETURN | events.C_RAISE if self._observer.blind else events.INSTRUCTION
        if known.apart:
            self._monitoring.set_local_events(self._second, code, 0)
            self._monitoring.set_local_events(self._second, code, outside)
            outside = 0
        self._monitoring.set_local_events(self._tool, code, outside)
        self._monitoring.set_local_events(self._tool, code, inside | outside)

    def _events_outside(self, code: CodeType, known: Code) -> int:
        """Where it starts and ends."""
        events = self._monitoring.events
        found = 0
        if known.callee is not None:
            found = events.PY_START | events.PY_RETURN
            if known.callee.wants & Want.YIELD and code.co_flags & _GENERATOR:
                found |= events.PY_YIELD | events.PY_RESUME
        return int(found)

    def _wake(self, groups: frozenset[int], births_only: bool) -> None:
        for code, known in self._observer.sleepers():
            places = [(known.groups, known.bears), *((probe.groups, probe.bears) for probe in known.probes.values())]
            if any((bears or not births_only) and not groups.isdisjoint(each) for each, bears in places):
                known.slept = False
                self._switch(code, known)

    def rearm(self) -> None:
        """Starts of all own code are to be told once more."""
        for code, known in self._observer.rearm():
            if known.callee is not None and not known.apart:
                continue  # they are told anyway
            tool = self._second_tool()
            if tool < 0:
                self._monitoring.restart_events()
                continue
            outside = self._events_outside(code, known)
            start = self._monitoring.events.PY_START
            self._monitoring.set_local_events(tool, code, outside & ~start)
            self._monitoring.set_local_events(tool, code, outside | start)
            if known.probes and not known.apart and not known.shared:
                known.shared = True  # there was no second tool when it was looked at
                self._switch(code, known)

    # -- callbacks -------------------------------------------------------------------------------

    def _start(self, code: CodeType, offset: int) -> Any:
        return self._starts(code, sys._getframe(1), second=False)

    def _second_start(self, code: CodeType, offset: int) -> Any:
        return self._starts(code, sys._getframe(1), second=True)

    def _starts(self, code: CodeType, frame: FrameType, *, second: bool) -> Any:
        if code.co_filename.startswith(OWN_FOLDER):
            return self._disable
        thread = self._tracer.thread
        if thread.busy:
            return None
        thread.busy = True
        timed = self._tracer.timer.start()
        carried = None
        try:
            known = self._observer.code(code)
            first = known is None
            if known is None or not known.ready:
                known = self._look_at(code, frame)
            if known is None:
                return self._disable
            self._observer.starts(known, code)
            if known.callee is None or known.apart != (second or (first and known.apart)):
                return self._disable
            if known.apart and self._observer.sampler.asleep(known.groups, known.bears):
                known.slept = True
                return self._disable
            self._observer.started(known, code, frame)
            self._need()
            if known.apart and not second:
                return self._disable  # from now on the second tool is told
        except BaseException as error:
            carried = self._tracer.carry(error)
        finally:
            thread.busy = False
            if timed:
                self._tracer.timer.stop()
        if carried is not None:
            raise carried
        return None

    def _return(self, code: CodeType, offset: int, value: object) -> Any:
        known = self._observer.code(code)
        if known is not None and known.apart and self._observer.sampler.asleep(known.groups, False):
            frame = sys._getframe(1)
            if not self._observer.has_started(frame):
                known.slept = True
                return self._disable
        return self._callee(code, lambda known, frame: self._observer.returned(known, frame, value))

    def _yield(self, code: CodeType, offset: int, value: object) -> Any:
        return self._callee(code, lambda known, frame: self._observer.yielded(known, frame, value))

    def _resume(self, code: CodeType, offset: int) -> Any:
        return self._callee(code, lambda known, frame: self._observer.resumed(known, frame))

    def _throw(self, code: CodeType, offset: int, error: BaseException) -> Any:
        return self._callee(code, lambda known, frame: self._observer.resumed(known, frame))

    def _unwind(self, code: CodeType, offset: int, error: BaseException) -> Any:
        return self._callee(code, lambda known, frame: self._observer.unwound(known, frame, error))

    def _callee(self, code: CodeType, report: Callable[[Any, Any], None]) -> Any:
        thread = self._tracer.thread
        known = self._observer.code(code)
        if known is None or thread.busy:
            return None
        thread.busy = True
        timed = self._tracer.timer.start()
        carried = None
        try:
            report(known, sys._getframe(2))
        except BaseException as error:
            carried = self._tracer.carry(error)
        finally:
            thread.busy = False
            if timed:
                self._tracer.timer.stop()
        if carried is not None:
            raise carried
        return None

    def _call(self, code: CodeType, offset: int, function: object, first: object) -> Any:
        first = MISSING if first is self._monitoring.MISSING else first

        def report(known: Any, frame: Any) -> None:
            self._observer.called(known, frame, offset, function, first)
            self._need()

        return self._callee(code, report)

    def _c_return(self, code: CodeType, offset: int, function: object, first: object) -> Any:
        return self._callee(code, self._observer.ended)

    def _raise(self, code: CodeType, offset: int, error: BaseException) -> Any:
        thread = self._tracer.thread
        frame = sys._getframe(1)
        if thread.busy or not self._observer.has_pending(frame):
            return None
        thread.busy = True
        carried = None
        try:
            self._observer.raised(frame, error)
        except BaseException as fault:
            carried = self._tracer.carry(fault)
        finally:
            thread.busy = False
        if carried is not None:
            raise carried
        return None

    def _instruction(self, code: CodeType, offset: int) -> Any:
        known = self._observer.code(code)
        if known is None:
            return self._disable
        probe = known.probes.get(offset)
        is_result = offset in known.results
        if probe is None and not is_result:
            return self._disable
        thread = self._tracer.thread
        if thread.busy:
            return None
        thread.busy = True
        timed = self._tracer.timer.start()
        carried = None
        again = True
        try:
            frame = sys._getframe(1)
            if is_result:
                self._observer.after(known, frame, offset)
                is_result = not self._observer.ends_unseen(known, frame, offset)
            again = is_result
            if probe is not None:
                again = self._observer.before(known, frame, probe) or is_result
                if self._observer.needs_raise:
                    self._need()
        except BaseException as error:
            carried = self._tracer.carry(error)
        finally:
            thread.busy = False
            if timed:
                self._tracer.timer.stop()
        if carried is not None:
            raise carried
        return None if again else self._disable
