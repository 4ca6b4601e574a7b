"""What both C teachers share: the program, its control flow, answers that hold for all bounds, and time limits."""

from __future__ import annotations

import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from lawful.errors import LawfulError
from lawful.explain.automata import Automaton, included, words
from lawful.explain.bounds import OutOfTime
from lawful.explain.lstar.learner import well_formed
from lawful.explain.teacher import (
    Basis,
    Bounds,
    Counterexample,
    Execution,
    Limits,
    MembershipAnswer,
    QueryCounts,
    Teacher,
    TeacherReport,
    Word,
)
from lawful.explain.teachers.c import queries
from lawful.explain.teachers.c.cbmc import Cbmc, CbmcTimeout
from lawful.explain.teachers.c.control_flow import FlowWords
from lawful.explain.teachers.c.instrument import MAIN, Instrumented


class CTeacher(Teacher, ABC):
    """A teacher of a C program. What costs something is left to those that derive from it.

    With `trap`, an automaton is wrong if it accepts any word within the bounds that is not a failure. Without, only
    words count that an execution begins with and does not fail after: the others are free."""

    def __init__(self, program: Instrumented, limits: Limits, cbmc: Cbmc) -> None:
        self.program = program
        self.limits = limits
        self.cbmc = cbmc
        self.flow = FlowWords(program)
        if self.flow.empty:
            event = program.alphabet.events[-1]
            error = f"{event.label}()" if event.line is None else f"the assertion at line {event.line}"
            message = f"no way through {program.target}() leads to {'its end' if program.at_end else error}"
            hint = "control never comes there, as after a return; another assertion is chosen with --error file.c:17"
            raise LawfulError("c-error-unreachable", message, where=str(program.source.path), hint=hint)
        self.alphabet = program.alphabet
        self._well_formed = well_formed(self.alphabet)
        self.counts = QueryCounts()
        self.report = TeacherReport(warnings=list(program.warnings))
        self._bounds: Bounds | None = None
        self._began = time.monotonic()
        # What the text rules out does not depend on the bounds (section 6.1).
        self._refused: set[Word] = set()

    @abstractmethod
    def close(self) -> None:
        """Gives back what answers are read from. It is worked out again if more is asked."""

    def shortest(self) -> int:
        return self.flow.shortest()

    def bound(self, bounds: Bounds) -> None:
        self._bounds = bounds

    @property
    def bounds(self) -> Bounds:
        """The present bounds."""
        if self._bounds is None:
            raise ValueError("bound() comes before any question")
        return self._bounds

    def member(self, word: Word) -> MembershipAnswer:
        self.counts.membership += 1
        error, length = self.alphabet.error, self.bounds.word_length
        if error in word[:-1]:
            return MembershipAnswer.NEVER
        if word[-1:] == (error,) and len(word) <= length and self._fails(word):
            return MembershipAnswer.YES
        # With the trap, denied and free words get the same answer: they are not failures.
        return MembershipAnswer.NO if self.trap or self._denied(word) else MembershipAnswer.NEVER

    def _fails(self, word: Word) -> bool:
        """Whether a word is a failure. Known answers and the control flow come first."""
        if word in self._refused:
            return False
        if not self.flow.allows(word):
            self._refused.add(word)
            return False
        return self._ask_failure(word)

    def _denied(self, word: Word) -> bool:
        """Whether an execution says no: it has this word and ends well, or has all of it before the error."""
        if word[-1:] == (self.alphabet.error,):
            return self._begins(word[:-1])
        return self._passes(word) is not None

    @abstractmethod
    def _ask_failure(self, word: Word) -> bool:
        """Whether a word is a failure, if the program's text does not rule it out."""

    @abstractmethod
    def _begins(self, word: Word) -> bool:
        """Whether an execution begins with these events, ends, and has no longer a word than the bound."""

    @abstractmethod
    def _passes(self, word: Word) -> Execution | None:
        """An execution that has this word and ends well."""

    def _known_wrong(self, automaton: Automaton) -> Counterexample | None:
        """A counterexample that needs no model checker."""
        if not self.trap:
            return None
        length = self.bounds.word_length
        wrong = included(automaton, self._well_formed, length) or self.flow.refused(automaton, length)
        return None if wrong is None else Counterexample(wrong, False)

    def _wrongly_accepted(self, automaton: Automaton) -> Counterexample | None:
        """The first accepted word that is not a failure, if there are not too many words to ask for each."""
        for number, word in enumerate(words(automaton, self.bounds.word_length)):
            if self.limits.words is not None and number >= self.limits.words:
                self._reached(f"only {self.limits.words:,} words of a conjecture were checked")
                break
            if not self._fails(word):
                return Counterexample(word, False)
        return None

    def _reached(self, limit: str) -> None:
        self.report.basis = Basis.SAMPLED
        if limit not in self.report.reached:
            self.report.reached.append(limit)

    def _seconds_left(self) -> float | None:
        """The seconds that may still be spent."""
        if self.limits.seconds is None:
            return None
        left = self.limits.seconds - (time.monotonic() - self._began)
        if left <= 0:
            self._out_of_time()
        return left

    def _out_of_time(self) -> None:
        self._reached(f"stopped after {self.limits.seconds:g} seconds")
        raise OutOfTime

    def _run_cbmc(self, definitions: str, ask: Callable[[list[str]], Any], more: Sequence[str]) -> Any:
        """Lets CBMC work on the program with the functions that a question defines."""
        self.counts.solver_calls += 1
        with tempfile.TemporaryDirectory(prefix="lawful-") as folder:
            path = Path(folder) / "question.i"  # which CBMC does not preprocess
            path.write_text(self.program.text + definitions, encoding="utf-8")
            properties = ["--property", queries.FAIL, "--property", queries.END]
            try:
                return ask([str(path), "--function", MAIN, "--unwind", str(self.bounds.unwind), *properties, *more])
            except CbmcTimeout:
                self._out_of_time()
