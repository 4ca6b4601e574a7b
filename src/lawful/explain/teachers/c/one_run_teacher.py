"""The fast teacher: CBMC runs once for each unwinding and leaves a formula, which is solved for every question."""

from __future__ import annotations

from pathlib import Path

from lawful.explain.automata import Automaton, equivalent, included
from lawful.explain.teacher import Bounds, Counterexample, Execution, Limits, Word
from lawful.explain.teachers.c import queries
from lawful.explain.teachers.c.base_teacher import CTeacher
from lawful.explain.teachers.c.cbmc import Cbmc, failed
from lawful.explain.teachers.c.formula import Formula, SolverTimeout, differs
from lawful.explain.teachers.c.instrument import Instrumented

_ROUND = 8  # words get room in steps, so that a bound that grows by one does not cost another run of CBMC


class _Unwound:
    """The formula and the known failures of one unwinding."""

    def __init__(self, formula: Formula | None, room: int) -> None:
        self.formula = formula
        self.room = room
        self.failing: set[Word] = set()
        self.all_up_to = 0  # all failures up to this length are known
        self.too_many = False


class OneRunTeacher(CTeacher):
    """Enumerates the failures once and answers from that. Where there are too many, the solver is asked each time."""

    lists_failures = True

    def __init__(self, program: Instrumented, limits: Limits, cbmc: Cbmc) -> None:
        super().__init__(program, limits, cbmc)
        self._unwindings: dict[int, _Unwound] = {}
        self._automata: dict[Bounds, Automaton] = {}
        self._begun: dict[tuple[Bounds, Word], bool] = {}

    def close(self) -> None:
        for known in self._unwindings.values():
            if known.formula is not None:
                known.formula.close()
        self._unwindings.clear()

    def _unwinding(self) -> _Unwound:
        """The formula of the present unwinding, with room for words as long as the present bound."""
        unwind, length = self.bounds.unwind, self.bounds.word_length
        known = self._unwindings.get(unwind)
        if known is None or known.room < length:
            room = -(-length // _ROUND) * _ROUND
            if known is not None and known.formula is not None:
                known.formula.close()
            known = self._unwindings[unwind] = _Unwound(self._export(room), room)
        return known

    def _export(self, room: int) -> Formula | None:
        """Has CBMC write the formula. CBMC writes none, or one without a word's length, if no execution ends."""

        def ask(arguments: list[str]) -> Formula | None:
            cnf = Path(arguments[0]).with_suffix(".cnf")
            ran = self.cbmc.run([*arguments, "--dimacs", "--outfile", str(cnf)], self._seconds_left())
            if ran.returncode not in (0, 10):
                raise failed(ran)
            formula = Formula(cnf, self.alphabet.error) if cnf.exists() else None
            if formula is not None and not formula.length:
                formula.close()
                return None
            return formula

        definitions = queries.open_word(room, self.alphabet.error)
        formula: Formula | None = self._run_cbmc(definitions, ask, ["--slice-formula"])
        self.counts.executions += 1
        return formula

    def _solve(self, formula: Formula, assumptions: list[int]) -> bool:
        self.counts.solver_calls += 1
        try:
            return formula.solve(assumptions, self._seconds_left())
        except SolverTimeout:
            self._out_of_time()
            raise

    def _enumerated(self) -> _Unwound:
        """The same, after all failures within the bounds were enumerated, unless there are too many."""
        known, length = self._unwinding(), self.bounds.word_length
        if known.all_up_to >= length or known.too_many:
            return known
        most = self.limits.words
        if known.formula is not None:
            try:
                for word in known.formula.failures(length, self._seconds_left()):
                    self.counts.solver_calls += 1
                    known.failing.add(word)
                    if most is not None and len(known.failing) >= most:
                        known.too_many = True
                        self.report.warnings.append(
                            f"more than {most:,} words fail with unwinding {self.bounds.unwind}: "
                            "the solver is asked in place of enumerating them"
                        )
                        return known
                    self._seconds_left()
            except SolverTimeout:
                self._out_of_time()
        known.all_up_to = length
        return known

    def _ask_failure(self, word: Word) -> bool:
        known = self._enumerated()
        if not known.too_many or word in known.failing:
            return word in known.failing
        assumptions = None if known.formula is None else known.formula.exactly(word)
        if known.formula is None or assumptions is None:
            return False
        self.counts.membership_worked += 1
        if self._solve(known.formula, assumptions):
            known.failing.add(word)
        return word in known.failing

    def _begins(self, word: Word) -> bool:
        key = (self.bounds, word)
        if key not in self._begun:
            formula = self._unwinding().formula
            spelling = formula.spelling(word) if formula is not None else None
            answer = False
            if formula is not None and spelling is not None and len(word) <= self.bounds.word_length:
                self.counts.membership_worked += 1
                long_enough = self._longer(formula, len(word))
                answer = self._solve(formula, [formula.at_most(self.bounds.word_length), long_enough, *spelling])
            self._begun[key] = answer
        return self._begun[key]

    def _longer(self, formula: Formula, length: int) -> int:
        """A literal under which an execution has so many events at least, the error not counted."""
        literal = formula.new()
        for shorter in range(length):
            formula.add([-literal, *differs(formula.length, shorter)])
        formula.add([-literal, -formula.fails, *differs(formula.length, length)])
        return literal

    def _passes(self, word: Word) -> Execution | None:
        return self._execution(word) if len(word) <= self.bounds.word_length else None

    def counterexample(self, automaton: Automaton) -> Counterexample | None:
        self.counts.conjectures += 1
        known = self._enumerated()
        if known.too_many:
            return self._counterexample_by_solver(known, automaton)
        self.counts.conjectures_worked += 1
        failing = self.failing
        if self.trap:
            wrong = equivalent(automaton, failing, self.bounds.word_length)
            return None if wrong is None else Counterexample(wrong, wrong in known.failing)
        missed = included(failing, automaton)
        return Counterexample(missed, True) if missed is not None else self._denied_counterexample(known, automaton)

    @property
    def failing(self) -> Automaton:
        if self.bounds not in self._automata:
            known, length = self._enumerated(), self.bounds.word_length
            within = sorted(word for word in known.failing if len(word) <= length)
            self._automata[self.bounds] = Automaton.from_words(within, self.alphabet.labels)
        return self._automata[self.bounds]

    def _counterexample_by_solver(self, known: _Unwound, automaton: Automaton) -> Counterexample | None:
        """Without all failures at hand: the automaton runs along the word inside of the formula."""
        wrong = self._known_wrong(automaton)
        if wrong is not None:
            return wrong
        missed = self._missed_failure(known, automaton)
        if missed is not None:
            return Counterexample(missed, True)
        if not self.trap:
            return self._denied_counterexample(known, automaton)
        return self._wrongly_accepted(automaton)

    def _missed_failure(self, known: _Unwound, automaton: Automaton) -> Word | None:
        """A failure that the automaton does not accept."""
        formula = known.formula
        if formula is None:
            return None
        self.counts.conjectures_worked += 1
        error, length = self.alphabet.error, self.bounds.word_length
        active, states = formula.running(automaton, length)
        for place, row in enumerate(states):
            for state, literal in enumerate(row):
                if automaton.transitions[state][error] in automaton.accepting:
                    formula.add([-active, -literal, *differs(formula.length, place + 1)])
        if not self._solve(formula, [active, formula.fails, formula.at_most(length)]):
            formula.add([-active])
            return None
        word = formula.found()
        formula.add([-active])
        known.failing.add(word)
        return word

    def _denied_counterexample(self, known: _Unwound, automaton: Automaton) -> Counterexample | None:
        """An accepted word that an execution begins with and does not fail after."""
        formula = known.formula
        if formula is None:
            return None
        error, length = self.alphabet.error, self.bounds.word_length
        active, states = formula.running(automaton, length - 1)
        places = [formula.new() for _ in states]
        formula.add([-active, *places])
        for place, (chosen, row) in enumerate(zip(places, states, strict=True)):
            for state, literal in enumerate(row):
                if automaton.transitions[state][error] not in automaton.accepting:
                    formula.add([-active, -chosen, -literal])
            formula.add([-chosen, self._longer(formula, place)])
        for word in known.failing:
            if len(word) <= len(places):
                formula.add([-places[len(word) - 1], *formula.apart(word[:-1])])
        try:
            while self._solve(formula, [active, formula.at_most(length)]):
                place = next(place for place, chosen in enumerate(places) if formula.holds(chosen))
                word = (*(formula.number(formula.letters[at]) for at in range(place)), error)
                if not self._fails(word):
                    return Counterexample(word, False)
                formula.add([-places[len(word) - 1], *formula.apart(word[:-1])])
            return None
        finally:
            formula.add([-active])

    def example(self, word: Word) -> Execution | None:
        error = self.alphabet.error
        if len(word) > self.bounds.word_length or error in word[:-1]:
            return None
        if word[-1:] == (error,) and not self._fails(word):
            return None
        return self._execution(word)

    def _execution(self, word: Word) -> Execution | None:
        """An execution with this word, its inputs read from the solver's model."""
        formula = self._unwinding().formula
        assumptions = None if formula is None else formula.exactly(word)
        if formula is None or assumptions is None or not self._solve(formula, assumptions):
            return None
        inputs = self.program.describe(formula.inputs(assumptions))
        return Execution(word, word[-1:] == (self.alphabet.error,), inputs)

    def passing_states(self, automaton: Automaton) -> frozenset[int]:
        """Looks for executions that do not fail, each through a state that none came through before."""
        formula = self._unwinding().formula
        if formula is None:
            return frozenset()
        active, states = formula.running(automaton, self.bounds.word_length)
        places = [formula.new() for _ in states]
        formula.add([-active, *places])
        for place, chosen in enumerate(places):
            formula.add([-chosen, self._longer(formula, place)])
        seen: set[int] = set()
        assumptions = [active, -formula.fails, formula.at_most(self.bounds.word_length)]
        while self._solve(formula, assumptions):
            state = automaton.initial
            seen.add(state)
            for letter in formula.found():
                state = automaton.transitions[state][letter]
                seen.add(state)
            # The state at the chosen place is true: it must be none of those.
            for chosen, row in zip(places, states, strict=True):
                for state in seen:
                    formula.add([-active, -chosen, -row[state]])
        formula.add([-active])
        return frozenset(seen)
