"""Angluin's observation table."""

from __future__ import annotations

from lawful.explain.automata import Automaton
from lawful.explain.lstar.query_cache import CachedQueries
from lawful.explain.lstar.refinement import RefiningLearner
from lawful.explain.teacher import Word


class TableLearner(RefiningLearner):
    """L*: prefixes are states, suffixes distinguish them, and the answers for both are a table.

    Only suffixes come from counterexamples, so no two prefixes ever have the same row: the table is always
    consistent, and needs only to be closed."""

    def _states(self, queries: CachedQueries) -> _Table:
        return _Table(queries)


class _Table:
    """Rows are numbers: the answers for the suffixes are their bits, the first suffix the highest."""

    def __init__(self, questions: CachedQueries) -> None:
        self._questions = questions
        self._letters = range(len(questions.labels))
        self._suffixes: list[Word] = [()]
        self.access: list[Word] = [()]
        self._states = {self._row(()): 0}
        self._ahead: dict[Word, int] = {(letter,): self._row((letter,)) for letter in self._letters}
        self._close()

    def _row(self, prefix: Word) -> int:
        row, accepts = 0, self._questions.accepts
        for suffix in self._suffixes:
            row = row << 1 | accepts(prefix + suffix)
        return row

    def split(self, state: int, letter: int, suffix: Word) -> None:
        """Adds a column."""
        accepts = self._questions.accepts
        self._suffixes.append(suffix)
        self._states = {row << 1 | accepts(self.access[state] + suffix): state for row, state in self._states.items()}
        for prefix, row in self._ahead.items():
            self._ahead[prefix] = row << 1 | accepts(prefix + suffix)
        self._close()

    def _close(self) -> None:
        """Makes a state of every prefix whose row no state has."""
        pending = list(self._ahead)
        for prefix in pending:
            row = self._ahead[prefix]
            if row in self._states:
                continue
            self._states[row] = len(self.access)
            self.access.append(prefix)
            for letter in self._letters:
                longer = (*prefix, letter)
                if longer not in self._ahead:
                    self._ahead[longer] = self._row(longer)
                    pending.append(longer)

    def automaton(self) -> Automaton:
        rows = tuple(
            tuple(self._states[self._ahead[(*prefix, letter)]] for letter in self._letters) for prefix in self.access
        )
        accepting = frozenset(state for state, prefix in enumerate(self.access) if self._questions.accepts(prefix))
        return Automaton(self._questions.labels, 0, rows, accepting)
