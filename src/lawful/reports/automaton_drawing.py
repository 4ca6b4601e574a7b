"""Explanations and comparisons as drawings: bold events, doomed states, and parallel arrows as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from lawful.engine.wording import count
from lawful.explain.explanation import Explanation
from lawful.reports.drawing import Cluster, Drawing, Edge, Node, Role, listed, shortened
from lawful.reports.svg import flat

if TYPE_CHECKING:
    from lawful.explain.comparison import Comparison, Side
    from lawful.explain.explanation import FailurePlace, Picture, PictureEdge
    from lawful.explain.teacher import Alphabet

LONGEST = 32  # letters of an event's name in a picture
MOST_LINES = 8  # of an arrow's label
MOST_FAILURES = 6  # below a picture


def drawing(explained: Explanation | Comparison) -> Drawing:
    """The whole as one drawing; the sides of a comparison each in a frame."""
    drawn = drawings(explained)
    if len(drawn) == 1:
        return drawn[0]
    nodes = [replace(node, name=f"{at} {node.name}") for at, each in enumerate(drawn) for node in each.nodes]
    edges = [
        replace(edge, source=f"{at} {edge.source}", target=f"{at} {edge.target}")
        for at, each in enumerate(drawn)
        for edge in each.edges
    ]
    clusters = [Cluster(each.title, tuple(f"{at} {node.name}" for node in each.nodes)) for at, each in enumerate(drawn)]
    return Drawing(title(explained), tuple(nodes), tuple(edges), tuple(clusters))


def drawings(explained: Explanation | Comparison, *, empty: bool = True) -> list[Drawing]:
    """The picture of an explanation, or one for each side of a comparison; without `empty`, for those with words."""
    if isinstance(explained, Explanation):
        pictures = [(explained.picture, title(explained))]
    else:
        pictures = [(side.picture, side_title(side)) for side in explained.sides if empty or not side.empty]
    ends, failing = ends_are_shown(explained), distinct_failures(explained)
    return [
        picture_drawing(
            picture, explained.alphabet, name, role=end_role(explained, picture), ends=ends, failing=failing
        )
        for picture, name in pictures
    ]


def ends_are_shown(explained: Explanation | Comparison) -> bool:
    """Whether words may end in something other than the error."""
    return explained.ends or not isinstance(explained, Explanation)


def end_role(explained: Explanation | Comparison, picture: Picture) -> Role:
    """How the end of words is shown: it is bad, unless it is, or may be, only the end of the program."""
    if isinstance(explained, Explanation):
        return "plain" if explained.ends else "bad"
    ends = {edge.letter for edge in picture.edges if edge.target in picture.accepting}
    return "bad" if ends <= explained.failing else "plain"


def distinct_failures(explained: Explanation | Comparison) -> frozenset[int]:
    """The ends that are errors, where there are others beside them."""
    if isinstance(explained, Explanation) or explained.alphabet.ends == 1:
        return frozenset()
    return explained.failing


def doomed_note(picture: Picture, *, ends: bool) -> str | None:
    """What D means in a picture."""
    if not picture.doomed:
        return None
    if ends:
        return "D: doomed, the end cannot be escaped from here"
    if picture.doomed_reading == "program":
        return "D: doomed, every execution that comes here fails"
    return "D: doomed by the picture alone: not all executions that do not fail are known"


def legend(explained: Explanation | Comparison) -> list[str]:
    """What is to be said below a picture."""
    if not isinstance(explained, Explanation):
        red = ["red: fails"] if distinct_failures(explained) else []
        return ["; ".join(["bold: in every word", *red])]
    found = ["; ".join(filter(None, ["bold: in every word", doomed_note(explained.picture, ends=explained.ends)]))]
    found += [f"fails with {failed(each)} ({count(each.words, 'word')})" for each in explained.failures[:MOST_FAILURES]]
    if len(explained.failures) > MOST_FAILURES:
        found.append(f"and in {count(len(explained.failures) - MOST_FAILURES, 'other place')}")
    return found


def failed(failure: FailurePlace) -> str:
    """An error, and where it is raised."""
    where = place(failure.file, failure.line)
    return f"{flat(failure.error or 'an error')}" + (f" at {where}" if where else "")


def title(explained: Explanation | Comparison) -> str:
    """What the picture shows, in one line."""
    if isinstance(explained, Explanation):
        error = explained.alphabet.labels[explained.alphabet.error]
        what = "all ways through" if explained.ends else f"all ways to {error} in"
        return flat(f"{what} {explained.target}")
    names = explained.versions
    of = f" of {explained.target}" if explained.target else ""
    if explained.kind == "diff":
        return flat(f"difference{of}: {names['old']} and {names['new']}")
    return flat(f"merge{of}: {names['a']} and {names['b']} into {names['merged']}")


def side_title(side: Side) -> str:
    """What one side of a comparison shows."""
    if side.empty:
        return flat(f"{side.title}: nothing")
    return flat(side.title if side.certain else f"perhaps {side.title}")


def picture_drawing(
    picture: Picture,
    alphabet: Alphabet,
    name: str,
    *,
    role: Role = "bad",
    ends: bool = False,
    failing: frozenset[int] = frozenset(),
) -> Drawing:
    """States as circles; arrows between the same two states are one, but bold ones are kept apart from others, and
    those of `failing` letters too. With `ends`, to come to the end of a word need not be bad."""
    note = (doomed_note(picture, ends=ends) or "").removeprefix("D: ")
    accepting, doomed = frozenset(picture.accepting), frozenset(picture.doomed)
    nodes = []
    for state in range(picture.states):
        notes = [
            f"state {state}",
            *(["the words begin here"] if state == picture.initial else []),
            *(["the words end here"] if state in accepting else []),
            *([note] if state in doomed and state not in accepting else []),
        ]
        nodes.append(
            Node(
                str(state),
                f"{state} D" if state in doomed else str(state),
                start=state == picture.initial,
                accepting=state in accepting,
                role=role if state in accepting else "lost" if state in doomed else "plain",
                detail=", ".join(notes),
                round=True,
            )
        )
    edges = []
    for arrows in grouped(picture.edges, failing):
        first = arrows[0]
        edges.append(
            Edge(
                str(first.source),
                str(first.target),
                listed_events([alphabet.events[each.letter].label for each in arrows]),
                role="bad" if first.letter in failing else "plain",
                bold=first.dominating,
                detail="\n".join(described(each, alphabet) for each in arrows),
            )
        )
    return Drawing(name, tuple(nodes), tuple(edges))


def grouped(edges: Sequence[PictureEdge], failing: frozenset[int] = frozenset()) -> list[list[PictureEdge]]:
    """Those that are drawn as one arrow, in the order of their first."""
    groups: dict[tuple[int, int, bool, bool], list[PictureEdge]] = {}
    for edge in edges:
        groups.setdefault((edge.source, edge.target, edge.dominating, edge.letter in failing), []).append(edge)
    return list(groups.values())


def listed_events(labels: Sequence[str]) -> str:
    """The label of an arrow: its events, each cut where it is long; and how many more, if they are many."""
    lines = listed([shown(label) for label in labels]).split("\n")
    if len(lines) > MOST_LINES:
        lines[MOST_LINES - 1 :] = [f"… {len(labels)} events in all"]
    return "\n".join(lines)


def shown(label: str) -> str:
    """An event's name as pictures have it: on one line, and cut if it is long."""
    name = flat(label) or "?"
    # The beginning and the end of a dotted name tell more than its middle.
    return name if len(name) <= LONGEST else f"{name[: LONGEST // 3]}…{name[-(LONGEST - LONGEST // 3 - 1) :]}"


def described(edge: PictureEdge, alphabet: Alphabet) -> str:
    """An event, where it is in the source, and an input that makes it happen."""
    found = flat(alphabet.events[edge.letter].label)
    where = place(edge.file, edge.line)
    found += f" ({where})" if where else ""
    found += ", in every word" if edge.dominating else ""
    return found + (f"; input: {shortened(flat(edge.example), 120, 1)}" if edge.example is not None else "")


def place(file: str | None, line: int | None) -> str:
    """A file and a line, as far as they are known."""
    if file is None:
        return "" if line is None else f"line {line}"
    return flat(file) if line is None else f"{flat(file)}:{line}"
