"""The executions of one request, in the child process or a fork of it: on numbered inputs, or drawn by Hypothesis."""

from __future__ import annotations

import json
import mmap
import os
import random
import select
import signal
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from lawful.errors import LawfulError
from lawful.explain.teachers.python.child_guard import exit_text
from lawful.explain.teachers.python.inputs import GivenInput, InputCall, Inputs, takes_several
from lawful.explain.teachers.python.runner import ExecutionResult, Runner, flush_output

_EVERY = 0.1  # seconds between reports
_RUN_TWICE = 50  # of the first executions on what Hypothesis draws
_ENDLESS = 10
_CUT = ("long", "slow", "memory", "lost")
_CHECKING = 1.0
_GRACE = 1.0
_ROOM = 1 << 16  # bytes for the description of an execution, and some for each of its events
_ROOM_EACH = 256
_TICK = 0.05


@dataclass
class RunTally:
    """What a run has seen: each word and outcome once, and how often executions were left out.

    `send` reports to the parent, and `beat` shows it that something goes on, and with which input. The run ends when
    it has reached `paths`, `words` or `seconds`."""

    send: Callable[[dict[str, Any]], None]
    beat: Callable[[int], None]
    runner: Runner
    paths: int | None = None
    words: int | None = None
    seconds: float | None = None
    ran: int = 0
    counts: Counter[str] = field(default_factory=Counter)  # executions that were `long`, `slow`, `memory`, `lost`...
    unmade: int = 0
    refused: str = ""
    examples: dict[str, str] = field(default_factory=dict)
    deaths: dict[str, str] = field(default_factory=dict)
    begun: list[list[int]] = field(default_factory=list)
    stopped: str | None = None
    too_many_words: bool = False  # there are more words than are allowed
    _words: set[tuple[tuple[int, ...], bool]] = field(default_factory=set)
    _known: set[tuple[Any, ...]] = field(default_factory=set)
    _new: list[list[Any]] = field(default_factory=list)
    _cut_reported: int = 0
    _began: float = field(default_factory=time.monotonic)
    _reported_at: float = field(default_factory=time.monotonic)

    def add(self, result: ExecutionResult, call: InputCall | str, number: int | None = None) -> bool:
        """Takes in an execution and its input, or the text of that. Is it the first with its word and outcome?"""

        def text() -> str:
            return call if isinstance(call, str) else call.text()

        number = self.ran if number is None else number
        if result.end == "unmade":
            self.unmade, self.refused = self.unmade + 1, self.refused or result.error
            return False
        self.ran += 1
        key = result.kind()
        fresh = key not in self._known and result.end not in _CUT
        if fresh and not self._admit_word((tuple(result.word), result.failed)):
            return False
        unusual = [result.end] if result.end not in ("done", "error") else []
        for name in [*unusual, "unjoined"] if result.unjoined else unusual:
            self.counts[name] += 1
            self.examples.setdefault(name, text())
        if result.end == "died":
            self.deaths.setdefault(result.error, text())
        if (result.unjoined or result.end in ("slow", "memory")) and result.word not in self.begun:
            self.begun.append(result.word)
        if fresh:
            self._known.add(key)
            error = [result.error, *(result.place or (None, None))]
            lines = self.runner.lines(result)
            self._new.append([result.word, result.failed, text(), lines, error, number, result.end])
        return fresh

    def _admit_word(self, word: tuple[tuple[int, ...], bool]) -> bool:
        """May a word be taken in? One that is known may, however else it ends."""
        most = self.words
        self.too_many_words |= most is not None and len(self._words) >= most and word not in self._words
        if not self.too_many_words:
            self._words.add(word)
        return not self.too_many_words

    def take_back(self, result: ExecutionResult) -> None:
        """Takes back the execution that was added last."""
        self.ran -= 1
        self._known.discard(result.kind())
        self._new.pop()

    def limit_reached(self) -> bool:
        """Is a limit reached? Reports on the way what is new."""
        now = time.monotonic()
        if now - self._reported_at > _EVERY:
            self.report_new()
            self._reported_at = now
        limits = {
            "paths": self.paths is not None and self.ran >= self.paths,
            "words": self.too_many_words,
            "seconds": self.seconds is not None and now - self._began > self.seconds,
            "slow": self.counts["slow"] >= _ENDLESS,
            "memory": self.counts["memory"] >= _ENDLESS,
        }
        self.stopped = next((name for name, reached in limits.items() if reached), self.stopped)
        return self.stopped is not None

    def report_new(self) -> None:
        """Reports what is new."""
        if self._new or self._cut() > self._cut_reported:
            self.send({"new": self._new, "ran": self.ran, "so far": self._totals()})
            self._new, self._cut_reported = [], self._cut()

    def _cut(self) -> int:
        return sum(self.counts[name] for name in _CUT)

    def _totals(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("ran", "counts", "examples", "deaths", "begun")}

    @property
    def whole(self) -> bool:
        """Is it known of all executions how they went on to their ends?"""
        return not any(self.counts[name] for name in ("slow", "memory", "lost"))

    def end(self, **more: Any) -> dict[str, Any]:
        """The last report."""
        if self.unmade and not self.ran:
            hint = "give the inputs yourself: --inputs file.py:generator"
            raise LawfulError("explain-inputs", f"no input can be made: {self.refused}", hint=hint)
        if self.unmade:
            many = f"{self.unmade:,} {'inputs' if self.unmade > 1 else 'input'}"
            more["notes"] = [*more.get("notes", ()), f"{many} could not be made: {self.refused}"]
        self.report_new()
        return {"end": True, **self._totals(), "stopped": self.stopped, **more}


def _execute(
    function: Callable[..., Any], call: InputCall, number: int, tally: RunTally, isolated: bool
) -> ExecutionResult:
    """Runs the function; `isolated`: in a process of its own, as if it were the first time."""
    tally.beat(number)
    return run_in_fork(tally.runner, function, call) if isolated else tally.runner.call(function, call)


def run_inputs(
    function: Callable[..., Any], inputs: Inputs, tally: RunTally, numbers: list[int] | None, start: int, isolated: bool
) -> dict[str, Any]:
    """Runs the function on inputs with these numbers, or on all from one on."""
    each = iter(inputs.each(numbers, start))
    finished = False
    while not tally.limit_reached():
        found = next(each, None)
        if found is None:
            finished = True
            break
        number, call = found
        result = _execute(function, call, number, tally, isolated)
        tally.add(result, call, number)
        tally.report_new()  # at once: the next execution may end this process
        isolated = isolated or result.end == "memory"  # what it has left behind must not be missing to others
    if not finished and not tally.too_many_words and next(each, None) is None:
        finished, tally.stopped = True, None  # the limit was just enough
    return tally.end(complete=inputs.complete and finished and tally.whole)


def outcomes(
    function: Callable[..., Any], inputs: Inputs, tally: RunTally, numbers: Iterable[int], isolated: bool
) -> list[list[Any]]:
    """What becomes of these inputs, for comparison with what became of them elsewhere."""
    found = []
    began = time.monotonic()
    for number, call in inputs.each(list(numbers), 0):
        result = _execute(function, call, number, tally, isolated)
        if result.end != "unmade":
            found.append([number, call.text(), result.word, result.failed, result.end])
        if result.end == "slow" or time.monotonic() - began > _CHECKING:
            break  # to look at some is enough
    return found


def repeated(
    function: Callable[..., Any], inputs: Inputs, tally: RunTally, texts: Iterable[str], isolated: bool
) -> list[list[Any]]:
    """What becomes of the inputs that read like this, as far as they are met in a short time."""
    wanted = set(texts)
    found = []
    began = time.monotonic()
    for number, call in inputs.each(None, 0):
        tally.beat(number)
        if (text := call.text()) in wanted:
            wanted.remove(text)
            result = _execute(function, call, number, tally, isolated)
            found.append([text, result.word, result.failed, result.error, result.end])
        if not wanted or time.monotonic() - began > _CHECKING:
            break
    return found


def run_strategy(
    function: Callable[..., Any], strategy: Any, tally: RunTally, *, size: int, seed: int
) -> dict[str, Any]:
    """Runs the function on what a Hypothesis strategy draws."""
    import hypothesis

    differs: list[str] = []
    runner, spread = tally.runner, takes_several(function)

    def one(value: Any) -> None:
        if tally.limit_reached():
            return
        tally.beat(tally.ran)
        call = GivenInput(value, spread)
        result = runner.call(function, call)
        if tally.ran < _RUN_TWICE and runner.call(function, call).outcome() != result.outcome():
            differs.append(call.text())
        tally.add(result, call)

    settings = hypothesis.settings(
        max_examples=max(size, 1),
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    seeded: Any = hypothesis.seed(seed)
    given: Any = hypothesis.given(strategy)
    seeded(settings(given(one)))()
    if tally.stopped == "paths":
        tally.stopped = None
    return tally.end(complete=False, differs=differs)


def run_in_fork(runner: Runner, function: Callable[..., Any], call: InputCall) -> ExecutionResult:
    """One execution in a process of its own. What it had recorded is known even if that process dies."""
    begin = 16 + 4 * (runner.most + 2)
    room = _ROOM + _ROOM_EACH * runner.most
    # Numbers of letters and bytes, the letters, the bytes: unlike a pipe, the program cannot close it.
    shared = mmap.mmap(-1, begin + room)

    def push(letter: int) -> None:
        (size,) = struct.unpack_from("Q", shared, 0)
        struct.pack_into("I", shared, 16 + 4 * size, letter)
        struct.pack_into("Q", shared, 0, size + 1)

    read, write = os.pipe()
    flush_output()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(read)
            if runner.random_state is not None:  # Python gives a process that was forked another state
                random.setstate(runner.random_state)
            result = runner.call(function, call, push)
            fields = [result.word, result.end, result.failed, result.error, result.place, result.unjoined]
            fields.append(runner.lines(result))
            data = json.dumps(fields).encode()
            if len(data) > room:
                data = json.dumps([*fields[:-1], None]).encode()
            shared[begin : begin + len(data)] = data
            struct.pack_into("Q", shared, 8, len(data))
            flush_output()
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
        return ExecutionResult(word, "slow")
    if data == b"[]":
        return ExecutionResult(word, "lost")
    if data:
        word, end, failed, error, place, unjoined, lines = json.loads(data)
        return ExecutionResult(
            word, end, failed, error, tuple(place) if place else None, lines=lines, unjoined=unjoined
        )
    code = os.waitstatus_to_exitcode(ended)
    if len(word) > runner.most:
        return ExecutionResult(word[: runner.most], "long")
    return ExecutionResult(word, "died", runner.judge.died(code), exit_text(code))


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
