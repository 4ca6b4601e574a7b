"""Anomalies of several origins as one list: of whole histories and of the window, of this process and of others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from lawful.learning.window_protocol import Anomaly, Rule, RuleState

MOST_OTHERS = 16  # rules that are broken for the same cause
MOST_SCENARIOS = 8  # failing ones of one rule that are taken over from other processes

RuleKey = tuple[str, str, str]


def combined(histories: list[Anomaly], others: Iterable[Anomaly]) -> list[Anomaly]:
    """Anomalies of histories and those of a window, the best first. What both report is reported once.

    That of the window is kept if it has the same objects, since it knows more about its two events: how often they
    came, not only in how many histories.
    """
    reported = list(histories)
    alone: list[Anomaly] = []
    for anomaly in others:
        at = next((at for at, known in enumerate(reported) if _same_cause(anomaly, known)), None)
        if at is None:
            alone.append(anomaly)
        elif reported[at].rule.whole_history and _objects(anomaly) == _objects(reported[at]):
            best = max(anomaly.score, reported[at].score)
            reported[at] = _with_rules_of(anomaly._replace(score=best), reported[at])
        else:
            reported[at] = _with_rules_of(reported[at], anomaly)
    return sorted(reported + alone, key=lambda anomaly: (not anomaly.changed, -anomaly.score))


def _with_rules_of(main: Anomaly, other: Anomaly) -> Anomaly:
    rules = dict.fromkeys((*main.others, other.rule, *other.others))
    if not main.rule.whole_history:  # those of histories would say the same again
        rules = dict.fromkeys(rule for rule in rules if not rule.whole_history or rule.more)
    return main._replace(others=tuple(rules)[:MOST_OTHERS])


def _same_cause(one: Anomaly, other: Anomaly) -> bool:
    return not _names(one.rule).isdisjoint(_names(other.rule)) and not _objects(one).isdisjoint(_objects(other))


def _objects(anomaly: Anomaly) -> set[int]:
    return {scenario.object for scenario in anomaly.bad}


def _names(rule: Rule) -> set[str]:
    return {word.label for word in (rule.a, rule.b, *rule.more)}


def rule_key(rule: Rule) -> RuleKey:
    """What is the same for a rule in every process."""
    return rule.a.label, rule.b.label, rule.pattern


def add_by_rule(found: dict[RuleKey, Anomaly], other: Anomaly) -> None:
    """Add an anomaly to others: one for each rule, with the failures of all processes."""
    key = rule_key(other.rule)
    known = found.get(key)
    if known is None:
        found[key] = other
        return
    seen = {scenario.events for scenario in known.bad}
    bad = (*known.bad, *(scenario for scenario in other.bad if scenario.events not in seen))
    found[key] = known._replace(
        score=max(known.score, other.score),
        bad=bad[: max(MOST_SCENARIOS, len(known.bad))],
        good=known.good or other.good,
    )


def with_foreign(
    found: Iterable[Anomaly], foreign: Mapping[RuleKey, Anomaly], current: Callable[[Rule], Rule]
) -> list[Anomaly]:
    """Anomalies with those of other processes whose rules are enforced by what is `current`ly counted of them."""
    merged = {rule_key(anomaly.rule): anomaly for anomaly in found}
    for anomaly in foreign.values():
        rule = current(anomaly.rule)
        if rule.state == RuleState.ENFORCING:
            add_by_rule(merged, anomaly._replace(rule=rule))
    return sorted(merged.values(), key=lambda anomaly: (-anomaly.score, rule_key(anomaly.rule)))
