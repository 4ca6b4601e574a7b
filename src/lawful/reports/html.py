"""The report as one HTML file that needs no network and no other files, and cannot run code from the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from lawful import __version__
from lawful.diagnostics import printable
from lawful.engine.wording import count
from lawful.reports.core import Report, ignored, lost_events, not_listed
from lawful.reports.findings import Item, ranked
from lawful.reports.html_findings import Findings
from lawful.reports.law_places import LawPlaces

if TYPE_CHECKING:
    from lawful.confidence.summary import ClassSummary
    from lawful.learning.learner import Learner

Json = dict[str, Any]

_MAX_RULES = 20_000
_MAX_AUTOMATA = 40  # that are drawn
_MAX_STATES = 40  # of an automaton that is drawn
_LONG = 1.0  # seconds: of a shorter run, most of the judging is its beginning
_PLAIN = 200  # findings for readers without scripts


def render(report: Report, *, title: str | None = None, now: datetime | None = None) -> str:
    """The whole page. `now` is the time that it says it was made at."""
    from lawful.reports.page import page  # only this needs a template engine, and that takes a while

    items = ranked(report.items)
    found = Findings(report, items)
    values = {
        "title": printable(title or f"Lawful: {report.command}"),
        "version": __version__,
        "made": (now or datetime.now(UTC)).strftime("%Y-%m-%d %H:%M UTC"),
        "report": report,
        "facts": list(_facts(report)),
        "notes": list(_notes(report)),
        "plain": [_plain(item) for item in items[:_PLAIN]],
        "known": [_plain(item) for item in report.known],
        "unshown": max(0, len(items) - _PLAIN),
        "confidence": [_class(summary) for summary in report.confidence or ()],
        "picture": _picture(report.confidence or ()),
        "laws": list(_laws(report)),
        "moves": [] if report.learner is None else [move._asdict() for move in report.learner.moves],
        "rules": report.learner is not None,
        "count": count,
    }
    data = {**found.data(), "rules": _rules(report.learner), "laws": _texts(report, found.places)}
    text = page("report.html", style="report.css", scripts=["report.js"], data=data, values=values, images=True)
    return text.encode("utf-8", "replace").decode() + "\n"


def _plain(item: Item) -> tuple[str, str, str]:
    return item.title, item.place, item.message


def image(svg: str) -> str:
    """A picture as an address of itself: as an image it can run nothing."""
    return f"data:image/svg+xml,{quote(svg.encode('utf-8', 'replace'))}"


# -- the run -----------------------------------------------------------------------------------------------------------


def _facts(report: Report) -> Iterator[tuple[str, str, str]]:
    """Numbers of the run: a label, the number, and a remark."""
    hidden = f"{len(report.hidden):,} known, hidden" if report.hidden else ""
    yield "findings", f"{len(report.items):,}", hidden
    if report.known:
        yield "known", f"{len(report.known):,}", "of earlier runs"
    if report.laws:
        broken = len({judged.law.name for judged in report.laws if judged.state == "broken"})
        yield "laws", f"{len({judged.law.name for judged in report.laws}):,}", f"{broken:,} broken"
    yield "events", f"{report.events:,}", ""
    if report.seconds:
        yield "events per second", f"{report.events / report.seconds:,.0f}", f"in {report.seconds:,.2f} s"
    overhead = _overhead(report.confidence or ())
    if overhead is not None:
        yield "overhead", f"{100 * overhead:.1f} %", "on top of the program's own time"
    elif report.processes and report.seconds and report.seconds >= _LONG:
        yield "judging", f"{100 * report.judging / report.seconds:.1f} %", f"of the time: {report.judging:,.2f} s"
    if report.threads > 1:
        yield "threads", f"{report.threads:,}", ""
    if report.processes > 1:
        yield "processes", f"{report.processes:,}", ""
    if report.traces:
        yield "traces", f"{len(report.traces):,}", ""


def _overhead(confidence: Sequence[ClassSummary]) -> float | None:
    """Of the whole program, by the moments at which it was measured."""
    series = max((summary.series for summary in confidence), key=len, default=())
    measured = [point.overhead for point in series if point.overhead is not None]
    return sum(measured) / len(measured) if measured else None


def _notes(report: Report) -> Iterator[tuple[str, str]]:
    """Errors, warnings and remarks."""
    for text in report.errors:
        yield "error", printable(text)
    if report.dropped:
        yield "warning", lost_events(report.dropped)
    if report.omitted:
        yield "warning", not_listed(report.omitted)
    if report.suppressed:
        yield "note", ignored(report.suppressed)
    if report.over_budget:
        more = count(report.over_budget, "more anomaly", "more anomalies")
        yield "note", f"{more} over the budget of the learner"
    if report.hidden:
        yield "note", f"{count(len(report.hidden), 'finding')} known to the baseline {printable(report.baseline or '')}"
    for text in report.warnings:
        yield "warning", printable(text)


# -- confidence --------------------------------------------------------------------------------------------------------


def _class(summary: ClassSummary) -> Json:
    from lawful.reports import confidence

    laws = [
        {
            "law": printable(law.law),
            "cells": [
                *(f"{each:,}" for each in (law.samples, law.violations, law.unknown)),
                confidence.sure(law.doubt),
                f"≤ {confidence.rounded(law.bound, up=True, digits=3)}",
            ],
            "state": str(law.state),
            "says": printable(confidence.sentence(summary.class_name, law)),
        }
        for law in summary.laws
    ]
    return {"name": printable(summary.class_name), "state": printable(summary.state), "laws": laws}


def _picture(summaries: Sequence[ClassSummary]) -> str | None:
    if not any(summary.series and summary.laws for summary in summaries):
        return None
    from lawful.reports import confidence

    return image(confidence.picture(summaries))


# -- rules and laws ----------------------------------------------------------------------------------------------------


def _rules(learner: Learner | None) -> list[list[Any]]:
    """The rules as rows; those that are enforced, if all are too many."""
    if learner is None:
        return []
    from itertools import chain, islice

    from lawful.learning.window_protocol import RuleState

    every = chain(learner.history_rules().rules(), learner.rules(all=learner.parameters.all_rules))
    rows = list(islice(every, _MAX_RULES + 1))
    if len(rows) > _MAX_RULES:
        every = chain(learner.history_rules().rules(), learner.rules())
        rows = list(islice((rule for rule in every if rule.state == RuleState.ENFORCING), _MAX_RULES))
    return [
        [rule.satisfied, rule.failed, rule.contexts, rule.state.name.lower(), rule.pattern, str(rule)] for rule in rows
    ]


def _laws(report: Report) -> Iterator[Json]:
    from lawful.reports.law import picture  # a report without laws need not wait for it

    for number, (judged, (title, facts)) in enumerate(report.each_law()):
        drawn = picture(judged.law, _MAX_STATES) if number < _MAX_AUTOMATA else None
        yield {
            "name": printable(judged.law.name),
            "state": judged.state,
            "title": printable(title),
            "facts": {key: printable(text) for key, text in facts.items() if key in ("rule", "fix", "docs")},
            "source": judged.law.source,
            "automaton": None if drawn is None else image(drawn),
        }


def _texts(report: Report, places: LawPlaces) -> dict[str, str]:
    """The texts of laws that are referred to."""
    return {judged.law.name: judged.law.source for judged in report.laws if judged.law.name in places.used}
