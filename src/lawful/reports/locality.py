"""The report on temporal locality: the paper's table, a histogram, types, phases, and a window to take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from lawful import __version__
from lawful.diagnostics import encodable, printable
from lawful.engine.wording import count
from lawful.learning.locality import DEFAULT_WINDOW, ENOUGH, PAPER
from lawful.reports.text import WIDTH, Line, Span, labelled, paragraph

if TYPE_CHECKING:
    from lawful.learning.locality import ClassLocality, Locality

_BAR = 40
_MOST_TYPES = 10


def render_json(found: Locality, traces: list[str], passed: dict[str, int]) -> bytes:
    """The whole report, with a newline at its end."""
    seen, unseen = found.verifiable()
    report: dict[str, Any] = {
        "version": __version__,
        "traces": [
            {
                "trace": encodable(trace),
                "events": part.events,
                "pairs": part.pairs,
                "table": [{"window": size, "pairs": pairs} for size, pairs in zip(PAPER, part.within, strict=True)],
            }
            for trace, part in zip(traces, found.parts, strict=True)
        ],
        "events": found.events,
        "skipped_events": passed,
        "objects": found.objects,
        "pairs": found.pairs,
        "largest": found.largest,
        "window": found.window,
        "table": [{"window": size, "pairs": pairs, "share": found.share(size)} for size, pairs in found.table()],
        "histogram": [bucket._asdict() for bucket in found.histogram()],
        "types": {
            "verifiable": len(seen),
            "with_pairs": len(seen) + len(unseen),
            "events_share": _events_share(seen, unseen),
            "not_verifiable": [_type(kind) for kind in unseen],
        },
        "phases": found.phases,
        "suggestion": found.suggestion() if found.pairs else None,
    }
    return msgspec.json.encode(report) + b"\n"


def report_lines(found: Locality, traces: list[str], passed: dict[str, int], width: int = WIDTH) -> Iterator[Line]:
    """The whole report as text."""
    yield from paragraph(", ".join(map(printable, traces)), width, "bold")
    facts = (
        f"{count(found.events, 'event')} of {count(found.objects, 'object')}, "
        f"{count(found.pairs, 'pair')} of successive events of one object"
    )
    yield from paragraph(facts, width)
    if passed:
        skipped = ", ".join(f"{number:,} {printable(why)}" for why, number in sorted(passed.items()))
        yield from paragraph(f"skipped: {skipped}", width, "dim")
    if not found.pairs:
        what = "no object has two events" if found.events else "no event has an object"
        yield from paragraph(f"{what}, so Lawful cannot measure distances", width)
        return
    yield []
    yield from _table(found)
    if len(traces) > 1:
        yield []
        yield from _by_trace(found, traces, width)
    yield []
    yield from _histogram(found)
    yield []
    yield from _types(found, width)
    yield []
    yield from _phases(found)
    yield []
    yield from labelled("window", _suggestion(found), width)


def _table(found: Locality) -> Iterator[Line]:
    yield [Span("distance  pairs within it", "bold")]
    for size, pairs in found.table():
        mark = "  <- window" if size == found.window else ""
        yield [Span(f"{size:>8,}  {100 * found.share(size):6.2f} %  {pairs:>12,}{mark}")]


def _by_trace(found: Locality, traces: list[str], width: int) -> Iterator[Line]:
    yield [Span("".join(f"{size:>7,}" for size in PAPER) + "  of each trace, in %", "bold")]
    room = width - 7 * len(PAPER) - 2
    for trace, part in zip(traces, found.parts, strict=True):
        shares = [f"{100 * pairs / part.pairs:7.2f}" if part.pairs else f"{'-':>7}" for pairs in part.within]
        name = printable(trace)
        yield [Span(f"{''.join(shares)}  {name if len(name) <= room else '…' + name[1 - room :]}")]


def _histogram(found: Locality) -> Iterator[Line]:
    yield [Span("distances", "bold")]
    buckets = found.histogram()
    most = max(bucket.pairs for bucket in buckets)
    labels = [str(b.least) if b.least == b.most else f"{b.least:,}-{b.most:,}" for b in buckets]
    widest = max(map(len, labels))
    for label, bucket in zip(labels, buckets, strict=True):
        bar = "#" * -(-bucket.pairs * _BAR // most)
        yield [Span(f"{label:>{widest}}  "), Span(f"{bar:<{_BAR}}", "cyan"), Span(f"  {bucket.pairs:,}")]


def _types(found: Locality, width: int) -> Iterator[Line]:
    seen, unseen = found.verifiable()
    share = 100 * len(seen) / (len(seen) + len(unseen))
    text = (
        f"{len(seen):,} of {count(len(seen) + len(unseen), 'class', 'classes')} ({share:.1f} %), with "
        f"{100 * _events_share(seen, unseen):.1f} % of their events, are fully verifiable with a window of "
        f"{found.window:,}: all their pairs are within it"
    )
    yield from labelled("types", text, width)
    for kind in unseen[:_MOST_TYPES]:
        name = printable(kind.name) or "(no class)"
        yield from labelled("", f"not {name}: {count(kind.events, 'event')}, farthest {kind.largest:,}", width)
    if len(unseen) > _MOST_TYPES:
        yield from labelled("", f"and {len(unseen) - _MOST_TYPES:,} more", width)


def _phases(found: Locality) -> Iterator[Line]:
    far = sum(found.phases)
    if not far:
        yield [Span("phases", "bold"), Span(f"  no pair is farther apart than {found.window:,}")]
        return
    yield [Span("phases", "bold"), Span(f"  pairs farther apart than {found.window:,}, by tenths of each trace")]
    most = max(found.phases)
    for tenth, number in enumerate(found.phases, 1):
        bar = "#" * -(-number * _BAR // most)
        share = 100 * number / far
        yield [Span(f"  {10 * (tenth - 1):>3} %  "), Span(f"{bar:<{_BAR}}", "cyan"), Span(f"  {share:5.1f} %")]


def _suggestion(found: Locality) -> str:
    size = found.suggestion()
    share = 100 * found.share(size)
    if share >= 100 * ENOUGH:
        enough = f"that sees {100 * ENOUGH:g} % of the pairs"
        why = f"the smallest listed size, from the default of {DEFAULT_WINDOW} on, {enough}"
    else:
        why = "beyond it, doubling the window shows hardly more pairs, and costs more"
    return f"suggested: {size:,} ({share:.1f} % of the pairs); {why}"


def _events_share(seen: list[ClassLocality], unseen: list[ClassLocality]) -> float:
    total = sum(kind.events for kind in (*seen, *unseen))
    return sum(kind.events for kind in seen) / total if total else 1.0


def _type(kind: ClassLocality) -> dict[str, Any]:
    return {"name": encodable(kind.name), "events": kind.events, "pairs": kind.pairs, "largest": kind.largest}
