"""Programs so small that all of their executions can be listed, and random automata."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from itertools import product

from lawful.explain.automata import Automaton
from lawful.explain.teacher import (
    Alphabet,
    Bounds,
    Execution,
    ExecutionSource,
    LabelledEvent,
    Limits,
    QueryCounts,
    TeacherReport,
    Word,
)

ToyRuns = Callable[[int], Iterable[tuple[Word, bool]]]
"""The words of a program's executions up to an unwinding, without the error letter, and whether they fail."""


class Toy(ExecutionSource):
    """A source whose executions are listed by a function."""

    def __init__(self, letters: str, program: ToyRuns, shortest: int = 1) -> None:
        self.alphabet = Alphabet(
            (
                *(LabelledEvent(letter, "toy.c", 10 + at) for at, letter in enumerate(letters)),
                LabelledEvent("error", "toy.c", 99),
            )
        )
        self._program = program
        self._shortest = shortest
        self.counts = QueryCounts()
        self.report = TeacherReport()

    def shortest(self) -> int:
        return self._shortest

    def executions(self, bounds: Bounds, limits: Limits) -> Iterator[Execution]:
        for events, failed in self._program(bounds.unwind):
            self.counts.executions += 1
            word = (*events, self.alphabet.error) if failed else events
            if len(word) <= bounds.word_length:
                yield Execution(word, failed, example=f"f({''.join(map(str, events))})")

    def failing(self, bounds: Bounds) -> set[Word]:
        """The failing words within bounds, by listing them."""
        return {each.word for each in self.executions(bounds, Limits()) if each.failed}


def random_automaton(random: random.Random, letters: int, states: int) -> Automaton:
    """A complete automaton with some accepting states, perhaps none."""
    return Automaton(
        tuple(chr(ord("a") + letter) for letter in range(letters)),
        random.randrange(states),
        tuple(tuple(random.randrange(states) for _ in range(letters)) for _ in range(states)),
        frozenset(state for state in range(states) if random.random() < 0.25),
    )


def all_words(letters: int, length: int) -> Iterator[Word]:
    """Every word up to a length."""
    for size in range(length + 1):
        yield from product(range(letters), repeat=size)
