"""What a comparison of versions says: the words that some have and others have not, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from lawful.explain.automata import Automaton
from lawful.explain.explanation import Picture, WordExample, picture_json
from lawful.explain.teacher import Alphabet, Basis, Bounds, Word

Verdict = Literal["same", "differs", "undecided"]


@dataclass(frozen=True)
class OtherVersion:
    """What a version that does not have a word does in its place: on the same input, or after the same events."""

    version: str
    by: Literal["input", "events"]
    words: tuple[Word, ...]


@dataclass(frozen=True)
class Witness(WordExample):
    """A word of a side, and what other versions do there."""

    certain: bool = True  # whether none of the others' executions that were cut off could have it
    elsewhere: tuple[OtherVersion, ...] = ()


@dataclass(frozen=True)
class Side:
    """Words that some versions have and others have not."""

    key: str
    title: str
    automaton: Automaton
    picture: Picture
    matters: bool = True  # whether it says that something is different; otherwise it only shows more
    certain: bool = True  # whether the others lack at least one of these words for certain
    ways: tuple[Witness, ...] = ()  # the first words, each with the input of an execution where that is known
    ways_total: int = 0
    ends: Mapping[int, int] = field(default_factory=dict)  # how many of the words end with each letter

    @property
    def empty(self) -> bool:
        """Whether there are no such words."""
        return self.picture.empty


@dataclass(frozen=True)
class Comparison:
    """Versions of one program compared by all their words within the same bounds."""

    kind: Literal["diff", "merge"]
    target: str | None
    versions: Mapping[str, str]  # their names, by their parts: old and new, or base, a, b and merged
    alphabet: Alphabet  # its last letters are how executions end
    bounds: Bounds
    sides: tuple[Side, ...]
    failing: frozenset[int] = frozenset()  # those of the last letters that are errors
    narrowed: bool = False  # whether only executions with one kind of end are compared, which was chosen
    basis: Basis = Basis.COMPLETE
    interrupted: bool = False  # whether this is only the best there was when the user pressed Ctrl-C
    reached: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()  # why versions that look the same may not be
    seconds: float = 0.0

    @property
    def same(self) -> bool:
        """Whether no difference was seen within the bounds. For a merge: whether it holds no surprise."""
        return all(side.empty for side in self.sides if side.matters)

    @property
    def verdict(self) -> Verdict:
        """Whether versions differ; undecided, if what was not followed to its end may make up for all that was seen."""
        if any(side.matters and not side.empty and side.certain for side in self.sides):
            return "differs"
        return "same" if self.same and not self.doubts else "undecided"

    @property
    def complete(self) -> bool:
        """Whether this is everything within the bounds."""
        return self.basis is Basis.COMPLETE and not self.reached and not self.interrupted

    @property
    def ends(self) -> bool:
        """Whether nothing that is shown is an error."""
        return not self.failing

    def side(self, key: str) -> Side:
        """One of the sides."""
        return next(side for side in self.sides if side.key == key)

    def to_json(self) -> dict[str, Any]:
        """The comparison for programs."""
        labels = self.alphabet.labels
        return {
            "kind": self.kind,
            "target": self.target,
            **self.versions,
            "same": self.same,
            "verdict": self.verdict,
            "alphabet": list(labels),
            "ends": [{"end": labels[letter], "fails": letter in self.failing} for letter in self.alphabet.terminal],
            "bounds": asdict(self.bounds),
            "complete": self.complete,
            "basis": self.basis.value,
            "interrupted": self.interrupted,
            "limits_reached": list(self.reached),
            "warnings": [*self.warnings, *self.doubts],
            "seconds": round(self.seconds, 6),
            "differences": {side.key: self._side_json(side) for side in self.sides},
        }

    def _side_json(self, side: Side) -> dict[str, Any]:
        return {
            "title": side.title,
            "empty": side.empty,
            "matters": side.matters,
            "certain": side.certain,
            **picture_json(side.picture, self.alphabet),
            "words": [
                {
                    **self._word_json(way.word),
                    "input": way.example,
                    "certain": way.certain,
                    "elsewhere": [
                        {"version": each.version, "by": each.by, **self._word_json(word)}
                        for each in way.elsewhere
                        for word in each.words
                    ],
                }
                for way in side.ways
            ],
            "words_total": side.ways_total,
            "ends": {self.alphabet.labels[end]: number for end, number in side.ends.items()},
        }

    def _word_json(self, word: Word) -> dict[str, Any]:
        return {"word": list(self.alphabet.spelled(word)), "fails": word[-1] in self.failing}
