"""The report on a running program, as text."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lawful.diagnostics import printable
from lawful.engine.wording import count
from lawful.reports.sources import SourceLines
from lawful.reports.text import WIDTH, Line, Span, confidence_lines, finding_lines, folded, plain, remarks

if TYPE_CHECKING:
    from lawful.engine.run import LawRun
    from lawful.learning.learner import Learner
    from lawful.learning.window_protocol import Anomaly


def render_text(
    run: LawRun,
    *,
    width: int = WIDTH,
    folder: str | os.PathLike[str] = ".",
    details: bool = False,
    known: bool = False,
) -> str:
    """The whole report without colour. `folder`: that of the project, below which the files of events are."""
    return plain(report_lines(run, width=width, folder=folder, details=details, known=known))


def report_lines(
    run: LawRun,
    *,
    width: int = WIDTH,
    folder: str | os.PathLike[str] = ".",
    details: bool = False,
    known: bool = False,
    option: str = "--known",
) -> Iterator[Line]:
    """The whole report: all findings, then the summary; with `details`, also which rules were learned, and how.

    With `known`, anomalies are shown, too, that earlier runs had; `option` is how one asks for that.
    """
    source = SourceLines(folder)
    number = 0
    for finding in run.findings:
        if finding.anomaly is not None:
            from lawful.reports.learned import anomaly_lines

            number += 1
            yield from anomaly_lines(number, finding.anomaly, source, width)
        else:
            yield from finding_lines(finding, source, width)
        yield []
    earlier = [] if run.learner is None else _known(run.learner.learner)
    if known and earlier:
        from lawful.reports.learned import known_lines

        yield from known_lines(earlier, number, source, width)
    yield from confidence_lines(run, width, moves=details)
    if run.learner is not None and details:
        from lawful.reports.learned import rule_lines

        yield from rule_lines(run.learner.learner, enforced=True)
        yield []
    yield from summary_lines(run, width, details=details)
    if earlier:
        from lawful.reports.learned import no_news

        yield from no_news(earlier, "" if known else option, width)


def summary_lines(run: LawRun, width: int = WIDTH, *, details: bool = False) -> Iterator[Line]:
    """How much of what, and what went wrong in watching."""
    if run.learner is not None:
        yield from _learned_summary(run, run.learner.learner, width, details)
    else:
        yield [*_total(run), Span(f" in {', '.join(_counted(run))}")]
    for text in _remarks(run):
        yield from ([Span(part, "yellow")] for part in folded(text, width))


def _learned_summary(run: LawRun, learner: Learner, width: int, details: bool) -> Iterator[Line]:
    from lawful.reports import learned

    if not (run.findings or run.log.hidden or run.laws or learner.events):
        yield [Span("nothing was learned: there were no events of objects", "yellow")]
        return
    nothing = "nothing new" if _known(learner) else "nothing unusual"
    parts = _total(run) if run.findings or run.log.hidden or run.laws else [Span(nothing, "green")]
    anomalies = sum(finding.anomaly is not None for finding in run.findings)
    parts += learned.over_budget(learner, anomalies)
    counted = _counted(run) if run.laws else [count(learner.events, "event"), *_processes(run)]
    yield [*parts, Span(f" in {', '.join(counted)}; {learned.number_of_rules(learner)}")]
    yield from learned.learned_lines(learner, width) if details else learned.warning_lines(learner, width)


def _known(learner: Learner) -> Sequence[Anomaly]:
    """Anomalies that earlier runs had, too."""
    return [] if learner.reported_before is None else learner.anomalies().known


def _total(run: LawRun) -> list[Span]:
    found = len(run.findings)
    parts = [Span(count(found, "finding"), "bold red" if found else "green")]
    if run.violations > found:
        parts.append(Span(f" ({count(run.violations, 'violation')})"))
    if run.log.hidden:
        parts.append(Span(f", {len(run.log.hidden):,} known and hidden"))
    return parts


def _counted(run: LawRun) -> list[str]:
    return [
        count(len(run.laws), "law"),
        count(run.events, "event"),
        *([count(run.threads, "thread")] if run.processes else []),  # traces were read, and not a program watched
        *_processes(run),
    ]


def _processes(run: LawRun) -> list[str]:
    return [count(run.processes, "process", "processes")] if run.processes > 1 else []


def _remarks(run: LawRun) -> Iterator[str]:
    yield from remarks(run)
    if run.dropped:
        yield f"{count(run.dropped, 'event')} dropped: findings may be wrong or missing without them"
    for text in run.errors:
        yield f"watching was cut short: {printable(text)}"
    for text in run.warnings:
        yield f"warning: {printable(text)}"
