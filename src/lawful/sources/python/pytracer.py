"""The tracer core in pure Python: on `sys.monitoring` from 3.12 on, on `sys.settrace` and `sys.setprofile` before.

It gives the same events as the C core, but is many times slower. docs/watching.md lists the differences.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from _thread import RLock
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

from lawful.pristine_os import clock
from lawful.sources.python import frames
from lawful.sources.python.call_events import CalleeEvents
from lawful.sources.python.caller_events import CallerEvents
from lawful.sources.python.identity import Identity
from lawful.sources.python.monitoring_hooks import MonitoringHooks
from lawful.sources.python.object_sampling import ObjectSampler
from lawful.sources.python.settrace_hooks import SettraceHooks
from lawful.sources.python.tracer_protocol import Deliver, Event, LearnerFeed, Tracer, WatchPlanner
from lawful.sources.python.watched_code import PlannerAnswers, WatchedCodes

T = TypeVar("T")


class DeliveredError(Exception):
    """Carries an exception of `deliver` out of the hook and into the program."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


class ThreadState(threading.local):
    """What is kept for each thread."""

    in_tracer = False  # the tracer itself runs
    delivering = False
    number = 0


_OVERFULL = 8
_TIMED = 61  # one of so many callbacks is timed; a prime, because programs have their rhythm
_LONGEST_CALLBACK = 0.001  # seconds: beyond this something else has run


class PythonTracer(Tracer):
    """`Tracer` documents its methods."""

    name = "python"
    learns = False
    learner = None
    lazy_events = False
    message_cache = None
    callbacks = 0
    cost = 0.0

    def __init__(
        self,
        planner: WatchPlanner,
        deliver: Deliver,
        *,
        flush_at: int = 1024,
        synchronous: bool = False,
        gone: bool = False,
        limit: int = 0,
        learner: LearnerFeed | None = None,
    ) -> None:
        """`limit` is not used: the program waits instead. Nor is `learner`: see `learns`."""
        self.fault: BaseException | None = None
        self.dropped = 0
        self.thread = ThreadState()
        self.planner = planner
        self._deliver = deliver
        self.flush_at = max(1, flush_at)
        self._synchronous = synchronous
        self._buffer: deque[Event] = deque()
        self._lock = RLock()  # of the buffer, and of the numbers of threads
        self._delivery = RLock()
        self._threads = 0
        self._process = 0
        self._began: float | None = None
        self._running = False
        self._over = False  # events that come now come too late
        self._tells_gone = gone
        self.identity = Identity(self._gone)
        self.sampler = ObjectSampler()
        self.read, self.refusal = frames.reader()
        self.sees_calls_only = self.read is None  # the hooks report calls by `CallerEvents.called` and `ended`
        self.codes = WatchedCodes(planner)
        self.answers = PlannerAnswers(planner)
        self.callee = CalleeEvents(self)
        self.caller = CallerEvents(self)
        self._hooks = _hooks(self)

    # -- Tracer ----------------------------------------------------------------------------------

    @property
    def pending(self) -> int:
        return len(self._buffer)

    def take_over(self, other: PythonTracer) -> None:
        self.identity, other.identity = other.identity, Identity()
        self.identity.gone = self._gone
        self.thread, self._threads = other.thread, other._threads
        self._process, self._began = other._process, other._began

    def start(self) -> None:
        if self._running:
            return
        self._began = clock.monotonic() if self._began is None else self._began
        self._running, self._over = True, False
        try:
            self._unwatched(self._hooks.install)
        except BaseException:
            self._running = False
            raise

    def stop(self) -> None:
        if self._running:
            self._unwatched(self.identity.sweep)
            self._running = False
            self._unwatched(self._hooks.remove)
        self.flush()
        with self._delivery:
            self._over = True
        self.identity.forget()
        self.sampler.clear()

    def flush(self) -> None:
        if not self.thread.delivering:
            self._unwatched(self._sweep_and_deliver)

    def _sweep_and_deliver(self) -> None:
        self.identity.sweep()
        self.flush_now()

    def emit(self, event: Event) -> None:
        self._unwatched(lambda: self._add(event.copy()))

    def identify(self, value: object) -> int:
        return self._unwatched(lambda: self.identity.of(value))

    def sample(self, group: int, rate: float, budget: int = -1) -> None:
        self._unwatched(lambda: self.sampler.set(group, rate, budget))

    def release(self, group: int) -> None:
        self.sampler.release(group)

    def samples(self, group: int) -> tuple[int, int, int]:
        return self.sampler.samples(group)

    def seed(self, number: int) -> None:
        self.sampler.seed(number)

    def rearm(self) -> None:
        self._unwatched(self._hooks.rearm)

    def suspend(self) -> None:
        self.thread.in_tracer = True

    def resume(self) -> None:
        self.thread.in_tracer = False

    def after_fork(self, process: int) -> None:
        self._lock = RLock()
        self._delivery = RLock()
        self._hooks.after_fork()
        self._buffer.clear()
        self.identity.in_child(process)
        self.sampler.in_child(process)
        self._process = process
        self._threads = 0
        suspended = self.thread.in_tracer
        self.thread = ThreadState()
        self.thread.in_tracer = suspended

    def _unwatched(self, act: Callable[[], T]) -> T:
        """Do something that makes no events. An exception of `deliver` goes on into the program."""
        state = self.thread
        was, state.in_tracer = state.in_tracer, True
        try:
            return act()
        except DeliveredError as carried:
            raise carried.error from None
        finally:
            state.in_tracer = was

    # -- for the hooks ---------------------------------------------------------------------------

    def failed(self, error: BaseException) -> None:
        """An internal error: watching ends, and the program goes on."""
        if self.fault is None:
            self.fault = error
        self._buffer.clear()
        if self._running:
            self._running = False
            self._hooks.remove()

    def observe(self, act: Callable[..., T], *args: Any) -> T | None:
        """Do the work of a hook, unless the tracer already runs here. Raises only what must reach the program."""
        state = self.thread
        if state.in_tracer:
            return None
        state.in_tracer = True
        self.callbacks += 1
        timed = self.callbacks % _TIMED == 0
        began, cost = clock.perf_counter() if timed else 0.0, self.cost
        try:
            return act(*args)
        except DeliveredError as error:
            carried: BaseException | None = error.error
        except BaseException as error:
            self.failed(error)
            carried = None if isinstance(error, Exception) else error  # an interrupt, in the middle of our work
        finally:
            state.in_tracer = False
            if timed and cost == self.cost:  # deliveries add their own time
                passed = clock.perf_counter() - began
                self.cost += passed * _TIMED if passed < _LONGEST_CALLBACK else 0.0
        if carried is not None:
            raise carried
        return None

    def forget_codes(self) -> None:
        """Nothing is watched any more."""
        self.codes.clear()
        self.callee.clear()
        self.caller.clear()

    # -- events ----------------------------------------------------------------------------------

    def record(self, kind: str, parts: Event, site: Event) -> None:
        """An event, from its kind, its parts and its place."""
        self._add({"event": kind, **parts, **site})

    def record_together(self, events: list[Event], site: Event) -> None:
        """Events that are delivered together."""
        if events:
            self._add(*(event.copy() if "file" in event else {**event, **site} for event in events))

    def _add(self, *events: Event) -> None:
        task = current_task()
        number = None if task is None else self.identity.of(task)
        if self._synchronous and not self.thread.delivering:
            # A thread takes its turn first: otherwise another could find the event, and what comes of it would be
            # raised there.
            with self._delivery:
                for event in events:
                    self._append(event, number)
                self._deliver_all()
            return
        for event in events:
            self._append(event, number)
        if len(self._buffer) >= self.flush_at and not self.thread.delivering:
            self._deliver_some()

    def _append(self, event: Event, task: int | None) -> None:
        state = self.thread
        with self._lock:
            if not state.number:
                self._threads += 1
                state.number = self._threads
            event["thread"] = state.number
            if task is not None:
                event["task"] = task
            event["time"] = clock.monotonic() - (self._began or 0.0)
            if self._process:
                event["process"] = self._process
            self._buffer.append(event)

    def _gone(self, number: int, kind: type) -> None:
        # This runs at any time, also in the middle of the tracer's own work: it delivers nothing.
        sampled = self.sampler.gone(number)
        if not self._running or not (sampled or self._tells_gone):
            return
        state = self.thread
        was, state.in_tracer = state.in_tracer, True
        try:
            self._append({"event": "gone", "name": self.answers.class_name(kind), "targetId": number}, None)
        except Exception as error:
            self.failed(error)
        finally:
            state.in_tracer = was

    def _deliver_some(self) -> None:
        # `deliver` in another thread may wait for a lock that this thread holds. So this thread must not wait for it.
        overfull = len(self._buffer) >= _OVERFULL * self.flush_at
        if self._delivery.acquire(timeout=0.1 if overfull else 0):
            try:
                self._deliver_all()
            finally:
                self._delivery.release()

    def flush_now(self) -> None:
        """Deliver the gathered events, from inside a hook."""
        if not self.thread.delivering:
            with self._delivery:
                self._deliver_all()

    def _deliver_all(self) -> None:
        state = self.thread
        buffer = self._buffer
        state.delivering = True
        # A collection would run the program's finalisers here, where they are not watched.
        collecting = gc.isenabled()
        gc.disable()
        began = time.thread_time()
        try:
            # Once: other threads may add events as fast as they are judged here.
            if batch := [buffer.popleft() for _ in range(0 if self._over else len(buffer))]:
                try:
                    self._deliver(batch)
                except BaseException as error:
                    if self._synchronous or not isinstance(error, Exception):
                        raise DeliveredError(error) from None
                    self.failed(error)
        finally:
            self.cost += time.thread_time() - began
            if collecting:
                gc.enable()
            state.delivering = False


def _hooks(tracer: PythonTracer) -> MonitoringHooks | SettraceHooks:
    return MonitoringHooks(tracer) if sys.version_info >= (3, 12) else SettraceHooks(tracer)


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
