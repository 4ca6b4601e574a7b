"""The learner: takes events in, tunes itself, and can be asked and changed at any time, from any thread."""

from __future__ import annotations

from _thread import RLock
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import msgspec

from lawful.learning import anomalies
from lawful.learning.anomaly_merging import combined
from lawful.learning.event_numbering import EventNumbering, Numbers, Where
from lawful.learning.history_rules import HistoryRules
from lawful.learning.learned_json import learner_json
from lawful.learning.learner_view import EndedHistories, LearnerView, doubt
from lawful.learning.other_learners import OtherLearners
from lawful.learning.parameters import Learning
from lawful.learning.reported_before import ReportedBefore, ReportRecord
from lawful.learning.tuner import ThresholdMove, Tuner
from lawful.learning.window import make as make_window
from lawful.learning.window_protocol import (
    Anomaly,
    Product,
    Rule,
    RuleState,
    SharedHistory,
    SharedPair,
    Survey,
    Window,
    Word,
)

MOST_HANDED_ON = 100
"""How many anomalies a process sends to another one."""


class AnomalyReport(list[Anomaly]):
    """The anomalies to report, the best first; how many were omitted; and those that earlier runs reported."""

    def __init__(self, found: Iterable[Anomaly] = (), omitted: int = 0, known: Iterable[Anomaly] = ()) -> None:
        super().__init__(found)
        self.omitted = omitted
        self.known = list(known)  # earlier runs had them, too


class Learner:
    """Learns rules from events and finds where they are broken.

    Every `tune_every` events of the window, whatever the batches, all rules are judged, dead pairs are pruned, and the
    tuner makes a move. Parameters can be changed while it runs, with `change`. Other templates, another core, or
    another number of pairs make a new window: all counts begin anew.
    """

    def __init__(self, parameters: Learning | None = None) -> None:
        self._parameters = parameters or Learning()
        self.numbering = EventNumbering(self._parameters.joins)
        self.on_new_window: Callable[[Window], None] | None = None
        """Called with the new window when there is one: for those who feed it themselves."""
        self.reported_before: ReportedBefore | None = None
        """The anomalies that earlier runs reported, if they are stored."""
        self._lock = RLock()
        self._tuner = Tuner.of(self._parameters)
        self._past_events = 0  # of windows before this one, and of other processes
        self._traces = 1
        self._use(self._parameters.product, _window(self._parameters))
        self._parameters = replace(self._parameters, thresholds={})  # the tuner has them
        self.numbering.reach(self._parameters.window)

    def _use(self, product: Product, window: Window) -> None:
        """Begin to count anew, in this window."""
        self._product, self._window = product, window
        self._others = OtherLearners(self.numbering, product)
        self._ended = EndedHistories()
        # Events of the window when each of these was last done:
        self._finished_at = self._kept_at = self._drained_at = -1

    # -- parameters -------------------------------------------------------------------------------

    @property
    def parameters(self) -> Learning:
        """All parameters as they are now; the thresholds as the tuner has set them."""
        with self._lock:
            return replace(self._parameters, thresholds=dict(self._tuner.values))

    def change(self, **changes: Any) -> None:
        """Change the named parameters; if one of them is invalid, change none. Other thresholds stay."""
        with self._lock:
            old = self._parameters
            new = old.changed(**changes)
            window = self._window
            if (new.templates, new.core, new.most_pairs) != (old.templates, old.core, old.most_pairs):
                window = _window(new)
            self._parameters = replace(new, thresholds={})  # the tuner has them
            self._window.size = new.window
            self.numbering.reach(new.window)
            self.numbering.joins = new.joins
            self._tuner = self._tuner.changed(old, new)
            if window is not self._window:
                before = self._window
                self._use(new.product, window)
                if self.on_new_window is not None:
                    self.on_new_window(window)
                self._past_events += before.events  # what was on its way has arrived now

    def hold_lock(self) -> None:
        """Lock other threads out until `release_lock`. Call it before a fork, or the child would wait for ever."""
        self._lock.acquire()
        self.numbering.lock.acquire()

    def release_lock(self) -> None:
        """Call it in the thread that called `hold_lock`, in the parent and in the child."""
        self.numbering.lock.release()
        self._lock.release()

    # -- events -----------------------------------------------------------------------------------

    def feed(self, events: Sequence[Mapping[str, Any]], where: Where = None) -> None:
        """Learn from events. After an error, those before the faulty one have been learned."""
        with self._lock:
            try:
                self.numbering.add(events, where)
            finally:
                self._feed_window(self.numbering.take())

    def _feed_window(self, numbers: Numbers) -> None:
        columns = [memoryview(column) for column in numbers]
        start, end = 0, len(numbers.names)
        while start < end:
            every = self._parameters.tune_every
            stop = min(end, start + every - self._window.events % every)
            self._window.feed(*(column[start:stop] for column in columns))
            start = stop
            if self._window.events % every == 0:
                self.tick()

    def tick(self) -> None:
        """Judge all rules, prune dead pairs, and let the tuner make a move."""
        with self._lock:
            survey = self._survey(prune=not self._parameters.all_rules)
            if self._parameters.tune:
                self._tuner.step(self.events, anomalies.count(self.view(), survey))

    def next_trace(self) -> None:
        """A trace is over, and another one begins, with objects of its own."""
        with self._lock:
            self._drain()
            self._traces += 1
            self.numbering.next_trace()

    def finish(self) -> None:
        """The stream is over: all events leave the window, and the tuner tries to meet the budget."""
        with self._lock:
            self._drain()
            if not self.events:
                self.numbering.refuse_without_objects()
            if self._finished_at == self._window.events:
                return
            self._finished_at = self._window.events
            if self._parameters.tune:
                self._tuner.finish(self.events, lambda: anomalies.count(self.view(), self._survey(prune=False)))

    def _drain(self) -> None:
        self._window.drain()
        if self._drained_at != self._window.events:
            self._drained_at = self._window.events
            # In several traces one number may be that of several objects.
            self._ended = EndedHistories(self._window, self.numbering.words, self._traces == 1)

    # -- results ----------------------------------------------------------------------------------

    @property
    def events(self) -> int:
        """The number of events learned from. With joins, one event of a trace may count several times."""
        return self._past_events + self._window.events

    @property
    def window(self) -> Window:
        """The present one. Whoever feeds it calls `tick` whenever it has taken in another `tune_every` events."""
        return self._window

    @property
    def moves(self) -> list[ThresholdMove]:
        """The moves of the tuner and of those before it, as far as they are kept."""
        with self._lock:
            return [*self._tuner.past_moves, *self._tuner.moves]

    def view(self) -> LearnerView:
        """The present state, for code that reads rules and anomalies."""
        with self._lock:
            return LearnerView(
                self._window,
                self._product,
                self._parameters.templates,
                self.numbering.words,
                self.numbering.sites,
                self._tuner.judge,
                self.numbering.raising,
                self._ended,
                self._others.earlier_runs,
                doubt(self._window.pairs + self._window.pruned),
            )

    def _survey(self, prune: bool) -> Survey:
        return self._window.survey(self._tuner.program, prune)

    def rules(self, all: bool = False) -> Iterator[Rule]:
        """The enforced rules and those that are still learned; with `all`, the dead ones of pairs that are kept, too.

        They are in the order of the labels of their events, then of templates. They are made one by one: there may be
        millions.
        """
        view = self.view()
        with self._lock:
            pairs, ranks = view.ordered_pairs()
        for first, second in pairs:
            with self._lock:
                found = list(view.rules(first, second, turned=ranks[first] > ranks[second]))
            for rule in found:
                if all or rule.state != RuleState.DEAD:
                    yield rule

    def anomalies(self) -> AnomalyReport:
        """Where rules are broken: the anomalies with the highest scores, as many as the budget allows."""
        with self._lock:
            found = combined(self.history_rules().anomalies(), self._in_window())
            known: list[Anomaly] = []
            if self.reported_before is not None:
                found, known = self.reported_before.split(found)
            budget = self._parameters.budget
            return AnomalyReport(found[:budget], max(0, len(found) - budget), known)

    def history_rules(self) -> HistoryRules:
        """Rules about whole histories, as far as these had ended when the stream was last drained."""
        with self._lock:
            # The tuner counts what the window finds. What it learns from that is not for histories.
            view = replace(self.view(), judge=self._tuner.loosest_judge)
            return HistoryRules(self._others.histories(self._ended.histories), view)

    def _in_window(self) -> list[Anomaly]:
        view = self.view()
        return self._others.anomalies(anomalies.find(view, self._survey(prune=False)), view)

    def to_json(self) -> dict[str, Any]:
        """The learner in JSON types."""
        with self._lock:
            return learner_json(self)

    # -- other runs, other processes --------------------------------------------------------------

    def shared_pairs(self) -> Iterator[SharedPair]:
        """The counts of this learner, without those given to `remember` and without dead pairs.

        The rules are those of its templates, in their order.
        """
        with self._lock:
            window, others, pairs = self._window, self._others, self._window.known()
        for key in pairs:
            with self._lock:
                shared = others.shared_pair(window, key)
            if shared is not None:
                yield shared

    def remember(
        self,
        pairs: Iterable[SharedPair] = (),
        histories: Iterable[SharedHistory] = (),
        novelty: Mapping[Word, tuple[int, int]] = MappingProxyType({}),
    ) -> None:
        """Add what other runs have counted, with the same templates in the same order.

        Their histories count, but what is wrong with them is not reported. `novelty`: by event, how many runs had it as
        others before them did, and in how many of these something was new.
        """
        with self._lock:
            self._others.remember(self._window, pairs, histories, novelty)

    def shared_histories(self) -> Iterator[SharedHistory]:
        """The ended histories of this learner, without those given to `remember`."""
        with self._lock:
            return self._others.shared_histories(self._ended.histories)

    def novelty(self) -> dict[Word, bool]:
        """See `OtherLearners.novelty`."""
        with self._lock:
            return self._others.novelty(self._window, self._ended.histories)

    def report_record(self) -> ReportRecord | None:
        """The reports of this run, for later ones; None if there is no store of earlier ones."""
        if self.reported_before is None:
            return None
        found = self.anomalies()
        return self.reported_before.report_record(found, found.known, self._others.files(self._ended.histories))

    def snapshot(self) -> dict[str, Any]:
        """The counts and anomalies of this process for another one, in JSON types."""
        with self._lock:
            plain: dict[str, Any] = msgspec.to_builtins(
                {
                    "templates": list(self._parameters.templates),
                    "events": self.events,
                    "passed": dict(self.numbering.passed),
                    "pairs": list(self.shared_pairs()),
                    "histories": list(self.shared_histories()),
                    "anomalies": self._in_window()[:MOST_HANDED_ON],
                }
            )
            return plain

    def merge(self, snapshot: Mapping[str, Any]) -> bool:
        """Add the counts and anomalies of another process. False if it has other templates: nothing is added."""
        with self._lock:
            if list(snapshot["templates"]) != list(self._parameters.templates):
                return False
            if self._kept_at != self._window.events:
                # The counts of others contain failures too. With them looser rules become the best ones, and our
                # anomalies of now would be lost.
                self._kept_at = self._window.events
                self._others.add_anomalies(anomalies.find(self.view(), self._survey(prune=False)))
            self._others.merge(self._window, snapshot)
            self._past_events += snapshot["events"]
            for reason, number in snapshot["passed"].items():
                self.numbering.passed[reason] = self.numbering.passed.get(reason, 0) + number
            self._finished_at = -1
            return True


def _window(parameters: Learning) -> Window:
    return make_window(parameters.product, parameters.window, parameters.most_pairs, parameters.core)
