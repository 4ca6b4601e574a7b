"""The executions of one bound, and the report on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lawful.explain.teacher import Alphabet, Bounds, Execution, Limits, TeacherReport, Word


@dataclass(kw_only=True)
class BoundRun(TeacherReport):
    """The executions of one bound, and what is known about them as a whole."""

    limits: Limits
    most: int
    executions: dict[tuple[Hashable, ...], Execution] = field(default_factory=dict)
    """One for each word and for each way in which it ended."""

    finished: bool = False
    long_example: str = ""

    def report(self, bounds: Bounds, alphabet: Alphabet) -> TeacherReport:
        """The report on them, for words up to a length."""
        begun: tuple[Word, ...] = ((),) if self.reached or () in self.begun else self.begun
        copies = list(self.reached), list(self.warnings)
        report = TeacherReport(self.basis, *copies, self.left_out, slow=self.slow, long=self.long, begun=begun)
        longer = list(
            {each.word: each for each in self.executions.values() if len(each.word) > bounds.word_length}.values()
        )
        if longer or self.long:
            example = longer[0].example if longer else self.long_example
            some = "at least " if self.long else ""
            count = len(longer) + (1 if self.long else 0)
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
    counts: Counter[str] = field(default_factory=Counter)
    """How many executions were not as the others are: `slow`, `long`, `memory`, `lost`, `unjoined`."""

    examples: dict[str, str] = field(default_factory=dict)
    """One of each."""

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
        said = {
            "slow": f"did not end within {limits.seconds_per_execution:g} s{self._example('slow')}",
            "lost": f"could not be watched{self._example('lost')}",
            "unjoined": f"left threads running{self._example('unjoined')}: what they do later is not seen",
        }
        found = [f"{self.count(name)} {what}" for name, what in said.items() if self.counts[name]]
        return found + [f"the program ended its process ({how}), e.g. with {text}" for how, text in self.died.items()]

    def count(self, name: str) -> str:
        """How many there were, in words."""
        number = self.counts[name]
        return f"{number} {'executions' if number > 1 else 'execution'}"

    def _example(self, name: str) -> str:
        return f", e.g. that of {self.examples[name]}" if name in self.examples else ""


def reached(stopped: str | None, limits: Limits, tally: RunTotals) -> list[str]:
    """The limits that a run came to, as sentences."""
    found = []
    if tally.counts["memory"]:
        said = f"{tally.count('memory')} needed more than {limits.megabytes:,} MB of memory"
        found.append(f"{said}, e.g. that of {tally.examples['memory']}")
    sentences = {
        "paths": f"stopped after {limits.paths or 0:,} paths",
        "words": f"stopped after {limits.words or 0:,} words",
        "seconds": f"stopped after {limits.seconds or 0:g} seconds",
        "slow": f"stopped after {tally.counts['slow']} executions that did not end",
        "memory": f"stopped after {tally.counts['memory']} executions that needed too much memory",
    }
    return found if stopped is None else [*found, sentences[stopped]]
