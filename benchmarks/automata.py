"""The speed of automata: difference and minimisation beside automata-lib, and learners beside AALpy's.

Every measurement is a process of its own and counts its CPU seconds; repetitions of all of them are interleaved, and
the least is taken. So compare the numbers of one run with each other, not with those of another run or machine.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from lawful.explain.automata import Automaton, difference, equivalent, minimise
from lawful.explain.lstar import TableLearner, TreeLearner
from lawful.explain.teacher import (
    Alphabet,
    Bounds,
    Counterexample,
    Execution,
    LabelledEvent,
    MembershipAnswer,
    QueryCounts,
    TeacherReport,
)

Result = dict[str, float]


def drawn(dice: random.Random, states: int, letters: int) -> Automaton:
    rows = tuple(tuple(dice.randrange(states) for _ in range(letters)) for _ in range(states))
    accepting = frozenset(state for state in range(states) if dice.random() < 0.5)
    return Automaton(tuple(f"e{letter}" for letter in range(letters)), 0, rows, accepting)


def target(states: int, letters: int) -> Automaton:
    """Words of a random automaton, each with an error letter after it: a language of failures."""
    core = drawn(random.Random(2), states, letters - 1)
    end, sink = states, states + 1
    rows = [(*row, end if state in core.accepting else sink) for state, row in enumerate(core.transitions)]
    rows += [(sink,) * letters] * 2
    return minimise(Automaton((*core.labels, "error"), 0, tuple(rows), frozenset({end})))


def lawful_difference(states: int, letters: int) -> Result:
    dice = random.Random(1)
    left, right = drawn(dice, states, letters), drawn(dice, states, letters)
    started = time.process_time()
    made = difference(left, right)
    return {"seconds": time.process_time() - started, "states": len(made)}


def automata_lib_difference(states: int, letters: int) -> Result:
    from automata.fa.dfa import DFA

    def converted(automaton: Automaton) -> DFA:
        rows = {state: dict(zip(automaton.labels, row, strict=True)) for state, row in enumerate(automaton.transitions)}
        return DFA(
            states=set(rows),
            input_symbols=set(automaton.labels),
            transitions=rows,
            initial_state=automaton.initial,
            final_states=set(automaton.accepting),
        )

    dice = random.Random(1)
    left, right = converted(drawn(dice, states, letters)), converted(drawn(dice, states, letters))
    started = time.process_time()
    made = left.difference(right, minify=True)
    return {"seconds": time.process_time() - started, "states": len(made.states)}


class Knowing:
    """A teacher of a regular language. The time in which it looks for counterexamples is no learner's."""

    def __init__(self, language: Automaton) -> None:
        self.language = language
        self.alphabet = Alphabet(tuple(LabelledEvent(label) for label in language.labels))
        self.counts, self.report = QueryCounts(), TeacherReport()
        self.searching = 0.0

    def shortest(self) -> int:
        return 1

    def bound(self, bounds: Bounds) -> None:
        """There are none."""

    def member(self, word: tuple[int, ...]) -> MembershipAnswer:
        return MembershipAnswer.YES if self.language.accepts(word) else MembershipAnswer.NO

    def counterexample(self, automaton: Automaton) -> Counterexample | None:
        started = time.process_time()
        given = Automaton(self.language.labels, automaton.initial, automaton.transitions, automaton.accepting)
        wrong = equivalent(self.language, given)
        self.searching += time.process_time() - started
        return None if wrong is None else Counterexample(wrong, self.language.accepts(wrong))

    def example(self, word: tuple[int, ...]) -> Execution | None:
        return None


def lawful_learner(kind: type[TableLearner] | type[TreeLearner], states: int, letters: int) -> Result:
    teacher, learner = Knowing(target(states, letters)), kind()
    started = time.process_time()
    found = learner.learn(teacher)
    seconds = time.process_time() - started - teacher.searching
    assert found == teacher.language
    return {
        "seconds": seconds,
        "states": len(found),
        "words asked": learner.counts.membership,
        "of the teacher": learner.counts.membership_worked,
        "conjectures": learner.counts.conjectures_worked,
    }


def aalpy_learner(name: str, states: int, letters: int) -> Result:
    from aalpy import learning_algs
    from aalpy.base import SUL, Oracle

    class Stepping(SUL):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.state = 0

        def pre(self) -> None:
            self.state = language.initial

        def post(self) -> None:
            """Nothing to put away."""

        def step(self, letter: int | None) -> bool:
            if letter is not None:
                self.state = language.transitions[self.state][letter]
            return self.state in language.accepting

    class Comparing(Oracle):  # type: ignore[misc]
        searching = 0.0
        conjectures = 0

        def find_cex(self, hypothesis: Any) -> tuple[int, ...] | None:
            started = time.process_time()
            wrong = equivalent(language, converted(hypothesis))
            self.searching += time.process_time() - started
            self.conjectures += 1
            return wrong

    def converted(dfa: Any) -> Automaton:
        numbers = {state.state_id: number for number, state in enumerate(dfa.states)}
        rows = tuple(
            tuple(numbers[state.transitions[letter].state_id] for letter in range(letters)) for state in dfa.states
        )
        accepting = frozenset(number for number, state in enumerate(dfa.states) if state.is_accepting)
        return Automaton(language.labels, numbers[dfa.initial_state.state_id], rows, accepting)

    language = target(states, letters)
    system = Stepping()
    oracle = Comparing(list(range(letters)), system)
    started = time.process_time()
    found = getattr(learning_algs, name)(list(range(letters)), system, oracle, "dfa", print_level=0)
    seconds = time.process_time() - started - oracle.searching
    assert minimise(converted(found)) == language
    return {
        "seconds": seconds,
        "states": len(found.states),
        "words asked": system.num_queries,
        "of the teacher": system.num_queries,
        "conjectures": oracle.conjectures,
    }


DIFFERENCE: dict[str, Callable[[int, int], Result]] = {
    "lawful": lawful_difference,
    "automata-lib": automata_lib_difference,
}
LEARNING: dict[str, Callable[[int, int], Result]] = {
    "lawful, table": lambda states, letters: lawful_learner(TableLearner, states, letters),
    "lawful, tree": lambda states, letters: lawful_learner(TreeLearner, states, letters),
    "AALpy, L*": lambda states, letters: aalpy_learner("run_Lstar", states, letters),
    "AALpy, KV": lambda states, letters: aalpy_learner("run_KV", states, letters),
}


def measure(name: str, core: str, states: int, letters: int, timeout: float) -> Result | None:
    """None if it did not end in time."""
    # -P: automata-lib's package has the name of this file, whose folder must not come first.
    command = [sys.executable, "-P", __file__, "--one", name, "--states", str(states), "--letters", str(letters)]
    environment = os.environ | {"LAWFUL_CORE": core}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return None
    result: Result = json.loads(done.stdout)
    return result


def cores(name: str, native: bool) -> list[str]:
    """A peer is measured once, with whatever core there is for the work around it."""
    best = "native" if native else "python"
    return [best, "python"] if name.startswith("lawful") and native else [best]


def table(title: str, rows: list[tuple[str, str]], states: int, letters: int, given: argparse.Namespace) -> None:
    best: dict[tuple[str, str], Result | None] = {}
    for turn in range(given.repeat):
        for row in rows:
            # What did not end once is not waited for again.
            if turn and best[row] is None:
                continue
            found = measure(*row, states, letters, given.timeout)
            known = best.get(row)
            if known is None or (found is not None and found["seconds"] < known["seconds"]):
                best[row] = found
    columns = list(next((found for found in best.values() if found is not None), {"seconds": 0.0}))
    print(f"\n{title}\n\n| | core | {' | '.join(columns)} |\n|---|---|{'---|' * len(columns)}")
    for (name, core), found in best.items():
        if found is None:
            cells = [f"more than {given.timeout:g}", *("" for _ in columns[1:])]
        else:
            cells = [f"{found['seconds']:.2f}", *(f"{found[column]:,}" for column in columns[1:])]
        print(f"| {name} | {core if name.startswith('lawful') else ''} | {' | '.join(cells)} |")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--states", type=int, help="of each automaton (default: 500 for differences, 300 to learn)")
    options.add_argument("--letters", type=int, help="of the alphabet (default: 10 for differences, 20 to learn)")
    options.add_argument("--repeat", type=int, default=3)
    options.add_argument("--timeout", type=float, default=120, help="seconds after which a measurement is given up")
    options.add_argument("--one", choices=[*DIFFERENCE, *LEARNING], help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.one is not None:
        print(json.dumps((DIFFERENCE | LEARNING)[given.one](given.states, given.letters)))
        return
    from lawful import core

    native = core.native is not None
    print(f"{platform.python_implementation()} {platform.python_version()}")
    for work, states, letters, title in (
        (DIFFERENCE, 500, 10, "Difference and minimisation: {states} x {states} states, {letters} letters"),
        (LEARNING, 300, 20, "Learning a random automaton: {states} states, {letters} letters"),
    ):
        states, letters = given.states or states, given.letters or letters
        rows = [(name, which) for name in work for which in cores(name, native)]
        table(title.format(states=states, letters=letters), rows, states, letters, given)


if __name__ == "__main__":
    main()
