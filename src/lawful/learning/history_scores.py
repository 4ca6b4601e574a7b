"""Scores of broken rules about whole histories, from counts, places and names."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from math import sqrt
from typing import NamedTuple

from lawful.learning import vocabulary
from lawful.learning.history_patterns import LEAST_ENDED, IndexedHistory, number_of
from lawful.learning.learner_view import LearnerView
from lawful.learning.ranking import (
    CHANGE,
    ELSEWHERE,
    OTHER_FILE,
    RAISED,
    SAME_PLACE,
    adjusted_by_earlier_runs,
    bound,
    places_with_loops,
)
from lawful.learning.violation_kinds import Breach
from lawful.learning.window_protocol import MOST_HISTORY_EXAMPLES, HistoryExample, RuleState

_OMISSION_SHARE = 3  # of histories that are ended, for each that is not

Key = int | str  # an event, or a class


class TriedRule(NamedTuple):
    """A rule about histories, those that keep it, and those that break it in one way."""

    key: Key
    others: tuple[int, ...]  # the ends, the most frequent one first; or what comes before
    breach: Breach  # of `a*b+`: there is no `b`, or `a` comes after the last one; of `a+b*`: `a` does not come first
    good: list[IndexedHistory]
    bad: list[IndexedHistory]

    def places(self, histories: Iterable[IndexedHistory]) -> set[int]:
        """Where histories, those of earlier runs included, first met the key."""
        return {each.place(self.key, example) for each in histories for example in (*each.examples, *each.past)}

    @property
    def examples(self) -> list[tuple[IndexedHistory, HistoryExample]]:
        """Of those that break it, in the present run."""
        return [(history, example) for history in self.bad for example in history.examples]


class BrokenHistoryRule(NamedTuple):
    """A broken rule, one way in which it is broken, and its score."""

    key: Key
    others: tuple[int, ...]
    breach: Breach
    kept: int
    broken: int
    places: int  # where histories that keep the rule met the key first
    bad: tuple[tuple[IndexedHistory, HistoryExample], ...]
    good: tuple[IndexedHistory, ...]
    score: float
    changed: bool = False  # all earlier runs kept it at this very place
    old: bool = False  # they broke it alike
    rare_omission: bool = False  # it looks like one, however few histories there are


class HistoryScores:
    """Judges broken rules by their events, their places and earlier runs."""

    def __init__(self, view: LearnerView) -> None:
        self._view = view
        self._words = view.words

    def broken(self, tried: TriedRule, exempt: Container[tuple[int, ...]] = ()) -> Iterator[BrokenHistoryRule]:
        """The ways in which an enforced rule is broken. Histories that are `exempt` count only if they are new."""
        if changed := self._changed(tried):
            yield self._change(tried, changed)
        if not (news := self._news(tried)):
            tried = tried._replace(bad=[history for history in tried.bad if history.order not in exempt])
            news = self._news(tried)
        kept, broken = number_of(tried.good), number_of(tried.bad)
        if news is False:  # earlier runs that did the same add no evidence
            kept, broken = (sum(each.count - each.before for each in some) for some in (tried.good, tried.bad))
        examples, good_places = tried.examples, tried.places(tried.good)
        bad_places = {history.place(tried.key, example) for history, example in examples}
        fresh = bad_places - good_places
        omission = (news is False or not self._view.past.files) and self._is_rare_omission(tried, good_places)
        few = omission and kept >= _OMISSION_SHARE * broken and len(good_places) >= LEAST_ENDED
        if not examples or not (few or self._enforced(kept, broken, len(good_places), len(fresh))):
            return
        places = places_with_loops(len(good_places), kept)
        against = len(fresh) + 0.3 * (len(bad_places) - len(fresh))
        score = sqrt(bound(kept, kept + broken) * bound(places, places + against))
        score /= len(bad_places) ** (1 / 3)  # mistakes are rare
        score *= self._discount(tried, news, good_places, bad_places)
        examples.sort(key=lambda each: each[0].place(tried.key, each[1]) in good_places)  # the surprising ones first
        yield BrokenHistoryRule(
            *tried[:3],
            kept,
            broken,
            len(good_places),
            tuple(examples),
            tuple(tried.good),
            adjusted_by_earlier_runs(score, news),
            old=news is False,
            rare_omission=omission,
        )

    def _discount(self, tried: TriedRule, news: bool | None, good_places: set[int], bad_places: set[int]) -> float:
        """A factor up to 1, for all that speaks against a mistake except the counts."""
        key, others, breach = tried[:3]
        factor = 1.0
        if not news:
            files = {self._view.sites[site].file for site in good_places}
            factor *= SAME_PLACE if bad_places <= good_places else 1.0
            factor *= 1.0 if any(self._view.sites[site].file in files for site in bad_places) else OTHER_FILE
            factor *= ELSEWHERE if self._elsewhere(tried) else 1.0
        unfinished = breach is Breach.MISSING or (breach is Breach.FIRST and vocabulary.enters(self._words[others[0]]))
        if unfinished and self._all_raised(tried):
            factor *= RAISED
        if not self._speaks(tried) and not news:
            # That a new object is used somehow is even weaker evidence.
            made = isinstance(key, int) and vocabulary.makes(self._words[key])
            factor *= (1 - self._view.doubt) ** (2 if made or breach is Breach.LAST else 1)
        return factor

    def _is_rare_omission(self, tried: TriedRule, good_places: set[int]) -> bool:
        """Does it look like a mistake? Then a few histories are enough: three threads are joined, a fourth is not.

        By its name something begins, and its end is missing, at one place only, where it is never ended; it is at
        others. Nothing failed there. Where earlier runs are known, they tell better what is a mistake.
        """
        key, others, breach = tried[:3]
        if breach is not Breach.MISSING or not vocabulary.ends_life(self._words[others[0]]):
            return False
        if isinstance(key, int) and not (vocabulary.makes(self._words[key]) or vocabulary.begins(self._words[key])):
            return False
        places = {history.place(key, example) for history, example in tried.examples}
        return len(places) == 1 and places.isdisjoint(good_places) and not self._all_raised(tried)

    def _news(self, tried: TriedRule) -> bool | None:
        """Is it new that the rule is broken in these ways?"""
        place = next((history.place(tried.key, example) for history, example in tried.examples), None)
        if place is None:
            return None
        before, alike = (sum(history.before for history in each) for each in (tried.good, tried.bad))
        events = tried.others if isinstance(tried.key, str) else (tried.key, *tried.others)
        return self._view.past.news(self._view.sites[place].file, events, before, alike)

    def _elsewhere(self, tried: TriedRule) -> bool:
        """Is the second event always at one place, and the first one not?"""
        first = tried.breach is Breach.FIRST
        keys = tried.places(tried.good)
        theirs = {
            example.sites[history.at[name] + (not first)]
            for history in tried.good
            for example in (*history.examples, *history.past)
            for name in tried.others
            if name in history.at
        }
        firsts, seconds = (theirs, keys) if first else (keys, theirs)
        return len(seconds) == 1 < len(firsts)

    def _changed(self, tried: TriedRule) -> tuple[tuple[IndexedHistory, HistoryExample], ...]:
        """Histories from places where all those of earlier runs kept the rule, and none of this one."""
        key, good = tried.key, tried.good
        before = {history.place(key, example) for history in good for example in history.past}
        if not before or any(len(history.examples) >= MOST_HISTORY_EXAMPLES for history in good):
            return ()  # or not all places are known
        before -= {history.place(key, example) for history in tried.bad for example in history.past}
        before -= {history.place(key, example) for history in good for example in history.examples}
        return tuple((history, example) for history, example in tried.examples if history.place(key, example) in before)

    def _change(
        self, tried: TriedRule, changed: tuple[tuple[IndexedHistory, HistoryExample], ...]
    ) -> BrokenHistoryRule:
        good, bad = tried.good, tried.bad
        kept, broken = sum(history.before for history in good), sum(history.before for history in bad)
        share = kept / max(1, kept + broken)
        score = CHANGE * (0.5 + 0.5 * share) * (1.0 if self._speaks(tried) else sqrt(1 - self._view.doubt))
        counts = number_of(good), number_of(bad), len(tried.places(good))
        return BrokenHistoryRule(*tried[:3], *counts, changed, tuple(good), score, True)

    def _enforced(self, kept: int, broken: int, places: int, fresh: int) -> bool:
        """By the number of histories; or, if most keep it, by that of places: most objects may come by one of them."""
        if self._view.judge(kept, kept + broken, places) is RuleState.ENFORCING:
            return True
        return kept > broken and self._view.judge(places, places + fresh, places) is RuleState.ENFORCING

    def _speaks(self, tried: TriedRule) -> bool:
        """Does a name say that something begins, or ends? Of several ends that of the most frequent one."""
        word = self._words[tried.others[0]]
        return vocabulary.begins(word) if tried.breach is Breach.FIRST else vocabulary.ends(word)

    def _all_raised(self, tried: TriedRule) -> bool:
        """Did the last call of all that break it end in an exception?"""
        return all(
            example.object in self._view.raising.get((history.last_name, history.last_place(example)), ())
            for history, example in tried.examples
        )
