"""Runs one execution in the child process: calls the function, records its word, and judges its outcome."""

from __future__ import annotations

import dis
import functools
import gc
import inspect
import os
import resource
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import CodeType, FrameType, TracebackType
from typing import Any, NoReturn

from lawful.explain.teachers.python.inputs import InputCall
from lawful.explain.teachers.python.loading import our_module
from lawful.explain.teachers.python.recorder import (
    ExecutionCut,
    ExecutionWatch,
    InputRefused,
    TooLong,
    TooSlow,
    WordRecorder,
    line_of,
)
from lawful.sources.python.scope import Scope

_RAISING = ("RAISE_VARARGS", "RERAISE")
_AGAIN = 0.1  # seconds until the alarm comes again, for a program that catches everything


@dataclass
class ExecutionResult:
    """What became of an execution. `end`: `done`, `error`, `long` (too many events), `slow` (it did not end), `memory`
    (it needed too much), `died` (its process did), `lost` (it could not be watched), or `unmade` (no such input)."""

    word: list[int]
    end: str
    failed: bool = False
    error: str = ""
    place: tuple[str, int] | None = None
    places: dict[int, tuple[CodeType, int]] = field(default_factory=dict)
    lines: list[list[Any] | None] | None = None  # as the process that ran it reported them
    unjoined: bool = False  # threads that it began went on when it ended

    def outcome(self) -> tuple[tuple[int, ...], str, bool, str]:
        """What two executions with the same input must have in common."""
        return tuple(self.word), self.end, self.failed, self.error

    def kind(self) -> tuple[Any, ...]:
        """The key by which an execution is reported once: its word, and how and where it ended."""
        return *self.outcome(), self.place


class FailureJudge:
    """Says which executions fail."""

    def __init__(self, error: Mapping[str, Any], scope: Scope) -> None:
        self._error = error
        self._scope = scope

    def ended(self) -> bool:
        """The execution came to its end."""
        return bool(self._error["kind"] == "end")

    def raised(self, error: BaseException) -> bool:
        """An exception escaped. One that says that all is well fails only if it is named itself."""
        kind = self._error["kind"]
        fine = isinstance(error, SystemExit) and error.code in (None, 0)
        if kind == "type":
            name, kinds = self._error["name"], type(error).__mro__
            named = [each for each in kinds if name in (each.__name__, f"{each.__module__}.{each.__qualname__}")]
            return any(not fine or issubclass(each, SystemExit) for each in named)
        if fine:
            return self.ended()
        if kind == "line":
            place = self._raised_at(error)
            first, last, file = self._error["first"], self._error["last"], self._error["file"]
            return place is not None and first <= place[1] <= last and _same(place[0], file)
        return self.other()

    def other(self) -> bool:
        """It failed without an exception."""
        return bool(self._error["kind"] == "exception")

    def died(self, status: int) -> bool:
        """The process ended by itself: `os._exit`, or a signal, whose number is then negative."""
        return self.ended() if status == 0 else self.other()

    def place(self, error: BaseException) -> tuple[str, int] | None:
        """The line of own code in which an exception was raised."""
        place = self._raised_at(error)
        return None if place is None else (self._scope.event_file(place[0]), place[1])

    def _raised_at(self, error: BaseException) -> tuple[str, int] | None:
        lines = ((frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__))
        own = [place for place in lines if self._scope.own(place[0])]
        return own[-1] if own else None


@functools.cache
def _same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


class MemoryLimit:
    """Limits the memory of this process while an execution runs, and only then: Lawful's own work must not fail."""

    def __init__(self) -> None:
        self._most: int | None = None
        self._megabytes: int | None = None
        self._filled = False  # an execution has come to the limit, and may have left something behind
        self._usual = resource.getrlimit(resource.RLIMIT_AS)

    def allow(self, megabytes: int | None) -> None:
        """From now on an execution may take so much more than this process has, where the system shows that."""
        self._megabytes, self._filled, self._most = megabytes, False, None
        self._usual = resource.getrlimit(resource.RLIMIT_AS)
        with suppress(OSError, ValueError), open("/proc/self/statm", encoding="ascii") as file:
            if megabytes is not None:
                taken = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
                self._most = taken + megabytes * 2**20
        if self._most is not None and self._usual[0] != resource.RLIM_INFINITY:
            self._most = min(self._most, self._usual[0])

    def begin(self) -> None:
        """An execution begins."""
        if self._filled:
            gc.collect()
            self.allow(self._megabytes)
        if self._most is not None:
            resource.setrlimit(resource.RLIMIT_AS, (self._most, self._usual[1]))

    def end(self) -> None:
        """It has ended."""
        if self._most is not None:
            resource.setrlimit(resource.RLIMIT_AS, self._usual)

    def reached(self, error: BaseException) -> bool:
        """Was it the limit that raised this? The program may raise the same for reasons of its own."""
        if self._most is None or not isinstance(error, MemoryError) or _by_statement(error.__traceback__):
            return False
        self._filled = True
        return True


def _by_statement(trace: TracebackType | None) -> bool:
    """Does a traceback end at a `raise`?"""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and dis.opname[trace.tb_frame.f_code.co_code[trace.tb_lasti]] in _RAISING


class Runner:
    """Runs one execution after the other, and cuts off those that do not end."""

    def __init__(self, error: Mapping[str, Any], scope: Scope) -> None:
        self.recorder = WordRecorder()
        self.watch = ExecutionWatch(self.recorder, scope)
        self.judge = FailureJudge(error, scope)
        self.scope = scope
        self.seconds = 2.0
        self.memory = MemoryLimit()
        self.random_state: Any = None  # the state of `random`, if loading the program has settled it
        self.most = 1000
        self._running = False
        self._threads: set[threading.Thread] = set()
        signal.signal(signal.SIGALRM, self._alarm)

    def call(
        self, function: Callable[..., Any], call: InputCall, push: Callable[[int], None] | None = None
    ) -> ExecutionResult:
        """Calls a function to its end; a generator is run through, a coroutine awaited."""

        def body() -> None:
            with self.recorder.paused():
                positional, keywords = call.arguments()
            run_to_end(function(*positional, **keywords))

        return self.run(body, push)

    def run(self, body: Callable[[], object], push: Callable[[int], None] | None = None) -> ExecutionResult:
        """Runs a piece of the program as one execution."""
        process = os.getpid()
        raised: BaseException | None = None
        try:
            try:
                self.begin(push)
                body()
            finally:
                self._running = False
        except BaseException as error:
            raised = error
        if os.getpid() != process:
            _leave(raised)  # a process that the program has begun came to the end of it, too
        return self.finish(raised)

    def begin(self, push: Callable[[int], None] | None = None) -> None:
        """An execution begins, whoever runs it."""
        self._threads = set(threading.enumerate())
        self.recorder.start(self.most, push)
        self._running = True
        signal.setitimer(signal.ITIMER_REAL, self.seconds, _AGAIN)
        self.memory.begin()
        self.watch.start()

    def finish(self, raised: BaseException | None) -> ExecutionResult:
        """It has ended, perhaps with an exception."""
        # An alarm may come at any moment, even in the block that ran it.
        self._running = self.recorder.on = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        self.memory.end()
        watched = self.watch.stop()
        result = self._judged(raised, watched)
        result.unjoined = not self._threads.issuperset(threading.enumerate())
        return result

    def _judged(self, raised: BaseException | None, watched: bool) -> ExecutionResult:
        word, judge = self.recorder.word, self.judge
        if len(word) > self.most:  # whatever became of the exception that said so
            return ExecutionResult(word[: self.most], "long")
        if not watched:
            return ExecutionResult(word, "lost")
        if raised is None:
            return ExecutionResult(word, "done", judge.ended(), places=self.recorder.places)
        if isinstance(raised, InputRefused):
            return ExecutionResult([], "unmade", error=str(raised))
        if isinstance(raised, ExecutionCut):
            return ExecutionResult(word, "long" if isinstance(raised, TooLong) else "slow")
        if self.memory.reached(raised):
            return ExecutionResult(word, "memory")
        failed = judge.raised(raised)
        return ExecutionResult(word, "error", failed, type(raised).__name__, judge.place(raised), self.recorder.places)

    def lines(self, result: ExecutionResult) -> list[list[Any] | None] | None:
        """The places of a word's letters where they have none of their own, and that of the error."""
        if result.lines is not None:
            return result.lines
        found: list[list[Any] | None] = [None] * len(result.word)
        for position, (code, offset) in result.places.items():
            line = line_of(code, offset)
            if position < len(found) and line is not None:
                found[position] = [self.scope.event_file(code.co_filename), line]
        if result.failed:
            found.append(None if result.place is None else [*result.place])
        return found if any(found) else None

    def _alarm(self, number: int, frame: FrameType | None) -> None:
        if self._running:
            raise TooSlow


def _leave(raised: BaseException | None) -> NoReturn:
    """Ends a process as Python ends one."""
    status = 0 if raised is None else 1
    if isinstance(raised, SystemExit):
        status = raised.code if isinstance(raised.code, int) else int(raised.code is not None)
    flush_output()
    os._exit(status & 0xFF)


def flush_output() -> None:
    """Writes out what the program has printed: a process that is forked or ended would print it twice, or never."""
    for file in (sys.stdout, sys.stderr):
        with suppress(Exception):
            file.flush()


def run_to_end(value: object) -> None:
    """Runs what a call has only begun."""
    if inspect.iscoroutine(value):
        our_module("asyncio").run(value)  # to import it takes long, and few need it
    elif inspect.isgenerator(value):
        for _ in value:
            pass
    elif inspect.isasyncgen(value):
        run_to_end(_exhaust(value))


async def _exhaust(values: Any) -> None:
    async for _ in values:
        pass
