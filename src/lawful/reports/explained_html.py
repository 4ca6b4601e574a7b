"""Explanations and comparisons as a page of their own: pictures to ask, bounds to slide, events to take out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from lawful import __version__
from lawful.diagnostics import printable
from lawful.engine.wording import count, cut
from lawful.explain.comparison import Witness
from lawful.explain.explanation import Explanation, Snapshot
from lawful.reports import automaton_svg, explained
from lawful.reports.automaton_drawing import (
    MOST_LINES,
    described,
    distinct_failures,
    doomed_note,
    drawings,
    end_role,
    ends_are_shown,
    place,
    shown,
    side_title,
    title,
)
from lawful.reports.drawing import LABEL_WIDTH
from lawful.reports.page import page
from lawful.reports.sources import SourceLines
from lawful.reports.svg import SANS, flat, letters

if TYPE_CHECKING:
    from lawful.explain.comparison import Comparison
    from lawful.explain.explanation import Picture, PictureEdge, WordExample
    from lawful.explain.teacher import Alphabet
    from lawful.reports.drawing import Drawing

SCRIPTS = ("layout.js", "projection.js", "drawing.js", "explained.js")
_MOST_WAYS = 12
_MOST_WORDS = 3  # of each failure
_LONGEST_CELL = 80
_ROLES = {"limit": "limit", "warning": "warning"}


def render(subject: Explanation | Comparison, *, folder: str | os.PathLike[str] = ".") -> str:
    """The whole page. `folder`: that of the project, below which the files of events are."""
    source = SourceLines(folder)
    alphabet = subject.alphabet
    if isinstance(subject, Explanation):
        snapshots, chosen = _snapshots(subject)
        nothing = []
        parts = [_Part(title(subject), snapshots, chosen, subject.ways, subject.ways_total)]
    else:
        parts = [
            _Part(
                side_title(side),
                [Snapshot(subject.bounds, side.automaton, side.picture)],
                0,
                side.ways,
                side.ways_total,
                explained.ends(side, subject) if len(side.ends) > 1 else "",
            )
            for side in subject.sides
            if not side.empty
        ]
        nothing = [side_title(side) for side in subject.sides if side.empty]
    drawn = drawings(subject, empty=False)
    panels = [_panel(part, subject, drawing) for part, drawing in zip(parts, drawn, strict=True)]
    data = {
        "events": [_event(event.label) for event in alphabet.events],
        "ends": alphabet.ends,
        "failing": sorted(distinct_failures(subject)),
        "sizes": _sizes(),
        "panels": [_panel_data(part, subject, source) for part in parts],
    }
    values = {
        "title": title(subject),
        "version": __version__,
        "verdict": _verdict(subject),
        "facts": list(explained.facts(subject)),
        "roles": {**_ROLES, "rests on": "complete" if subject.complete else "partial"},
        "sliders": isinstance(subject, Explanation) and len(subject.snapshots) > 1,
        "events": [flat(event.label) for event in alphabet.events],
        "ends": alphabet.ends,
        "failures": _failures(subject, source) if isinstance(subject, Explanation) else [],
        "panels": panels,
        "headings": not isinstance(subject, Explanation),
        "nothing": nothing,
    }
    return page("explained.html", style="explained.css", scripts=SCRIPTS, data=data, values=values)


def _verdict(subject: Explanation | Comparison) -> dict[str, str] | None:
    if isinstance(subject, Explanation):
        if not subject.picture.empty:
            return None
        return {"role": "", "text": explained.nothing(subject)}
    return {"role": "complete" if subject.verdict == "same" else "warning", "text": explained.verdict(subject)}


def _failures(explanation: Explanation, source: SourceLines) -> list[dict[str, Any]]:
    """With which errors and in which lines executions fail, and after which events."""
    return [
        {
            "error": flat(each.error or "error"),
            "place": place(each.file, each.line),
            "line": source.line(each.file, each.line),
            "words": each.words,
            "first": [explained.spelled(explanation.alphabet, word) for word in each.first[:_MOST_WORDS]],
            "more": max(each.words - len(each.first[:_MOST_WORDS]), 0),
            "example": None if each.example is None else cut(flat(each.example), _LONGEST_CELL),
        }
        for each in explanation.failures
    ]


def _snapshots(explanation: Explanation) -> tuple[list[Snapshot], int]:
    """What the sliders can show, and which of them is the result: the one whose picture knows its inputs."""
    final = Snapshot(explanation.bounds, explanation.automaton, explanation.picture)
    found = {each.bounds: each for each in explanation.snapshots}
    found[final.bounds] = final
    return list(found.values()), list(found).index(final.bounds)


# -- what is in the page without scripts -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Part:
    """A picture of the page: with several bounds perhaps, of which one is chosen."""

    title: str
    snapshots: Sequence[Snapshot]
    chosen: int
    ways: Sequence[WordExample]
    total: int | None
    ends: str = ""

    @property
    def picture(self) -> Picture:
        return self.snapshots[self.chosen].picture


def _panel(part: _Part, subject: Explanation | Comparison, drawing: Drawing) -> dict[str, Any]:
    picture, ways = part.picture, part.ways[:_MOST_WAYS]
    labels = [shown(label) for label in subject.alphabet.labels]
    left = (len(part.ways) if part.total is None else part.total) - len(ways)
    doomed = doomed_note(picture, ends=ends_are_shown(subject))
    return {
        "title": part.title,
        "ends": part.ends,
        "legend": [*([doomed] if doomed else []), *(["Red: fails"] if distinct_failures(subject) else [])],
        "caption": explained.sizes(picture),
        "picture": automaton_svg.inline(drawing),
        "story": [(letter, labels[letter]) for letter in picture.story],
        "ways": [
            {
                "word": [(letter, labels[letter]) for letter in way.word],
                "example": _lines(way.example),
                "errors": [flat(each) for each in way.errors] if len(way.errors) > 1 else [],
                "notes": _notes(way, subject),
            }
            for way in ways
        ],
        "more": f"and {count(left, 'other way')}" if left > 0 else "",
        "rows": [
            {
                "source": edge.source,
                "target": edge.target,
                "event": labels[edge.letter],
                "bold": edge.dominating,
                "place": place(edge.file, edge.line),
                "example": None if edge.example is None else cut(flat(edge.example), _LONGEST_CELL),
            }
            for edge in picture.edges
        ],
    }


def _notes(way: WordExample, subject: Explanation | Comparison) -> list[str]:
    """What other versions do in the place of a way."""
    if isinstance(subject, Explanation) or not isinstance(way, Witness):
        return []
    unsure = [] if way.certain else ["unsure: an execution that was not followed to its end may do the same"]
    return [*(f"but {explained.instead(each, way.word, subject)}" for each in way.elsewhere), *unsure]


def _lines(text: str | None) -> str | None:
    """A text of several lines, harmless in each."""
    return None if text is None else "\n".join(map(printable, text.split("\n")))


# -- what scripts read -------------------------------------------------------------------------------------------------


def _panel_data(part: _Part, subject: Explanation | Comparison, source: SourceLines) -> dict[str, Any]:
    """Pictures that are the same for several bounds are there once."""
    places: dict[Picture, int] = {}
    for each in part.snapshots:
        places.setdefault(each.picture, len(places))
    ends = ends_are_shown(subject)
    return {
        "title": part.title,
        "role": end_role(subject, part.picture),
        "pictures": [
            {
                **_picture(each, subject.alphabet, source),
                "doomed_note": (doomed_note(each, ends=ends) or "").removeprefix("D: "),
            }
            for each in places
        ],
        "snapshots": [{**asdict(each.bounds), "picture": places[each.picture]} for each in part.snapshots],
        "chosen": part.chosen,
    }


def _picture(picture: Picture, alphabet: Alphabet, source: SourceLines) -> dict[str, Any]:
    same = ("states", "accepting", "doomed", "dominating", "story")
    edges = [_edge(edge, alphabet, source) for edge in picture.edges]
    return {**{name: getattr(picture, name) for name in same}, "edges": edges}


def _edge(edge: PictureEdge, alphabet: Alphabet, source: SourceLines) -> dict[str, Any]:
    return {
        "source": edge.source,
        "letter": edge.letter,
        "target": edge.target,
        "detail": described(edge, alphabet),
        "place": place(edge.file, edge.line),
        "source_line": source.line(edge.file, edge.line),
        "word": edge.word,
        "example": _lines(edge.example),
    }


def _event(label: str) -> dict[str, Any]:
    name = shown(label)
    return {"label": flat(label) or "?", "shown": name, "units": letters(name)}


def _sizes() -> dict[str, Any]:
    """What the script must know to draw as `automaton_svg` does."""
    return {
        "letters": automaton_svg.LETTERS,
        "line": automaton_svg.LINE,
        "radius": automaton_svg.LEAST_RADIUS,
        "widest": automaton_svg.WIDEST,
        "family": SANS,
        "listed": LABEL_WIDTH,
        "lines": MOST_LINES,
        "comma": letters(","),
        "blank": letters(" "),
        "digit": letters("0"),
        "mark": letters("D"),
    }
