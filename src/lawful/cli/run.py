"""``lawful run``: runs a program, checks laws and learns rules while it runs, and reports at its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from lawful import config
from lawful.cli import learning_options, options, program_options, reporting, sampling_options
from lawful.cli.law_input import load_laws
from lawful.cli.protected_output import notify
from lawful.cli.run_host import ProgramHost, open_report, write_report
from lawful.errors import LawfulError
from lawful.reports.formats import format_of
from lawful.run_setup import with_learner

if TYPE_CHECKING:
    from lawful.cli.diagrams import Diagrams
    from lawful.cli.protected_output import ReportFile
    from lawful.engine.learner_setup import LearningHistory
    from lawful.engine.session import Session
    from lawful.engine.watch_settings import WatchSettings
    from lawful.learning.learner import Learner
    from lawful.reports.baseline import KnownFindings

_MESSAGES = 20  # of a group, that a page shows before the one that is not allowed

_EXAMPLES = """
\b
Examples:
  lawful run app.py
  lawful run --public app --store history.db -m app
  lawful run --law files.rml app.py --port 8000
  lawful run --law files --law locks -m app
  lawful run --law std -o report.html --baseline known.json app.py
  lawful run --law sql.rml --calls sqlite3 --trace run.jsonl app.py
  lawful run --confidence 0.99999 --error-rate 1e-5 --law counts.toml app.py
"""


_HEADINGS = {
    "Laws": ("laws",),
    "What to watch": ("calls", "public", "exclude", "trace"),
    "Learning": ("learn", "store"),
    "Sampling": ("confidence", "error_rate"),
    "Report": ("output", "form", "baseline", "serve", "quiet", "verbose"),
    "On violation": ("on_violation",),
}


@click.command(
    name="run",
    cls=program_options.ProgramCommand,
    headings=_HEADINGS,
    epilog=_EXAMPLES,
    context_settings=options.NARROW,
)
@click.argument("program", nargs=-1, type=click.UNPROCESSED)
@options.laws("Check this law: a file, or a name in the catalogue, such as std.")
@program_options.scope_options
@click.option("--trace", metavar="OUT", type=options.FILE, help="Write all events to this file.")
@reporting.report_options("standard error")
@click.option(
    "--on-violation",
    type=click.Choice(config.ON_VIOLATION),
    help="Report a violation at the end, raise lawful.Violation before the call that breaks the law, stop the"
    " program, or (when sampling) only count it.  [default: report]",
)
@click.option("--quiet", "-q", is_flag=True, help="Print nothing if Lawful finds nothing.")
@click.option(
    "--learn/--no-learn",
    default=None,
    help="Learn rules, and report what breaks them.  [default: learn if there is no law]",
)
@options.store
@sampling_options.sampling_options
@click.option(
    "--serve",
    metavar="[=PORT]",
    is_flag=False,
    flag_value="0",
    help="Show the run in a browser while it runs, and control it there.",
)
@click.option("--verbose", "-v", is_flag=True, help="Also print the learned rules and their parameters.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    program: tuple[str, ...],
    quiet: bool,
    verbose: bool,
    learn: bool | None,
    serve: str | None,
    output: str | None,
    form: str | None,
    update_baseline: bool,
    settings: config.Config,
    store: str | None,
    confidence: float | None,
    error_rate: float | None,
    **flags: Any,
) -> Callable[[], int]:
    """Run a program, check what it does against laws, or learn rules from it.

    The program runs as `python SCRIPT ARGUMENTS` or `python -m MODULE ARGUMENTS` would run it, with the same output
    and the same exit code. Put Lawful's options before its name. Lawful watches what the laws can match, and what
    --calls and --public name. Without a law, Lawful learns rules while the program runs: by default from the calls
    that your code makes to objects of libraries. With --confidence or --error-rate, Lawful samples objects until it
    reaches that confidence. Further settings come from [tool.lawful] in the project's pyproject.toml.

    Exit code: the program's own. If that is 0 and Lawful found something, 1.
    """
    found = program_options.find_program(ctx, program)
    sampling = config.SamplingConfig(confidence, error_rate, store=store)
    given = config.combined(settings, config.Config(**flags, learn=config.LearnConfig(store=store), sampling=sampling))
    both, watched = program_options.combined_settings(found, given)
    learns = bool(not both.laws or both.learn.always) if learn is None else learn
    watched, memory = _with_sampling_and_learning(both, given, watched, learns)
    laws = load_laws(both.laws, both.functions)
    needed = [*found.files, *both.laws, *both.functions, watched.trace, both.learn.store, both.sampling.store]
    outputs = _Outputs.opened(both, watched, needed, output=output, form=form, update_baseline=update_baseline)
    confidence_history = sampling_options.confidence_history(both.sampling.store, laws) if both.sampling.asked else None

    def report(session: Session) -> None:
        if session.learner is not None:
            _keep(session.learner.learner, memory, outputs.export)
        if session.sampler is not None:
            sampling_options.keep(session.sampler.confidence, confidence_history, outputs.picture)
        outputs.write(session, quiet=quiet, verbose=verbose, known=bool(both.learn.known))
        if not quiet and outputs.form == "text" and not _chosen_scope(both):
            _suggest_public(session)

    host = ProgramHost(found, outputs.settings(watched), laws, report, both.fail_on)
    if memory is not None and host.session.learner is not None:
        memory.recall(host.session.learner.learner)
    if confidence_history is not None and host.session.sampler is not None:
        confidence_history.recall(host.session.sampler.confidence)
    program_options.warn_before_run(host.session, both)
    if serve is not None:
        _serve(host.session, serve, program)
    return host


def _with_sampling_and_learning(
    both: config.Config, given: config.Config, settings: WatchSettings, learns: bool
) -> tuple[WatchSettings, LearningHistory | None]:
    """The settings with sampling and learning, as asked for, and the learner's store.

    Refuses options in `given` (the command line) that would have no effect.
    """
    if not (both.laws or settings.trace or learns):
        hint = "--law FILE, a name in the catalogue as in --law files, or laws in [tool.lawful] of pyproject.toml"
        raise LawfulError("usage", "there is no law to check the program against, and no trace to write", hint=hint)
    samples = both.sampling.asked
    if samples:
        settings = sampling_options.sampled(settings, both.sampling, laws=bool(both.laws))
    else:
        sampling_options.refuse_unused(given.sampling, settings.on_violation, learns=learns)
    if learns:
        return with_learner(settings, both.learn)
    if replace(given.learn, store=None) != config.LearnConfig() or (given.learn.store and not samples):
        hint = "leave out --no-learn"
        if both.laws:
            hint = "add --learn: with laws, Lawful learns rules only if you ask for it"
        raise LawfulError("usage", "there are options for learning, but nothing is learned", hint=hint)
    return settings, None


@dataclass(frozen=True)
class _Outputs:
    """The files that the run writes at its end."""

    file: ReportFile | None
    form: str
    known: KnownFindings | None
    export: str | None
    picture: str | None
    diagram: str | None
    diagrams: Diagrams | None

    @classmethod
    def opened(
        cls,
        both: config.Config,
        settings: WatchSettings,
        needed: Sequence[str | None],
        *,
        output: str | None,
        form: str | None,
        update_baseline: bool,
    ) -> _Outputs:
        """Refuses files that cannot be written, before the program begins. `needed` are files that must stay."""
        diagram = both.diagram
        export = learning_options.look_at_export(both.learn.export, [*needed, output])
        picture = sampling_options.look_at_picture(both.sampling.picture, [*needed, output, export])
        known = _known(both.baseline, settings, update=update_baseline)
        others = [*needed, export, picture, both.baseline]
        file = open_report(output, others)
        diagrams = None
        if diagram is not None:
            from lawful.cli.diagrams import Diagrams

            diagrams = Diagrams(diagram, [*others, output], both.history)
        return cls(file, format_of(form, output), known, export, picture, diagram, diagrams)

    def settings(self, settings: WatchSettings) -> WatchSettings:
        """The settings of a run that keeps the messages that diagrams show."""
        if self.diagrams is not None:
            return replace(settings, messages=self.diagrams.messages)
        return replace(settings, messages=_MESSAGES) if self.form == "html" else settings

    def write(self, session: Session, *, quiet: bool, verbose: bool, known: bool) -> None:
        """Draw the diagrams and write the report; with `known`, it has anomalies of earlier runs, too."""
        if self.diagrams is not None:
            self.diagrams.draw(session.live, session.live.findings, session.settings.main or "")
            if not self.diagrams.drawn and not quiet:
                notify(f"the program broke no view, so Lawful did not write {self.diagram}")
        write_report(session, self.file, self.form, quiet, verbose, known=self.known, earlier=known)


def _serve(session: Session, port: str, program: tuple[str, ...]) -> None:
    """Give the run a dashboard."""
    from lawful.cli.server_options import needs_web

    needs_web("lawful run --serve")
    from lawful.web import dashboard_start, serving

    if not port.isdecimal() or int(port) > 65535:
        hint = "--serve takes any free port, --serve=8000 takes port 8000"
        raise LawfulError("usage", f"{port!r:.60} is not a port", hint=hint)
    socket, token = serving.listen("127.0.0.1", int(port)), serving.new_token()
    shown = serving.location(*serving.address(socket), token)
    dashboard_start.start_dashboard(session, socket, token, program=" ".join(program))
    notify(f"the dashboard is at {shown}")


def _known(baseline: str | None, settings: WatchSettings, *, update: bool) -> KnownFindings | None:
    """The baseline to use or to write, if there is one."""
    if baseline is None and not update:
        return None
    from lawful.reports.baseline import KnownFindings

    return KnownFindings(baseline, settings.scope.project, update=update)


def _chosen_scope(both: config.Config) -> bool:
    """Has the user said what to watch?"""
    return bool(both.laws or both.calls or both.public or both.fields)


def _suggest_public(session: Session) -> None:
    """Help for a first try on a program that makes few calls to objects of libraries."""
    if session.live.findings or session.learner is None:
        return
    from lawful.learning.window_protocol import RuleState

    if not any(rule.state == RuleState.ENFORCING for rule in session.learner.learner.rules()):
        notify("this run watched only calls into libraries; --public MODULE also watches your own classes")


def _keep(learner: Learner, memory: LearningHistory | None, export: str | None) -> None:
    """Add the counts of the run to the store, and write the learned rules as a law."""
    steps: list[Callable[[], None]] = []
    if memory is not None:
        steps += [partial(memory.keep, learner), partial(learner.change, all_rules=False)]
    if export is not None:
        steps.append(partial(learning_options.export, learner, export))
    for step in steps:
        try:
            step()
        except LawfulError as error:
            notify(f"cannot keep the learned rules: {error.where}: {error.message}")
        except OSError as error:
            notify(f"cannot keep the learned rules: {error}")
