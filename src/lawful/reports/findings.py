"""What reports say about a finding: its message, and facts under labels. All formats take their words from here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from lawful.diagnostics import printable
from lawful.engine.wording import count, doomed_place, expected, short

if TYPE_CHECKING:
    from lawful.engine.findings import Finding
    from lawful.reports.fingerprints import Mark
    from lawful.reports.sequence import Diagram

LEARNED = "learned"
"""The law that nobody wrote."""


@dataclass(frozen=True, slots=True)
class Item:
    """A finding as every format has it."""

    finding: Finding
    message: str  # of `lawful.engine.wording`, which exceptions and the dashboard use, too
    mark_of: Callable[[Finding], Mark]
    trace: str | None = None
    diagram: Diagram | None = None  # of the messages that led there, if it is about these

    @property
    def mark(self) -> Mark:
        return self.mark_of(self.finding)

    @property
    def anomaly(self) -> bool:
        return self.finding.anomaly is not None

    @property
    def kind(self) -> str:
        return "violation" if self.finding.anomaly is None else "anomaly"

    @property
    def place(self) -> str:
        """The file and line, or the trace; empty if neither is known."""
        return place(self.finding.file, self.finding.line) or self.trace or ""

    @property
    def title(self) -> str:
        """What it breaks: a law, or a rule that was learned."""
        return self.finding.law if self.finding.anomaly is None else f"{LEARNED}: {self.finding.anomaly.rule}"


def ranked(items: list[Item]) -> list[Item]:
    """Violations before anomalies; the most frequent, or the highest score, first."""

    def rank(item: Item) -> tuple[bool, float]:
        anomaly = item.finding.anomaly
        return anomaly is not None, -item.finding.count if anomaly is None else -anomaly.score

    return sorted(items, key=rank)


def place(file: object, line: object) -> str:
    """A file and a line, as far as an event names them."""
    if not isinstance(file, str):
        return ""
    return f"{printable(file)}:{line}" if isinstance(line, int) else printable(file)


# -- facts -------------------------------------------------------------------------------------------------------------


def seen(finding: Finding) -> str:
    """How often; empty if once."""
    if finding.count == 1:
        return ""
    first, last = finding.first_time, finding.last_time
    when = f", first after {first:.3f} s, last after {last:.3f} s" if first is not None and last is not None else ""
    return f"{count(finding.count, 'time')}{when}"


def wanted(finding: Finding) -> str:
    """What the law would have accepted in place of the event, or of the end."""
    return expected(finding.expectation) or "nothing: no event could be accepted here"


def lost(finding: Finding) -> str:
    """Since when the law could not be kept any more; empty if it could."""
    if finding.doomed_at is None:
        return ""
    return f"{doomed_place(finding)}: whatever followed, the law could not be kept any more"


def bindings(finding: Finding) -> tuple[str, str]:
    """The values of the law's variables, and how many other instances of the law there are."""
    items, others = finding.expectation.bindings.items(), finding.expectation.others
    values = ", ".join(f"{printable(name)} = {short(value)}" for name, value in items)
    return values, f" (and {count(others, 'other instance')})" if others else ""


def made(finding: Finding) -> str:
    """The class of the object that broke the law, and where it was made; empty if that is not known."""
    if finding.made is None:
        return ""
    where = place(finding.made.get("file"), finding.made.get("line"))
    kind = printable(str(finding.made.get("class") or finding.made.get("name") or "object"))
    return f"{kind} at {where}" if where else kind


def contexts(finding: Finding, most: int) -> Iterator[str]:
    """In which tests, and how often in each."""
    for context, times in islice(finding.contexts.items(), most):
        yield printable(context) + (f" ({times:,} times)" if times > 1 else "")
