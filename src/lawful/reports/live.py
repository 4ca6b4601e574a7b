"""The report on a running program, as text."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lawful.diagnostics import printable
from lawful.engine.wording import count
from lawful.reports import gather
from lawful.reports.core import ignored, lost_events, not_listed
from lawful.reports.sources import SourceLines
from lawful.reports.text import WIDTH, Line, Span, confidence_lines, finding_lines, paragraph

if TYPE_CHECKING:
    from lawful.engine.run import LawRun
    from lawful.learning.learner import Learner
    from lawful.reports.core import Report


def report_lines(
    run: LawRun,
    folder: str | os.PathLike[str] = ".",
    *,
    width: int = WIDTH,
    details: bool = False,
    known: bool = False,
    option: str = "--set learn.known=true",
) -> Iterator[Line]:
    """The whole report: all findings, then the summary; with `details`, also which rules were learned, and how.

    `folder` is that of the project. With `known`, the report has the anomalies of earlier runs; `option` asks for them.
    """
    report = gather.of_live(run, SourceLines(folder))
    number = 0
    for item in report.items:
        if item.finding.anomaly is not None:
            from lawful.reports.learned import anomaly_lines

            number += 1
            yield from anomaly_lines(number, item, report.source, width)
        else:
            yield from finding_lines(item, report.source, width)
            yield []
    if known and report.known:
        from lawful.reports.learned import known_lines

        yield from known_lines(report, number, width)
    yield from confidence_lines(report.confidence, report.unsampled_laws, width, moves=details)
    if report.learner is not None and details:
        from lawful.reports.learned import rule_lines

        yield from rule_lines(report.learner, enforced=True)
        yield []
    yield from _summary_lines(report, width, details)
    if report.known:
        from lawful.reports.learned import no_news

        yield from no_news(report, "" if known else option, width)


def _summary_lines(report: Report, width: int, details: bool) -> Iterator[Line]:
    """How much of what, and what went wrong in watching."""
    if report.learner is not None:
        yield from _learned_summary(report, report.learner, width, details)
    else:
        yield [*_total(report), Span(f" in {', '.join(_counted(report))}")]
    for text in _remarks(report):
        yield from paragraph(text, width, "yellow")


def _learned_summary(report: Report, learner: Learner, width: int, details: bool) -> Iterator[Line]:
    from lawful.reports import learned

    judged = bool(report.items or report.hidden or report.laws)
    if not (judged or learner.events):
        yield [Span("nothing was learned: no event has an object", "yellow")]
        return
    parts = _total(report) if judged else [Span("nothing new" if report.known else "nothing unusual", "green")]
    if sum(item.anomaly for item in report.items) == learner.parameters.budget:
        parts += learned.over_budget(report, learner)
    counted = _counted(report) if report.laws else [count(learner.events, "event"), *_processes(report)]
    yield [*parts, Span(f" in {', '.join(counted)}; {learned.number_of_rules(learner)}")]
    yield from learned.learned_lines(learner, width) if details else learned.warning_lines(learner, width)


def _total(report: Report) -> list[Span]:
    found = len(report.items)
    parts = [Span(count(found, "finding"), "bold red" if found else "green")]
    if report.violations > found:
        parts.append(Span(f" ({count(report.violations, 'violation')})"))
    if report.hidden:
        parts.append(Span(f", {len(report.hidden):,} known and hidden"))
    return parts


def _counted(report: Report) -> list[str]:
    return [
        count(len(report.laws), "law"),
        count(report.events, "event"),
        *([count(report.threads, "thread")] if report.processes else []),  # traces were read, and not a program watched
        *_processes(report),
    ]


def _processes(report: Report) -> list[str]:
    return [count(report.processes, "process", "processes")] if report.processes > 1 else []


def _remarks(report: Report) -> Iterator[str]:
    if report.omitted:
        yield not_listed(report.omitted)
    if report.suppressed:
        yield ignored(report.suppressed)
    if report.dropped:
        yield lost_events(report.dropped)
    for text in report.errors:
        yield f"watching was cut short: {printable(text)}"
    for text in report.warnings:
        yield f"warning: {printable(text)}"
