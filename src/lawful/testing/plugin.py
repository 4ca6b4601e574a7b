"""The pytest plugin: watches a test session, and reports which test broke which law."""

from __future__ import annotations

import argparse
import os
import traceback
from collections.abc import Callable, Generator
from typing import Any, Concatenate, ParamSpec

import pytest

from lawful.engine.findings import Finding
from lawful.engine.wording import count, message
from lawful.errors import LawfulError
from lawful.reports.live import report_lines
from lawful.testing.session_reports import SessionReports
from lawful.testing.session_watch import SessionOptions, SessionWatch, changed_findings, moved_rootdir, read_options
from lawful.testing.workers import WorkerResults, pack

_P = ParamSpec("_P")

_NAME = "lawful-watching"
_OUTPUT = "lawful"  # under which a worker's findings travel
_DETAILS = 2  # how many -v show the learned rules
_FAILED = pytest.ExitCode.TESTS_FAILED


def begin(config: pytest.Config, options: argparse.Namespace) -> None:
    """Watch from now on, to the end of the session."""
    # pytest-xdist says so in the configuration, too, but only later.
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    try:
        chosen = read_options(options, config.rootpath, worker)
        reports = SessionReports(chosen)
        reports.said += moved_rootdir(config.invocation_params.args, options.file_or_dir, config.rootpath)
        watch = SessionWatch(chosen)
        config.add_cleanup(watch.stop)  # also if there is never a session
        if worker is not None or not _distributes(options):
            watch.start()
    except LawfulError as error:
        raise pytest.UsageError(error.render()) from None
    config.pluginmanager.register(Plugin(config, chosen, watch, reports), _NAME)


def _distributes(options: argparse.Namespace) -> bool:
    """Will pytest-xdist send the tests elsewhere? Then there is nothing to see in this process."""
    return bool(getattr(options, "numprocesses", None) or getattr(options, "tx", None))


def _safely(method: Callable[Concatenate[Plugin, _P], None]) -> Callable[Concatenate[Plugin, _P], None]:
    """An internal error is reported in the summary and ends the watching; it never reaches a test."""

    def safe(self: Plugin, /, *args: _P.args, **named: _P.kwargs) -> None:
        try:
            method(self, *args, **named)
        except Exception as error:
            self._watch.fail(error)

    return safe


class Plugin:
    """The hooks of one session.

    None of them wraps a test: an exception of a test passes through no frame of Lawful.
    """

    def __init__(
        self, config: pytest.Config, chosen: SessionOptions, watch: SessionWatch, reports: SessionReports
    ) -> None:
        self._config = config
        self._chosen = chosen
        self._watch = watch
        self._test = ""
        self._phase = ""
        self._counts: dict[tuple[object, ...], int] = {}  # of the findings, when they were last looked at
        self._news: dict[tuple[object, ...], Finding] = {}  # not yet sent to the controller
        self._workers: WorkerResults | None = None  # if the tests run in workers
        self._reports = reports

    # -- where the session is ---------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        self._begin_session()

    @_safely
    def _begin_session(self) -> None:
        if self._config.pluginmanager.hasplugin("dsession"):
            self._watch.discard()
            self._workers = WorkerResults()
        else:
            self._watch.start()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, None, None]:
        self._enter(f"{collector.nodeid} (collection)" if collector.nodeid else None)
        yield
        self._enter(None)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self._begin_phase(item, "setup")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> None:
        self._begin_phase(item, "call")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        self._begin_phase(item, "teardown")

    def _begin_phase(self, item: pytest.Item, phase: str) -> None:
        self._test, self._phase = item.nodeid, phase
        self._enter(f"{self._test} ({phase})")

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, None, None]:
        outer = self._watch.live.log.context
        self._enter(f"{self._test} (setup of {_fixture(fixturedef)})")
        yield
        self._enter(outer)
        # Its values may be finalised in the middle of another test, when a parameter changes.
        fixturedef.addfinalizer(lambda: self._enter(self._tearing_down(fixturedef)))

    @pytest.hookimpl(tryfirst=True)
    def pytest_fixture_post_finalizer(self) -> None:
        if self._test:
            self._enter(f"{self._test} ({self._phase})")

    def _tearing_down(self, fixturedef: pytest.FixtureDef[Any]) -> str:
        return f"{self._test} (teardown of {_fixture(fixturedef)})"

    @_safely
    def _enter(self, context: str | None) -> None:
        self._watch.enter(context)

    # -- reports ----------------------------------------------------------------------------------

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
        phase = self._watch.live.log.context
        self._enter(None)
        outcome = yield
        if outcome.exception is None:
            self._add_to_report(outcome.get_result(), call.when)
        if call.when == "call":
            self._enter(phase)  # it may be the report of a subtest, after which the test goes on

    @_safely
    def _add_to_report(self, report: pytest.TestReport, phase: str) -> None:
        broken = changed_findings(self._watch.live, self._counts)
        shown = self._reports.new(broken, self._watch.live) if broken else []
        if shown:
            report.sections.append((f"lawful {phase}", "\n".join(_in_one_line(each) for each in shown)))
        if broken:
            self._news.update((each.key, each) for each in broken)
        if phase == "teardown" and self._news and self._is_worker:
            vars(report)[_OUTPUT] = pack(self._watch.live, self._news.values())
            self._news.clear()

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self._enter(None)
        self._end_session(session)

    @_safely
    def _end_session(self, session: pytest.Session) -> None:
        self._watch.stop()
        live = self._watch.live
        if self._workers is not None:
            live.processes = 0  # this process runs no tests
            self._workers.merge_into(live)
            if self._watch.learns:
                self._watch.learn_from(self._workers.learned())
        if self._is_worker:
            packed = pack(live, learned=self._watch.learned())
            self._config.workeroutput[_OUTPUT] = packed  # type: ignore[attr-defined]
            return
        self._watch.keep()
        self._reports.settle(live)
        self._reports.write(live)
        if self._chosen.fail and live.findings and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = _FAILED

    @property
    def _is_worker(self) -> bool:
        return hasattr(self._config, "workeroutput")

    # -- the controller of pytest-xdist -----------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if type(report) is pytest.TestReport:  # and not one of a subtest
            self._enter(None)
        self._take_report(report)

    @_safely
    def _take_report(self, report: Any) -> None:
        packed = getattr(report, _OUTPUT, None)
        if self._workers is not None and packed is not None:
            self._workers.part(report.node.gateway.id, packed)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodeready(self, node: Any) -> None:
        if self._workers is not None:
            self._workers.begin(node.gateway.id)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self._take_worker(node)

    @_safely
    def _take_worker(self, node: Any) -> None:
        packed = (getattr(node, "workeroutput", None) or {}).get(_OUTPUT)
        if self._workers is not None and packed is not None:
            self._workers.end(node.gateway.id, packed)

    # -- the terminal -----------------------------------------------------------------------------

    def pytest_report_header(self) -> str:
        scope = self._chosen.settings.scope
        parts = [count(self._watch.laws, "law")] if self._watch.laws or not self._watch.learns else []
        if self._watch.learns:
            parts.append("learning")
        for what, names in (("calls into", scope.calls), ("public", scope.public), ("fields of", scope.fields)):
            if names:
                parts.append(f"{what} {', '.join(names)}")
        if self._watch.refused:
            parts.append(f"not watching: {self._watch.refused}")
        elif self._watch.core:
            parts.append(f"{self._watch.core} core")
        return f"lawful: {'; '.join(parts)}"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        live = self._watch.live
        terminalreporter.section("lawful")
        writer = terminalreporter._tw
        if self._watch.refused:
            writer.line(f"not watched: {self._watch.refused}", yellow=True)
            return
        folder = self._chosen.settings.scope.project
        details = self._config.option.verbose >= _DETAILS
        option = "--lawful-set=learn.known=true"
        lines = report_lines(
            live, folder, width=writer.fullwidth, details=details, known=self._chosen.known, option=option
        )
        for line in lines:
            for span in line:
                writer.write(span.text, **_markup(span.style))
            writer.line()
        for text in self._reports.said:
            writer.line(text)
        for worker in self._workers.lost if self._workers is not None else ():
            writer.line(f"worker {worker} ended early: what it saw last is missing here", yellow=True)
        if live.fault is not None and os.environ.get("LAWFUL_DEBUG") == "1":
            writer.write("".join(traceback.format_exception(live.fault)))


def _fixture(fixturedef: pytest.FixtureDef[Any]) -> str:
    scope = "" if fixturedef.scope == "function" else f"{fixturedef.scope} "
    return f"{scope}fixture {fixturedef.argname}"


def _in_one_line(finding: Finding) -> str:
    place = f"{finding.file}:{finding.line}: " if finding.file else ""
    return f"{place}{finding.law}: {message(finding)}"


def _markup(style: str) -> dict[str, bool]:
    """The words of a style, as pytest's terminal has them."""
    return {"light" if word == "dim" else word: True for word in style.split()}
