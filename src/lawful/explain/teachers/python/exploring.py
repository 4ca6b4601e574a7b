"""The executions of one request, in the child process: on numbered inputs, along paths, or on what Hypothesis draws."""

from __future__ import annotations

import json
import mmap
import os
import random
import select
import signal
import struct
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from lawful.explain.teachers.python.inputs import Built, Call, Inputs, Item, Scope
from lawful.explain.teachers.python.recording import TooSlow
from lawful.explain.teachers.python.running import Result, Runner, driven
from lawful.explain.teachers.python.shadowing import own

_EVERY = 0.1  # seconds between reports
_CHECKED = 50
_GRACE = 1.0
_ENDLESS = 10
_CUT = ("long", "slow", "lost")
_TOLD = 1 << 16  # bytes of an execution's description, and some for each of its events
_TOLD_EACH = 256
_TICK = 0.05
_FORKS = {False: 100, True: 400}  # of a path: with any numbers, and with small ones
_CHECKING = 1.0


@dataclass
class Allowed:
    """What a run may spend."""

    paths: int | None = None
    words: int | None = None
    seconds: float | None = None


@dataclass
class Tally:
    """What a run has seen: each word and outcome once, and how often executions were left out."""

    send: Callable[[dict[str, Any]], None]
    allowed: Allowed
    runner: Runner
    ran: int = 0
    long: int = 0
    slow: int = 0
    lost: int = 0
    died: int = 0
    examples: dict[str, str] = field(default_factory=dict)
    deaths: dict[str, str] = field(default_factory=dict)
    stopped: str | None = None
    checked: list[list[int]] = field(default_factory=list)
    _known: dict[tuple[Any, ...], int] = field(default_factory=dict)
    _new: list[list[Any]] = field(default_factory=list)
    _cut_told: int = 0
    _began: float = field(default_factory=time.monotonic)
    _told: float = field(default_factory=time.monotonic)

    def add(self, result: Result, call: Call, number: int) -> bool:
        """Takes in an execution. Is it the first with its word and outcome?"""
        self.ran += 1
        key = result.outcome()
        known = self._known.get(key)
        fresh = known is None and result.end not in _CUT
        if result.end != "done" and result.end != "error":
            setattr(self, result.end, getattr(self, result.end) + 1)
            self.examples.setdefault(result.end, call.text())
            if result.end == "died":
                self.deaths.setdefault(result.error, call.text())
        if known is None and (fresh or number < _CHECKED):
            known = self._known[key] = len(self._known)
        if fresh:
            error = [result.error, *(result.place or (None, None))]
            self._new.append(
                [result.word, result.failed, call.text(), self.runner.lines(result), error, number, known, result.end]
            )
        if number < _CHECKED and known is not None:
            self.checked.append([number, known])
        return fresh

    def forget(self, result: Result) -> None:
        """Takes back the execution that was added last."""
        self.ran -= 1
        self._known.pop(result.outcome(), None)
        self._new.pop()

    def full(self) -> bool:
        """Is a limit reached? Reports on the way what is new."""
        allowed, now = self.allowed, time.monotonic()
        if now - self._told > _EVERY:
            self.tell()
            self._told = now
        if allowed.paths is not None and self.ran >= allowed.paths:
            self.stopped = "paths"
        elif allowed.words is not None and len(self._known) >= allowed.words:
            self.stopped = "words"
        elif allowed.seconds is not None and now - self._began > allowed.seconds:
            self.stopped = "seconds"
        elif self.slow >= _ENDLESS:
            self.stopped = "slow"
        return self.stopped is not None

    def tell(self) -> None:
        """Reports what is new."""
        if self._new or self._cut() > self._cut_told:
            self.send({"new": self._new, "ran": self.ran, "so far": self._sums()})
            self._new, self._cut_told = [], self._cut()

    def _cut(self) -> int:
        return self.long + self.slow + self.lost

    def _sums(self) -> dict[str, Any]:
        names = ("ran", "long", "slow", "lost", "died", "examples", "deaths")
        return {name: getattr(self, name) for name in names}

    def end(self, **more: Any) -> dict[str, Any]:
        """The last report."""
        self.tell()
        return {
            "end": True,
            **self._sums(),
            "stopped": self.stopped,
            "checked": self.checked,
            **more,
        }


def run_inputs(
    function: Callable[..., Any],
    inputs: Inputs,
    tally: Tally,
    beat: Callable[[int], None],
    *,
    numbers: list[int] | None = None,
    start: int = 0,
    isolated: bool = False,
) -> dict[str, Any]:
    """Runs the function on numbered inputs; `isolated`: each time in a process of its own, as if it were the first."""
    runner = tally.runner
    each = iter(inputs.each(numbers, start))
    finished = False
    while not tally.full():
        found = next(each, None)
        if found is None:
            finished = True
            break
        number, call = found
        beat(number)
        result = _alone(runner, function, call) if isolated else runner.call(function, call.arguments())
        tally.add(result, call, number)
        tally.tell()  # at once: the next execution may end this process
    if not finished and next(each, None) is None:
        finished, tally.stopped = True, None  # the limit is just what was needed
    return tally.end(complete=inputs.complete and finished and not tally.slow and not tally.lost)


def outcomes(
    function: Callable[..., Any],
    inputs: Inputs,
    runner: Runner,
    numbers: Iterable[int],
    beat: Callable[[int], None],
    *,
    isolated: bool,
) -> list[list[Any]]:
    """What becomes of these inputs, for comparison with what became of them elsewhere."""
    found = []
    began = time.monotonic()
    for number, call in inputs.each(list(numbers), 0):
        beat(number)
        result = _alone(runner, function, call) if isolated else runner.call(function, call.arguments())
        found.append([number, call.text(), result.word, result.failed, result.end])
        if result.end == "slow" or time.monotonic() - began > _CHECKING:
            break  # to look at some is enough
    return found


def run_strategy(
    function: Callable[..., Any],
    strategy: Any,
    spread: bool,
    tally: Tally,
    beat: Callable[[int], None],
    *,
    size: int,
    seed: int,
) -> dict[str, Any]:
    """Runs the function on what a Hypothesis strategy draws."""
    import hypothesis

    differs: list[str] = []
    runner = tally.runner

    def one(value: Any) -> None:
        if tally.full():
            return
        beat(tally.ran)
        call = Item(value, spread)
        result = runner.call(function, call.arguments())
        if tally.ran < _CHECKED and runner.call(function, call.arguments()).outcome() != result.outcome():
            differs.append(call.text())
        tally.add(result, call, tally.ran)

    settings = hypothesis.settings(
        max_examples=max(size, 1),
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    seeded: Any = hypothesis.seed(seed)
    given: Any = hypothesis.given(strategy)
    drawn = seeded(settings(given(one)))
    drawn()
    if tally.stopped == "paths":
        tally.stopped = None
    return tally.end(complete=False, differs=differs)


def run_paths(
    function: Callable[..., Any], scope: Scope, bound: int, tally: Tally, beat: Callable[[int], None]
) -> dict[str, Any]:
    """Runs the function along all its paths. Where some do not end, numbers are kept within the bound after all."""
    exploration = own("lawful.explain.teachers.python.paths")

    checks = beyond = 0
    notes: list[str] = []
    complete = False
    for small in (False, True):
        paths = exploration.Paths(bound, small=small, deepest=_FORKS[small], beat=lambda: beat(tally.ran))
        deep, slow = 0, tally.slow
        problems = _Problems()
        going = True
        while going and not tally.full():
            beat(tally.ran)
            deep += _one_path(function, scope, paths, tally, problems)
            going = paths.next()
            if not small and (deep or tally.slow > slow):
                break
        checks, beyond = checks + paths.checks, beyond + paths.beyond
        notes = problems.named(paths.notes)
        complete = not going and not deep and tally.slow == slow and not tally.lost and not notes
        if (not deep and tally.slow == slow) or small or tally.stopped not in (None, "slow"):
            if deep:
                notes.append(f"{deep} paths were given up after {_FORKS[small]} forks")
            break
        tally.slow, tally.stopped = 0, None
        tally.examples.pop("slow", None)
    return tally.end(complete=complete, solver=checks, notes=notes, small=small)


@dataclass
class _Problems:
    diverged: int = 0
    differs: str | None = None

    def named(self, notes: Any) -> list[str]:
        found = []
        if notes.unsupported:
            names = ", ".join(sorted(notes.unsupported))
            found.append(f"no symbolic form of {names}: one value stands for all others there")
        if notes.unknown:
            found.append(f"the solver gave up {notes.unknown} times")
        if notes.texts:
            found.append("texts were made of symbolic values, and one stands for all others there")
        if self.diverged:
            found.append("the same decisions led to other questions: the program is not deterministic")
        if self.differs is not None:
            found.append(f"symbolic and real numbers behave differently, e.g. for {self.differs}")
        return found


def _one_path(function: Callable[..., Any], scope: Scope, paths: Any, tally: Tally, problems: _Problems) -> int:
    """Runs one path; 1 if it was given up for its depth."""
    exploration = own("lawful.explain.teachers.python.paths")

    runner = tally.runner
    ended: list[BaseException] = []

    def body() -> None:
        try:
            paths.start()
            positional, keywords = Built(scope, lambda: paths).arguments()
            driven(function(*positional, **keywords))
        except (exploration.Beyond, exploration.Deep, exploration.Diverged, TooSlow) as cut:
            ended.append(cut)
            raise

    symbolic = runner.run(body, paths.happened)
    paths.ended(raised=symbolic.end == "error")
    cut = ended[0] if ended else None
    if isinstance(cut, TooSlow):
        paths.restore()
    if isinstance(cut, exploration.Beyond):
        return 0
    if isinstance(cut, exploration.Diverged):
        problems.diverged += 1
        return 0
    if isinstance(cut, exploration.Deep):
        return 1
    solution = paths.solution()
    call = Built(scope, solution.again)
    # With an input of real numbers the same must happen, or else the program looked behind the symbolic ones.
    if tally.add(symbolic, call, _CHECKED):
        real = runner.call(function, call.arguments())
        if real.outcome() != symbolic.outcome():
            problems.differs = call.text()
            tally.forget(symbolic)
            tally.add(real, call, _CHECKED)
    return 0


def _alone(runner: Runner, function: Callable[..., Any], call: Call) -> Result:
    """One execution in a process of its own. What it had recorded is known even if that process dies."""
    begin = 16 + 4 * (runner.most + 2)
    room = _TOLD + _TOLD_EACH * runner.most
    # Numbers of letters and bytes, the letters, the bytes: unlike a pipe, the program cannot close it.
    shared = mmap.mmap(-1, begin + room)

    def push(letter: int) -> None:
        (size,) = struct.unpack_from("Q", shared, 0)
        struct.pack_into("I", shared, 16 + 4 * size, letter)
        struct.pack_into("Q", shared, 0, size + 1)

    read, write = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(read)
            if runner.chance is not None:  # Python gives a process that was forked another state
                random.setstate(runner.chance)
            result = runner.call(function, call.arguments(), push)
            told = [result.word, result.end, result.failed, result.error, result.place, runner.lines(result)]
            data = json.dumps(told).encode()
            if len(data) > room:
                data = json.dumps([*told[:-1], None]).encode()
            shared[begin : begin + len(data)] = data
            struct.pack_into("Q", shared, 8, len(data))
            for file in (sys.stdout, sys.stderr):
                with suppress(Exception):
                    file.flush()
            status = 0
        except BaseException:
            struct.pack_into("Q", shared, 8, 2)
            shared[begin : begin + 2] = b"[]"
        finally:
            os._exit(status)
    os.close(write)
    ended = _wait(pid, read, runner.seconds + _GRACE)
    os.close(read)
    size, length = struct.unpack_from("QQ", shared, 0)
    data = shared[begin : begin + length]
    word = list(struct.unpack_from(f"{size}I", shared, 16))
    shared.close()
    if ended is None:
        return Result(word, "slow")
    if data == b"[]":
        return Result(word, "lost")
    if data:
        word, end, failed, error, place, lines = json.loads(data)
        result = Result(word, end, failed, error, tuple(place) if place else None)
        result.told = lines
        return result
    code = os.waitstatus_to_exitcode(ended)
    if len(word) > runner.most:
        return Result(word[: runner.most], "long")
    return Result(word, "died", runner.judge.died(code), death(code))


def _wait(pid: int, closing: int, seconds: float) -> int | None:
    """How a process has ended, if it did in this time. A pipe that it holds wakes us; it may have closed that before,
    or have begun other processes that still hold it."""
    until = time.monotonic() + seconds
    files = [closing]
    while True:
        left = until - time.monotonic()
        if select.select(files, [], [], max(0.0, min(_TICK if files else _TICK / 10, left)))[0]:
            files = []
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return status
        if left <= 0:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return None


def death(code: int) -> str:
    """How a process ended, in words."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
