"""What whole lives tell and what the window tells, as one list: of what both know, only one speaks."""

from __future__ import annotations

from collections.abc import Iterable

from lawful.learning.window_protocol import Anomaly, Rule

MOST_OTHERS = 16  # rules that are broken for the same cause


def combined(histories: list[Anomaly], others: Iterable[Anomaly]) -> list[Anomaly]:
    """Anomalies of lives and those of a window, the best first. What both tell of is told once.

    That of the window speaks if it knows of the same objects, since it knows more about its two events: how often they
    came, not only in how many lives.
    """
    told = list(histories)
    alone: list[Anomaly] = []
    for anomaly in others:
        at = next((at for at, known in enumerate(told) if _same_cause(anomaly, known)), None)
        if at is None:
            alone.append(anomaly)
        elif told[at].rule.whole_history and _objects(anomaly) == _objects(told[at]):
            told[at] = _united(anomaly._replace(score=max(anomaly.score, told[at].score)), told[at])
        else:
            told[at] = _united(told[at], anomaly)
    return sorted(told + alone, key=lambda anomaly: (not anomaly.changed, -anomaly.score))


def _united(main: Anomaly, other: Anomaly) -> Anomaly:
    rules = dict.fromkeys((*main.others, other.rule, *other.others))
    if not main.rule.whole_history:  # those of lives would say the same again
        rules = dict.fromkeys(rule for rule in rules if not rule.whole_history or rule.more)
    return main._replace(others=tuple(rules)[:MOST_OTHERS])


def _same_cause(one: Anomaly, other: Anomaly) -> bool:
    return not _names(one.rule).isdisjoint(_names(other.rule)) and not _objects(one).isdisjoint(_objects(other))


def _objects(anomaly: Anomaly) -> set[int]:
    return {scene.object for scene in anomaly.bad}


def _names(rule: Rule) -> set[str]:
    return {word.label for word in (rule.a, rule.b, *rule.more)}
