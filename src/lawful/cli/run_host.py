"""What the commands share that run somebody's program in this process: their options, and the way from begin to end."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

import click

from lawful import config, core
from lawful.cli import protected_output
from lawful.cli.import_state import ImportState
from lawful.cli.reporting import baseline_written
from lawful.cli.trace_input import keep
from lawful.diagnostics import Source, printable, render_all
from lawful.engine.descriptors import more_room
from lawful.engine.session import Session
from lawful.engine.watch_settings import BUFFER, Settings
from lawful.errors import LawError, LawfulError
from lawful.laws.loader import find_laws, is_shipped, load_law
from lawful.pristine_os import processes
from lawful.sources.python import launcher
from lawful.sources.python.scope import Scope, find_project

if TYPE_CHECKING:
    from lawful.engine.run import LawRun
    from lawful.laws.grammar.groups import Binding
    from lawful.laws.protocol import Law
    from lawful.reports.baseline import KnownFindings

_MODULE = "lawful.module"

FAIL = 1


class ProgramCommand(click.Command):
    """Takes its own options up to the program's name; all that follows is the program's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ours, program, ctx.meta[_MODULE] = self._split(args)
        return super().parse_args(ctx, [*ours, "--", *program])

    def _split(self, words: list[str]) -> tuple[list[str], list[str], bool]:
        """Our options, the program's words, and whether the first of these is a module."""
        options = [param for param in self.params if isinstance(param, click.Option)]
        # A value that may be left out stands behind `=`: the next word may be the program.
        alone = {name: option.flag_value for option in options if has_optional_value(option) for name in option.opts}
        with_value = {
            name for option in options if not option.is_flag and not has_optional_value(option) for name in option.opts
        }
        words = list(words)
        at = 0
        while at < len(words):
            word = words[at]
            if word in alone:
                word = words[at] = f"{word}={alone[word]}"
            if word == "--":
                return words[:at], words[at + 1 :], False
            if word.startswith("-m"):
                rest = words[at + 1 :]
                return words[:at], [word[2:], *rest] if word != "-m" else rest, True
            if not word.startswith("-") or word == "-":
                return words[:at], words[at:], False
            at += 2 if word in with_value else 1
        return words, [], False

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage(ctx.command_path, "[OPTIONS] SCRIPT|-m MODULE [ARGUMENTS]")


def has_optional_value(option: click.Option) -> bool:
    """May its value be left out?"""
    return not option.is_flag and isinstance(option.flag_value, str)


def repeatable_option(name: str, what: str, text: str) -> Callable[[Any], Any]:
    return click.option(name, metavar=what, multiple=True, help=text)


def scope_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What is watched, and how."""
    for option in reversed(
        (
            repeatable_option("--calls", "PKG", "Watch the calls that the program's own code makes into this package."),
            repeatable_option("--public", "PKG", "Watch the public functions and methods of this package."),
            repeatable_option("--fields", "CLASS", "Watch the attributes of this class where own code uses them."),
            repeatable_option("--include", "PATTERN", "Only this: a qualified name, a file, or access:private."),
            repeatable_option("--exclude", "PATTERN", "Not this."),
            click.option(
                "--buffer",
                metavar="N",
                type=click.IntRange(1, config.MOST),
                help=f"How many events may wait.  [default: {BUFFER}]",
            ),
            click.option(
                "--when-full",
                type=click.Choice(config.WHEN_FULL),
                help="Let the program wait, or drop events and count them.  [default: block]",
            ),
            click.option("--core", type=click.Choice(config.CORES), help="How to watch.  [default: the best there is]"),
            click.option(
                "--functions",
                metavar="FILE.py",
                multiple=True,
                type=click.Path(readable=False),
                help="Run this file first: views may call its functions.",
            ),
            click.option(
                "--group",
                "groups",
                metavar="NAME=KIND:WHAT",
                multiple=True,
                callback=lambda ctx, param, words: _groups(words),
                help="What a group of a view is: class:app.Worker, task:worker-*, actor:app.Worker or module:app.net.",
            ),
        )
    ):
        command = option(command)
    return command


def _groups(words: Sequence[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """What each group is; what is said of one several times adds up."""
    if not words:
        return ()
    from lawful.laws.grammar.groups import read_option

    found: dict[str, tuple[str, ...]] = {}
    for name, binding in map(read_option, words):
        found[name] = (*found.get(name, ()), str(binding))
    return tuple(found.items())


def _group_bindings(both: config.Config) -> tuple[tuple[str, tuple[Binding, ...]], ...]:
    if not both.groups:
        return ()
    from lawful.laws.grammar.groups import read_groups

    return read_groups(both.groups, where=both.file)


def find_program(ctx: click.Context, words: Sequence[str]) -> launcher.LaunchedProgram:
    """The program that the command line names."""
    if not words:
        hint = f"{ctx.command_path} [OPTIONS] SCRIPT [ARGUMENTS], or -m MODULE [ARGUMENTS]"
        raise LawfulError("usage", "there is no program to run", hint=hint)
    return launcher.module(words) if ctx.meta[_MODULE] else launcher.script(words)


def combined_settings(program: launcher.LaunchedProgram, given: config.Config) -> tuple[config.Config, Settings]:
    """What the project's configuration and the flags ask for together."""
    project = find_project(program.folder)
    both = config.combined(config.load(str(project)), given)
    if both.trace is not None:
        keep([*program.files, *both.laws, *both.functions, both.learn.store, both.sampling.store], both.trace, "trace")
    settings = Settings(
        scope=Scope(both.calls, both.public, both.fields, both.include, both.exclude, project),
        main=program.name,
        trace=both.trace,
        history=10 if both.history is None else both.history,
        on_violation=both.on_violation or "report",
        buffer=both.buffer or BUFFER,
        drop=both.when_full == "drop",
        core=both.core,
        groups=_group_bindings(both),
        ignore=both.ignore,
    )
    return both, settings


def load_functions(paths: Sequence[str]) -> None:
    """Files of the user's, with functions for views."""
    if paths:
        from lawful.laws.grammar import functions

        for path in paths:
            functions.load(path)


def load_laws(words: Sequence[str], functions: Sequence[str] = ()) -> list[Law]:
    """All laws; of those that are wrong, every one is told."""
    load_functions(functions)
    laws: dict[str, Law] = {}
    own: list[Law] = []
    errors: list[LawError] = []
    for word in words:
        try:
            for name, path in find_laws(word).items():
                if name not in laws:
                    laws[name] = load_law(path, name=name)
                    if not is_shipped(path):
                        own.append(laws[name])
        except LawError as error:
            errors.append(error)
    for each in errors[:-1]:
        click.echo(each.render() + "\n", err=True)
    if errors:
        raise errors[-1]
    for law in own:
        if law.warnings:
            click.echo(render_all(law.warnings, Source(law.source, law.name)) + "\n", err=True)
    return list(laws.values())


def notify(text: str) -> None:
    """A line of Lawful's own among what the program writes to standard error."""
    _write_to_stderr(f"lawful: {printable(text)}\n")


class ProgramHost:
    """Runs the program under watch, and has the last word."""

    def __init__(
        self,
        program: launcher.LaunchedProgram,
        settings: Settings,
        laws: Sequence[Law],
        report: Callable[[Session], None],
        fail_on: str | None = None,
    ) -> None:
        self.session = Session(settings, laws, on_exit=self._on_exit, on_exec=self._on_exec)
        self._program = program
        self._report = report
        self._fail_on = fail_on
        self._process = processes.pid()
        self._import_state = ImportState()
        self._ending: launcher.Ending | None = None
        self._reported = False
        self._interrupted = False  # while we had the last word

    def __call__(self) -> int:
        import atexit

        protected_output.save_standard_error()
        # Handlers that are registered first are called last: the program's own are watched.
        atexit.register(self._end)
        ending = self._program.run(self._begin, getattr(core.native, "call_without_frames", None))
        self._ending = ending._replace(exit=None)  # which would keep what the program's frames refer to
        if ending.exit is not None:
            raise ending.exit
        return ending.code

    def _begin(self) -> None:
        try:
            self.session.start()
        except Exception as error:
            self.session.fail(error)  # the program runs in any case
            self.session.finish()

    def _end(self) -> None:
        """The last exit handler: the interpreter has waited for all threads and is about to go."""
        try:
            self._end_process()
        except Exception as error:
            with suppress(Exception):  # the program may have left nothing to say it with
                _notify_internal_error(error)

    def _end_process(self) -> None:
        ending = self._ending
        own = ending.code & 0xFF if ending is not None else 0
        code = own
        if processes.pid() == self._process:
            # The program's last words come before ours. What goes wrong here goes wrong again when the interpreter
            # does the same in a moment, and is told then.
            with suppress(Exception):
                sys.stdout.flush()
            code = self._finish_and_report(own)
        else:
            self.session.leave()
        interrupted = self._interrupted or (ending is not None and ending.interrupted)
        if (code != own and not self._interrupted) or (interrupted and self._findings_set_exit_code):
            launcher.end_with(code)
        elif interrupted:
            launcher.end_interrupted()

    @property
    def _findings_set_exit_code(self) -> bool:
        """Must the code be that of findings, whatever the program's own is?"""
        return self._fail_on == "finding" and self.session.live.failed

    def _on_exit(self, code: int) -> None:
        """The program calls `os._exit`."""
        code &= 0xFF
        wanted = self._finish_and_report(code)
        if wanted != code:
            os._exit(wanted)

    def _on_exec(self) -> None:
        """The program calls `os.execv`, or the like. If that fails, it goes on without us."""
        self.session.live.warn("another program took the place of this one (os.exec…), and was not watched")
        self._finish_and_report(0)

    def _finish_and_report(self, code: int) -> int:
        """Finish and report, once; the code with which the process should end, the program's own being this."""
        if self._reported:
            return code
        self._reported = True
        session = self.session
        # The program may have modules with the names of some that we are about to import, or import none at all.
        self._import_state.restore()
        try:
            with more_room():
                protected_output.free_descriptor()
                session.finish()
                self._report(session)
                _show_traceback(session.live.fault)
        except Exception as error:
            _notify_internal_error(error)
        except BaseException as error:  # a signal came, and whoever sent it does not want to wait
            self._interrupted = isinstance(error, KeyboardInterrupt)
            notify(f"the report is not complete: interrupted by {type(error).__name__}")
        self._import_state.restore_program()
        if not session.live.failed or self._fail_on == "never":
            return code
        return FAIL if self._findings_set_exit_code else code or FAIL


def _notify_internal_error(error: Exception) -> None:
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        notify(f"the report is not complete: {error.strerror}")
        return
    notify(f"a fault in Lawful, after the program's end: {type(error).__name__}: {error}")
    notify("please report it, with what LAWFUL_DEBUG=1 prints")
    _show_traceback(error)


def _show_traceback(error: BaseException | None) -> None:
    if error is not None and os.environ.get("LAWFUL_DEBUG") == "1":
        import traceback

        _write_to_stderr("".join(traceback.format_exception(error)))


def warn_before_run(session: Session, both: config.Config) -> None:
    """What the user should know before the program runs."""
    core = session.core
    if core.name == "python" and not (both.core or os.environ.get("LAWFUL_CORE")):
        reasons = "; ".join(f"{name}: {reason}" for name, reason in core.refusals)
        notify(f"watching with the slow core, in pure Python ({reasons})")
    if session.lookout.exchange is not None:
        from lawful.sources.actors.messages import misnamed, unbound

        for text in misnamed(session.laws, dict(session.settings.groups)):
            notify(text)
        for text in unbound(session.laws, dict(session.settings.groups)):
            notify(
                f"{text}: only messages that it tells of by lawful.emit are seen; say it with --group, or in the view"
            )
    scope = session.settings.scope
    if scope.calls or scope.public or scope.fields:
        return
    for law in session.lookout.watched.unnamed:
        notify(f"{law.name} is about events of any name, and nothing says which: use --calls, --public or --fields")


def open_report(path: str | None, needed: Sequence[str | None]) -> protected_output.ReportFile | None:
    """The file for the report, opened before the program begins so that a wrong name is told then."""
    if path is None or path == "-":
        return None
    keep(needed, path)
    return protected_output.ReportFile(path)


def write_report(
    session: Session,
    file: protected_output.ReportFile | None,
    form: str,
    quiet: bool,
    details: bool = False,
    *,
    known: KnownFindings | None = None,
    earlier: bool = False,
) -> None:
    """The report, to standard error if there is no file: standard output is the program's.

    With `earlier`, it has anomalies that earlier runs had, too.
    """
    run, folder = session.live, session.settings.scope.project
    if known is not None:
        _apply_baseline(known, run)
    if quiet and form == "text" and not run.failed:
        for text in run.faults:
            notify(text)
        return
    from lawful.reports import live

    baseline = None if known is None else known.path
    if form == "json":
        _write_report_text(file, live.render_json(run, folder=folder, baseline=baseline).decode())
        return
    if form != "text":
        from lawful.reports import formats, gather
        from lawful.reports.sources import SourceLines

        report = gather.of_live(run, SourceLines(folder), baseline=baseline, pictures=form == "html")
        _write_report_text(file, formats.render(report, form, title=f"Lawful: {session.settings.main or 'run'}"))
        return
    target = protected_output.standard_error() if file is None else None
    if target is not None and target.isatty():
        _print_in_colour(live.report_lines(run, folder=folder, details=details, known=earlier), target)
    else:
        _write_report_text(file, live.render_text(run, folder=folder, details=details, known=earlier))


def _apply_baseline(known: KnownFindings, run: LawRun) -> None:
    """Hide what is known, or write it down."""
    try:
        written = known.apply_to_run(run)
    except LawfulError as error:
        notify(f"the baseline is not written: {error.where}: {error.message}")
    else:
        if written is not None:
            notify(f"{known.path}: {baseline_written(written)}")


def _write_report_text(file: protected_output.ReportFile | None, text: str) -> None:
    if file is None:
        _write_to_stderr(text)
        return
    try:
        file.write(text)
    except OSError as error:  # the disk is full, or nobody reads any more
        notify(f"the report is not complete: {file.name}: {error.strerror or error}")


def _write_to_stderr(text: str) -> None:
    """To standard error, if there is one."""
    stream = protected_output.standard_error()
    if stream is not None:
        with suppress(OSError, ValueError):  # its reader has gone
            stream.write(text)
            stream.flush()


def _print_in_colour(lines: Iterator[Any], target: IO[str]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(file=target, highlight=False)
    for line in lines:
        console.print(Text.assemble(*line), soft_wrap=True)
