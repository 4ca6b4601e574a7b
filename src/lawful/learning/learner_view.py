"""A learner as readers see it: the window's numbers, the words and places behind them, and earlier runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lawful.learning.history_patterns import final_events
from lawful.learning.strategies import Judge
from lawful.learning.window_protocol import Counts, History, Product, Rule, Site, Window, Word

_FEW_PAIRS = 10  # of events; with more of them, names count
_MOST_DOUBT = 0.5


def doubt(pairs: int) -> float:
    """How much to doubt a rule whose names do not say that something begins or ends, with so many pairs of events."""
    return _MOST_DOUBT * (1 - min(1.0, _FEW_PAIRS / max(1, pairs)))


@dataclass(slots=True)
class EarlierRuns:
    """The counts of earlier runs, by which the present one is judged.

    They show what is new only if they were runs of the same program, which its files tell.
    """

    files: set[str | None] = field(default_factory=set)
    endings: dict[tuple[int, int], dict[int, int]] = field(default_factory=dict)  # by pair and kind: how many
    places: dict[tuple[int, int], dict[int, int]] = field(default_factory=dict)
    """By pair and place: the rules that scenarios with both events kept which began there, as bits."""
    broken: dict[tuple[int, int], dict[int, int]] = field(default_factory=dict)
    """The same of rules that were broken, in one run or another."""
    histories: list[History] = field(default_factory=list)
    unstable: set[int] = field(default_factory=set)
    """Events to which something new happened in some of the earlier runs, too: that is chance, as with threads."""

    def add(
        self,
        key: tuple[int, int],
        endings: Iterable[tuple[int, int]],
        contexts: Iterable[tuple[int, int]],
        breaches: Iterable[tuple[int, int]],
    ) -> None:
        """Add the counts of a pair."""
        numbers = self.endings.setdefault(key, {})
        for kind, number in endings:
            numbers[kind] = numbers.get(kind, 0) + number
        for found, places in ((self.places, contexts), (self.broken, breaches)):
            rules_at = found.setdefault(key, {})
            for site, rules in places:
                rules_at[site] = rules_at.get(site, 0) | rules

    def novelty(self, window: Window, histories: Iterable[History]) -> dict[int, bool]:
        """By events that both have: did something happen in the present run that never did before?"""
        past = {history.order for history in self.histories}
        known = {code >> 1 for order in past for code in order}.union(*self.endings)
        new: set[int] = set()
        met: set[int] = set()
        for history in histories:
            names = {code >> 1 for code in history.order}
            met |= names
            if history.order not in past:
                new |= names
        for key, prior in self.endings.items():
            pair = window.pair(*key)
            if pair is not None and any(each.kind not in prior for each in pair.endings):
                new.update(key)
        return {name: name in new for name in met & known}

    def news(self, file: str | None, events: Iterable[int], before: int, alike: int) -> bool | None:
        """Is it new that a rule is broken so, in this file? Scenarios or histories of earlier runs, and those alike.

        None: they do not tell.
        """
        if not before or file not in self.files:
            return None
        return False if alike else True if self.unstable.isdisjoint(events) else None


class EndedHistories:
    """The histories that have ended in a window, and indexes of them for judging anomalies."""

    def __init__(self, window: Window | None = None, words: Sequence[Word] = (), one_trace: bool = True) -> None:
        """Only within one trace is a number always that of the same object."""
        self.histories = [] if window is None else window.histories()
        self.final_events = final_events([(each.order, each.count) for each in self.histories], words)
        self.events_of: dict[int, frozenset[int]] = {}
        """By object: the events in its history, as far as it is kept as an example."""
        self.with_event: dict[int, list[frozenset[int]]] = {}
        """By event: for all histories with it, the events in them. Nothing, if some histories are not known."""
        complete = window is not None and not window.given_up_histories
        for history in self.histories:
            names = frozenset(code >> 1 for code in history.order)
            if one_trace:
                self.events_of.update((example.object, names) for example in history.examples)
            if complete:
                for name in names:
                    self.with_event.setdefault(name, []).append(names)


@dataclass(frozen=True, slots=True)
class LearnerView:
    """The state of a learner, for code that reads its rules and anomalies. It copies nothing: it is always current."""

    window: Window
    product: Product
    templates: Sequence[str]  # their texts, by number
    words: Sequence[Word]  # by number
    sites: Sequence[Site]  # by number
    judge: Judge
    raising: Mapping[tuple[int, int], Sequence[int]] = field(default_factory=dict)
    """By word and place: the last objects whose call there ended in an exception, as far as the events tell."""
    ended: EndedHistories = field(default_factory=EndedHistories)
    """Histories that have ended, and what they have in common."""
    past: EarlierRuns = field(default_factory=EarlierRuns)
    doubt: float = 0.0
    """From 0 to 1: how much less a broken rule is worth of which no name says that something begins or ends."""

    def assigned(self, first: int, second: int, number: int) -> tuple[int, int]:
        """The events that are `a` and `b` in a rule of a pair."""
        return (second, first) if number & 1 else (first, second)

    def rule(self, first: int, second: int, number: int) -> Rule:
        """A rule of a pair, by its number in the product. Of a pair that is not kept, nothing is counted."""
        return self._rule(first, second, number, self.window.counts(first, second))

    def rules(self, first: int, second: int, turned: bool = False) -> Iterator[Rule]:
        """All rules of a pair: by template, and for each both orders, `first` as `a` before `second`, or `turned`."""
        counts = self.window.counts(first, second)
        if counts is not None:
            for number in range(len(self.product.size)):
                yield self._rule(first, second, number ^ turned, counts)

    def ordered_pairs(self) -> tuple[list[tuple[int, int]], list[int]]:
        """All pairs, in the order of the labels of their events; and the ranks of all events in this order."""
        ranks = [0] * len(self.words)
        for rank, number in enumerate(sorted(range(len(ranks)), key=lambda number: self.words[number].label)):
            ranks[number] = rank

        def order(pair: tuple[int, int]) -> int:
            """The lesser rank first. One number takes less memory than two in a tuple."""
            one, other = sorted((ranks[pair[0]], ranks[pair[1]]))
            return one << 32 | other

        return sorted(self.window.known(), key=order), ranks

    def _rule(self, first: int, second: int, number: int, counts: Counts | None) -> Rule:
        total, satisfied, contexts = 0, 0, 0
        if counts is not None:
            total, satisfied, contexts = counts.total, counts.satisfied[number], counts.contexts[number]
        a, b = self.assigned(first, second, number)
        return Rule(
            self.words[a],
            self.words[b],
            self.templates[number >> 1],
            satisfied,
            total - satisfied,
            contexts,
            self.judge(satisfied, total, contexts),
        )
