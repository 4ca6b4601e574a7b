"""Versions over one alphabet, also where the lines of their events have moved: the words that each has or may have."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from functools import cache

from lawful.explain.automata import Automaton, intersection, live, minimise, relabelled, union
from lawful.explain.compared_program import END, ComparedProgram
from lawful.explain.learning_run import LearningRun
from lawful.explain.lstar import LearningInterrupted
from lawful.explain.postprocess import Finder
from lawful.explain.teacher import Alphabet, Basis, Execution, LabelledEvent, TeacherReport, Word

_MANY = 2500  # pairs of lines to look at in a place that was changed
_ALIKE = 0.6

RunsByEnding = Mapping[str, LearningRun]  # the learning run of one version for each kind of end

Lines = Callable[[str], Sequence[str]]  # the lines of a file of a version; none if it cannot be read


class SharedAlphabet:
    """Versions over one alphabet: the words that each has, and those that it may have."""

    def __init__(
        self, programs: Sequence[ComparedProgram], parts: Sequence[str], runs: Sequence[RunsByEnding], began: float
    ) -> None:
        self.programs = programs
        self.runs = runs
        self.began = began
        self.bounds = next(iter(runs[0].values())).bounds
        self.kinds = list(dict.fromkeys(kind for version in runs for kind in version))
        self.kinds.sort(key=lambda kind: kind == END)  # the good end is the last letter
        events = [
            [event for each in version.values() for event in each.teacher.alphabet.events[:-1]] for version in runs
        ]
        self.label_of = aligned_labels(events, [program.lines for program in programs], parts)
        self.alphabet = self._union_of_alphabets()
        self.reports = [_merged([each.search.last.report for each in version.values()]) for version in runs]
        self.has = [self._union(number) for number in range(len(runs))]
        self.may = [union(has, self._cut_off_words(number)) for number, has in enumerate(self.has)]

    @property
    def failing(self) -> frozenset[int]:
        """The letters that are errors."""
        return frozenset(self.letter(kind) for kind in self.kinds if kind != END)

    @property
    def endless(self) -> bool:
        """Whether so many executions did not end that the rest was left out: larger inputs would not show more."""
        return any(report.slow and () in report.begun for report in self.reports)

    def letter(self, kind: str) -> int:
        """The letter of a kind of end."""
        return self.alphabet.terminal[self.kinds.index(kind)]

    def spelled(self, number: int, labels: Sequence[str], kind: str) -> Word | None:
        """The word of a version's labels and an end, if it has only known ones."""
        if kind not in self.kinds or not set(labels) <= set(self.label_of[number]):
            return None
        return (*self._letters(number, labels), self.letter(kind))

    def _letters(self, number: int, labels: Sequence[str]) -> Word:
        """Labels of a version as letters."""
        known = {event.label: letter for letter, event in enumerate(self.alphabet.events[: -self.alphabet.ends])}
        return tuple(known[self.label_of[number][label]] for label in labels)

    def _union_of_alphabets(self) -> Alphabet:
        """The events of all, by their labels; and an end for each kind, whatever each version calls its own."""
        events: dict[str, LabelledEvent] = {}
        for version, label_of in zip(self.runs, self.label_of, strict=True):
            for each in version.values():
                for event in each.alphabet.events[:-1]:
                    label = label_of[event.label]
                    events.setdefault(label, replace(event, label=label))
        ends: dict[str, LabelledEvent] = {}
        for kind in self.kinds:
            end = next(version[kind].alphabet.events[-1] for version in self.runs if kind in version)
            label = end.label
            while label in events or label in ends:
                label = f"{label}!"
            ends[label] = replace(end, label=label)
        return Alphabet((*events.values(), *ends.values()), len(ends))

    def _union(self, number: int) -> Automaton:
        """All words of a version, whatever their end."""
        labels, length, label_of = self.alphabet.labels, self.bounds.word_length, self.label_of[number]
        found = Automaton.from_words((), labels)
        for kind, each in self.runs[number].items():
            events = [label_of[label] for label in each.automaton.labels[:-1]]
            own = replace(each.automaton, labels=(*events, labels[self.letter(kind)]))
            found = union(found, _within(minimise(relabelled(own, labels)), length))
        return found

    def _cut_off_words(self, number: int) -> Automaton:
        """All words that begin like an execution that was not followed to its end."""
        events = next(iter(self.runs[number].values())).teacher.alphabet
        begun = Automaton.from_words(
            [self._letters(number, events.spelled(word)) for word in self.reports[number].begun], self.alphabet.labels
        )
        rows = tuple(
            (state,) * len(row) if state in begun.accepting else row for state, row in enumerate(begun.transitions)
        )
        return replace(begun, transitions=rows)

    def with_end(self, automaton: Automaton, end: int) -> Automaton:
        """Those of the words that end with a certain letter."""
        nowhere = len(automaton)
        others = set(self.alphabet.terminal) - {end}
        rows = [
            tuple(nowhere if letter in others else target for letter, target in enumerate(row))
            for row in automaton.transitions
        ]
        rows.append((nowhere,) * len(automaton.labels))
        return minimise(replace(automaton, transitions=tuple(rows)))

    def finder(self, number: int) -> Finder:
        """Finds executions of one version."""
        runs, label_of = self.runs[number], self.label_of[number]

        def find(word: Word) -> Execution | None:
            found = runs.get(self.kinds[word[-1] - self.alphabet.terminal[0]]) if word else None
            if found is None:
                return None
            own = {label_of[event.label]: letter for letter, event in enumerate(found.teacher.alphabet.events[:-1])}
            letters = [own.get(self.alphabet.labels[letter]) for letter in word[:-1]]
            if None in letters:
                return None
            try:
                return found.find((*(each for each in letters if each is not None), found.teacher.alphabet.error))
            except LearningInterrupted:  # the time is over: the difference is known, and its inputs are not
                return None

        return find

    def with_places(self, having: Sequence[int]) -> Alphabet:
        """The alphabet, with the places where its events stand in these versions."""
        events = list(self.alphabet.events)
        known = {event.label: letter for letter, event in enumerate(events[: -self.alphabet.ends])}
        for number in reversed(having):
            for kind, each in self.runs[number].items():
                for event in each.alphabet.events[:-1]:
                    label = self.label_of[number][event.label]
                    events[known[label]] = replace(event, label=label)
                at = self.letter(kind)
                events[at] = replace(each.alphabet.events[-1], label=events[at].label)
        return replace(self.alphabet, events=tuple(events))


def _merged(reports: Sequence[TeacherReport]) -> TeacherReport:
    """One report for a version, from the teachers of all its kinds of ends."""
    return TeacherReport(
        Basis.COMPLETE if all(each.basis is Basis.COMPLETE for each in reports) else Basis.SAMPLED,
        list(dict.fromkeys(text for each in reports for text in each.reached)),
        list(dict.fromkeys(text for each in reports for text in each.warnings)),
        any(each.left_out for each in reports),
        slow=max(each.slow for each in reports),
        long=max(each.long for each in reports),
        begun=tuple(sorted({word for each in reports for word in each.begun})),
    )


def _within(automaton: Automaton, length: int) -> Automaton:
    """The words up to a length: of longer ones, an automaton with loops says nothing that was looked at."""
    alive, here = live(automaton), {automaton.initial}
    for _ in range(length + 1):
        here = {target for state in here & alive for target in automaton.transitions[state] if target in alive}
    if not here:
        return automaton
    letters = len(automaton.labels)
    rows = tuple((min(state, length) + 1,) * letters for state in range(length + 2))  # counts, and stays past the end
    return intersection(automaton, Automaton(automaton.labels, 0, rows, frozenset(range(length + 1))))


def aligned_labels(
    versions: Sequence[Sequence[LabelledEvent]], lines: Sequence[Lines], names: Sequence[str]
) -> list[Mapping[str, str]]:
    """For each version, what its events are called where all are compared.

    A label with the line of its event is that of an earlier version, if the line corresponds to one there. Lines
    correspond as `diff` would say it; those of a place that was changed do one by one, or the most alike of them. A
    label that would stand for a line of another version is marked with the version's name."""
    found: list[dict[str, str]] = []
    for number, events in enumerate(versions):
        labels = {event.label: event.label for event in events}
        taken = {label for other in found for label in other.values()}
        for event in events:
            if number == 0 or event.file is None or event.line is None or not _line_in_label(event):
                continue
            for earlier in range(number):
                label = _counterpart(event, events, versions[earlier], lines[number], lines[earlier])
                if label is not None:
                    labels[event.label] = found[earlier][label]
                    break
            else:
                if event.label in taken:
                    labels[event.label] = f"{event.label} [{names[number]}]"
        found.append(labels)
    return list(found)


def _line_in_label(event: LabelledEvent) -> re.Match[str] | None:
    """Where a label has the line of its event."""
    return re.search(rf"(?<=:){event.line}(?=[ .])|(?<=\(line ){event.line}(?=\))", event.label)


def _counterpart(
    event: LabelledEvent,
    events: Sequence[LabelledEvent],
    others: Sequence[LabelledEvent],
    lines: Lines,
    other_lines: Lines,
) -> str | None:
    """The label of the same event of another version."""
    assert event.file is not None and event.line is not None
    file = _same_file(event.file, events, others)
    if file is None:
        return None
    line = _old_lines(tuple(other_lines(file)), tuple(lines(event.file))).get(event.line)
    place = _line_in_label(event)
    assert place is not None
    label = f"{event.label[: place.start()]}{line}{event.label[place.end() :]}"
    return label if any(each.label == label and each.line == line for each in others) else None


def _same_file(file: str, events: Sequence[LabelledEvent], others: Sequence[LabelledEvent]) -> str | None:
    """The file of another version that a file corresponds to: one of the same name, or the only one."""
    theirs = {each.file for each in others if each.file is not None and _line_in_label(each)}
    ours = {each.file for each in events if each.file is not None and _line_in_label(each)}
    if file in theirs:
        return file
    return next(iter(theirs)) if len(theirs) == len(ours) == 1 else None


@cache
def _old_lines(before: tuple[str, ...], after: tuple[str, ...]) -> dict[int, int]:
    """Which line each line was before, counted from 1."""
    found = {}
    for tag, first, last, start, end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal" or (tag == "replace" and last - first == end - start):
            found.update({start + at + 1: first + at + 1 for at in range(end - start)})
        elif tag == "replace":
            pairs = _similar_pairs(before[first:last], after[start:end])
            found.update({start + new + 1: first + old + 1 for old, new in pairs})
    return found


def _similar_pairs(before: Sequence[str], after: Sequence[str]) -> list[tuple[int, int]]:
    """The pairs of lines that are most alike, in the same order in both."""
    if len(before) * len(after) > _MANY:
        return []
    best: dict[tuple[int, int], tuple[float, tuple[int, int] | None]] = {}  # how alike so far, and which pair was last
    for old in range(-1, len(before)):
        for new in range(-1, len(after)):
            if old < 0 or new < 0:
                best[old, new] = (0.0, None)
                continue
            here = max(best[old - 1, new], best[old, new - 1], key=lambda each: each[0])
            ratio = SequenceMatcher(None, before[old].strip(), after[new].strip(), autojunk=False).ratio()
            if ratio > _ALIKE and best[old - 1, new - 1][0] + ratio > here[0]:
                here = (best[old - 1, new - 1][0] + ratio, (old, new))
            best[old, new] = here
    found = []
    last = best[len(before) - 1, len(after) - 1][1]
    while last is not None:
        found.append(last)
        last = best[last[0] - 1, last[1] - 1][1]
    return found
