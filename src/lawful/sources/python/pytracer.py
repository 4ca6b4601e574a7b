"""The tracer core in pure Python: on `sys.monitoring` from 3.12 on, on `sys.settrace` and `sys.setprofile` before.

It gives the same events as the cores in C, but is many times slower. Known differences:

- On 3.11 threads that were started before the tracer, other than the one that starts it, are not watched.
- On 3.11 a function in which `deliver` has raised an exception (synchronous mode) is not watched on, on the caller
  side, until it calls something: operators, `with`, `for` and the like before that are missed.
- Objects without weak references are held until a sweep lets go of them (see `Identity`): their `gone` comes late.
  Exceptions have another `excId` in each event, unless their class was made in Python.
- What the program does while the tracer is at work on the same thread makes no events: finalisers that the garbage
  collector happens to run at that time, and signal handlers.
- Where the frames of the interpreter are not known (`frames.reader` says why), only calls are seen on the caller side,
  with the first argument alone and without results; no `new`, `with`, `for`, `in`, `[]`, `del`, fields or operators.
- An exception that `deliver` raises in synchronous mode has the tracer's own frames in its traceback.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from _thread import RLock
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from lawful.pristine_os import clock
from lawful.sources.python import frames
from lawful.sources.python.call_events import CallContext
from lawful.sources.python.callee_events import CalleeEvents
from lawful.sources.python.caller_events import CallerEvents
from lawful.sources.python.identity import Identity
from lawful.sources.python.object_sampling import ObjectSampler
from lawful.sources.python.tracer_protocol import Deliver, Event, LearnerFeed, Tracer, WatchPlanner
from lawful.sources.python.watched_code import PlannerAnswers, WatchedCodes

T = TypeVar("T")


class DeliveredError(Exception):
    """Carries an exception of `deliver` out of the hook and into the program."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


class ThreadState(threading.local):
    """What is kept for each thread."""

    in_tracer = False  # the tracer itself is at work
    delivering = False
    number = 0


class Hooks(Protocol):
    """How the interpreter reports what the program does."""

    def install(self) -> None: ...

    def remove(self) -> None: ...

    def rearm(self) -> None:
        """Report the start of all own code once more."""
        ...

    def after_fork(self) -> None:
        """This is a child process now, with one thread."""
        ...


_OVERFULL = 8
_PERIOD = 64
_LONGEST = 0.001  # seconds: beyond this something else has run


class CallbackTimer:
    """What callbacks cost, by timing one of 64. Deliveries are timed elsewhere."""

    def __init__(self) -> None:
        self.spent = 0.0
        self.calls = 0
        self._until = _PERIOD
        self._began = 0.0

    def start(self) -> bool:
        """Is this callback timed?"""
        self.calls += 1
        self._until -= 1
        if self._until:
            return False
        self._began = clock.perf_counter()
        return True

    def skip(self) -> None:
        self._began = 0.0

    def stop(self) -> None:
        passed = clock.perf_counter() - self._began
        if self._began and passed < _LONGEST:
            self.spent += passed * _PERIOD
        # Not always after the same number: programs have their rhythm.
        self._until = _PERIOD - 8 + int(passed * 1e8) % 17


class PythonTracer(Tracer):
    """`Tracer` says what its methods do."""

    name = "python"
    learns = False
    learner = None
    lazy_events = False
    message_cache = None

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
        self._identity = Identity(self._gone)
        self.sampler = ObjectSampler()
        self._spent = 0.0
        read, self.refusal = frames.reader()
        self.codes = WatchedCodes(planner)
        self._answers = PlannerAnswers(planner)
        self._context = CallContext(planner, self.codes, self._answers, self._identity, self.sampler, self, read)
        self.callee = CalleeEvents(self._context)
        self.caller = CallerEvents(self._context)
        self.timer = CallbackTimer()
        self._hooks = _hooks(self)

    # -- Tracer ----------------------------------------------------------------------------------

    @property
    def pending(self) -> int:
        return len(self._buffer)

    def take_over(self, other: PythonTracer) -> None:
        self._identity, other._identity = other._identity, Identity()
        self._identity.set_gone(self._gone)
        self._context.identity = self._identity
        self.thread, self._threads = other.thread, other._threads
        self._process, self._began = other._process, other._began

    def start(self) -> None:
        if self._running:
            return
        if self._began is None:
            self._began = clock.monotonic()
        self._running, self._over = True, False
        try:
            self._unwatched(self._hooks.install)
        except BaseException:
            self._running = False
            raise

    def stop(self) -> None:
        if self._running:
            self._unwatched(self._identity.sweep)
            self._running = False
            self._unwatched(self._hooks.remove)
        self.flush()
        with self._delivery:
            self._over = True
        self._identity.forget()
        self.sampler.clear()

    def flush(self) -> None:
        if not self.thread.delivering:
            self._unwatched(self._sweep_and_deliver)

    def _sweep_and_deliver(self) -> None:
        self._identity.sweep()
        with self._delivery:
            self._deliver_all()

    def emit(self, event: Event) -> None:
        self._unwatched(lambda: self._add(event.copy()))

    def identify(self, value: object) -> int:
        return self._unwatched(lambda: self._identity.of(value))

    @property
    def cost(self) -> float:
        return self._spent + self.timer.spent

    @property
    def callbacks(self) -> int:
        return self.timer.calls

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
        self._identity.in_child(process)
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
        """Do the work of a hook, unless this thread is at work already. Raises only what must reach the program."""
        state = self.thread
        if state.in_tracer:
            return None
        state.in_tracer = True
        timed = self.timer.start()
        try:
            return act(*args)
        except BaseException as error:
            carried = self._to_raise(error)
        finally:
            state.in_tracer = False
            if timed:
                self.timer.stop()
        if carried is not None:
            raise carried
        return None

    def _to_raise(self, error: BaseException) -> BaseException | None:
        """The exception that must reach the program, or nothing: an internal error must not.

        One that `deliver` raised must, and so must an interrupt: a signal has struck in the middle of our work, so
        that watching ends.
        """
        if isinstance(error, DeliveredError):
            return error.error
        self.failed(error)
        return None if isinstance(error, Exception) else error

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
        number = None if task is None else self._identity.of(task)
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
        if len(self._buffer) >= self.flush_at:
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
            self._append({"event": "gone", "name": self._answers.class_name(kind), "targetId": number}, None)
        except Exception as error:
            self.failed(error)
        finally:
            state.in_tracer = was

    def _deliver_some(self) -> None:
        if self.thread.delivering:
            return
        if len(self._buffer) < _OVERFULL * self.flush_at:
            # A thread may hold what `deliver`, at work in another thread, waits for: events can wait, threads must not.
            free = self._delivery.acquire(blocking=False)
        else:
            free = self._delivery.acquire(timeout=0.1)
        if free:
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
            self.timer.skip()
            self._spent += time.thread_time() - began
            if collecting:
                gc.enable()
            state.delivering = False


def _hooks(tracer: PythonTracer) -> Hooks:
    if sys.version_info >= (3, 12):
        from lawful.sources.python.monitoring_hooks import MonitoringHooks

        return MonitoringHooks(tracer)
    from lawful.sources.python.settrace_hooks import SettraceHooks

    return SettraceHooks(tracer)


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
