"""What a learner shares with other runs and processes: counts, histories and anomalies, in words and places.

The numbers of events and places are those of one learner: others have other ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from lawful.errors import LawfulError
from lawful.learning import history_patterns
from lawful.learning.anomaly_merging import RuleKey, add_by_rule, with_foreign
from lawful.learning.event_numbering import EventNumbering
from lawful.learning.learner_view import EarlierRuns, LearnerView
from lawful.learning.window_protocol import (
    Anomaly,
    History,
    HistoryExample,
    Product,
    Rule,
    SharedHistory,
    SharedPair,
    Window,
    Word,
)

UNSTABLE = 1 / 3
"""If something new happened to an event in so many of the earlier runs, it is chance if it does again."""

PairKey = tuple[int, int]  # the numbers of its two events, the smaller one first
RulesAt = dict[int, int]  # by place: rules, as bits
Numbered = list[tuple[int, int]]  # kinds of endings, with how many; or places, with rules as bits


class OtherLearners:
    """The counts of other runs and processes, beside those of one window."""

    def __init__(self, numbering: EventNumbering, product: Product) -> None:
        self.earlier_runs = EarlierRuns()
        self._numbering = numbering
        self._product = product
        both = zip(product.satisfied, product.letters, strict=True)
        self._kinds = {signature: kind for kind, signature in enumerate(both)}
        self._histories: list[History] = []  # of other processes
        self._breaches: dict[PairKey, RulesAt] = {}
        self._anomalies: dict[RuleKey, Anomaly] = {}  # of other processes, and our own before those were added

    # -- earlier runs -----------------------------------------------------------------------------

    def remember(
        self,
        window: Window,
        pairs: Iterable[SharedPair],
        histories: Iterable[SharedHistory],
        novelty: Mapping[Word, tuple[int, int]],
    ) -> None:
        """Add what other runs have counted, see `Learner.remember`."""
        earlier, numbering = self.earlier_runs, self._numbering
        for pair in pairs:
            key, endings, contexts, breaches = self._numbered_pair(pair)
            window.remember(*key, endings, contexts)
            if window.counts(*key) is not None:  # else there are too many pairs, or it is dead
                earlier.add(key, endings, contexts, breaches)
                earlier.files.update(numbering.sites[site].file for site, _ in contexts)
        for history in histories:
            earlier.histories.append(self._numbered_history(history))
            earlier.files.update(site.file for places, _, _ in history.places for site in places)
        earlier.unstable.update(
            numbering.word(*word) for word, (runs, news) in novelty.items() if news and news >= UNSTABLE * runs
        )

    def novelty(self, window: Window, histories: Iterable[History]) -> dict[Word, bool]:
        """Of the events that earlier runs had, too: did something happen to their objects that never did before?

        That is another history, or a scenario that ended in another way.
        """
        found = self.earlier_runs.novelty(window, histories)
        return {self._numbering.words[name]: new for name, new in found.items()}

    # -- other processes --------------------------------------------------------------------------

    def add_anomalies(self, found: Iterable[Anomaly]) -> None:
        """Keep anomalies: further counts might hide them."""
        for anomaly in found:
            add_by_rule(self._anomalies, anomaly)

    def merge(self, window: Window, snapshot: Mapping[str, Any]) -> None:
        """Add the counts and anomalies of another process."""
        for each in snapshot["pairs"]:
            key, endings, contexts, breaches = self._numbered_pair(msgspec.convert(each, SharedPair))
            window.remember(*key, endings, contexts)
            found = self._breaches.setdefault(key, {})
            for site, rules in breaches:
                found[site] = found.get(site, 0) | rules
        for each in snapshot["histories"]:
            self._histories.append(self._numbered_history(msgspec.convert(each, SharedHistory)))
        self.add_anomalies(msgspec.convert(each, Anomaly) for each in snapshot["anomalies"])

    def histories(self, ours: list[History]) -> list[History]:
        """Our histories and those of other processes."""
        return history_patterns.merged([*ours, *self._histories]) if self._histories else ours

    def anomalies(self, ours: list[Anomaly], view: LearnerView) -> list[Anomaly]:
        """Our anomalies and those of other processes, as far as their rules are enforced with all counts."""

        def current(rule: Rule) -> Rule:
            a, b = self._numbering.word(*rule.a), self._numbering.word(*rule.b)
            return view.rule(min(a, b), max(a, b), 2 * view.templates.index(rule.pattern) + (a > b))

        return with_foreign(ours, self._anomalies, current) if self._anomalies else ours

    # -- for others -------------------------------------------------------------------------------

    def shared_pair(self, window: Window, key: PairKey) -> SharedPair | None:
        """The counts of a pair, without those of earlier runs. None: there are none."""
        pair = window.pair(*key)
        if pair is None:
            return None
        product, words, sites = self._product, self._numbering.words, self._numbering.sites
        prior = self.earlier_runs.endings.get(key, {})
        counted = [(each.kind, each.count - prior.get(each.kind, 0)) for each in pair.endings]
        endings = tuple((product.satisfied[kind], product.letters[kind], number) for kind, number in counted if number)
        if not endings:
            return None
        broken = dict(self._breaches.get(key, {}))
        every = (1 << len(product.size)) - 1
        for ending in pair.endings:
            for example in ending.examples:
                broken[example.site] = broken.get(example.site, 0) | (every & ~product.satisfied[ending.kind])
        contexts, breaches = (
            tuple((sites[site], rules) for site, rules in each) for each in (pair.contexts, broken.items())
        )
        return SharedPair(words[pair.first], words[pair.second], endings, contexts, breaches)

    def shared_histories(self, ours: Iterable[History]) -> Iterator[SharedHistory]:
        """Histories in words and places."""
        return map(self._shared_history, ours)

    def files(self, ours: Sequence[History]) -> set[str | None]:
        """The files that objects have been to."""
        sites = {site for each in (*ours, *self._histories) for example in each.examples for site in example.sites}
        return {self._numbering.sites[site].file for site in sites}

    # -- words and places, numbers ----------------------------------------------------------------

    def _numbered_pair(self, shared: SharedPair) -> tuple[PairKey, Numbered, Numbered, Numbered]:
        """In our numbers: the pair, its endings, its contexts, and its breaches."""
        first, second = self._numbering.word(*shared.first), self._numbering.word(*shared.second)
        shared = shared if first < second else shared.turned()
        try:
            endings = [(self._kinds[satisfied, letters], number) for satisfied, letters, number in shared.endings]
        except KeyError:
            raise LawfulError("store-unreadable", f"the counts of {shared.first.label} are invalid") from None
        contexts, breaches = (
            [(self._numbering.site(*site), rules) for site, rules in each]
            for each in (shared.contexts, shared.breaches)
        )
        return (min(first, second), max(first, second)), endings, contexts, breaches

    def _shared_history(self, history: History) -> SharedHistory:
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

    def _numbered_history(self, shared: SharedHistory) -> History:
        """A history in our numbers."""
        words = [self._numbering.word(*word) for word in shared.words]
        try:
            order = tuple(2 * words[code >> 1] + (code & 1) for code in shared.order)
        except IndexError:
            raise LawfulError("store-unreadable", "a life refers to an event that it does not list") from None
        examples = (
            HistoryExample(id_, 0, count, tuple(self._numbering.site(*site) for site in places))
            for places, count, id_ in shared.places
            if len(places) == len(order)
        )
        return History(order, shared.count, tuple(examples))
