"""Teachers that know the whole language, and one that is never sure."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any

from explain.automata_oracle import random_automaton
from lawful.explain.automata import Automaton, equivalent
from lawful.explain.teacher import (
    Alphabet,
    Bounds,
    Counterexample,
    Execution,
    ExecutionSource,
    LabelledEvent,
    Limits,
    MembershipAnswer,
    QueryCounts,
    Teacher,
    TeacherReport,
    Word,
)


def alphabet(letters: int) -> Alphabet:
    return Alphabet((*(LabelledEvent("abcdefgh"[letter]) for letter in range(letters)), LabelledEvent("error")))


def failing_after(core: Automaton) -> Automaton:
    """The words of an automaton, each with the error letter after it."""
    labels, end, sink = (*core.labels, "error"), len(core), len(core) + 1
    rows = [(*row, end if state in core.accepting else sink) for state, row in enumerate(core.transitions)]
    return Automaton(labels, core.initial, (*rows, (sink,) * len(labels), (sink,) * len(labels)), frozenset({end}))


def random_target(dice: random.Random, states: int, letters: int) -> Automaton:
    return failing_after(random_automaton(dice, states, "abcdefgh"[:letters], 0.3))


class Knowing(Teacher):
    """A teacher of a regular language, without bounds."""

    def __init__(self, target: Automaton) -> None:
        self.target = target
        self.alphabet = Alphabet(tuple(LabelledEvent(label) for label in target.labels))
        self.counts = QueryCounts()
        self.report = TeacherReport()
        self.asked: list[Word] = []

    def shortest(self) -> int:
        return 1

    def bound(self, bounds: Bounds) -> None:
        """It answers for words of any length."""

    def member(self, word: Word) -> MembershipAnswer:
        self.asked.append(word)
        return MembershipAnswer.YES if self.target.accepts(word) else MembershipAnswer.NEVER

    def counterexample(self, automaton: Automaton) -> Counterexample | None:
        self.counts.conjectures += 1
        given = Automaton(self.target.labels, automaton.initial, automaton.transitions, automaton.accepting)
        wrong = equivalent(self.target, given)
        return None if wrong is None else Counterexample(wrong, self.target.accepts(wrong))

    def example(self, word: Word) -> Execution | None:
        return None


class Listed(ExecutionSource):
    """A source of executions that were written down."""

    def __init__(self, letters: int, executions: Iterable[Execution]) -> None:
        self.alphabet = alphabet(letters)
        self.counts = QueryCounts()
        self.report = TeacherReport()
        self.runs: list[Bounds] = []
        self._executions = list(executions)

    def shortest(self) -> int:
        return min((len(each.word) for each in self._executions if each.failed), default=1)

    def executions(self, bounds: Bounds, limits: Limits) -> Iterator[Execution]:
        self.runs.append(bounds)
        for execution in self._executions:
            self.counts.executions += 1
            yield execution


def random_executions(dice: random.Random, letters: int, most: int = 25, longest: int = 6) -> list[Execution]:
    """Executions of which none has the same word and outcome as another; a word may both fail and pass."""
    found: dict[Any, Execution] = {}
    for _ in range(dice.randint(0, most)):
        word = tuple(dice.randrange(letters) for _ in range(dice.randint(0, longest)))
        failed = dice.random() < 0.5
        done = (*word, letters) if failed else word
        found[done] = Execution(done, failed, example=f"input {len(found)}")
    return list(found.values())
