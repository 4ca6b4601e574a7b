"""Recorded traces as executions: some ended in the error, the others did not."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lawful.errors import LawfulError
from lawful.events.reader import open_trace
from lawful.explain.teacher import (
    MOST_EVENTS,
    Alphabet,
    Basis,
    Bounds,
    Execution,
    ExecutionSource,
    LabelledEvent,
    Limits,
    QueryCounts,
    TeacherReport,
    Word,
)

_LONGEST = 100_000  # events of an execution that are kept
_ENDS = ("func_post", "func_raise")
_NOISE = ("born", "gone", "tick", "yield", "resume", "iter_next", "field_read")
_TRACES = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".json")

TracePath = str | os.PathLike[str]


@dataclass
class _Recording:
    """One execution as it was recorded: numbers of names, and where each event was."""

    failed: bool
    example: str
    names: list[int] = field(default_factory=list)
    places: list[tuple[str, int] | None] = field(default_factory=list)


class TraceSource(ExecutionSource):
    """The executions that were recorded, and no others.

    Each file is an execution, and of a folder each trace in it. `events`: patterns of the names that are letters;
    none: those nearest to the ends of the failing traces, `most` of them."""

    def __init__(
        self,
        failing: Sequence[TracePath],
        passing: Sequence[TracePath] = (),
        *,
        events: Sequence[str] = (),
        most: int = MOST_EVENTS,
    ) -> None:
        self._names: dict[tuple[str, str], int] = {}  # kinds and names of events, numbered as they come up
        self._recorded = [self._read(file, True) for file in _files(failing)]
        self._recorded += [self._read(file, False) for file in _files(passing)]
        if not any(each.failed for each in self._recorded):
            hint = "name at least one trace of an execution that failed"
            raise LawfulError("explain-traces", "the traces have no failing execution", hint=hint)
        self._keys = list(self._names)
        self._labels_by_number = {  # calls by their name, others by what they are, too
            number: name if kind == "func_pre" and name else f"{kind} {name}".strip()
            for (kind, name), number in self._names.items()
        }
        self._chosen = self._choose(events, most)
        labels = _labels([self._labels_by_number[number] for number in self._chosen])
        error = "error"
        while error in labels:
            error = f"{error} (error)"
        letters = [LabelledEvent(label, *self._first_place(n)) for label, n in zip(labels, self._chosen, strict=True)]
        self.alphabet = Alphabet((*letters, LabelledEvent(error)))
        self.counts = QueryCounts()
        self.report = TeacherReport(Basis.SAMPLED)
        self._executions = list(self._spelled())

    def _read(self, file: Path, failed: bool) -> _Recording:
        found = _Recording(failed, str(file))
        with open_trace(file) as trace:
            for event in trace:
                if len(found.names) <= _LONGEST:
                    key = str(event.get("event", "")), str(event.get("name", ""))
                    found.names.append(self._names.setdefault(key, len(self._names)))
                    found.places.append(_place(event))
        return found

    def shortest(self) -> int:
        return min((len(each.word) for each in self._executions if each.failed), default=1)

    def executions(self, bounds: Bounds, limits: Limits | None = None) -> Iterator[Execution]:
        """Each word once that is not too long, as often as it failed and passed. Traces know no other bound."""
        seen: set[tuple[Word, bool]] = set()
        longer = [each for each in self._executions if len(each.word) > bounds.word_length]
        warnings = []
        if longer:
            many = f"{len(longer)} {'traces are' if len(longer) > 1 else 'trace is'} longer"
            warnings.append(f"{many} than {bounds.word_length} events and left out, e.g. {longer[0].example}")
        if cut := sum(len(each.names) > _LONGEST for each in self._recorded):
            many = f"{cut} {'execution has' if cut == 1 else 'executions have'} more"
            warnings.append(f"{many} than {_LONGEST:,} events, and no word")
        self.report = TeacherReport(Basis.SAMPLED, [], warnings, left_out=bool(warnings))
        most = None if limits is None else limits.words
        for each in self._executions:
            if len(each.word) <= bounds.word_length and (each.word, each.failed) not in seen:
                if most is not None and len(seen) >= most:
                    self.report.reached.append(f"stopped after {most:,} words")
                    return
                seen.add((each.word, each.failed))
                self.counts.executions += 1
                yield each

    def _choose(self, patterns: Sequence[str], most: int) -> list[int]:
        names = self._names
        if patterns:
            found = [n for (kind, name), n in names.items() if any(_matches(each, kind, name) for each in patterns)]
            found = [number for number in found if not self._is_end(number)] or found
            if not found:
                known = ", ".join(list(dict.fromkeys(self._labels_by_number.values()))[:12])
                message = f"no event of the traces matches {', '.join(patterns)}"
                raise LawfulError("explain-events", message, hint=f"there are {known}" if known else None)
            return found
        found = [n for (kind, _), n in names.items() if kind not in _NOISE and not self._is_end(n)]
        if len(found) > most:
            near: dict[int, int] = {}
            for each in self._recorded:
                for away, number in enumerate(reversed(each.names) if each.failed else (), start=1):
                    near[number] = min(near.get(number, _LONGEST), away)
            kept = set(sorted(found, key=lambda number: near.get(number, 2 * _LONGEST))[:most])
            found = [number for number in found if number in kept]
        return found

    def _is_end(self, number: int) -> bool:
        """Is it the end of a call whose beginning is there too?"""
        kind, name = self._keys[number]
        return kind in _ENDS and ("func_pre", name) in self._names

    def _first_place(self, number: int) -> tuple[str, int] | tuple[None, None]:
        for each in self._recorded:
            if number in each.names:
                place = each.places[each.names.index(number)]
                if place is not None:
                    return place
        return None, None

    def _spelled(self) -> Iterator[Execution]:
        letters = {number: letter for letter, number in enumerate(self._chosen)}
        error = self.alphabet.error
        for each in self._recorded:
            if len(each.names) > _LONGEST:
                continue  # how it went on is not known
            kept = [(letters[n], place) for n, place in zip(each.names, each.places, strict=True) if n in letters]
            word: Word = tuple(letter for letter, _ in kept)
            places: list[tuple[str, int] | None] = [place for _, place in kept]
            if each.failed:
                word, places = (*word, error), [*places, None]
            yield Execution(word, each.failed, each.example, tuple(places) if any(places) else None)


def _files(paths: Iterable[TracePath]) -> Iterator[Path]:
    for each in map(Path, paths):
        if each.is_dir():
            found = sorted(file for file in each.iterdir() if file.name.endswith(_TRACES))
            if not found:
                raise LawfulError("explain-traces", "this folder has no traces", where=str(each))
            yield from found
        else:
            yield each


def _matches(pattern: str, kind: str, name: str) -> bool:
    parts = name.split(".") if name else []
    tried = [".".join(parts[at:]) for at in range(len(parts))]
    return any(fnmatch.fnmatchcase(each, pattern) for each in (*tried, kind, f"{kind} {name}"))


def _place(event: dict[str, Any]) -> tuple[str, int] | None:
    file, line = event.get("file"), event.get("line")
    return (file, line) if isinstance(file, str) and isinstance(line, int) else None


def _labels(names: list[str]) -> list[str]:
    """The shortest suffixes of the names that are distinct."""

    def shortest(name: str) -> str:
        parts = name.split(".")
        suffixes = (".".join(parts[at:]) for at in reversed(range(len(parts))))
        return next((each for each in suffixes if sum(f".{other}".endswith(f".{each}") for other in names) == 1), name)

    return [shortest(name) for name in names]
