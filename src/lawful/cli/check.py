"""``lawful check``: any number of laws over any number of traces, in one pass of each."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import IO, TYPE_CHECKING, Any

import click

from lawful import config
from lawful.cli import reporting, sampling_options, trace_input
from lawful.cli.diagrams import Diagrams
from lawful.cli.law_input import load_laws, raise_last
from lawful.cli.options import FILE, NARROW, HeadedCommand, set_option, skip_bad_lines
from lawful.cli.options import store as store_option
from lawful.diagnostics import printable
from lawful.engine import Finding, TraceRun, TraceSettings
from lawful.engine.suppressions import Suppressions
from lawful.engine.wording import count
from lawful.errors import LawfulError
from lawful.events.reader import TraceReader
from lawful.laws.loader import is_law_name
from lawful.laws.protocol import Law
from lawful.reports import gather, traces
from lawful.reports.baseline import KnownFindings
from lawful.reports.formats import format_of
from lawful.reports.gather import TraceFindings
from lawful.reports.text import confidence_lines

if TYPE_CHECKING:
    from lawful.confidence.engine import Confidence, Counted
    from lawful.engine.sample_tracking import SampleTracking

_INTERRUPTED = 130
_HISTORY = 10  # earlier events that are shown, if nothing else is asked
_DATA_WARNING = "law-data"
_ORDER_WARNING = "trace-order"

_EXAMPLES = """
\b
Examples:
  lawful check hash_set.rml --trace run.jsonl
  lawful check *.rml --trace monday.jsonl.gz tuesday.jsonl.gz --format json
  tail -f app.jsonl | lawful check files.rml --trace - --first
  lawful check counts.toml --trace run.jsonl --confidence 0.999
  lawful check worker.view --trace run.jsonl --set diagram=broken.svg
"""
_HEADINGS = {
    "Traces": ("traces", "skip_bad", "first"),
    "Sampling": ("confidence", "error_rate", "store"),
    "Report": ("output", "form", "baseline", "quiet", "no_progress"),
}


class _CheckCommand(HeadedCommand):
    """Takes several traces after one ``--trace``: words that follow it and are not the names of laws."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        spread: list[str] = []
        among_traces = False
        for index, word in enumerate(args):
            if word == "--":
                spread += args[index:]
                break
            after_option = bool(spread) and spread[-1] in ("--trace", "-t")
            if word.startswith("-") and word != "-" and not after_option:
                among_traces = word in ("--trace", "-t") or word.startswith("--trace=")
            elif among_traces and not after_option:
                among_traces = not is_law_name(word)
                if among_traces:
                    spread.append("--trace")
            spread.append(word)
        return super().parse_args(ctx, spread)


@click.command(name="check", cls=_CheckCommand, headings=_HEADINGS, epilog=_EXAMPLES, context_settings=NARROW)
@click.argument("laws", metavar="LAW...", nargs=-1, required=True, type=FILE)
@click.option(
    "--trace",
    "-t",
    "traces",
    metavar="FILE...",
    multiple=True,
    type=FILE,
    help="Check these traces. `-` is standard input, checked as it arrives.",
)
@reporting.report_options("standard output")
@skip_bad_lines
@click.option("--first", is_flag=True, help="Stop at the first violation.")
@sampling_options.sampling_options
@store_option
@set_option
@click.option("--quiet", "-q", is_flag=True, help="Report violations only: no accepted laws, no summary.")
@click.option("--no-progress", is_flag=True, help="Do not show a progress bar.")
def command(
    laws: tuple[str, ...],
    traces: tuple[str, ...],
    form: str | None,
    output: str | None,
    baseline: str | None,
    update_baseline: bool,
    skip_bad: bool,
    first: bool,
    quiet: bool,
    no_progress: bool,
    confidence: float | None,
    error_rate: float | None,
    store: str | None,
    settings: config.Config,
) -> int:
    """Check traces against laws.

    Lawful reads every trace once, whatever the number of laws, in constant memory. It stops reading a file when no
    law can change its verdict; it reads a stream to its end, unless you give --first. The report has all violations:
    where each is, what the law would have accepted there, and which earlier events led to it.

    With --confidence or --error-rate, Lawful checks laws about objects on samples of these, and reports the
    confidence that it reached.

    Exit code: 0, no law was broken; 1, a law was broken; 2, bad usage or bad input.
    """
    if output == "-":
        output = None
    folder = os.fspath(config.find_project(os.getcwd()))
    project = config.load(folder)
    baseline = baseline or settings.baseline or project.baseline
    _look_before(laws, traces, output, baseline)
    form = format_of(form, output)
    known = KnownFindings(baseline, folder, update=update_baseline)
    asked = config.combined(settings.sampling, config.SamplingConfig(confidence, error_rate, store=store))
    _refuse_together(asked, settings.diagram, first)
    picture = sampling_options.look_at_picture(asked.picture, [*laws, *traces, output, asked.store])
    diagram = settings.diagram
    diagrams = None if diagram is None else Diagrams(diagram, [*laws, *traces, output], settings.history)
    loaded = load_laws(laws, settings.functions)
    suppressions = Suppressions((*project.ignore, *settings.ignore), folder)
    history = _HISTORY if settings.history is None else settings.history
    wanted = TraceSettings(skip_bad, first, history, _messages_for(form, diagrams))
    sampling = _Sampling(asked, loaded, traces, picture) if asked.asked else None
    with trace_input.opened(output) as target, trace_input.rare_collections():
        found = TraceFindings(known.source, known.baseline)
        report: _Report
        if form == "text":
            report = _Text(target, quiet, known, found, diagrams)
        else:
            report = _Written(target, form, known, found, diagrams)
        report.to_file = output is not None
        check = _Check(loaded, traces, wanted, report, sampling, suppressions)
        code = check.run(progress=not (quiet or no_progress))
    if diagrams is not None and not (diagrams.drawn or quiet or code == _INTERRUPTED):
        click.echo(f"no trace broke a view, so Lawful did not write {printable(str(diagram))}", err=True)
    return code


def _refuse_together(asked: config.SamplingConfig, diagram: str | None, first: bool) -> None:
    """Refuse options that have no effect, or that contradict each other."""
    if not asked.asked:
        sampling_options.refuse_unused(asked, "report")
        return
    if diagram is not None:
        hint = "leave out --confidence, --error-rate and --set sampling.policy"
        raise LawfulError("usage", "diagrams and sampling cannot be combined", hint=hint)
    if first:
        message = "--first and sampling cannot be combined: a violation is one sample of many"
        hint = "leave out --first, or --confidence, --error-rate and --set sampling.policy"
        raise LawfulError("usage", message, hint=hint)


def _messages_for(form: str, diagrams: Diagrams | None) -> int:
    """How many messages findings about views need, for diagrams or for a report in this format."""
    if diagrams is not None or form != "html":
        return 0 if diagrams is None else diagrams.messages
    from lawful.reports.violated_view import MOST

    return MOST


class _Sampling:
    """Judges laws on samples of the objects in traces; all traces together are one count."""

    def __init__(
        self, asked: config.SamplingConfig, laws: list[Law], traces: tuple[str, ...], picture: str | None
    ) -> None:
        from lawful.engine.sample_tracking import demand

        self._laws = laws
        self._demand = demand(asked)
        self._picture = picture
        self.confidence = self._tracking(None).confidence
        self._history = sampling_options.confidence_history(asked.store, laws)
        self._fingerprints = _fingerprints(traces) if self._history is not None or len(traces) > 1 else {}
        self._counted: dict[str, Counted] = {}
        if self._history is not None:
            self._history.refuse(self._fingerprints)
            self._history.recall(self.confidence)

    def _tracking(self, confidence: Confidence | None) -> SampleTracking:
        from lawful.engine.sample_tracking import SampleTracking

        return SampleTracking(self._laws, self._demand, confidence=confidence)

    @contextmanager
    def count(self, trace: str) -> Iterator[SampleTracking]:
        """Follow the objects of a trace, which are different from those of others."""
        before = self.confidence.counted()
        yield self._tracking(self.confidence)
        after = self.confidence.counted()
        if trace in self._fingerprints:
            self._counted[self._fingerprints[trace]] = {key: each.without(before[key]) for key, each in after.items()}

    def keep(self, *, interrupted: bool = False) -> None:
        """Write the store and the picture. A trace can be added to the store only once: not if it was interrupted."""
        history = None if interrupted else self._history
        sampling_options.keep(self.confidence, history, self._picture, self._counted if history is not None else None)


def _fingerprints(traces: tuple[str, ...]) -> dict[str, str]:
    """What each trace is known by. The lives in it are samples once, so that none may be there twice."""
    found: dict[str, str] = {}
    for trace in traces:
        known = sampling_options.fingerprint(trace)
        if known in found.values():
            hint = "the lives in a trace are samples once: leave it out"
            raise LawfulError("usage", "the same trace is given twice", where=trace, hint=hint)
        found[trace] = known
    return found


def _look_before(laws: tuple[str, ...], traces: tuple[str, ...], output: str | None, baseline: str | None) -> None:
    """Whatever is wrong with the command line comes out before any long work begins."""
    if not traces:
        meant = " ".join(printable(name) for name in laws if not is_law_name(name))
        hint = f"write `--trace {meant}`" if meant else "--trace FILE, or --trace - for standard input"
        raise LawfulError("usage", "there is no trace to check", hint=hint)
    trace_input.look_at_traces(traces)
    if output is not None and os.path.exists(output):
        for path in (*laws, *traces, *([baseline] if baseline else ())):
            if os.path.exists(path) and os.path.samefile(path, output):
                raise LawfulError("usage", "the report would overwrite what is checked", where=output)


class _Check:
    """Traces one after the other, and a report on them."""

    def __init__(
        self,
        laws: list[Law],
        traces: tuple[str, ...],
        settings: TraceSettings,
        report: _Report,
        sampling: _Sampling | None,
        suppressions: Suppressions,
    ) -> None:
        self._laws = laws
        self._traces = traces
        self._settings = settings
        self._report = report
        self._sampling = sampling
        self._suppressions = suppressions
        self._runs: list[TraceRun] = []
        self._warned: set[tuple[str, str]] = set()

    def run(self, *, progress: bool) -> int:
        watched: Callable[[TraceReader], Iterable[list[dict[str, Any]]]] = TraceReader.batches
        if progress and sys.stderr.isatty():
            from lawful.cli.progress import with_progress

            watched = with_progress
        try:
            for trace in self._traces:
                self._read(trace, watched)
                run = self._runs[-1]
                if self._settings.first_only and (run.findings or run.error):
                    break
        except KeyboardInterrupt:
            return self._interrupted()
        if self._sampling is not None:
            self._sampling.keep()
        self._report.end(skipped=len(self._traces) - len(self._runs))
        for text in self._suppressions.warnings(law.name for law in self._laws):
            click.echo(f"warning: {printable(text)}", err=True)
        raise_last([run.error for run in self._runs if run.error])
        return 1 if self._report.found.shown else 0

    def _read(self, trace: str, watched: Callable[[TraceReader], Iterable[list[dict[str, Any]]]]) -> None:
        with nullcontext() if self._sampling is None else self._sampling.count(trace) as tracking:
            run = TraceRun(
                self._laws,
                trace,
                self._settings,
                on_finding=lambda finding: self._report.live(run, finding),
                tracking=tracking,
                suppressions=self._suppressions,
            )
            self._runs.append(run)
            run.run(watched)
        self._report.trace(run)
        self._warn(run)

    def _warn(self, run: TraceRun) -> None:
        if run.bad_lines:
            lines = "line" if run.bad_lines == 1 else "lines"
            click.echo(f"{printable(run.name)}: {run.bad_lines} bad {lines} skipped", err=True)
        for text in run.disorder:
            click.echo(f"warning[{_ORDER_WARNING}]: {printable(run.name)}: {text}", err=True)
        for result in run.results:
            for message in result.warnings:
                if (result.law.name, message) not in self._warned:
                    self._warned.add((result.law.name, message))
                    where = f"{printable(result.law.name)} on {printable(run.name)}"
                    click.echo(f"warning[{_DATA_WARNING}]: {where}: {printable(message)}", err=True)

    def _interrupted(self) -> int:
        """Report what was found, on standard error if not in a file.

        Standard output may be a pipe whose reader was interrupted, too.
        """
        if self._sampling is not None:
            self._sampling.keep(interrupted=True)
        report = self._report
        if not report.to_file:
            report = _Text(sys.stderr, False, report.known, report.found, report.diagrams)
            report.told, report.done = self._report.told, self._report.done
        for run in self._runs:
            if run not in report.done:
                report.trace(run)
        report.interrupted()
        click.echo(f"interrupted after {count(sum(run.events for run in self._runs), 'event')}", err=True)
        return _INTERRUPTED


class _Report:
    """Where results go as they come."""

    def __init__(self, known: KnownFindings, found: TraceFindings, diagrams: Diagrams | None = None) -> None:
        self.known = known
        self.found = found
        self.diagrams = diagrams
        self.to_file = False
        self.told: set[int] = set()  # findings that were shown (their ids: they live as long as the run)
        self.done: list[TraceRun] = []  # traces that were shown

    def live(self, run: TraceRun, finding: Finding) -> None:
        """A finding in a stream, now."""
        self._draw(run, [finding])

    def trace(self, run: TraceRun) -> None:
        """A trace was judged."""
        order = {result.law.name: at for at, result in enumerate(run.results)}  # as they are reported
        self._draw(run, sorted(run.findings, key=lambda finding: order[finding.law]))
        if run not in self.found.runs:
            self.found.add(run)

    def end(self, skipped: int) -> None:
        """All is done, or all but the last traces: write the baseline, if that is asked for; then all is known."""
        written = self.known.settle(self.found.marks)
        if written is not None:
            self.found.hide_all()
        self._write(skipped)
        reporting.notify_baseline_written(self.known.path, written)

    def interrupted(self) -> None:
        """Some traces were read, and one in part. No baseline is written."""
        self._write(0)

    def _write(self, skipped: int) -> None:
        """The end of the report."""

    def _draw(self, run: TraceRun, findings: Iterable[Finding]) -> None:
        if self.diagrams is not None:
            self.diagrams.draw(run.law_run, findings, run.name)


class _Written(_Report):
    """All at once, at the end."""

    def __init__(
        self, target: IO[str], form: str, known: KnownFindings, found: TraceFindings, diagrams: Diagrams | None
    ) -> None:
        super().__init__(known, found, diagrams)
        self._target = target
        self._form = form

    def _write(self, skipped: int) -> None:
        from lawful.reports import formats

        report = gather.of_traces(self.found, baseline=self.known.path, pictures=self._form == "html")
        self._target.write(formats.render(report, self._form))
        self._target.flush()


class _Text(_Report):
    """Findings as they come, and how many of what at the end."""

    def __init__(
        self, target: IO[str], quiet: bool, known: KnownFindings, found: TraceFindings, diagrams: Diagrams | None
    ) -> None:
        super().__init__(known, found, diagrams)
        self._quiet = quiet
        self._show, self._width = trace_input.printer(target)

    def live(self, run: TraceRun, finding: Finding) -> None:
        super().live(run, finding)
        self.told.add(id(finding))
        if not self.found.is_known(finding):
            self._show(traces.finding_lines(run, finding, self._width))

    def trace(self, run: TraceRun) -> None:
        super().trace(run)
        self._show(traces.trace_lines(run, self._width, shown=self.told, quiet=self._quiet))
        self.done.append(run)

    def interrupted(self) -> None:
        self._confidence()

    def _confidence(self) -> None:
        """How sure one may be, if objects were sampled."""
        for run in self.found.runs[-1:]:
            tracking = run.law_run.tracking
            if tracking is not None:
                summaries = tracking.confidence.summary()
                self._show(confidence_lines(summaries, tracking.unsampled_laws, self._width))

    def _write(self, skipped: int) -> None:
        if not self._quiet:
            self._confidence()
            self._show(traces.summary_lines(self.found, skipped, self._width))
