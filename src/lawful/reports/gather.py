"""From a run to its report: of a program under watch, of traces, of a learner."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from lawful.engine import wording
from lawful.reports.core import Judged, Report, State, result_message
from lawful.reports.findings import Item
from lawful.reports.fingerprints import Fingerprinter, Mark, Marks

if TYPE_CHECKING:
    from lawful.engine.findings import Finding
    from lawful.engine.run import LawRun
    from lawful.engine.trace_run import LawResult, TraceRun
    from lawful.learning.learner import Learner
    from lawful.learning.window_protocol import Anomaly
    from lawful.reports.baseline import Baseline
    from lawful.reports.sequence import Diagram
    from lawful.reports.sources import SourceLines


def of_live(
    run: LawRun, source: SourceLines, *, command: str = "run", baseline: str | None = None, pictures: bool = False
) -> Report:
    """The report on a program under watch; with `pictures`, violations of views come with their messages."""
    learner = None if run.learner is None else run.learner.learner
    hidden = run.log.hidden
    # Those that are hidden are counted, too, so that all keep their numbers.
    mark_of = Marks([*run.findings, *hidden], source).of
    broken = {finding.law for finding in run.findings}
    return Report(
        command=command,
        items=[
            Item(finding, wording.message(finding), mark_of, diagram=_diagram(run, finding) if pictures else None)
            for finding in run.findings
        ],
        laws=[Judged(each.law, "broken" if each.law.name in broken else "kept") for each in run.laws],
        source=source,
        events=run.events,
        hidden=[mark_of(finding) for finding in hidden],
        baseline=baseline,
        violations=run.violations,
        seconds=run.seconds,
        judging=run.judging,
        threads=run.threads,
        processes=run.processes,
        dropped=run.dropped,
        omitted=run.log.omitted,
        suppressed=run.log.suppressed,
        over_budget=0 if learner is None else learner.anomalies().omitted,
        known=_known(learner, source),
        errors=list(run.errors),
        warnings=run.warnings,
        confidence=None if run.tracking is None else run.tracking.confidence.summary(),
        unsampled_laws=() if run.tracking is None else run.tracking.unsampled_laws,
        learner=learner,
    )


def _diagram(run: LawRun, finding: Finding, trace: str = "") -> Diagram | None:
    if finding.rejection is None and not finding.messages:
        return None
    from lawful.reports.violated_view import violated_view  # few need it, and it takes a while

    return violated_view(run, finding, name=trace)


class TraceFindings:
    """The findings in traces with their marks, in order, and which of them a baseline knows."""

    def __init__(self, source: SourceLines, baseline: Baseline | None) -> None:
        self.runs: list[TraceRun] = []
        self.source = source
        self._baseline = baseline
        self._fingerprinter = Fingerprinter(source)
        self._found: list[tuple[TraceRun, Finding]] = []
        self._marks: dict[int, Mark] = {}  # by the ids of findings, which live as long as their runs
        self._known: set[int] = set()  # ids, too

    def add(self, run: TraceRun) -> None:
        """A trace was judged. What a baseline knows is hidden."""
        self.runs.append(run)
        for finding in run.findings:
            self._found.append((run, finding))
            self._marks[id(finding)] = self._fingerprinter.mark(finding)
        if self._baseline is not None:
            self._hide(run, [each for each in run.findings if self._baseline.knows(self.mark_of(each))])

    def mark_of(self, finding: Finding) -> Mark:
        return self._marks[id(finding)]

    def is_known(self, finding: Finding) -> bool:
        """Whether a baseline knows this finding, by its number before its whole trace is judged."""
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
        return list(self._marks.values())

    @property
    def shown(self) -> list[tuple[TraceRun, Finding]]:
        return [each for each in self._found if id(each[1]) not in self._known]

    @property
    def hidden(self) -> list[Mark]:
        return [mark for finding, mark in self._marks.items() if finding in self._known]


def of_traces(found: TraceFindings, *, baseline: str | None = None, pictures: bool = False) -> Report:
    """The report on traces; with `pictures`, violations of views come with their messages."""
    runs = found.runs
    tracking = runs[-1].law_run.tracking if runs else None
    return Report(
        command="check",
        items=[
            Item(
                finding,
                wording.trace_message(finding, run.events),
                found.mark_of,
                run.name,
                _diagram(run.law_run, finding, run.name) if pictures else None,
            )
            for run, finding in found.shown
        ],
        laws=[_judged(run, result) for run in runs for result in run.results],
        source=found.source,
        events=sum(run.events for run in runs),
        hidden=found.hidden,
        baseline=baseline,
        violations=sum(run.law_run.violations for run in runs),
        seconds=sum(run.seconds for run in runs),
        omitted=sum(run.law_run.log.omitted for run in runs),
        suppressed=sum(run.law_run.log.suppressed for run in runs),
        errors=[run.error.render() for run in runs if run.error is not None],
        warnings=[f"{result.law.name}: {text}" for run in runs for result in run.results for text in result.warnings],
        traces=[run.name for run in runs],
        runs=runs,
        confidence=None if tracking is None else tracking.confidence.summary(),
    )


def _judged(run: TraceRun, result: LawResult) -> Judged:
    name = result.law.name
    state: State = "kept" if result.accepted else "undecided" if result.accepted is None else "broken"
    if state == "broken" and not any(finding.law == name for finding in run.findings):
        state = "kept"  # as far as the report goes: all is known, or suppressed
    return Judged(result.law, state, run.name, result_message(result, run.events))


def of_learner(
    learner: Learner,
    findings: Sequence[Finding],
    traces: list[str],
    source: SourceLines,
    *,
    hidden: Sequence[Finding] = (),
    seconds: float | None = None,
    baseline: str | None = None,
) -> Report:
    """The report on learned rules and anomalies; `hidden` are the anomalies that a baseline knows."""
    mark_of = Marks(findings, source).of
    gone = set(map(id, hidden))
    return Report(
        command="learn",
        items=[Item(each, wording.message(each), mark_of) for each in findings if id(each) not in gone],
        laws=[],
        source=source,
        events=learner.events,
        hidden=[mark_of(each) for each in hidden],
        baseline=baseline,
        seconds=seconds,
        over_budget=learner.anomalies().omitted,
        known=_known(learner, source),
        traces=traces,
        learner=learner,
    )


def anomaly_findings(anomalies: Iterable[Anomaly]) -> list[Finding]:
    """Anomalies as findings like all others."""
    from lawful.engine.live_learning import as_finding

    return [as_finding(each) for each in anomalies]


def _known(learner: Learner | None, source: SourceLines) -> list[Item]:
    """Anomalies that earlier runs had, too."""
    if learner is None or learner.reported_before is None:
        return []
    findings = anomaly_findings(learner.anomalies().known)
    mark_of = Marks(findings, source).of
    return [Item(each, wording.message(each), mark_of) for each in findings]
