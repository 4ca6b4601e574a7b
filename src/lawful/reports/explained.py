"""Explanations and comparisons as text, for people: readable in 80 columns, with and without colour."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from lawful.engine.wording import count, cut
from lawful.explain.comparison import Witness
from lawful.explain.explanation import Explanation
from lawful.explain.teacher import Basis
from lawful.reports.automaton_drawing import place, shown, side_title, title
from lawful.reports.sources import SourceLines
from lawful.reports.svg import flat
from lawful.reports.text import WIDTH, Line, Span, clipped, labelled, paragraph

if TYPE_CHECKING:
    from lawful.explain.comparison import Comparison, OtherVersion, Side
    from lawful.explain.explanation import FailurePlace, Picture, WordExample
    from lawful.explain.teacher import Alphabet, Bounds, QueryCounts, Word

MOST_HISTORIES = 3
MOST_EDGES = 60
MOST_EDGES_OF_A_SIDE = 20
_VERDICTS = {"same": ("same", "green"), "differs": ("DIFFERS", "bold red"), "undecided": ("UNSURE", "bold yellow")}
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
    yield from paragraph(title(explanation), width, "bold")
    if picture.empty:
        yield from labelled("none", nothing(explanation), width)
    else:
        yield from labelled("picture", sizes(picture), width)
        if picture.story:
            yield from labelled("story", " > ".join(_names(alphabet, picture.story)), width)
        if picture.dominating:
            yield from labelled("always", ", ".join(_names(alphabet, sorted(picture.dominating))), width)
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
    yield from paragraph(title(comparison), width, "bold")
    label, style = _VERDICTS[comparison.verdict]
    for first, *rest in labelled(label, verdict(comparison), width):
        yield [Span(first.text, style), *rest]
    for label, text in facts(comparison):
        yield from labelled(label, text, width)
    for side in comparison.sides:
        yield []
        style = ("bold red" if side.certain else "bold yellow") if side.matters and not side.empty else "bold"
        yield from paragraph(side_title(side), width, style)
        if not side.empty:
            yield from labelled("picture", sizes(side.picture), width)
            if len(side.ends) > 1:
                yield from labelled("ends", ends(side, comparison), width)
            yield from _ways(_of_each_end(side.ways), side.ways_total, comparison.alphabet, width, comparison)
            yield from _edges(side.picture, comparison.alphabet, source, width, MOST_EDGES_OF_A_SIDE)


# -- what text and page share ------------------------------------------------------------------------------------------


def facts(explained: Explanation | Comparison) -> Iterator[tuple[str, str]]:
    """What a picture rests on, and what it cost; labels and sentences."""
    yield "rests on", basis(explained)
    yield "bounds", bounds(explained.bounds)
    for reached in explained.reached:
        yield "limit", flat(reached)
    doubts = () if isinstance(explained, Explanation) else explained.doubts
    for warning in (*explained.warnings, *doubts):
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
    """Whether there is something to look at, and in which executions it was looked for."""
    if comparison.verdict == "undecided":
        what = "what looks different" if not comparison.same else "what was not seen"
        return f"{what} may be what executions do that were not followed to their end"
    if comparison.verdict == "same":
        said = f"no {'difference' if comparison.kind == 'diff' else 'surprise'} within the bounds"
        if not comparison.complete:
            said += ", as far as was seen"
    elif comparison.kind == "diff":
        said = "the versions behave differently"
    else:
        said = "the merge does what neither branch does, or has lost what one of them did"
    if not comparison.narrowed:
        return said
    if comparison.ends:
        return f"{said}; only executions that come to their end were compared"
    return f"{said}; only executions that end in {flat(comparison.alphabet.labels[-1])} were compared"


def ends(side: Side, comparison: Comparison) -> str:
    """How the words of a side end, and how many."""
    labels = comparison.alphabet.labels
    found = ((end, f"{flat(labels[end])} {count(number, 'word')}") for end, number in side.ends.items())
    return ", ".join(f"{text} (fails)" if end in comparison.failing else text for end, text in found)


def instead(elsewhere: OtherVersion, beside: Word, comparison: Comparison) -> str:
    """What another version does where this one has a word of its own, without their common beginning."""
    labels = comparison.alphabet.labels

    def how(word: Word, one: str, other: str) -> str:
        return f"{one} {flat(labels[word[-1]])}" if word[-1] in comparison.failing else other

    if elsewhere.by == "input":
        word = elsewhere.words[0]
        ending = how(word, "fails with", "ends well")
        alike = next((at for at, pair in enumerate(zip(word[:-1], beside, strict=False)) if pair[0] != pair[1]), 0)
        rest = f"… > {spelled(comparison.alphabet, word[alike:])}" if alike > 1 else spelled(comparison.alphabet, word)
        return f"in {flat(elsewhere.version)}, the same input {ending}: {rest}"
    endings = " or ".join(how(word, "fail with", "end well") for word in elsewhere.words)
    return f"in {flat(elsewhere.version)}, the same events {endings}"


def basis(explained: Explanation | Comparison) -> str:
    """How much the picture can be relied on."""
    if explained.basis is Basis.SAMPLED:
        said = "sampled: there may be ways that no sample took"
    elif explained.reached:
        said = "executions seen before a limit was reached: there may be other ways within the bounds"
    else:
        said = "complete within bounds: no other way exists within them"
    if explained.interrupted and not isinstance(explained, Explanation):
        return "interrupted: only a part of the executions was compared"
    if isinstance(explained, Explanation):
        if explained.interrupted:
            return f"interrupted: the best so far, not everything ({explained.basis.value} until then)"
        if not explained.converged:
            said += "; larger bounds may show more"
    return said


def bounds(found: Bounds) -> str:
    """How far the program was followed."""
    return f"unwind {found.unwind}, words of up to {count(found.word_length, 'event')}"


def cost(counts: QueryCounts, iterations: int, seconds: float) -> str:
    """The number of queries, and how many of them took work."""
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
    """The doomed states, and in which sense."""
    said = f"{'state' if len(picture.doomed) == 1 else 'states'} {', '.join(map(str, picture.doomed))}"
    if explanation.ends:  # there is no other way to end
        return said
    if picture.doomed_reading == "paper":
        return f"{said} (by the picture alone: not all executions that do not fail are known)"
    return said if explanation.basis is Basis.COMPLETE else f"{said} (of the executions that were seen)"


def fails_at(failure: FailurePlace, source: SourceLines, width: int) -> str:
    """A line in which executions fail, how often, and an input."""
    where = place(failure.file, failure.line) or "elsewhere"
    line = source.line(failure.file, failure.line)
    raised = f"{flat(failure.error)}, " if failure.error else ""
    said = f"{where}: {raised}{count(failure.words, 'word')}" + (f" | {flat(line)}" if line else "")
    example = "" if failure.example is None else f", e.g. {flat(failure.example)}"
    return clipped(said + example, width)


# -- parts of the text -------------------------------------------------------------------------------------------------


def spelled(alphabet: Alphabet, word: Iterable[int]) -> str:
    """A word as a reader says it."""
    return " > ".join(_names(alphabet, word)) or "(nothing happens)"


def _names(alphabet: Alphabet, letters: Iterable[int]) -> list[str]:
    return [shown(alphabet.labels[letter]) for letter in letters]


def _of_each_end(ways: Sequence[Witness]) -> list[Witness]:
    """The same, with the first of each end before the others: few of them are shown."""
    first = {way.word[-1]: way for way in reversed(ways)}
    heads = [way for way in ways if first[way.word[-1]] is way]
    return heads + [way for way in ways if first[way.word[-1]] is not way]


def _ways(
    ways: Sequence[WordExample], total: int | None, alphabet: Alphabet, width: int, comparison: Comparison | None = None
) -> Iterator[Line]:
    """The first words, each with an input that gives it, and what other versions do there."""
    for way in ways[:MOST_HISTORIES]:
        yield from labelled("way", spelled(alphabet, way.word), width)
        if len(way.errors) > 1:
            yield from labelled("  errors", ", ".join(map(flat, way.errors)), width)
        if way.example is not None:
            yield from labelled("  input", clipped(flat(way.example), width), width)
        if comparison is not None and isinstance(way, Witness):
            for each in way.elsewhere:
                yield from labelled("  but", clipped(instead(each, way.word, comparison), width), width)
            if not way.certain:
                yield from labelled("  unsure", "an execution that was not followed to its end may do the same", width)
    left = (len(ways) if total is None else total) - len(ways[:MOST_HISTORIES])
    if left > 0:
        yield from labelled("", f"and {count(left, 'other way')}", width)


def _edges(
    picture: Picture, alphabet: Alphabet, source: SourceLines, width: int, most: int = MOST_EDGES
) -> Iterator[Line]:
    """A line for each edge; those of one execution refer to the same input below."""
    inputs: dict[str, int] = {}
    rows = []
    for edge in picture.edges[:most]:
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
            found.append(Span(f"  | {cut(line, room)}", "dim"))
        yield found
    if len(picture.edges) > most:
        yield from labelled("", f"and {count(len(picture.edges) - most, 'other edge')}", width)
    for example, at in inputs.items():
        yield from labelled(f"  #{at}", clipped(flat(example), width), width)
