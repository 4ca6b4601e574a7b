"""The versions to compare. Each kind of end, such as an exception, has a teacher of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from lawful.explain.learning_run import Naming
from lawful.explain.teacher import (
    Alphabet,
    Bounds,
    EventKeys,
    Execution,
    ExecutionSource,
    LabelledEvent,
    Limits,
    QueryCounts,
    Teacher,
    TeacherReport,
)
from lawful.explain.teachers.executions import ExecutionsTeacher

END = "end"  # the kind of an execution that comes to its end; the others are errors, by their names

RepeatedRun = tuple[tuple[str, ...], str]  # what an execution did: the labels of its events, and its kind of end


class ComparedProgram:
    """One of the versions that are compared: for each kind of end, a teacher to which that is the error.

    `naming` is how its files are shown, `source` what runs for it, if it is a Python program."""

    def __init__(
        self, kinds: Mapping[str, Teacher], naming: Naming, folder: str = ".", source: ExecutionSource | None = None
    ) -> None:
        self._kinds = kinds
        self.naming = naming
        self._folder = folder
        self._source = source

    @property
    def letters(self) -> EventKeys:
        """Its events, for other versions to see them too; none, if it is not a Python program."""
        return () if self._source is None else self._source.letters

    def close(self) -> None:
        """Ends what runs for it; it starts again when it is needed."""
        if self._source is not None:
            self._source.close()

    def lines(self, file: str) -> Sequence[str]:
        """The lines of one of its files, as its events name it; none, if it cannot be read."""
        try:
            return Path(self._folder, file).read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return ()

    def teachers(self, unwind: int, longest: int) -> Mapping[str, Teacher]:
        """The teachers. To find them may run the program on inputs of this size, for words up to this length."""
        return self._kinds

    def so_far(self, unwind: int, longest: int) -> Mapping[str, Teacher] | None:
        """The same from the executions before an interruption, if there were any."""
        return None

    def repeated(self, inputs: Sequence[str], unwind: int) -> Mapping[str, RepeatedRun]:
        """What it does on inputs that an execution of another version had, if it can be run on them."""
        return {}


class ObservedEndings(ComparedProgram):
    """A program whose executions show how it ends: well, or with which error."""

    def __init__(self, source: ExecutionSource, limits: Limits, naming: Naming, folder: str = ".") -> None:
        super().__init__({}, naming, folder, source)
        self._executions = source
        self._all = ExecutionsTeacher(source, limits)
        self._found: set[Bounds] = set()

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
        events = self._executions.alphabet.events[:-1]
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
        name = execution.error or self._executions.alphabet.labels[-1]
        return f"{name} (error)" if name == END else name

    def repeated(self, inputs: Sequence[str], unwind: int) -> Mapping[str, RepeatedRun]:
        alphabet = self._executions.alphabet
        found = self._executions.repeated(inputs, unwind)
        return {
            text: (alphabet.spelled(each.word[:-1] if each.failed else each.word), self._kind(each))
            for text, each in found.items()
        }


class _OfKind(ExecutionSource):
    """The executions with one kind of end, which is their last letter."""

    def __init__(
        self, events: Sequence[LabelledEvent], kind: str, found: Sequence[Execution], report: TeacherReport
    ) -> None:
        label = kind
        while any(event.label == label for event in events):
            label += "!"
        self.alphabet = Alphabet((*events, LabelledEvent(label)))
        self._found = found
        self.report = report
        self.counts = QueryCounts()

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
