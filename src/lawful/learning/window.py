"""Algorithm 1 of the paper, whole, in pure Python: the twin of the C core's `Window`, and the choice between them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, cast

from lawful import core
from lawful.errors import LawfulError
from lawful.learning import window_protocol
from lawful.learning.object_histories import ObjectHistories
from lawful.learning.strategies import judge_by
from lawful.learning.window_protocol import (
    ALL_EXAMPLES,
    ALL_USAGES,
    FEW_EXAMPLES,
    FEW_USAGES,
    MOST_CONTEXTS,
    MOST_EXAMPLES,
    MOST_TRAIL,
    MOST_USAGES,
    Candidate,
    Counts,
    Ending,
    Example,
    History,
    Instruction,
    Op,
    Pair,
    Product,
    RuleState,
    Survey,
)

_BOTH = 3  # the letters of a scenario that has seen both events
_NOBODY: frozenset[int] = frozenset()


def make(product: Product, size: int, most_pairs: int = 0, which: str = "") -> window_protocol.Window:
    """A window of the C core if it is available, else of the Python core; or of `which` core the user names."""
    if which == "native" and core.native is None:
        raise LawfulError("core-missing", f"the C core is not available: {core.refusal}")
    if which == "python" or core.native is None:
        return Window(product, size, most_pairs)
    return cast(window_protocol.Window, core.native.Window(product, size, most_pairs))


@dataclass(slots=True)
class _Run:
    """The expired events of one name on one object, while more of them are in the window."""

    site: int
    position: int = 0


@dataclass(slots=True)
class _Scenario:
    """Of a pair, for one object. A scenario of one event alone has no record: it is a run."""

    pair: _Pair
    state: int
    site: int


_NONE: dict[int, _Scenario] = {}  # never written to


class _Subject:
    """An object with events in the window."""

    __slots__ = ("names", "runs", "shared", "trail")

    def __init__(self) -> None:
        self.names: dict[int, int] = {}  # how many events of each name are in the window
        self.runs: dict[int, _Run] = {}
        self.shared: dict[int, dict[int, _Scenario]] = {}  # by both events, in both orders
        self.trail: deque[tuple[int, int]] = deque(maxlen=MOST_TRAIL)


@dataclass(slots=True)
class _Kept:
    """An example that is still counted."""

    example: Example
    count: int = 0

    def shown(self) -> Example:
        return self.example._replace(count=self.count)


@dataclass(slots=True, kw_only=True)
class _Usage(_Kept):
    """Runs that began at one place, of one length class, with the same company. See `window_protocol.Window`."""

    position: int
    company: frozenset[int]
    last: int = 0  # number of the event that ended the last of them


@dataclass(slots=True)
class _Event:
    runs: list[int]  # how many have ended, by length class
    usages: dict[tuple[int, int, frozenset[int]], _Usage] = field(default_factory=dict)


@dataclass(slots=True)
class _Pair:
    first: int
    second: int
    created: int
    apart: tuple[list[int], list[int]]  # by letter and length class: runs of that event that this pair does not count
    ended: list[int]  # by kind: scenarios that were written down
    remembered: list[int]  # the same of earlier runs
    places: list[int]  # by rule: how many contexts have it
    firsts: dict[int, int] = field(default_factory=dict)  # by kinds with both letters
    examples: dict[int, dict[int, _Kept]] = field(default_factory=dict)  # by kind and place
    contexts: dict[int, int] = field(default_factory=dict)

    def satisfy(self, site: int, satisfied: int) -> None:
        """A scenario that began at this place satisfied these rules."""
        known = self.contexts.get(site, 0)
        new = satisfied & ~known
        if new and (known or len(self.contexts) < MOST_CONTEXTS):
            self.contexts[site] = known | new
            for rule in range(len(self.places)):
                self.places[rule] += new >> rule & 1


class _Lengths(NamedTuple):
    """The length classes of runs: those of the same class leave either letter's automaton in the same state."""

    states: list[tuple[int, int]]  # by class: after that many letters 0, and letters 1
    after: list[int]  # by class: that of a run with one event more


def _lengths(product: Product) -> _Lengths:
    states: list[tuple[int, int]] = []
    now = (product.step[product.start][0], product.step[product.start][1])
    while now not in states:
        states.append(now)
        now = (product.step[now[0]][0], product.step[now[1]][1])
    return _Lengths(states, [*range(1, len(states)), states.index(now)])


def _check(program: Sequence[Instruction]) -> None:
    depth = 0
    for instruction in program:
        depth += 1 if instruction.op < Op.JOIN else -1
        if depth < 1:
            break
    if depth != 1:
        raise ValueError("a program that does not leave one state")


class Window:
    """See `window_protocol.Window`.

    Only scenarios in which both events of a pair have a part are followed one by one. Those of one event alone are
    the runs of that event, which are counted once for all its pairs; each pair knows how many of them it has to leave
    out: those before its creation, and those that are part of something it follows itself.
    """

    def __init__(self, product: Product, size: int, most_pairs: int = 0) -> None:
        self.events = 0
        self.pairs = 0
        self.pruned = 0
        self._usages = 0  # of all events, and
        self._examples = 0  # of all pairs, pruned ones included
        self.given_up = 0
        self._product = product
        self._most_pairs = most_pairs
        self._lengths = _lengths(product)
        self._rules = [
            [rule for rule in range(len(product.size)) if satisfied >> rule & 1] for satisfied in product.satisfied
        ]
        self._queue: deque[tuple[int, int, int]] = deque()
        self._draining = False
        self._subjects: dict[int, _Subject] = {}
        self._spare: list[_Subject] = []  # making one takes longer than all that most of them are used for
        self._events: dict[int, _Event] = {}
        self._pairs: dict[tuple[int, int], _Pair] = {}
        self._gone: set[tuple[int, int]] = set()
        self._histories = ObjectHistories()
        self.size = size

    @property
    def size(self) -> int:
        return self._size

    @size.setter
    def size(self, size: int) -> None:
        if size < 0:
            raise ValueError("a window has no negative size")
        self._size = size
        self._shrink(size)

    def feed(self, names: object, sites: object, objects: object) -> None:
        columns = [memoryview(column).tolist() for column in (names, sites, objects)]  # type: ignore[arg-type]
        if len({len(column) for column in columns}) > 1:
            raise ValueError("names, sites and objects are as many numbers each")
        subjects, queue, size, expire = self._subjects, self._queue, self._size, self._expire
        add_to_history = self._histories.take
        for event in zip(*columns, strict=True):
            name, site, id_ = event
            subject = subjects.get(id_)
            if subject is None:
                subject = subjects[id_] = self._spare.pop() if self._spare else _Subject()
            names = subject.names
            names[name] = names.get(name, 0) + 1
            queue.append(event)
            self.events += 1
            add_to_history(name, site, id_, self.events)
            while len(queue) > size:
                expire(*queue.popleft())

    def drain(self) -> None:
        self._draining = True
        self._shrink(0)
        self._draining = False
        self._histories.end()

    def histories(self) -> list[History]:
        return self._histories.known()

    @property
    def given_up_histories(self) -> int:
        return self._histories.given_up

    def _shrink(self, size: int) -> None:
        while len(self._queue) > size:
            self._expire(*self._queue.popleft())

    def _expire(self, name: int, site: int, id_: int) -> None:
        subject = self._subjects[id_]
        waiting = subject.names
        left = waiting.pop(name) - 1
        subject.trail.append((name, site))
        shared = subject.shared.get(name, _NONE)
        if waiting:
            unmet = [other for other in waiting if other not in shared]
            if unmet:
                for other in sorted(unmet):
                    self._meet(subject, name, other)
                shared = subject.shared.get(name, _NONE)
        run = subject.runs.get(name)
        if run is None:
            run = subject.runs[name] = _Run(site)
        else:
            run.position = self._lengths.after[run.position]
        if shared:
            start, step = self._product.start, self._product.step
            for other, scenario in shared.items():
                if scenario.state == start:
                    scenario.site = site
                scenario.state = step[scenario.state][name > other]
        if left:
            waiting[name] = left
            return
        self._end(subject, shared, name, site, id_)
        if not waiting:
            del self._subjects[id_]
            subject.shared.clear()
            subject.trail.clear()
            self._spare.append(subject)
            self._histories.rest(id_)

    def _expired(self) -> int:
        """The number of the event that left the window last."""
        return self.events - len(self._queue)

    def _meet(self, subject: _Subject, name: int, other: int) -> None:
        """Both events have a part in one scenario: from now on it has a record of its own."""
        first, second = (name, other) if name < other else (other, name)
        pair = self._pairs.get((first, second)) or self._create(first, second)
        if pair is None or other in subject.shared.get(name, _NONE):
            return
        # So far it may have been a run of this event. It was none of the other one: what that run waits for was in the
        # window all the time, so this event, which comes before it, was there too, and they would have met.
        run = subject.runs.get(name)
        if run is None:
            self._follow(subject, pair, self._product.start, 0)
        else:
            self._follow(subject, pair, self._lengths.states[run.position][name == second], run.site)

    def _create(self, first: int, second: int) -> _Pair | None:
        key = (first, second)
        if key in self._gone:
            return None
        if self._most_pairs and len(self._pairs) >= self._most_pairs:
            self.given_up += 1
            return None
        before = (list(self._event(first).runs), list(self._event(second).runs))
        product = self._product
        kinds, rules = len(product.satisfied), len(product.size)
        pair = _Pair(first, second, self._expired(), before, [0] * kinds, [0] * kinds, [0] * rules)
        self._pairs[key] = pair
        self.pairs += 1
        for subject in self._subjects.values():
            if first in subject.runs or second in subject.runs:  # the pair has not seen how this run began
                self._follow(subject, pair, product.start, 0)
        return pair

    def _event(self, name: int) -> _Event:
        event = self._events.get(name)
        if event is None:
            event = self._events[name] = _Event([0] * len(self._lengths.states))
        return event

    def _follow(self, subject: _Subject, pair: _Pair, state: int, site: int) -> None:
        scenario = _Scenario(pair, state, site)
        subject.shared.setdefault(pair.first, {})[pair.second] = scenario
        subject.shared.setdefault(pair.second, {})[pair.first] = scenario

    def _end(self, subject: _Subject, shared: dict[int, _Scenario], name: int, site: int, id_: int) -> None:
        """A run is over, and with it the scenarios whose other event is not in the window either."""
        run = subject.runs.pop(name)
        event = self._event(name)
        event.runs[run.position] += 1
        kinds, letters = self._product.kind, self._product.letters
        company: list[int] = []
        over: list[tuple[int, _Scenario]] = []
        for other, scenario in shared.items():
            scenario.pair.apart[name > other][run.position] += 1
            if other in subject.names:
                company.append(other)
                continue
            over.append((other, scenario))
            if letters[kinds[scenario.state]] == _BOTH:
                company.append(other)
        for other, scenario in over:
            self._close(subject, scenario, kinds[scenario.state], site, id_)
            del shared[other], subject.shared[other][name]

        key = (run.site, run.position, frozenset(company) if company else _NOBODY)
        usage = event.usages.get(key)
        if usage is None:
            if len(event.usages) >= (MOST_USAGES if self._usages < ALL_USAGES else FEW_USAGES):
                return
            self._usages += 1
            usage = event.usages[key] = _Usage(
                self._example(subject, run.site, site, id_), position=run.position, company=key[2]
            )
        usage.count += 1
        usage.last = self._expired()

    def _close(self, subject: _Subject, scenario: _Scenario, kind: int, site: int, id_: int) -> None:
        pair = scenario.pair
        pair.ended[kind] += 1
        if self._product.letters[kind] != _BOTH:
            return
        examples = pair.examples.get(kind)
        if examples is None:
            examples = pair.examples[kind] = {}
            pair.firsts[kind] = self._expired()
        kept = examples.get(scenario.site)
        if kept is None and len(examples) < (MOST_EXAMPLES if self._examples < ALL_EXAMPLES else FEW_EXAMPLES):
            self._examples += 1
            kept = examples[scenario.site] = _Kept(self._example(subject, scenario.site, site, id_))
        if kept is not None:
            kept.count += 1
        pair.satisfy(scenario.site, self._product.satisfied[kind])

    def _example(self, subject: _Subject, first_site: int, last_site: int, id_: int) -> Example:
        return Example(first_site, last_site, id_, self._expired(), 0, self._draining, tuple(subject.trail))

    # --- results ----------------------------------------------------------------------------------------------------

    def _counts(self, pair: _Pair) -> list[int]:
        """By kind: how many scenarios of the pair ended."""
        counts = [ended + earlier for ended, earlier in zip(pair.ended, pair.remembered, strict=True)]
        for letter, name in enumerate((pair.first, pair.second)):
            runs = zip(self._lengths.states, self._event(name).runs, pair.apart[letter], strict=True)
            for states, ended, apart in runs:
                counts[self._product.kind[states[letter]]] += ended - apart
        return counts

    def _alone(self, pair: _Pair, kind: int) -> Iterator[_Usage]:
        """The usages behind scenarios of one event that ended in this kind, in the order in which they came up."""
        letter = self._product.letters[kind] - 1
        name, other = (pair.second, pair.first) if letter else (pair.first, pair.second)
        for usage in self._event(name).usages.values():
            state = self._lengths.states[usage.position][letter]
            if self._product.kind[state] == kind and other not in usage.company and usage.last > pair.created:
                yield usage

    def _first(self, pair: _Pair, kind: int) -> int:
        if pair.remembered[kind]:
            return 0
        if self._product.letters[kind] == _BOTH:
            return pair.firsts[kind]
        usage = next(self._alone(pair, kind), None)  # the first to come up, though maybe before the pair
        return max(usage.example.seq if usage else 0, pair.created + 1)

    def _satisfied(self, counts: Sequence[int]) -> list[int]:
        satisfied = [0] * len(self._product.size)
        for count, rules in zip(counts, self._rules, strict=True):
            if count:
                for rule in rules:
                    satisfied[rule] += count
        return satisfied

    def known(self) -> list[tuple[int, int]]:
        return list(self._pairs)

    def pair(self, first: int, second: int) -> Pair | None:
        pair = self._pairs.get((first, second))
        if pair is None:
            return None
        endings: list[Ending] = []
        for kind, count in enumerate(self._counts(pair)):
            if not count:
                continue
            kept: Sequence[_Kept]
            if self._product.letters[kind] == _BOTH:
                kept = list(pair.examples.get(kind, {}).values())
            else:
                kept = list(self._alone(pair, kind))[:MOST_EXAMPLES]
            endings.append(Ending(kind, count, self._first(pair, kind), tuple(each.shown() for each in kept)))
        return Pair(first, second, pair.created, tuple(endings), tuple(pair.contexts.items()))

    def counts(self, first: int, second: int) -> Counts | None:
        pair = self._pairs.get((first, second))
        if pair is None:
            return None
        counts = self._counts(pair)
        return Counts(sum(counts), tuple(self._satisfied(counts)), tuple(pair.places))

    def remember(
        self, first: int, second: int, endings: Sequence[tuple[int, int]], contexts: Sequence[tuple[int, int]]
    ) -> None:
        kinds = len(self._product.satisfied)
        if first >= second or any(not 0 <= kind < kinds or count < 0 for kind, count in endings):
            raise ValueError("not the endings of a pair")
        pair = self._pairs.get((first, second)) or self._create(first, second)
        if pair is None:
            return
        for kind, count in endings:
            pair.remembered[kind] += count
        for site, rules in contexts[:MOST_CONTEXTS]:
            pair.satisfy(site, rules)

    # --- judging ------------------------------------------------------------------------------------------------------

    def survey(self, program: Sequence[Instruction], prune: bool) -> Survey:
        _check(program)
        judge = judge_by(program)
        number = [0] * len(RuleState)
        candidates: list[Candidate] = []
        dead: list[_Pair] = []
        enforced_pairs = 0
        for pair in self._pairs.values():
            counts = self._counts(pair)
            total = sum(counts)
            satisfied = self._satisfied(counts)
            enforcing: list[int] = []
            alive = False
            for rule, (kept, places) in enumerate(zip(satisfied, pair.places, strict=True)):
                verdict = judge(kept, total, places)
                number[verdict] += 1
                alive = alive or verdict != RuleState.DEAD
                if verdict == RuleState.ENFORCING:
                    enforcing.append(rule)
            if enforcing:
                enforced_pairs += 1
                candidates += self._candidates(pair, counts, enforcing)
            if not alive:
                dead.append(pair)
        if prune:
            for pair in dead:
                self._forget(pair)
        return Survey(
            number[RuleState.ENFORCING], number[RuleState.LEARNING], number[RuleState.DEAD], candidates, enforced_pairs
        )

    def _candidates(self, pair: _Pair, counts: Sequence[int], enforcing: Sequence[int]) -> Iterator[Candidate]:
        """The endings that break the rule that was the best one before they came up."""
        kinds = [kind for kind, count in enumerate(counts) if count]
        firsts = {kind: self._first(pair, kind) for kind in kinds}
        sizes = self._product.size
        for kind in kinds:
            limit = max(firsts[kind], 1)
            before = [
                counts[other] if other != kind and firsts.get(other, 0) < limit else 0 for other in range(len(counts))
            ]
            satisfied = self._satisfied(before)  # of as many for each rule: the ratios compare as these do
            best = min(enforcing, key=lambda rule: (-satisfied[rule], sizes[rule], rule))
            if not self._product.satisfied[kind] >> best & 1:
                yield Candidate(pair.first, pair.second, best, kind)

    def _forget(self, pair: _Pair) -> None:
        key = (pair.first, pair.second)
        del self._pairs[key]
        self._gone.add(key)
        self.pairs -= 1
        self.pruned += 1
        for subject in self._subjects.values():
            if subject.shared.get(pair.first, {}).pop(pair.second, None) is not None:
                del subject.shared[pair.second][pair.first]
