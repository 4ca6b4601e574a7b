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
    ends: int = 1
    """How many of the last letters are ends. A teacher has one, the error; where versions are compared, there is one
    for each way in which an execution of them ends."""

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
        index = {event.label: letter for letter, event in enumerate(self.events)}
        return tuple(index[label] for label in labels)

    def spelled(self, word: Word) -> tuple[str, ...]:
        """The labels of a word."""
        return tuple(self.events[letter].label for letter in word)


@dataclass(frozen=True)
class Bounds:
    """How far a program is followed: `b` and `b^wl` of the paper. A word's length counts its error letter."""

    unwind: int
    """Of a C program, loop iterations and recursive calls; of a Python one, the size of inputs: lengths, ranges."""

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
    accept: bool
    """Whether the word belongs to the language (positive feedback) or not."""


@dataclass(frozen=True)
class Limits:
    """What a teacher may spend. `None`: unlimited."""

    words: int | None = 100_000
    paths: int | None = 1_000_000
    seconds: float | None = None
    seconds_per_execution: float = 2.0
    megabytes: int | None = 1024
    """So much memory the executions of a Python program may take, beside what it has when it is loaded."""


@dataclass
class QueryCounts:
    """What an explanation cost: the queries, and how many of them needed a model checker or a run."""

    membership: int = 0
    membership_worked: int = 0
    conjectures: int = 0
    conjectures_worked: int = 0
    executions: int = 0
    solver_calls: int = 0

    def add(self, other: QueryCounts) -> None:
        """Adds the counts of another piece of work."""
        for name in self.__dataclass_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


UNSEEN = "never seen: "

MOST_EVENTS = 12
"""How many events are chosen where the user does not say which: a reader can take in a picture of so many."""


@dataclass
class TeacherReport:
    """What a teacher knows of its own answers, once it was asked."""

    basis: Basis = Basis.COMPLETE
    reached: list[str] = field(default_factory=list)
    """Limits that were reached, each a sentence: "stopped after 100,000 paths"."""

    warnings: list[str] = field(default_factory=list)
    """What a reader must know: non-determinism, executions cut off by their time limit, events never seen."""

    left_out: bool = False
    """Some executions have unknown words, which may contain anything: they were cut off, too long, or lost."""

    slow: int = 0
    """How many executions were cut off by their time limit."""

    long: int = 0
    """How many were cut off because they had far more events than a word may have: they may go on forever."""

    begun: tuple[Word, ...] = ()
    """How the words begin of executions that were not followed to the end; the empty word: nothing is known of some."""

    @property
    def partial(self) -> bool:
        """Whether there were executions whose words are not known: cut off, too long, or after a limit was reached."""
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


class _Answering(Protocol):
    """What teachers and sources of executions have in common."""

    @property
    def alphabet(self) -> Alphabet: ...

    @property
    def counts(self) -> QueryCounts: ...

    @property
    def report(self) -> TeacherReport: ...

    def shortest(self) -> int:
        """A lower estimate of the length of the shortest failing word: where the search for bounds begins."""


class OptionalAnswers(Protocol):
    """What only some teachers can answer. Teachers derive from this, and override what they can."""

    trap: bool = True
    """Whether a conjecture is also wrong if it accepts a word that no execution has."""

    lists_failures: bool = False
    """Whether `failing` works: failing words are an automaton already, unless they were too many."""

    lists_executions: bool = False
    """Whether `passes`, `endings` and `so_far` work: all executions were seen."""

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
        """The failing words that were seen before an interruption; none where nothing was seen to fail."""
        return None

    def passing_states(self, automaton: Automaton) -> AbstractSet[int] | None:
        """The states of an automaton that executions come through which do not fail, where that is known."""
        return None


class Teacher(_Answering, OptionalAnswers, Protocol):
    """Answers what L* asks of a program, up to bounds."""

    def bound(self, bounds: Bounds) -> None:
        """Sets the bounds for later queries. The teacher keeps answers that do not depend on them."""

    def member(self, word: Word) -> MembershipAnswer:
        """Whether an execution with this word ends in the error."""

    def counterexample(self, automaton: Automaton) -> Counterexample | None:
        """A word within the bounds that the automaton takes wrongly, or None if it is right about every execution."""

    def example(self, word: Word) -> Execution | None:
        """An execution with this word, with its input, if there is one."""


EventKeys = tuple[tuple[str, tuple[Any, ...], str], ...]
"""Events of a Python program: the kind, key and label of each."""


class OptionalSourceParts(Protocol):
    """What only the source of a program that runs has. Sources derive from this, and override what they have."""

    @property
    def letters(self) -> EventKeys:
        """Its events, for other versions of the program to look for them too."""
        return ()

    def close(self) -> None:
        """Ends the processes that run for it; they start again when they are needed."""
        return None

    def repeated(self, texts: Sequence[str], bound: int) -> dict[str, Execution]:
        """What becomes of inputs that read like this, as far as it can be found out."""
        return {}


class ExecutionSource(_Answering, OptionalSourceParts, Protocol):
    """A program that can be run through once, giving all its executions within bounds: the fast way to a teacher."""

    def executions(self, bounds: Bounds, limits: Limits) -> Iterator[Execution]:
        """Each execution once per word and outcome. Executions whose words are longer than the bound are left out."""
