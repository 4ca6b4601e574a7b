"""Rules about whole histories of objects: how they end, and what comes first; where they are broken.

Two of the paper's templates are tried, with whole histories in place of a window, and with alternatives:

- `a*b+`: who meets `a`, meets one of `b` after it. `a` is an event, or whatever happens to objects of one class; `b`
  are the events with which histories of objects that meet `a` mostly end, if they come up: close, exit or terminate.
- `a+b*`: before `b` comes `a`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from lawful.learning import exemptions, history_anomalies, history_patterns, vocabulary
from lawful.learning.history_patterns import LEAST_ENDED, MOSTLY, IndexedHistory, final_events, number_of, owner
from lawful.learning.history_scores import BrokenHistoryRule, HistoryScores, TriedRule
from lawful.learning.learner_view import LearnerView
from lawful.learning.violation_kinds import Breach
from lawful.learning.window_protocol import ENDS, Anomaly, History, Rule, RuleState


class HistoryRules:
    """Tries rules on histories. Those of earlier runs count, but are not shown."""

    def __init__(self, histories: Iterable[History], view: LearnerView) -> None:
        self._view = view
        self._words = words = view.words
        self._scores = HistoryScores(view)
        past = {history.order: history for history in history_patterns.merged(view.past.histories)}
        self._histories = [IndexedHistory(history, past.pop(history.order, None)) for history in histories]
        self._histories += [IndexedHistory(History(history.order, 0, ()), history) for history in past.values()]
        self._final_events = final_events([(history.order, history.count) for history in self._histories], words)
        self._entering = frozenset(number for number, word in enumerate(words) if vocabulary.enters(word))
        self._by_event: dict[int, list[IndexedHistory]] = defaultdict(list)
        self._by_class: dict[str, list[IndexedHistory]] = defaultdict(list)
        for history in self._histories:
            for name in history.names:
                self._by_event[name].append(history)
            for each in {owner(words[name]) for name in history.names}:
                if each:
                    self._by_class[each].append(history)

    # -- rules ------------------------------------------------------------------------------------

    def cases(self) -> list[BrokenHistoryRule]:
        """All broken rules that are enforced, the best first."""
        found: list[BrokenHistoryRule] = []
        for key, pool in self._pools():
            ends = self._ends(key, pool)
            if ends:
                found += self._ending(key, ends, pool)
            if isinstance(key, int):
                found += self._section(key, ends, pool)
            if isinstance(key, int) and vocabulary.is_call(self._words[key]) and not vocabulary.makes(self._words[key]):
                for other in self._company(key, pool):
                    found += self._beginning(key, other, pool)
        found.sort(key=lambda case: (not case.changed, -case.score))
        return found

    def rules(self) -> Iterator[Rule]:
        """The enforced rules about events, broken or not."""
        for key, pool in self._by_event.items():
            if ends := self._ends(key, pool):
                good, missing, after = self._split(key, ends, pool)
                places = {history.place(key, each) for history in good for each in (*history.examples, *history.past)}
                kept, broken = number_of(good), number_of(missing) + number_of(after)
                if self._view.judge(kept, kept + broken, len(places)) is RuleState.ENFORCING:
                    counts = kept, broken, len(places)
                    yield history_anomalies.rule_of(key, ends, ENDS, counts, RuleState.ENFORCING, self._words)

    def anomalies(self) -> list[Anomaly]:
        """The anomalies to report, the best first."""
        groups = history_anomalies.groups(self.cases())
        return [history_anomalies.anomaly(group, self._view) for group in groups]

    def _pools(self) -> Iterator[tuple[int | str, list[IndexedHistory]]]:
        yield from self._by_event.items()
        yield from self._by_class.items()

    def _ends(self, key: int | str, pool: list[IndexedHistory]) -> tuple[int, ...]:
        """With what histories end, the most frequent first."""
        having: Counter[int] = Counter()
        ended: Counter[int] = Counter()
        places: dict[int, set[int]] = defaultdict(set)
        for history in pool:
            for name in history.names:
                having[name] += history.count
            ended[history.last_name] += history.count
            places[history.last_name].update(
                history.last_place(example) for example in (*history.examples, *history.past)
            )
        found = [
            name
            for name, number in ended.most_common()
            if name != key
            and number >= MOSTLY * having[name]
            and (
                vocabulary.ends(self._words[name])
                # The event that happens to come last for objects of a class need not be their end.
                or (isinstance(key, int) and min(number, len(places[name])) >= LEAST_ENDED)
            )
            and vocabulary.is_call(self._words[name])
            and not vocabulary.makes(self._words[name])
            and not vocabulary.asks(self._words[name])
        ]
        return tuple(found)

    def _company(self, key: int, pool: list[IndexedHistory]) -> Iterator[int]:
        """Events that mostly come before this one, if a rule about that can be broken and reported."""
        before: Counter[int] = Counter()
        total = 0
        for history in pool:
            total += history.count
            start = history.first[key]
            for name, position in history.first.items():
                if position < start:
                    before[name] += history.count
        # Most come before it by chance. Skip what no number of places could enforce, unless histories may be exempt.
        exempting = bool(self._view.past.files) or vocabulary.ends(self._words[key])
        usual: dict[int, bool] = {}  # by number
        for name, number in before.items():
            word = self._words[name]
            if number not in usual:
                enforced = self._view.judge(number, total, number) is RuleState.ENFORCING
                usual[number] = exempting or 2 * number > total or enforced
            if (
                number < total
                and (usual[number] or name in self._entering)
                and vocabulary.is_call(word)
                and vocabulary.leads(word, self._words[key])
                and name not in self._final_events
            ):
                yield name

    def _ending(self, key: int | str, ends: tuple[int, ...], pool: list[IndexedHistory]) -> Iterator[BrokenHistoryRule]:
        if isinstance(key, int) and vocabulary.enters(self._words[key]):
            ends = tuple(
                name for name in ends if not vocabulary.exits(self._words[name])
            )  # it is left, by the language
            if not ends:
                return
        good, missing, after = self._split(key, ends, pool)
        otherwise = self._final_events - {key}  # one that is ended in another way misses nothing
        missing = [history for history in missing if otherwise.isdisjoint(history.names)]
        ended = good + after
        named = tuple(name for name in ends if vocabulary.ends(self._words[name]))
        surely = [history for history in ended if not history.names.isdisjoint(named)]
        begins = exemptions.beginnings(surely, self._words)
        sections = exemptions.of_sections(surely, named)
        exempt = {
            history.order
            for history in missing
            if exemptions.needs_no_end(history, ends, begins, sections, self._words)
        }
        yield from self._scores.broken(TriedRule(key, ends, Breach.MISSING, ended, missing), exempt)
        # That nothing comes after the end can be a rule where many histories have no end.
        if named and named != ends:
            good, missing, after = self._split(key, named, pool)
            ends = named
        exempt = {history.order for history in after if exemptions.may_go_on(history, ends, self._words)}
        yield from self._scores.broken(TriedRule(key, ends, Breach.LAST, good, after), exempt)

    def _section(self, key: int, ends: tuple[int, ...], pool: list[IndexedHistory]) -> Iterator[BrokenHistoryRule]:
        """What begins by its name is ended, where the history goes on: `begin` and then `commit` or `rollback`.

        These ends may come again, and something after them: only that there is none can be wrong.
        """
        closing = history_patterns.closing(key, pool, self._final_events.union(ends), self._words)
        if not closing:
            return
        good, missing, after = self._split(key, closing, pool)
        bad = missing + after
        exempt = {
            history.order for history in bad if any(vocabulary.exits(self._words[name]) for name in history.names)
        }
        yield from self._scores.broken(TriedRule(key, closing, Breach.MISSING, good, bad), exempt)

    def _split(
        self, key: int | str, ends: Iterable[int], pool: list[IndexedHistory]
    ) -> tuple[list[IndexedHistory], list[IndexedHistory], list[IndexedHistory]]:
        """Histories that keep `a*b+`, those without an end, and those that go on after it."""
        good: list[IndexedHistory] = []
        missing: list[IndexedHistory] = []
        after: list[IndexedHistory] = []
        for history in pool:
            last = max((history.last[name] for name in ends if name in history.last), default=-1)
            if last < 0:
                missing.append(history)
            elif last > (history.last[key] if isinstance(key, int) else len(history.order) - 2):
                good.append(history)
            else:
                after.append(history)
        return good, missing, after

    def _beginning(self, key: int, other: int, pool: list[IndexedHistory]) -> Iterator[BrokenHistoryRule]:
        good = [history for history in pool if history.first.get(other, len(history.order)) < history.first[key]]
        bad = [history for history in pool if history.first.get(other, len(history.order)) > history.first[key]]
        if vocabulary.enters(self._words[other]):  # who ends it otherwise need not use `with`
            bad = [history for history in bad if not any(vocabulary.ends(self._words[name]) for name in history.names)]
        needless = vocabulary.needless(self._words[other], self._words[key])
        exempt = {history.order for history in bad if needless and other not in history.names}
        yield from self._scores.broken(TriedRule(key, (other,), Breach.FIRST, good, bad), exempt)
