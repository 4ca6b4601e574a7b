"""Which events become letters: by pattern, or automatically, those nearest to the error."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lawful.errors import LawfulError
from lawful.explain.graph_search import distances
from lawful.explain.teacher import Alphabet, LabelledEvent
from lawful.explain.teachers.python.branches import BranchArm
from lawful.explain.teachers.python.options import ErrorChoice, EventChoice, EventKind


@dataclass(frozen=True)
class LetterCandidate:
    """An event that could be a letter. `function`: the number of the own function that it belongs to."""

    kind: EventKind
    key: tuple[Any, ...]
    label: str
    file: str | None = None
    line: int | None = None
    function: int | None = None


@dataclass
class TrialRun:
    """What a few first executions have shown."""

    discovered: list[LetterCandidate] = field(default_factory=list)
    seen: set[tuple[Any, ...]] = field(default_factory=set)
    places: set[tuple[str, int]] = field(default_factory=set)


class LetterChooser:
    """Knows a loaded program, and chooses among its events."""

    def __init__(self, events: EventChoice, described: Mapping[str, Any]) -> None:
        self.events = events
        self._described = described
        self._functions: list[dict[str, Any]] = described["functions"]
        self._reachable = set(described["reachable"])
        suggested: tuple[EventKind, ...] = ("emits",) if described["emits"] else ("entries",)
        self.kinds = events.kinds or (("entries", "calls", "emits") if events.patterns else suggested)

    def discoveries(self) -> dict[str, Any] | None:
        """What can only be found by running the program, if something must be."""
        kinds = [kind for kind in ("calls", "emits") if kind in self.kinds]
        if self.events.kinds is None and not any(each["name"] is None for each in self._described["emits"]):
            kinds = [kind for kind in kinds if kind != "emits"]
        return {"kinds": kinds, "patterns": list(self.events.patterns)} if kinds else None

    def candidates(self) -> list[LetterCandidate]:
        """The events that can be read off the program's text."""
        found: list[LetterCandidate] = []
        if "entries" in self.kinds:
            found += self._entries()
        if "emits" in self.kinds:
            named = {each["name"]: each for each in reversed(self._described["emits"]) if each["name"] is not None}
            found += [
                LetterCandidate("emits", ("emits", name), name, each["file"], each["line"])
                for name, each in reversed(named.items())
                if self.events.matches(name)
            ]
        if "branches" in self.kinds:
            found += self._branches()
        return found

    def _entries(self) -> list[LetterCandidate]:
        chosen = []
        also = {(kind, label) for kind, _, label in self.events.also}
        for number, each in enumerate(self._functions):
            if self.events.patterns:
                wanted = self.events.matches(*each["names"])
            else:
                special = each["names"][0].rpartition(".")[2]
                wanted = number in self._reachable and not (special.startswith("__") and special.endswith("__"))
                wanted = wanted and (number not in self._described["targets"] or self._recursive(number))
                wanted = wanted or ("entries", each["label"]) in also
            if wanted:
                key = tuple(each["key"])
                chosen.append(LetterCandidate("entries", key, each["label"], each["file"], each["line"], number))
        return chosen

    def _recursive(self, number: int) -> bool:
        calls = self._calls()
        return number in distances(calls[number], calls.__getitem__)

    def _branches(self) -> list[LetterCandidate]:
        by_name = {(each["key"][1], each["names"][0]): number for number, each in enumerate(self._functions)}
        arms = [(BranchArm(*arm), shown) for *arm, shown in self._described["arms"]]
        names = Counter(arm.name() for arm, _ in arms)
        chosen = []
        for arm, shown in arms:
            function, name = by_name.get((arm.file, arm.function)), arm.name()
            label = name if names[name] == 1 else arm.name(with_column=True)
            known = (arm.function, f"{arm.function}:{arm.line}", name, label)
            if self.events.matches(*known) and (self.events.patterns or function in self._reachable):
                chosen.append(LetterCandidate("branches", arm.key, label, shown, arm.line, function))
        return chosen

    def choose(self, candidates: list[LetterCandidate], trial: TrialRun) -> list[LetterCandidate]:
        """The letters: all that match the patterns; without patterns the nearest to where errors are raised."""
        entered = {name for each in candidates if each.kind == "entries" for name in self._names(each)}
        called = [each for each in trial.discovered if self.events.kinds is not None or each.label not in entered]
        found = _distinct([*candidates, *called])
        by_name: list[EventKind] = [kind for kind in ("calls", "emits") if kind in self.kinds]
        for pattern in self.events.patterns if by_name else ():
            if not set(pattern) & set("*?[") and not any(self._is(each, pattern) for each in found):
                found.append(LetterCandidate(by_name[0], (by_name[0], pattern), pattern))
        known = {each.key for each in found}
        for kind, key, label in self.events.also:
            if kind in ("calls", "emits") and key not in known:
                found = _distinct([*found, LetterCandidate("calls" if kind == "calls" else "emits", key, label)])
        if not self.events.patterns and len(found) > self.events.most:
            near = self._distances(trial.places)
            far = len(self._functions)
            first = min((line for _, line in trial.places), default=0)

            def rank(each: LetterCandidate) -> tuple[bool, int, int]:
                return each.key not in trial.seen, near.get(each.function, far), abs((each.line or 0) - first)

            kept = set(sorted(found, key=rank)[: self.events.most])
            found = [each for each in found if each in kept]
        return found

    def refuse(self) -> LawfulError:
        """Nothing matches: what there is to choose from."""
        known = [self._functions[number]["label"] for number in sorted(self._reachable)]
        hint = f"its functions are {', '.join(known[:12])}" if known else "it calls no functions of its own"
        wanted = ", ".join(self.events.patterns)
        return LawfulError("explain-events", f"no event of the program matches {wanted}", hint=hint)

    def _names(self, letter: LetterCandidate) -> list[str]:
        return [letter.label, *(self._functions[letter.function]["names"] if letter.function is not None else ())]

    def _is(self, letter: LetterCandidate, pattern: str) -> bool:
        if letter.kind == "branches":
            return True  # they were matched by their own names
        return pattern in (*self._names(letter), letter.key[-1])

    def _calls(self) -> list[list[int]]:
        return [each["calls"] for each in self._functions]

    def _distances(self, places: Iterable[tuple[str, int]]) -> dict[int | None, int]:
        """How many calls, in either direction, lie between a function and those that raise the error."""
        around: list[set[int]] = [set(calls) for calls in self._calls()]
        for number, calls in enumerate(self._calls()):
            for other in calls:
                around[other].add(number)
        centre = [
            number
            for number, each in enumerate(self._functions)
            if any(each["file"] == file and each["line"] <= line <= each["last"] for file, line in places)
        ]
        return {**distances(centre or self._described["targets"], around.__getitem__)}


def _distinct(letters: list[LetterCandidate]) -> list[LetterCandidate]:
    """Letters with labels of their own: where an entry and a call have the same name, the call says that it is one."""
    taken: set[str] = set()
    found = []
    for each in letters:
        label, number = each.label, 2
        if label in taken and each.kind == "calls":
            label = f"call {label}"
        while label in taken:
            label, number = f"{each.label} ({number})", number + 1
        taken.add(label)
        found.append(replace(each, label=label))
    return found


def alphabet_of(letters: list[LetterCandidate], error: ErrorChoice) -> Alphabet:
    """The alphabet, with the error as its last letter."""
    labels = {each.label for each in letters}
    label = error.label
    while label in labels:
        label = f"{label} (error)"
    last = LabelledEvent(label, os.path.relpath(error.file) if error.file else None, error.first or None)
    return Alphabet((*(LabelledEvent(each.label, each.file, each.line) for each in letters), last))
