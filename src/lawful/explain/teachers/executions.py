"""The teacher for sources of executions: it runs all of them once, and answers from the list."""

from __future__ import annotations

import time
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import cached_property

from lawful.explain.automata import Automaton, difference, disjoint, equivalent, included, live
from lawful.explain.postprocess import visited
from lawful.explain.teacher import (
    Alphabet,
    Basis,
    Bounds,
    Counterexample,
    Execution,
    ExecutionSource,
    Limits,
    MembershipAnswer,
    Teacher,
    TeacherReport,
    Word,
)


class ExecutionsTeacher(Teacher):
    """Answers from all executions of a source within bounds.

    A word fails if an execution with it fails. An execution that does the same events and goes on, or ends well, says
    no. A word whose events no execution does is free; with `trap`, an automaton that accepts a free word is wrong.

    The source is run through once for each pair of bounds, and not again for shorter words."""

    lists_failures = lists_executions = True

    def __init__(self, source: ExecutionSource, limits: Limits | None = None, *, trap: bool = True) -> None:
        self.source = source
        self.alphabet = source.alphabet
        self.counts = source.counts  # the queries are counted beside the source's own work
        self.limits = limits or Limits()
        self.trap = trap
        self._bounds: Bounds | None = None
        self._seen: dict[Bounds, _ExecutionsByWord] = {}

    @property
    def report(self) -> TeacherReport:  # type: ignore[override]
        """The source's report, with the limits that were reached here within the present bounds."""
        theirs = self.source.report
        seen = None if self._bounds is None else self._seen.get(self._bounds)
        reached = [] if seen is None else seen.reached
        return replace(
            theirs,
            basis=Basis.SAMPLED if reached else theirs.basis,
            reached=list(dict.fromkeys([*theirs.reached, *reached])),
            warnings=list(theirs.warnings),
            begun=((),) if reached else theirs.begun,
        )

    def shortest(self) -> int:
        return self.source.shortest()

    def bound(self, bounds: Bounds) -> None:
        self._bounds = bounds

    def member(self, word: Word) -> MembershipAnswer:
        self.counts.membership += 1
        return self._current.answer(word)

    def counterexample(self, automaton: Automaton) -> Counterexample | None:
        self.counts.conjectures += 1
        known = self._current
        if self.trap:
            wrong = equivalent(automaton, known.failing, self._current_bounds.word_length)
            return None if wrong is None else Counterexample(wrong, wrong in known.failures)
        missed = included(known.failing, automaton)
        if missed is not None:
            return Counterexample(missed, True)
        taken = disjoint(known.denied, automaton)
        return None if taken is None else Counterexample(taken, False)

    def example(self, word: Word) -> Execution | None:
        known = self._current
        return known.failures.get(word) or known.passes.get(word)

    def endings(self) -> dict[Word, list[Execution]]:
        return self._current.endings

    def passes(self) -> dict[Word, Execution]:
        return self._current.passes

    def passing_states(self, automaton: Automaton) -> AbstractSet[int]:
        return visited(automaton, self._current.passing)

    @property
    def failing(self) -> Automaton:
        return self._current.failing

    def so_far(self) -> Automaton | None:
        seen = self._seen.get(self._current_bounds)
        return None if seen is None or not seen.failures else seen.failing

    @property
    def _current_bounds(self) -> Bounds:
        if self._bounds is None:
            raise ValueError("bound() comes before any question")
        return self._bounds

    @property
    def _current(self) -> _ExecutionsByWord:
        bounds = self._current_bounds
        if bounds not in self._seen:
            longer = (
                seen
                for other, seen in self._seen.items()
                if other.unwind == bounds.unwind and other.word_length >= bounds.word_length
            )
            known = next(longer, None)
            self._seen[bounds] = self._run(bounds) if known is None else known.shortened(bounds.word_length)
        return self._seen[bounds]

    def _run(self, bounds: Bounds) -> _ExecutionsByWord:
        """Runs all executions. An interruption keeps those before it, and marks them as interrupted."""
        found = _ExecutionsByWord(self.alphabet)
        try:
            self._collect(bounds, found)
        except KeyboardInterrupt:
            found.reached.append("interrupted")
            self._seen[bounds] = found
            raise
        return found

    def _collect(self, bounds: Bounds, found: _ExecutionsByWord) -> None:
        limits = self.limits
        ends = None if limits.seconds is None else time.monotonic() + limits.seconds
        for number, execution in enumerate(self.source.executions(bounds, limits)):
            if limits.paths is not None and number >= limits.paths:
                return found.reached.append(f"stopped after {limits.paths:,} paths")
            if len(execution.word) > bounds.word_length:
                continue
            if limits.words is not None and len(found) >= limits.words and execution.word not in found:
                return found.reached.append(f"stopped after {limits.words:,} words")
            found.add(execution)
            if ends is not None and time.monotonic() > ends:
                return found.reached.append(f"stopped after {limits.seconds:g} seconds")


class _ExecutionsByWord:
    """The executions within one pair of bounds, by word."""

    def __init__(self, alphabet: Alphabet) -> None:
        self.alphabet = alphabet
        self.failures: dict[Word, Execution] = {}
        self.endings: dict[Word, list[Execution]] = {}
        self.passes: dict[Word, Execution] = {}
        self.reached: list[str] = []

    def __contains__(self, word: Word) -> bool:
        return word in self.failures or word in self.passes

    def __len__(self) -> int:
        return len(self.failures) + len(self.passes)

    def add(self, execution: Execution) -> None:
        error, word = self.alphabet.error, execution.word
        if error in word[:-1] or (word[-1:] == (error,)) is not execution.failed:
            raise ValueError(f"a word ends with the error letter just if it fails, and has no other one: {execution!r}")
        (self.failures if execution.failed else self.passes).setdefault(word, execution)
        if execution.failed:
            self.endings.setdefault(word, []).append(execution)

    def shortened(self, length: int) -> _ExecutionsByWord:
        """Those whose words are not longer."""
        less = _ExecutionsByWord(self.alphabet)
        less.reached = self.reached
        less.failures = {word: one for word, one in self.failures.items() if len(word) <= length}
        less.endings = {word: found for word, found in self.endings.items() if len(word) <= length}
        less.passes = {word: one for word, one in self.passes.items() if len(word) <= length}
        return less

    def answer(self, word: Word) -> MembershipAnswer:
        if word in self.failures:
            return MembershipAnswer.YES
        if self.denied.accepts(word) or word in self.passes:
            return MembershipAnswer.NO
        return MembershipAnswer.NEVER

    @cached_property
    def failing(self) -> Automaton:
        return Automaton.from_words(self.failures, self.alphabet.labels)

    @cached_property
    def passing(self) -> Automaton:
        return Automaton.from_words(self.passes, self.alphabet.labels)

    @cached_property
    def denied(self) -> Automaton:
        """Words of which an execution says no: it does all events before the error letter, and does not fail there."""
        error = self.alphabet.error
        done = Automaton.from_words((*self.passes, *(word[:-1] for word in self.failures)), self.alphabet.labels)
        alive, end, sink = live(done), len(done), len(done) + 1
        rows = [
            tuple((end if state in alive else sink) if letter == error else target for letter, target in enumerate(row))
            for state, row in enumerate(done.transitions)
        ]
        rows += [(sink,) * len(self.alphabet)] * 2
        stops = Automaton(self.alphabet.labels, done.initial, tuple(rows), frozenset({end}))
        return difference(stops, self.failing)
