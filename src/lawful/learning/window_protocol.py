"""The types that the parts of the learner exchange: windows, endings, examples, rules, anomalies."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple, Protocol

MOST_TEMPLATES = 32  # a set of rules is a word of 64 bits
MOST_EXAMPLES = 16  # of one kind of ending of a pair, each from another place
FEW_EXAMPLES = 4  # the same, when there are
ALL_EXAMPLES = 200_000  # in all
MOST_TRAIL = 8  # events of an object that an example shows; the C core keeps 65,536 trails, then none
MOST_CONTEXTS = 64  # places that are distinguished, for one pair
MOST_USAGES = 256  # ways of using one event that are distinguished, see `Window`
FEW_USAGES = 64  # the same, when there are
ALL_USAGES = 100_000  # in all

ENDS, BEGINS = "a*b+", "a+b*"  # patterns of rules about whole histories
ANY = "any"  # the kind of event that stands for whatever happens to objects of a class

MOST_HISTORY_EVENTS = 64  # different ones in one history; a history with more is left out
MOST_HISTORY_EXAMPLES = 32  # of one kind of history, each from other places
ALL_HISTORY_SITES = 500_000  # of all examples together; further histories have one example each
MOST_HISTORIES = 10_000  # different ones, that are counted
MOST_OPEN_HISTORIES = 65_536  # that go on; if there are more, the oldest end
FEW_HISTORY_EVENTS = 6  # different ones, that most histories have at most
ALL_HISTORY_EVENTS = 1_000_000  # the same, of all histories with more than a few; then further ones are left out


class RuleState(IntEnum):
    """A strategy's verdict on a rule. `join` takes the greater one, `meet` the lesser one: the paper's two tables."""

    DEAD = 0
    LEARNING = 1
    ENFORCING = 2


class Op(IntEnum):
    """Instructions of a strategy, which is a program for a stack of states. The C core has the same numbers."""

    COUNT = 0  # x, y: enforcing if satisfied > x, dead if satisfied < y
    RATIO = 1  # x, y, z: enforcing if satisfied / total > x, dead if it is < y and total >= z
    CONTEXT = 2  # x: enforcing if contexts >= x; never dead
    JOIN = 3
    MEET = 4


class Instruction(NamedTuple):
    op: Op
    x: float = 0.0
    y: float = 0.0
    z: float = 0.0


class Product(NamedTuple):
    """All templates, in both orders, over the two events of an unordered pair: one automaton.

    Its letters are 0, the event of the pair with the smaller number, and 1, the other one. Rule 2 * t + 0 is template t
    with `a` for letter 0, rule 2 * t + 1 is template t with `a` for letter 1. The states tell apart which letters were
    seen. Scenarios that end in states of the same `kind` satisfy the same rules and have seen the same letters.
    """

    start: int
    step: tuple[tuple[int, int], ...]  # by state: the next one for letters 0 and 1
    kind: tuple[int, ...]  # by state; that of `start` is never asked for
    satisfied: tuple[int, ...]  # by kind: the rules, as bits
    letters: tuple[int, ...]  # by kind: bit 0 for letter 0, bit 1 for letter 1
    size: tuple[int, ...]  # by rule: how large its language is, for comparison only; the smaller is the stricter


class Example(NamedTuple):
    """The first of the scenarios that ended alike and began at the same place."""

    site: int  # of its first event
    last_site: int
    object: int
    seq: int  # number of its last event in the stream, from 1
    count: int  # type: ignore[assignment]  # how many there were from this place
    at_end: bool  # it was cut off by the end of the stream
    trail: tuple[tuple[int, int], ...]  # the object's last events, its last one included: (name, site), oldest first


class Ending(NamedTuple):
    """The scenarios of a pair that ended in one kind of state."""

    kind: int
    count: int  # type: ignore[assignment]
    first: int  # number in the stream of the event that ended the first of them
    examples: tuple[Example, ...]


class Pair(NamedTuple):
    """Two events that were seen near each other on one object, and how their scenarios ended."""

    first: int  # the smaller number of the two events
    second: int
    created: int  # number in the stream of the event at which they were first seen together
    endings: tuple[Ending, ...]  # by kind
    contexts: tuple[tuple[int, int], ...]  # places where scenarios with both events began: (site, rules satisfied)


class HistoryExample(NamedTuple):
    """The first of the objects with the same history that went through the same places."""

    object: int
    seq: int  # number of its last event in the stream, from 1
    count: int  # type: ignore[assignment]  # how many there were
    sites: tuple[int, ...]  # for each event, in the order in which they came up: of the first one, and of the last one


class History(NamedTuple):
    """A history that objects have in common: they met the same events, the first and last ones in the same order.

    In `order`, 2 * name stands for the first one of that name, 2 * name + 1 for the last one.
    """

    order: tuple[int, ...]
    count: int  # type: ignore[assignment]
    examples: tuple[HistoryExample, ...]


class Counts(NamedTuple):
    """The counts of all rules of a pair, by rule. `total - satisfied` scenarios failed."""

    total: int
    satisfied: tuple[int, ...]
    contexts: tuple[int, ...]  # number of places where scenarios with both events began that satisfied the rule


class Candidate(NamedTuple):
    """The best enforcing rule of a pair, and an ending that breaks it."""

    first: int
    second: int
    rule: int
    kind: int


class Survey(NamedTuple):
    """All rules under one strategy."""

    enforcing: int
    learning: int
    dead: int
    candidates: list[Candidate]
    pairs: int  # that have an enforced rule


class Window(Protocol):
    """Algorithm 1 of the paper with its extensions: one instance for each object, all templates at once.

    `Window(product, size, most_pairs=0)`. An event is three numbers: its name (from 0, dense), its place, its object.
    When an event leaves the window, the `size` events after it are in it. A pair exists from the moment
    when an event leaves while another one of the same object is in the window; from then on every scenario of either
    event, alone or together, is counted for it. A scenario ends when neither event is left in the window
    for that object.

    Which rule of a pair is the best for an ending (section 2.4): among the enforcing ones that with the highest ratio
    before endings of this kind first came up, that is without its scenarios and those of kinds that came up later; of
    equal ones that with the smallest language, then that with the smallest number. It is a candidate if it is
    not satisfied by the ending.

    Examples of endings with both letters are kept with the pair: one for each place where such a scenario began, the
    first sixteen. Those of endings with one letter are kept with the event, in its usages: a usage is
    the place where a run of this event on one object began, the length class of the run, and the set of the other
    events whose scenarios, for that object, it was part of. A run is a scenario of the one event alone. For a pair, the
    usages that do not have the other event in their set, and came up after the pair was created, are its examples.
    """

    size: int  # may be changed at any time
    events: int  # taken in
    pairs: int  # that are kept
    pruned: int  # pairs all of whose rules were dead
    given_up: int  # pairs that were forgotten since there were more than `most_pairs`

    def feed(self, names: object, sites: object, objects: object) -> None:
        """Buffers (`array.array`) of as many numbers each: types I, I and Q."""
        ...

    def drain(self) -> None:
        """The stream is over: all events leave the window."""
        ...

    def survey(self, program: Sequence[Instruction], prune: bool) -> Survey:
        """Judge all rules. If `prune`, pairs whose rules are all dead are forgotten for good."""
        ...

    def known(self) -> list[tuple[int, int]]:
        """All pairs that are kept, in the order of their creation."""
        ...

    def pair(self, first: int, second: int) -> Pair | None: ...

    def counts(self, first: int, second: int) -> Counts | None: ...

    @property
    def given_up_histories(self) -> int:
        """Histories that were not counted: they had too many events, or there were too many different ones."""
        ...

    def histories(self) -> list[History]:
        """All histories that have ended: with the stream, or since there are too many. See `ObjectHistories`."""
        ...

    def remember(
        self, first: int, second: int, endings: Sequence[tuple[int, int]], contexts: Sequence[tuple[int, int]]
    ) -> None:
        """Add what earlier runs have counted: by kind of ending, and the places as in `Pair.contexts`.

        The pair exists from now on. What is remembered came before everything else: its `first` is 0.
        """
        ...


class Site(NamedTuple):
    """A place in the source: the static context of an event."""

    file: str | None
    line: int | None

    def __str__(self) -> str:
        if self.file is None:
            return "?"
        return self.file if self.line is None else f"{self.file}:{self.line}"

    def distance(self, other: Site) -> tuple[bool, int]:
        """To find the nearest place: another file is farther than any line."""
        return self.file != other.file, abs((self.line or 0) - (other.line or 0))


class Word(NamedTuple):
    """An event as rules know it. Two events are the same for the learner if their labels are."""

    event: str  # func_pre, new, field_write, field_read, or the program's own; `ANY`
    name: str
    role: str = ""  # what the object is in it, if it is not the receiver: "result", "argument 1", "of its PARENT"

    @property
    def label(self) -> str:
        """The name that users read and write."""
        name = f"{self.name} (read)" if self.event == "field_read" else self.name
        if self.event == ANY:
            name += ".*"
        return f"{name} ({self.role})" if self.role else name


class Rule(NamedTuple):
    """A template with two events, its counts and its state."""

    a: Word
    b: Word
    pattern: str  # the template's text, such as `ab?`
    satisfied: int
    failed: int
    contexts: int
    state: RuleState
    more: tuple[Word, ...] = ()  # events that will do for `b`, too
    whole_history: bool = False  # it is about whole histories, not about scenarios in a window

    def __str__(self) -> str:
        """The pattern with the events in it."""
        a = f"({self.a.label})" if self.a.event == ANY else self.a.label
        b = f"({' | '.join(word.label for word in (self.b, *self.more))})" if self.more else self.b.label
        return spelled(self.pattern, a, b)


def spelled(pattern: str, a: str, b: str) -> str:
    """`ab?` of open and close is `open close?`."""
    parts: list[str] = []
    for char in pattern:
        if char in "ab":
            parts.append(" " if parts and parts[-1][-1] not in "(| " else "")
            parts.append(a if char == "a" else b)
        elif char == "|":
            parts.append(" | ")
        elif char == "(" and parts and parts[-1][-1] not in "(| ":
            parts.append(" (")
        else:
            parts.append(char)
    return "".join(parts)


class SharedPair(NamedTuple):
    """The counts of a pair of events, for learners of other runs or other processes.

    Rules are numbered as in a `Product`, for the templates that both sides agree on.
    """

    first: Word
    second: Word
    endings: tuple[tuple[int, int, int], ...]  # rules that were satisfied, as bits; letters, as bits; how many
    contexts: tuple[tuple[Site, int], ...]  # places, each with the rules that were satisfied there, as bits
    breaches: tuple[tuple[Site, int], ...] = ()  # the same of rules that were broken, as far as examples tell

    def turned(self) -> SharedPair:
        """The same with its two events in the other order."""
        endings = ((turned(rules), turned(letters), number) for rules, letters, number in self.endings)
        contexts, breaches = (
            tuple((site, turned(rules)) for site, rules in each) for each in (self.contexts, self.breaches)
        )
        return SharedPair(self.second, self.first, tuple(endings), contexts, breaches)


def turned(bits: int) -> int:
    """A set of rules of a pair, or of its letters, as bits, when its two events change places."""
    ours = 0x5555_5555_5555_5555
    return (bits & ours) << 1 | bits >> 1 & ours


class SharedHistory(NamedTuple):
    """A history, for other learners, as `SharedPair`."""

    words: tuple[Word, ...]  # in the order in which they came up
    order: tuple[int, ...]  # as in `History`, with the numbers that they have here
    count: int  # type: ignore[assignment]
    places: tuple[tuple[tuple[Site, ...], int, int], ...]  # as in `HistoryExample`: sites, count, object


class ExampleScenario(NamedTuple):
    """A scenario as a person reads it."""

    object: int
    count: int  # type: ignore[assignment]  # how many there were like it, from the same place
    events: tuple[tuple[str, Site], ...]  # oldest first
    at_end: bool
    place: Site | None = None  # of the fault; None: that of its last event

    @property
    def where(self) -> Site | None:
        """The place to look at."""
        return self.place or (self.events[-1][1] if self.events else None)


class Anomaly(NamedTuple):
    """A rule that nearly all scenarios keep, and those that break it."""

    rule: Rule
    score: float  # from 0 to 1
    bad: tuple[ExampleScenario, ...]  # the failing scenarios, one for each place
    good: ExampleScenario | None  # one that keeps the rule
    message: str  # one sentence
    others: tuple[Rule, ...] = ()  # further rules that are broken for the same cause
    changed: bool = False  # all earlier runs kept the rule at this place
    old: bool = False  # earlier runs broke the rule alike

    @property
    def sites(self) -> list[Site]:
        """Where the failing scenarios are: the place of the last event of each, or of what came too early."""
        return [scene.where for scene in self.bad if scene.where is not None]
