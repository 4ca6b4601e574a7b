"""What an explanation says: the picture of all failing words, and what it rests on."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from lawful.explain.automata import Automaton
from lawful.explain.teacher import Alphabet, Basis, Bounds, QueryCounts, Word

Reading = Literal["program", "paper"]
"""What makes a state doomed: that each execution fails that comes there, or that each word does, whatever follows."""


@dataclass(frozen=True)
class PictureEdge:
    """An arrow of a picture: an event, and for those who want to see it happen, an execution that takes it."""

    source: int
    letter: int
    target: int
    dominating: bool = False  # whether its event is part of every failing word
    file: str | None = None
    line: int | None = None
    word: Word | None = None  # a failing word that takes this edge and that an execution has, if one was found
    example: str | None = None  # the input of an execution with this word, where it has one


@dataclass(frozen=True)
class Picture:
    """An automaton without its sink, as it is drawn. Its states are numbered from 0, the initial one, outwards."""

    states: int
    accepting: tuple[int, ...]
    edges: tuple[PictureEdge, ...]
    dominating: tuple[int, ...] = ()  # letters that every accepted word has: the edges to draw bold
    doomed: tuple[int, ...] = ()  # states from which the error is inevitable: drawn with a D
    doomed_reading: Reading = "paper"  # the program's reading needs all executions, also those that do not fail
    story: Word = ()  # the longest sequence of events that all accepted words have in common, in this order

    @property
    def initial(self) -> int:
        """The state where words begin."""
        return 0

    @property
    def empty(self) -> bool:
        """Whether no word is accepted."""
        return not self.accepting

    def table(self, letters: int) -> list[list[int | None]]:
        """For each state, for each letter, the next state; None is the sink."""
        rows: list[list[int | None]] = [[None] * letters for _ in range(self.states)]
        for edge in self.edges:
            rows[edge.source][edge.letter] = edge.target
        return rows


@dataclass(frozen=True)
class Snapshot:
    """The automaton of one pair of bounds, on the way to the last one."""

    bounds: Bounds
    automaton: Automaton
    picture: Picture


@dataclass(frozen=True)
class WordExample:
    """A failing word, and the input of an execution that has it, where that is known."""

    word: Word
    example: str | None = None
    errors: tuple[str, ...] = ()  # the types of the exceptions that executions with this word end in


@dataclass(frozen=True)
class FailurePlace:
    """An error and a line in which executions fail, where that is known."""

    file: str | None
    line: int | None
    words: int  # how many failing words end there
    example: str | None = None
    error: str | None = None  # the type of the exception, where there is one
    first: tuple[Word, ...] = ()  # the shortest of these words


@dataclass(frozen=True)
class Explanation:
    """All the ways to an error within bounds, as one automaton."""

    target: str
    alphabet: Alphabet
    automaton: Automaton  # minimal and complete, with its sink: for calculating. `picture` is for looking at.
    picture: Picture
    bounds: Bounds
    basis: Basis = Basis.COMPLETE
    learner: str = "words"
    converged: bool = True  # whether longer words changed nothing more; true too where the bounds were fixed
    interrupted: bool = False  # whether this is only the best there was when the user pressed Ctrl-C
    ends: bool = False  # whether the program's end takes the place of the error (`--error end`)
    reached: tuple[str, ...] = ()  # limits that were reached, each a sentence
    warnings: tuple[str, ...] = ()
    counts: QueryCounts = field(default_factory=QueryCounts)
    iterations: int = 1  # pairs of bounds that were tried
    seconds: float = 0.0
    snapshots: tuple[Snapshot, ...] = ()  # of each pair of bounds, in the order in which they were tried
    ways: tuple[WordExample, ...] = ()  # failing words, the shortest first; at most as many as a reader could look at
    ways_total: int | None = None  # how many failing words there are within the bounds
    failures: tuple[FailurePlace, ...] = ()
    """With which errors and where executions fail, the most frequent first; empty where executions do not tell. A word
    that ends in several errors is counted with each of them."""

    @property
    def complete(self) -> bool:
        """Whether this is everything within the bounds: nothing was sampled, cut off or interrupted."""
        return self.basis is Basis.COMPLETE and not self.interrupted and not self.reached

    def to_json(self) -> dict[str, Any]:
        """The explanation for programs. States are those of the picture, without the sink."""
        spelled = self.alphabet.spelled
        picture = self.picture
        return {
            "target": self.target,
            "alphabet": list(self.alphabet.labels),
            "error": self.alphabet.labels[self.alphabet.error],
            **picture_json(picture, self.alphabet),
            "doomed": list(picture.doomed),
            "doomed_reading": picture.doomed_reading,
            "story": list(spelled(picture.story)),
            "bounds": asdict(self.bounds),
            "complete": self.complete,
            "basis": self.basis.value,
            "converged": self.converged,
            "interrupted": self.interrupted,
            "limits_reached": list(self.reached),
            "warnings": list(self.warnings),
            "learner": self.learner,
            "queries": asdict(self.counts),
            "iterations": self.iterations,
            "seconds": round(self.seconds, 6),
            "words": [
                {"word": list(spelled(way.word)), "input": way.example, "errors": list(way.errors)} for way in self.ways
            ],
            "words_total": self.ways_total,
            "failures": [
                {
                    "error": each.error,
                    "file": each.file,
                    "line": each.line,
                    "words": each.words,
                    "first_words": [list(spelled(word)) for word in each.first],
                    "input": each.example,
                }
                for each in self.failures
            ],
            "events": [{"event": each.label, "file": each.file, "line": each.line} for each in self.alphabet.events],
            "snapshots": [
                {"bounds": asdict(each.bounds), "states": each.picture.states, "edges": len(each.picture.edges)}
                for each in self.snapshots
            ],
        }


def picture_json(picture: Picture, alphabet: Alphabet) -> dict[str, Any]:
    """A picture for programs. `transitions` are those of an automaton, complete: its last state is the sink."""
    sink = picture.states
    rows = [[sink if target is None else target for target in row] for row in picture.table(len(alphabet))]
    return {
        "states": picture.states,
        "edges": [
            {
                "from": edge.source,
                "event": alphabet.events[edge.letter].label,
                "to": edge.target,
                "dominating": edge.dominating,
                "file": edge.file,
                "line": edge.line,
                "word": None if edge.word is None else list(alphabet.spelled(edge.word)),
                "input": edge.example,
            }
            for edge in picture.edges
        ],
        "initial": picture.initial,
        "accepting": list(picture.accepting),
        "transitions": [*rows, [sink] * len(alphabet)],
        "dominating": list(alphabet.spelled(picture.dominating)),
    }
