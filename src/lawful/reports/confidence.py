"""Confidence by class and law: a table with a sentence each, JSON, and the picture of the paper's Fig. 4."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from itertools import pairwise
from math import nan
from typing import TYPE_CHECKING, Any

from lawful.confidence.statistics import Claim, ClaimState
from lawful.diagnostics import all_encodable, printable
from lawful.engine.wording import count
from lawful.reports.chart import Axis, Chart, Panel, Series, VerticalLine, nines, percent, render_svg
from lawful.reports.text import WIDTH, Line, Span, labelled, titled

if TYPE_CHECKING:
    from lawful.confidence.policy_run import PolicyMove
    from lawful.confidence.summary import ClassSummary, LawSummary, Point

_LEAST_DOUBT = Decimal("1e-12")  # beyond, nobody counts nines
_FEW = 10  # fewer than 1 in so many are reported in percent
_MOST_MOVES = 8
_STYLES = {ClaimState.REACHED: "green", ClaimState.OPEN: "yellow", ClaimState.REFUTED: "bold red"}


# -- words -------------------------------------------------------------------------------------------------------------


def sure(doubt: float) -> str:
    """The confidence that lacks so much to 1, in percent; never more than it is."""
    exact = max(Decimal(repr(doubt)), _LEAST_DOUBT)
    # Two digits of what is small: of the doubt, or of the confidence.
    if exact > Decimal("0.5"):
        return f"{_digits(100 * Context(prec=2, rounding=ROUND_FLOOR).create_decimal(1 - exact))} %"
    return f"{_digits(100 * (1 - Context(prec=2, rounding=ROUND_CEILING).create_decimal(exact)))} %"


def part(rate: float, *, at_least: bool = False) -> str:
    """A share of all objects: `1 in 100,000`, or in percent; rounded up, or down for `at_least`, so it stays true."""
    exact = Decimal(repr(rate))
    if exact == 0:
        return "0 %"
    rounding = ROUND_FLOOR if at_least else ROUND_CEILING
    many = 1 / exact
    if many < _FEW:
        return f"{_digits(100 * Context(prec=3, rounding=rounding).create_decimal(exact))} %"
    # The more there are to one, the smaller the share.
    whole = many.to_integral_value(ROUND_CEILING if at_least else ROUND_FLOOR)
    return f"1 in {int(whole):,}"


def part_of(rate: float, objects: str, *, at_least: bool = False) -> str:
    """The same of some objects: `1 in 100,000 objects`, but `50 % of objects`."""
    share = part(rate, at_least=at_least)
    return f"{share} of {objects}" if share.endswith("%") else f"{share} {objects}"


def rounded(value: float, *, up: bool, digits: int = 6) -> str:
    """A number with a few digits, on the safe side of what it was."""
    context = Context(prec=digits, rounding=ROUND_CEILING if up else ROUND_FLOOR)
    return f"{float(context.create_decimal(repr(value))):.{digits}g}"


def sentence(class_name: str, law: LawSummary, name: str | None = None) -> str:
    """What may be said about a law and the objects of a class; `name` stands for that of the law."""
    name = law.law if name is None else name
    objects = f"objects of {class_name}"
    if not law.samples:
        return f"no life of an object of {class_name} was followed to its end: nothing can be said about {name}"
    if law.state is ClaimState.REACHED:
        return (
            f"with {sure(law.stated_doubt)} confidence fewer than {part_of(law.epsilon, objects)} break {name}"
            f"{_after_violations(law)}"
        )
    if law.state is ClaimState.REFUTED:
        return (
            f"with {sure(law.delta)} confidence at least {part_of(law.least, objects, at_least=True)} break {name}"
            f": more than the {part(law.epsilon)} allowed"
        )
    return (
        f"with {sure(law.stated_doubt)} confidence at most {part_of(law.bound, objects)} break {name}"
        f"{_after_violations(law)}; for {part(law.epsilon)}, "
        f"{count(law.missing, 'more clean sample')} {'is' if law.missing == 1 else 'are'} needed"
    )


def _after_violations(claim: Claim) -> str:
    return f", after {count(claim.violations, 'violation')}" if claim.violations else ""


def _digits(value: Decimal) -> str:
    shown = f"{value:f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


# -- text --------------------------------------------------------------------------------------------------------------


def report_lines(summaries: Sequence[ClassSummary], *, width: int = WIDTH, moves: bool = False) -> Iterator[Line]:
    """The table, then what it means; with `moves`, also how the policy went."""
    if not any(summary.laws for summary in summaries):
        yield [Span("no class of objects was sampled")]
        return
    yield from _table(summaries, width)
    for summary in summaries:
        yield []
        yield [Span(printable(summary.class_name), "bold")]
        yield from labelled("objects", _objects(summary), width)
        for state, text in _statements(summary):
            yield from titled(f"  {state}", _STYLES[state], printable(text), width)
        for law in summary.laws:
            if law.unknown:
                lives = count(law.unknown, "life", "lives")
                verb = "counts" if law.unknown == 1 else "count"
                text = f"{lives} could not be judged by {printable(law.law)}, and {verb} for nothing"
                yield from labelled("unknown", text, width)
        if moves:
            yield from _moves(summary, width)


def _statements(summary: ClassSummary) -> Iterator[tuple[ClaimState, str]]:
    """A sentence for each law; one for all of which the same is to be said."""
    alike: dict[tuple[ClaimState, str], list[LawSummary]] = {}
    for law in summary.laws:
        alike.setdefault((law.state, sentence(summary.class_name, law, "it")), []).append(law)
    for (state, text), laws in alike.items():
        if len(laws) == 1:
            yield state, sentence(summary.class_name, laws[0])
        elif len(laws) == len(summary.laws):
            yield state, f"{text}; this holds for each of the {len(laws)} laws separately"
        else:
            yield state, f"{text}; this holds separately for each of {'; '.join(law.law for law in laws)}"


_HEAD = ("samples", "violated", "unknown", "confidence", "error rate", "claim")
_LEAST_NAME = 12


def _table(summaries: Sequence[ClassSummary], width: int) -> Iterator[Line]:
    """A line for each class, and below it one for each of its laws."""
    cells = {(summary.class_name, law.law): _cells(law) for summary in summaries for law in summary.laws}
    sizes = [max(map(len, column)) for column in zip(_HEAD, *cells.values(), strict=True)]
    names = ["class, law", *(f"  {printable(law)}" for _, law in cells)]
    room = max(_LEAST_NAME, width - sum(sizes) - 2 * len(sizes))
    widest = min(room, max(map(len, names)))
    yield [Span(_row("class, law", _HEAD, sizes, widest), "bold")]
    for summary in summaries:
        if summary.laws:
            yield [Span(printable(summary.class_name))]
        for law in summary.laws:
            name = printable(law.law)
            if len(name) > widest - 2:  # the end of a name says more than its beginning
                name = "…" + name[3 - widest :]
            row = cells[summary.class_name, law.law]
            yield [Span(_row(f"  {name}", row[:-1], sizes, widest)), Span(f"  {row[-1]}", _STYLES[law.state])]


def _cells(law: LawSummary) -> tuple[str, ...]:
    return (
        f"{law.samples:,}",
        f"{law.violations:,}",
        f"{law.unknown:,}",
        sure(law.doubt),
        f"<= {rounded(law.bound, up=True, digits=3)}",
        str(law.state),
    )


def _row(name: str, cells: Sequence[str], sizes: Sequence[int], widest: int) -> str:
    last = len(_HEAD) - 1
    shown = [
        cell if at == last else cell.rjust(size) for at, (cell, size) in enumerate(zip(cells, sizes, strict=False))
    ]
    return "  ".join([name.ljust(widest), *shown])


def _objects(summary: ClassSummary) -> str:
    parts = [f"{summary.created:,} seen made", f"{summary.sampled:,} followed"]
    if summary.alive:
        not_samples = "is not a sample" if summary.alive == 1 else "are not samples"
        parts.append(f"{summary.alive:,} still alive, which {not_samples}")
    return f"{', '.join(parts)}; now {_share(summary.rate)} followed (policy: {printable(summary.state)})"


def _share(rate: float) -> str:
    if rate <= 0:
        return "none is"
    return "all are" if rate >= 1 else f"{part(rate)} is" if 1 / rate >= _FEW else f"{part(rate)} are"


def _moves(summary: ClassSummary, width: int) -> Iterator[Line]:
    label = "policy"
    shown = summary.moves[-_MOST_MOVES:]
    if len(shown) < len(summary.moves):
        yield from labelled(label, f"({count(len(summary.moves) - len(shown), 'earlier move')})", width)
        label = ""
    for move in shown:
        text = f"after {move.time:,.1f} s: {move.source} -> {move.target}, {move.why}"
        yield from labelled(label, printable(text), width)
        label = ""


# -- JSON --------------------------------------------------------------------------------------------------------------


def plain_json(summaries: Iterable[ClassSummary]) -> list[dict[str, Any]]:
    """The report in JSON's types."""
    classes: list[dict[str, Any]] = all_encodable([_class_json(summary) for summary in summaries])
    return classes


def _class_json(summary: ClassSummary) -> dict[str, Any]:
    return {
        "class": summary.class_name,
        "state": summary.state,
        "rate": summary.rate,
        "created": summary.created,
        "sampled": summary.sampled,
        "alive": summary.alive,
        "laws": [_law_json(summary.class_name, law) for law in summary.laws],
        "moves": [move._asdict() for move in summary.moves],
        "series": [point._asdict() for point in summary.series],
    }


def _law_json(class_name: str, law: LawSummary) -> dict[str, Any]:
    return {
        "law": law.law,
        "samples": law.samples,
        "violations": law.violations,
        "unknown": law.unknown,
        "claim": str(law.state),
        "error_rate": law.epsilon,
        "delta": law.delta,
        "stated_confidence": law.stated,
        "confidence": law.confidence,
        "doubt": law.doubt,
        "bound": law.bound,
        "least": law.least,
        "needed": law.needed,
        "says": sentence(class_name, law),
    }


# -- the picture -------------------------------------------------------------------------------------------------------


def picture(summaries: Sequence[ClassSummary]) -> str:
    """The paper's Fig. 4 as SVG, a file's whole text."""
    return render_svg(chart(summaries))


def chart(summaries: Sequence[ClassSummary]) -> Chart:
    """The paper's Fig. 4: overhead above, confidence below, and a line where a policy moved.

    Confidence has a step for each nine: else all that matters would lie on the upper edge.
    """
    shown = [summary for summary in summaries if summary.series and summary.laws]
    last = max((summary.series[-1].time for summary in shown), default=0.0)
    unit, size = _unit(last)
    confidence = [
        Series(printable(summary.class_name), [(point.time / size, _doubt(summary, point)) for point in summary.series])
        for summary in shown
    ]
    deltas = [law.delta for summary in shown for law in summary.laws]
    axis = Axis("confidence", log=True, low=min(deltas, default=0.01) / 4, high=1.0, form=nines, falling=True)
    panels = [Panel(confidence, axis)]
    if any(point.overhead is not None for summary in shown for point in summary.series):
        panels.insert(0, Panel(_overheads(shown, size), Axis("overhead", low=0.0, form=percent)))
    vertical_lines = [
        VerticalLine(move.time / size, printable(f"{summary.class_name}: {move.target}"))
        for summary in shown
        for move in _turns(summary)
    ]
    return Chart("Overhead and confidence", Axis(unit, low=0.0, high=last / size or None), panels, vertical_lines)


def _unit(seconds: float) -> tuple[str, float]:
    if seconds < 300:
        return "seconds", 1.0
    return ("minutes", 60.0) if seconds < 3 * 3600 else ("hours", 3600.0)


def _overheads(shown: Sequence[ClassSummary], size: float) -> list[Series]:
    lines = [
        Series(
            printable(summary.class_name),
            [(point.time / size, nan if point.overhead is None else point.overhead) for point in summary.series],
            step=True,
        )
        for summary in shown
    ]
    if len({tuple((point.time, point.overhead) for point in summary.series) for summary in shown}) == 1:
        # It is that of the program, and not of a class.
        return [Series("", lines[0].points, step=True)]
    return lines


def _doubt(summary: ClassSummary, point: Point) -> float:
    """Of the law that is known least: the point counts its samples."""
    claim = summary.laws[0]
    return max(Claim(claim.epsilon, claim.delta, point.clean + point.violations, point.violations).doubt, 1e-300)


def _turns(summary: ClassSummary) -> list[PolicyMove]:
    """The moves within what the series shows, without states that were left at once."""
    first, last = summary.series[0].time, summary.series[-1].time
    moves = [move for move in summary.moves if first <= move.time <= last]
    stayed = [move for move, after in pairwise(moves) if after.time - move.time > (last - first) / 100]
    return [*stayed, *moves[-1:]][-_MOST_MOVES:]
