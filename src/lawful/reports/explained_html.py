"""Explanations and comparisons as a page of their own: pictures to ask, bounds to slide, events to take out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lawful import __version__
from lawful.diagnostics import printable
from lawful.explain.explanation import Explanation, Snapshot
from lawful.reports import automaton_svg, explained
from lawful.reports.automaton_drawing import (
    MOST_LINES,
    described,
    drawings,
    end_role,
    flat,
    place,
    shown,
    side_title,
    title,
)
from lawful.reports.core import count
from lawful.reports.drawing import LABEL_WIDTH
from lawful.reports.lettering import letters
from lawful.reports.page import page
from lawful.reports.sources import SourceLines

if TYPE_CHECKING:
    from lawful.explain.differences import Comparison
    from lawful.explain.explanation import Edge, Picture, Way
    from lawful.explain.model import Alphabet
    from lawful.reports.drawing import Drawing

SCRIPTS = ("layout.js", "projection.js", "drawing.js", "explained.js")
_MOST_WAYS = 12
_LONGEST_CELL = 80
_ROLES = {"limit": "limit", "warning": "warning"}


def render(
    subject: Explanation | Comparison,
    *,
    folder: str | os.PathLike[str] = ".",
    placer: automaton_svg.Placer = "auto",
) -> str:
    """The whole page. `folder`: that of the project, below which the files of events are."""
    source = SourceLines(folder)
    alphabet = subject.alphabet
    if isinstance(subject, Explanation):
        snapshots, chosen = _snapshots(subject)
        nothing = []
        parts = [(title(subject), snapshots, chosen, subject.ways, subject.ways_total)]
    else:
        parts = [
            (side_title(side), [Snapshot(subject.bounds, side.automaton, side.picture)], 0, side.ways, side.ways_total)
            for side in subject.sides
            if not side.empty
        ]
        nothing = [side_title(side) for side in subject.sides if side.empty]
    panels = []
    for (name, snapshots, chosen, ways, total), drawing in zip(parts, drawings(subject, empty=False), strict=True):
        panels.append(_panel(name, snapshots[chosen].picture, alphabet, drawing, placer, ways, total))
    data = {
        "events": [_event(event.label) for event in alphabet.events],
        "role": end_role(subject),
        "sizes": _sizes(),
        "panels": [_panel_data(each[0], each[1], each[2], alphabet, source) for each in parts],
    }
    values = {
        "title": title(subject),
        "version": __version__,
        "verdict": _verdict(subject),
        "facts": list(explained.facts(subject)),
        "roles": {**_ROLES, "rests on": "complete" if subject.complete else "partial"},
        "sliders": isinstance(subject, Explanation) and len(subject.snapshots) > 1,
        "events": [flat(event.label) for event in alphabet.events],
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
    return {"role": "complete" if subject.same else "warning", "text": explained.verdict(subject)}


def _snapshots(explanation: Explanation) -> tuple[list[Snapshot], int]:
    """What the sliders can show, and which of them is the result: the one whose picture knows its inputs."""
    final = Snapshot(explanation.bounds, explanation.automaton, explanation.picture)
    found = {each.bounds: each for each in explanation.snapshots}
    found[final.bounds] = final
    return list(found.values()), list(found).index(final.bounds)


# -- what is in the page without scripts -------------------------------------------------------------------------------


def _panel(
    name: str,
    picture: Picture,
    alphabet: Alphabet,
    drawing: Drawing,
    placer: automaton_svg.Placer,
    ways: Sequence[Way],
    total: int | None,
) -> dict[str, Any]:
    labels = [shown(label) for label in alphabet.labels]
    left = (len(ways) if total is None else total) - len(ways[:_MOST_WAYS])
    return {
        "title": name,
        "caption": explained.sizes(picture),
        "picture": automaton_svg.inline(drawing, placer=placer),
        "story": [(letter, labels[letter]) for letter in picture.story],
        "ways": [
            {"word": [(letter, labels[letter]) for letter in way.word], "example": _lines(way.example)}
            for way in ways[:_MOST_WAYS]
        ],
        "more": f"and {count(left, 'other way')}" if left > 0 else "",
        "rows": [
            {
                "source": edge.source,
                "target": edge.target,
                "event": labels[edge.letter],
                "bold": edge.dominating,
                "place": place(edge.file, edge.line),
                "example": None if edge.example is None else _cut(flat(edge.example)),
            }
            for edge in picture.edges
        ],
    }


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_CELL else f"{text[: _LONGEST_CELL - 1]}…"


def _lines(text: str | None) -> str | None:
    """A text of several lines, harmless in each."""
    return None if text is None else "\n".join(map(printable, text.split("\n")))


# -- what scripts read -------------------------------------------------------------------------------------------------


def _panel_data(
    name: str, snapshots: Sequence[Snapshot], chosen: int, alphabet: Alphabet, source: SourceLines
) -> dict[str, Any]:
    """Pictures that are the same for several bounds are there once."""
    places: dict[Picture, int] = {}
    for each in snapshots:
        places.setdefault(each.picture, len(places))
    return {
        "title": name,
        "pictures": [_picture(each, alphabet, source) for each in places],
        "snapshots": [
            {
                "unwind": each.bounds.unwind,
                "word_length": each.bounds.word_length,
                "picture": places[each.picture],
            }
            for each in snapshots
        ],
        "chosen": chosen,
    }


def _picture(picture: Picture, alphabet: Alphabet, source: SourceLines) -> dict[str, Any]:
    return {
        "states": picture.states,
        "accepting": picture.accepting,
        "doomed": picture.doomed,
        "dominating": picture.dominating,
        "story": picture.story,
        "edges": [_edge(edge, alphabet, source) for edge in picture.edges],
    }


def _edge(edge: Edge, alphabet: Alphabet, source: SourceLines) -> dict[str, Any]:
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
        "family": automaton_svg.SANS,
        "listed": LABEL_WIDTH,
        "lines": MOST_LINES,
        "comma": letters(","),
        "blank": letters(" "),
        "digit": letters("0"),
        "mark": letters("D"),
    }
