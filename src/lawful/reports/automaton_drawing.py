"""Explanations and comparisons as drawings: what is bold, what is doomed, and which arrows are one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from lawful.diagnostics import printable
from lawful.explain.explanation import Explanation
from lawful.reports.drawing import Cluster, Drawing, Edge, Node, Role, listed, shortened

if TYPE_CHECKING:
    from lawful.explain.differences import Comparison, Side
    from lawful.explain.explanation import Edge as Arrow
    from lawful.explain.explanation import Picture
    from lawful.explain.model import Alphabet

LONGEST = 32  # letters of an event's name in a picture
MOST_LINES = 8  # of an arrow's label


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
    role = end_role(explained)
    if isinstance(explained, Explanation):
        return [picture_drawing(explained.picture, explained.alphabet, title(explained), role=role)]
    return [
        picture_drawing(side.picture, explained.alphabet, side_title(side), role=role)
        for side in explained.sides
        if empty or not side.empty
    ]


def end_role(explained: Explanation | Comparison) -> Role:
    """How the end of words is shown: it is bad, unless it is only the end of the program."""
    return "plain" if explained.ends else "bad"


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
    return flat(f"{side.title}: nothing" if side.empty else side.title)


def picture_drawing(picture: Picture, alphabet: Alphabet, name: str, *, role: Role = "bad") -> Drawing:
    """States as circles; arrows between the same two states are one, but bold ones are kept apart from others."""
    accepting, doomed = frozenset(picture.accepting), frozenset(picture.doomed)
    nodes = []
    for state in range(picture.states):
        notes = [
            f"state {state}",
            *(["the words begin here"] if state == picture.initial else []),
            *(["the words end here"] if state in accepting else []),
            *(["doomed: the end cannot be escaped from here"] if state in doomed and state not in accepting else []),
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
    for arrows in grouped(picture.edges):
        first = arrows[0]
        edges.append(
            Edge(
                str(first.source),
                str(first.target),
                listed_events([alphabet.events[each.letter].label for each in arrows]),
                bold=first.dominating,
                detail="\n".join(described(each, alphabet) for each in arrows),
            )
        )
    return Drawing(name, tuple(nodes), tuple(edges))


def grouped(edges: Sequence[Arrow]) -> list[list[Arrow]]:
    """Those that are drawn as one arrow, in the order of their first."""
    groups: dict[tuple[int, int, bool], list[Arrow]] = {}
    for edge in edges:
        groups.setdefault((edge.source, edge.target, edge.dominating), []).append(edge)
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


def described(edge: Arrow, alphabet: Alphabet) -> str:
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


def flat(text: str) -> str:
    """On one line, and nothing in it that steers a terminal."""
    return printable(" ".join(text.split()))
