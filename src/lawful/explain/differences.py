"""What versions of a program do differently: both sides of a difference, and what a merge made of two branches."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal

from lawful.errors import LawfulError
from lawful.explain.automata import (
    Automaton,
    count,
    difference,
    intersection,
    is_empty,
    longest_word,
    minimise,
    relabelled,
    union,
    words,
)
from lawful.explain.bounds import Range
from lawful.explain.explanation import Picture, Way, bounds_json, picture_json
from lawful.explain.lstar import Interrupted
from lawful.explain.model import Alphabet, Basis, Bounds, Event, Execution, Teacher, Word
from lawful.explain.postprocess import Finder, picture
from lawful.explain.studying import LearnerName, Naming, Study, Watcher, nothing, study, warnings_of

_SHOWN_WAYS = 50


@dataclass(frozen=True)
class Side:
    """Words that some versions have and others have not."""

    key: str
    title: str
    automaton: Automaton
    picture: Picture
    matters: bool = True
    """Whether it says that something is different; otherwise it only shows more."""

    ways: tuple[Way, ...] = ()
    """The first words, each with the input of an execution where that is known."""

    ways_total: int = 0

    @property
    def empty(self) -> bool:
        """Whether there are no such words."""
        return self.picture.empty


@dataclass(frozen=True)
class Comparison:
    """Versions of one program compared by all their words within the same bounds."""

    kind: Literal["diff", "merge"]
    target: str | None
    versions: Mapping[str, str]
    """What each version is called, by its part in this: old and new, or base, a, b and merged."""

    alphabet: Alphabet
    bounds: Bounds
    sides: tuple[Side, ...]
    ends: bool = True
    """Whether whole executions are compared, or only those that end in an error."""

    basis: Basis = Basis.COMPLETE
    reached: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def same(self) -> bool:
        """Whether there is no difference within the bounds. For a merge: whether it holds no surprise."""
        return all(side.empty for side in self.sides if side.matters)

    @property
    def complete(self) -> bool:
        """Whether this is everything within the bounds."""
        return self.basis is Basis.COMPLETE and not self.reached

    def side(self, key: str) -> Side:
        """One of the sides."""
        return next(side for side in self.sides if side.key == key)

    def to_json(self) -> dict[str, Any]:
        """The comparison for programs."""
        return {
            "kind": self.kind,
            "target": self.target,
            **self.versions,
            "same": self.same,
            "alphabet": list(self.alphabet.labels),
            "error": self.alphabet.labels[self.alphabet.error],
            "bounds": bounds_json(self.bounds),
            "complete": self.complete,
            "basis": self.basis.value,
            "limits_reached": list(self.reached),
            "warnings": list(self.warnings),
            "seconds": round(self.seconds, 6),
            "differences": {side.key: _side_json(side, self.alphabet) for side in self.sides},
        }


def _side_json(side: Side, alphabet: Alphabet) -> dict[str, Any]:
    return {
        "title": side.title,
        "empty": side.empty,
        "matters": side.matters,
        **picture_json(side.picture, alphabet),
        "words": [{"word": list(alphabet.spelled(way.word)), "input": way.example} for way in side.ways],
        "words_total": side.ways_total,
    }


def diff(
    names: tuple[str, str],
    teachers: Sequence[tuple[Teacher, Naming]],
    *,
    target: str | None = None,
    ends: bool = True,
    how: How | None = None,
) -> Comparison:
    """Both sides of the difference of two versions."""

    def sides(automata: Sequence[Automaton]) -> tuple[_Side, ...]:
        old, new = automata
        return (
            _Side("only_old", f"only in {names[0]}", difference(old, new), (0,)),
            _Side("only_new", f"only in {names[1]}", difference(new, old), (1,)),
        )

    room, reached = _searched(teachers, sides, how or How())
    return room.comparison("diff", target, dict(zip(("old", "new"), names, strict=True)), sides, ends, reached)


def merge(
    names: tuple[str, str, str, str],
    teachers: Sequence[tuple[Teacher, Naming]],
    *,
    target: str | None = None,
    ends: bool = True,
    how: How | None = None,
) -> Comparison:
    """What a merge does that its branches do not (Figs. 8 and 9 of the paper), and what of theirs it has lost.

    To differ from one branch is what a merge is for. What should be looked at is behaviour that neither branch has,
    what a branch has added to the base and is gone, and what a branch has taken away and is back."""

    def sides(automata: Sequence[Automaton]) -> tuple[_Side, ...]:
        base, a, b, merged = automata
        added = union(difference(a, base), difference(b, base))
        removed = union(difference(base, a), difference(base, b))
        name = names[3]
        return (
            _Side("not_in_a", f"in {name}, not in {names[1]}", difference(merged, a), (3,), matters=False),
            _Side("not_in_b", f"in {name}, not in {names[2]}", difference(merged, b), (3,), matters=False),
            _Side("in_neither", f"in {name}, in neither branch", difference(difference(merged, a), b), (3,)),
            _Side("lost", f"added by a branch, not in {name}", difference(added, merged), (1, 2)),
            _Side("back", f"removed by a branch, but in {name}", intersection(removed, merged), (3,)),
        )

    room, reached = _searched(teachers, sides, how or How())
    parts = dict(zip(("base", "a", "b", "merged"), names, strict=True))
    return room.comparison("merge", target, parts, sides, ends, reached)


@dataclass(frozen=True)
class How:
    """How versions are learned."""

    learner: LearnerName = "auto"
    within: Range = Range()  # noqa: RUF009 - it cannot be changed
    seconds: float | None = None
    watcher: Watcher = lambda bounds, states, asked: None


@dataclass(frozen=True)
class _Side:
    """A side before it is drawn. `having` are the versions that have its words."""

    key: str
    title: str
    automaton: Automaton
    having: tuple[int, ...]
    matters: bool = True


_Sides = Callable[[Sequence[Automaton]], tuple[_Side, ...]]


def _searched(teachers: Sequence[tuple[Teacher, Naming]], sides: _Sides, how: How) -> tuple[_Room, list[str]]:
    """All versions with the same bounds: the first unwinding that shows a difference, else the last.

    The search of an explanation ends where something fails. Here that would be too early: that nothing differs is only
    worth something if it was looked for. An interruption has no result, since there is none for all versions."""
    if how.learner == "dont-care":
        raise LawfulError(
            "explain-learner",
            "where words are taken freely, versions differ in words that neither of them has",
            hint="another --learner",
        )
    began = time.monotonic()
    room: _Room | None = None
    for unwind in how.within.unwinds():
        left = None if how.seconds is None else how.seconds - (time.monotonic() - began)
        try:
            room = _Room(_studied(teachers, replace(how, seconds=left), unwind), began)
        except Interrupted:
            if room is None:
                raise LawfulError(
                    "explain-time",
                    f"stopped after {how.seconds:g} seconds: nothing could be compared",
                    hint="allow more --seconds, or fix smaller bounds: --unwind, --word-length",
                ) from None
            return room, [f"stopped after {how.seconds:g} seconds, before unwinding {unwind} could be compared"]
        found = any(side.matters and not is_empty(side.automaton) for side in sides(room.automata))
        if found and not how.within.every:
            break
    assert room is not None
    return room, []


def _studied(teachers: Sequence[tuple[Teacher, Naming]], how: How, unwind: int) -> list[Study]:
    """Learns from each teacher, in the end with words of the same length: or else that would be the difference."""

    def studied(teacher: Teacher, naming: Naming, within: Range) -> Study:
        done = study(
            teacher, learner=how.learner, within=within, seconds=how.seconds, watcher=how.watcher, naming=naming
        )
        if done.search.interrupted:
            raise KeyboardInterrupt
        if done.search.reached:
            raise Interrupted
        return done

    within = replace(how.within, unwind=unwind)
    studies = [studied(teacher, naming, within) for teacher, naming in teachers]
    found = [each.bounds.word_length for each in studies if not nothing(each)]
    length = max(found or [each.bounds.word_length for each in studies])
    return [
        each
        if each.bounds.word_length == length
        else studied(each.teacher, each.naming, replace(within, word_length=length))
        for each in studies
    ]


class _Room:
    """Versions side by side: their automata over one alphabet, and their executions by its words."""

    def __init__(self, studies: Sequence[Study], began: float) -> None:
        self._studies = studies
        self._began = began
        self.bounds = studies[0].bounds
        self.alphabet = _united([study.alphabet for study in studies])
        length = self.bounds.word_length
        self.automata = [_within(_spelled(study.automaton, self.alphabet), length) for study in studies]

    def _drawn(self, side: _Side) -> Side:
        """A side with its picture, and with executions of those versions that have its words."""
        automaton, having, length = side.automaton, side.having, self.bounds.word_length
        finders = [self._finder(self._studies[number]) for number in having]
        seen: dict[Word, Execution] = {}

        def find(word: Word) -> Execution | None:
            for finder in finders:
                if (execution := finder(word)) is not None:
                    seen[word] = execution
                    return execution
            return None

        drawn = picture(automaton, self._placed(having), length=length, find=find)
        cheap = all(self._studies[number].cheap for number in having)
        first = list(islice(words(automaton, length), _SHOWN_WAYS))
        ways = [Way(word, _input(find(word) if cheap else seen.get(word))) for word in first]
        return Side(side.key, side.title, automaton, drawn, side.matters, tuple(ways), count(automaton, length))

    def _placed(self, having: Sequence[int]) -> Alphabet:
        """The alphabet, with the places where its events stand in these versions."""
        events = {event.label: event for event in self.alphabet.events[:-1]}
        for number in reversed(having):
            events |= {event.label: event for event in self._studies[number].alphabet.events[:-1]}
        error = replace(self._studies[having[0]].alphabet.events[-1], label=self.alphabet.labels[-1])
        return Alphabet((*(events[label] for label in self.alphabet.labels[:-1]), error))

    def comparison(
        self,
        kind: Literal["diff", "merge"],
        target: str | None,
        versions: Mapping[str, str],
        sides: _Sides,
        ends: bool,
        reached: Sequence[str],
    ) -> Comparison:
        reports = [study.search.last.report for study in self._studies]
        complete = all(report.basis is Basis.COMPLETE and not report.reached for report in reports)
        drawn = tuple(self._drawn(side) for side in sides(self.automata))
        warnings = _named(versions, [warnings_of(report) for report in reports])
        if not complete and not all(side.empty for side in drawn):
            warnings += ("not all executions were seen: what one version seems to lack, it may only not have shown",)
        return Comparison(
            kind=kind,
            target=target,
            versions=versions,
            alphabet=self.alphabet,
            bounds=self.bounds,
            sides=drawn,
            ends=ends,
            basis=Basis.COMPLETE if complete else Basis.SAMPLED,
            reached=(*_named(versions, [report.reached for report in reports]), *reached),
            warnings=warnings,
            seconds=time.monotonic() - self._began,
        )

    def _finder(self, study: Study) -> Finder:
        own = {event.label: letter for letter, event in enumerate(study.teacher.alphabet.events[:-1])}
        letters = [own.get(event.label) for event in self.alphabet.events[:-1]] + [study.teacher.alphabet.error]

        def find(word: Word) -> Execution | None:
            translated = [letters[letter] for letter in word]
            if None in translated:
                return None
            try:
                return study.find(tuple(letter for letter in translated if letter is not None))
            except Interrupted:  # the time is over: the difference is known, and its inputs are not
                return None

        return find


def _input(execution: Execution | None) -> str | None:
    return None if execution is None else execution.example


def _named(versions: Mapping[str, str], texts: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Sentences, each with the version it is about, or once if it is about all."""
    found = dict.fromkeys(each for per_version in texts for each in per_version)
    told = []
    for each in found:
        about = [name for name, per_version in zip(versions.values(), texts, strict=True) if each in per_version]
        told.append(each if len(about) == len(texts) else f"{', '.join(about)}: {each}")
    return tuple(told)


def _united(alphabets: Sequence[Alphabet]) -> Alphabet:
    """The events of all, by their labels. The errors are one letter, whatever each version calls its own."""
    events: dict[str, Event] = {}
    for alphabet in alphabets:
        for event in alphabet.events[:-1]:
            events.setdefault(event.label, event)
    error = alphabets[0].events[-1]
    while error.label in events:
        error = replace(error, label=f"{error.label}!")
    return Alphabet((*events.values(), error))


def _spelled(automaton: Automaton, alphabet: Alphabet) -> Automaton:
    """An automaton over another alphabet, of which the last letter is its own last one."""
    error = alphabet.labels[-1]
    return minimise(relabelled(replace(automaton, labels=(*automaton.labels[:-1], error)), alphabet.labels))


def _within(automaton: Automaton, length: int) -> Automaton:
    """The words up to a length: of longer ones, an automaton with loops says nothing that was looked at."""
    longest = longest_word(automaton)
    if is_empty(automaton) or (longest is not None and longest <= length):
        return automaton
    letters = len(automaton.labels)
    rows = tuple((min(state, length) + 1,) * letters for state in range(length + 2))  # counts, and stays past the end
    return intersection(automaton, Automaton(automaton.labels, 0, rows, frozenset(range(length + 1))))
