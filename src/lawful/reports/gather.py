"""From what was done to what is to be reported: of a program under watch, of traces, of a learner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lawful.engine import wording
from lawful.reports.core import Item, Judged, Report, State, TraceRead, ranked, result_message
from lawful.reports.fingerprints import Fingerprinter, Mark, marks

if TYPE_CHECKING:
    from lawful.confidence.summary import ClassSummary
    from lawful.engine.findings import Finding
    from lawful.engine.run import LawRun
    from lawful.engine.trace_run import LawResult, TraceRun
    from lawful.learning.learner import AnomalyReport, Learner
    from lawful.reports.baseline import Baseline
    from lawful.reports.sequence import Diagram
    from lawful.reports.sources import SourceLines


def of_live(
    run: LawRun, source: SourceLines, *, command: str = "run", baseline: str | None = None, pictures: bool = False
) -> Report:
    """The report on a program under watch; with `pictures`, violations of views come with their messages."""
    learner = None if run.learner is None else run.learner.learner
    confidence = _confidence(run)
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
        errors=list(run.errors),
        warnings=run.warnings,
        confidence=confidence,
        learner=learner,
    )


def _confidence(run: LawRun) -> list[ClassSummary]:
    return [] if run.tracking is None else run.tracking.confidence.summary()


def _diagram(run: LawRun, finding: Finding, trace: str = "") -> Diagram | None:
    if finding.rejection is None and not finding.messages:
        return None
    from lawful.reports.violated_view import violated_view  # few need it, and it takes a while

    return violated_view(run, finding, name=trace)


def marks_of(run: LawRun, source: SourceLines) -> list[Mark]:
    """The marks of a run's findings. Those that are hidden are counted, too, so that all keep their numbers."""
    return all_marks(run, source)[: len(run.findings)]


def all_marks(run: LawRun, source: SourceLines) -> list[Mark]:
    """The marks of the findings, then of those that are hidden."""
    return marks([*run.findings, *run.log.hidden], source)


class TraceFindings:
    """What was found in traces: the findings with their marks, in order, and which of them a baseline knows."""

    def __init__(self, source: SourceLines, baseline: Baseline | None) -> None:
        self.runs: list[TraceRun] = []
        self.source = source
        self._baseline = baseline
        self._fingerprinter = Fingerprinter(source)
        self._found: list[tuple[TraceRun, Finding, Mark]] = []
        self._known: set[int] = set()  # their ids: findings live as long as their runs

    def add(self, run: TraceRun) -> None:
        """A trace was judged. What a baseline knows is hidden."""
        self.runs.append(run)
        known = []
        for finding in run.findings:
            mark = self._fingerprinter.mark(finding)
            self._found.append((run, finding, mark))
            if self._baseline is not None and self._baseline.knows(mark):
                known.append(finding)
        self._hide(run, known)

    def is_known(self, finding: Finding) -> bool:
        """Does a baseline know this finding, as far as that can be told before its trace is judged?"""
        if self._baseline is None:
            return False
        return self._baseline.knows(self._fingerprinter.mark(finding, keep=False))

    def hide_all(self) -> None:
        """All were written into the baseline."""
        for run in self.runs:
            self._hide(run, run.findings)

    def _hide(self, run: TraceRun, known: list[Finding]) -> None:
        run.law_run.log.hide(known)
        self._known.update(map(id, known))

    @property
    def marks(self) -> list[Mark]:
        return [mark for _, _, mark in self._found]

    @property
    def shown(self) -> list[tuple[TraceRun, Finding, Mark]]:
        return [each for each in self._found if id(each[1]) not in self._known]

    @property
    def hidden(self) -> list[tuple[TraceRun, Finding, Mark]]:
        return [each for each in self._found if id(each[1]) in self._known]


def of_traces(found: TraceFindings, *, baseline: str | None = None, pictures: bool = False) -> Report:
    """The report on traces; with `pictures`, violations of views come with their messages."""
    runs = found.runs
    confidence = _confidence(runs[-1].law_run) if runs else []
    items = [
        Item(
            finding,
            mark,
            wording.trace_message(finding, run.events),
            run.name,
            _diagram(run.law_run, finding, run.name) if pictures else None,
        )
        for run, finding, mark in found.shown
    ]
    return Report(
        command="check",
        items=ranked(items),
        laws=[_judged(run, result) for run in runs for result in run.results],
        source=found.source,
        events=sum(run.events for run in runs),
        seconds=sum(run.seconds for run in runs),
        omitted=sum(run.law_run.log.omitted for run in runs),
        suppressed=sum(run.law_run.log.suppressed for run in runs),
        hidden=len(found.hidden),
        baseline=baseline,
        errors=[run.error.render() for run in runs if run.error is not None],
        warnings=[f"{result.law.name}: {text}" for run in runs for result in run.results for text in result.warnings],
        traces=[TraceRead(run.name, run.events, None if run.error is None else run.error.message) for run in runs],
        confidence=confidence,
    )


def _judged(run: TraceRun, result: LawResult) -> Judged:
    name = result.law.name
    state: State = "kept" if result.accepted else "undecided" if result.accepted is None else "broken"
    if state == "broken" and not any(finding.law == name for finding in run.findings):
        state = "kept"  # as far as the report goes: all is known, or suppressed
    return Judged(result.law, state, run.name, result_message(result, run.events))


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
