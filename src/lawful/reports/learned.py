"""The report on a learner, as text: anomalies with good and bad uses beside each other, rules, the tuner's moves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lawful.diagnostics import printable
from lawful.engine.wording import count, cut
from lawful.learning import strategies
from lawful.learning.event_numbering import NO_OBJECT
from lawful.learning.window_protocol import RuleState
from lawful.reports.core import known_before
from lawful.reports.text import LABEL, WIDTH, Line, Span, folded, labelled, paragraph, unfolded

if TYPE_CHECKING:
    from lawful.learning.learner import Learner
    from lawful.learning.window_protocol import ExampleScenario, Survey
    from lawful.reports.core import Report
    from lawful.reports.findings import Item
    from lawful.reports.sources import SourceLines

_MOST_SCENES = 3  # failing uses of one anomaly that are shown
_MOST_OTHERS = 5
_LEAST_SOURCE = 16  # columns, or the line of source goes below


def report_lines(
    report: Report,
    learner: Learner,
    *,
    width: int = WIDTH,
    rules: bool = False,
    moves: bool = False,
    known: bool = False,
) -> Iterator[Line]:
    """The whole report; with `known`, those anomalies are shown, too, that earlier runs had."""
    if rules:
        yield from rule_lines(learner)
        yield []
    for number, item in enumerate(report.items, 1):
        yield from anomaly_lines(number, item, report.source, width)
    if known:
        yield from known_lines(report, len(report.items), width)
    if moves:
        yield from _move_lines(learner)
        yield []
    parts = [Span(count(len(report.items), "anomaly", "anomalies"), "bold red" if report.items else "green")]
    parts += over_budget(report, learner)
    if report.hidden:
        parts.append(Span(f", {len(report.hidden):,} known and hidden"))
    yield [*parts, Span(f" in {count(learner.events, 'event')}")]
    yield from learned_lines(learner, width)
    yield from no_news(report, "" if known else "--known", width)


def known_lines(report: Report, before: int, width: int = WIDTH) -> Iterator[Line]:
    """Anomalies that earlier runs had, too. So many others stand before them."""
    if report.known:
        yield [Span("Earlier runs had these, too:", "bold")]
        yield []
    for number, item in enumerate(report.known, before + 1):
        yield from anomaly_lines(number, item, report.source, width)


def no_news(report: Report, option: str, width: int = WIDTH) -> Iterator[Line]:
    """How many anomalies earlier runs had, too. If there is an option that shows them, they are not shown."""
    known = len(report.known)
    if known:
        shows = f"; {option} shows {'it' if known == 1 else 'them'}" if option else ""
        yield from paragraph(known_before(known) + shows, width)


def anomaly_lines(number: int, item: Item, source: SourceLines, width: int = WIDTH) -> Iterator[Line]:
    """All about one anomaly, and a blank line."""
    anomaly = item.finding.anomaly
    assert anomaly is not None
    head = f"{number}. "
    first, *rest = folded(printable(item.message), width - len(head))
    yield [Span(head, "bold red"), Span(first, "bold")]
    yield from ([Span(" " * len(head) + part, "bold")] for part in rest)
    rule = anomaly.rule
    facts = f"{printable(str(rule))}   (score {anomaly.score:.2f}, {count(rule.contexts, 'place')})"
    yield from labelled("rule", facts, width)
    for scene in anomaly.bad[:_MOST_SCENES]:
        yield from _scene("not here", scene, source, width)
    left = [str(site) for site in anomaly.sites[_MOST_SCENES:]]
    if left:
        yield from labelled("nor at", printable(", ".join(left)), width)
    if anomaly.good is not None:
        yield from _scene("as here", anomaly.good, source, width)
    for at, other in enumerate(anomaly.others[:_MOST_OTHERS]):
        yield from labelled("" if at else "breaks", printable(str(other)), width)
    if len(anomaly.others) > _MOST_OTHERS:
        yield from labelled("", f"and {count(len(anomaly.others) - _MOST_OTHERS, 'other rule')}", width)
    yield []


def _scene(label: str, scene: ExampleScenario, source: SourceLines, width: int) -> Iterator[Line]:
    """The events of an object, a line each, with their lines of source."""
    rows = [(printable(str(site)), printable(name), source.line(site.file, site.line)) for name, site in scene.events]
    places = max((len(place) for place, _, _ in rows), default=0)
    names = max((len(name) for _, name, _ in rows), default=0)
    room = width - LABEL - places - names - 6
    for place, name, line in rows:
        text = f"{place:<{places}}  {name:<{names}}"
        if line is not None and room >= _LEAST_SOURCE:
            yield unfolded(label, f"{text}  | {cut(line, room)}")
        else:
            yield from labelled(label, text.rstrip(), width)
            if line is not None:
                yield unfolded("", f"  | {cut(line, width - 16)}")
        label = ""
    notes = []
    if scene.count > 1:
        notes.append(f"{scene.count:,} times from this place")
    if scene.at_end:
        notes.append("cut off by the end of the trace")
    if notes:
        yield from labelled(label, f"({', '.join(notes)})", width)


def rule_lines(learner: Learner, *, enforced: bool = False) -> Iterator[Line]:
    """Every rule, or every enforced one, with its counts."""
    yield [Span(f"{'satisfied':>10} {'failed':>10} {'places':>6}  {'state':<9}  {'pattern':<9}  rule", "bold")]
    for rule in learner.rules(all=not enforced):
        if enforced and rule.state != RuleState.ENFORCING:
            continue
        counts = f"{rule.satisfied:>10,} {rule.failed:>10,} {rule.contexts:>6,}"
        kind = f"{rule.state.name.lower():<9}  {printable(rule.pattern):<9}"
        yield [Span(f"{counts}  {kind}  {printable(str(rule))}")]


def _move_lines(learner: Learner) -> Iterator[Line]:
    """What the tuner did, and a bar for the anomalies that it met: each move in a line."""
    moves = learner.moves
    if not moves:
        yield [Span("the tuner made no move")]
        return
    budget = learner.parameters.budget
    most = max(budget - move.before for move in moves) or 1
    yield [Span(f"{'event':>12}  {'threshold':<16} {'from':>8} {'to':>8}  anomalies", "bold")]
    for move in moves:
        met = round(budget - move.before)
        bar = "#" * -(-20 * met // round(most)) if met > 0 else ""
        change = f"{move.variable:<16} {move.old:>8g} {move.new:>8g}"
        yield [Span(f"{move.event:>12,}  {change}  "), Span(f"{bar:<20}", "cyan"), Span(f" {met:,}")]


def over_budget(report: Report, learner: Learner) -> list[Span]:
    """How many more anomalies there are than the budget lets through."""
    if not report.over_budget:
        return []
    return [Span(f" ({report.over_budget:,} more over the budget of {learner.parameters.budget:,})")]


def number_of_rules(learner: Learner) -> str:
    """How much was learned, in a few words."""
    pairs = _survey(learner).pairs  # of the rules of a pair, one speaks
    return f"{count(pairs, 'rule')} learned" if pairs else "no rules learned yet"


def learned_lines(learner: Learner, width: int = WIDTH) -> Iterator[Line]:
    """The numbers of rules, the window and the strategy."""
    now = learner.parameters
    survey = _survey(learner)
    states = f"{survey.enforcing:,} enforced, {survey.learning:,} still learned, {survey.dead:,} dead"
    pruned = f", {count(learner.window.pruned, 'pair')} forgotten" if learner.window.pruned else ""
    yield from labelled("rules", states + pruned, width)
    thresholds = ", ".join(f"{name} {value:g}" for name, value in now.thresholds.items())
    yield from labelled("window", f"{now.window:,}", width)
    yield from labelled("strategy", f"{now.strategy}: {thresholds}", width)
    without = learner.numbering.passed.get(NO_OBJECT, 0)
    if without:
        yield from labelled("passed by", f"{count(without, 'event')} without an object", width)
    yield from warning_lines(learner, width)


def warning_lines(learner: Learner, width: int = WIDTH) -> Iterator[Line]:
    """What makes the counts doubtful."""
    if learner.window.given_up:
        most = learner.parameters.most_pairs
        text = f"there were more than {most:,} pairs of events at a time: counts may be too small"
        yield from labelled("warning", text, width)


def _survey(learner: Learner) -> Survey:
    now = learner.parameters
    return learner.window.survey(strategies.parse(now.strategy).program(now.thresholds), False)
