"""The loop that the table and the tree share: conjecture, ask, and split a state where a counterexample goes wrong."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Protocol

from lawful.explain.automata import Automaton, minimise
from lawful.explain.lstar.protocol import AutomatonLearner, ConjectureWatcher
from lawful.explain.lstar.query_cache import CachedQueries
from lawful.explain.teacher import Teacher, Word


class States(Protocol):
    """The states that are known so far."""

    @property
    def access(self) -> Sequence[Word]:
        """For each state the word that stands for it."""

    def automaton(self) -> Automaton: ...

    def split(self, state: int, letter: int, suffix: Word) -> None:
        """Gives the step a state of its own, which the suffix distinguishes from the one it was taken for."""


class RefiningLearner(AutomatonLearner):
    """Angluin's loop, with Rivest and Schapire's use of counterexamples."""

    @abstractmethod
    def _states(self, queries: CachedQueries) -> States:
        """The states before any counterexample."""

    def learn(self, teacher: Teacher, *, progress: ConjectureWatcher | None = None) -> Automaton:
        queries = CachedQueries(teacher, self.counts)
        states, revisions = self._states(queries), 0
        while True:
            if queries.revisions != revisions:
                states, revisions = self._states(queries), queries.revisions
            conjecture = states.automaton()
            self.best = minimise(conjecture)
            if progress is not None:
                progress(self.best, self.counts)
            found = queries.counterexample(self.best)
            if found is None:
                return self.best
            # One counterexample is used until the states agree with it.
            while queries.revisions == revisions and conjecture.accepts(found.word) is not found.accept:
                state, place = breaking_point(found.word, states.access, conjecture, queries.accepts)
                states.split(state, found.word[place], found.word[place + 1 :])
                conjecture = states.automaton()


def breaking_point(
    word: Word, access: Sequence[Word], automaton: Automaton, accepts: Callable[[Word], bool]
) -> tuple[int, int]:
    """The state before, and the place of, a step of a word that the automaton takes wrongly, found by bisection.

    `access` has for each state the word that stands for it. Just after the step, what is left of the word tells the
    state's own continuation by that letter from the state that the automaton goes to."""
    states = [automaton.initial]
    for letter in word:
        states.append(automaton.transitions[states[-1]][letter])

    def accepts_from(place: int) -> bool:
        return accepts(access[states[place]] + word[place:])

    low, high = 0, len(word)
    first = accepts_from(0)
    while high - low > 1:
        middle = (low + high) // 2
        if accepts_from(middle) == first:
            low = middle
        else:
            high = middle
    return states[low], low
