"""What every learner offers: it asks a teacher until it has an automaton, and keeps the best one so far."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from lawful.explain.automata import Automaton
from lawful.explain.teacher import QueryCounts, Teacher


class LearningInterrupted(Exception):
    """Raised by a progress function, or a teacher, to end learning early; the learner's `best` is what there is."""


ConjectureWatcher = Callable[[Automaton, QueryCounts], None]
"""Called with each conjecture before the teacher checks it, and with the counts of queries by then."""


class AutomatonLearner(ABC):
    """Learns the language of failing words from a teacher whose bounds are set.

    Whatever ends learning early (Ctrl-C, `LearningInterrupted`, an error of the teacher) goes to the caller, who finds
    the last conjecture in `best`: None if there was none yet. `counts` has what the algorithm asked, each word once,
    and as `..._worked` the part of it that came to the teacher."""

    def __init__(self) -> None:
        self.best: Automaton | None = None
        self.counts = QueryCounts()

    @abstractmethod
    def learn(self, teacher: Teacher, *, progress: ConjectureWatcher | None = None) -> Automaton:
        """The automaton in which the teacher finds no fault: the smallest one of its language."""
