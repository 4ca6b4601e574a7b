"""How much a broken rule deserves a look: a score from counts and places.

Names count where there are many rules, see `trust`: of a hundred rules that hold by chance, some are broken by chance.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from math import log10, sqrt
from typing import NamedTuple

from lawful.learning import vocabulary
from lawful.learning.learner_view import LearnerView
from lawful.learning.violation_kinds import BOTH, Breach, ViolationKind
from lawful.learning.window_protocol import Candidate, Counts, Ending, Example, Pair, Word

BAR = 0.45
"""Anomalies with lower scores are not reported, however few there are.

Five places that keep a rule and one that breaks it are enough, if nothing else speaks against it; so is one place that
kept it forty times. The value was chosen on the traces of fourteen test suites, where it leaves at most eighteen
anomalies, four or five on average.
"""

MOST_SCENARIOS = 8  # that an anomaly shows
MOST_OTHERS = 8  # rules of an anomaly that are broken for the same cause

_Z = 1.645  # one-sided, 95 %

_BREACH = {
    Breach.MISSING: 1.0,
    Breach.FIRST: 0.95,
    Breach.LAST: 0.9,  # a part of the scenario kept the rule
    Breach.AGAIN: 0.3,  # most things may be done twice
    Breach.OTHER: 0.6,
}
OTHER_FILE = 0.92  # another file may have other customs
SAME_PLACE = 0.7  # what is done at one place sometimes may well depend on the data
_CUT_OFF = 0.85  # it might have come still
RAISED = 0.4  # what failed need not be finished
CHANGE = 0.9  # of a place: it may be meant
_OLD = 0.4  # of the part above the bar, if earlier runs of the program did the same
OLD_BAR = BAR + _OLD * 0.05
"""The bar for anomalies that earlier runs had and did not report: higher, or they would come and go by chance."""

ELSEWHERE = 0.85  # who uses the object at many places never writes the second event: it is done at one place for all
_LOOP = 0.7  # of a place, for each power of ten of uses there
_HALF_DOUBT = 0.8  # of the doubt, if one of the two names says that something begins or ends


class Evidence(NamedTuple):
    """What speaks for a rule, and for its being broken by mistake."""

    kept: int  # scenarios with both events that satisfy the rule
    broken: int  # scenarios that do not
    idle: int  # scenarios that satisfy it with one event only, which proves little
    places: int  # where scenarios that satisfy the rule began
    broken_places: float  # where scenarios that do not began; a place where it is mostly kept is less than one
    against: float  # the same as far as it speaks against the rule: much less than one
    breach: Breach
    same_file: bool = True  # it is kept elsewhere in the file where it is broken
    same_place: bool = False  # it is kept at the very place where it is broken, at other times
    elsewhere: bool = False  # the second event is always done at one place, whatever that of the first one
    doubt: float = 0.0  # the share of what is missing that seems to be only out of the window's reach
    cut_off: bool = False  # the stream ended first
    raised: bool = False  # the last call before raised an exception
    news: bool | None = None  # earlier runs of the program never broke it so; or they did; or there were none


def bound(kept: float, total: float) -> float:
    """Wilson's lower bound of a share of which `kept` of `total` were seen."""
    if total <= 0:
        return 0.0
    share = kept / total
    square = _Z * _Z
    middle = share + square / (2 * total)
    spread = _Z * sqrt(max(0.0, share * (1 - share)) / total + square / (4 * total * total))
    return max(0.0, (middle - spread) / (1 + square / total))


def places_with_loops(places: int, kept: int) -> float:
    """The number of places, and a little more for those that ran often: a loop adds little evidence."""
    return places * (1 + _LOOP * log10(max(1.0, kept / max(1, places))))


def score(evidence: Evidence) -> float:
    """From 0 to 1."""
    if not evidence.kept:
        return 0.0
    uses = bound(evidence.kept, evidence.kept + evidence.broken)
    places = places_with_loops(evidence.places, evidence.kept)
    value: float = sqrt(uses * bound(places, places + evidence.against))
    # Scenarios with one event only, as a `close` of what was never written, say nothing of `write` and `close`. But if
    # both are there, only in the wrong order, unrelated ones speak against a mistake.
    if evidence.breach is not Breach.MISSING:
        value *= (evidence.kept / (evidence.kept + evidence.broken + evidence.idle)) ** 0.2
    # Mistakes are rare. If there are many, the rule is wrong, or at least most of them are not mistakes.
    value /= max(1.0, evidence.broken_places) ** (1 / 3)
    value *= _BREACH[evidence.breach] * (1 - evidence.doubt)
    value *= 1.0 if evidence.same_file else OTHER_FILE
    value *= SAME_PLACE if evidence.same_place else 1.0
    value *= ELSEWHERE if evidence.elsewhere else 1.0
    value *= _CUT_OFF if evidence.cut_off else 1.0
    value *= RAISED if evidence.raised else 1.0
    return adjusted_by_earlier_runs(value, evidence.news)


def adjusted_by_earlier_runs(value: float, news: bool | None) -> float:
    """A score, by what earlier runs did: the same, or never that. A score above the bar stays above it."""
    if news is None:
        return value
    if news:
        return sqrt(value)
    return BAR + _OLD * (value - BAR) if value > BAR else value


def of_change(evidence: Evidence, trusted: float) -> float:
    """The score of a rule that is broken at a place where earlier runs kept it. The share is that of all places."""
    share = evidence.kept / max(1, evidence.kept + evidence.broken)
    return CHANGE * (0.5 + 0.5 * share) * _BREACH[evidence.breach] * sqrt(trusted)


def trust(view: LearnerView, first: int, second: int) -> float:
    """A factor for a rule, by the names of its events: 1 if both say that something begins or ends."""
    telling = _tells(view.words[first]) + _tells(view.words[second])
    return 1 - view.doubt * (1.0, _HALF_DOUBT, 0.0)[telling]


@lru_cache(maxsize=1 << 14)
def _tells(word: Word) -> bool:
    return vocabulary.begins(word) or vocabulary.ends(word)


def limit(violation: ViolationKind) -> float:
    """The highest possible score for a way of breaking a rule, without earlier runs."""
    return _BREACH[violation.breach]


def at_most(counts: Counts, rule: int, violation: ViolationKind) -> float:
    """The highest possible score for these counts. It is cached by their magnitude, since counts grow."""
    return _at_most(1 << counts.satisfied[rule].bit_length(), counts.contexts[rule], violation.breach)


@lru_cache(maxsize=1 << 14)
def _at_most(satisfied: int, places: int, breach: Breach) -> float:
    """It is broken once: at a place of its own, or where it is mostly kept."""
    elsewhere = Evidence(satisfied, 1, 0, places, 1.0, 1.0, breach)
    here = Evidence(satisfied, 1, 0, places, 1.0, 0.0, breach, same_place=True)
    return max(score(elsewhere), score(here))


def possible(view: LearnerView, candidate: Candidate, violation: ViolationKind) -> bool:
    """Can it be a mistake? Every object was made before it was used; if that was not seen, it was before the window.

    Nor is it one that something was not ended before: what comes after an end is about something else. And a `with` is
    always left, by the language.
    """
    a, b = view.assigned(candidate.first, candidate.second, candidate.rule)
    return _possible(view.words[a], view.words[b], violation, a in view.ended.final_events)


@lru_cache(maxsize=1 << 14)
def _possible(a: Word, b: Word, violation: ViolationKind, final: bool) -> bool:
    """By what names say alone, which stays as it is from one tick to the next. `final`: histories end with `a`."""
    if vocabulary.enters(a) and vocabulary.exits(b):
        return False
    if violation.breach is Breach.MISSING and violation.letter == 1:
        return not vocabulary.makes(b)
    if violation.breach is Breach.MISSING or (violation.breach is Breach.FIRST and violation.letter == 1):
        return vocabulary.leads(a, b) and not final
    return violation.breach not in (Breach.FIRST, Breach.LAST) or not vocabulary.makes(b)


def needless(view: LearnerView, candidate: Candidate, violation: ViolationKind) -> bool:
    """Is the missing event one that an end does not need before it?"""
    a, b = view.assigned(candidate.first, candidate.second, candidate.rule)
    return violation == (Breach.MISSING, 0) and vocabulary.needless(view.words[a], view.words[b])


class LateEvents(NamedTuple):
    """Both events of a rule came, though not within the window: then neither is missing, and the second is late."""

    objects: frozenset[int]  # for which that is known
    doubts: tuple[float, float]  # by letter of the rule: the share of other objects where it seems to be missing


class Alternatives:
    """By event: what an object may meet in its place. The same method of another class; for an end, a `with`'s."""

    def __init__(self, words: Sequence[Word]) -> None:
        self._words = words
        self._alike: dict[str, set[int]] = defaultdict(set)
        for number, word in enumerate(words):
            self._alike[vocabulary.last(word)].add(number)
        self._exits = {number for number, word in enumerate(words) if vocabulary.exits(word)}
        self.enters = {number for number, word in enumerate(words) if vocabulary.enters(word)}

    def of(self, number: int) -> set[int]:
        word = self._words[number]
        found = self._alike[vocabulary.last(word)]
        return (found | self._exits if vocabulary.ends(word) else found) - {number}


def late(view: LearnerView, pair: Pair, turned: int, instead: Alternatives) -> LateEvents:
    """An object for which `b` came alone after `a` had come alone, or for which `a` stands in the trail of `b`."""
    events = view.assigned(pair.first, pair.second, turned)
    alone: tuple[dict[int, int], dict[int, int]] = ({}, {})  # by letter: objects, with the number of the last event
    others = instead.of(events[1]), instead.of(events[0])  # by letter: what may stand for the other one
    counted, shown = [0, 0], [0, 0]
    found: set[int] = set()
    came = 0
    for ending in pair.endings:
        if (letters := view.product.letters[ending.kind]) == BOTH:
            continue
        letter = (letters - 1) ^ turned
        counted[letter] += ending.count
        for example in ending.examples:
            alone[letter][example.object] = example.seq
            shown[letter] += example.count
            if letter == 1 and any(name == events[0] for name, _ in example.trail):
                found.add(example.object)
                came += example.count
            elif others[letter] and not others[letter].isdisjoint(name for name, _ in example.trail):
                found.add(example.object)
    found.update(id_ for id_, seq in alone[0].items() if seq < alone[1].get(id_, 0))

    def met(letter: int, some: Collection[int]) -> Iterator[int]:
        """The objects of a letter that met one of these events in their whole history."""
        return (id_ for id_ in alone[letter] if not ended.events_of.get(id_, nothing).isdisjoint(some))

    ended, nothing = view.ended, frozenset[int]()
    for objects in alone:
        found.update(id_ for id_ in objects if ended.events_of.get(id_, nothing).issuperset(events))
    if events[1] in ended.final_events:  # one that was ended in another way misses nothing
        found.update(met(0, ended.final_events))
    if vocabulary.exits(view.words[events[1]]):  # one that was entered, and not left, has failed, by the language
        found.update(met(0, instead.enters))
    for letter in (0, 1):
        missing, histories = events[1 - letter], ended.with_event.get(events[letter])
        if histories and all(missing in each or not others[letter].isdisjoint(each) for each in histories):
            found.update(alone[letter])  # no history is without it
        found.update(met(letter, others[letter]))
    # Examples are few: as many of the others are late as of those that are shown. Then as many were waited for.
    expected = came * counted[1] / max(1, shown[1])
    doubts = []
    for letter in (0, 1):
        known = sum(1 for id_ in alone[letter] if id_ in found)
        rest = counted[letter] - known
        doubts.append(min(1.0, max(0.0, expected - known) / rest) if rest > 0 else 0.0)
    return LateEvents(frozenset(found), (doubts[1], doubts[0]))


def weigh(
    view: LearnerView,
    candidate: Candidate,
    pair: Pair,
    counts: Counts,
    ending: Ending,
    violation: ViolationKind,
    late: LateEvents,
) -> Evidence:
    """The evidence about a rule and an ending that breaks it. Objects that are late do not count.

    Nor do earlier runs that broke it alike: they did the same, and add no evidence.
    """
    rule, product = candidate.rule, view.product
    kept = idle = known = unknown = 0
    news = is_news(view, pair, ending)
    repeated = view.past.endings[pair.first, pair.second] if news is False else {}
    broken = counts.total - counts.satisfied[rule]
    broken -= sum(number for kind, number in repeated.items() if not product.satisfied[kind] >> rule & 1)
    broken_at: dict[int, int] = defaultdict(int)
    for each in pair.endings:
        alone = product.letters[each.kind] != BOTH
        if product.satisfied[each.kind] >> rule & 1:
            number = each.count - repeated.get(each.kind, 0)
            idle += number * alone
            kept += number * (not alone)
            continue
        shown = 0
        for example in each.examples:
            shown += example.count
            if alone and example.object in late.objects:
                broken -= example.count
            else:
                broken_at[example.site] += example.count
        known += shown
        if each.first:  # else it is remembered from earlier runs, which went through the same places
            unknown += max(0, each.count - shown)
    good = {site for site, rules in pair.contexts if rules >> rule & 1}
    places = counts.contexts[rule]
    usual = kept / max(places, 1)  # scenarios from one place
    shares = [number / (number + usual) if site in good else 1.0 for site, number in broken_at.items()]
    more = unknown * len(broken_at) / known if known else unknown
    files = {view.sites[site].file for site in good}
    goes_on = violation.breach is Breach.LAST or (violation.breach is Breach.MISSING and violation.letter == 1)
    return Evidence(
        kept,
        max(broken, 1),
        idle,
        places,
        sum(map(sqrt, shares)) + more,
        sum(shares) + more,
        violation.breach,
        same_file=bool(news) or any(view.sites[example.site].file in files for example in ending.examples),
        same_place=not news and any(example.site in good for example in ending.examples),
        elsewhere=not news and places > 1 and _one_end(view, pair, rule),
        doubt=late.doubts[violation.letter] if violation.breach is Breach.MISSING and not news else 0.0,
        cut_off=goes_on and all(example.at_end for example in ending.examples),
        raised=goes_on and all(_raised(view, example) for example in ending.examples),
        news=news,
    )


def _one_end(view: LearnerView, pair: Pair, rule: int) -> bool:
    """Do all scenarios that keep a rule, with both events, end at one place?"""
    place = None
    for ending in pair.endings:
        if view.product.satisfied[ending.kind] >> rule & 1 and view.product.letters[ending.kind] == BOTH:
            for example in ending.examples:
                if example.last_site != place and place is not None:
                    return False
                place = example.last_site
    return place is not None


def is_news(view: LearnerView, pair: Pair, ending: Ending) -> bool | None:
    """Is it new that scenarios of a pair end so?"""
    before = view.past.endings.get((pair.first, pair.second))
    examples = countable(view, pair, ending) if before else ()
    if not before or not examples:
        return None
    file = view.sites[examples[0].site].file
    return view.past.news(file, (pair.first, pair.second), sum(before.values()), before.get(ending.kind, 0))


def countable(view: LearnerView, pair: Pair, ending: Ending) -> tuple[Example, ...]:
    """The examples that an earlier run would have counted.

    A pair that is remembered is there from the beginning. In an earlier run it was not, before its first scenario.
    """
    both = [each for each in pair.endings if view.product.letters[each.kind] == BOTH]
    since = min((example.seq for each in both for example in each.examples), default=None)
    if since is None:
        return ()
    return tuple(example for example in ending.examples if example.seq > since)


def _raised(view: LearnerView, example: Example) -> bool:
    """Did the last call of the scenario end in an exception?"""
    return bool(example.trail) and example.object in view.raising.get(example.trail[-1], ())
