"""Matches events that are named by their lines, such as branches, between versions whose lines have moved."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cache

from lawful.explain.teacher import LabelledEvent

_MANY = 2500  # pairs of lines to look at in a place that was changed
_ALIKE = 0.6

Lines = Callable[[str], Sequence[str]]
"""The lines of a file of a version; none if it cannot be read."""


def aligned_labels(
    versions: Sequence[Sequence[LabelledEvent]], lines: Sequence[Lines], names: Sequence[str]
) -> list[Mapping[str, str]]:
    """For each version, what its events are called where all are compared.

    A label with the line of its event is that of an earlier version, if the line corresponds to one there. Lines
    correspond as `diff` would say it; those of a place that was changed do one by one, or the most alike of them. A
    label that would stand for a line of another version is marked with the version's name."""
    found: list[dict[str, str]] = []
    for number, events in enumerate(versions):
        labels = {event.label: event.label for event in events}
        taken = {label for other in found for label in other.values()}
        for event in events:
            if number == 0 or event.file is None or event.line is None or not _line_in_label(event):
                continue
            for earlier in range(number):
                label = _counterpart(event, events, versions[earlier], lines[number], lines[earlier])
                if label is not None:
                    labels[event.label] = found[earlier][label]
                    break
            else:
                if event.label in taken:
                    labels[event.label] = f"{event.label} [{names[number]}]"
        found.append(labels)
    return list(found)


def _line_in_label(event: LabelledEvent) -> re.Match[str] | None:
    """Where a label has the line of its event."""
    return re.search(rf"(?<=:){event.line}(?=[ .])|(?<=\(line ){event.line}(?=\))", event.label)


def _counterpart(
    event: LabelledEvent,
    events: Sequence[LabelledEvent],
    others: Sequence[LabelledEvent],
    lines: Lines,
    other_lines: Lines,
) -> str | None:
    """The label of the same event of another version."""
    assert event.file is not None and event.line is not None
    file = _same_file(event.file, events, others)
    if file is None:
        return None
    line = _old_lines(tuple(other_lines(file)), tuple(lines(event.file))).get(event.line)
    place = _line_in_label(event)
    assert place is not None
    label = f"{event.label[: place.start()]}{line}{event.label[place.end() :]}"
    return label if any(each.label == label and each.line == line for each in others) else None


def _same_file(file: str, events: Sequence[LabelledEvent], others: Sequence[LabelledEvent]) -> str | None:
    """The file of another version that a file corresponds to: one of the same name, or the only one."""
    theirs = {each.file for each in others if each.file is not None and _line_in_label(each)}
    ours = {each.file for each in events if each.file is not None and _line_in_label(each)}
    if file in theirs:
        return file
    return next(iter(theirs)) if len(theirs) == len(ours) == 1 else None


@cache
def _old_lines(before: tuple[str, ...], after: tuple[str, ...]) -> dict[int, int]:
    """Which line each line was before, counted from 1."""
    found = {}
    for tag, first, last, start, end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal" or (tag == "replace" and last - first == end - start):
            found.update({start + at + 1: first + at + 1 for at in range(end - start)})
        elif tag == "replace":
            found.update(
                {start + new + 1: first + old + 1 for old, new in _similar_pairs(before[first:last], after[start:end])}
            )
    return found


def _similar_pairs(before: Sequence[str], after: Sequence[str]) -> list[tuple[int, int]]:
    """The pairs of lines that are most alike, in the same order in both."""
    if len(before) * len(after) > _MANY:
        return []
    best: dict[tuple[int, int], tuple[float, tuple[int, int] | None]] = {}  # how alike so far, and which pair was last
    for old in range(-1, len(before)):
        for new in range(-1, len(after)):
            if old < 0 or new < 0:
                best[old, new] = (0.0, None)
                continue
            here = max(best[old - 1, new], best[old, new - 1], key=lambda each: each[0])
            ratio = SequenceMatcher(None, before[old].strip(), after[new].strip(), autojunk=False).ratio()
            if ratio > _ALIKE and best[old - 1, new - 1][0] + ratio > here[0]:
                here = (best[old - 1, new - 1][0] + ratio, (old, new))
            best[old, new] = here
    found = []
    last = best[len(before) - 1, len(after) - 1][1]
    while last is not None:
        found.append(last)
        last = best[last[0] - 1, last[1] - 1][1]
    return found
