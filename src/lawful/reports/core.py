"""The report that every format renders: findings with their fingerprints, laws, the run; and the words for them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from lawful.engine.findings import plain
from lawful.engine.wording import count, expected, short, shortened

if TYPE_CHECKING:
    from lawful.confidence.summary import ClassSummary
    from lawful.engine import Finding, LawResult
    from lawful.laws.protocol import Law
    from lawful.learning.learner import Learner
    from lawful.reports.fingerprints import Mark
    from lawful.reports.sequence import Diagram
    from lawful.reports.sources import SourceLines

__all__ = [
    "Item",
    "Judged",
    "Report",
    "TraceRead",
    "about",
    "count",
    "expected",
    "plain",
    "result_message",
    "short",
    "shortened",
]

LEARNED = "learned"
"""The law that nobody wrote."""

State = Literal["kept", "broken", "undecided"]

_FACT = re.compile(r"(?://|#)\s*(\w+)\s*:\s*(.*?)\s*")
_COMMENT = re.compile(r"\s*(?://|#)\s?(.*)")


# -- a report, whatever was done and whatever it is written as ---------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Item:
    """A finding as every format has it."""

    finding: Finding
    mark: Mark
    message: str
    trace: str | None = None
    diagram: Diagram | None = None  # of the messages that led there, if it is about these

    @property
    def anomaly(self) -> bool:
        return self.finding.anomaly is not None

    @property
    def place(self) -> str:
        """The file and line, or the trace; empty if neither is known."""
        file, line = self.finding.file, self.finding.line
        if file is None:
            return self.trace or ""
        return file if line is None else f"{file}:{line}"

    @property
    def title(self) -> str:
        """What it breaks: a law, or a rule that was learned."""
        return self.finding.law if self.finding.anomaly is None else f"{LEARNED}: {self.finding.anomaly.rule}"


@dataclass(frozen=True, slots=True)
class Judged:
    """A law, on a trace or on a program."""

    law: Law
    state: State
    trace: str | None = None
    message: str = ""


class TraceRead(NamedTuple):
    """A trace that was read."""

    name: str
    events: int
    error: str | None


@dataclass(slots=True)
class Report:
    """The whole report."""

    command: str  # run, check, learn, pytest
    items: list[Item]  # what is most worth a look comes first
    laws: list[Judged]
    source: SourceLines
    events: int
    seconds: float | None = None
    judging: float | None = None  # seconds of these
    overhead: float | None = None  # the share of time that watching took, where that was measured
    threads: int | None = None
    processes: int | None = None
    dropped: int = 0
    omitted: int = 0  # violations at further places
    suppressed: int = 0  # violations that the source or the project ignores
    over_budget: int = 0  # further anomalies
    known: list[Item] = field(default_factory=list)  # anomalies that earlier runs had, too
    hidden: int = 0  # findings that a baseline knows
    baseline: str | None = None
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    traces: list[TraceRead] = field(default_factory=list)
    confidence: Sequence[ClassSummary] = ()
    learner: Learner | None = None

    def each_law(self) -> Iterator[tuple[Judged, About]]:
        """Every law once, those that were broken first, with what its own comments say about it."""
        seen: set[str] = set()
        for judged in sorted(self.laws, key=lambda judged: judged.state != "broken"):
            if judged.law.name not in seen:
                seen.add(judged.law.name)
                yield judged, about(judged.law)

    @property
    def summary(self) -> str:
        """How much of what, in one line."""
        parts = [f"{count(len(self.items), 'finding')} in {count(self.events, 'event')}"]
        if self.hidden:
            parts.append(f"{self.hidden:,} known and hidden")
        if self.known:
            parts.append(known_before(len(self.known)))
        if self.omitted:
            parts.append(f"{count(self.omitted, 'violation')} at further places not listed")
        if self.over_budget:
            parts.append(f"{self.over_budget:,} more over the budget")
        if self.dropped:
            parts.append(f"{count(self.dropped, 'event')} dropped")
        return "; ".join(parts)


def known_before(known: int) -> str:
    """How many anomalies a store knows from earlier runs."""
    return f"{count(known, 'anomaly', 'anomalies')} that earlier runs had, too"


def ranked(items: list[Item]) -> list[Item]:
    """Violations before anomalies; the most frequent, or the highest score, first."""

    def rank(item: Item) -> tuple[bool, float]:
        anomaly = item.finding.anomaly
        return anomaly is not None, -item.finding.count if anomaly is None else -anomaly.score

    return sorted(items, key=rank)


# -- words -------------------------------------------------------------------------------------------------------------


class About(NamedTuple):
    """What a law's own comments say about it."""

    title: str
    facts: dict[str, str]  # as `rule`, `fix`, `docs`, `severity` in the laws of the catalogue


def about(law: Law) -> About:
    """The comment that a law opens with: lines of the form `key: value`, or a sentence."""
    facts: dict[str, str] = {}
    words: list[str] = []
    for line in law.source.lstrip().splitlines():
        comment = _COMMENT.fullmatch(line)
        if comment is None or (words and not comment[1].strip()):
            break
        fact = _FACT.fullmatch(line.strip())
        if fact is not None:
            facts.setdefault(fact[1], fact[2])
        elif not facts:
            words.append(comment[1].strip())
    return About(facts.get("title") or " ".join(words), facts)


def result_message(result: LawResult, events: int) -> str:
    """What became of a law on a trace of so many events, in one line."""
    if result.accepted:
        return "accepted"
    if result.accepted is None:
        return f"not decided: {result.verdict} after {count(events, 'event')}"
    if result.rejected_at == "end":
        return "the trace may not end here" if events else "the trace may not be empty"
    if result.rejected_at is None:
        return "lost: nothing that follows can be accepted"
    return f"event {result.rejected_at} is not allowed here"
