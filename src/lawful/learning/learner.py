"""The learner, whole: takes events in, tunes itself, and can be asked and changed at any time, from any thread."""

from __future__ import annotations

from _thread import RLock
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from lawful import core
from lawful.errors import LawfulError
from lawful.learning import anomalies, history_patterns, ranking, strategies, templates, union
from lawful.learning import window as windows
from lawful.learning.event_numbering import NO_OBJECT, EventNumbering, Numbers, Where
from lawful.learning.history_rules import HistoryRules
from lawful.learning.learner_view import EarlierRuns, LearnerView
from lawful.learning.parameters import Parameters
from lawful.learning.reported_before import ReportedBefore, ReportRecord
from lawful.learning.tuner import ThresholdMove, Tuner
from lawful.learning.window_protocol import (
    Anomaly,
    ExampleScenario,
    History,
    HistoryExample,
    Pair,
    Product,
    Rule,
    RuleState,
    SharedHistory,
    SharedPair,
    Survey,
    Window,
    Word,
)

MOST_LAST_MOVES = 100
"""How often the tuner may move at the end of the stream, while there are more anomalies than wanted."""

MOST_PAST_MOVES = 1000
"""How many moves are remembered of the tuners before the present one, which had another strategy or seed."""

MOST_HANDED_ON = 100
"""How many anomalies a process tells another one."""

MOST_SCENES = 8
"""How many failing scenarios of one rule are taken over from other processes."""

UNSTABLE = 1 / 3
"""In so many of the earlier runs something new happened to an event: then it is chance if it does again."""

MOST_VERDICTS = 100_000  # that are kept, to be quick


class AnomalyReport(list[Anomaly]):
    """The anomalies that are worth a look, the best first; how many more there are, and which are no news."""

    def __init__(self, found: Iterable[Anomaly] = (), omitted: int = 0, known: Iterable[Anomaly] = ()) -> None:
        super().__init__(found)
        self.omitted = omitted
        self.known = list(known)  # earlier runs had them, too


class Learner:
    """Learns rules from events and knows where they are broken.

    Every `tune_every` events of the window, whatever the batches, all rules are judged, dead pairs are forgotten, and
    the tuner makes a move. Parameters can be changed while it runs, with `change`. Other templates, another core, or
    another number of pairs make a new window: all counts begin anew.
    """

    def __init__(self, parameters: Parameters | None = None) -> None:
        self._parameters = parameters or Parameters()
        self.numbering = EventNumbering(self._parameters.joins)
        self.on_new_window: Callable[[Window], None] | None = None
        """Is told the new window when there is one: for those who feed it themselves."""
        self.reported_before: ReportedBefore | None = None
        """What earlier runs have told, if there is a store of them."""
        self._lock = RLock()
        self._product = templates.compile(self._parameters.templates)
        self._window = _window(self._parameters, self._product)
        self._strategy = strategies.parse(self._parameters.strategy)
        values = self._strategy.values(self._parameters.thresholds)
        self._tuner = Tuner(self._strategy, values, self._parameters.budget, self._parameters.seed)
        self._parameters = replace(self._parameters, thresholds={})  # the tuner has them
        self._past_moves: deque[ThresholdMove] = deque(maxlen=MOST_PAST_MOVES)  # of tuners before this one
        self._past_events = 0  # of windows before this one, and of other processes
        self._ended_at = -1  # events of the window when the tuner had its last moves
        self._kinds = _kinds(self._product)
        self._earlier_runs = EarlierRuns()  # other runs
        self._foreign: dict[tuple[str, str, str], Anomaly] = {}  # by rule: of other processes, and before
        self._kept_at = -1  # events of the window when anomalies of our own were last put there
        self._histories: list[History] = []  # that are over, of the window, when it was last drained
        self._events_of: dict[int, Collection[int]] = {}  # by object: the events in its life
        self._histories_with: dict[int, list[Collection[int]]] = {}  # by event: what ways of life have with it
        self._final_events: frozenset[int] = frozenset()  # events with which lives end
        self._drained_at = -1  # events of the window then
        self._parts = 1
        self._other_histories: list[History] = []  # of other processes
        self._other_breaches: dict[tuple[int, int], dict[int, int]] = {}
        self._past_histories: list[History] = []  # of other runs
        self.numbering.reach(self._parameters.window)

    # -- parameters -------------------------------------------------------------------------------

    @property
    def parameters(self) -> Parameters:
        """All parameters as they are now; the thresholds as the tuner has set them."""
        with self._lock:
            return replace(self._parameters, thresholds=dict(self._tuner.values))

    def change(self, **changes: Any) -> None:
        """Change parameters, all that are named or, if one of them is wrong, none. Thresholds not named stay."""
        with self._lock:
            old = self._parameters
            new = old.changed(**changes)
            strategy = strategies.parse(new.strategy)
            given = {name: strategy.threshold(name).check(value) for name, value in new.thresholds.items()}
            product, window = self._product, self._window
            if (new.templates, new.core, new.most_pairs) != (old.templates, old.core, old.most_pairs):
                product = templates.compile(new.templates)
                window = _window(new, product)
            self._parameters = replace(new, thresholds={})  # the tuner has them

            self._window.size = new.window
            self.numbering.reach(new.window)
            self.numbering.joins = new.joins
            if (new.strategy, new.seed) != (old.strategy, old.seed):
                self._replace_tuner(strategy, given)
            else:
                self._tuner.budget = new.budget
                for name, value in given.items():
                    self._tuner.set(name, value)
            if window is not self._window:
                self._renew(product, window)

    def _replace_tuner(self, strategy: strategies.Strategy, given: Mapping[str, float]) -> None:
        """For another strategy or seed. What both have in common goes on, and can be loosened as far as before."""
        old, shared = self._tuner, {threshold.name for threshold in strategy.thresholds}
        loosest = {name: value for name, value in old.loosest.items() if name in shared}
        self._past_moves += old.moves
        self._strategy = strategy
        self._tuner = Tuner(strategy, loosest | dict(given), self._parameters.budget, self._parameters.seed)
        self._tuner.go_on({name: value for name, value in old.values.items() if name in shared - given.keys()})

    def _renew(self, product: Product, window: Window) -> None:
        old = self._window
        self._product, self._window = product, window
        self._kinds = _kinds(product)
        self._earlier_runs = EarlierRuns()
        self._foreign.clear()
        self._histories, self._other_histories, self._past_histories = [], [], []
        self._other_breaches.clear()
        self._events_of, self._histories_with = {}, {}
        self._ended_at = self._kept_at = self._drained_at = -1
        if self.on_new_window is not None:
            self.on_new_window(self._window)
        self._past_events += old.events  # what was on its way has arrived now

    def hold_lock(self) -> None:
        """Let no other thread in until `release_lock`: before the process forks, or a child would wait for ever."""
        self._lock.acquire()
        self.numbering.lock.acquire()

    def release_lock(self) -> None:
        """After `hold_lock`, by the same thread; in the child, too."""
        self.numbering.lock.release()
        self._lock.release()

    # -- events -----------------------------------------------------------------------------------

    def feed(self, events: Sequence[Mapping[str, Any]], where: Where = None) -> None:
        """Learn from events. Before an error, that is all up to the faulty one."""
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
        """Judge all rules, forget what is dead, and let the tuner make a move."""
        with self._lock:
            survey = self._survey(prune=not self._parameters.all_rules)
            if self._parameters.tune:
                self._tuner.step(self.events, anomalies.count(self.view(), survey))

    def part(self) -> None:
        """A trace is over, and another one begins, whose objects are others."""
        with self._lock:
            self._drain()
            self._parts += 1
            self.numbering.part()

    def finish(self) -> None:
        """The stream is over: let everything leave the window, and let the tuner keep to the budget if it can."""
        with self._lock:
            self._drain()
            if self.numbering.passed.get(NO_OBJECT) and not self.events:
                raise LawfulError(
                    "learn-no-objects",
                    f"none of the {self.numbering.read:,} events has an object, so there is nothing to learn from",
                    hint="rules are about the events of one object, which is the `targetId` of each",
                )
            if self._ended_at == self._window.events:
                return
            self._ended_at = self._window.events
            if self._parameters.tune:
                self._tune_at_the_end()

    def _drain(self) -> None:
        self._window.drain()
        if self._drained_at != self._window.events:
            self._drained_at = self._window.events
            self._histories = self._window.histories()
            self._events_of, self._histories_with = {}, {}
            self._final_events = history_patterns.final_events(
                [(history.order, history.count) for history in self._histories], self.numbering.words
            )
            for history in self._histories if self._parts == 1 else ():  # else a number may be that of several objects
                met = {code >> 1 for code in history.order}
                self._events_of.update((example.object, met) for example in history.examples)
            for history in self._histories if not self._window.given_up_histories else ():
                met = {code >> 1 for code in history.order}
                for name in met:
                    self._histories_with.setdefault(name, []).append(met)

    def _tune_at_the_end(self) -> None:
        budget = self._parameters.budget
        number = anomalies.count(self.view(), self._survey(prune=False))
        best = abs(budget - number), dict(self._tuner.values)
        for _ in range(MOST_LAST_MOVES):
            if number <= budget or self._tuner.step(self.events, number) is None:
                break
            number = anomalies.count(self.view(), self._survey(prune=False))
            if abs(budget - number) < best[0]:
                best = abs(budget - number), dict(self._tuner.values)
        self._tuner.observe(number)
        # The last move may have gone far beyond the budget, into silence. What is too much can still be left out.
        self._tuner.take_back(best[1])

    # -- what is known ----------------------------------------------------------------------------

    @property
    def events(self) -> int:
        """How many were learned from. With joins, one event in a trace may be several."""
        return self._past_events + self._window.events

    @property
    def window(self) -> Window:
        """The present one. Whoever feeds it calls `tick` whenever it has taken in another `tune_every` events."""
        return self._window

    @property
    def moves(self) -> list[ThresholdMove]:
        """What the tuner has done, and those before it, as far as that is remembered."""
        with self._lock:
            return [*self._past_moves, *self._tuner.moves]

    def view(self) -> LearnerView:
        """What is known now."""
        with self._lock:
            strategy, values = self._strategy, dict(self._tuner.values)
            verdicts: dict[tuple[int, int, int], RuleState] = {}

            def judge(satisfied: int, total: int, contexts: int) -> RuleState:
                key = (satisfied, total, contexts)
                verdict = verdicts.get(key)
                if verdict is None:
                    if len(verdicts) == MOST_VERDICTS:
                        verdicts.clear()
                    verdict = verdicts[key] = strategy.judge(*key, values)
                return verdict

            return LearnerView(
                self._window,
                self._product,
                self._parameters.templates,
                self.numbering.words,
                self.numbering.sites,
                judge,
                self.numbering.raising,
                self._events_of,
                self._histories_with,
                self._final_events,
                self._earlier_runs,
                ranking.doubt(self._window.pairs + self._window.pruned),
            )

    def _survey(self, prune: bool) -> Survey:
        return self._window.survey(self._strategy.program(self._tuner.values), prune)

    def rules(self, all: bool = False) -> Iterator[Rule]:
        """The enforced rules and those that are still learned; with `all`, the dead ones of pairs that are kept, too.

        They are in the order of the labels of their events, then of templates. They are made one by one: there may be
        millions.
        """
        view = self.view()
        with self._lock:
            pairs = view.window.known()
            words = len(view.words)
        ranks = [0] * words
        for rank, number in enumerate(sorted(range(words), key=lambda number: view.words[number].label)):
            ranks[number] = rank
        pairs.sort(key=lambda pair: _rank(ranks[pair[0]], ranks[pair[1]]))
        for first, second in pairs:
            with self._lock:
                found = list(view.rules(first, second, turned=ranks[first] > ranks[second]))
            for rule in found:
                if all or rule.state != RuleState.DEAD:
                    yield rule

    def anomalies(self) -> AnomalyReport:
        """Where rules are broken, as far as it is worth a look: the best ones, as many as the budget has."""
        with self._lock:
            found = self._anomalies()
            known: list[Anomaly] = []
            if self.reported_before is not None:
                found, known = self.reported_before.split(found)
                found = [each for each in found if not each.old or each.score >= ranking.OLD_BAR]
            budget = self._parameters.budget
            return AnomalyReport(found[:budget], max(0, len(found) - budget), known)

    def history_rules(self) -> HistoryRules:
        """What whole lives say, as far as they are over: when the stream was last drained."""
        with self._lock:
            strategy, values, numbering = self._strategy, self._tuner.loosest, self.numbering
            doubt = ranking.doubt(self._window.pairs + self._window.pruned)

            def judge(satisfied: int, total: int, contexts: int) -> RuleState:
                # The tuner counts what the window finds. What it learns from that is not for lives.
                return strategy.judge(satisfied, total, contexts, values)

            histories = (
                history_patterns.merged([*self._histories, *self._other_histories])
                if self._other_histories
                else self._histories
            )
            past = history_patterns.merged(self._past_histories)
            return HistoryRules(
                histories, numbering.words, numbering.sites, judge, numbering.raising, doubt, past, self._earlier_runs
            )

    def _anomalies(self) -> list[Anomaly]:
        """Those of whole lives and those of the window."""
        return union.combined(self.history_rules().anomalies(), self._in_window())

    def _in_window(self) -> list[Anomaly]:
        view = self.view()
        found = anomalies.find(view, self._survey(prune=False))
        if self._foreign:
            merged = {_key(anomaly.rule): anomaly for anomaly in found}
            for anomaly in self._foreign.values():
                rule = self._known_now(view, anomaly.rule)
                if rule.state == RuleState.ENFORCING:  # now that all is known
                    _merge_anomaly(merged, anomaly._replace(rule=rule))
            found = sorted(merged.values(), key=lambda anomaly: (-anomaly.score, _key(anomaly.rule)))
        return found

    def _known_now(self, view: LearnerView, rule: Rule) -> Rule:
        a, b = self.numbering.word(*rule.a), self.numbering.word(*rule.b)
        number = 2 * view.templates.index(rule.pattern) + (a > b)
        return view.rule(min(a, b), max(a, b), number)

    def to_json(self) -> dict[str, Any]:
        """All of it in JSON types. The first four keys are what programs can rely on."""
        with self._lock:
            every = self._parameters.all_rules
            found = self.anomalies()
            return {
                "events": self.events,
                "window": self._parameters.window,
                "rules": [rule_json(rule) for rule in self.rules(all=every)],
                "anomalies": [self.anomaly_json(anomaly) for anomaly in found],
                "history_rules": [rule_json(rule) for rule in self.history_rules().rules()],
                "omitted": found.omitted,
                "reported_before": [self.anomaly_json(anomaly) for anomaly in found.known],
                "skipped_events": dict(self.numbering.passed),
                "pruned_pairs": self._window.pruned,
                "given_up_pairs": self._window.given_up,
                "given_up_histories": self._window.given_up_histories,
                "parameters": self.parameters.to_json(),
                "moves": [move._asdict() for move in self.moves],
            }

    def anomaly_json(self, anomaly: Anomaly) -> dict[str, Any]:
        """An anomaly in JSON types."""
        bad = anomaly.bad[0] if anomaly.bad else None
        return {
            "rule": _name_json(anomaly.rule),
            "score": anomaly.score,
            "satisfied": anomaly.rule.satisfied,
            "failed": anomaly.rule.failed,
            "object": self.numbering.original(bad.object) if bad else None,
            "sites": [str(site) for site in anomaly.sites],
            "events": _events_json(bad),
            "message": anomaly.message,
            "changed": anomaly.changed,
            "contexts": anomaly.rule.contexts,
            "bad": [self._scene_json(scene) for scene in anomaly.bad],
            "good": self._scene_json(anomaly.good) if anomaly.good else None,
            "others": [_name_json(rule) for rule in anomaly.others],
        }

    def _scene_json(self, scene: ExampleScenario) -> dict[str, Any]:
        return {
            "object": self.numbering.original(scene.object),
            "count": scene.count,
            "at_end": scene.at_end,
            "events": _events_json(scene),
        }

    # -- other runs, other processes --------------------------------------------------------------

    def shared_pairs(self) -> Iterator[SharedPair]:
        """What this learner has counted itself, without what it was told to `remember`. Pairs that died are not in it.

        The rules are those of its templates, in their order.
        """
        with self._lock:
            words, sites, window, product = self.numbering.words, self.numbering.sites, self._window, self._product
            priors = self._earlier_runs.endings
            pairs = window.known()
        for first, second in pairs:
            with self._lock:
                pair = window.pair(first, second)
                prior = priors.get((first, second), {})
                broken = dict(self._other_breaches.get((first, second), {}))
            if pair is None:
                continue
            for site, rules in _broken_at(pair, product):
                broken[site] = broken.get(site, 0) | rules
            counted = [(each.kind, each.count - prior.get(each.kind, 0)) for each in pair.endings]
            if not any(number for _, number in counted):
                continue
            yield SharedPair(
                words[first],
                words[second],
                tuple((product.satisfied[kind], product.letters[kind], number) for kind, number in counted if number),
                tuple((sites[site], rules) for site, rules in pair.contexts),
                tuple((sites[site], rules) for site, rules in broken.items()),
            )

    def remember(self, known: Iterable[SharedPair]) -> None:
        """Add what other runs have counted, with the same templates in the same order."""
        with self._lock:
            for each in known:
                pair, endings, contexts = self._add(each)
                if self._window.counts(*pair) is None:
                    continue  # there are too many pairs, or it is dead: nothing was added
                prior = self._earlier_runs.endings.setdefault(pair, {})
                places = self._earlier_runs.places.setdefault(pair, {})
                for site, rules in contexts:
                    places[site] = places.get(site, 0) | rules
                    self._earlier_runs.files.add(self.numbering.sites[site].file)
                for kind, number in endings:
                    prior[kind] = prior.get(kind, 0) + number
                self._add_breaches(self._earlier_runs.broken, pair, each)

    def _add_breaches(
        self, found: dict[tuple[int, int], dict[int, int]], pair: tuple[int, int], known: SharedPair
    ) -> None:
        """Where rules of a pair were broken."""
        known = known if self.numbering.word(*known.first) == pair[0] else known.turned()
        broken = found.setdefault(pair, {})
        for place, rules in known.breaches:
            site = self.numbering.site(*place)
            broken[site] = broken.get(site, 0) | rules

    def _add(self, known: SharedPair) -> tuple[tuple[int, int], list[tuple[int, int]], list[tuple[int, int]]]:
        first, second = self.numbering.word(*known.first), self.numbering.word(*known.second)
        known = known if first < second else known.turned()
        try:
            endings = [(self._kinds[satisfied, letters], number) for satisfied, letters, number in known.endings]
        except KeyError:
            raise LawfulError("store-unreadable", f"the counts of {known.first.label} cannot be right") from None
        places = [(self.numbering.site(*site), rules) for site, rules in known.contexts]
        pair = (min(first, second), max(first, second))
        self._window.remember(*pair, endings, places)
        return pair, endings, places

    def shared_histories(self) -> Iterator[SharedHistory]:
        """The lives that this learner has seen itself, as far as they are over."""
        with self._lock:
            words, sites, histories = self.numbering.words, self.numbering.sites, self._histories
        for history in histories:
            names = [code >> 1 for code in history.order if not code & 1]
            numbers = {name: number for number, name in enumerate(names)}
            yield SharedHistory(
                tuple(words[name] for name in names),
                tuple(2 * numbers[code >> 1] + (code & 1) for code in history.order),
                history.count,
                tuple(
                    (tuple(sites[site] for site in example.sites), example.count, example.object)
                    for example in history.examples
                ),
            )

    def remember_histories(self, known: Iterable[SharedHistory]) -> None:
        """Add lives of other runs: they count, but what is wrong with them is not told."""
        with self._lock:
            for each in known:
                self._past_histories.append(self._history(each))
                self._earlier_runs.files.update(site.file for places, _, _ in each.places for site in places)

    def _history(self, known: SharedHistory) -> History:
        words = [self.numbering.word(*word) for word in known.words]
        try:
            order = tuple(2 * words[code >> 1] + (code & 1) for code in known.order)
        except IndexError:
            raise LawfulError("store-unreadable", "a life has an event that it does not name") from None
        examples = (
            HistoryExample(id_, 0, count, tuple(self.numbering.site(*site) for site in places))
            for places, count, id_ in known.places
            if len(places) == len(order)
        )
        return History(order, known.count, tuple(examples))

    def novelty(self) -> dict[Word, bool]:
        """Of the events that earlier runs had, too: did something happen to their objects that never did before?

        That is another way of life, or a scenario that ended in another way.
        """
        with self._lock:
            past = {history.order for history in self._past_histories}
            known = {code >> 1 for order in past for code in order}.union(*self._earlier_runs.endings)
            new: set[int] = set()
            met: set[int] = set()
            for history in self._histories:
                names = {code >> 1 for code in history.order}
                met |= names
                if history.order not in past:
                    new |= names
            for (first, second), prior in self._earlier_runs.endings.items():
                pair = self._window.pair(first, second)
                if pair is not None and any(each.kind not in prior for each in pair.endings):
                    new |= {first, second}
            return {self.numbering.words[name]: name in new for name in met & known}

    def remember_novelty(self, known: Mapping[Word, tuple[int, int]]) -> None:
        """Add how many runs had an event as others before them did, and in how many of these something was new."""
        with self._lock:
            self._earlier_runs.unstable.update(
                self.numbering.word(*word) for word, (runs, news) in known.items() if news and news >= UNSTABLE * runs
            )

    def report_record(self) -> ReportRecord | None:
        """What this run tells, for later ones, if it has been told of earlier ones."""
        if self.reported_before is None:
            return None
        found = self.anomalies()
        histories = [*self._histories, *self._other_histories]
        places = {site for history in histories for example in history.examples for site in example.sites}
        return self.reported_before.report_record(
            found, found.known, {self.numbering.sites[site].file for site in places}
        )

    def snapshot(self) -> dict[str, Any]:
        """What another process has to know of this one, in JSON types."""
        with self._lock:
            return {
                "templates": list(self._parameters.templates),
                "events": self.events,
                "passed": dict(self.numbering.passed),
                "known": [_plain(known) for known in self.shared_pairs()],
                "histories": [_plain(known) for known in self.shared_histories()],
                "anomalies": [_plain(anomaly) for anomaly in self._in_window()[:MOST_HANDED_ON]],
            }

    def merge(self, snapshot: Mapping[str, Any]) -> bool:
        """Add what another process has counted, and the anomalies it found. Not if it had other templates."""
        with self._lock:
            if list(snapshot["templates"]) != list(self._parameters.templates):
                return False
            if self._kept_at != self._window.events:
                # The counts of others have failures in them too, which make looser rules the best ones: what is found
                # now would fall silent.
                self._kept_at = self._window.events
                for anomaly in anomalies.find(self.view(), self._survey(prune=False)):
                    _merge_anomaly(self._foreign, anomaly)
            for each in snapshot["known"]:
                known = msgspec.convert(each, SharedPair)
                self._add_breaches(self._other_breaches, self._add(known)[0], known)
            self._other_histories += (
                self._history(msgspec.convert(each, SharedHistory)) for each in snapshot["histories"]
            )
            for found in snapshot["anomalies"]:
                _merge_anomaly(self._foreign, msgspec.convert(found, Anomaly))
            self._past_events += snapshot["events"]
            for reason, number in snapshot["passed"].items():
                self.numbering.passed[reason] = self.numbering.passed.get(reason, 0) + number
            self._ended_at = -1
            return True


def rule_json(rule: Rule) -> dict[str, Any]:
    """A rule in JSON types."""
    return {
        "a": rule.a.label,
        "b": rule.b.label,
        "pattern": rule.pattern,
        "satisfied": rule.satisfied,
        "failed": rule.failed,
        "contexts": rule.contexts,
        "state": rule.state.name.lower(),
        **_life_json(rule),
    }


def _life_json(rule: Rule) -> dict[str, Any]:
    """What only rules about whole lives have."""
    return {"whole_history": True, "alternatives": [word.label for word in rule.more]} if rule.whole_history else {}


def _broken_at(pair: Pair, product: Product) -> Iterator[tuple[int, int]]:
    """Places, and the rules that were broken by scenarios which began there, as far as examples tell."""
    every = (1 << len(product.size)) - 1
    for ending in pair.endings:
        for example in ending.examples:
            yield example.site, every & ~product.satisfied[ending.kind]


def _rank(one: int, other: int) -> int:
    """A number by which pairs are sorted, first by the lesser one. One number takes less memory than two in a tuple."""
    return one << 32 | other if one < other else other << 32 | one


def _kinds(product: Product) -> dict[tuple[int, int], int]:
    """The kinds of endings, by the rules that are satisfied and the letters that occurred."""
    both = zip(product.satisfied, product.letters, strict=True)
    return {signature: kind for kind, signature in enumerate(both)}


def _name_json(rule: Rule) -> dict[str, Any]:
    return {"a": rule.a.label, "b": rule.b.label, "pattern": rule.pattern, "text": str(rule), **_life_json(rule)}


def _events_json(scene: ExampleScenario | None) -> list[dict[str, Any]]:
    return [{"name": name, "file": site.file, "line": site.line} for name, site in scene.events] if scene else []


def _merge_anomaly(found: dict[tuple[str, str, str], Anomaly], other: Anomaly) -> None:
    """Add an anomaly to others: one for each rule, with the failures of all processes."""
    key = _key(other.rule)
    known = found.get(key)
    if known is None:
        found[key] = other
        return
    seen = {scene.events for scene in known.bad}
    bad = (*known.bad, *(scene for scene in other.bad if scene.events not in seen))
    found[key] = known._replace(
        score=max(known.score, other.score),
        bad=bad[: max(MOST_SCENES, len(known.bad))],
        good=known.good or other.good,
    )


def _key(rule: Rule) -> tuple[str, str, str]:
    return rule.a.label, rule.b.label, rule.pattern


def _plain(value: object) -> object:
    return msgspec.to_builtins(value)


def _window(parameters: Parameters, product: Product) -> Window:
    if parameters.core == "python":
        return windows.Window(product, parameters.window, parameters.most_pairs)
    if parameters.core == "native" and core.native is None:
        raise LawfulError("core-missing", f"there is no C core: {core.refusal or 'it cannot learn'}")
    return windows.make(product, parameters.window, parameters.most_pairs)
