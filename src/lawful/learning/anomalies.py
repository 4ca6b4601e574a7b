"""Few, ranked and explained: from broken rules to what a developer is shown."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import NamedTuple

from lawful.learning import ranking, ways, wording
from lawful.learning.model import MOST_TRAIL, Anomaly, Candidate, Counts, Ending, Example, Pair, Scene, Survey
from lawful.learning.ranking import BAR, Evidence, Late
from lawful.learning.view import View
from lawful.learning.ways import BOTH, Breach, Way

MOST_SCENES = 8  # of one anomaly
MOST_OTHERS = 8  # rules that are broken for the same cause


class _Case(NamedTuple):
    """A broken rule, one way in which it is broken, and what that is worth."""

    candidate: Candidate
    pair: Pair
    ending: Ending
    way: Way
    evidence: Evidence
    score: float


def find(view: View, survey: Survey) -> list[Anomaly]:
    """What is worth a look, the best first. What has one cause is one anomaly."""
    return [_anomaly(view, group) for group in _groups(view, _cases(view, survey.candidates, 0.0))]


def count(view: View, survey: Survey) -> int:
    """How many `find` would find."""
    return len(_groups(view, _cases(view, survey.candidates, BAR)))


def _cases(view: View, candidates: Iterable[Candidate], least: float) -> list[_Case]:
    """Candidates with their scores, the best first. Left out are those that can be no mistakes, or score too little."""
    found: list[_Case] = []
    counts_of: dict[tuple[int, int], Counts | None] = {}
    pairs: dict[tuple[int, int], Pair | None] = {}
    lates: dict[tuple[int, int, int], Late] = {}
    known_ways = ways.of(view.product)
    for candidate in candidates:
        first, second, rule, kind = candidate
        way = known_ways.broken(rule, kind)
        if not ranking.possible(view, candidate, way):
            continue
        key = first, second
        if key not in counts_of:
            counts_of[key] = view.window.counts(first, second)
        counts = counts_of[key]
        if counts is None or ranking.at_most(counts, rule, way) < least:
            continue  # without a look at its examples, which takes longer
        if key not in pairs:
            pairs[key] = view.window.pair(first, second)
        pair = pairs[key]
        if pair is None:
            continue
        ending = next((ending for ending in pair.endings if ending.kind == kind), None)
        late = lates.get((first, second, rule & 1))
        if late is None:
            late = lates[first, second, rule & 1] = ranking.late(view, pair, rule & 1)
        if ending is not None and way.breach is Breach.MISSING:
            ending = ending._replace(
                examples=tuple(each for each in ending.examples if each.object not in late.objects)
            )
        if ending is None or not ending.examples:
            continue  # there is nothing to show
        evidence = ranking.weigh(view, candidate, pair, counts, ending, way, late)
        score = ranking.score(evidence) * ranking.trust(view, first, second)
        if score >= least:
            found.append(_Case(candidate, pair, ending, way, evidence, score))
    found.sort(key=lambda case: (-case.score, case.candidate))
    return found


def _groups(view: View, cases: Iterable[_Case]) -> list[list[_Case]]:
    """Cases that seem to have one cause are put together. What is below the bar can join, but does not count alone."""
    groups: list[list[_Case]] = []
    index: dict[Hashable, list[_Case]] = {}
    for case in cases:
        keys = list(_causes(view, case))
        group = next((index[key] for key in keys if key in index), None)
        if group is None:
            if case.score < BAR:
                continue
            groups.append(group := [])
        group.append(case)
        for key in keys:
            index.setdefault(key, group)
    return groups


def _causes(view: View, case: _Case) -> Iterator[Hashable]:
    """Two cases have one cause if they have one of these in common."""
    first, second, rule, _ = case.candidate
    yield first, second
    for example in case.ending.examples:
        # A `close` that is missing after `open` is also missing after `read`: another rule, but the same object.
        yield "object", example.object, first
        yield "object", example.object, second
    if case.way.breach is Breach.MISSING:
        missing = view.assigned(first, second, rule)[case.way.letter]
        for example in case.ending.examples:
            yield "missing", missing, view.sites[example.site].file


def _anomaly(view: View, cases: list[_Case]) -> Anomaly:
    best = cases[0]
    first, second, number, _ = best.candidate
    rule = view.rule(first, second, number)
    bad: dict[int, Scene] = {}
    for case in cases:
        if case.candidate[:3] == best.candidate[:3]:
            for example in case.ending.examples:
                bad.setdefault(example.last_site, _scene(view, case.candidate, case.ending.kind, example))
    scenes = tuple(bad.values())[:MOST_SCENES]
    kept, broken = best.evidence.kept, best.evidence.broken
    shape = ways.of(view.product).shape(number)
    others = dict.fromkeys(case.candidate[:3] for case in cases if case.candidate[:2] != (first, second))
    return Anomaly(
        rule,
        best.score,
        scenes,
        _good(view, best),
        wording.sentence(rule, shape, best.way, kept, kept + broken, scenes),
        tuple(view.rule(*other) for other in list(others)[:MOST_OTHERS]),
    )


def _scene(view: View, candidate: Candidate, kind: int, example: Example) -> Scene:
    events = example.trail or _sketch(view, candidate, kind, example)
    return Scene(
        example.object,
        example.count,
        tuple((view.words[name].label, view.sites[site]) for name, site in events),
        example.at_end,
    )


def _sketch(view: View, candidate: Candidate, kind: int, example: Example) -> list[tuple[int, int]]:
    """What is known of a scenario without a trail: where it began and ended."""
    word = ways.of(view.product).word(candidate.rule, kind)
    events = view.assigned(candidate.first, candidate.second, candidate.rule)
    ends = [(events[word[0]], example.site), (events[word[-1]], example.last_site)]
    return ends if len(word) > 1 or example.site != example.last_site else ends[:1]


def _good(view: View, case: _Case) -> Scene | None:
    """The usual way to keep the rule, from the nearest place."""
    product, rule = view.product, case.candidate.rule
    keeping = [
        ending
        for ending in case.pair.endings
        if product.satisfied[ending.kind] >> rule & 1 and product.letters[ending.kind] == BOTH and ending.examples
    ]
    if not keeping:
        return None
    usual = max(keeping, key=lambda ending: ending.count)
    bad = view.sites[case.ending.examples[0].site]

    def distance(example: Example) -> tuple[bool, int]:
        site = view.sites[example.site]
        return site.file != bad.file, abs((site.line or 0) - (bad.line or 0))

    nearest = min(usual.examples, key=distance)
    begins = ways.of(product).shape(rule).begins
    if nearest.trail and begins != BOTH:
        # A long scenario has lost its beginning, which is what the rule is about.
        start = view.assigned(case.candidate.first, case.candidate.second, rule)[begins - 1], nearest.site
        if start not in nearest.trail:
            nearest = nearest._replace(trail=(start, *nearest.trail[1 - MOST_TRAIL :]))
    return _scene(view, case.candidate, usual.kind, nearest)
