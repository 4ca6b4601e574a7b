"""Angluin's observation table, with Rivest and Schapire's use of counterexamples."""

from __future__ import annotations

from lawful.explain.automata import Automaton, minimise
from lawful.explain.lstar.breakpoint import breaking_suffix
from lawful.explain.lstar.protocol import ConjectureWatcher
from lawful.explain.lstar.query_cache import CachedQueries
from lawful.explain.teacher import Counts, Teacher, Word


class TableLearner:
    """L*: prefixes are states, suffixes tell them apart, and the answers for both are a table.

    Only suffixes come from counterexamples, so no two prefixes ever have the same row: the table is always
    consistent, and needs only to be closed."""

    def __init__(self) -> None:
        self.best: Automaton | None = None
        self.counts = Counts()

    def learn(self, teacher: Teacher, *, progress: ConjectureWatcher | None = None) -> Automaton:
        questions = CachedQueries(teacher, self.counts)
        table, revisions = _Table(questions), 0
        while True:
            if questions.revisions != revisions:
                table, revisions = _Table(questions), questions.revisions
            table.close()
            conjecture = table.automaton()
            self.best = minimise(conjecture)
            if progress is not None:
                progress(self.best, self.counts)
            found = questions.counterexample(self.best)
            if found is None:
                return self.best
            # One counterexample is used until the table agrees with it.
            while questions.revisions == revisions and conjecture.accepts(found.word) is not found.accept:
                table.add(breaking_suffix(found.word, table.prefixes, conjecture, questions.accepts))
                table.close()
                conjecture = table.automaton()


class _Table:
    """Rows are numbers: the answers for the suffixes are their bits, the first suffix the highest."""

    def __init__(self, questions: CachedQueries) -> None:
        self._questions = questions
        self._letters = range(len(questions.labels))
        self._suffixes: list[Word] = [()]
        self.prefixes: list[Word] = [()]
        self._states = {self._row(()): 0}
        self._ahead: dict[Word, int] = {(letter,): self._row((letter,)) for letter in self._letters}

    def _row(self, prefix: Word) -> int:
        row, accepts = 0, self._questions.accepts
        for suffix in self._suffixes:
            row = row << 1 | accepts(prefix + suffix)
        return row

    def add(self, suffix: Word) -> None:
        """One more column."""
        accepts = self._questions.accepts
        self._suffixes.append(suffix)
        self._states = {row << 1 | accepts(self.prefixes[state] + suffix): state for row, state in self._states.items()}
        for prefix, row in self._ahead.items():
            self._ahead[prefix] = row << 1 | accepts(prefix + suffix)

    def close(self) -> None:
        """Makes a state of every prefix whose row no state has."""
        pending = list(self._ahead)
        for prefix in pending:
            row = self._ahead[prefix]
            if row in self._states:
                continue
            self._states[row] = len(self.prefixes)
            self.prefixes.append(prefix)
            for letter in self._letters:
                longer = (*prefix, letter)
                if longer not in self._ahead:
                    self._ahead[longer] = self._row(longer)
                    pending.append(longer)

    def automaton(self) -> Automaton:
        rows = tuple(
            tuple(self._states[self._ahead[(*prefix, letter)]] for letter in self._letters) for prefix in self.prefixes
        )
        accepting = frozenset(state for state, prefix in enumerate(self.prefixes) if self._questions.accepts(prefix))
        return Automaton(self._questions.labels, 0, rows, accepting)
