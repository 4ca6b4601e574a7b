"""Samples and confidence of classes of objects at one moment: plain values for reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from lawful.confidence.policy_run import PolicyMove
from lawful.confidence.statistics import Claim


class Point(NamedTuple):
    """A class at a moment of a run."""

    time: float  # in seconds since the run began
    rate: float  # the share of new objects that are followed
    clean: int  # samples, of the law with the fewest
    overhead: float | None = None  # the share of time that watching took lately: 0.05 is 5 %
    violations: int = 0


@dataclass(frozen=True)
class LawSummary(Claim):
    """A law about the objects of a class: what may be claimed of it, computed once."""

    law: str = ""
    unknown: int = 0  # lives with an unknown end; they do not count as samples

    @property
    def missing(self) -> int:
        """Clean samples that are needed still."""
        return max(0, self.needed - self.samples)


@dataclass(frozen=True, slots=True)
class ClassSummary:
    """A class of objects: its policy, its coin, and its laws."""

    class_name: str
    state: str  # of the policy
    rate: float
    created: int
    sampled: int  # of these, the objects that were followed
    alive: int  # of these, the ones whose life was not over
    moves: tuple[PolicyMove, ...] = ()
    laws: tuple[LawSummary, ...] = ()
    series: tuple[Point, ...] = ()

    def _repr_html_(self) -> str:
        return Summaries([self])._repr_html_()


class Summaries(list[ClassSummary]):
    """Classes of objects, as a table where a notebook shows them."""

    def _repr_html_(self) -> str:
        from lawful import markup  # only notebooks need it

        heads = ("class", "law", "samples", "violated", "unknown", "confidence", "error rate at most", "claim")
        rows = [
            (
                summary.class_name,
                law.law,
                f"{law.samples:,}",
                f"{law.violations:,}",
                f"{law.unknown:,}",
                f"{law.confidence:.6g}",
                f"{law.bound:.3g}",
                law.state,
            )
            for summary in self
            for law in summary.laws
        ]
        return markup.table(heads, rows, numbers=(2, 3, 4, 5, 6))
