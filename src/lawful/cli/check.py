"""``lawful check``: any number of laws over any number of traces, in one pass of each."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from itertools import groupby
from typing import IO, TYPE_CHECKING, Any

import click

from lawful import config
from lawful.cli import reporting, sampling_options, trace_input
from lawful.cli.diagrams import Diagrams
from lawful.cli.options import FILE, NARROW, skip_bad_lines
from lawful.cli.options import diagram as diagram_option
from lawful.cli.options import functions as functions_option
from lawful.cli.options import history as history_option
from lawful.diagnostics import Source, printable, render_all
from lawful.engine import Case, Finding, Settings, TraceRun
from lawful.errors import LawError, LawfulError
from lawful.events.reader import TraceReader
from lawful.laws.loader import is_law_name, load_law
from lawful.laws.protocol import Law
from lawful.reports import gather
from lawful.reports.baseline import KnownFindings
from lawful.reports.core import count
from lawful.reports.fingerprints import Fingerprinter
from lawful.reports.formats import format_of
from lawful.sources.python.scope import find_project

if TYPE_CHECKING:
    from lawful.engine.sampled_traces import SampledTraces
    from lawful.reports.gather import Found
    from lawful.reports.sequence import Diagram

_INTERRUPTED = 130
_HISTORY = 10  # earlier events that are shown, if nothing else is asked
_DATA_WARNING = "law-data"
_ORDER_WARNING = "trace-order"

_EXAMPLES = """
\b
Examples:
  lawful check hash_set.rml --trace run.jsonl
  lawful check *.rml --trace monday.jsonl.gz tuesday.jsonl.gz --format json
  tail -f app.jsonl | lawful check files.rml --trace - --fail-fast
  lawful check counts.toml --trace run.jsonl --confidence 0.999 --policy taper
  lawful check worker.view --trace run.jsonl --diagram broken.svg
"""


class _Check(click.Command):
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


# Paths are `readable=False`, which only turns click's own check off: our errors say more.
@click.command(name="check", cls=_Check, epilog=_EXAMPLES, context_settings=NARROW)
@click.argument("laws", metavar="LAW...", nargs=-1, required=True, type=FILE)
@click.option(
    "--trace",
    "-t",
    "traces",
    metavar="FILE...",
    multiple=True,
    type=FILE,
    help="The traces to check. `-` is standard input, judged as it arrives.",
)
@reporting.report_options("standard output")
@skip_bad_lines
@click.option("--fail-fast", is_flag=True, help="Stop at the first event that a law rejects.")
@history_option("How many earlier events to show with a violation, or messages in a diagram.  [default: 10, and 20]")
@diagram_option
@functions_option
@sampling_options.sampling_options
@click.option("--seed", metavar="N", type=int, help="Of the coins that decide which objects are followed.")
@click.option(
    "--store",
    metavar="FILE",
    type=FILE,
    help="If sampling: begin with what this file knows, and add to it what was counted.",
)
@click.option("--quiet", "-q", is_flag=True, help="Report violations only: no accepted laws, no summary.")
@click.option("--no-progress", is_flag=True, help="Show no progress bar.")
def command(
    laws: tuple[str, ...],
    traces: tuple[str, ...],
    form: str | None,
    output: str | None,
    baseline: str | None,
    update_baseline: bool,
    skip_bad: bool,
    fail_fast: bool,
    history: int | None,
    diagram: str | None,
    functions: tuple[str, ...],
    quiet: bool,
    no_progress: bool,
    picture: str | None,
    **flags: Any,
) -> int:
    """Check traces against laws.

    Every trace is read once, whatever the number of laws, and in constant memory. Reading a file stops
    early when all laws are decided; a stream is read to its end, unless --fail-fast is given. For each violation the
    report says where it is, what the law would have accepted there, and which earlier events led to it.

    With --confidence, --error-rate or --policy, laws about objects are judged on samples of these, and the report says
    how sure one may be; all violations are told then, not only the first.

    Exit code: 0, all laws accept all traces; 1, a law was broken; 2, bad usage or bad input.
    """
    if output == "-":
        output = None
    folder = os.fspath(find_project(os.getcwd()))
    baseline = baseline or config.load(folder).baseline
    _look_before(laws, traces, output, baseline)
    form = format_of(form, output)
    known = KnownFindings(baseline, folder, update=update_baseline)
    shared = {name: flags.pop(name) for name in sampling_options.SHARED}
    asked = sampling_options.given(flags, shared)
    if not asked.asked and (picture or any(value is not None for value in shared.values())):
        sampling_options.refuse(picture)
    picture = sampling_options.look_at_picture(picture, [*laws, *traces, output, asked.store])
    if asked.asked and diagram is not None:
        hint = "leave out --confidence, --error-rate and --policy"
        raise LawfulError("usage", "there are no diagrams where objects are sampled", hint=hint)
    if asked.asked and fail_fast:
        message = "--fail-fast: where objects are sampled, a violation is one sample of many and does not end it all"
        hint = "leave out --fail-fast, or --confidence, --error-rate and --policy"
        raise LawfulError("usage", message, hint=hint)
    diagrams = None if diagram is None else Diagrams(diagram, [*laws, *traces, output], history)
    for path in functions:
        from lawful.laws.grammar.functions import load

        load(path)
    loaded = _load(laws)
    earlier = _HISTORY if history is None else history
    if asked.asked:
        return _sample(
            loaded, traces, asked, form, output, picture, known, skip_bad=skip_bad, history=earlier, quiet=quiet
        )
    settings = Settings(skip_bad=skip_bad, fail_fast=fail_fast, history=earlier)
    with trace_input.opened(output) as target, trace_input.rare_collections():
        report: _Report
        if form == "text":
            report = _Text(target, quiet, known, diagrams)
        else:
            report = _Written(target, form, known, diagrams)
        code = _check(loaded, traces, settings, report, progress=not (quiet or no_progress))
    if diagrams is not None and not (diagrams.files or quiet or code == _INTERRUPTED):
        click.echo(f"no view was broken: {printable(str(diagram))} is not written", err=True)
    return code


def _sample(
    laws: list[Law],
    traces: tuple[str, ...],
    asked: config.SamplingConfig,
    form: str,
    output: str | None,
    picture: str | None,
    known: KnownFindings,
    *,
    skip_bad: bool,
    history: int,
    quiet: bool,
) -> int:
    from lawful.engine.sample_tracking import demand
    from lawful.engine.sampled_traces import SampledTraces

    run = SampledTraces(laws, demand(asked), skip_bad=skip_bad, history=history)
    confidence_history = sampling_options.confidence_history(asked.store, laws)
    runs = _fingerprints(traces) if confidence_history is not None or len(traces) > 1 else {}
    if confidence_history is not None:
        confidence_history.refuse(runs)
        confidence_history.recall(run.confidence)
    with trace_input.rare_collections():
        try:
            for trace in traces:
                run.judge(trace)
        except KeyboardInterrupt:
            # As without sampling: standard output may be a pipe whose reader has been interrupted too. The store is
            # left as it was, because a trace can be added only once.
            sampling_options.keep(run.confidence, None, picture)
            with nullcontext(sys.stderr) if output is None else trace_input.opened(output) as target:
                _tell_samples(run, "text" if output is None else form, target, known)
            click.echo(f"interrupted after {count(run.total.events, 'event')}", err=True)
            return _INTERRUPTED
    counted = {runs[trace]: part for trace, part in run.counted.items()} if confidence_history is not None else None
    sampling_options.keep(run.confidence, confidence_history, picture, counted)
    written = known.apply_to_run(run.total)
    with trace_input.opened(output) as target:
        if form != "text" or not quiet or run.total.failed:
            _tell_samples(run, form, target, known)
    reporting.notify_baseline_written(known.path, written)
    for name, lines in run.bad_lines.items():
        click.echo(f"{printable(name)}: {count(lines, 'bad line')} skipped", err=True)
    _raise_last(run.errors)
    return 1 if run.total.failed else 0


def _tell_samples(run: SampledTraces, form: str, target: IO[str], known: KnownFindings) -> None:
    from lawful.reports import live

    if form == "json":
        target.write(live.render_json(run.total, baseline=known.path).decode())
    elif form != "text":
        from lawful.reports import formats, gather

        report = gather.of_live(run.total, known.source, command="check", baseline=known.path)
        target.write(formats.render(report, form))
    else:
        show, width = trace_input.printer(target)
        show(live.report_lines(run.total, width=width))


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


def _load(paths: Iterable[str]) -> list[Law]:
    """All laws; of those that are wrong, every one is told."""
    laws: list[Law] = []
    errors: list[LawError] = []
    for path in paths:
        try:
            laws.append(load_law(path))
        except LawError as error:
            errors.append(error)
    _raise_last(errors)
    for law in laws:
        if law.warnings:
            click.echo(render_all(law.warnings, Source(law.source, law.name)) + "\n", err=True)
    return laws


def _raise_last(errors: list[Any]) -> None:
    """`main` tells the error that it is given; here the others are told before."""
    for error in errors[:-1]:
        click.echo(error.render() + "\n", err=True)
    if errors:
        raise errors[-1]


def _check(laws: list[Law], traces: tuple[str, ...], settings: Settings, report: _Report, *, progress: bool) -> int:
    runs: list[TraceRun] = []
    warned: set[tuple[str, str]] = set()
    watched: Callable[[TraceReader], Iterable[list[dict[str, Any]]]] = TraceReader.batches
    if progress and sys.stderr.isatty():
        from lawful.cli.progress import with_progress

        watched = with_progress
    try:
        for trace in traces:
            run = TraceRun(laws, trace, settings, on_finding=lambda case: report.found(runs[-1], case))
            runs.append(run)
            run.run(watched)
            report.draw(run)
            report.judge(run)
            report.trace(run)
            _warn(run, warned)
            if settings.fail_fast and (run.broken or run.error):
                break
    except KeyboardInterrupt:
        return _interrupted(runs, report)
    report.end(runs, skipped=len(traces) - len(runs))
    _raise_last([run.error for run in runs if run.error])
    return 1 if report.news else 0


def _warn(run: TraceRun, warned: set[tuple[str, str]]) -> None:
    if run.bad_lines:
        lines = "line" if run.bad_lines == 1 else "lines"
        click.echo(f"{printable(run.name)}: {run.bad_lines} bad {lines} skipped", err=True)
    for text in run.disorder:
        click.echo(f"warning[{_ORDER_WARNING}]: {printable(run.name)}: {text}", err=True)
    for case in run.cases:
        for message in case.monitor.warnings():
            if (case.law.name, message) not in warned:
                warned.add((case.law.name, message))
                where = f"{printable(case.law.name)} on {printable(run.name)}"
                click.echo(f"warning[{_DATA_WARNING}]: {where}: {printable(message)}", err=True)


def _interrupted(runs: list[TraceRun], report: _Report) -> int:
    """Tell on standard error what was decided: standard output may be a pipe whose reader has been interrupted too."""
    aside = _Text(sys.stderr, quiet=False, known=report.known, diagrams=report.diagrams)
    for run in runs:
        if run not in report.done:
            run.conclude()
            aside.told = report.told
            aside.judge(run)
            aside.trace(run)
    click.echo(f"interrupted after {count(sum(run.events for run in runs), 'event')}", err=True)
    return _INTERRUPTED


class _Report:
    """Where results go as they come."""

    def __init__(self, known: KnownFindings, diagrams: Diagrams | None = None) -> None:
        self.told: set[int] = set()  # findings that were shown (their ids: they live as long as the run)
        self.done: list[TraceRun] = []  # traces that were shown
        self.known = known
        self.diagrams = diagrams
        self.violations: list[Found] = []  # of traces that were judged to their end
        self._judged: dict[Case, Found] = {}
        self._marker = Fingerprinter(known.source)
        self._drawn: dict[Case, Finding] = {}

    @property
    def news(self) -> bool:
        """Was something found that no baseline knows?"""
        return any(not each.known for each in self.violations)

    def judge(self, run: TraceRun) -> None:
        """A trace was judged: which violations are known?"""
        found = gather.findings_in(run, self._marker, self.known.baseline)
        self.violations += found
        self._judged.update((each.case, each) for each in found)

    def is_known(self, case: Case) -> bool:
        """Does a baseline know this violation, as far as that can be told now?"""
        if self.known.baseline is None or case.finding is None:
            return False
        if case in self._judged:
            return self._judged[case].known
        return self.known.baseline.knows(self._marker.mark(case.finding, keep=False))

    def settle(self) -> int | None:
        """Write the baseline, if that is asked for; then all is known."""
        written = self.known.settle([each.mark for each in self.violations])
        for each in self.violations if written is not None else ():
            each.known = True
        return written

    def found(self, run: TraceRun, case: Case) -> None:
        """A violation in a stream: what led to it may be forgotten later."""
        self._draw(run, case)
        self.live(run, case)

    def draw(self, run: TraceRun) -> None:
        """The violations of a trace as diagrams, if these are asked for."""
        for case in run.cases:
            self._draw(run, case)

    def _draw(self, run: TraceRun, case: Case) -> None:
        if self.diagrams is not None and case.finding is not None and self._drawn.get(case) is not case.finding:
            self._drawn[case] = case.finding
            self.diagrams.draw(run, case)

    def diagram(self, case: Case) -> str | None:
        return None if self.diagrams is None else self.diagrams.files.get(case)

    def live(self, run: TraceRun, case: Case) -> None:
        """A violation in a stream, now."""

    def trace(self, run: TraceRun) -> None:
        """A trace is done."""

    def end(self, runs: list[TraceRun], skipped: int) -> None:
        """All is done, or all but the last traces."""


class _Written(_Report):
    """All at once, at the end."""

    def __init__(self, target: IO[str], form: str, known: KnownFindings, diagrams: Diagrams | None = None) -> None:
        super().__init__(known, diagrams)
        self._target = target
        self._form = form
        self._pictures: dict[Case, Diagram | None] = {}

    def found(self, run: TraceRun, case: Case) -> None:
        super().found(run, case)
        self._picture(run, case)

    def judge(self, run: TraceRun) -> None:
        super().judge(run)
        for each in self.violations:
            if each.run is run:
                if each.case not in self._pictures:
                    self._picture(run, each.case)
                each.diagram = self._pictures.get(each.case)

    def _picture(self, run: TraceRun, case: Case) -> None:
        """The messages that led there, if the format shows pictures."""
        if self._form == "html":
            from lawful.reports.violated_view import violated_view

            self._pictures[case] = violated_view(run, case)

    def end(self, runs: list[TraceRun], skipped: int) -> None:
        written = self.settle()
        if self._form == "json":
            from lawful.reports.json import render

            drawn = {} if self.diagrams is None else self.diagrams.files
            text = render(runs, drawn, found=self.violations, baseline=self.known.path).decode()
        else:
            from lawful.reports import formats

            report = gather.of_traces(runs, self.violations, self.known.source, baseline=self.known.path)
            text = formats.render(report, self._form)
        self._target.write(text)
        self._target.flush()
        reporting.notify_baseline_written(self.known.path, written)


class _Text(_Report):
    def __init__(self, target: IO[str], quiet: bool, known: KnownFindings, diagrams: Diagrams | None = None) -> None:
        super().__init__(known, diagrams)
        self._quiet = quiet
        self._show, self._width = trace_input.printer(target)

    def live(self, run: TraceRun, case: Case) -> None:
        from lawful.reports.text import case_lines

        self.told.add(id(case.finding))
        if not self.is_known(case):
            self._show(case_lines(run, case, self._width, self.diagram(case)))

    def trace(self, run: TraceRun) -> None:
        from lawful.reports.text import case_lines

        for law, group in groupby(run.cases, key=lambda case: case.whole):
            cases = list(group)
            # Of a law in parts, which may be hundreds, those that were kept are told together.
            kept = sum(bool(case.accepted) and case.finding is None for case in cases) if len(cases) > 1 else 0
            for case in cases:
                if id(case.finding) in self.told or (self._quiet and case.finding is None) or self.is_known(case):
                    continue
                if not kept or case.finding is not None or not case.accepted:
                    self._show(case_lines(run, case, self._width, self.diagram(case)))
            if kept and not self._quiet:
                self._show(_kept_parts(law, run, kept, len(cases), self._width))
        self.done.append(run)

    def end(self, runs: list[TraceRun], skipped: int) -> None:
        from lawful.reports.text import Span, summary_lines

        written = self.settle()
        if not self._quiet:
            hidden = sum(each.known for each in self.violations)
            self._show(summary_lines(runs, self._width, hidden=hidden))
            if skipped:
                traces = "1 trace was" if skipped == 1 else f"{skipped} traces were"
                self._show(iter([[Span(f"{traces} not read")]]))
        reporting.notify_baseline_written(self.known.path, written)


def _kept_parts(law: Law, run: TraceRun, kept: int, parts: int, width: int) -> Iterator[Any]:
    from lawful.reports.text import Span, folded

    title = "accepted".ljust(12)
    how_many = f"all {count(parts, 'part')}" if kept == parts else f"{kept:,} of {count(parts, 'part')}"
    for line in folded(f"{printable(law.name)} on {printable(run.name)}: {how_many}", width - len(title)):
        yield [Span(title, "green"), Span(line)]
        title = " " * len(title)
