"""Runs the program in this process under watch, reports at its end, and decides the exit code."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from lawful import core
from lawful.cli import protected_output
from lawful.cli.import_state import ImportState
from lawful.cli.protected_output import notify, write_to_stderr
from lawful.cli.reporting import baseline_written
from lawful.cli.trace_input import keep, print_in_colour
from lawful.engine.descriptors import more_room
from lawful.engine.session import Session
from lawful.errors import LawfulError
from lawful.pristine_os import processes
from lawful.sources.python import launcher

if TYPE_CHECKING:
    from lawful.engine.run import LawRun
    from lawful.engine.watch_settings import WatchSettings
    from lawful.laws.protocol import Law
    from lawful.reports.baseline import KnownFindings

FAIL = 1


class ProgramHost:
    """Runs the program under watch, and reports at its end."""

    def __init__(
        self,
        program: launcher.LaunchedProgram,
        settings: WatchSettings,
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
        self._interrupted = False  # during the report

    def __call__(self) -> int:
        import atexit

        protected_output.save_standard_error()
        # Handlers that are registered first are called last, so that the program's own are watched.
        atexit.register(self._end)
        native = core.native_tracer
        ending = self._program.run(self._begin, None if native is None else native.call_without_frames)
        self._ending = ending._replace(exit=None)  # the exception would keep the program's frames alive
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
        """The last exit handler: the interpreter has waited for all threads and is about to end."""
        try:
            self._end_process()
        except Exception as error:
            with suppress(Exception):  # the program may have closed every stream
                _notify_internal_error(error)

    def _end_process(self) -> None:
        ending = self._ending
        own = ending.code & 0xFF if ending is not None else 0
        code = own
        if processes.pid() == self._process:
            # The program's output comes before ours. If this fails, it fails again when the interpreter flushes, which
            # then reports it.
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
        """Must the process end with the code of findings, whatever the program's own code is?"""
        return self._fail_on == "finding" and self.session.live.failed

    def _on_exit(self, code: int) -> None:
        """The program calls `os._exit`."""
        code &= 0xFF
        wanted = self._finish_and_report(code)
        if wanted != code:
            os._exit(wanted)

    def _on_exec(self) -> None:
        """The program calls `os.execv` or the like. If that fails, it goes on unwatched."""
        self.session.live.warn("another program took the place of this one (os.exec…), and was not watched")
        self._finish_and_report(0)

    def _finish_and_report(self, code: int) -> int:
        """Finish and report, once; returns the exit code for a program whose own code is this."""
        if self._reported:
            return code
        self._reported = True
        session = self.session
        # The program may have replaced modules that the report needs, or the import system.
        self._import_state.restore()
        try:
            with more_room():
                protected_output.free_descriptor()
                session.finish()
                self._report(session)
                _show_traceback(session.live.fault)
        except Exception as error:
            _notify_internal_error(error)
        except BaseException as error:  # a signal: its sender does not want to wait
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
    notify(f"an internal error in Lawful, after the program's end: {type(error).__name__}: {error}")
    notify("please report it, with what LAWFUL_DEBUG=1 prints")
    _show_traceback(error)


def _show_traceback(error: BaseException | None) -> None:
    if error is not None and os.environ.get("LAWFUL_DEBUG") == "1":
        import traceback

        write_to_stderr("".join(traceback.format_exception(error)))


def open_report(path: str | None, needed: Sequence[str | None]) -> protected_output.ReportFile | None:
    """The file for the report, opened before the program begins so that a wrong name is an error then."""
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
        for text in run.errors:
            notify(text)
        return
    target = protected_output.standard_error() if file is None and form == "text" else None
    if target is not None and target.isatty():
        from lawful.reports.live import report_lines

        print_in_colour(report_lines(run, folder, details=details, known=earlier), target)
        return
    from lawful.reports.formats import render_run

    text = render_run(
        run,
        form,
        folder,
        baseline=None if known is None else known.path,
        title=f"Lawful: {session.settings.main or 'run'}",
        details=details,
        known=earlier,
    )
    _write_report_text(file, text)


def _apply_baseline(known: KnownFindings, run: LawRun) -> None:
    """Hide the findings that the baseline knows, or write it."""
    try:
        written = known.apply_to_run(run)
    except LawfulError as error:
        notify(f"the baseline is not written: {error.where}: {error.message}")
    else:
        if written is not None:
            notify(f"{known.path}: {baseline_written(written)}")


def _write_report_text(file: protected_output.ReportFile | None, text: str) -> None:
    if file is None:
        write_to_stderr(text)
        return
    try:
        file.write(text)
    except OSError as error:  # the disk is full, or the reader has gone
        notify(f"the report is not complete: {file.name}: {error.strerror or error}")
