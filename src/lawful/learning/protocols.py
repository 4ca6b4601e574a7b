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
_END = 0.7  # of the lives with an event that is an end, so many end with it
_OTHER_FILE = 0.92  # another file may have other customs
_SAME_PLACE = 0.7  # what is done at one place sometimes may well depend on the data
_RAISED = 0.5  # what failed need not be finished
_LOOP = 0.7  # of a place, for each power of ten of uses there


class _Way:
    """A way of life, made ready for questions."""

    __slots__ = ("at", "before", "count", "examples", "first", "last", "last_name", "names", "order", "past")

    def __init__(self, life: Life, past: Life | None) -> None:
        self.order = life.order
        self.examples = life.examples
        self.past = past.examples if past is not None else ()  # they have been to these places, too
        self.before = past.count if past is not None else 0
        self.count = life.count + self.before
        self.first: dict[int, int] = {}
        self.last: dict[int, int] = {}
        for position, code in enumerate(life.order):
            (self.last if code & 1 else self.first)[code >> 1] = position
        self.names = self.first.keys()
        self.at = {name: 2 * number for number, name in enumerate(self.first)}  # of its places
        self.last_name = life.order[-1] >> 1

    def place(self, key: int | str, example: LifeExample) -> int:
        """Where an object first met an event; of a class: where it first met anything."""
        return example.sites[self.at[key] if isinstance(key, int) else 0]

    def last_place(self, example: LifeExample) -> int:
        return example.sites[self.at[self.last_name] + 1]


class Case(NamedTuple):
    """A broken rule, one way in which it is broken, and what that is worth."""

    key: int | str  # an event, or a class
    others: tuple[int, ...]  # the ends, the most frequent one first; or what comes before
    breach: Breach  # of `a*b+`: there is no `b`, or `a` comes after the last one; of `a+b*`: `a` does not come first
    kept: int
    broken: int
    places: int  # where lives that keep the rule met the key first
    bad: tuple[tuple[_Way, LifeExample], ...]
    good: tuple[_Way, ...]
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
        self._ways = [_Way(life, past.pop(life.order, None)) for life in lives]
        self._ways += [_Way(Life(life.order, 0, ()), life) for life in past.values()]
        self._finals = finals([(way.order, way.count) for way in self._ways], words)
        self._by_event: dict[int, list[_Way]] = defaultdict(list)
        self._by_class: dict[str, list[_Way]] = defaultdict(list)
        for way in self._ways:
            for name in way.names:
                self._by_event[name].append(way)
            for owner in {_owner(words[name]) for name in way.names}:
                if owner:
                    self._by_class[owner].append(way)

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

    def _pools(self) -> Iterator[tuple[int | str, list[_Way]]]:
        yield from self._by_event.items()
        yield from self._by_class.items()

    def _ends(self, key: int | str, pool: list[_Way]) -> tuple[int, ...]:
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
            and number >= _END * having[name]
            and (
                vocabulary.ends(self._words[name])
                # What happens to be done last with objects of a class is no rule of it.
                or (isinstance(key, int) and min(number, len(places[name])) >= _LEAST_ENDED)
            )
            and vocabulary.is_call(self._words[name])
            and not vocabulary.makes(self._words[name])
        ]
        return tuple(found)

    def _company(self, key: int, pool: list[_Way]) -> Iterator[int]:
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

    def _ending(self, key: int | str, ends: tuple[int, ...], pool: list[_Way]) -> Iterator[Case]:
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
        self, key: int | str, ends: Iterable[int], pool: list[_Way]
    ) -> tuple[list[_Way], list[_Way], list[_Way]]:
        """Lives that keep `a*b+`, those without an end, and those that go on after it."""
        good: list[_Way] = []
        missing: list[_Way] = []
        after: list[_Way] = []
        for way in pool:
            last = max((way.last[name] for name in ends if name in way.last), default=-1)
            if last < 0:
                missing.append(way)
            elif last > (way.last[key] if isinstance(key, int) else len(way.order) - 2):
                good.append(way)
            else:
                after.append(way)
        return good, missing, after

    def _rule_of_ends(self, key: int, ends: tuple[int, ...], pool: list[_Way]) -> Rule:
        good, missing, after = self._split(key, ends, pool)
        return self._rule(
            key, ends, ENDS, _number(good), _number(missing) + _number(after), len(self._places(key, good))
        )

    def _beginning(self, key: int, other: int, pool: list[_Way]) -> Iterator[Case]:
        good = [way for way in pool if way.first.get(other, len(way.order)) < way.first[key]]
        bad = [way for way in pool if way.first.get(other, len(way.order)) > way.first[key]]
        if vocabulary.enters(self._words[other]):  # who ends it otherwise need not use `with`
            bad = [way for way in bad if not any(vocabulary.ends(self._words[name]) for name in way.names)]
        yield from self._case(key, (other,), Breach.FIRST, good, bad)

    def _places(self, key: int | str, ways: Iterable[_Way]) -> set[int]:
        return {way.place(key, example) for way in ways for example in (*way.examples, *way.past)}

    # -- what is broken ---------------------------------------------------------------------------

    def _case(
        self,
        key: int | str,
        others: tuple[int, ...],
        breach: Breach,
        good: list[_Way],
        bad: list[_Way],
    ) -> Iterator[Case]:
        examples = [(way, example) for way in bad for example in way.examples]
        if changed := self._changed(key, good, bad):
            yield self._change(key, others, breach, good, bad, changed)
        kept, broken = _number(good), _number(bad)
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

    def _changed(self, key: int | str, good: list[_Way], bad: list[_Way]) -> list[tuple[_Way, LifeExample]]:
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
        good: list[_Way],
        bad: list[_Way],
        changed: list[tuple[_Way, LifeExample]],
    ) -> Case:
        kept, broken = sum(way.before for way in good), sum(way.before for way in bad)
        share = kept / max(1, kept + broken)
        score = CHANGE * (0.5 + 0.5 * share) * (1.0 if self._speaks(others, breach) else sqrt(1 - self._doubt))
        kept, broken = _number(good), _number(bad)
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

    def _raised(self, way: _Way, example: LifeExample) -> bool:
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

    def _scene(self, way: _Way, example: LifeExample) -> Scene:
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


def finals(lives: Iterable[tuple[tuple[int, ...], int]], words: Sequence[Word]) -> frozenset[int]:
    """Events whose names say that they end something, and after which mostly nothing comes. Lives: order and number."""
    having: Counter[int] = Counter()
    ended: Counter[int] = Counter()
    for order, number in lives:
        for code in order:
            if code & 1:
                having[code >> 1] += number
        ended[order[-1] >> 1] += number
    return frozenset(
        name
        for name, number in having.items()
        if vocabulary.exits(words[name]) or (vocabulary.ends(words[name]) and ended[name] >= _END * number)
    )


def merged(lives: Iterable[Life]) -> list[Life]:
    """The same with each way of life once."""
    found: dict[tuple[int, ...], Life] = {}
    for life in lives:
        known = found.get(life.order)
        if known is None:
            found[life.order] = life
            continue
        examples = {example.sites: example for example in known.examples}
        for example in life.examples:
            if (same := examples.get(example.sites)) is not None:
                examples[example.sites] = same._replace(count=same.count + example.count)
            elif len(examples) < MOST_LIFE_EXAMPLES:
                examples[example.sites] = example
        found[life.order] = Life(life.order, known.count + life.count, tuple(examples.values()))
    return list(found.values())


def combined(lives: list[Anomaly], others: Iterable[Anomaly]) -> list[Anomaly]:
    """Anomalies of lives and those of a window, the best first. What both tell of is told once.

    That of the window speaks if it knows of the same objects, since it knows more about its two events: how often they
    came, not only in how many lives.
    """
    told = list(lives)
    alone: list[Anomaly] = []
    for anomaly in others:
        at = next((at for at, known in enumerate(told) if _same_cause(anomaly, known)), None)
        if at is None:
            alone.append(anomaly)
        elif told[at].rule.life and _objects(anomaly) == _objects(told[at]):
            told[at] = _united(anomaly._replace(score=max(anomaly.score, told[at].score)), told[at])
        else:
            told[at] = _united(told[at], anomaly)
    return sorted(told + alone, key=lambda anomaly: -anomaly.score)


def _united(main: Anomaly, other: Anomaly) -> Anomaly:
    rules = dict.fromkeys((*main.others, other.rule, *other.others))
    if not main.rule.life:  # those of lives would say the same again
        rules = dict.fromkeys(rule for rule in rules if not rule.life or rule.more)
    return main._replace(others=tuple(rules)[: 2 * MOST_OTHERS])


def _same_cause(one: Anomaly, other: Anomaly) -> bool:
    return not _names(one.rule).isdisjoint(_names(other.rule)) and not _objects(one).isdisjoint(_objects(other))


def _objects(anomaly: Anomaly) -> set[int]:
    return {scene.object for scene in anomaly.bad}


def _names(rule: Rule) -> set[str]:
    return {word.label for word in (rule.a, rule.b, *rule.more)}


def _number(ways: Iterable[_Way]) -> int:
    return sum(way.count for way in ways)


def _owner(word: Word) -> str:
    """The class that a call is of, as far as its name says so."""
    if word.role or not vocabulary.is_call(word):
        return ""
    return word.name if word.event == "new" else word.name.rpartition(".")[0]
