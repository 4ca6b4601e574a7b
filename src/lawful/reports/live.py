"""The report on a running program: as text, and as JSON."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from lawful.diagnostics import all_encodable, encodable, printable
from lawful.engine.findings import plain as plain_value
from lawful.engine.wording import catalogued, count, describe, expected, message, short, shortened
from lawful.reports.sources import SourceLines
from lawful.reports.text import WIDTH, Line, Span, clipped, folded, labelled, plain

if TYPE_CHECKING:
    from lawful.engine.findings import Finding, Numbered
    from lawful.engine.run import LawRun
    from lawful.learning.learner import Learner
    from lawful.learning.window_protocol import Anomaly

_MOST_CONTEXTS = 5
_INDENT = 4


# -- text --------------------------------------------------------------------------------------------------------------


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
    if run.tracking is not None:
        from lawful.reports import confidence

        yield from confidence.report_lines(run.tracking.confidence.summary(), width=width, moves=details)
        for name in run.tracking.whole:
            text = f"{printable(name)} is not about single objects: it was judged on all events"
            yield from ([Span(part, "yellow")] for part in folded(text, width))
        yield []
    if run.learner is not None and details:
        from lawful.reports.learned import rule_lines

        yield from rule_lines(run.learner.learner, enforced=True)
        yield []
    yield from summary_lines(run, width, details=details)
    if earlier:
        from lawful.reports.learned import no_news

        yield from no_news(earlier, "" if known else option, width)


def finding_lines(finding: Finding, source: SourceLines, width: int = WIDTH) -> Iterator[Line]:
    """All about one finding."""
    place = _place(finding.file, finding.line)
    head = f"{place}: " if place else ""
    name = f"{printable(finding.law)}: "
    first, *rest = folded(f"{head}{name}{message(finding)}", width)
    # The whole head is on the first line if it fits at all.
    after = len(head) + len(name)
    yield [Span(first[: len(head)], "bold"), Span(first[len(head) : after], "bold red"), Span(first[after:])]
    yield from ([Span(" " * _INDENT + part)] for text in rest for part in folded(text, width - _INDENT))
    line = source.line(finding.file, finding.line)
    if line is not None:
        gutter = f"{finding.line:>{_INDENT + 3}} | "
        yield [Span(gutter, "dim"), Span(_cut(line, width - len(gutter)), "bold")]
    for label, text in _facts(finding, width):
        yield from labelled(label, text, width)
    law = catalogued(finding)
    if law is not None:  # whole, so that it can be clicked
        (see,) = labelled("see", law.url, width + len(law.url))
        yield see
    label = "left open" if finding.rejected_at == "end" else "earlier"
    for each in finding.history if law is None else _told_once(finding.history):
        yield from _earlier(label, each, source, width)
        label = ""
    if finding.history_note:
        yield from labelled(label, f"({printable(finding.history_note)})", width)


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
    if run.log.omitted:
        yield f"{count(run.log.omitted, 'violation')} at further places not listed"
    if run.log.suppressed:
        yield f"{count(run.log.suppressed, 'violation')} ignored, as the source or the project asks"
    if run.dropped:
        yield f"{count(run.dropped, 'event')} dropped: findings may be wrong or missing without them"
    for text in run.faults:
        yield f"watching was cut short: {printable(text)}"
    for text in run.warnings:
        yield f"warning: {printable(text)}"


def _facts(finding: Finding, width: int) -> Iterator[tuple[str, str]]:
    """What is known about a finding, as labels and texts."""
    if finding.count > 1 and finding.rejected_at == "end":
        yield "seen", f"{finding.count:,} times; what follows is the first"
    elif finding.count > 1:
        first, last = finding.first_time, finding.last_time
        when = f", first after {first:.3f} s, last after {last:.3f} s" if first is not None and last is not None else ""
        yield "seen", f"{finding.count:,} times{when}"
    law = catalogued(finding)
    if law is not None:
        yield "rule", law.rule
        yield "instead", law.fix
    elif isinstance(finding.rejected_at, int):
        yield "expected", expected(finding.expectation) or "nothing: no event could be accepted here"
    if finding.made is not None:
        yield from _birth(finding.made)
    if finding.expectation.bindings and law is None:
        others = finding.expectation.others
        beside = f" (and {count(others, 'other instance')})" if others else ""
        items = finding.expectation.bindings.items()
        text = ", ".join(f"{printable(name)} = {short(value)}" for name, value in items)
        yield "bindings", clipped(text, width) + beside
    if finding.diagram is not None:
        yield "diagram", printable(finding.diagram)
    label = "in"
    for context, times in list(finding.contexts.items())[:_MOST_CONTEXTS]:
        yield label, printable(context) + (f" ({times:,} times)" if times > 1 else "")
        label = ""
    if len(finding.contexts) > _MOST_CONTEXTS:
        yield "", f"and {len(finding.contexts) - _MOST_CONTEXTS:,} more"


def _birth(event: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Where the object was made, and by whom."""
    place = _place(event.get("file"), event.get("line"))
    kind = printable(str(event.get("class") or event.get("name") or "object"))
    yield "made", f"{kind}{f' at {place}' if place else ''}"
    stack = event.get("stack")
    for each in stack if isinstance(stack, list) else ():
        yield "", f"  in {printable(str(each))}"


def _told_once(history: Sequence[Numbered]) -> Iterator[Numbered]:
    """Events without the beginnings of calls whose ends come next."""
    for each, following in zip_longest(history, history[1:]):
        if following is None or not _is_call(each.event, following.event):
            yield each


def _is_call(begin: dict[str, Any], end: dict[str, Any]) -> bool:
    """Are these the beginning and the end of one call?"""
    same = ("name", "targetId", "args", "argIds", "file", "line", "thread")
    kinds = begin.get("event"), end.get("event")
    return kinds == ("func_pre", "func_post") and all(begin.get(key) == end.get(key) for key in same)


def _earlier(label: str, each: Numbered, source: SourceLines, width: int) -> Iterator[Line]:
    event = each.event
    file, line = event.get("file"), event.get("line")
    place = _place(file, line)
    yield from labelled(label, clipped(f"{place}  {describe(event)}" if place else describe(event), width), width)
    text = source.line(file, line) if isinstance(file, str) and isinstance(line, int) else None
    if text is not None:
        for shown in labelled("", f"  | {_cut(text, width - 16)}", width):
            yield [Span(span.text, "dim") for span in shown]


def _place(file: Any, line: Any) -> str:
    if not isinstance(file, str):
        return ""
    return f"{printable(file)}:{line}" if isinstance(line, int) else printable(file)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


# -- JSON --------------------------------------------------------------------------------------------------------------


def render_json(run: LawRun, *, folder: str | os.PathLike[str] = ".", baseline: str | None = None) -> bytes:
    """The whole report, with a newline at its end.

    `folder`: that of the project, below which the files of events are. `baseline`: the file, if one is used.
    """
    from lawful.reports.fingerprints import marks
    from lawful.reports.json import known_json, opening, rejection_json

    found = marks([*run.findings, *run.log.hidden], SourceLines(folder))
    shown = len(run.findings)
    report: dict[str, Any] = {**opening("run"), **run.snapshot(), "violations": run.violations, "seconds": run.seconds}
    report["laws"] = [encodable(law) for law in report["laws"]]
    if run.tracking is not None:
        from lawful.reports.confidence import plain_json as confidence_json

        del report["samples"]
        report["confidence"] = confidence_json(run.tracking.confidence.summary())
    report["findings"] = [
        {**data, "law": encodable(data["law"]), "message": message(finding), "mark": mark.to_json()}
        for data, finding, mark in zip(report["findings"], run.findings, found[:shown], strict=True)
    ]
    for data, finding in zip(report["findings"], run.findings, strict=True):
        if finding.rejection is not None:
            data["rejection"] = rejection_json(finding.rejection)
    if baseline is not None:
        report["baseline"] = known_json(baseline, found[shown:])
    if run.learner is not None:
        from lawful.learning.learned_json import anomaly_json
        from lawful.reports.learned import clean, plain_json

        learner = run.learner.learner
        report["learned"] = plain_json(learner)
        for at, finding in enumerate(run.findings):
            if finding.anomaly is not None:
                report["findings"][at] = clean(
                    report["findings"][at] | {"anomaly": anomaly_json(finding.anomaly, learner.numbering)}
                )
    try:
        return _encoded(report)
    except RecursionError:  # an event that nests as deeply as can be stands deeper in here
        for data in report["findings"]:
            for key in ("event", "doomed_event", "bindings", "history"):
                data[key] = shortened(data[key])
        return _encoded(report)


def _encoded(report: dict[str, Any]) -> bytes:
    import msgspec

    try:
        return msgspec.json.encode(report, enc_hook=plain_value) + b"\n"
    except UnicodeEncodeError:  # names of files, and texts of the program
        return msgspec.json.encode(all_encodable(report), enc_hook=plain_value) + b"\n"
