"""The search for bounds: LEARNUPTOBOUND, Fig. 10 of the paper."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from lawful.errors import LawfulError
from lawful.explain.automata import Automaton, is_empty
from lawful.explain.lstar import LearningInterrupted
from lawful.explain.postprocess import back_edges
from lawful.explain.teacher import Bounds, Teacher, TeacherReport

Learn = Callable[[Teacher], Automaton]
BoundsProgress = Callable[[Bounds, Automaton | None], None]
"""Called with bounds before learning (no automaton yet), and after."""


class OutOfTime(LearningInterrupted):
    """The seconds that were allowed are over."""


@dataclass(frozen=True)
class Range:
    """The bounds to search. One that is fixed is a range of one."""

    unwind: int | None = None
    word_length: int | None = None
    max_unwind: int = 4
    max_word_length: int = 40
    every: bool = False  # whether to try all of them, and not to stop where nothing more seems to change

    def __post_init__(self) -> None:
        for bound in (self.unwind, self.word_length, self.max_unwind, self.max_word_length):
            if bound is not None and bound < 1:
                raise LawfulError("explain-bounds", f"bounds begin with 1, not {bound}")

    def unwinds(self) -> range:
        """`b` of the paper."""
        return range(1, self.max_unwind + 1) if self.unwind is None else range(self.unwind, self.unwind + 1)

    def lengths(self, shortest: int) -> range:
        """`b^wl` of the paper."""
        if self.word_length is not None:
            return range(self.word_length, self.word_length + 1)
        return range(min(max(shortest, 1), self.max_word_length), self.max_word_length + 1)

    @property
    def fixed(self) -> bool:
        """Whether there is nothing to search."""
        return self.unwind is not None and self.word_length is not None


@dataclass(frozen=True)
class BoundsStep:
    """The automaton of a pair of bounds."""

    bounds: Bounds
    automaton: Automaton
    report: TeacherReport  # what the teacher said of its answers by then; later ones may rest on less


@dataclass
class BoundsSearch:
    """How the search went."""

    first_length: int
    last_length: int  # the length up to which words were looked at, at least by one question for each unwinding
    at: Bounds  # the bounds that are being learned with
    steps: list[BoundsStep] = field(default_factory=list)
    converged: bool = False
    interrupted: bool = False
    reached: list[str] = field(default_factory=list)

    @property
    def last(self) -> BoundsStep:
        """The result: the last step that found something, else the last one."""
        return next((step for step in reversed(self.steps) if not is_empty(step.automaton)), self.steps[-1])

    @property
    def empty(self) -> bool:
        """Whether no failing word was found with any bounds."""
        return all(is_empty(step.automaton) for step in self.steps)


def learn_up_to_bound(
    teacher: Teacher,
    learn: Learn,
    within: Range = Range(),  # noqa: B008 - it cannot be changed
    *,
    best: Callable[[], Automaton | None] = lambda: None,
    seconds: float | None = None,
    progress: BoundsProgress = lambda bounds, automaton: None,
) -> BoundsSearch:
    """Learns with growing bounds until nothing changes.

    Fig. 10, with three additions. An empty automaton is not a result: the bounds grow until a word fails. One question
    with the longest words finds unwindings without a failing word, which are skipped. And the search ends only if the
    teacher agrees with the longest words, so that a gap between the lengths of words is not taken for their end.

    `best` is what the learner has so far: the result when Ctrl-C comes in the middle."""
    shortest = within.word_length
    if shortest is None:
        progress(Bounds(within.unwinds()[0], within.max_word_length), None)  # to find it may take a while
        shortest = teacher.shortest()
    deadline = None if seconds is None else time.monotonic() + seconds
    lengths = within.lengths(shortest)
    search = BoundsSearch(first_length=shortest, last_length=lengths[-1], at=Bounds(within.unwinds()[0], lengths[0]))
    try:
        _search(search, teacher, learn, within, lengths, deadline, progress)
    except (KeyboardInterrupt, LearningInterrupted) as stop:
        search.interrupted = isinstance(stop, KeyboardInterrupt)
        if not search.interrupted and seconds is not None:
            search.reached.append(f"stopped after {seconds:g} seconds")
        search.converged = False
        # The automata of smaller bounds are right within them. A conjecture is only better than nothing.
        if search.empty and (conjecture := best()) is not None:
            search.steps.append(_step(teacher, search.at, conjecture))
        if search.empty and search.interrupted:
            raise KeyboardInterrupt from None
        return search
    search.converged |= within.fixed
    return search


def _search(
    search: BoundsSearch,
    teacher: Teacher,
    learn: Learn,
    within: Range,
    lengths: range,
    deadline: float | None,
    progress: BoundsProgress,
) -> None:
    previous: Automaton | None = None
    for unwind in within.unwinds():
        search.converged = False
        widest = Bounds(unwind, lengths[-1])
        if len(lengths) > 1:
            search.at = widest
            progress(widest, None)
            nothing = Automaton.from_words((), teacher.alphabet.labels)
            if _agrees(teacher, nothing, widest):
                search.steps.append(_step(teacher, widest, nothing))
                previous = nothing
                continue
        for length in lengths:
            bounds = search.at = Bounds(unwind, length)
            if deadline is not None and time.monotonic() > deadline:
                raise OutOfTime
            progress(bounds, None)
            teacher.bound(bounds)
            automaton = learn(teacher)
            search.steps.append(_step(teacher, bounds, automaton))
            progress(bounds, automaton)
            same = automaton == previous and not is_empty(automaton) and not back_edges(automaton)
            if same and _agrees(teacher, automaton, widest):
                search.converged = True
                if not within.every:
                    return
                break
            previous = automaton


def _step(teacher: Teacher, bounds: Bounds, automaton: Automaton) -> BoundsStep:
    now = teacher.report
    return BoundsStep(bounds, automaton, replace(now, reached=list(now.reached), warnings=list(now.warnings)))


def _agrees(teacher: Teacher, automaton: Automaton, bounds: Bounds) -> bool:
    """Whether the teacher has nothing against an automaton within these bounds."""
    teacher.bound(bounds)
    return teacher.counterexample(automaton) is None
