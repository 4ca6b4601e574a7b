"""The report on traces, as text."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from lawful.diagnostics import printable
from lawful.engine.wording import count
from lawful.reports.core import ignored, not_listed
from lawful.reports.text import WIDTH, Line, Span, labelled, paragraph, titled, trace_finding_lines

if TYPE_CHECKING:
    from lawful.engine import Finding, LawResult, TraceRun
    from lawful.laws.protocol import Law
    from lawful.reports.gather import TraceFindings


def finding_lines(run: TraceRun, finding: Finding, width: int = WIDTH) -> Iterator[Line]:
    """All about one finding, and a blank line."""
    yield from trace_finding_lines(finding, run.name, run.events, width)
    yield []


def trace_lines(
    run: TraceRun, width: int = WIDTH, *, shown: Collection[int] = (), quiet: bool = False
) -> Iterator[Line]:
    """What became of each law on a trace: its findings, or that it accepts; `shown`: ids of findings to leave out."""
    for whole, group in groupby(run.results, key=lambda result: result.whole):
        results = list(group)
        # A law may have hundreds of parts: those that accept the trace share one line.
        kept = sum(bool(result.accepted) for result in results) if len(results) > 1 else 0
        for result in results:
            for finding in run.findings:
                if finding.law == result.law.name and id(finding) not in shown:
                    yield from finding_lines(run, finding, width)
            if not quiet and not (kept and result.accepted):
                yield from _result_lines(run, result, width)
        if kept and not quiet:
            yield from _kept_parts(whole, run, kept, len(results), width)


def _result_lines(run: TraceRun, result: LawResult, width: int) -> Iterator[Line]:
    pair = f"{printable(result.law.name)} on {printable(run.name)}"
    if result.accepted:
        yield from titled("accepted", "green", pair, width)
    elif result.accepted is None:
        yield from titled("undecided", "yellow", pair, width)
        yield from labelled("", f"{result.verdict} after {count(run.events, 'event')}", width)


def _kept_parts(law: Law, run: TraceRun, kept: int, parts: int, width: int) -> Iterator[Line]:
    how_many = f"all {count(parts, 'part')}" if kept == parts else f"{kept:,} of {count(parts, 'part')}"
    yield from titled("accepted", "green", f"{printable(law.name)} on {printable(run.name)}: {how_many}", width)


def summary_lines(found: TraceFindings, skipped: int = 0, width: int = WIDTH) -> Iterator[Line]:
    """How many of what, at the end; `skipped` traces were not read."""
    runs = found.runs
    results = [result for run in runs for result in run.results]
    broken = len({(id(run), finding.law) for run, finding in found.shown})
    undecided = sum(result.accepted is None for result in results)
    violations = sum(run.law_run.violations for run in runs)
    accepted = sum(bool(result.accepted) for result in results)
    parts = [Span(f"{broken} broken", "bold red" if broken else ""), Span(f", {accepted} accepted")]
    if undecided:
        parts.append(Span(f", {undecided} undecided", "yellow"))
    if found.hidden:
        parts.append(Span(f", {len(found.hidden)} known and hidden"))
    laws = count(len(results) // len(runs) if runs else 0, "law")
    events = count(sum(run.events for run in runs), "event")
    yield [*parts, Span(f" ({laws}, {count(len(runs), 'trace')}, {events})")]
    if violations > broken:
        yield [Span(f"{count(len(found.shown), 'finding')} ({count(violations, 'violation')})")]
    for run in runs:
        for text in _remarks(run):
            yield from paragraph(f"{printable(run.name)}: {text}", width)
    if skipped:
        yield [Span(f"{'1 trace was' if skipped == 1 else f'{skipped} traces were'} not read")]


def _remarks(run: TraceRun) -> Iterator[str]:
    """What is not listed, and why a trace was not judged to its end."""
    if run.law_run.log.omitted:
        yield not_listed(run.law_run.log.omitted)
    if run.law_run.log.suppressed:
        yield ignored(run.law_run.log.suppressed)
    if run.complete or run.error is not None:
        return
    decided = all(each.over for each in run.law_run.laws)
    why = "every law was decided" if decided else "a law was broken (--first)"
    yield f"{'judging' if run.drained else 'reading'} stopped after {count(run.events, 'event')}: {why}"
