"""What the executions of one bound have shown, and what is said of them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lawful.explain.model import Alphabet, Basis, Bounds, Execution, Limits, Report, Word


@dataclass
class Run:
    """What is known of one bound."""

    limits: Limits
    most: int
    executions: dict[tuple[Hashable, ...], Execution] = field(default_factory=dict)
    """One for each word and for each way in which it ended."""

    finished: bool = False
    basis: Basis = Basis.SAMPLED
    reached: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    left_out: bool = False
    slow: int = 0
    begun: set[Word] = field(default_factory=set)
    """How the words begin of executions that did not end; the empty word: nothing is known of some."""

    long: int = 0
    long_example: str = ""

    def report(self, bounds: Bounds, alphabet: Alphabet) -> Report:
        """What is said of it, for words up to a length."""
        begun = {()} if self.reached or () in self.begun else self.begun
        report = Report(
            self.basis,
            list(self.reached),
            list(self.warnings),
            self.left_out,
            slow=self.slow,
            long=self.long,
            begun=tuple(sorted(begun)),
        )
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
class Progress:
    """The sums of what several requests report."""

    ran: int = 0
    slow: int = 0
    long: int = 0
    memory: int = 0
    lost: int = 0
    unjoined: int = 0
    solver: int = 0
    deaths: int = 0
    slow_example: str = ""
    long_example: str = ""
    memory_example: str = ""
    lost_example: str = ""
    unjoined_example: str = ""
    died: dict[str, str] = field(default_factory=dict)
    begun: set[Word] = field(default_factory=set)

    def add(self, end: Mapping[str, Any]) -> None:
        self.ran += end["ran"]
        self.slow += end["slow"]
        self.long += end["long"]
        self.memory += end["memory"]
        self.lost += end["lost"]
        self.unjoined += end["unjoined"]
        self.solver += end.get("solver", 0)
        self.slow_example = self.slow_example or end["examples"].get("slow", "")
        self.long_example = self.long_example or end["examples"].get("long", "")
        self.memory_example = self.memory_example or end["examples"].get("memory", "")
        self.lost_example = self.lost_example or end["examples"].get("lost", "")
        self.unjoined_example = self.unjoined_example or end["examples"].get("unjoined", "")
        self.died = {**end["deaths"], **self.died}
        self.begun |= {tuple(each) for each in end["begun"]}

    def warnings(self, limits: Limits) -> list[str]:
        found = []
        if self.slow:
            many = "executions" if self.slow > 1 else "execution"
            within = f"{limits.seconds_per_execution:g} s"
            found.append(f"{self.slow} {many} did not end within {within}, e.g. that of {self.slow_example}")
        if self.lost:
            many = "executions" if self.lost > 1 else "execution"
            example = f", e.g. that of {self.lost_example}" if self.lost_example else ""
            found.append(f"{self.lost} {many} could not be watched{example}")
        if self.unjoined:
            many = "executions" if self.unjoined > 1 else "execution"
            found.append(
                f"{self.unjoined} {many} left threads running, e.g. that of {self.unjoined_example}:"
                " what they do later is not seen"
            )
        for how, text in self.died.items():
            found.append(f"the program ended its process ({how}), e.g. with {text}")
        return found


def reached(stopped: str | None, limits: Limits, tally: Progress) -> list[str]:
    """The limits that a run came to, as sentences."""
    found = []
    if tally.memory:
        many = "executions" if tally.memory > 1 else "execution"
        said = f"{tally.memory} {many} needed more than {limits.megabytes:,} MB of memory"
        found.append(f"{said}, e.g. that of {tally.memory_example}")
    sentences = {
        "paths": f"stopped after {limits.paths or 0:,} paths",
        "words": f"stopped after {limits.words or 0:,} words",
        "seconds": f"stopped after {limits.seconds or 0:g} seconds",
        "slow": f"stopped after {tally.slow} executions that did not end",
        "memory": f"stopped after {tally.memory} executions that needed too much memory",
    }
    return found if stopped is None else [*found, sentences[stopped]]
