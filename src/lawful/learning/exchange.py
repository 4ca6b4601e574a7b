"""What a learner has counted, in words and places: for other runs and processes, whose numbers are others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from lawful.errors import LawfulError
from lawful.learning.event_numbering import EventNumbering
from lawful.learning.window_protocol import History, HistoryExample, Pair, Product, SharedHistory, SharedPair

PairKey = tuple[int, int]  # the numbers of its two events, the smaller one first
RulesAt = dict[int, int]  # by place: rules, as bits


class NumberedPair(NamedTuple):
    """A `SharedPair` in the numbers of one learner."""

    key: PairKey
    endings: list[tuple[int, int]]  # kind, and how many
    contexts: list[tuple[int, int]]  # place, and the rules that were kept there
    breaches: list[tuple[int, int]]  # the same of rules that were broken


class Exchange:
    """Translates between the numbers of a learner and what others understand."""

    def __init__(self, numbering: EventNumbering, product: Product) -> None:
        self._numbering = numbering
        self._product = product
        both = zip(product.satisfied, product.letters, strict=True)
        self._kinds = {signature: kind for kind, signature in enumerate(both)}

    def shared_pair(self, pair: Pair, prior: Mapping[int, int], broken: RulesAt) -> SharedPair | None:
        """What was counted for a pair, without the `prior` counts by kind. None: nothing was.

        `broken` are places where other processes broke rules of it; those of its own examples are added.
        """
        product, words, sites = self._product, self._numbering.words, self._numbering.sites
        counted = [(each.kind, each.count - prior.get(each.kind, 0)) for each in pair.endings]
        endings = tuple((product.satisfied[kind], product.letters[kind], number) for kind, number in counted if number)
        if not endings:
            return None
        every = (1 << len(product.size)) - 1
        for ending in pair.endings:
            for example in ending.examples:
                broken[example.site] = broken.get(example.site, 0) | (every & ~product.satisfied[ending.kind])
        contexts, breaches = (
            tuple((sites[site], rules) for site, rules in each) for each in (pair.contexts, broken.items())
        )
        return SharedPair(words[pair.first], words[pair.second], endings, contexts, breaches)

    def numbered_pair(self, shared: SharedPair) -> NumberedPair:
        """The same in our numbers."""
        first, second = self._numbering.word(*shared.first), self._numbering.word(*shared.second)
        shared = shared if first < second else shared.turned()
        try:
            endings = [(self._kinds[satisfied, letters], number) for satisfied, letters, number in shared.endings]
        except KeyError:
            raise LawfulError("store-unreadable", f"the counts of {shared.first.label} cannot be right") from None
        contexts, breaches = (
            [(self._numbering.site(*site), rules) for site, rules in each]
            for each in (shared.contexts, shared.breaches)
        )
        return NumberedPair((min(first, second), max(first, second)), endings, contexts, breaches)

    def shared_history(self, history: History) -> SharedHistory:
        """A history, whose events are numbered as they came up in it."""
        words, sites = self._numbering.words, self._numbering.sites
        names = [code >> 1 for code in history.order if not code & 1]
        numbers = {name: number for number, name in enumerate(names)}
        return SharedHistory(
            tuple(words[name] for name in names),
            tuple(2 * numbers[code >> 1] + (code & 1) for code in history.order),
            history.count,
            tuple(
                (tuple(sites[site] for site in example.sites), example.count, example.object)
                for example in history.examples
            ),
        )

    def numbered_history(self, shared: SharedHistory) -> History:
        """The same in our numbers."""
        words = [self._numbering.word(*word) for word in shared.words]
        try:
            order = tuple(2 * words[code >> 1] + (code & 1) for code in shared.order)
        except IndexError:
            raise LawfulError("store-unreadable", "a life has an event that it does not name") from None
        examples = (
            HistoryExample(id_, 0, count, tuple(self._numbering.site(*site) for site in places))
            for places, count, id_ in shared.places
            if len(places) == len(order)
        )
        return History(order, shared.count, tuple(examples))
