"""What every learner offers, and how it asks: through a cache that knows the rules of the error letter and counts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from lawful.explain.automata import Automaton, included
from lawful.explain.teacher import Alphabet, Counterexample, MembershipAnswer, QueryCounts, Teacher, Word


class LearningInterrupted(Exception):
    """A progress function or a teacher raises it to end learning early; the learner's `best` is the result."""


ConjectureWatcher = Callable[[Automaton, QueryCounts], None]
"""Called with each conjecture before the teacher checks it, and with the counts of queries by then."""


class AutomatonLearner(ABC):
    """Learns the language of failing words from a teacher whose bounds are set.

    Whatever ends learning early (Ctrl-C, `LearningInterrupted`, an error of the teacher) goes to the caller, who finds
    the last conjecture in `best`. `counts` has the words that the algorithm asked about, each once, and as
    `..._worked` those that came to the teacher."""

    def __init__(self) -> None:
        self.best: Automaton | None = None
        self.counts = QueryCounts()

    @abstractmethod
    def learn(self, teacher: Teacher, *, progress: ConjectureWatcher | None = None) -> Automaton:
        """The smallest automaton to which the teacher has no counterexample."""


class CachedQueries:
    """Asks a teacher what cannot be answered without it.

    A failing word ends with the error letter and has no other one, because the program ends there. What breaks
    this rule is answered no, and an automaton that accepts such a word is wrong, whoever the teacher is."""

    def __init__(self, teacher: Teacher, counts: QueryCounts) -> None:
        self.teacher = teacher
        self.counts = counts
        self.labels = teacher.alphabet.labels
        self._error = teacher.alphabet.error
        self._well_formed = well_formed(teacher.alphabet)
        self._answers: dict[Word, MembershipAnswer] = {}
        self._counterexamples: dict[Word, bool] = {}
        # How often a counterexample contradicted an earlier answer. States built from that answer are void.
        self.revisions = 0

    def answer(self, word: Word) -> MembershipAnswer:
        """What the teacher says of a word; what it said in a counterexample goes first."""
        known = self._answers.get(word)
        if known is None:
            self.counts.membership += 1
            if word and word[-1] == self._error and word.count(self._error) == 1:
                self.counts.membership_worked += 1
                known = self.teacher.member(word)
            else:
                known = MembershipAnswer.NO
            self._answers[word] = known
        return known

    def accepts(self, word: Word) -> bool:
        """Whether a word fails, for learners that know only yes and no."""
        return self.answer(word) is MembershipAnswer.YES

    def counterexample(self, automaton: Automaton) -> Counterexample | None:
        """A word that the automaton takes wrongly."""
        self.counts.conjectures += 1
        malformed = included(automaton, self._well_formed)
        if malformed is not None:
            return Counterexample(malformed, False)
        self.counts.conjectures_worked += 1
        found = self.teacher.counterexample(automaton)
        if found is None:
            return None
        self._check(found, automaton)
        self._counterexamples[found.word] = found.accept
        # A teacher that only samples can find an execution for a conjecture that it did not find for the word alone.
        if self.accepts(found.word) is not found.accept:
            self.revisions += 1
        self._answers[found.word] = MembershipAnswer.YES if found.accept else MembershipAnswer.NO
        return found

    def _check(self, found: Counterexample, automaton: Automaton) -> None:
        if automaton.accepts(found.word) is found.accept:
            raise ValueError(f"the automaton takes the teacher's counterexample rightly: {found!r}")
        if found.accept and not self._well_formed.accepts(found.word):
            raise ValueError(f"the teacher wants a word accepted that does not end in its only error letter: {found!r}")
        if self._counterexamples.get(found.word, found.accept) is not found.accept:
            raise ValueError(f"the teacher's counterexamples contradict each other: {found!r}")


def well_formed(alphabet: Alphabet) -> Automaton:
    """All words that end with the error letter and have no other one."""
    start, sink = tuple(int(letter == alphabet.error) for letter in range(len(alphabet))), (2,) * len(alphabet)
    return Automaton(alphabet.labels, 0, (start, sink, sink), frozenset({1}))
