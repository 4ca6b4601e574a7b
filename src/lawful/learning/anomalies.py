"""From broken rules to anomalies: few, ranked and explained."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from functools import cache
from typing import NamedTuple

from lawful.learning import ranking, violation_kinds, wording
from lawful.learning.learner_view import LearnerView
from lawful.learning.ranking import BAR, MOST_OTHERS, MOST_SCENARIOS, Evidence, LateEvents
from lawful.learning.violation_kinds import BOTH, Breach, ViolationKind
from lawful.learning.window_protocol import (
    MOST_EXAMPLES,
    MOST_TRAIL,
    Anomaly,
    Candidate,
    Ending,
    Example,
    ExampleScenario,
    Pair,
    Survey,
)


class _BrokenRule(NamedTuple):
    """A broken rule, one way in which it is broken, and its score."""

    candidate: Candidate
    pair: Pair
    ending: Ending
    violation: ViolationKind
    evidence: Evidence
    score: float
    changed: bool = False  # all earlier runs kept it at this very place


def find(view: LearnerView, survey: Survey) -> list[Anomaly]:
    """The anomalies to report, the best first. Broken rules with one cause are one anomaly."""
    cases = [*_cases(view, survey.candidates, 0.0), *_changes(view)]
    cases.sort(key=lambda case: (not case.changed, -case.score, case.candidate))
    return [_anomaly(view, group) for group in _groups(view, cases)]


def count(view: LearnerView, survey: Survey) -> int:
    """How many `find` would find."""
    return len(_groups(view, _cases(view, survey.candidates, BAR)))


def _cases(view: LearnerView, candidates: Iterable[Candidate], least: float) -> list[_BrokenRule]:
    """Candidates with their scores, the best first, without those that cannot be mistakes or score too little."""
    found: list[_BrokenRule] = []
    counts_of, pair_of = cache(view.window.counts), cache(view.window.pair)
    lates: dict[tuple[int, int, int], LateEvents] = {}
    kinds_of_violations = violation_kinds.of(view.product)
    instead = ranking.Alternatives(view.words)
    for candidate in candidates:
        first, second, rule, kind = candidate
        violation = kinds_of_violations.broken(rule, kind)
        # Most are left out for what their names can be worth, or for their counts: to look at examples takes longer.
        most = ranking.trust(view, first, second) if (first, second) not in view.past.endings else None
        if most is not None and most * ranking.limit(violation) < least:
            continue
        if not ranking.possible(view, candidate, violation):
            continue
        counts = counts_of(first, second)
        if counts is None or (most is not None and most * ranking.at_most(counts, rule, violation) < least):
            continue
        pair = pair_of(first, second)
        if pair is None:
            continue
        ending = next((ending for ending in pair.endings if ending.kind == kind), None)
        late = lates.get((first, second, rule & 1))
        if late is None:
            late = lates[first, second, rule & 1] = ranking.late(view, pair, rule & 1, instead)
        news = ending is not None and ranking.is_news(view, pair, ending)
        if ending is not None and violation.breach is Breach.MISSING and not news:
            ending = ending._replace(
                examples=tuple(each for each in ending.examples if each.object not in late.objects)
            )
        if ending is None or not ending.examples:
            continue  # without an example nothing can be shown
        if not news and ranking.needless(view, candidate, violation):
            continue
        evidence = ranking.weigh(view, candidate, pair, counts, ending, violation, late)
        score = ranking.score(evidence) * (1.0 if news else ranking.trust(view, first, second))
        if score >= least:
            found.append(_BrokenRule(candidate, pair, ending, violation, evidence, score))
    found.sort(key=lambda case: (-case.score, case.candidate))
    return found


def _changes(view: LearnerView) -> Iterator[_BrokenRule]:
    """Where all earlier runs kept a rule and this one never does, however often it is kept elsewhere."""
    product, kinds_of_violations = view.product, violation_kinds.of(view.product)
    for (first, second), places in view.past.places.items():
        pair = view.window.pair(first, second)
        counts = view.window.counts(first, second)
        if pair is None or counts is None:
            continue
        still: dict[int, int] = {}  # by place: what is kept there now
        unsure = 0  # rules for which that is not known of all places
        for ending in pair.endings:
            if len(ending.examples) >= MOST_EXAMPLES:
                unsure |= product.satisfied[ending.kind]
            for example in ending.examples:
                still[example.site] = still.get(example.site, 0) | product.satisfied[ending.kind]
        broken = view.past.broken.get((first, second), {})  # there it is kept sometimes
        places = {site: rules & ~unsure & ~broken.get(site, 0) for site, rules in places.items()}
        before = view.past.endings[first, second]
        for each in pair.endings:
            ending = each._replace(examples=ranking.countable(view, pair, each))
            for rule in _kept_before(view, ending, places, still, before):
                candidate = Candidate(first, second, rule, ending.kind)
                violation = kinds_of_violations.broken(rule, ending.kind)
                examples = tuple(
                    each
                    for each in ending.examples
                    if places.get(each.site, 0) >> rule & 1 and not still[each.site] >> rule & 1
                )
                if ranking.possible(view, candidate, violation):
                    kept = sum(number for kind, number in before.items() if product.satisfied[kind] >> rule & 1)
                    broken_before = sum(before.values()) - kept
                    evidence = Evidence(
                        kept, broken_before, 0, counts.contexts[rule], 1.0, 1.0, violation.breach, news=True
                    )
                    score = ranking.of_change(evidence, ranking.trust(view, first, second))
                    yield _BrokenRule(
                        candidate, pair, ending._replace(examples=examples), violation, evidence, score, True
                    )


def _kept_before(
    view: LearnerView, ending: Ending, places: Mapping[int, int], still: Mapping[int, int], before: Mapping[int, int]
) -> set[int]:
    """Of the rules that are broken where earlier runs kept them: at each place the one that was kept most often."""
    product = view.product
    found = set()
    for example in ending.examples:
        broken = places.get(example.site, 0) & ~still[example.site]
        rules = [rule for rule in range(len(product.size)) if broken >> rule & 1]
        if rules:
            found.add(
                min(
                    rules,
                    key=lambda rule: (
                        -sum(number for kind, number in before.items() if product.satisfied[kind] >> rule & 1),
                        product.size[rule],
                    ),
                )
            )
    return found


def _groups(view: LearnerView, cases: Iterable[_BrokenRule]) -> list[list[_BrokenRule]]:
    """Groups of cases that seem to have one cause. A case below the bar can join a group, but not begin one."""
    groups: list[list[_BrokenRule]] = []
    index: dict[Hashable, list[_BrokenRule]] = {}
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


def _causes(view: LearnerView, case: _BrokenRule) -> Iterator[Hashable]:
    """Two cases have one cause if they have one of these in common."""
    first, second, rule, _ = case.candidate
    yield first, second
    for example in case.ending.examples:
        # A `close` that is missing after `open` is also missing after `read`: another rule, but the same object.
        yield "object", example.object, first
        yield "object", example.object, second
    if case.violation.breach is Breach.MISSING:
        missing = view.assigned(first, second, rule)[case.violation.letter]
        for example in case.ending.examples:
            yield "missing", missing, view.sites[example.site].file


def _anomaly(view: LearnerView, cases: list[_BrokenRule]) -> Anomaly:
    best = cases[0]
    first, second, number, _ = best.candidate
    rule = view.rule(first, second, number)
    bad: dict[int, ExampleScenario] = {}
    for case in cases:
        if case.candidate[:3] == best.candidate[:3]:
            early = case.violation.breach is Breach.FIRST or case.violation == (Breach.MISSING, 0)
            for example in case.ending.examples:
                site = example.site if early else example.last_site
                bad.setdefault(site, _scene(view, case.candidate, case.ending.kind, example, early))
    scenes = tuple(bad.values())[:MOST_SCENARIOS]
    kept, broken = best.evidence.kept, best.evidence.broken
    shape = violation_kinds.of(view.product).shape(number)
    others = dict.fromkeys(case.candidate[:3] for case in cases if case.candidate[:2] != (first, second))
    return Anomaly(
        rule,
        best.score,
        scenes,
        _good(view, best),
        wording.sentence(rule, shape, best.violation, kept, kept + broken, scenes, best.changed),
        tuple(view.rule(*other) for other in list(others)[:MOST_OTHERS]),
        best.changed,
        best.evidence.news is False,
    )


def _scene(
    view: LearnerView, candidate: Candidate, kind: int, example: Example, early: bool = False
) -> ExampleScenario:
    """If `early`, its first event is wrong. The trail of a long scenario no longer has that."""
    events = example.trail or _sketch(view, candidate, kind, example)
    if early and (start := _sketch(view, candidate, kind, example)[0]) not in events:
        events = (start, *events[1 - MOST_TRAIL :])
    return ExampleScenario(
        example.object,
        example.count,
        tuple((view.words[name].label, view.sites[site]) for name, site in events),
        example.at_end,
        view.sites[example.site] if early else None,
    )


def _sketch(view: LearnerView, candidate: Candidate, kind: int, example: Example) -> list[tuple[int, int]]:
    """A scenario without a trail: only where it began and where it ended."""
    word = violation_kinds.of(view.product).word(candidate.rule, kind)
    events = view.assigned(candidate.first, candidate.second, candidate.rule)
    ends = [(events[word[0]], example.site), (events[word[-1]], example.last_site)]
    return ends if len(word) > 1 or example.site != example.last_site else ends[:1]


def _good(view: LearnerView, case: _BrokenRule) -> ExampleScenario | None:
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
    nearest = min(usual.examples, key=lambda example: bad.distance(view.sites[example.site]))
    begins = violation_kinds.of(product).shape(rule).begins
    if nearest.trail and begins != BOTH:
        # A long scenario has lost its beginning, which is what the rule is about.
        start = view.assigned(case.candidate.first, case.candidate.second, rule)[begins - 1], nearest.site
        if start not in nearest.trail:
            nearest = nearest._replace(trail=(start, *nearest.trail[1 - MOST_TRAIL :]))
    return _scene(view, case.candidate, usual.kind, nearest)
