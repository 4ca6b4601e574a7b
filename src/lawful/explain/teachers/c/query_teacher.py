"""The paper's teacher: every question is a program of its own, and a run of CBMC."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lawful.explain.automata import Automaton
from lawful.explain.teacher import Bounds, Counterexample, Execution, Limits, Word
from lawful.explain.teachers.c import queries
from lawful.explain.teachers.c.base_teacher import CTeacher
from lawful.explain.teachers.c.cbmc import Cbmc
from lawful.explain.teachers.c.instrument import INPUT, Instrumented


class QueryTeacher(CTeacher):
    """One process of CBMC for each membership or conjecture query that cannot be answered without (sections 4 and 6.1).

    With the trap, words are failures or not, as in the paper: it is not asked whether any execution has them."""

    def __init__(self, program: Instrumented, limits: Limits, cbmc: Cbmc) -> None:
        super().__init__(program, limits, cbmc)
        # Failures stay failures where more is followed (section 6.1); with which unwinding each was met.
        self._failures: dict[Word, Execution] = {}
        self._unwound: dict[Word, int] = {}
        # What depends on the bounds is kept for the bounds.
        self._answers: dict[tuple[Bounds, str, Word], bool] = {}

    def close(self) -> None:
        """Each question had a process of its own, which has ended."""

    def _check(self, definitions: str) -> list[BrokenProperty]:
        """Asks CBMC which properties can be broken, each with its way."""
        left = self._seconds_left()
        said = self._run_cbmc(definitions, lambda arguments: self.cbmc.asked(arguments, left), ["--trace"])
        results = (result for part in said for result in part.get("result", ()))
        return [_broken_property(each.get("trace", ())) for each in results if each.get("status") == "FAILURE"]

    def _fails(self, word: Word) -> bool:
        return self._known_failure(word) or super()._fails(word)

    def _known_failure(self, word: Word) -> bool:
        """Whether a failure is known: more unwinding adds executions and takes none away; less has to be asked anew."""
        return word in self._failures and self._unwound[word] <= self.bounds.unwind

    def _ask_failure(self, word: Word) -> bool:
        key = (Bounds(self.bounds.unwind, 0), "fails", word)
        if key not in self._answers:
            self.counts.membership_worked += 1
            found = self._check(queries.membership(word))
            if found:
                self._remember(BrokenProperty(word, found[0].inputs))
            self._answers[key] = bool(found)
        return self._answers[key]

    def _remember(self, found: BrokenProperty) -> None:
        """Remembers a failure, whatever showed it."""
        self._failures[found.word] = Execution(found.word, True, self.program.describe(found.inputs))
        self._unwound[found.word] = min(self._unwound.get(found.word, self.bounds.unwind), self.bounds.unwind)

    def _begins(self, word: Word) -> bool:
        if len(word) > self.bounds.word_length:
            return False
        key = (self.bounds, "begins", word)
        if key not in self._answers:
            self.counts.membership_worked += 1
            self._answers[key] = bool(self._check(queries.beginning(word, self.bounds.word_length)))
        return self._answers[key]

    def _passes(self, word: Word) -> Execution | None:
        if len(word) > self.bounds.word_length:
            return None
        self.counts.membership_worked += 1
        found = self._check(queries.passing(word))
        return Execution(word, False, self.program.describe(found[0].inputs)) if found else None

    def counterexample(self, automaton: Automaton) -> Counterexample | None:
        self.counts.conjectures += 1
        known = self._known_wrong(automaton)
        if known is not None:
            return known
        length, error = self.bounds.word_length, self.alphabet.error
        missed = next((word for word in self._known_failures() if not automaton.accepts(word)), None)
        if missed is not None:
            return Counterexample(missed, True)
        self.counts.conjectures_worked += 1
        for found in self._check(queries.conjecture(automaton, length, error)):
            self._remember(found)
            return Counterexample(found.word, True)
        return self._negative_feedback(automaton)

    def _known_failures(self) -> list[Word]:
        """The failures within the bounds that are known already."""
        return [word for word in self._failures if len(word) <= self.bounds.word_length and self._known_failure(word)]

    def _negative_feedback(self, automaton: Automaton) -> Counterexample | None:
        """With the trap, a membership query follows for every accepted word that is not confirmed yet.

        CBMC may give a word that fails and is only not known yet, so each word is asked before it is feedback."""
        error = self.alphabet.error
        question = queries.trap if self.trap else queries.denied
        while found := self._check(question(automaton, self.bounds.word_length, error, self._known_failures())):
            word = found[0].word[: found[0].word.index(error) + 1] if not self.trap else found[0].word
            if not self._fails(word):
                return Counterexample(word, False)
        return self._wrongly_accepted(automaton) if self.trap else None

    def example(self, word: Word) -> Execution | None:
        error = self.alphabet.error
        if not word or word[-1] != error:
            return None if error in word else self._passes(word)
        if error in word[:-1] or len(word) > self.bounds.word_length or not self._fails(word):
            return None
        return self._failures[word]


@dataclass(frozen=True)
class BrokenProperty:
    """A way to break a property."""

    word: Word
    inputs: tuple[tuple[int, str], ...]  # the number of each input and its bits, in the order in which they were taken


def _broken_property(trace: Iterable[Mapping[str, Any]]) -> BrokenProperty:
    word: list[int] = []
    inputs: list[tuple[int, str]] = []
    waiting: str | None = None
    for step in trace:
        if step.get("stepType") != "assignment":
            continue
        lhs, value = step.get("lhs"), step.get("value", {})
        function = str(step.get("sourceLocation", {}).get("function", ""))
        if lhs == queries.EVENT and function.startswith("__lawful_"):
            word.append(int(re.sub(r"\D", "", str(value.get("data", "0")))))
        elif function.startswith(INPUT):
            if lhs == "value":
                waiting = str(value.get("binary", ""))
            elif lhs == "__lawful_taken" and waiting is not None:
                inputs.append((int(function.removeprefix(INPUT)), waiting))
                waiting = None
    return BrokenProperty(tuple(word), tuple(inputs))
