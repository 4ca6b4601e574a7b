"""Findings as text, for people: readable in 80 columns, with and without colour."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from lawful.diagnostics import printable
from lawful.engine.wording import catalogued, count, cut, describe, doomed_place, short
from lawful.reports import findings as facts

if TYPE_CHECKING:
    from lawful.confidence.summary import ClassSummary
    from lawful.engine.findings import Event, Finding, Numbered
    from lawful.reports.findings import Item
    from lawful.reports.sources import SourceLines

WIDTH = 80
LABEL = 12  # columns of the labels, with their indentation
_INDENT = 4
_MOST_CONTEXTS = 5


class Span(NamedTuple):
    """A piece of a line and the style it is shown in where there is colour."""

    text: str
    style: str = ""


Line = list[Span]


def plain(lines: Iterator[Line]) -> str:
    """Lines without colour, each with its newline."""
    return "".join("".join(span.text for span in line).rstrip() + "\n" for line in lines)


# -- a finding ---------------------------------------------------------------------------------------------------------


def finding_lines(item: Item, source: SourceLines, width: int = WIDTH) -> Iterator[Line]:
    """All about what a program did: it is shown by its place in the source, and in words."""
    finding = item.finding
    head = f"{item.place}: " if item.place else ""
    name = f"{printable(finding.law)}: "
    first, *rest = folded(f"{head}{name}{item.message}", width)
    # The whole head is on the first line if it fits at all.
    after = len(head) + len(name)
    yield [Span(first[: len(head)], "bold"), Span(first[len(head) : after], "bold red"), Span(first[after:])]
    yield from ([Span(" " * _INDENT + part)] for text in rest for part in folded(text, width - _INDENT))
    line = source.line(finding.file, finding.line)
    if line is not None:
        gutter = f"{finding.line:>{_INDENT + 3}} | "
        yield [Span(gutter, "dim"), Span(cut(line, width - len(gutter)), "bold")]
    yield from _body(finding, width)
    label = "left open" if finding.rejected_at == "end" else "earlier"
    for each in finding.history if catalogued(finding) is None else _without_begun_calls(finding.history):
        yield from _earlier(label, each.event, source, width)
        label = ""
    yield from _note(label, finding, width)


def trace_finding_lines(finding: Finding, trace: str, events: int, width: int = WIDTH) -> Iterator[Line]:
    """All about what is in a trace of so many events: events are shown as they are there, by their numbers."""
    where = doomed_place(finding) if finding.rejected_at is None else f"at event {finding.rejected_at}"
    if finding.rejected_at == "end":
        where = "at the end"
    yield from titled("BROKEN", "bold red", f"{printable(finding.law)} on {printable(trace)} {where}", width)
    if finding.rejected_at == "end":
        yield from labelled("ended", f"after {count(events, 'event')}", width)
    elif finding.event is not None:
        yield from labelled("event", short(finding.event), width)
    yield from _body(finding, width, in_trace=True)
    digits = len(str(finding.history[-1].number)) if finding.history else 0
    label = "earlier"
    for number, event in finding.history:
        yield from labelled(label, clipped(f"#{number:<{digits}} {short(event)}", width), width)
        label = ""
    yield from _note(label, finding, width)


def _body(finding: Finding, width: int, *, in_trace: bool = False) -> Iterator[Line]:
    for label, text in _facts(finding, width, in_trace=in_trace):
        yield from labelled(label, text, width)
    law = catalogued(finding)
    if law is not None:  # whole, so that it can be clicked
        yield unfolded("see", law.url)


def _note(label: str, finding: Finding, width: int) -> Iterator[Line]:
    if finding.history_note:
        yield from labelled(label, f"({printable(finding.history_note)})", width)


def _facts(finding: Finding, width: int, *, in_trace: bool) -> Iterator[tuple[str, str]]:
    """The facts about a finding, as labels and texts; an empty label continues the one before."""
    if finding.count > 1:
        yield "seen", facts.seen(finding) + ("; what follows is the first" if finding.rejected_at == "end" else "")
    law = catalogued(finding)
    if law is not None:
        yield "rule", law.rule
        yield "instead", law.fix
    elif isinstance(finding.rejected_at, int) or (in_trace and finding.rejected_at is not None):
        yield "expected", facts.wanted(finding)
    if in_trace and finding.expectation.note:
        yield "found", printable(finding.expectation.note)
    if in_trace and finding.doomed_at is not None:
        yield "lost", facts.lost(finding)
        if finding.doomed_event is not None:
            yield "", clipped(f"#{finding.doomed_at} {short(finding.doomed_event)}", width)
    if finding.made is not None:
        yield "made", facts.made(finding)
        stack = finding.made.get("stack")
        for each in stack if isinstance(stack, list) else ():
            yield "", f"  in {printable(str(each))}"
    if finding.expectation.bindings and law is None:
        values, others = facts.bindings(finding)
        yield "bindings", clipped(values, width) + others
    if finding.diagram is not None:
        yield "diagram", printable(finding.diagram)
    label = "in"
    for context in facts.contexts(finding, _MOST_CONTEXTS):
        yield label, context
        label = ""
    if len(finding.contexts) > _MOST_CONTEXTS:
        yield "", f"and {len(finding.contexts) - _MOST_CONTEXTS:,} more"


def _without_begun_calls(history: Sequence[Numbered]) -> Iterator[Numbered]:
    """Events without the beginnings of calls whose ends come next."""
    for each, following in zip_longest(history, history[1:]):
        if following is None or not _is_call(each.event, following.event):
            yield each


def _is_call(begin: Event, end: Event) -> bool:
    """Are these the beginning and the end of one call?"""
    same = ("name", "targetId", "args", "argIds", "file", "line", "thread")
    kinds = begin.get("event"), end.get("event")
    return kinds == ("func_pre", "func_post") and all(begin.get(key) == end.get(key) for key in same)


def _earlier(label: str, event: Event, source: SourceLines, width: int) -> Iterator[Line]:
    file, line = event.get("file"), event.get("line")
    where = facts.place(file, line)
    yield from labelled(label, clipped(f"{where}  {describe(event)}" if where else describe(event), width), width)
    text = source.line(file, line) if isinstance(file, str) and isinstance(line, int) else None
    if text is not None:
        for shown in labelled("", f"  | {cut(text, width - 16)}", width):
            yield [Span(span.text, "dim") for span in shown]


def confidence_lines(
    summaries: Sequence[ClassSummary] | None, unsampled: Iterable[str], width: int, *, moves: bool = False
) -> Iterator[Line]:
    """The confidence report, where objects were sampled; `unsampled` laws are about more than one object."""
    if summaries is None:
        return
    from lawful.reports import confidence

    yield from confidence.report_lines(summaries, width=width, moves=moves)
    for name in unsampled:
        text = f"{printable(name)} is not about single objects: it was judged on all events"
        yield from paragraph(text, width, "yellow")
    yield []


# -- layout ------------------------------------------------------------------------------------------------------------


def paragraph(text: str, width: int, style: str = "") -> Iterator[Line]:
    """A text on as many lines as it needs."""
    return ([Span(part, style)] for part in folded(text, width))


def labelled(label: str, text: str, width: int) -> Iterator[Line]:
    """A text of several lines beside its label; an empty label continues the one before."""
    return titled(f"  {label}", "dim", text, width)


def titled(title: str, style: str, text: str, width: int) -> Iterator[Line]:
    """A text of several lines beside its title."""
    for part in folded(text, width - LABEL):
        yield [Span(title.ljust(LABEL), style), Span(part)]
        title = ""


def unfolded(label: str, text: str) -> Line:
    """A text beside its label that must stay on one line."""
    return [Span(f"  {label}".ljust(LABEL), "dim"), Span(text)]


def clipped(text: str, width: int) -> str:
    """As much of an event as about two lines hold: enough to know it again."""
    return cut(text, 2 * (width - LABEL) - 10)


def folded(text: str, width: int) -> Iterator[str]:
    """The text in pieces that fit, broken after a blank or a comma where there is one."""
    while len(text) > width:
        cut = max(text.rfind(" ", 0, width), text.rfind(",", 0, width)) + 1
        if cut < width // 3:
            cut = width
        yield text[:cut].rstrip()
        text = text[cut:].lstrip()
    yield text
