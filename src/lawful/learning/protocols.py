"""Rules about whole lives of objects: how they end, and what comes first; where they are broken.

Two of the paper's templates are tried, with whole lives in place of a window, and with alternatives:

- `a*b+`: who meets `a`, meets one of `b` after it. `a` is an event, or whatever happens to objects of one class; `b`
  are the events with which lives of objects that meet `a` mostly end, if they come up: close, exit or terminate.
- `a+b*`: before `b` comes `a`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from math import log10, sqrt
from typing import NamedTuple

from lawful.learning import vocabulary, wording
from lawful.learning.lifeways import MOSTLY, WayOfLife, finals, number_of, owner
from lawful.learning.model import (
    ANY,
    BEGINS,
    ENDS,
    MOST_LIFE_EXAMPLES,
    MOST_TRAIL,
    Anomaly,
    Life,
    LifeExample,
    Rule,
    Scene,
    Site,
    State,
    Word,
)
from lawful.learning.ranking import BAR, CHANGE, bound, heard
from lawful.learning.view import Judge, Past
from lawful.learning.ways import Breach

MOST_SCENES = 8  # of one anomaly
MOST_OTHERS = 8  # rules that are broken for the same cause

_LEAST_ENDED = 2  # lives that end with an event, and places where they do so, if its name does not say that it ends
_OTHER_FILE = 0.92  # another file may have other customs
_SAME_PLACE = 0.7  # what is done at one place sometimes may well depend on the data
_RAISED = 0.5  # what failed need not be finished
_LOOP = 0.7  # of a place, for each power of ten of uses there


class Case(NamedTuple):
    """A broken rule, one way in which it is broken, and what that is worth."""

    key: int | str  # an event, or a class
    others: tuple[int, ...]  # the ends, the most frequent one first; or what comes before
    breach: Breach  # of `a*b+`: there is no `b`, or `a` comes after the last one; of `a+b*`: `a` does not come first
    kept: int
    broken: int
    places: int  # where lives that keep the rule met the key first
    bad: tuple[tuple[WayOfLife, LifeExample], ...]
    good: tuple[WayOfLife, ...]
    score: float
    changed: bool = False  # earlier runs kept it at this very place


class Study:
    """What lives say. `prior` are those of earlier runs, which count, but are not shown."""

    def __init__(
        self,
        lives: Iterable[Life],
        words: Sequence[Word],
        sites: Sequence[Site],
        judge: Judge,
        raising: Mapping[tuple[int, int], Sequence[int]],
        doubt: float = 0.0,
        prior: Iterable[Life] = (),
        past_runs: Past | None = None,
    ) -> None:
        self._past_runs = past_runs or Past()
        self._words = words
        self._sites = sites
        self._judge = judge
        self._raising = raising
        self._doubt = doubt  # what a rule is worth less of which no name says that something begins or ends
        past = {life.order: life for life in prior}
        self._ways = [WayOfLife(life, past.pop(life.order, None)) for life in lives]
        self._ways += [WayOfLife(Life(life.order, 0, ()), life) for life in past.values()]
        self._finals = finals([(way.order, way.count) for way in self._ways], words)
        self._by_event: dict[int, list[WayOfLife]] = defaultdict(list)
        self._by_class: dict[str, list[WayOfLife]] = defaultdict(list)
        for way in self._ways:
            for name in way.names:
                self._by_event[name].append(way)
            for each in {owner(words[name]) for name in way.names}:
                if each:
                    self._by_class[each].append(way)

    # -- rules ------------------------------------------------------------------------------------

    def cases(self) -> list[Case]:
        """All broken rules that are enforced, the best first."""
        found: list[Case] = []
        for key, pool in self._pools():
            ends = self._ends(key, pool)
            if ends:
                found += self._ending(key, ends, pool)
            if isinstance(key, int) and vocabulary.is_call(self._words[key]) and not vocabulary.makes(self._words[key]):
                for other in self._company(key, pool):
                    found += self._beginning(key, other, pool)
        found.sort(key=lambda case: -case.score)
        return found

    def rules(self) -> Iterator[Rule]:
        """The enforced rules about events, broken or not."""
        for key, pool in self._pools():
            if isinstance(key, str):
                continue
            if ends := self._ends(key, pool):
                rule = self._rule_of_ends(key, ends, pool)
                if rule.state is State.ENFORCING:
                    yield rule

    def _pools(self) -> Iterator[tuple[int | str, list[WayOfLife]]]:
        yield from self._by_event.items()
        yield from self._by_class.items()

    def _ends(self, key: int | str, pool: list[WayOfLife]) -> tuple[int, ...]:
        """With what lives end, the most frequent first."""
        having: Counter[int] = Counter()
        ended: Counter[int] = Counter()
        places: dict[int, set[int]] = defaultdict(set)
        for way in pool:
            for name in way.names:
                having[name] += way.count
            ended[way.last_name] += way.count
            places[way.last_name].update(way.last_place(example) for example in (*way.examples, *way.past))
        found = [
            name
            for name, number in ended.most_common()
            if name != key
            and number >= MOSTLY * having[name]
            and (
                vocabulary.ends(self._words[name])
                # What happens to be done last with objects of a class is no rule of it.
                or (isinstance(key, int) and min(number, len(places[name])) >= _LEAST_ENDED)
            )
            and vocabulary.is_call(self._words[name])
            and not vocabulary.makes(self._words[name])
        ]
        return tuple(found)

    def _company(self, key: int, pool: list[WayOfLife]) -> Iterator[int]:
        """Events that mostly come before this one."""
        before: Counter[int] = Counter()
        total = 0
        for way in pool:
            total += way.count
            start = way.first[key]
            for name, position in way.first.items():
                if position < start:
                    before[name] += way.count
        for name, number in before.items():
            word = self._words[name]
            if (
                number < total
                and vocabulary.is_call(word)
                and vocabulary.leads(word, self._words[key])
                and name not in self._finals
            ):
                yield name

    def _ending(self, key: int | str, ends: tuple[int, ...], pool: list[WayOfLife]) -> Iterator[Case]:
        if isinstance(key, int) and vocabulary.enters(self._words[key]):
            ends = tuple(
                name for name in ends if not vocabulary.exits(self._words[name])
            )  # it is left, by the language
            if not ends:
                return
        good, missing, after = self._split(key, ends, pool)
        otherwise = self._finals - {key}  # one that is ended in another way misses nothing
        missing = [way for way in missing if otherwise.isdisjoint(way.names)]
        yield from self._case(key, ends, Breach.MISSING, good + after, missing)
        # That nothing comes after the end can be a rule where many lives have no end.
        named = tuple(name for name in ends if vocabulary.ends(self._words[name]))
        if named and named != ends:
            good, missing, after = self._split(key, named, pool)
            ends = named
        yield from self._case(key, ends, Breach.LAST, good, after)

    def _split(
        self, key: int | str, ends: Iterable[int], pool: list[WayOfLife]
    ) -> tuple[list[WayOfLife], list[WayOfLife], list[WayOfLife]]:
        """Lives that keep `a*b+`, those without an end, and those that go on after it."""
        good: list[WayOfLife] = []
        missing: list[WayOfLife] = []
        after: list[WayOfLife] = []
        for way in pool:
            last = max((way.last[name] for name in ends if name in way.last), default=-1)
            if last < 0:
                missing.append(way)
            elif last > (way.last[key] if isinstance(key, int) else len(way.order) - 2):
                good.append(way)
            else:
                after.append(way)
        return good, missing, after

    def _rule_of_ends(self, key: int, ends: tuple[int, ...], pool: list[WayOfLife]) -> Rule:
        good, missing, after = self._split(key, ends, pool)
        return self._rule(
            key, ends, ENDS, number_of(good), number_of(missing) + number_of(after), len(self._places(key, good))
        )

    def _beginning(self, key: int, other: int, pool: list[WayOfLife]) -> Iterator[Case]:
        good = [way for way in pool if way.first.get(other, len(way.order)) < way.first[key]]
        bad = [way for way in pool if way.first.get(other, len(way.order)) > way.first[key]]
        if vocabulary.enters(self._words[other]):  # who ends it otherwise need not use `with`
            bad = [way for way in bad if not any(vocabulary.ends(self._words[name]) for name in way.names)]
        yield from self._case(key, (other,), Breach.FIRST, good, bad)

    def _places(self, key: int | str, ways: Iterable[WayOfLife]) -> set[int]:
        return {way.place(key, example) for way in ways for example in (*way.examples, *way.past)}

    # -- what is broken ---------------------------------------------------------------------------

    def _case(
        self,
        key: int | str,
        others: tuple[int, ...],
        breach: Breach,
        good: list[WayOfLife],
        bad: list[WayOfLife],
    ) -> Iterator[Case]:
        examples = [(way, example) for way in bad for example in way.examples]
        if changed := self._changed(key, good, bad):
            yield self._change(key, others, breach, good, bad, changed)
        kept, broken = number_of(good), number_of(bad)
        good_places = self._places(key, good)
        bad_places = {way.place(key, example) for way, example in examples}
        fresh = bad_places - good_places
        if not examples or not self._enforced(kept, broken, len(good_places), len(fresh)):
            return
        # Someone wrote each place; that a loop went through it a thousand times proves little more.
        places = len(good_places) * (1 + _LOOP * log10(max(1.0, kept / len(good_places))))
        against = len(fresh) + 0.3 * (len(bad_places) - len(fresh))
        score = sqrt(bound(kept, kept + broken) * bound(places, places + against))
        score /= len(bad_places) ** (1 / 3)  # slips are rare
        news = self._past_runs.news(
            self._sites[next(iter(bad_places))].file,
            sum(way.before for way in good),
            sum(way.before for way in bad),
        )
        if not fresh and not news:
            score *= _SAME_PLACE
        files = {self._sites[site].file for site in good_places}
        if all(self._sites[site].file not in files for site in bad_places) and not news:
            score *= _OTHER_FILE
        if breach is Breach.MISSING and all(self._raised(way, example) for way, example in examples):
            score *= _RAISED
        if not self._speaks(others, breach) and not news:
            score *= (1 - self._doubt) ** (2 if breach is Breach.LAST else 1)
        score = heard(score, news)
        examples.sort(key=lambda each: each[0].place(key, each[1]) in good_places)  # the surprising ones first
        shown = tuple(examples)
        yield Case(key, others, breach, kept, broken, len(good_places), shown, tuple(good), score)

    def _changed(
        self, key: int | str, good: list[WayOfLife], bad: list[WayOfLife]
    ) -> list[tuple[WayOfLife, LifeExample]]:
        """Lives from places where all those of earlier runs kept the rule, and none of this one."""
        before = {way.place(key, example) for way in good for example in way.past}
        if not before or any(len(way.examples) >= MOST_LIFE_EXAMPLES for way in good):
            return []  # or not all places are known
        before -= {way.place(key, example) for way in bad for example in way.past}
        before -= {way.place(key, example) for way in good for example in way.examples}
        return [(way, each) for way in bad for each in way.examples if way.place(key, each) in before]

    def _change(
        self,
        key: int | str,
        others: tuple[int, ...],
        breach: Breach,
        good: list[WayOfLife],
        bad: list[WayOfLife],
        changed: list[tuple[WayOfLife, LifeExample]],
    ) -> Case:
        kept, broken = sum(way.before for way in good), sum(way.before for way in bad)
        share = kept / max(1, kept + broken)
        score = CHANGE * (0.5 + 0.5 * share) * (1.0 if self._speaks(others, breach) else sqrt(1 - self._doubt))
        kept, broken = number_of(good), number_of(bad)
        return Case(
            key, others, breach, kept, broken, len(self._places(key, good)), tuple(changed), tuple(good), score, True
        )

    def _enforced(self, kept: int, broken: int, places: int, fresh: int) -> bool:
        """By the number of lives; or, if most keep it, by that of places: most lives may come by one of them."""
        if self._judge(kept, kept + broken, places) is State.ENFORCING:
            return True
        return kept > broken and self._judge(places, places + fresh, places) is State.ENFORCING

    def _speaks(self, others: tuple[int, ...], breach: Breach) -> bool:
        """Does a name say that something begins or ends? Of several ends that of the most frequent one."""
        word = self._words[others[0]]
        return vocabulary.ends(word) or (breach is Breach.FIRST and vocabulary.begins(word))

    def _raised(self, way: WayOfLife, example: LifeExample) -> bool:
        return example.object in self._raising.get((way.last_name, way.last_place(example)), ())

    def groups(self, cases: Iterable[Case]) -> list[list[Case]]:
        """Cases that seem to have one cause are put together."""
        groups: list[list[Case]] = []
        index: dict[Hashable, list[Case]] = {}
        for case in cases:
            keys = list(self._causes(case))
            group = next((index[key] for key in keys if key in index), None)
            if group is None:
                if case.score < BAR:
                    continue
                groups.append(group := [])
            group.append(case)
            for key in keys:
                index.setdefault(key, group)
        return groups

    def _causes(self, case: Case) -> Iterator[Hashable]:
        for _, example in case.bad:
            yield example.object, example.seq  # in another trace the number may be that of another object
        for name in case.others:
            yield case.breach, name

    # -- what is shown ----------------------------------------------------------------------------

    def anomalies(self) -> list[Anomaly]:
        """What is worth a look, the best first."""
        return [self._anomaly(group) for group in self.groups(self.cases())]

    def _anomaly(self, cases: list[Case]) -> Anomaly:
        best = cases[0]
        scenes: dict[int, Scene] = {}
        for way, example in best.bad:
            if best.breach is Breach.FIRST:
                place = way.place(best.key, example)
                scene = self._scene(way, example)._replace(place=self._sites[place])
            else:
                place, scene = way.last_place(example), self._scene(way, example)
            scenes.setdefault(place, scene)
        rules = dict.fromkeys(self._rule_of(case) for case in cases)
        rule, *others = rules
        bad = tuple(scenes.values())[:MOST_SCENES]
        message = wording.of_life(rule, best.breach, best.kept, best.kept + best.broken, bad, best.changed)
        return Anomaly(rule, best.score, bad, self._good(best), message, tuple(others[:MOST_OTHERS]))

    def _rule_of(self, case: Case) -> Rule:
        pattern = BEGINS if case.breach is Breach.FIRST else ENDS
        rule = self._rule(case.key, case.others, pattern, case.kept, case.broken, case.places)
        return rule._replace(state=State.ENFORCING)

    def _rule(
        self, key: int | str, others: tuple[int, ...], pattern: str, satisfied: int, failed: int, places: int
    ) -> Rule:
        mine = self._words[key] if isinstance(key, int) else Word(ANY, key)
        first, *more = (self._words[name] for name in others)
        a, b = (mine, first) if pattern == ENDS else (first, mine)
        state = self._judge(satisfied, satisfied + failed, places)
        return Rule(a, b, pattern, satisfied, failed, places, state, tuple(more), True)

    def _scene(self, way: WayOfLife, example: LifeExample) -> Scene:
        """The first and the last events of a life."""
        events: list[tuple[int, int]] = []
        for position, code in enumerate(way.order):
            name = code >> 1
            site = example.sites[way.at[name] + (code & 1)]
            if not (code & 1 and way.order[position - 1] == code - 1 and events[-1] == (name, site)):
                events.append((name, site))
        if len(events) > MOST_TRAIL:
            events = events[: MOST_TRAIL // 2] + events[-(MOST_TRAIL - MOST_TRAIL // 2) :]
        shown = tuple((self._words[name].label, self._sites[site]) for name, site in events)
        return Scene(example.object, example.count, shown, False)

    def _good(self, case: Case) -> Scene | None:
        """The usual way to keep the rule, from the nearest place."""
        way, example = case.bad[0]
        bad = self._sites[way.place(case.key, example)]
        shown = [each for each in case.good if each.examples]
        if not shown:
            return None
        usual = max(shown, key=lambda each: each.count)

        def distance(each: LifeExample) -> tuple[bool, int]:
            site = self._sites[usual.place(case.key, each)]
            return site.file != bad.file, abs((site.line or 0) - (bad.line or 0))

        return self._scene(usual, min(usual.examples, key=distance))
