"""A learner in JSON types: for reports, the dashboard and programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lawful.learning.event_numbering import EventNumbering
    from lawful.learning.learner import Learner
    from lawful.learning.window_protocol import Anomaly, ExampleScenario, Rule


def learner_json(learner: Learner) -> dict[str, Any]:
    """The whole learner. Programs can rely on the first four keys."""
    found, window, numbering = learner.anomalies(), learner.window, learner.numbering
    parameters = learner.parameters
    return {
        "events": learner.events,
        "window": parameters.window,
        "rules": [rule_json(rule) for rule in learner.rules(all=parameters.all_rules)],
        "anomalies": [anomaly_json(anomaly, numbering) for anomaly in found],
        "history_rules": [rule_json(rule) for rule in learner.history_rules().rules()],
        "omitted": found.omitted,
        "reported_before": [anomaly_json(anomaly, numbering) for anomaly in found.known],
        "skipped_events": dict(numbering.passed),
        "pruned_pairs": window.pruned,
        "given_up_pairs": window.given_up,
        "given_up_histories": window.given_up_histories,
        "parameters": parameters.to_json(),
        "moves": [move._asdict() for move in learner.moves],
    }


def rule_json(rule: Rule) -> dict[str, Any]:
    """A rule with its counts."""
    return {
        "a": rule.a.label,
        "b": rule.b.label,
        "pattern": rule.pattern,
        "satisfied": rule.satisfied,
        "failed": rule.failed,
        "contexts": rule.contexts,
        "state": rule.state.name.lower(),
        **_history_json(rule),
    }


def anomaly_json(anomaly: Anomaly, numbering: EventNumbering) -> dict[str, Any]:
    """An anomaly with its scenarios. Objects have the ids that they have in the trace."""

    def scenario(each: ExampleScenario) -> dict[str, Any]:
        return {
            "object": numbering.original(each.object),
            "count": each.count,
            "at_end": each.at_end,
            "events": [{"name": name, "file": site.file, "line": site.line} for name, site in each.events],
        }

    bad = [scenario(each) for each in anomaly.bad]
    return {
        "rule": _name_json(anomaly.rule),
        "score": anomaly.score,
        "satisfied": anomaly.rule.satisfied,
        "failed": anomaly.rule.failed,
        "object": bad[0]["object"] if bad else None,
        "sites": [str(site) for site in anomaly.sites],
        "events": bad[0]["events"] if bad else [],
        "message": anomaly.message,
        "changed": anomaly.changed,
        "contexts": anomaly.rule.contexts,
        "bad": bad,
        "good": scenario(anomaly.good) if anomaly.good else None,
        "others": [_name_json(rule) for rule in anomaly.others],
    }


def _name_json(rule: Rule) -> dict[str, Any]:
    return {"a": rule.a.label, "b": rule.b.label, "pattern": rule.pattern, "text": str(rule), **_history_json(rule)}


def _history_json(rule: Rule) -> dict[str, Any]:
    """What only rules about whole histories have."""
    return {"whole_history": True, "alternatives": [word.label for word in rule.more]} if rule.whole_history else {}
