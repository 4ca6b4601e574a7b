"""What was learned: anomalies with good and bad uses beside each other, rules, the tuner's moves; as text and JSON."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from lawful.diagnostics import all_encodable, printable
from lawful.learning import strategies
from lawful.learning.event_numbering import NO_OBJECT
from lawful.learning.window_protocol import RuleState
from lawful.reports.core import count, known_before
from lawful.reports.json import known_json, opening
from lawful.reports.sources import SourceLines
from lawful.reports.text import WIDTH, Line, Span, folded, labelled

if TYPE_CHECKING:
    from lawful.learning.learner import AnomalyReport, Learner
    from lawful.learning.window_protocol import Anomaly, ExampleScenario, Survey
    from lawful.reports.fingerprints import Mark

_MOST_SCENES = 3  # failing uses of one anomaly that are shown
_MOST_OTHERS = 5
_LEAST_SOURCE = 16  # columns, or the line of source goes below
_STATES = {RuleState.ENFORCING: "enforcing", RuleState.LEARNING: "learning", RuleState.DEAD: "dead"}


# -- JSON --------------------------------------------------------------------------------------------------------------


def render_json(
    learner: Learner,
    traces: list[str],
    *,
    marks: Sequence[Mark] = (),
    hidden: Sequence[Mark] = (),
    baseline: str | None = None,
) -> bytes:
    """The whole report, with a newline at its end.

    `marks` are those of all anomalies, `hidden` those of them that the file `baseline` knows.
    """
    report = {**plain_json(learner), "traces": all_encodable(traces), **opening("learn")}
    if marks:
        pairs = zip(report["anomalies"], marks, strict=True)
        report["anomalies"] = [{**data, "mark": mark.to_json()} for data, mark in pairs if mark not in hidden]
    if baseline is not None:
        report["baseline"] = known_json(baseline, hidden)
    return msgspec.json.encode(report) + b"\n"


def plain_json(learner: Learner) -> dict[str, Any]:
    """The report in JSON types, and in characters that UTF-8 can say."""
    plain: dict[str, Any] = all_encodable(learner.to_json())
    return plain


# -- text --------------------------------------------------------------------------------------------------------------


def report_lines(
    learner: Learner,
    found: AnomalyReport,
    *,
    width: int = WIDTH,
    folder: str | os.PathLike[str] = ".",
    rules: bool = False,
    moves: bool = False,
    hidden: int = 0,
    known: bool = False,
) -> Iterator[Line]:
    """The whole report. `folder`: that of the project, below which the files of events are.

    `hidden`: how many anomalies a baseline knows; they are not among those that were found. With `known`, those are
    shown, too, that earlier runs had.
    """
    if rules:
        yield from rule_lines(learner)
        yield []
    source = SourceLines(folder)
    for number, anomaly in enumerate(found, 1):
        yield from anomaly_lines(number, anomaly, source, width)
        yield []
    if known:
        yield from known_lines(found.known, len(found), source, width)
    if moves:
        yield from move_lines(learner)
        yield []
    yield from summary_lines(learner, found, width, hidden=hidden)
    yield from no_news(found.known, "" if known else "--known", width)


def known_lines(known: Sequence[Anomaly], before: int, source: SourceLines, width: int = WIDTH) -> Iterator[Line]:
    """Anomalies that earlier runs had, too. So many others stand before them."""
    if known:
        yield [Span("Earlier runs had these, too:", "bold")]
        yield []
    for number, anomaly in enumerate(known, before + 1):
        yield from anomaly_lines(number, anomaly, source, width)
        yield []


def no_news(known: Sequence[Anomaly], option: str, width: int = WIDTH) -> Iterator[Line]:
    """How many anomalies earlier runs had, too. If there is an option that shows them, they are not shown."""
    if known:
        shows = f"; {option} shows {'it' if len(known) == 1 else 'them'}" if option else ""
        yield from ([Span(part)] for part in folded(known_before(len(known)) + shows, width))


def anomaly_lines(number: int, anomaly: Anomaly, source: SourceLines, width: int = WIDTH) -> Iterator[Line]:
    """All about one anomaly."""
    head = f"{number}. "
    first, *rest = folded(printable(anomaly.message), width - len(head))
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


def _scene(label: str, scene: ExampleScenario, source: SourceLines, width: int) -> Iterator[Line]:
    """The events of an object, a line each, with their lines of source."""
    rows = [(printable(str(site)), printable(name), source.line(site.file, site.line)) for name, site in scene.events]
    places = max((len(place) for place, _, _ in rows), default=0)
    names = max((len(name) for _, name, _ in rows), default=0)
    room = width - 12 - places - names - 6
    for place, name, line in rows:
        text = f"{place:<{places}}  {name:<{names}}"
        if line is not None and room >= _LEAST_SOURCE:
            yield from _kept(label, f"{text}  | {_cut(line, room)}")
        else:
            yield from labelled(label, text.rstrip(), width)
            if line is not None:
                yield from _kept("", f"  | {_cut(line, width - 16)}")
        label = ""
    notes = []
    if scene.count > 1:
        notes.append(f"{scene.count:,} times from this place")
    if scene.at_end:
        notes.append("cut off by the end of the trace")
    if notes:
        yield from labelled(label, f"({', '.join(notes)})", width)


def _kept(label: str, text: str) -> Iterator[Line]:
    """A line that fits already: folding would tear its columns apart."""
    yield [Span(f"  {label}".ljust(12), "dim"), Span(text)]


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def rule_lines(learner: Learner, *, enforced: bool = False) -> Iterator[Line]:
    """Every rule, or every enforced one, with its counts."""
    yield [Span(f"{'satisfied':>10} {'failed':>10} {'places':>6}  {'state':<9}  {'pattern':<9}  rule", "bold")]
    for rule in learner.rules(all=not enforced):
        if enforced and rule.state != RuleState.ENFORCING:
            continue
        counts = f"{rule.satisfied:>10,} {rule.failed:>10,} {rule.contexts:>6,}"
        kind = f"{_STATES[rule.state]:<9}  {printable(rule.pattern):<9}"
        yield [Span(f"{counts}  {kind}  {printable(str(rule))}")]


def move_lines(learner: Learner) -> Iterator[Line]:
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


def summary_lines(learner: Learner, found: AnomalyReport, width: int = WIDTH, *, hidden: int = 0) -> Iterator[Line]:
    """How much of what, and under which parameters."""
    parts = [Span(count(len(found), "anomaly", "anomalies"), "bold red" if found else "green")]
    parts += _over_budget(learner, found)
    if hidden:
        parts.append(Span(f", {hidden:,} known and hidden"))
    yield [*parts, Span(f" in {count(learner.events, 'event')}")]
    yield from learned_lines(learner, width)


def over_budget(learner: Learner, shown: int) -> list[Span]:
    """How many more anomalies there are than those that are shown."""
    return _over_budget(learner, learner.anomalies()) if shown == learner.parameters.budget else []


def _over_budget(learner: Learner, found: AnomalyReport) -> list[Span]:
    if not found.omitted:
        return []
    return [Span(f" ({found.omitted:,} more over the budget of {learner.parameters.budget:,})")]


def number_of_rules(learner: Learner) -> str:
    """How much was learned, in a few words."""
    pairs = _survey(learner).pairs  # of the rules of a pair, one speaks
    return f"{count(pairs, 'rule')} learned" if pairs else "no rules learned yet"


def learned_lines(learner: Learner, width: int = WIDTH) -> Iterator[Line]:
    """What is known beside the anomalies, and under which parameters."""
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
