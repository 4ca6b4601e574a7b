"""What is known at one moment, in one place: the window's numbers, and the words and places that they stand for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lawful.learning.window_protocol import Counts, Product, Rule, RuleState, Site, Window, Word

Judge = Callable[[int, int, int], RuleState]  # of the numbers of satisfied scenarios, of all scenarios, and of contexts


@dataclass(slots=True)
class EarlierRuns:
    """What earlier runs tell of the present one.

    Only if they were runs of the same program do they tell what is new in it: that is seen from its files.
    """

    files: set[str | None] = field(default_factory=set)
    endings: dict[tuple[int, int], dict[int, int]] = field(default_factory=dict)  # by pair and kind: how many
    places: dict[tuple[int, int], dict[int, int]] = field(default_factory=dict)
    """By pair and place: the rules that scenarios with both events kept which began there, as bits."""
    broken: dict[tuple[int, int], dict[int, int]] = field(default_factory=dict)
    """The same of rules that were broken, in one run or another."""
    unstable: set[int] = field(default_factory=set)
    """Events to which something new happened in some of the earlier runs, too: that is chance, as with threads."""

    def news(self, file: str | None, events: Iterable[int], before: int, alike: int) -> bool | None:
        """Is it new that a rule is broken so, in this file? Scenarios or lives of earlier runs, and those alike.

        None: they do not tell.
        """
        if not before or file not in self.files:
            return None
        return False if alike else True if self.unstable.isdisjoint(events) else None


@dataclass(frozen=True, slots=True)
class LearnerView:
    """A learner as those see it who read its rules and anomalies. Nothing is copied: it is the present."""

    window: Window
    product: Product
    templates: Sequence[str]  # their texts, by number
    words: Sequence[Word]  # by number
    sites: Sequence[Site]  # by number
    judge: Judge
    raising: Mapping[tuple[int, int], Sequence[int]] = field(default_factory=dict)
    """By word and place: the last objects whose call there ended in an exception, as far as the events tell."""
    events_of: Mapping[int, Collection[int]] = field(default_factory=dict)
    """By object: the words it met in its life, if that is over, and as far as it is kept as an example."""
    met: Mapping[int, Sequence[Collection[int]]] = field(default_factory=dict)
    """By word: for all ways of life with it, the words that are in them. Nothing, if some lives are not known."""
    final_events: frozenset[int] = frozenset()
    """Words of events that end lives."""
    past: EarlierRuns = field(default_factory=lambda: EarlierRuns())
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
