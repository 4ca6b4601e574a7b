"""Algorithm 1 of the paper to the letter, with the instances of section 2.2 and one copy for each template (2.3)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

# --- P: the pattern automaton. Its states are expressions, its steps Brzozowski's derivatives ---------------------

Expression = tuple[Any, ...]
NONE: Expression = ("none",)
EMPTY: Expression = ("empty",)


def pattern(template: str) -> Expression:
    """INIT of the automaton for one or more repetitions of a template over a, b, ( ) | * + and ?."""
    rest = list(template)
    once = _alternatives(rest)
    assert not rest, template
    return _sequence(once, _star(once))


@cache
def advance(state: Expression, letter: str) -> Expression:
    """NEXT."""
    match state:
        case ("none",) | ("empty",):
            return NONE
        case ("letter", own):
            return EMPTY if own == letter else NONE
        case ("either", choices):
            return _either(advance(choice, letter) for choice in choices)
        case ("star", body):
            return _sequence(advance(body, letter), state)
        case ("sequence", head, tail):
            after = _sequence(advance(head, letter), tail)
            return _either([after, advance(tail, letter)]) if is_final(head) else after
    raise AssertionError(state)


@cache
def is_final(state: Expression) -> bool:
    """ISFINAL."""
    match state:
        case ("empty",) | ("star", _):
            return True
        case ("either", choices):
            return any(map(is_final, choices))
        case ("sequence", head, tail):
            return is_final(head) and is_final(tail)
    return False


def _either(choices: Iterable[Expression]) -> Expression:
    flat: set[Expression] = set()
    for choice in choices:
        flat |= choice[1] if choice[0] == "either" else {choice}
    flat.discard(NONE)
    return flat.pop() if len(flat) == 1 else ("either", frozenset(flat)) if flat else NONE


def _sequence(head: Expression, tail: Expression) -> Expression:
    if NONE in (head, tail):
        return NONE
    if head == EMPTY:
        return tail
    if head[0] == "sequence":
        return _sequence(head[1], _sequence(head[2], tail))
    return head if tail == EMPTY else ("sequence", head, tail)


def _star(body: Expression) -> Expression:
    return EMPTY if body in (NONE, EMPTY) else body if body[0] == "star" else ("star", body)


def _alternatives(rest: list[str]) -> Expression:
    choices = [_concatenation(rest)]
    while rest and rest[0] == "|":
        rest.pop(0)
        choices.append(_concatenation(rest))
    return _either(choices)


def _concatenation(rest: list[str]) -> Expression:
    parts: list[Expression] = []
    while rest and rest[0] not in "|)":
        char = rest.pop(0)
        if char == "(":
            part = _alternatives(rest)
            assert rest.pop(0) == ")"
        else:
            assert char in "ab", char
            part = ("letter", char)
        while rest and rest[0] in "*+?":
            sign = rest.pop(0)
            part = {"*": _star(part), "+": _sequence(part, _star(part)), "?": _either([part, EMPTY])}[sign]
        parts.append(part)
    whole = EMPTY
    for part in reversed(parts):
        whole = _sequence(part, whole)
    return whole


# --- the algorithm ------------------------------------------------------------------------------------------------

Event = tuple[int, int]  # its type and the id of its instance


@dataclass
class Spec:
    a: int
    b: int
    sat: int = 0
    fail: int = 0
    instances: dict[int, Expression] = field(default_factory=dict)


class Algorithm:
    """One copy. The queue holds the events after the expiring one; it fills up at the start, and is drained."""

    def __init__(self, template: str, size: int) -> None:
        self.init = pattern(template)
        self.size = size
        self.queue: deque[Event] = deque()
        self.specs: dict[tuple[int, int], Spec] = {}

    def take(self, event: Event) -> None:
        self.queue.append(event)  # line 1
        if len(self.queue) > self.size:
            self._expire(self.queue.popleft())  # line 2

    def resize(self, size: int) -> None:
        self.size = size
        while len(self.queue) > size:
            self._expire(self.queue.popleft())

    def drain(self) -> None:
        while self.queue:
            self._expire(self.queue.popleft())

    def _expire(self, old: Event) -> None:
        old_type, old_id = old
        future = [event_type for event_type, event_id in self.queue if event_id == old_id]
        for future_type in future:  # lines 3 to 8
            if future_type != old_type and (old_type, future_type) not in self.specs:
                self.specs[old_type, future_type] = Spec(old_type, future_type)
                self.specs[future_type, old_type] = Spec(future_type, old_type)
        for spec in self.specs.values():
            if old_type not in (spec.a, spec.b):  # line 9
                continue
            state = spec.instances.get(old_id, self.init)
            state = spec.instances[old_id] = advance(state, "a" if spec.a == old_type else "b")  # lines 10 to 14
            if spec.a not in future and spec.b not in future:  # line 15
                if is_final(state):  # lines 16 to 23
                    spec.sat += 1
                else:
                    spec.fail += 1
                del spec.instances[old_id]  # line 24, as section 2.2 has it


def run(
    templates: Sequence[str], events: Iterable[Event], size: int, resizes: Mapping[int, int] | None = None
) -> dict[tuple[int, int], list[tuple[int, int]]]:
    """By events for a and b: satisfied and failed, for each template. `resizes`: after so many events, the new size."""
    copies = [Algorithm(template, size) for template in templates]
    for number, event in enumerate(events):
        for copy in copies:
            if resizes and number in resizes:
                copy.resize(resizes[number])
            copy.take(event)
    counts: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for copy in copies:
        copy.drain()
        for key, spec in copy.specs.items():
            assert not spec.instances
            counts.setdefault(key, []).append((spec.sat, spec.fail))
    return counts


# --- the evidence behind the counts: the same loop, without a template ------------------------------------------------


class Happening(NamedTuple):
    type: int
    site: int
    id: int


class Closed(NamedTuple):
    """A scenario of two events, or a run of one, that is over."""

    events: tuple[Happening, ...]
    seq: int  # of its last event
    at_end: bool
    trail: tuple[tuple[int, int], ...]  # what has happened to its object while that was in the window
    company: frozenset[int] = frozenset()  # of a run: the events it had a scenario with


@dataclass
class Evidence:
    created: dict[tuple[int, int], int] = field(default_factory=dict)
    scenarios: dict[tuple[int, int], list[Closed]] = field(default_factory=dict)
    runs: dict[int, list[Closed]] = field(default_factory=dict)


def gather(events: Sequence[Happening], size: int) -> Evidence:
    """All scenarios of all pairs, and all runs, in the order in which they ended."""
    found = Evidence()
    instances: dict[tuple[tuple[int, int], int], list[Happening]] = {}
    runs: dict[tuple[int, int], list[Happening]] = {}
    trails: dict[int, list[tuple[int, int]]] = {}
    for at, old in enumerate(events):
        seq = at + 1
        at_end = seq + size > len(events)
        future = [event.type for event in events[at + 1 : at + 1 + size] if event.id == old.id]
        trails.setdefault(old.id, []).append((old.type, old.site))
        trail = tuple(trails[old.id])
        for other in sorted(set(future) - {old.type}):
            pair = (min(old.type, other), max(old.type, other))
            if pair not in found.created:
                found.created[pair] = seq
                found.scenarios[pair] = []
        run = runs.setdefault((old.type, old.id), [])
        run.append(old)
        company = set()
        for pair in found.created:
            if old.type not in pair:
                continue
            instance = instances.setdefault((pair, old.id), [])
            instance.append(old)
            other = pair[0] + pair[1] - old.type
            if other in future or any(event.type == other for event in instance):
                company.add(other)
            if not set(pair) & set(future):
                found.scenarios[pair].append(Closed(tuple(instance), seq, at_end, trail))
                del instances[pair, old.id]
        if old.type not in future:
            found.runs.setdefault(old.type, []).append(Closed(tuple(run), seq, at_end, trail, frozenset(company)))
            del runs[old.type, old.id]
        if not future:
            del trails[old.id]
    return found
