"""The report as text, for people: readable in 80 columns, with and without colour."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from lawful.diagnostics import printable
from lawful.reports.core import count, doomed_place, expected, short

if TYPE_CHECKING:
    from lawful.engine import Case, Finding, TraceRun

WIDTH = 80
_LABEL = 12  # columns of the labels, with their indentation


class Span(NamedTuple):
    """A piece of a line and the style it is shown in where there is colour."""

    text: str
    style: str = ""


Line = list[Span]


def case_lines(run: TraceRun, case: Case, width: int = WIDTH, diagram: str | None = None) -> Iterator[Line]:
    """All about one law on one trace; `diagram` is the file that shows it as a picture."""
    finding = case.finding
    if finding is not None:
        yield from _titled("BROKEN", "bold red", f"{_pair(run, case)} {_place(finding)}", width)
        for label, text in _evidence(run, finding, width):
            yield from labelled(label, text, width)
        if diagram is not None:
            yield from labelled("diagram", printable(diagram), width)
        yield []
    elif case.accepted:
        yield from _titled("accepted", "green", _pair(run, case), width)
    else:
        yield from _titled("undecided", "yellow", _pair(run, case), width)
        yield from labelled("", f"{case.verdict} after {count(run.events, 'event')}", width)


def summary_lines(runs: Sequence[TraceRun], width: int = WIDTH, *, hidden: int = 0) -> Iterator[Line]:
    """How many of what, at the end; `hidden`: how many violations are known, and were not told."""
    cases = [case for run in runs for case in run.cases]
    broken = sum(case.finding is not None for case in cases) - hidden
    accepted = sum(bool(case.accepted) for case in cases)
    undecided = len(cases) - broken - hidden - accepted
    laws = len(cases) // len(runs) if runs else 0
    events = count(sum(run.events for run in runs), "event")
    parts = [Span(f"{broken} broken", "bold red" if broken else ""), Span(f", {accepted} accepted")]
    if undecided:
        parts.append(Span(f", {undecided} undecided", "yellow"))
    if hidden:
        parts.append(Span(f", {hidden} known and hidden"))
    yield [*parts, Span(f" ({count(laws, 'law')}, {count(len(runs), 'trace')}, {events})")]
    for run in runs:
        if not run.complete and run.error is None:
            decided = all(case.accepted is not None for case in run.cases)
            why = "every law was decided" if decided else "a law was broken (--fail-fast)"
            what = "judging" if run.drained else "reading"
            place = f"{printable(run.name)}: {what} stopped after {count(run.events, 'event')}"
            yield from ([Span(part)] for part in folded(f"{place}: {why}", width))


def plain(lines: Iterator[Line]) -> str:
    """Lines without colour, each with its newline."""
    return "".join("".join(span.text for span in line).rstrip() + "\n" for line in lines)


def _pair(run: TraceRun, case: Case) -> str:
    return f"{printable(case.law.name)} on {printable(run.name)}"


def _place(finding: Finding) -> str:
    if finding.rejected_at is None:
        return doomed_place(finding)
    return "at the end" if finding.rejected_at == "end" else f"at event {finding.rejected_at}"


def _evidence(run: TraceRun, finding: Finding, width: int) -> Iterator[tuple[str, str]]:
    """What is known about a violation, as labels and texts; an empty label continues the one before."""
    if finding.rejected_at == "end":
        yield "ended", f"after {count(run.events, 'event')}"
    elif finding.event is not None:
        yield "event", short(finding.event)
    if finding.rejected_at is not None:
        yield "expected", expected(finding.expectation) or "nothing: no event could be accepted here"
    if finding.expectation.note:
        yield "found", printable(finding.expectation.note)
    if finding.doomed_at is not None:
        yield "lost", f"{doomed_place(finding)}: whatever followed, the law could not be kept any more"
    if finding.doomed_event is not None:
        yield "", clipped(f"#{finding.doomed_at} {short(finding.doomed_event)}", width)
    if finding.expectation.bindings:
        items = finding.expectation.bindings.items()
        others = finding.expectation.others
        beside = f" (and {count(others, 'other instance')})" if others else ""
        yield "bindings", ", ".join(f"{printable(name)} = {short(value)}" for name, value in items) + beside
    digits = len(str(finding.history[-1].number)) if finding.history else 0
    label = "earlier"
    for number, event in finding.history:
        yield label, clipped(f"#{number:<{digits}} {short(event)}", width)
        label = ""
    if finding.history_note:
        yield label, f"({printable(finding.history_note)})"


def labelled(label: str, text: str, width: int) -> Iterator[Line]:
    """A text of several lines beside its label; an empty label continues the one before."""
    return _titled(f"  {label}", "dim", text, width)


def _titled(title: str, style: str, text: str, width: int) -> Iterator[Line]:
    for part in folded(text, width - _LABEL):
        yield [Span(title.ljust(_LABEL), style), Span(part)]
        title = ""


def clipped(text: str, width: int) -> str:
    """As much of an event as about two lines hold: enough to know it again."""
    most = 2 * (width - _LABEL) - 10
    return text if len(text) <= most else text[: most - 1] + "…"


def folded(text: str, width: int) -> Iterator[str]:
    """The text in pieces that fit, broken after a blank or a comma where there is one."""
    while len(text) > width:
        cut = max(text.rfind(" ", 0, width), text.rfind(",", 0, width)) + 1
        if cut < width // 3:
            cut = width
        yield text[:cut].rstrip()
        text = text[cut:].lstrip()
    yield text
