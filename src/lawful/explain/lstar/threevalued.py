"""Learning with don't-cares: words that no execution has are taken as makes the automaton smallest."""

from __future__ import annotations

from lawful.explain.automata import Automaton
from lawful.explain.lstar.learner import AutomatonLearner, CachedQueries, ConjectureWatcher
from lawful.explain.lstar.sample import Fitting, OutOfConflicts, Partial, Sample, different, merged, solver
from lawful.explain.teacher import MembershipAnswer, Teacher

_LARGEST = 2_000_000  # nodes times pairs of states that the solver still gets: some hundred bytes each


class ThreeValuedLearner(AutomatonLearner):
    """Asks a teacher, as Leucker and Neider's learner does, for the smallest automaton that has no fault.

    First a small one is found by merging states. Then, with python-sat, smaller ones are looked for, until there is
    none or the solver spent its `conflicts`. States that lead nowhere do not count. `smallest` says whether the
    result is known to be the smallest. A teacher with a trap denies free words as they are met: then the automaton
    grows again. Once there is an automaton without fault, `best` is never another."""

    def __init__(self, *, conflicts: int = 50_000) -> None:
        super().__init__()
        self.smallest = False
        self._conflicts = conflicts
        self._solver = solver()

    def learn(self, teacher: Teacher, *, progress: ConjectureWatcher | None = None) -> Automaton:
        dialogue = _Dialogue(CachedQueries(teacher, self.counts), progress)
        self.smallest = False
        while True:
            try:
                small = self._merge(dialogue)
                return self._shrink(dialogue, small)
            except _TakenBack:
                continue

    def _merge(self, dialogue: _Dialogue) -> int:
        """The number of states of an automaton without fault, which is the best now."""
        while True:
            partial = merged(dialogue.sample)
            self.best = dialogue.automaton(partial)
            if dialogue.is_right(self.best):
                return len(partial.steps)

    def _shrink(self, dialogue: _Dialogue, states: int) -> Automaton:
        """The best automaton, or one with fewer states: one less at a time, so that each is a gain."""
        assert self.best is not None
        left = self._conflicts
        while states > len(different(dialogue.sample)):
            states -= 1
            if self._solver is None or len(dialogue.sample) * states * states > _LARGEST:
                return self.best
            try:
                smaller, left = self._fitted(dialogue, Fitting(dialogue.sample, states, self._solver), left)
            except OutOfConflicts:
                return self.best
            if smaller is None:
                break
            self.best = smaller
        self.smallest = True
        return self.best

    def _fitted(self, dialogue: _Dialogue, fitting: Fitting, conflicts: int) -> tuple[Automaton | None, int]:
        """An automaton without fault that has so many states, if there is one, and how many conflicts are left."""
        try:
            while True:
                self.counts.solver_calls += 1
                partial, spent = fitting.solve(conflicts)
                conflicts = max(1, conflicts - spent)
                if partial is None:
                    return None, conflicts
                automaton = dialogue.automaton(partial)
                if dialogue.is_right(automaton):
                    return automaton, conflicts
        finally:
            fitting.close()


class _TakenBack(Exception):
    """The teacher said other than before of a word."""


class _Dialogue:
    """What the teacher was asked and said, as a sample."""

    def __init__(self, questions: CachedQueries, progress: ConjectureWatcher | None) -> None:
        self.sample = Sample()
        self._questions = questions
        self._progress = progress
        self._error = questions.teacher.alphabet.error

    def automaton(self, partial: Partial) -> Automaton:
        return partial.pruned(self.sample).automaton(self._questions.labels, self._error)

    def is_right(self, automaton: Automaton) -> bool:
        """Asks the teacher; what it says is in the sample then, and what it knows of the prefixes of that word."""
        if self._progress is not None:
            self._progress(automaton, self._questions.counts)
        found = self._questions.counterexample(automaton)
        if found is None:
            return True
        word, changed = found.word[:-1], False
        for length in range(len(word) + 1):
            answer = self._questions.answer((*word[:length], self._error))
            if answer is not MembershipAnswer.NEVER:
                changed |= self.sample.add(word[:length], answer is MembershipAnswer.YES)
        if changed:
            raise _TakenBack
        return False
