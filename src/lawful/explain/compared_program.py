"""Programs whose executions are told apart by how they end: each kind of end has a teacher of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeGuard

from lawful.explain.learning_run import Naming
from lawful.explain.teacher import Alphabet, Bounds, Counts, Event, Execution, ExecutionSource, Limits, Report, Teacher
from lawful.explain.teachers.executions import ExecutionsTeacher

END = "end"
"""The kind of an execution that comes to its end. The others are errors, by their names."""


Letters = tuple[tuple[str, tuple[Any, ...], str], ...]
"""Events of a Python program: the kind, key and label of each."""


@dataclass(frozen=True)
class RepeatedRun:
    """What an execution did: the labels of its events, and its kind of end."""

    events: tuple[str, ...]
    kind: str


class ComparedProgram(Protocol):
    """One of the versions that are compared."""

    @property
    def naming(self) -> Naming:
        """How its files are shown."""

    @property
    def letters(self) -> Letters:
        """Its events, for other versions to see them too; none, if it is not a Python program."""

    def close(self) -> None:
        """Ends what runs for it; it starts again when it is needed."""

    def lines(self, file: str) -> Sequence[str]:
        """The lines of one of its files, as its events name it; none, if it cannot be read."""

    def teachers(self, unwind: int, longest: int) -> Mapping[str, Teacher]:
        """For each kind of end, a teacher to which that is the error. To find out which there are may run the program
        on inputs of this size, for words up to this length."""

    def so_far(self, unwind: int, longest: int) -> Mapping[str, Teacher] | None:
        """The same from what was seen before an interruption, if anything was."""

    def repeated(self, inputs: Sequence[str], unwind: int) -> Mapping[str, RepeatedRun]:
        """What it does on inputs that an execution of another version had, as far as it can be found out."""


@dataclass(frozen=True)
class FixedEndings:
    """A program of which it is known how it ends: in an error that was chosen; a C program by an assertion, or well."""

    kinds: Mapping[str, Teacher]
    naming: Naming
    folder: str = "."
    source: ExecutionSource | None = None
    """What is run for it, if it is a Python program."""

    @property
    def letters(self) -> Letters:
        return _letters(self.source)

    def close(self) -> None:
        _close(self.source)

    def lines(self, file: str) -> Sequence[str]:
        return _lines(self.folder, file)

    def teachers(self, unwind: int, longest: int) -> Mapping[str, Teacher]:
        return self.kinds

    def so_far(self, unwind: int, longest: int) -> Mapping[str, Teacher] | None:
        return None

    def repeated(self, inputs: Sequence[str], unwind: int) -> Mapping[str, RepeatedRun]:
        return {}


def _letters(source: ExecutionSource | None) -> Letters:
    found: Letters = getattr(source, "letters", ())
    return found


def _close(source: ExecutionSource | None) -> None:
    close = getattr(source, "close", None)
    if close is not None:
        close()


def _lines(folder: str, file: str) -> Sequence[str]:
    try:
        return Path(folder, file).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ()


class _Repeating(ExecutionSource, Protocol):
    def repeated(self, texts: Sequence[str], bound: int) -> dict[str, Execution]: ...


class ObservedEndings:
    """A program whose executions show how it ends: well, or with which error."""

    def __init__(self, source: ExecutionSource, limits: Limits, naming: Naming, folder: str = ".") -> None:
        self._source = source
        self._limits = limits
        self._all = ExecutionsTeacher(source, limits)
        self._found: set[Bounds] = set()
        self.naming = naming
        self._folder = folder

    @property
    def letters(self) -> Letters:
        return _letters(self._source)

    def close(self) -> None:
        _close(self._source)

    def lines(self, file: str) -> Sequence[str]:
        return _lines(self._folder, file)

    def teachers(self, unwind: int, longest: int) -> Mapping[str, Teacher]:
        bounds = Bounds(unwind, longest)
        self._all.bound(bounds)
        self._found.add(bounds)
        return self._by_kind(bounds)

    def so_far(self, unwind: int, longest: int) -> Mapping[str, Teacher] | None:
        bounds = Bounds(unwind, longest)
        return self._by_kind(bounds) if bounds in self._found else None

    def _by_kind(self, bounds: Bounds) -> dict[str, Teacher]:
        self._all.bound(bounds)
        events = self._source.alphabet.events[:-1]
        kinds: dict[str, list[Execution]] = {END: []}
        long = None
        for execution in self._all.passes().values():
            if len(execution.word) < bounds.word_length:
                kinds[END].append(execution)
            else:
                long = execution  # its end is a letter, too
        for endings in self._all.endings().values():
            for execution in endings:
                kinds.setdefault(self._kind(execution), []).append(execution)
        report = self._all.report
        if long is not None:
            text = f"words that end well after {bounds.word_length} events are left out, e.g. that of {long.example}"
            report = replace(report, left_out=True, warnings=[*report.warnings, text])
        return {
            kind: ExecutionsTeacher(_OfKind(events, kind, found, report), Limits(words=None, paths=None))
            for kind, found in kinds.items()
        }

    def _kind(self, execution: Execution) -> str:
        if not execution.failed:
            return END
        name = execution.error or self._source.alphabet.labels[-1]
        return f"{name} (error)" if name == END else name

    def repeated(self, inputs: Sequence[str], unwind: int) -> Mapping[str, RepeatedRun]:
        if not _repeats(self._source):
            return {}
        alphabet = self._source.alphabet
        found = self._source.repeated(inputs, unwind)
        return {
            text: RepeatedRun(
                alphabet.spelled(execution.word[:-1] if execution.failed else execution.word), self._kind(execution)
            )
            for text, execution in found.items()
        }


def _repeats(source: ExecutionSource) -> TypeGuard[_Repeating]:
    return hasattr(type(source), "repeated")


class _OfKind:
    """The executions with one kind of end, which is their last letter."""

    def __init__(self, events: Sequence[Event], kind: str, found: Sequence[Execution], report: Report) -> None:
        label = kind
        while any(event.label == label for event in events):
            label += "!"
        self.alphabet = Alphabet((*events, Event(label)))
        self._found = found
        self.report = report
        self.counts = Counts()

    def shortest(self) -> int:
        return min((len(each.word) + (not each.failed) for each in self._found), default=1)

    def executions(self, bounds: Bounds, limits: Limits) -> Iterator[Execution]:
        for each in self._found:
            ended = each
            if not each.failed:
                places = each.places and (*each.places, None)
                ended = replace(each, word=(*each.word, self.alphabet.error), failed=True, places=places)
            if len(ended.word) <= bounds.word_length:
                yield ended
