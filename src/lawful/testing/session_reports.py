"""Reports of a test session besides the one in the terminal, and the findings that are known."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lawful.atomic_write import atomic_write
from lawful.errors import LawfulError

if TYPE_CHECKING:
    from lawful.engine.findings import Finding
    from lawful.engine.run import LawRun
    from lawful.reports.baseline import KnownFindings
    from lawful.testing.session_watch import SessionOptions


class SessionReports:
    """The reports at the end of a session. A wrong baseline is an error before it begins."""

    def __init__(self, options: SessionOptions) -> None:
        self._options = options
        self._folder = os.path.abspath(options.settings.scope.project)
        self._known: KnownFindings | None = None
        self.said: list[str] = []
        """Lines for the terminal."""
        if options.baseline is not None or options.update:
            from lawful.reports.baseline import KnownFindings

            self._known = KnownFindings(options.baseline, self._folder, update=options.update)

    def new(self, findings: list[Finding], run: LawRun) -> list[Finding]:
        """Those of a run's findings that the baseline does not know."""
        if self._known is None:
            return findings
        if self._options.update:
            return []  # at the end the baseline knows all of them
        known = {finding.key for finding in self._known.known(run.findings)}
        return [finding for finding in findings if finding.key not in known]

    def settle(self, run: LawRun) -> None:
        """Hide the known findings, or write the baseline."""
        if self._known is None:
            return
        try:
            written = self._known.apply_to_run(run)
        except LawfulError as error:
            run.warn(f"the baseline is not written: {error.message}")
        else:
            if written is not None:
                self.said.append(f"baseline: {written:,} {'finding is' if written == 1 else 'findings are'} known now")

    def write(self, run: LawRun) -> None:
        """Write the report, if there is to be one."""
        options = self._options
        if options.output is None and options.form == "text":
            return
        text = self._text(run)
        if options.output is None:
            self.said += text.splitlines()
            return
        try:
            with atomic_write(options.output) as file:
                file.write(text)
        except OSError as error:
            run.warn(f"the report is not written: {error}")

    def _text(self, run: LawRun) -> str:
        from lawful.reports.formats import render_run

        baseline = None if self._known is None else self._known.path
        return render_run(run, self._options.form, self._folder, command="pytest", baseline=baseline)
