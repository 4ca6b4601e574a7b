"""A Python program as a source of executions: it runs in a process of its own, and a report says what was left out."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from lawful.errors import LawfulError
from lawful.explain.targets import CTarget, PytestTarget, PythonTarget, Target, target_of
from lawful.explain.teacher import (
    Alphabet,
    Basis,
    Bounds,
    EventKeys,
    Execution,
    ExecutionSource,
    Limits,
    QueryCounts,
    TeacherReport,
)
from lawful.explain.teachers.python.child_handle import ChildDied, ChildPool, child_config
from lawful.explain.teachers.python.determinism import DeterminismCheck
from lawful.explain.teachers.python.letter_choice import LetterCandidate, LetterChooser, TrialRun, alphabet_of
from lawful.explain.teachers.python.options import (
    EXPLORATION_WAYS,
    EventChoice,
    ExplorationWay,
    error_of,
    events_of,
)
from lawful.explain.teachers.python.run_results import BoundRun, RunTotals

_LONGEST = 200  # events of an execution that are recorded at least
_DEATHS = 3
_PILOT: dict[str, Any] = {"paths": 400, "words": 400, "seconds": 2.0}
_PILOT_BOUND = 3
_SMALLEST = 2


class PythonSource(ExecutionSource):
    """The executions of a Python function or test.

    `target`: `file.py:function`, `package.module:function`, `tests/test_file.py::test`, or the function itself.
    `inputs`: `file.py:name` of an iterable, a function of the bound, or a Hypothesis strategy; or such a thing itself.
    `error`: None (whatever escapes), an exception's name, `file.py:17`, or `end`.
    `folder`: where files and modules are looked for."""

    def __init__(
        self,
        target: str | Target | Callable[..., Any],
        *,
        inputs: object = None,
        events: EventChoice | Sequence[str] | None = None,
        error: str | None = None,
        way: ExplorationWay = "auto",
        limits: Limits | None = None,
        seed: int = 0,
        samples: int = 2000,
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        if way not in EXPLORATION_WAYS:
            raise LawfulError("explain-way", f"unknown way {way!r}", hint=", ".join(EXPLORATION_WAYS))
        found = target_of(target, folder)
        if isinstance(found, CTarget):
            raise LawfulError("explain-target", f"{found} is not Python", hint="C programs have other teachers")
        self.target: PythonTarget | PytestTarget = found
        self.limits = limits = limits or Limits()
        self.way: str = way  # how inputs are found; once executions ran, what `auto` came to
        self._asked_way = way
        self._seed, self._samples = seed, samples
        self.error = error_of(error, folder, found.file)
        events = events_of(events)
        branches = "branches" in (events.kinds or ())
        self._config = child_config(found, self.error, inputs, Path(folder or ".").absolute(), branches=branches)
        self._children = ChildPool(self._config, seed, limits.seconds)
        self.counts = QueryCounts()
        self.report = TeacherReport()
        self._runs: dict[int, BoundRun] = {}
        self._interfering_example: str | None = None  # an execution that is not what it is alone, after others
        self._letters, self.alphabet = self._choose(events)
        if self._inputs_numbered or isinstance(self.target, PytestTarget):
            self._children.start(1)

    def shortest(self) -> int:
        """The length of the shortest failing word on the smallest inputs that fail; 1 if none of them does."""
        for bound in range(1, _SMALLEST + 1):
            found = self.executions(Bounds(bound, _LONGEST), self.limits)
            lengths = [len(each.word) for each in found if each.failed]
            if lengths:
                return min(lengths)
        return 1

    def executions(self, bounds: Bounds, limits: Limits | None = None) -> Iterator[Execution]:
        """Each execution once per word and outcome, as they are found. Whoever leaves early stops the program."""
        limits = limits or self.limits
        # A test has the same inputs for all bounds.
        size = 0 if isinstance(self.target, PytestTarget) else bounds.unwind
        run = self._runs.get(size)
        if run is not None and run.finished and run.limits == limits and run.most >= bounds.word_length:
            self.report = run.report(bounds, self.alphabet)
            yield from (each for each in run.executions.values() if len(each.word) <= bounds.word_length)
            return
        run = BoundRun(limits=limits, most=max(_LONGEST, 2 * bounds.word_length))
        self.report = TeacherReport(Basis.SAMPLED, [], ["not all executions were seen"], left_out=True, begun=((),))
        try:
            for each in self._run_bound(size, run):
                if len(each.word) <= bounds.word_length:
                    yield each
        finally:
            if not run.finished:
                self.close()  # it may still be at work on what nobody wants any more
        self._runs[size] = run
        self.report = run.report(bounds, self.alphabet)

    def repeated(self, texts: Sequence[str], bound: int) -> dict[str, Execution]:
        """What becomes of inputs that read like this, as far as there are such, and they come to an end."""
        if not isinstance(self.target, PythonTarget) or self._uses_strategy or not texts:
            return {}
        way = "exhaustive" if self._asked_way in ("symbolic", "auto") and self.way != "testing" else "testing"
        request = self._request(bound, _LONGEST, _unlimited(self.limits), texts=list(texts), way=way)
        found = {}
        for message in self._children.run(request):
            for text, letters, failed, raised, end in message.get("repeated", ()):
                word = (*letters, self.alphabet.error) if failed else tuple(letters)
                if end in ("done", "error", "died"):
                    found[text] = Execution(word, failed, text, None, raised or None)
        return found

    @property
    def output(self) -> str:
        """The end of what the program printed while it ran."""
        return self._children.output

    def close(self) -> None:
        self._children.close()

    def __enter__(self) -> PythonSource:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def letters(self) -> EventKeys:
        return tuple((each.kind, each.key, each.label) for each in self._letters)

    def _request(self, bound: int, most: int, limits: Limits, **more: Any) -> dict[str, Any]:
        """What a child is asked to run: inputs of this bound, with words that are recorded up to `most` events."""
        return {
            "bound": bound,
            "most": most,
            "way": self._asked_way,
            "samples": self._samples,
            "seed": self._seed,
            "start": 0,
            "isolated": self._interfering_example is not None,
            **asdict(limits),
            **({} if "keys" in more else {"keys": [each.key for each in self._letters]}),
            **more,
        }

    def _choose(self, events: EventChoice) -> tuple[list[LetterCandidate], Alphabet]:
        self._children.get()
        chooser = LetterChooser(events, self._children.described)
        found = chooser.candidates()
        discover = chooser.discoveries()
        if not found and discover is None and not events.patterns and events.kinds is None:
            # It enters no functions: then its branches tell what it does.
            self.close()
            self._config["branches"] = True
            self._children.get()
            chooser = LetterChooser(EventChoice((), ("branches",), events.most), self._children.described)
            found = chooser.candidates()
        trial = TrialRun()
        if discover is not None or (not events.patterns and len(found) > events.most):
            trial = self._trial_run(found, discover)
        letters = chooser.choose(found, trial)
        if not letters and events.patterns:
            self.close()
            raise chooser.refuse()
        return letters, alphabet_of(letters, self.error)

    def _trial_run(self, letters: list[LetterCandidate], discover: dict[str, Any] | None) -> TrialRun:
        """Runs the program on a few small inputs, to see what happens and where errors are raised."""
        trial = TrialRun()
        keys = [each.key for each in letters]
        request = self._request(_PILOT_BOUND, _LONGEST, replace(self.limits, **_PILOT), keys=keys, discover=discover)
        if request["way"] == "auto":
            request["way"] = "testing" if self._config.get("inputs") is None else "auto"
        for message in self._children.run(request):
            for word, failed, _, _, (_, file, line), *_ in message.get("new", ()):
                trial.seen.update(keys[letter] for letter in word if letter < len(keys))
                if failed and file is not None:
                    trial.places.add((file, line))
            for key, label, file, line in message.get("discovered", ()):
                trial.discovered.append(LetterCandidate(key[0], tuple(key), label, file, line))
                trial.seen.add(tuple(key))
            self.counts.executions += message["ran"] if message.get("end") else 0
        return trial

    def _run_bound(self, bound: int, run: BoundRun) -> Iterator[Execution]:
        self._children.get()
        isolated = self._interfering_example is not None
        check = DeterminismCheck(partial(self._outcomes, run.limits), self.close, isolated=isolated)
        if self._inputs_numbered and not isolated:
            self._interfering_example = check.before(bound, run.warnings)
        totals = RunTotals()
        start, isolated = 0, self._interfering_example is not None
        while True:
            request = self._request(bound, run.most, run.limits, start=start, isolated=isolated)
            if run.limits.paths is not None:
                request["paths"] = max(1, run.limits.paths - totals.ran)
            finish = yield from self._new_executions(request, run, totals, check)
            died: ChildDied | None = finish.get("died")
            if died is None:
                break
            if not self._inputs_numbered or self._asked_way == "symbolic":
                run.left_out = True
                run.warnings.append(f"the program ended its process ({died}); the executions after that are missing")
                return self._finished(run, {"complete": False, "stopped": None}, totals, check, bound)
            at = max(start, died.number)
            if "so far" in finish:
                totals.add({**finish["so far"], "ran": 0})
            totals.ran += at - start
            totals.deaths += 1
            # The input that has ended its process is run in one of its own.
            alone = {**request, "numbers": [at], "start": 0, "isolated": True, "paths": None}
            last = yield from self._new_executions(alone, run, totals, check)
            if "died" in last:  # not even the process beside it was left alone
                totals.ran += 1
                totals.counts["lost"] += 1
            start = at + 1
            isolated = isolated or totals.deaths >= _DEATHS
        if finish.get("unfollowed") and finish["stopped"] is None:
            # What could not be followed symbolically is tried on samples, too.
            before = totals.ran
            last = yield from self._new_executions({**request, "way": "testing"}, run, totals, check)
            run.left_out |= "died" in last
            more = f"{totals.ran - before:,} inputs were run beside that"
            run.warnings.append(f"not all could be followed symbolically: {more}")
        if isinstance(self.target, PytestTarget) and not _cut(finish) and not finish["drawn"]:
            self._repeated_test(request, run)
        self._finished(run, finish, totals, check, bound)

    def _repeated_test(self, request: Mapping[str, Any], run: BoundRun) -> None:
        """Runs a test once more, with another order of sets: it must do the same again."""
        other = BoundRun(limits=run.limits, most=run.most)
        end: Mapping[str, Any] = {}

        def again() -> Iterator[Execution]:
            nonlocal end
            end = yield from self._new_executions(request, other, RunTotals(), None, 1)

        for _ in again():
            pass
        if "end" not in end or _cut(end):
            return
        # Not by its line: that of a recursion which is too deep depends on who calls it.
        first, second = ({key[:3]: each for key, each in found.executions.items()} for found in (run, other))
        differing = [key for key in (*first, *second) if (key in first) is not (key in second)]
        if differing:
            found = first.get(differing[0]) or second[differing[0]]
            run.warnings.append(f"not deterministic: run twice, the test did different things, e.g. {found.example}")

    @property
    def _inputs_numbered(self) -> bool:
        """Can an input be had again by its number? Not those of tests, and of strategies."""
        return isinstance(self.target, PythonTarget) and not self._uses_strategy

    @property
    def _uses_strategy(self) -> bool:
        return bool(self._children.described.get("strategy"))

    def _outcomes(self, allowed: Limits, host: int, bound: int, numbers: list[int], isolated: bool) -> list[list[Any]]:
        """What becomes of inputs in a process: number, text, word, whether it failed, how it ended."""
        way = "exhaustive" if self._asked_way in ("symbolic", "auto") else self._asked_way
        request = self._request(bound, _LONGEST, _unlimited(allowed), again=numbers, way=way, isolated=isolated)
        return next((message["again"] for message in self._children.run(request, host) if "again" in message), [])

    def _new_executions(
        self,
        request: Mapping[str, Any],
        run: BoundRun,
        totals: RunTotals,
        check: DeterminismCheck | None,
        host: int = 0,
    ) -> Generator[Execution, None, dict[str, Any]]:
        """Runs a request in a process. Gives executions as they are found, and returns the last report.

        That has `died` if the process did, and then also the totals that were reported before that."""
        last: dict[str, Any] = {}
        for message in self._children.run(request, host):
            for letters, failed, text, lines, (raised, *place), number, end in message.get("new", ()):
                if check is not None:
                    check.note(number, text, letters, failed, end)
                word = (*letters, self.alphabet.error) if failed else tuple(letters)
                key = (word, failed, raised, *place)
                if key not in run.executions:
                    places = None if lines is None else tuple(each and (each[0], each[1]) for each in lines)
                    run.executions[key] = execution = Execution(word, failed, text, places, raised)
                    yield execution
            last = {**message, "so far": last["so far"]} if "died" in message and "so far" in last else message
        if "end" in last:
            totals.add(last)
        return last

    def _finished(
        self, run: BoundRun, finish: Mapping[str, Any], totals: RunTotals, check: DeterminismCheck, bound: int
    ) -> None:
        """All executions were run: fills in the run's report."""
        self.counts.executions += totals.ran
        self.counts.solver_calls += totals.solver
        self.way = str(finish.get("way", self.way))
        complete = bool(finish["complete"]) and totals.whole
        given_up = self.way == "symbolic" and not finish["complete"]
        run.slow = totals.counts["slow"]
        unknown = {()} if run.left_out or totals.counts["lost"] or given_up else set()
        run.begun = tuple(sorted(totals.begun | unknown))
        run.left_out |= bool(run.begun)
        if self._inputs_numbered and self.way != "symbolic":
            check.after(bound, run.warnings)
        run.basis = Basis.COMPLETE if complete and not check.nondeterministic else Basis.SAMPLED
        if self._interfering_example is not None:
            remedy = "Lawful runs each in a process of its own"
            if self.way == "symbolic":
                run.basis, remedy = Basis.SAMPLED, "explain.way=exhaustive can run each in a process of its own"
            example = self._interfering_example
            run.warnings.append(f"executions change what later ones do, e.g. that of {example}: {remedy}")
        run.reached += totals.reached(finish["stopped"], run.limits)
        run.warnings += [*totals.warnings(run.limits), *finish.get("notes", ())]
        for text in finish.get("differs", ())[:1]:
            run.warnings.append(f"not deterministic: run twice with {text}, it did different things")
        run.long, run.long_example = totals.counts["long"], totals.examples.get("long", "")
        run.finished = True


def _cut(end: Mapping[str, Any]) -> bool:
    """Was anything of a run left out?"""
    return end["stopped"] is not None or any(end["counts"].get(name) for name in ("slow", "long", "memory", "lost"))


def _unlimited(limits: Limits) -> Limits:
    """Only with the limits of each execution."""
    return replace(limits, paths=None, words=None, seconds=None)
