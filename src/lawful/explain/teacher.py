"""The protocol between teachers and learners: events, words, executions, bounds, limits, answers."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from lawful.explain.automata import Automaton

Word = tuple[int, ...]
"""A sequence of events, as indices into an alphabet. A failing word ends with the error letter, its only one."""


@dataclass(frozen=True)
class LabelledEvent:
    """One letter: what it is called, and where in the source it stands."""

    label: str
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True)
class Alphabet:
    """The events that words are made of. The last is the error: an assertion, an exception, a failed test, the end."""

    events: tuple[LabelledEvent, ...]
    ends: int = 1  # how many of the last letters are ends: one, the error, or several where versions are compared

    def __post_init__(self) -> None:
        labels = self.labels
        if not labels or len(set(labels)) != len(labels):
            raise ValueError(f"an alphabet's labels must be distinct, and the error is one of them: {labels!r}")

    @property
    def error(self) -> int:
        """The letter with which every failing word ends."""
        return len(self.events) - 1

    @property
    def terminal(self) -> range:
        """The letters with which words end, and which are nowhere else in them."""
        return range(len(self.events) - self.ends, len(self.events))

    @property
    def labels(self) -> tuple[str, ...]:
        """What the letters are called, the error last."""
        return tuple(event.label for event in self.events)

    def __len__(self) -> int:
        return len(self.events)

    def word(self, *labels: str) -> Word:
        """The word of these labels."""
        return tuple(map(self.labels.index, labels))

    def spelled(self, word: Word) -> tuple[str, ...]:
        """The labels of a word."""
        return tuple(self.events[letter].label for letter in word)


@dataclass(frozen=True)
class Bounds:
    """How far a program is followed: `b` and `b^wl` of the paper. A word's length counts its error letter."""

    unwind: int  # of a C program, loop iterations and recursive calls; of a Python one, the size of inputs
    word_length: int


class MembershipAnswer(enum.Enum):
    """What a teacher says of a word."""

    YES = "yes"
    NO = "no"
    """No failing word; if it ends with the error, some execution does what comes before and does not fail there."""

    NEVER = "never"
    """No execution within the bounds does what comes before the error: it may be taken either way ("don't care")."""


class Basis(enum.Enum):
    """What an answer rests on."""

    COMPLETE = "complete within bounds"
    SAMPLED = "sampled"


@dataclass(frozen=True)
class Execution:
    """One run of the program: its word, whether it ended in the error, and an input that gives it.

    `word` ends with the error letter just if it `failed`. `places` are the lines of its letters where they
    are not always the same (else those of the alphabet's events count)."""

    word: Word
    failed: bool
    example: str | None = None
    places: tuple[tuple[str, int] | None, ...] | None = None
    error: str | None = None  # the type of the exception with which it failed, where there is one


class Counterexample(NamedTuple):
    """A word that a conjectured automaton takes wrongly."""

    word: Word
    accept: bool  # whether the word belongs to the language (positive feedback) or not


@dataclass(frozen=True)
class Limits:
    """What a teacher may spend. `None`: unlimited."""

    words: int | None = 100_000
    paths: int | None = 1_000_000
    seconds: float | None = None
    seconds_per_execution: float = 2.0
    megabytes: int | None = 1024  # for the executions of a Python program, beside the memory of the loaded program


@dataclass
class QueryCounts:
    """What an explanation cost: the queries, and how many of them needed a model checker or a run."""

    membership: int = 0
    membership_worked: int = 0
    conjectures: int = 0
    conjectures_worked: int = 0
    executions: int = 0
    solver_calls: int = 0


UNSEEN = "never seen: "

MOST_EVENTS = 12
"""How many events are chosen where the user does not say which: a reader can take in a picture of so many."""


@dataclass
class TeacherReport:
    """What a teacher knows of its own answers, once it was asked."""

    basis: Basis = Basis.COMPLETE
    reached: list[str] = field(default_factory=list)  # limits, each a sentence: "stopped after 100,000 paths"
    warnings: list[str] = field(default_factory=list)
    left_out: bool = False  # some executions have unknown words: they were cut off, too long, or lost
    slow: int = 0  # executions cut off by their time limit
    long: int = 0  # executions cut off because they had far more events than a word may have
    begun: tuple[Word, ...] = ()  # how the words of executions that were cut off begin; the empty word: not known

    @property
    def partial(self) -> bool:
        """Whether some executions have unknown words: cut off, too long, or after a limit was reached."""
        return bool(self.reached) or self.left_out

    def limits_reached(self) -> tuple[str, ...]:
        """The limits that were reached, that on the time of one execution among them."""
        if not self.slow:
            return tuple(self.reached)
        many = "executions were" if self.slow > 1 else "execution was"
        return (*self.reached, f"{self.slow:,} {many} cut off after the time that each has (explain.execution-seconds)")

    def shown_warnings(self) -> tuple[str, ...]:
        """The warnings. An event that was not seen may still happen, if executions were left out."""
        if not self.partial:
            return tuple(self.warnings)
        instead = "not in the executions that were followed to their end: "
        return tuple(instead + text.removeprefix(UNSEEN) if text.startswith(UNSEEN) else text for text in self.warnings)


class Teacher(Protocol):
    """Answers what L* asks of a program, up to bounds. Teachers derive from it, and override the parts they can do."""

    alphabet: Alphabet
    counts: QueryCounts
    report: TeacherReport
    trap: bool = True  # whether a conjecture is also wrong if it accepts a word that no execution has
    lists_failures: bool = False  # whether `failing` works, unless there are too many failing words
    lists_executions: bool = False  # whether `passes`, `endings` and `so_far` work: all executions were seen

    def shortest(self) -> int:
        """A lower estimate of the length of the shortest failing word: where the search for bounds begins."""

    def bound(self, bounds: Bounds) -> None:
        """Sets the bounds for later queries. The teacher keeps answers that do not depend on them."""

    def member(self, word: Word) -> MembershipAnswer:
        """Whether an execution with this word ends in the error."""

    def counterexample(self, automaton: Automaton) -> Counterexample | None:
        """A word within the bounds that the automaton takes wrongly, or None if it is right about every execution."""

    def example(self, word: Word) -> Execution | None:
        """An execution with this word, with its input, if there is one."""

    @property
    def failing(self) -> Automaton:
        """The smallest automaton of the failing words and no others."""
        raise NotImplementedError

    def passes(self) -> dict[Word, Execution]:
        """An execution for each word within the bounds that ends well."""
        raise NotImplementedError

    def endings(self) -> dict[Word, list[Execution]]:
        """For each failing word within the bounds, an execution for each error that it ends in."""
        raise NotImplementedError

    def so_far(self) -> Automaton | None:
        """The failing words that were seen before an interruption, if there were any."""
        return None

    def passing_states(self, automaton: Automaton) -> AbstractSet[int] | None:
        """The states of an automaton on the paths of executions that do not fail, if the teacher knows them."""
        return None


EventKeys = tuple[tuple[str, tuple[Any, ...], str], ...]
"""Events of a Python program: the kind, key and label of each."""


class ExecutionSource(Protocol):
    """A program that can be run through once, giving all its executions within bounds: the fast way to a teacher."""

    alphabet: Alphabet
    counts: QueryCounts
    report: TeacherReport

    def shortest(self) -> int:
        """A lower estimate of the length of the shortest failing word: where the search for bounds begins."""

    def executions(self, bounds: Bounds, limits: Limits) -> Iterator[Execution]:
        """Each execution once per word and outcome. Executions whose words are longer than the bound are left out."""

    @property
    def letters(self) -> EventKeys:
        """Its events, for other versions of the program to look for them too."""
        return ()

    def close(self) -> None:
        """Ends the processes that run for it; they start again when they are needed."""
        return None

    def repeated(self, texts: Sequence[str], bound: int) -> dict[str, Execution]:
        """What the program does on inputs that read like this, if it can be run on them."""
        return {}
