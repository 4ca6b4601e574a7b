"""Rules about whole lives of objects: how they end, and what comes first; where they are broken.

Two of the paper's templates are tried, with whole lives in place of a window, and with alternatives:

- `a*b+`: who meets `a`, meets one of `b` after it. `a` is an event, or whatever happens to objects of one class; `b`
  are the events with which lives of objects that meet `a` mostly end, if they come up: close, exit or terminate.
- `a+b*`: before `b` comes `a`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Hashable, Iterable, Iterator, Mapping, Sequence
from math import log10, sqrt
from typing import NamedTuple

from lawful.learning import exemptions, history_patterns, vocabulary, wording
from lawful.learning.history_patterns import LEAST_ENDED, MOSTLY, IndexedHistory, final_events, number_of, owner
from lawful.learning.learner_view import EarlierRuns, Judge
from lawful.learning.ranking import BAR, CHANGE, ELSEWHERE, RAISED, adjusted_by_earlier_runs, bound
from lawful.learning.violation_kinds import Breach
from lawful.learning.window_protocol import (
    ANY,
    BEGINS,
    ENDS,
    MOST_HISTORY_EXAMPLES,
    MOST_TRAIL,
    Anomaly,
    ExampleScenario,
    History,
    HistoryExample,
    Rule,
    RuleState,
    Site,
    Word,
)

MOST_SCENES = 8  # of one anomaly
MOST_OTHERS = 8  # rules that are broken for the same cause

_OTHER_FILE = 0.92  # another file may have other customs
_SAME_PLACE = 0.7  # what is done at one place sometimes may well depend on the data
_LOOP = 0.7  # of a place, for each power of ten of uses there
_OMISSION_BAR = 0.3
"""The bar for what looks like a slip by more than its counts, see `HistoryRules._is_rare_omission`."""
_OMISSION_SHARE = 3  # of lives that are ended, for each that is not


class BrokenHistoryRule(NamedTuple):
    """A broken rule, one way in which it is broken, and what that is worth."""

    key: int | str  # an event, or a class
    others: tuple[int, ...]  # the ends, the most frequent one first; or what comes before
    breach: Breach  # of `a*b+`: there is no `b`, or `a` comes after the last one; of `a+b*`: `a` does not come first
    kept: int
    broken: int
    places: int  # where lives that keep the rule met the key first
    bad: tuple[tuple[IndexedHistory, HistoryExample], ...]
    good: tuple[IndexedHistory, ...]
    score: float
    changed: bool = False  # all earlier runs kept it at this very place
    old: bool = False  # they broke it alike
    rare_omission: bool = False  # it looks like a slip, however few lives there are


class HistoryRules:
    """What lives say. Histories of earlier runs count, but are not shown."""

    def __init__(
        self,
        histories: Iterable[History],
        words: Sequence[Word],
        sites: Sequence[Site],
        judge: Judge,
        raising: Mapping[tuple[int, int], Sequence[int]],
        doubt: float = 0.0,
        earlier_runs: EarlierRuns | None = None,
    ) -> None:
        self._earlier_runs = earlier_runs or EarlierRuns()
        self._words = words
        self._sites = sites
        self._judge = judge
        self._raising = raising
        self._doubt = doubt  # what a rule is worth less of which no name says that something begins or ends
        past = {history.order: history for history in history_patterns.merged(self._earlier_runs.histories)}
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
        for key, pool in self._pools():
            if isinstance(key, str):
                continue
            if ends := self._ends(key, pool):
                rule = self._rule_of_ends(key, ends, pool)
                if rule.state is RuleState.ENFORCING:
                    yield rule

    def _pools(self) -> Iterator[tuple[int | str, list[IndexedHistory]]]:
        yield from self._by_event.items()
        yield from self._by_class.items()

    def _ends(self, key: int | str, pool: list[IndexedHistory]) -> tuple[int, ...]:
        """With what lives end, the most frequent first."""
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
                # What happens to be done last with objects of a class is no rule of it.
                or (isinstance(key, int) and min(number, len(places[name])) >= LEAST_ENDED)
            )
            and vocabulary.is_call(self._words[name])
            and not vocabulary.makes(self._words[name])
            and not vocabulary.asks(self._words[name])
        ]
        return tuple(found)

    def _company(self, key: int, pool: list[IndexedHistory]) -> Iterator[int]:
        """Events that mostly come before this one, as far as a rule about that can be broken and told."""
        before: Counter[int] = Counter()
        total = 0
        for history in pool:
            total += history.count
            start = history.first[key]
            for name, position in history.first.items():
                if position < start:
                    before[name] += history.count
        # Most come before it by chance: what no number of places could enforce is not looked at, unless lives may be
        # excused.
        excusing = bool(self._earlier_runs.files) or vocabulary.ends(self._words[key])
        usual: dict[int, bool] = {}  # by number
        for name, number in before.items():
            word = self._words[name]
            if number not in usual:
                enforced = self._judge(number, total, number) is RuleState.ENFORCING
                usual[number] = excusing or 2 * number > total or enforced
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
        yield from self._case(key, ends, Breach.MISSING, ended, missing, exempt)
        # That nothing comes after the end can be a rule where many lives have no end.
        if named and named != ends:
            good, missing, after = self._split(key, named, pool)
            ends = named
        exempt = {history.order for history in after if exemptions.may_go_on(history, ends, self._words)}
        yield from self._case(key, ends, Breach.LAST, good, after, exempt)

    def _section(self, key: int, ends: tuple[int, ...], pool: list[IndexedHistory]) -> Iterator[BrokenHistoryRule]:
        """What begins by its name is ended, where the life goes on: `begin` and then `commit` or `rollback`.

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
        yield from self._case(key, closing, Breach.MISSING, good, bad, exempt)

    def _split(
        self, key: int | str, ends: Iterable[int], pool: list[IndexedHistory]
    ) -> tuple[list[IndexedHistory], list[IndexedHistory], list[IndexedHistory]]:
        """Lives that keep `a*b+`, those without an end, and those that go on after it."""
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

    def _rule_of_ends(self, key: int, ends: tuple[int, ...], pool: list[IndexedHistory]) -> Rule:
        good, missing, after = self._split(key, ends, pool)
        return self._rule(
            key, ends, ENDS, number_of(good), number_of(missing) + number_of(after), len(self._places(key, good))
        )

    def _beginning(self, key: int, other: int, pool: list[IndexedHistory]) -> Iterator[BrokenHistoryRule]:
        good = [history for history in pool if history.first.get(other, len(history.order)) < history.first[key]]
        bad = [history for history in pool if history.first.get(other, len(history.order)) > history.first[key]]
        if vocabulary.enters(self._words[other]):  # who ends it otherwise need not use `with`
            bad = [history for history in bad if not any(vocabulary.ends(self._words[name]) for name in history.names)]
        needless = vocabulary.needless(self._words[other], self._words[key])
        exempt = {history.order for history in bad if needless and other not in history.names}
        yield from self._case(key, (other,), Breach.FIRST, good, bad, exempt)

    def _places(self, key: int | str, histories: Iterable[IndexedHistory]) -> set[int]:
        return {history.place(key, example) for history in histories for example in (*history.examples, *history.past)}

    # -- what is broken ---------------------------------------------------------------------------

    def _case(
        self,
        key: int | str,
        others: tuple[int, ...],
        breach: Breach,
        good: list[IndexedHistory],
        bad: list[IndexedHistory],
        exempt: Container[tuple[int, ...]] = (),
    ) -> Iterator[BrokenHistoryRule]:
        """Those that are excused count only if that is new against earlier runs."""
        if changed := self._changed(key, good, bad):
            yield self._change(key, others, breach, good, bad, changed)
        if not (news := self._news(key, others, good, bad)):
            bad = [history for history in bad if history.order not in exempt]
            news = self._news(key, others, good, bad)
        examples = [(history, example) for history in bad for example in history.examples]
        kept, broken = number_of(good), number_of(bad)
        if news is False:  # earlier runs that went the same ways are no further witnesses
            kept, broken = (sum(history.count - history.before for history in histories) for histories in (good, bad))
        good_places = self._places(key, good)
        bad_places = {history.place(key, example) for history, example in examples}
        fresh = bad_places - good_places
        rare_omission = (news is False or not self._earlier_runs.files) and self._is_rare_omission(
            key, others, breach, examples, good_places
        )
        few = rare_omission and kept >= _OMISSION_SHARE * broken and len(good_places) >= LEAST_ENDED
        if not examples or not (few or self._enforced(kept, broken, len(good_places), len(fresh))):
            return
        # Someone wrote each place; that a loop went through it a thousand times proves little more.
        places = len(good_places) * (1 + _LOOP * log10(max(1.0, kept / len(good_places))))
        against = len(fresh) + 0.3 * (len(bad_places) - len(fresh))
        score = sqrt(bound(kept, kept + broken) * bound(places, places + against))
        score /= len(bad_places) ** (1 / 3)  # slips are rare
        if not news:
            files = {self._sites[site].file for site in good_places}
            score *= 1.0 if fresh else _SAME_PLACE
            score *= 1.0 if any(self._sites[site].file in files for site in bad_places) else _OTHER_FILE
            score *= ELSEWHERE if self._elsewhere(key, others, breach, good) else 1.0
        unfinished = breach is Breach.MISSING or (breach is Breach.FIRST and vocabulary.enters(self._words[others[0]]))
        if unfinished and all(self._raised(history, example) for history, example in examples):
            score *= RAISED
        if not self._speaks(others, breach) and not news:
            # That what is made is used somehow is even less of a rule.
            made = isinstance(key, int) and vocabulary.makes(self._words[key])
            score *= (1 - self._doubt) ** (2 if made or breach is Breach.LAST else 1)
        score = adjusted_by_earlier_runs(score, news)
        examples.sort(key=lambda each: each[0].place(key, each[1]) in good_places)  # the surprising ones first
        shown, kept_at = tuple(examples), len(good_places)
        yield BrokenHistoryRule(
            key,
            others,
            breach,
            kept,
            broken,
            kept_at,
            shown,
            tuple(good),
            score,
            old=news is False,
            rare_omission=rare_omission,
        )

    def _is_rare_omission(
        self,
        key: int | str,
        others: tuple[int, ...],
        breach: Breach,
        examples: list[tuple[IndexedHistory, HistoryExample]],
        good_places: set[int],
    ) -> bool:
        """Is it what slips look like? Then a few lives are enough: three threads that are joined, and one that is not.

        By its name something begins, and its end is missing, at one place only, where it is never ended; it is at
        others. Nothing failed there. Where earlier runs are known, they tell better what is a slip.
        """
        if breach is not Breach.MISSING or not vocabulary.ends_life(self._words[others[0]]):
            return False
        if isinstance(key, int) and not (vocabulary.makes(self._words[key]) or vocabulary.begins(self._words[key])):
            return False
        places = {history.place(key, example) for history, example in examples}
        if len(places) != 1 or not places.isdisjoint(good_places):
            return False
        return not all(self._raised(history, example) for history, example in examples)

    def _news(
        self, key: int | str, others: tuple[int, ...], good: list[IndexedHistory], bad: list[IndexedHistory]
    ) -> bool | None:
        """Is it new that the rule is broken in these ways?"""
        place = next((history.place(key, example) for history in bad for example in history.examples), None)
        if place is None:
            return None
        before, alike = sum(history.before for history in good), sum(history.before for history in bad)
        events = others if isinstance(key, str) else (key, *others)
        return self._earlier_runs.news(self._sites[place].file, events, before, alike)

    def _elsewhere(self, key: int | str, others: tuple[int, ...], breach: Breach, good: list[IndexedHistory]) -> bool:
        """Is the second event always at one place, and the first one not?"""
        keys = self._places(key, good)
        theirs = {
            each.sites[history.at[name] + (breach is not Breach.FIRST)]
            for history in good
            for each in (*history.examples, *history.past)
            for name in others
            if name in history.at
        }
        firsts, seconds = (theirs, keys) if breach is Breach.FIRST else (keys, theirs)
        return len(seconds) == 1 < len(firsts)

    def _changed(
        self, key: int | str, good: list[IndexedHistory], bad: list[IndexedHistory]
    ) -> list[tuple[IndexedHistory, HistoryExample]]:
        """Lives from places where all those of earlier runs kept the rule, and none of this one."""
        before = {history.place(key, example) for history in good for example in history.past}
        if not before or any(len(history.examples) >= MOST_HISTORY_EXAMPLES for history in good):
            return []  # or not all places are known
        before -= {history.place(key, example) for history in bad for example in history.past}
        before -= {history.place(key, example) for history in good for example in history.examples}
        return [(history, each) for history in bad for each in history.examples if history.place(key, each) in before]

    def _change(
        self,
        key: int | str,
        others: tuple[int, ...],
        breach: Breach,
        good: list[IndexedHistory],
        bad: list[IndexedHistory],
        changed: list[tuple[IndexedHistory, HistoryExample]],
    ) -> BrokenHistoryRule:
        kept, broken = sum(history.before for history in good), sum(history.before for history in bad)
        share = kept / max(1, kept + broken)
        score = CHANGE * (0.5 + 0.5 * share) * (1.0 if self._speaks(others, breach) else sqrt(1 - self._doubt))
        kept, broken = number_of(good), number_of(bad)
        return BrokenHistoryRule(
            key, others, breach, kept, broken, len(self._places(key, good)), tuple(changed), tuple(good), score, True
        )

    def _enforced(self, kept: int, broken: int, places: int, fresh: int) -> bool:
        """By the number of lives; or, if most keep it, by that of places: most lives may come by one of them."""
        if self._judge(kept, kept + broken, places) is RuleState.ENFORCING:
            return True
        return kept > broken and self._judge(places, places + fresh, places) is RuleState.ENFORCING

    def _speaks(self, others: tuple[int, ...], breach: Breach) -> bool:
        """Does a name say that something begins, or ends? Of several ends that of the most frequent one."""
        word = self._words[others[0]]
        return vocabulary.begins(word) if breach is Breach.FIRST else vocabulary.ends(word)

    def _raised(self, history: IndexedHistory, example: HistoryExample) -> bool:
        return example.object in self._raising.get((history.last_name, history.last_place(example)), ())

    def groups(self, cases: Iterable[BrokenHistoryRule]) -> list[list[BrokenHistoryRule]]:
        """Cases that seem to have one cause are put together: they are about lives that were told of before.

        What is left of a case without those lives stands for itself.
        """
        groups: list[list[BrokenHistoryRule]] = []
        told: dict[Hashable, list[BrokenHistoryRule]] = {}
        for case in cases:
            known = [group for _, each in case.bad if (group := told.get(_history(each))) is not None]
            left = tuple((history, each) for history, each in case.bad if _history(each) not in told)
            if known:
                known[0].append(case)
            if not left or case.score < (_OMISSION_BAR if case.rare_omission else BAR):
                continue
            groups.append(group := [case._replace(bad=left)])
            told.update((_history(each), group) for _, each in left)
        return groups

    # -- what is shown ----------------------------------------------------------------------------

    def anomalies(self) -> list[Anomaly]:
        """What is worth a look, the best first."""
        return [self._anomaly(group) for group in self.groups(self.cases())]

    def _anomaly(self, cases: list[BrokenHistoryRule]) -> Anomaly:
        best = cases[0]
        scenes: dict[int, ExampleScenario] = {}
        for history, example in best.bad:
            if best.breach is Breach.FIRST:
                place = history.place(best.key, example)
                scene = self._scene(history, example)._replace(place=self._sites[place])
            else:
                place, scene = history.last_place(example), self._scene(history, example)
            scenes.setdefault(place, scene)
        rules = dict.fromkeys(self._rule_of(case) for case in cases)
        rule, *others = rules
        bad = tuple(scenes.values())[:MOST_SCENES]
        message = wording.of_history(rule, best.breach, best.kept, best.kept + best.broken, bad, best.changed)
        more = tuple(others[:MOST_OTHERS])
        return Anomaly(rule, best.score, bad, self._good(best), message, more, best.changed, best.old)

    def _rule_of(self, case: BrokenHistoryRule) -> Rule:
        pattern = BEGINS if case.breach is Breach.FIRST else ENDS
        rule = self._rule(case.key, case.others, pattern, case.kept, case.broken, case.places)
        return rule._replace(state=RuleState.ENFORCING)

    def _rule(
        self, key: int | str, others: tuple[int, ...], pattern: str, satisfied: int, failed: int, places: int
    ) -> Rule:
        mine = self._words[key] if isinstance(key, int) else Word(ANY, key)
        first, *more = (self._words[name] for name in others)
        a, b = (mine, first) if pattern == ENDS else (first, mine)
        state = self._judge(satisfied, satisfied + failed, places)
        return Rule(a, b, pattern, satisfied, failed, places, state, tuple(more), True)

    def _scene(self, history: IndexedHistory, example: HistoryExample) -> ExampleScenario:
        """The first and the last events of a life."""
        events: list[tuple[int, int]] = []
        for position, code in enumerate(history.order):
            name = code >> 1
            site = example.sites[history.at[name] + (code & 1)]
            if not (code & 1 and history.order[position - 1] == code - 1 and events[-1] == (name, site)):
                events.append((name, site))
        if len(events) > MOST_TRAIL:
            events = events[: MOST_TRAIL // 2] + events[-(MOST_TRAIL - MOST_TRAIL // 2) :]
        shown = tuple((self._words[name].label, self._sites[site]) for name, site in events)
        return ExampleScenario(example.object, example.count, shown, False)

    def _good(self, case: BrokenHistoryRule) -> ExampleScenario | None:
        """The usual way to keep the rule, from the nearest place."""
        history, example = case.bad[0]
        bad = self._sites[history.place(case.key, example)]
        shown = [each for each in case.good if each.examples]
        if not shown:
            return None
        usual = max(shown, key=lambda each: each.count)

        def distance(each: HistoryExample) -> tuple[bool, int]:
            site = self._sites[usual.place(case.key, each)]
            return site.file != bad.file, abs((site.line or 0) - (bad.line or 0))

        return self._scene(usual, min(usual.examples, key=distance))


def _history(example: HistoryExample) -> Hashable:
    return example.object, example.seq  # in another trace the number may be that of another object
