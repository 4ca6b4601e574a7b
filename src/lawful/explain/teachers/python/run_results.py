"""The executions of one bound, and the report on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lawful.explain.teacher import Alphabet, Bounds, Execution, Limits, TeacherReport, Word


@dataclass(kw_only=True)
class BoundRun(TeacherReport):
    """The executions of one bound, and the report on all of them."""

    limits: Limits
    most: int
    executions: dict[tuple[Hashable, ...], Execution] = field(default_factory=dict)  # by word and how it ended
    finished: bool = False
    long_example: str = ""

    def report(self, bounds: Bounds, alphabet: Alphabet) -> TeacherReport:
        """The report on them, for words up to a length."""
        begun: tuple[Word, ...] = ((),) if self.reached or () in self.begun else self.begun
        copies = list(self.reached), list(self.warnings)
        report = TeacherReport(self.basis, *copies, self.left_out, slow=self.slow, long=self.long, begun=begun)
        longer = {each.word: each.example for each in self.executions.values() if len(each.word) > bounds.word_length}
        if longer or self.long:
            example = next(iter(longer.values()), self.long_example)
            some = "at least " if self.long else ""
            count = len(longer) + bool(self.long)
            what = "words are" if count != 1 else "word is"
            text = f"{some}{count} {what} longer than {bounds.word_length} and left out, e.g. that of {example}"
            report.warnings.append(text)
            report.left_out = True
        if self.long:  # they may go on forever
            many = "executions were" if self.long > 1 else "execution was"
            report.reached.append(f"{self.long:,} {many} cut off after {self.most:,} events")
        seen = {letter for each in self.executions.values() for letter in each.word}
        unseen = [label for letter, label in enumerate(alphabet.labels[:-1]) if letter not in seen]
        if unseen and self.executions:
            report.warnings.append(f"never seen: {', '.join(unseen)}")
        return report


@dataclass
class RunTotals:
    """The sums of what several requests report."""

    ran: int = 0
    solver: int = 0
    deaths: int = 0
    counts: Counter[str] = field(default_factory=Counter)  # executions that were `slow`, `long`, `memory`...
    examples: dict[str, str] = field(default_factory=dict)  # one of each
    died: dict[str, str] = field(default_factory=dict)
    begun: set[Word] = field(default_factory=set)

    def add(self, end: Mapping[str, Any]) -> None:
        self.ran += end["ran"]
        self.solver += end.get("solver", 0)
        self.counts.update(end["counts"])
        self.examples = {**end["examples"], **self.examples}
        self.died = {**end["deaths"], **self.died}
        self.begun |= {tuple(each) for each in end["begun"]}

    @property
    def whole(self) -> bool:
        """Is it known of all executions how they went on to their ends?"""
        return not any(self.counts[name] for name in ("slow", "memory", "lost", "unjoined"))

    def warnings(self, limits: Limits) -> list[str]:
        found = self._about("slow", f"did not end within {limits.seconds_per_execution:g} s")
        found += self._about("lost", "could not be watched")
        found += [f"{text}: what they do later is not seen" for text in self._about("unjoined", "left threads running")]
        return found + [f"the program ended its process ({how}), e.g. with {text}" for how, text in self.died.items()]

    def reached(self, stopped: str | None, limits: Limits) -> list[str]:
        """The limits that a run came to, as sentences."""
        found = self._about("memory", f"needed more than {limits.megabytes or 0:,} MB of memory")
        sentences = {
            "paths": f"stopped after {limits.paths or 0:,} paths",
            "words": f"stopped after {limits.words or 0:,} words",
            "seconds": f"stopped after {limits.seconds or 0:g} seconds",
            "slow": f"stopped after {self.counts['slow']} executions that did not end",
            "memory": f"stopped after {self.counts['memory']} executions that needed too much memory",
        }
        return found if stopped is None else [*found, sentences[stopped]]

    def _about(self, name: str, what: str) -> list[str]:
        """A sentence about the executions of a kind, if there were any."""
        number = self.counts[name]
        example = f", e.g. that of {self.examples[name]}" if name in self.examples else ""
        return [f"{number} {'executions' if number > 1 else 'execution'} {what}{example}"] if number else []
