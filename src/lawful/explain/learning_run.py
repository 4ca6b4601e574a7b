"""Learns from a teacher: chooses the learner, searches bounds, and makes an explanation of the automaton."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Literal, get_args

from lawful.errors import LawfulError
from lawful.explain.automata import Automaton, count, is_empty, words
from lawful.explain.bounds import BoundsSearch, BoundsStep, OutOfTime, Range, learn_up_to_bound
from lawful.explain.explanation import Explanation, FailurePlace, Picture, Snapshot, WordExample
from lawful.explain.lstar import AutomatonLearner, LearningInterrupted, TableLearner, ThreeValuedLearner, TreeLearner
from lawful.explain.postprocess import picture
from lawful.explain.teacher import Alphabet, Bounds, Execution, QueryCounts, Teacher, Word

LearnerName = Literal["auto", "table", "tree", "words", "dont-care"]
LEARNERS: tuple[LearnerName, ...] = get_args(LearnerName)
_ALGORITHMS: dict[str, type[AutomatonLearner]] = {
    "table": TableLearner,
    "tree": TreeLearner,
    "dont-care": ThreeValuedLearner,
}

_SHOWN_WAYS = 200
_SHOWN_FAILURES = 20
_SHOWN_WORDS = 5  # of each failure

SearchWatcher = Callable[[Bounds, int, int], None]
"""Called with the bounds being learned with, the states of the last automaton, and the questions asked so far."""


@dataclass(frozen=True)
class SearchSettings:
    """How automata are learned: with which learner, within which bounds, and for how long."""

    learner: LearnerName = "auto"
    within: Range = Range()  # noqa: RUF009 - it cannot be changed
    seconds: float | None = None
    watcher: SearchWatcher = lambda bounds, states, asked: None


Naming = Callable[[str], str]  # how a file is called in a report


def relative_to_cwd(file: str) -> str:
    """A file as seen from the current folder, if it is below that."""
    return below(os.getcwd(), file) or file


def below(folder: str, file: str) -> str | None:
    """The path from a folder to a file in it."""
    try:
        found = os.path.relpath(os.path.realpath(file), os.path.realpath(folder))
    except ValueError:  # on another drive
        return None
    return None if found.startswith(os.pardir) else found


@dataclass
class LearningRun:
    """A teacher, and the automata that were learned from it."""

    teacher: Teacher
    search: BoundsSearch
    counts: QueryCounts
    learner: str
    seconds: float
    naming: Naming

    @property
    def alphabet(self) -> Alphabet:
        """The teacher's, with files as a reader knows them."""
        events = self.teacher.alphabet.events
        return Alphabet(tuple(replace(each, file=each.file and self.naming(each.file)) for each in events))

    @property
    def bounds(self) -> Bounds:
        """Those of the result."""
        return self.search.last.bounds

    @property
    def automaton(self) -> Automaton:
        """The result."""
        return self.search.last.automaton

    @property
    def cheap(self) -> bool:
        """Whether an execution for a word is found at once, since all were listed."""
        return self.learner == "words" or self.teacher.lists_executions

    def at(self, bounds: Bounds) -> Teacher:
        """The teacher, for questions within bounds."""
        self.teacher.bound(bounds)
        return self.teacher

    def passing_states(self, step: BoundsStep) -> AbstractSet[int] | None:
        """The states of a step's automaton on the paths of executions that do not fail, if they are known.

        They are not known if executions were cut off or left out. Longer executions than the step's count, too: one
        that does not fail saves the states on its path from their doom."""
        if step.report.partial:
            return None
        return self.at(Bounds(step.bounds.unwind, self.search.last_length)).passing_states(step.automaton)

    def find(self, word: Word, bounds: Bounds | None = None) -> Execution | None:
        """An execution with this word, within the bounds of the result or others."""
        found = self.at(bounds or self.bounds).example(word)
        if found is None:
            return None
        places = found.places and tuple(place and (self.naming(place[0]), place[1]) for place in found.places)
        return replace(found, example=found.example or None, places=places)  # what has no input has none to show


def learn_from(
    teacher: Teacher,
    how: SearchSettings = SearchSettings(),  # noqa: B008 - it cannot be changed
    naming: Naming = relative_to_cwd,
) -> LearningRun:
    """Learns from a teacher, with the bounds that are given or found. `naming` is how files are shown."""
    started = time.monotonic()
    chosen = _learner_name(how.learner, teacher)
    algorithm = None if chosen == "words" else _ALGORITHMS[chosen]()
    if chosen == "dont-care":
        teacher.trap = False  # words that no execution has are free
    states = 0

    def on_progress(bounds: Bounds, automaton: Automaton | None) -> None:
        nonlocal states
        states = states if automaton is None else len(automaton)
        how.watcher(bounds, states, _asked(teacher, algorithm).membership)

    def learn(teacher: Teacher) -> Automaton:
        nonlocal chosen, algorithm
        if algorithm is None and teacher.lists_failures:
            listed = teacher.failing
            if teacher.counterexample(listed) is None:
                return listed
            # There are too many words to list. The teacher still answers questions, so the table learner takes over.
            chosen = "table"
        algorithm = algorithm or _ALGORITHMS[chosen]()
        return algorithm.learn(teacher, progress=conjectured)

    def conjectured(automaton: Automaton, counts: QueryCounts) -> None:
        if how.seconds is not None and time.monotonic() - started > how.seconds:
            raise OutOfTime

    search = learn_up_to_bound(
        teacher,
        learn,
        how.within,
        best=lambda: (None if algorithm is None else algorithm.best) or teacher.so_far(),
        seconds=how.seconds,
        progress=on_progress,
    )
    return LearningRun(teacher, search, _asked(teacher, algorithm), chosen, time.monotonic() - started, naming)


def explanation(run: LearningRun, target: str, *, ends: bool = False) -> Explanation:
    """The explanation, with an example for each edge. Ctrl-C or a timeout during this search leaves examples out."""
    search, last = run.search, run.search.last
    started = time.monotonic()
    interrupted, stopped = search.interrupted, search.interrupted
    drawn: dict[Automaton, Picture] = {}
    ways: list[WordExample] = []
    total: int | None = None
    failures: tuple[FailurePlace, ...] = ()
    try:
        drawn[last.automaton] = _drawn(run, last, ends)
        ways, total = _ways(run, drawn[last.automaton])
        failures = () if ends else failures_by_place(run)
    except (KeyboardInterrupt, LearningInterrupted) as stop:
        interrupted, stopped = interrupted or isinstance(stop, KeyboardInterrupt), True
        drawn.setdefault(last.automaton, _plain(run, last))
    snapshots = []
    for step in search.steps:
        if step.automaton not in drawn:
            costly = stopped or not run.cheap
            drawn[step.automaton] = _plain(run, step) if costly else _drawn(run, step, ends)
        snapshots.append(Snapshot(step.bounds, step.automaton, drawn[step.automaton]))
    report = last.report
    return Explanation(
        target=target,
        alphabet=run.alphabet,
        automaton=last.automaton,
        picture=drawn[last.automaton],
        bounds=last.bounds,
        basis=report.basis,
        learner=run.learner,
        converged=search.converged,
        interrupted=interrupted,
        ends=ends,
        reached=tuple(dict.fromkeys((*report.limits_reached(), *search.reached))),
        warnings=report.shown_warnings(),
        counts=run.counts,
        iterations=len(search.steps),
        seconds=run.seconds + time.monotonic() - started,
        snapshots=tuple(snapshots),
        ways=tuple(ways),
        ways_total=total,
        failures=failures,
    )


def failures_by_place(run: LearningRun) -> tuple[FailurePlace, ...]:
    """The errors and lines in which executions fail, as far as these are listed and tell."""
    if not run.teacher.lists_executions:
        return ()
    run.at(run.bounds)
    found: dict[tuple[tuple[str, int] | None, str | None], list[Execution]] = {}
    for endings in run.teacher.endings().values():
        for execution in endings:
            place = execution.places[-1] if execution.places else None
            found.setdefault((place, execution.error), []).append(execution)
    if set(found) <= {(None, None)}:
        return ()
    for executions in found.values():
        executions.sort(key=lambda each: (len(each.word), each.word))
    failures = []
    for (place, error), executions in sorted(found.items(), key=lambda each: -len(each[1]))[:_SHOWN_FAILURES]:
        file, line = (None, None) if place is None else (run.naming(place[0]), place[1])
        first = tuple(dict.fromkeys(each.word for each in executions[:_SHOWN_WORDS]))
        example = executions[0].example or None
        failures.append(FailurePlace(file, line, len(executions), example, error or None, first))
    return tuple(failures)


def nothing_failed_error(run: LearningRun, within: Range, target: str) -> LawfulError:
    """Nothing failed: that is an answer, but nothing that could be drawn."""
    report = run.teacher.report
    unwind, length = within.unwinds()[-1], within.lengths(1)[-1]
    reasons = dict.fromkeys((*report.reached, *run.search.reached, *report.shown_warnings()))
    hint = "try larger bounds (--set explain.max-unwind=8), another --error, or --error end for all that it does"
    if report.slow:
        hint = "executions were cut off before they failed: try --set explain.execution-seconds=10"
    elif report.long:
        hint = "executions were cut off before they failed: --set explain.max-word-length=80 follows them further"
    elif report.reached or run.search.reached:
        more = "--seconds, or explain.max-words, explain.max-paths or explain.execution-memory with --set"
        hint = f"a limit was reached before anything failed: allow more with {more}"
    return LawfulError(
        "explain-unreachable",
        f"no execution within the bounds ends in {run.teacher.alphabet.labels[-1]!r}: unwinding up to {unwind}, "
        f"words up to {length} events" + "".join(f"; {each}" for each in reasons),
        where=target,
        hint=hint,
    )


def _learner_name(learner: LearnerName, teacher: Teacher) -> str:
    if learner not in LEARNERS:
        raise LawfulError("explain-learner", f"unknown learner {learner!r}", hint=", ".join(LEARNERS))
    if learner == "auto":
        return "words" if teacher.lists_failures else "table"
    if learner == "words" and not teacher.lists_failures:
        message = "this teacher answers questions only, and cannot list all failing words"
        hint = "--set explain.learner=table, tree or dont-care; or --set explain.teacher=one-run"
        raise LawfulError("explain-learner", message, hint=hint)
    return learner


def _asked(teacher: Teacher, algorithm: AutomatonLearner | None) -> QueryCounts:
    """What the learner asked, and the work that the teacher had with it."""
    counts = teacher.counts
    if algorithm is None:
        return replace(counts)
    conjectures = max(algorithm.counts.conjectures, counts.conjectures)
    return replace(counts, membership=algorithm.counts.membership, conjectures=conjectures)


def _drawn(run: LearningRun, step: BoundsStep, ends: bool) -> Picture:
    """The picture with an execution for each edge."""
    passing_states = None if ends else run.passing_states(step)
    find = partial(run.find, bounds=step.bounds)
    length = step.bounds.word_length
    return picture(step.automaton, run.alphabet, length=length, find=find, passing_states=passing_states)


def _plain(run: LearningRun, step: BoundsStep) -> Picture:
    """The picture without asking anything more."""
    return picture(step.automaton, run.alphabet, length=step.bounds.word_length)


def _ways(run: LearningRun, drawn: Picture) -> tuple[list[WordExample], int]:
    """The first failing words, each with its input where that costs little, and how many there are."""
    length = run.bounds.word_length
    teacher = run.at(run.bounds)
    # The don't-care learner may accept words that no execution has. They are not ways to the error.
    automaton = teacher.failing if teacher.lists_failures and run.cheap else run.automaton
    known = {edge.word: edge.example for edge in drawn.edges}
    endings = teacher.endings() if teacher.lists_executions else {}
    ways = []
    for word in islice(words(automaton, length), _SHOWN_WAYS):
        if word not in known and run.cheap:
            execution = run.find(word)
            known[word] = None if execution is None else execution.example
        errors = dict.fromkeys(each.error for each in endings.get(word, ()) if each.error)
        ways.append(WordExample(word, known.get(word), tuple(errors)))
    return ways, count(automaton, length)


def found_nothing(run: LearningRun) -> bool:
    """Whether no failing word was found at all."""
    return not run.search.steps or is_empty(run.automaton)
