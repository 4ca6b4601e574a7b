"""The executions of one request, in the child process: on numbered inputs, or on what Hypothesis draws."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from lawful.errors import LawfulError
from lawful.explain.teachers.python.forked_run import run_in_fork
from lawful.explain.teachers.python.inputs import GivenInput, Inputs, ShownInput
from lawful.explain.teachers.python.runner import ExecutionResult, Runner

_EVERY = 0.1  # seconds between reports
CHECKED = 50
_ENDLESS = 10
_CUT = ("long", "slow", "memory", "lost")
_CHECKING = 1.0


@dataclass
class RunLimits:
    """What a run may spend."""

    paths: int | None = None
    words: int | None = None
    seconds: float | None = None


@dataclass
class RunTally:
    """What a run has seen: each word and outcome once, and how often executions were left out."""

    send: Callable[[dict[str, Any]], None]
    allowed: RunLimits
    runner: Runner
    ran: int = 0
    long: int = 0
    slow: int = 0
    memory: int = 0
    lost: int = 0
    died: int = 0
    unjoined: int = 0
    unmade: int = 0
    refused: str = ""
    examples: dict[str, str] = field(default_factory=dict)
    deaths: dict[str, str] = field(default_factory=dict)
    begun: list[list[int]] = field(default_factory=list)
    stopped: str | None = None
    checked: list[list[int]] = field(default_factory=list)
    crowded: bool = False  # there are more words than are allowed
    _words: set[tuple[tuple[int, ...], bool]] = field(default_factory=set)
    _known: dict[tuple[Any, ...], int] = field(default_factory=dict)
    _new: list[list[Any]] = field(default_factory=list)
    _cut_told: int = 0
    _began: float = field(default_factory=time.monotonic)
    _told: float = field(default_factory=time.monotonic)

    def add(self, result: ExecutionResult, call: ShownInput, number: int) -> bool:
        """Takes in an execution. Is it the first with its word and outcome?"""
        if result.end == "unmade":
            self.unmade, self.refused = self.unmade + 1, self.refused or result.error
            return False
        self.ran += 1
        key = result.kind()
        known = self._known.get(key)
        fresh = known is None and result.end not in _CUT
        if fresh and not self._room((tuple(result.word), result.failed)):
            return False
        if result.end != "done" and result.end != "error":
            setattr(self, result.end, getattr(self, result.end) + 1)
            self.examples.setdefault(result.end, call.text())
            if result.end == "died":
                self.deaths.setdefault(result.error, call.text())
        if result.unjoined:
            self.unjoined += 1
            self.examples.setdefault("unjoined", call.text())
        if (result.unjoined or result.end in ("slow", "memory")) and result.word not in self.begun:
            self.begun.append(result.word)
        if known is None and (fresh or number < CHECKED):
            known = self._known[key] = len(self._known)
        if fresh:
            error = [result.error, *(result.place or (None, None))]
            self._new.append(
                [result.word, result.failed, call.text(), self.runner.lines(result), error, number, known, result.end]
            )
        if number < CHECKED and known is not None:
            self.checked.append([number, known])
        return fresh

    def _room(self, word: tuple[tuple[int, ...], bool]) -> bool:
        """May a word be taken in? One that is known may, however else it ends."""
        most = self.allowed.words
        self.crowded |= most is not None and len(self._words) >= most and word not in self._words
        if not self.crowded:
            self._words.add(word)
        return not self.crowded

    def forget(self, result: ExecutionResult) -> None:
        """Takes back the execution that was added last."""
        self.ran -= 1
        self._known.pop(result.kind(), None)
        self._new.pop()

    def full(self) -> bool:
        """Is a limit reached? Reports on the way what is new."""
        allowed, now = self.allowed, time.monotonic()
        if now - self._told > _EVERY:
            self.tell()
            self._told = now
        if allowed.paths is not None and self.ran >= allowed.paths:
            self.stopped = "paths"
        elif self.crowded:
            self.stopped = "words"
        elif allowed.seconds is not None and now - self._began > allowed.seconds:
            self.stopped = "seconds"
        elif self.slow >= _ENDLESS:
            self.stopped = "slow"
        elif self.memory >= _ENDLESS:
            self.stopped = "memory"
        return self.stopped is not None

    def tell(self) -> None:
        """Reports what is new."""
        if self._new or self._cut() > self._cut_told:
            self.send({"new": self._new, "ran": self.ran, "so far": self._sums()})
            self._new, self._cut_told = [], self._cut()

    def _cut(self) -> int:
        return self.long + self.slow + self.memory + self.lost

    def _sums(self) -> dict[str, Any]:
        names = ("ran", "long", "slow", "memory", "lost", "died", "unjoined", "examples", "deaths", "begun")
        return {name: getattr(self, name) for name in names}

    def end(self, **more: Any) -> dict[str, Any]:
        """The last report."""
        if self.unmade and not self.ran:
            hint = "give the inputs yourself: --inputs file.py:generator"
            raise LawfulError("explain-inputs", f"no input can be made: {self.refused}", hint=hint)
        if self.unmade:
            what = "inputs" if self.unmade > 1 else "input"
            said = f"{self.unmade:,} {what} could not be made: {self.refused}"
            more["notes"] = [*more.get("notes", ()), said]
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
    tally: RunTally,
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
        result = run_in_fork(runner, function, call) if isolated else runner.call(function, call)
        tally.add(result, call, number)
        tally.tell()  # at once: the next execution may end this process
        isolated = isolated or result.end == "memory"  # what it has left behind must not be missing to others
    if not finished and not tally.crowded and next(each, None) is None:
        finished, tally.stopped = True, None  # the limit is just what was needed
    return tally.end(complete=inputs.complete and finished and not tally.slow and not tally.memory and not tally.lost)


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
        result = run_in_fork(runner, function, call) if isolated else runner.call(function, call)
        if result.end != "unmade":
            found.append([number, call.text(), result.word, result.failed, result.end])
        if result.end == "slow" or time.monotonic() - began > _CHECKING:
            break  # to look at some is enough
    return found


def repeated(
    function: Callable[..., Any],
    inputs: Inputs,
    runner: Runner,
    texts: Iterable[str],
    beat: Callable[[int], None],
    *,
    isolated: bool,
) -> list[list[Any]]:
    """What becomes of the inputs that read like this, as far as they are met in a short time."""
    wanted = set(texts)
    found = []
    began = time.monotonic()
    for number, call in inputs.each(None, 0):
        beat(number)
        if (text := call.text()) in wanted:
            wanted.remove(text)
            result = run_in_fork(runner, function, call) if isolated else runner.call(function, call)
            found.append([text, result.word, result.failed, result.error, result.end])
        if not wanted or time.monotonic() - began > _CHECKING:
            break
    return found


def run_strategy(
    function: Callable[..., Any],
    strategy: Any,
    spread: bool,
    tally: RunTally,
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
        call = GivenInput(value, spread)
        result = runner.call(function, call)
        if tally.ran < CHECKED and runner.call(function, call).outcome() != result.outcome():
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
