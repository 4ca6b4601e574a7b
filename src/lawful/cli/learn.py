"""``lawful learn``: rules from traces, and where they are broken; ``lawful learn merge``: stores put together."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from time import perf_counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from lawful import config
from lawful.cli import learning_options as options
from lawful.cli import reporting, trace_input
from lawful.cli.options import FILE, NARROW, skip_bad_lines
from lawful.diagnostics import printable
from lawful.errors import LawfulError
from lawful.events.reader import open_trace
from lawful.reports.baseline import KnownFindings
from lawful.reports.formats import format_of

if TYPE_CHECKING:
    from lawful.learning.learner import Learner
    from lawful.learning.parameters import Learning
    from lawful.learning.reported_before import FunctionOf, ReportedBefore
    from lawful.learning.store import Store
    from lawful.learning.window_protocol import SharedHistory, SharedPair, Word

_INTERRUPTED = 130
_MERGE = "merge"

_EXAMPLES = """
\b
Examples:
  lawful learn run.jsonl
  lawful learn monday.jsonl.gz tuesday.jsonl.gz --store history.db
  lawful learn run.jsonl --all-rules --format json
  lawful learn merge all.db machine-1.db machine-2.db

`lawful learn merge OUT STORE...` puts stores together. A trace of that name is
./merge.
"""


class _Learn(click.Command):
    """Has a subcommand beside its arguments: the first word `merge`."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if args[:1] == [_MERGE]:
            return merge.make_context(f"{info_name} {_MERGE}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command(name=_MERGE, context_settings=NARROW)
@click.argument("out", metavar="OUT", type=FILE)
@click.argument("stores", metavar="STORE...", nargs=-1, required=True, type=FILE)
def merge(out: str, stores: tuple[str, ...]) -> None:
    """Put stores together.

    OUT is a new file with the sums of all that the STOREs have counted, in whichever order they are given. Stores that
    have a run in common are refused: it would count twice.
    """
    from lawful.learning.store import Store

    if os.path.lexists(out):
        raise LawfulError("store-exists", "this file exists already", where=out, hint="merge into a new file")
    with ExitStack() as stack:
        opened = [stack.enter_context(Store(path, must_exist=True)) for path in stores]
        made = stack.enter_context(Store(out))
        try:
            made.merge(opened)
        except BaseException:
            made.close()
            if os.path.exists(out):  # nothing is in it, and nothing was before
                os.unlink(out)
            raise
        runs = made.runs()
    click.echo(f"{printable(out)}: {len(runs):,} runs, {sum(run.events for run in runs):,} events")


# Paths are `readable=False`, which only turns click's own check off: our errors say more.
@click.command(name="learn", cls=_Learn, epilog=_EXAMPLES, context_settings=NARROW)
@click.argument("traces", metavar="TRACE...", nargs=-1, required=True, type=FILE)
@options.learner_options
@click.option("--all-rules", is_flag=True, help="List every rule with its counts, dead ones too; nothing is pruned.")
@click.option(
    "--export",
    metavar="FILE.rml",
    type=FILE,
    help="Write the enforced rules there, as a law.",
)
@click.option("--moves", is_flag=True, help="Show what the tuner did.")
@reporting.report_options("standard output")
@skip_bad_lines
@click.option("--no-progress", is_flag=True, help="Do not show a progress bar.")
def command(
    traces: tuple[str, ...],
    all_rules: bool,
    export: str | None,
    moves: bool,
    form: str | None,
    output: str | None,
    baseline: str | None,
    update_baseline: bool,
    skip_bad: bool,
    no_progress: bool,
    **flags: Any,
) -> int:
    """Learn rules from traces, and report what breaks them.

    A rule is a pattern of two events of one object, such as `open close`. Lawful enforces the rules that nearly all
    uses keep, and reports the places that break them, the most striking first, with a good and a bad use of each.
    Objects of different traces are different objects. Further settings come from [tool.lawful.learn] in the
    pyproject.toml of the current project.

    Exit code: 0, no anomalies; 1, there are some; 2, bad usage or bad input.
    """
    from lawful.config import find_project

    folder = str(find_project(os.getcwd()))
    both = config.combined(config.load(folder), config.Config(learn=options.given(flags), baseline=baseline))
    asked = both.learn
    output = None if output == "-" else output
    # What a store should keep must not be pruned away. Whoever wants every rule has the memory for it.
    every = {"most_pairs": 0} if all_rules else {}
    told = options.parameters(asked, all_rules=all_rules or asked.store is not None, **every)
    trace_input.look_at_traces(traces)
    options.look_at_export(export)
    trace_input.look_at_output(output, (*traces, asked.store, both.baseline))
    accepted = KnownFindings(both.baseline, folder, update=update_baseline)
    trace_input.look_at_output(export, (*traces, asked.store, output), "law")
    work = _Work(told, skip_bad=skip_bad, progress=not no_progress)
    failed: LawfulError | None = None
    with _opened_store(asked.store) as store:
        try:
            with trace_input.rare_collections():
                learner = work.run(traces) if store is None else work.run_with(store, traces, accepted.source.function)
        except KeyboardInterrupt:
            click.echo(f"interrupted after {work.events:,} events; nothing was kept of them", err=True)
            return _INTERRUPTED
        if store is not None:
            try:
                work.add_to(store, learner)
            except LawfulError as error:
                failed = error  # the report is worth the same
    learner.change(all_rules=all_rules)
    if export is not None:
        options.export(learner, export)
    told_how = _Told(
        format_of(form, output), output, rules=all_rules, moves=moves, known=bool(asked.known), seconds=work.seconds
    )
    code = _tell(learner, work.names, told_how, accepted, folder)
    if failed is not None:
        raise failed
    return code


def _opened_store(path: str | None) -> AbstractContextManager[Store | None]:
    if path is None:
        return nullcontext()
    from lawful.learning.store import Store

    return Store(path)


class _Work:
    """From traces to a learner that has seen them."""

    def __init__(self, told: Learning, *, skip_bad: bool, progress: bool) -> None:
        self.names: list[str] = []
        self.seconds = 0.0  # that reading and learning took, the last time
        self._told = told
        self._skip_bad = skip_bad
        self._progress = progress
        self._learner: Learner | None = None
        self._again: list[SharedPair] = []  # counted in traces that the store has
        self._again_histories: list[SharedHistory] = []
        self._fresh: list[str] = []  # runs that it does not have

    @property
    def events(self) -> int:
        return self._learner.events if self._learner is not None else 0

    def run(
        self,
        traces: Sequence[str],
        known: Iterable[SharedPair] = (),
        histories: Iterable[SharedHistory] = (),
        earlier: ReportedBefore | None = None,
        novelty: Mapping[Word, tuple[int, int]] = MappingProxyType({}),
    ) -> Learner:
        """Read all traces, beginning with what is known."""
        from lawful.learning.learner import Learner

        learner = self._learner = Learner(self._told)
        learner.reported_before = earlier
        learner.remember(known, histories, novelty)
        self.names = []
        began = perf_counter()
        for at, trace in enumerate(traces):
            if at:
                learner.next_trace()
            with open_trace(trace, skip_bad=self._skip_bad) as reader:
                self.names.append(reader.name)
                for batch in trace_input.batches(reader, self._progress):
                    learner.feed(batch, reader.name)
                trace_input.tell_skipped(reader)
        learner.finish()
        self.seconds = perf_counter() - began
        return learner

    def run_with(self, store: Store, traces: Sequence[str], function: FunctionOf) -> Learner:
        """The same with a store, beginning with what it knows.

        Traces that it has already are counted for themselves first, and taken out of what it knows and of what will be
        added: nothing counts twice. Nor is what they have reported known by that.
        """
        from lawful.learning.reported_before import ReportedBefore
        from lawful.learning.shared_counts import histories_minus, minus

        runs: dict[str, str] = {}
        for trace in traces:
            if runs.setdefault(_run_id(trace), trace) != trace or traces.count(trace) > 1:
                hint = "without --store it counts as often as it is given"
                raise LawfulError("store-overlap", "the same trace is given twice", where=trace, hint=hint)
        old = [trace for run, trace in runs.items() if store.has(run)]
        for trace in old:
            click.echo(f"{printable(trace)} is in the store already, and is not added again", err=True)
        if old:
            learner = self.run(old)
            self._again, self._again_histories = list(learner.shared_pairs()), list(learner.shared_histories())
        self._fresh = [run for run in runs if not store.has(run)]
        known = minus(store.known(self._told.templates), self._again)
        histories = histories_minus(store.histories(), self._again_histories)
        return self.run(
            traces, known, histories, ReportedBefore(store.reported(without=runs), function), store.novelty()
        )

    def add_to(self, store: Store, learner: Learner) -> None:
        """Add what was counted in traces that the store does not have."""
        from lawful.learning.shared_counts import histories_minus, minus
        from lawful.learning.store import Run

        if self._fresh:
            # How many of the events are whose, nobody asks: the first run has them all.
            events = [learner.events, *(0 for _ in self._fresh[1:])]
            runs = [Run(run, number, self._told.window) for run, number in zip(self._fresh, events, strict=True)]
            histories = histories_minus(learner.shared_histories(), self._again_histories)
            counted = minus(learner.shared_pairs(), self._again)
            store.add(runs, self._told.templates, counted, histories, learner.report_record(), learner.novelty())


def _run_id(trace: str) -> str:
    """The same for the same content. What can be read only once is always new."""
    from lawful.learning.store import new_run_id

    if trace == "-" or not os.path.isfile(trace):
        return new_run_id()
    with open(trace, "rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


class _Told(NamedTuple):
    """How the report is to be."""

    form: str
    output: str | None
    rules: bool
    moves: bool
    known: bool
    seconds: float


def _tell(learner: Learner, traces: list[str], how: _Told, known: KnownFindings, folder: str) -> int:
    from lawful.reports import formats, gather, learned
    from lawful.reports.fingerprints import marks

    findings = gather.anomaly_findings(learner.anomalies())
    written = known.settle(marks(findings, known.source))
    hidden = known.known(findings)
    report = gather.of_learner(
        learner, findings, traces, known.source, hidden=hidden, seconds=how.seconds, baseline=known.path
    )
    with trace_input.opened(how.output) as target:
        if how.form != "text":
            target.write(formats.render(report, how.form))
        else:
            show, width = trace_input.printer(target)
            show(learned.report_lines(report, learner, width=width, rules=how.rules, moves=how.moves, known=how.known))
    reporting.notify_baseline_written(known.path, written)
    return 1 if report.items else 0
