"""Broken rules about whole histories, as anomalies: put together by cause, with scenarios to show."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from lawful.learning import wording
from lawful.learning.history_patterns import IndexedHistory
from lawful.learning.history_scores import BrokenHistoryRule, Key
from lawful.learning.learner_view import LearnerView
from lawful.learning.ranking import BAR, MOST_OTHERS, MOST_SCENARIOS
from lawful.learning.violation_kinds import Breach
from lawful.learning.window_protocol import (
    ANY,
    BEGINS,
    ENDS,
    MOST_TRAIL,
    Anomaly,
    ExampleScenario,
    HistoryExample,
    Rule,
    RuleState,
    Word,
)

_OMISSION_BAR = 0.3
"""The bar for what looks like a mistake by more than its counts, see `HistoryScores`."""


def groups(cases: Iterable[BrokenHistoryRule]) -> list[list[BrokenHistoryRule]]:
    """Cases that seem to have one cause are put together: they are about objects that others had before.

    What is left of a case without those objects stands for itself.
    """
    found: list[list[BrokenHistoryRule]] = []
    seen: dict[Hashable, list[BrokenHistoryRule]] = {}
    for case in cases:
        known = [group for _, each in case.bad if (group := seen.get(_object(each))) is not None]
        left = tuple((history, each) for history, each in case.bad if _object(each) not in seen)
        if known:
            known[0].append(case)
        if not left or case.score < (_OMISSION_BAR if case.rare_omission else BAR):
            continue
        found.append(group := [case._replace(bad=left)])
        seen.update((_object(each), group) for _, each in left)
    return found


def rule_of(
    key: Key, others: Sequence[int], pattern: str, counts: tuple[int, int, int], state: RuleState, words: Sequence[Word]
) -> Rule:
    """A rule about histories. Its counts: those that keep it, that do not, and places."""
    mine = words[key] if isinstance(key, int) else Word(ANY, key)
    first, *more = (words[name] for name in others)
    a, b = (mine, first) if pattern == ENDS else (first, mine)
    return Rule(a, b, pattern, *counts, state, tuple(more), True)


def anomaly(cases: Sequence[BrokenHistoryRule], view: LearnerView) -> Anomaly:
    """What one group is about: the first case speaks."""
    best = cases[0]
    scenarios: dict[int, ExampleScenario] = {}
    for history, example in best.bad:
        scenario = _scenario(history, example, view)
        if best.breach is Breach.FIRST:
            place = history.place(best.key, example)
            scenario = scenario._replace(place=view.sites[place])
        else:
            place = history.last_place(example)
        scenarios.setdefault(place, scenario)
    rules = dict.fromkeys(_enforced_rule(case, view.words) for case in cases)
    rule, *others = rules
    bad = tuple(scenarios.values())[:MOST_SCENARIOS]
    message = wording.of_history(rule, best.breach, best.kept, best.kept + best.broken, bad, best.changed)
    good, more = _good(best, view), tuple(others[:MOST_OTHERS])
    return Anomaly(rule, best.score, bad, good, message, more, best.changed, best.old)


def _enforced_rule(case: BrokenHistoryRule, words: Sequence[Word]) -> Rule:
    pattern = BEGINS if case.breach is Breach.FIRST else ENDS
    return rule_of(case.key, case.others, pattern, case[3:6], RuleState.ENFORCING, words)


def _scenario(history: IndexedHistory, example: HistoryExample, view: LearnerView) -> ExampleScenario:
    """The first and the last events of a history."""
    events: list[tuple[int, int]] = []
    for position, code in enumerate(history.order):
        name = code >> 1
        site = example.sites[history.at[name] + (code & 1)]
        if not (code & 1 and history.order[position - 1] == code - 1 and events[-1] == (name, site)):
            events.append((name, site))
    if len(events) > MOST_TRAIL:
        events = events[: MOST_TRAIL // 2] + events[-(MOST_TRAIL - MOST_TRAIL // 2) :]
    shown = tuple((view.words[name].label, view.sites[site]) for name, site in events)
    return ExampleScenario(example.object, example.count, shown, False)


def _good(case: BrokenHistoryRule, view: LearnerView) -> ExampleScenario | None:
    """The usual way to keep the rule, from the nearest place."""
    history, example = case.bad[0]
    bad = view.sites[history.place(case.key, example)]
    usual = max((each for each in case.good if each.examples), key=lambda each: each.count, default=None)
    if usual is None:
        return None
    nearest = min(usual.examples, key=lambda each: bad.distance(view.sites[usual.place(case.key, each)]))
    return _scenario(usual, nearest, view)


def _object(example: HistoryExample) -> Hashable:
    return example.object, example.seq  # in another trace the number may be that of another object
