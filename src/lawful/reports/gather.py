"""From what was done to what is to be reported: of a program under watch, of traces, of a learner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lawful.engine import wording
from lawful.reports.core import Item, Judged, Report, State, TraceRead, message, ranked
from lawful.reports.fingerprints import Fingerprinter, Mark, marks

if TYPE_CHECKING:
    from lawful.confidence.summary import ClassSummary
    from lawful.engine.findings import Finding
    from lawful.engine.run import LawRun
    from lawful.engine.trace_run import Case, TraceRun
    from lawful.learning.learner import AnomalyReport, Learner
    from lawful.reports.baseline import Baseline
    from lawful.reports.sequence import Diagram
    from lawful.reports.sources import SourceLines


def of_live(
    run: LawRun, source: SourceLines, *, command: str = "run", baseline: str | None = None, pictures: bool = False
) -> Report:
    """The report on a program under watch; with `pictures`, violations of views come with their messages."""
    learner = None if run.learner is None else run.learner.learner
    confidence = [] if run.tracking is None else run.tracking.confidence.summary()
    broken = {finding.law for finding in run.findings}
    items = [
        Item(finding, mark, wording.message(finding), diagram=_diagram(run, finding) if pictures else None)
        for finding, mark in zip(run.findings, marks_of(run, source), strict=True)
    ]
    return Report(
        command=command,
        items=ranked(items),
        laws=[Judged(each.law, "broken" if each.law.name in broken else "kept") for each in run.laws],
        source=source,
        events=run.events,
        seconds=run.seconds,
        judging=run.judging if run.seconds is not None else None,
        overhead=_overhead(confidence),
        threads=run.threads,
        processes=run.processes,
        dropped=run.dropped,
        omitted=run.log.omitted,
        suppressed=run.log.suppressed,
        over_budget=0 if learner is None else learner.anomalies().omitted,
        known=_known(learner, source),
        hidden=len(run.log.hidden),
        baseline=baseline,
        faults=list(run.faults),
        warnings=run.warnings,
        confidence=confidence,
        learner=learner,
    )


def _diagram(run: LawRun, finding: Finding) -> Diagram | None:
    if finding.rejection is None and not finding.messages:
        return None
    from lawful.reports.violated_view import violated_live  # few need it, and it takes a while

    return violated_live(run, finding)


def marks_of(run: LawRun, source: SourceLines) -> list[Mark]:
    """The marks of a run's findings. Those that are hidden are counted, too, so that all keep their numbers."""
    return all_marks(run, source)[: len(run.findings)]


def all_marks(run: LawRun, source: SourceLines) -> list[Mark]:
    """The marks of the findings, then of those that are hidden."""
    return marks([*run.findings, *run.log.hidden], source)


def of_traces(
    runs: Sequence[TraceRun], found: Sequence[Found], source: SourceLines, *, baseline: str | None = None
) -> Report:
    """The report on traces; `found` is what `findings_in` has given for each of them."""
    shown = [each for each in found if not each.known]
    items = [Item(each.finding, each.mark, each.message, each.run.name, each.diagram) for each in shown]
    return Report(
        command="check",
        items=ranked(items),
        laws=[Judged(case.law, _state(case), run.name, message(run, case)) for run in runs for case in run.cases],
        source=source,
        events=sum(run.events for run in runs),
        seconds=sum(run.seconds for run in runs),
        hidden=len(found) - len(shown),
        baseline=baseline,
        faults=[run.error.render() for run in runs if run.error is not None],
        warnings=[f"{case.law.name}: {text}" for run in runs for case in run.cases for text in case.monitor.warnings()],
        traces=[TraceRead(run.name, run.events, None if run.error is None else run.error.message) for run in runs],
    )


class Found:
    """A law that was broken on a trace."""

    def __init__(self, run: TraceRun, case: Case, finding: Finding, mark: Mark, known: bool) -> None:
        self.run = run
        self.case = case
        self.finding = finding
        self.mark = mark
        self.known = known  # to a baseline
        self.message = message(run, case)
        self.diagram: Diagram | None = None


def findings_in(run: TraceRun, marker: Fingerprinter, baseline: Baseline | None) -> list[Found]:
    """All violations of a trace."""
    found: list[Found] = []
    for case in run.cases:
        if case.finding is not None:
            mark = marker.mark(case.finding)
            found.append(Found(run, case, case.finding, mark, baseline is not None and baseline.knows(mark)))
    return found


def _state(case: Case) -> State:
    if case.finding is not None:
        return "broken"
    return "kept" if case.accepted else "undecided"


def of_learner(
    learner: Learner,
    anomalies: AnomalyReport,
    traces: Sequence[str],
    source: SourceLines,
    *,
    hidden: Sequence[Finding] = (),
    seconds: float | None = None,
    baseline: str | None = None,
) -> Report:
    """The report on what was learned; `hidden` are the anomalies that a baseline knows."""
    from lawful.engine.live_learning import as_finding

    gone = {str(finding.anomaly.rule) for finding in hidden if finding.anomaly is not None}
    findings = [as_finding(each) for each in anomalies if str(each.rule) not in gone]
    known = marks([*findings, *hidden], source)[: len(findings)]
    items = [Item(each, mark, wording.message(each)) for each, mark in zip(findings, known, strict=True)]
    return Report(
        command="learn",
        items=items,
        laws=[],
        source=source,
        events=learner.events,
        seconds=seconds,
        over_budget=anomalies.omitted,
        known=_known(learner, source),
        hidden=len(hidden),
        baseline=baseline,
        traces=[TraceRead(name, 0, None) for name in traces],
        learner=learner,
    )


def _known(learner: Learner | None, source: SourceLines) -> list[Item]:
    """AnomalyReport that earlier runs had, too."""
    if learner is None or learner.reported_before is None:
        return []
    from lawful.engine.live_learning import as_finding

    findings = [as_finding(each) for each in learner.anomalies().known]
    pairs = zip(findings, marks(findings, source), strict=True)
    return [Item(each, mark, wording.message(each)) for each, mark in pairs]


def _overhead(confidence: Sequence[ClassSummary]) -> float | None:
    """Of the whole program, by the moments at which it was measured."""
    series = max((summary.series for summary in confidence), key=len, default=())
    measured = [point.overhead for point in series if point.overhead is not None]
    return sum(measured) / len(measured) if measured else None
