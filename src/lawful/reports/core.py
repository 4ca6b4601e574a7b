"""The report that every format renders: findings, laws, the run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from lawful.engine.wording import count

if TYPE_CHECKING:
    from lawful.confidence.summary import ClassSummary
    from lawful.engine import LawResult, TraceRun
    from lawful.laws.protocol import Law
    from lawful.learning.learner import Learner
    from lawful.reports.findings import Item
    from lawful.reports.fingerprints import Mark
    from lawful.reports.sources import SourceLines

State = Literal["kept", "broken", "undecided"]

_FACT = re.compile(r"(?://|#)\s*(\w+)\s*:\s*(.*?)\s*")
_COMMENT = re.compile(r"\s*(?://|#)\s?(.*)")


class Judged(NamedTuple):
    """A law, on a trace or on a program."""

    law: Law
    state: State
    trace: str | None = None
    message: str = ""


@dataclass(slots=True)
class Report:
    """The whole report."""

    command: str  # run, check, learn, pytest
    items: list[Item]  # in the order in which they were found
    laws: list[Judged]
    source: SourceLines
    events: int
    hidden: list[Mark]  # of findings that a baseline knows
    baseline: str | None = None
    violations: int = 0
    seconds: float | None = None
    judging: float = 0.0  # seconds of these
    threads: int = 0
    processes: int = 0  # none if traces were read
    dropped: int = 0
    omitted: int = 0  # violations at further places
    suppressed: int = 0  # violations that the source or the project ignores
    over_budget: int = 0  # further anomalies
    known: list[Item] = field(default_factory=list)  # anomalies that earlier runs had, too
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    traces: list[str] = field(default_factory=list)
    runs: Sequence[TraceRun] = ()  # of these traces
    confidence: Sequence[ClassSummary] | None = None  # if objects were sampled
    unsampled_laws: Sequence[str] = ()
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
            parts.append(f"{len(self.hidden):,} known and hidden")
        if self.known:
            parts.append(known_before(len(self.known)))
        if self.omitted:
            parts.append(not_listed(self.omitted))
        if self.over_budget:
            parts.append(f"{self.over_budget:,} more over the budget")
        if self.dropped:
            parts.append(f"{count(self.dropped, 'event')} dropped")
        return "; ".join(parts)


def known_before(known: int) -> str:
    """How many anomalies a store knows from earlier runs."""
    return f"{count(known, 'anomaly', 'anomalies')} that earlier runs had, too"


def not_listed(omitted: int) -> str:
    """How many violations a report does not list."""
    return f"{count(omitted, 'violation')} at further places not listed"


def ignored(suppressed: int) -> str:
    """How many violations were suppressed."""
    return f"{count(suppressed, 'violation')} ignored, as the source or the project asks"


def lost_events(dropped: int) -> str:
    """How many events were dropped, and what that means."""
    return f"{count(dropped, 'event')} dropped: findings may be wrong or missing without them"


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
