"""The hooks of the pure-Python core on `sys.monitoring` (3.12 and later)."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

import lawful
from lawful.sources.python.frames import MISSING
from lawful.sources.python.model import Want

if TYPE_CHECKING:
    from lawful.sources.python.pytracer import PythonTracer

OWN_FOLDER = os.path.join(os.path.dirname(os.path.abspath(lawful.__file__)), "")
_TOOL_NAME = "lawful"
_GENERATOR = 0x20 | 0x80 | 0x200  # CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR


class Monitoring:
    """One tool of `sys.monitoring`."""

    def __init__(self, tracer: PythonTracer) -> None:
        self._tracer = tracer
        self._observer = tracer.observer
        self._tool = -1
        self._global = 0
        self._monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        self._disable: Any = self._monitoring.DISABLE

    def install(self) -> None:
        """Take a tool id that is free, and ask to be told of every function that starts."""
        monitoring = self._monitoring
        events = monitoring.events
        self._tool = next((tool for tool in (4, 3, 5, 2, 1, 0) if monitoring.get_tool(tool) is None), -1)
        if self._tool < 0:
            raise RuntimeError("no tool id of sys.monitoring is free")
        monitoring.use_tool_id(self._tool, _TOOL_NAME)
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

    def _look_at_running(self, frame: FrameType | None) -> None:
        """Code that is running already will not start again."""
        try:
            while frame is not None:
                code = frame.f_code
                if not code.co_filename.startswith(OWN_FOLDER) and self._observer.code(code) is None:
                    self._look_at(code, frame)
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

    def _look_at(self, code: CodeType, frame: Any) -> Any:
        known = self._observer.look_at(code, frame)
        if known is None:
            return None
        events = self._monitoring.events
        local = 0
        if known.callee is not None:
            local |= events.PY_START | events.PY_RETURN
            if known.callee.wants & Want.YIELD and code.co_flags & _GENERATOR:
                local |= events.PY_YIELD | events.PY_RESUME
        if known.probes:
            local |= events.CALL | events.C_RETURN | events.C_RAISE if self._observer.blind else events.INSTRUCTION
        if self._tool >= 0:
            self._monitoring.set_local_events(self._tool, code, local)
        return known

    # -- callbacks -------------------------------------------------------------------------------

    def _start(self, code: CodeType, offset: int) -> Any:
        if code.co_filename.startswith(OWN_FOLDER):
            return self._disable
        thread = self._tracer.thread
        if thread.busy:
            return None
        thread.busy = True
        carried = None
        try:
            frame = sys._getframe(1)
            known = self._observer.code(code) or self._look_at(code, frame)
            if known is None or known.callee is None:
                return self._disable
            self._observer.started(known, code, frame)
            self._need()
        except BaseException as error:
            carried = self._tracer.carry(error)
        finally:
            thread.busy = False
        if carried is not None:
            raise carried
        return None

    def _return(self, code: CodeType, offset: int, value: object) -> Any:
        return self._callee(code, lambda known, frame: self._observer.returned(known, frame, value))

    def _yield(self, code: CodeType, offset: int, value: object) -> Any:
        return self._callee(code, lambda known, frame: self._observer.yielded(known, frame, value))

    def _resume(self, code: CodeType, offset: int) -> Any:
        return self._callee(code, lambda known, frame: self._observer.resumed(known, frame, None))

    def _throw(self, code: CodeType, offset: int, error: BaseException) -> Any:
        return self._callee(code, lambda known, frame: self._observer.resumed(known, frame, error))

    def _unwind(self, code: CodeType, offset: int, error: BaseException) -> Any:
        return self._callee(code, lambda known, frame: self._observer.unwound(known, frame, error))

    def _callee(self, code: CodeType, report: Callable[[Any, Any], None]) -> Any:
        thread = self._tracer.thread
        known = self._observer.code(code)
        if known is None or thread.busy:
            return None
        thread.busy = True
        carried = None
        try:
            report(known, sys._getframe(2))
        except BaseException as error:
            carried = self._tracer.carry(error)
        finally:
            thread.busy = False
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
        carried = None
        again = True
        try:
            frame = sys._getframe(1)
            if is_result:
                self._observer.after(known, frame, offset)
            if probe is not None:
                again = self._observer.before(known, frame, probe)
                if self._observer.needs_raise:
                    self._need()
        except BaseException as error:
            carried = self._tracer.carry(error)
        finally:
            thread.busy = False
        if carried is not None:
            raise carried
        return None if again or is_result else self._disable
