"""``lawful run``: a program under the eyes of laws."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from lawful import config
from lawful.cli import learning_options as options
from lawful.cli import reporting, run_host, sampling_options
from lawful.errors import LawfulError
from lawful.reports.formats import format_of

if TYPE_CHECKING:
    from lawful.cli.diagrams import Diagrams
    from lawful.engine.learner_setup import LearningHistory
    from lawful.engine.session import Session
    from lawful.engine.watch_settings import Settings
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


# Paths are `readable=False`, which only turns click's own check off: our errors say more.
@click.command(name="run", cls=run_host.ProgramCommand, epilog=_EXAMPLES, context_settings={"max_content_width": 80})
@click.argument("program", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--law",
    "laws",
    metavar="FILE|NAME",
    multiple=True,
    type=click.Path(readable=False),
    help="A law: a file, or a name of the catalogue that comes with Lawful.",
)
@run_host.scope_options
@click.option(
    "--trace",
    metavar="OUT",
    type=click.Path(readable=False),
    help="Write the events to this file while the program runs.",
)
@reporting.report_options("standard error")
@click.option(
    "--on-violation",
    type=click.Choice(config.ON_VIOLATION),
    help="Report it at the end, raise lawful.Violation before the call that breaks the law, stop the program, or, if"
    " sampling, only count it.  [default: report]",
)
@click.option(
    "--fail-on",
    type=click.Choice(config.FAIL_ON),
    help="Exit with 1 for findings even if the program's own code is another, or never for them.",
)
@click.option(
    "--history",
    metavar="N",
    type=click.IntRange(0, config.MOST),
    help="How many earlier events to show with a finding.  [default: 10]",
)
@click.option(
    "--diagram",
    metavar="OUT.svg",
    type=click.Path(readable=False),
    help="Draw how a view was broken; .mmd or .md for Mermaid. Further violations go to OUT-2.svg and so on.",
)
@click.option("--quiet", "-q", is_flag=True, help="Say nothing if nothing was found.")
@click.option(
    "--learn/--no-learn",
    default=None,
    help="Learn rules, and report what breaks them.  [default: if there is no law]",
)
@options.learner_options
@sampling_options.sampling_options
@click.option(
    "--serve",
    metavar="[=PORT]",
    is_flag=False,
    flag_value="0",
    help="Show the run in a browser while it goes on, and steer it there.",
)
@click.option("--verbose", "-v", is_flag=True, help="Show the rules that were learned, and by which parameters.")
@click.option(
    "--export", metavar="FILE.rml", type=click.Path(readable=False), help="Write the enforced rules there, as a law."
)
@click.pass_context
def command(
    ctx: click.Context,
    /,
    program: tuple[str, ...],
    output: str | None,
    form: str | None,
    update_baseline: bool,
    quiet: bool,
    verbose: bool,
    learn: bool | None,
    export: str | None,
    picture: str | None,
    serve: str | None,
    diagram: str | None,
    known: bool,
    **flags: Any,
) -> Callable[[], int]:
    """Run a program under watch: judge what it does, or learn what it does.

    The program runs as `python SCRIPT ARGUMENTS` or `python -m MODULE ARGUMENTS` would run it, with the same output
    and the same exit code. Options of Lawful come before its name. What is watched is what the laws can match, and
    what --calls, --public and --fields ask for. Without a law, rules are learned while the program runs: by default
    from the calls that its own code makes to objects of libraries. With --confidence or --error-rate, laws about
    objects are judged on as many of these as it takes to be so sure. More is read from [tool.lawful] in the
    pyproject.toml of the program's project.

    Exit code: the program's own; if that is 0 and something was found, 1.
    """
    ready = run_host.find_program(ctx, program)
    told = {name: flags.pop(name) for name in config.LEARN_NAMES if name in flags}
    asked = sampling_options.given(flags, told)
    both, settings = run_host.combined_settings(
        ready, config.Config(**flags, learn=options.given(told), sampling=asked)
    )
    learns = bool(not both.laws or both.learn.always) if learn is None else learn
    if not (both.laws or settings.trace or learns):
        hint = "--law FILE, a name of the catalogue as in --law files, or laws in [tool.lawful] of pyproject.toml"
        raise LawfulError("usage", "there is no law to judge the program by, and no trace to write", hint=hint)
    told_what = both.laws or both.calls or both.public or both.fields  # somebody knows what is to be watched
    samples = both.sampling.asked
    if samples:
        settings = sampling_options.sampled(settings, both.sampling, laws=bool(both.laws))
    elif picture is not None or settings.on_violation == "count":
        sampling_options.refuse(picture)
    if learns:
        settings = _learning(settings, both.learn)
    else:
        shared = sampling_options.SHARED if samples else ()
        _refuse({name: told[name] for name in told if name not in shared}, export, laws=bool(both.laws))
    laws = run_host.load_laws(both.laws, both.functions)
    memory = _memory(both.learn.store, settings) if learns else None
    confidence_history = sampling_options.confidence_history(both.sampling.store, laws) if samples else None
    needed = [*ready.files, *both.laws, *both.functions, settings.trace, both.learn.store, both.sampling.store]
    export = options.look_at_export(export, [*needed, output])
    picture = sampling_options.look_at_picture(picture, [*needed, output, export])
    accepted = _known(both, settings, update=update_baseline)
    file = run_host.open_report(output, [*needed, export, picture, both.baseline])
    shown = format_of(form, output)
    diagrams = _diagrams(diagram, [*needed, output, export, picture, both.baseline], both.history)
    if diagrams is not None:
        settings = replace(settings, messages=diagrams.messages)
    elif shown == "html":
        settings = replace(settings, messages=_MESSAGES)

    def report(session: Session) -> None:
        if session.learner is not None:
            _keep(session.learner.learner, memory, export)
        if session.sampler is not None:
            sampling_options.keep(session.sampler.confidence, confidence_history, picture)
        if diagrams is not None and not diagrams.draw_live(session.live, settings.main or "") and not quiet:
            run_host.notify(f"no view was broken: {diagram} is not written")
        run_host.write_report(session, file, shown, quiet, verbose, known=accepted, earlier=known)
        if not (quiet or told_what or session.live.findings or session.learner is None or shown != "text"):
            _help(session.learner.learner)

    host = run_host.ProgramHost(ready, settings, laws, report, both.fail_on)
    if memory is not None and host.session.learner is not None:
        memory.recall(host.session.learner.learner)
    if confidence_history is not None and host.session.sampler is not None:
        confidence_history.recall(host.session.sampler.confidence)
    run_host.warn_before_run(host.session, both)
    if serve is not None:
        _serve(host.session, serve, program)
    return host


def _serve(session: Session, port: str, program: tuple[str, ...]) -> None:
    """Give the run a dashboard."""
    from lawful.cli.server_options import needs_web

    needs_web("lawful run --serve")
    from lawful.web import dashboard_start, serving, tokens

    if not port.isdecimal() or int(port) > 65535:
        hint = "--serve takes any that is free, --serve=8000 that one"
        raise LawfulError("usage", f"{port!r:.60} is no port", hint=hint)
    socket, token = serving.listen("127.0.0.1", int(port)), tokens.new_token()
    shown = serving.location(*serving.address(socket), token)
    dashboard_start.start_dashboard(session, socket, token, program=" ".join(program))
    run_host.notify(f"this run is shown at {shown}")


def _diagrams(path: str | None, needed: Sequence[str | None], history: int | None) -> Diagrams | None:
    if path is None:
        return None
    from lawful.cli.diagrams import Diagrams

    return Diagrams(path, needed, history)


def _known(both: config.Config, settings: Settings, *, update: bool) -> KnownFindings | None:
    """What is done with a baseline, if there is one."""
    if both.baseline is None and not update:
        return None
    from lawful.reports.baseline import KnownFindings

    return KnownFindings(both.baseline, settings.scope.project, update=update)


def _help(learner: Learner) -> None:
    """For whoever tries it the first time, on a program that has little to do with objects of libraries."""
    from lawful.learning.window_protocol import RuleState

    if not any(rule.state == RuleState.ENFORCING for rule in learner.rules()):
        run_host.notify("only calls of libraries were watched; --public MODULE watches methods of the program's own")


def _refuse(told: Mapping[str, Any], export: str | None, *, laws: bool) -> None:
    """Options of the learner say nothing if nothing is learned."""
    if export is not None or any(value not in (None, ()) for value in told.values()):
        hint = "add --learn: with laws, rules are learned only if it is asked for" if laws else "leave out --no-learn"
        raise LawfulError("usage", "there are options for learning, but nothing is learned", hint=hint)


def _learning(settings: Settings, asked: config.LearnConfig) -> Settings:
    from lawful.engine import learner_setup

    # What a store should keep must not be pruned away.
    told = learner_setup.parameters(asked, all_rules=asked.store is not None)
    return replace(settings, scope=learner_setup.widened(settings.scope), learn=told)


def _memory(path: str | None, settings: Settings) -> LearningHistory | None:
    if path is None:
        return None
    from lawful.engine.learner_setup import LearningHistory
    from lawful.reports.sources import SourceLines

    return LearningHistory(path, SourceLines(os.path.abspath(settings.scope.project)).function)


def _keep(learner: Learner, memory: LearningHistory | None, export: str | None) -> None:
    """What the run has counted goes into the store, and what it has learned into a file."""
    steps: list[Callable[[], None]] = []
    if memory is not None:
        steps += [partial(memory.keep, learner), partial(learner.change, all_rules=False)]
    if export is not None:
        steps.append(partial(options.export, learner, export))
    for step in steps:
        try:
            step()
        except LawfulError as error:
            run_host.notify(f"what was learned is not kept: {error.where}: {error.message}")
        except OSError as error:
            run_host.notify(f"what was learned is not kept: {error}")
