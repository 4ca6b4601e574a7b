"""Explanations and comparisons as text, for people: readable in 80 columns, with and without colour."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from lawful.explain.explanation import Explanation
from lawful.explain.model import Basis
from lawful.reports.automaton_drawing import flat, place, shown, side_title, title
from lawful.reports.core import count
from lawful.reports.sources import SourceLines
from lawful.reports.text import WIDTH, Line, Span, clipped, folded, labelled

if TYPE_CHECKING:
    from lawful.explain.differences import Comparison
    from lawful.explain.explanation import Failure, Picture, Way
    from lawful.explain.model import Alphabet, Bounds, Counts

MOST_WAYS = 3
MOST_EDGES = 60
_LEAST_SOURCE = 16  # columns, or the line of source is left out


def lines(
    explained: Explanation | Comparison, *, width: int = WIDTH, folder: str | os.PathLike[str] = "."
) -> Iterator[Line]:
    """The whole report. `folder`: that of the project, below which the files of events are."""
    if isinstance(explained, Explanation):
        return _explanation_lines(explained, SourceLines(folder), width)
    return _comparison_lines(explained, SourceLines(folder), width)


def _explanation_lines(explanation: Explanation, source: SourceLines, width: int) -> Iterator[Line]:
    picture, alphabet = explanation.picture, explanation.alphabet
    yield from ([Span(part, "bold")] for part in folded(title(explanation), width))
    if picture.empty:
        yield from labelled("none", nothing(explanation), width)
    else:
        yield from labelled("picture", sizes(picture), width)
        if picture.story:
            yield from labelled("story", _spelled(alphabet, picture.story), width)
        if picture.dominating:
            yield from labelled("always", _spelled(alphabet, picture.dominating, " ", sort=True), width)
        if picture.doomed:
            yield from labelled("doomed", doomed(picture, explanation), width)
        if len(explanation.failures) > 1:
            for failure in explanation.failures:
                yield from labelled("fails at", fails_at(failure, source, width), width)
    for label, text in facts(explanation):
        yield from labelled(label, text, width)
    yield from _ways(explanation.ways, explanation.ways_total, alphabet, width)
    if not picture.empty:
        yield []
        yield from _edges(picture, alphabet, source, width)


def _comparison_lines(comparison: Comparison, source: SourceLines, width: int) -> Iterator[Line]:
    yield from ([Span(part, "bold")] for part in folded(title(comparison), width))
    label, style = ("same", "green") if comparison.same else ("DIFFERS", "bold red")
    for first, *rest in labelled(label, verdict(comparison), width):
        yield [Span(first.text, style), *rest]
    for label, text in facts(comparison):
        yield from labelled(label, text, width)
    for side in comparison.sides:
        yield []
        style = "bold red" if side.matters and not side.empty else "bold"
        yield from ([Span(part, style)] for part in folded(side_title(side), width))
        if not side.empty:
            yield from labelled("picture", sizes(side.picture), width)
            yield from _ways(side.ways, side.ways_total, comparison.alphabet, width)
            yield from _edges(side.picture, comparison.alphabet, source, width)


# -- what text and page share ------------------------------------------------------------------------------------------


def facts(explained: Explanation | Comparison) -> Iterator[tuple[str, str]]:
    """What a picture rests on, and what it cost; labels and sentences."""
    yield "rests on", basis(explained)
    yield "bounds", bounds(explained.bounds)
    for reached in explained.reached:
        yield "limit", flat(reached)
    for warning in explained.warnings:
        yield "warning", flat(warning)
    if isinstance(explained, Explanation):
        yield "cost", cost(explained.counts, explained.iterations, explained.seconds)
    else:
        yield "cost", f"{explained.seconds:.2f} s"


def nothing(explanation: Explanation) -> str:
    """What is to be said where no word was found."""
    what = "the end" if explanation.ends else flat(explanation.alphabet.labels[explanation.alphabet.error])
    return f"{what} is not reached within the bounds"


def verdict(comparison: Comparison) -> str:
    """Whether there is something to look at."""
    if comparison.same:
        said = f"no {'difference' if comparison.kind == 'diff' else 'surprise'} within the bounds"
        # An execution that fails comes to no end: that one version fails and another does not is not seen here.
        unseen = ", of executions that come to their end; --error compares those that fail"
        return said + unseen if comparison.ends else said
    if comparison.kind == "diff":
        return "the versions behave differently"
    return "the merge does what neither branch does, or has lost what one of them did"


def basis(explained: Explanation | Comparison) -> str:
    """How much the picture can be relied on."""
    if explained.basis is Basis.SAMPLED:
        said = "sampled: there may be ways that no sample took"
    elif explained.reached:
        said = "what was seen before a limit was reached: there may be other ways within the bounds"
    else:
        said = "complete within bounds: there is no other way within them"
    if isinstance(explained, Explanation):
        if explained.interrupted:
            return f"interrupted: the best so far, not everything ({explained.basis.value} until then)"
        if not explained.converged:
            said += "; larger bounds may show more"
    return said


def bounds(found: Bounds) -> str:
    """How far the program was followed."""
    return f"unwind {found.unwind}, words of up to {count(found.word_length, 'event')}"


def cost(counts: Counts, iterations: int, seconds: float) -> str:
    """What was asked, and how much of it took work."""
    parts = [
        count(counts.membership, "membership query", "membership queries") + _worked(counts.membership_worked),
        count(counts.conjectures, "conjecture") + _worked(counts.conjectures_worked),
        *([count(counts.executions, "execution")] if counts.executions else []),
        *([count(counts.solver_calls, "solver call")] if counts.solver_calls else []),
        f"{count(iterations, 'pair')} of bounds",
        f"{seconds:.2f} s",
    ]
    return ", ".join(parts)


def _worked(number: int) -> str:
    return f" ({number:,} of them worked on)" if number else ""


def sizes(picture: Picture) -> str:
    """How large a picture is."""
    return f"{count(picture.states, 'state')}, {count(len(picture.edges), 'edge')}"


def doomed(picture: Picture, explanation: Explanation) -> str:
    """From where there is no escape, and in which sense."""
    said = f"{'state' if len(picture.doomed) == 1 else 'states'} {', '.join(map(str, picture.doomed))}"
    if explanation.ends:  # there is no other way to end
        return said
    if picture.doomed_reading == "paper":
        return f"{said} (by the picture alone: not all executions that do not fail are known)"
    return said if explanation.basis is Basis.COMPLETE else f"{said} (of the executions that were seen)"


def fails_at(failure: Failure, source: SourceLines, width: int) -> str:
    """A line in which executions fail, how often, and an input."""
    where = place(failure.file, failure.line) or "elsewhere"
    line = source.line(failure.file, failure.line)
    raised = f"{flat(failure.error)}, " if failure.error else ""
    said = f"{where}: {raised}{count(failure.words, 'word')}" + (f" | {flat(line)}" if line else "")
    example = "" if failure.example is None else f", e.g. {flat(failure.example)}"
    return clipped(said + example, width)


# -- parts of the text -------------------------------------------------------------------------------------------------


def _spelled(alphabet: Alphabet, word: Iterable[int], between: str = " > ", *, sort: bool = False) -> str:
    names = [shown(alphabet.labels[letter]) for letter in (sorted(word) if sort else word)]
    return (", " if between == " " else between).join(names)


def _ways(ways: Sequence[Way], total: int | None, alphabet: Alphabet, width: int) -> Iterator[Line]:
    """The first words, each with an input that gives it."""
    for way in ways[:MOST_WAYS]:
        yield from labelled("way", _spelled(alphabet, way.word) or "(nothing happens)", width)
        if way.example is not None:
            yield from labelled("  input", clipped(flat(way.example), width), width)
    left = (len(ways) if total is None else total) - len(ways[:MOST_WAYS])
    if left > 0:
        yield from labelled("", f"and {count(left, 'other way')}", width)


def _edges(picture: Picture, alphabet: Alphabet, source: SourceLines, width: int) -> Iterator[Line]:
    """A line for each edge; those of one execution refer to the same input below."""
    inputs: dict[str, int] = {}
    rows = []
    for edge in picture.edges[:MOST_EDGES]:
        number = ""
        if edge.example is not None:
            number = f"#{inputs.setdefault(edge.example, len(inputs) + 1)}"
        where = place(edge.file, edge.line)
        line = source.line(edge.file, edge.line) or ""
        arrow = f"{edge.source} -> {edge.target}"
        rows.append((arrow, "*" if edge.dominating else " ", shown(alphabet.labels[edge.letter]), number, where, line))
    columns = [max((len(row[at]) for row in rows), default=0) for at in range(5)]
    columns[4] = min(columns[4], 30)
    yield [Span("  edges     ", "dim"), Span("* in every word; # the input that takes it", "dim")]
    for arrow, star, name, number, where, line in rows:
        where = where if len(where) <= columns[4] else f"…{where[-(columns[4] - 1) :]}"
        head = f"    {arrow:<{columns[0]}} {star} "
        middle = f"{name:<{columns[2]}}"
        rest = f"  {number:<{columns[3]}}  {where:<{columns[4]}}"
        room = width - len(head) - len(middle) - len(rest) - 4
        if room < 0:
            rest = f"  {number}"
        found = [Span(head), Span(middle, "bold" if star == "*" else ""), Span(rest, "dim")]
        if line and room >= _LEAST_SOURCE:
            found.append(Span(f"  | {line if len(line) <= room else line[: room - 1] + '…'}", "dim"))
        yield found
    if len(picture.edges) > MOST_EDGES:
        yield from labelled("", f"and {count(len(picture.edges) - MOST_EDGES, 'other edge')}", width)
    for example, at in inputs.items():
        yield from labelled(f"  #{at}", clipped(flat(example), width), width)
