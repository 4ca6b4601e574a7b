"""What a learner knows from others: counts of earlier runs and of other processes, and anomalies that these found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from lawful.learning import history_patterns
from lawful.learning.anomaly_merging import RuleKey, add_by_rule, with_foreign
from lawful.learning.event_numbering import EventNumbering
from lawful.learning.exchange import Exchange, PairKey, RulesAt
from lawful.learning.learner_view import EarlierRuns, LearnerView
from lawful.learning.window_protocol import Anomaly, History, Product, Rule, SharedHistory, SharedPair, Window, Word

UNSTABLE = 1 / 3
"""If something new happened to an event in so many of the earlier runs, it is chance if it does again."""


class OtherLearners:
    """What others have counted, beside one window, and what they are given of it."""

    def __init__(self, numbering: EventNumbering, product: Product) -> None:
        self.earlier_runs = EarlierRuns()
        self._numbering = numbering
        self._exchange = Exchange(numbering, product)
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
            key, endings, contexts, breaches = self._exchange.numbered_pair(pair)
            window.remember(*key, endings, contexts)
            if window.counts(*key) is not None:  # else there are too many pairs, or it is dead
                earlier.add(key, endings, contexts, breaches)
                earlier.files.update(numbering.sites[site].file for site, _ in contexts)
        for history in histories:
            earlier.histories.append(self._exchange.numbered_history(history))
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
        """Keep anomalies that more counts might silence."""
        for anomaly in found:
            add_by_rule(self._anomalies, anomaly)

    def merge(self, window: Window, snapshot: Mapping[str, Any]) -> None:
        """Add what another process has counted, and the anomalies it found."""
        for each in snapshot["pairs"]:
            key, endings, contexts, breaches = self._exchange.numbered_pair(msgspec.convert(each, SharedPair))
            window.remember(*key, endings, contexts)
            found = self._breaches.setdefault(key, {})
            for site, rules in breaches:
                found[site] = found.get(site, 0) | rules
        for each in snapshot["histories"]:
            self._histories.append(self._exchange.numbered_history(msgspec.convert(each, SharedHistory)))
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
        """What was counted for a pair, without what earlier runs had counted. None: nothing was."""
        pair = window.pair(*key)
        if pair is None:
            return None
        return self._exchange.shared_pair(
            pair, self.earlier_runs.endings.get(key, {}), dict(self._breaches.get(key, {}))
        )

    def shared_histories(self, ours: Iterable[History]) -> Iterator[SharedHistory]:
        """Histories in words and places."""
        return map(self._exchange.shared_history, ours)

    def files(self, ours: Sequence[History]) -> set[str | None]:
        """The files that objects have been to."""
        sites = {site for each in (*ours, *self._histories) for example in each.examples for site in example.sites}
        return {self._numbering.sites[site].file for site in sites}
