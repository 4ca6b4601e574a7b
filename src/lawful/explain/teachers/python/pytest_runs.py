"""A pytest test as the program: each of its parametrisations, or each example of a Hypothesis test, is an execution."""

from __future__ import annotations

import functools
import importlib.util
import unittest
from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any

import pytest

from lawful.errors import LawfulError
from lawful.explain.teachers.python.inputs import value_text
from lawful.explain.teachers.python.recorder import ExecutionCut
from lawful.explain.teachers.python.request_runs import RunTally
from lawful.explain.teachers.python.runner import ExecutionResult, run_to_end

# Lawful reports failures itself. They must not keep pytest from running the other tests.
_QUIET = ["-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--no-header", "--maxfail=0"]
_Hook = Generator[None, Any, None]


def run(node: str, folder: str, begin: Callable[[list[Any]], RunTally | None]) -> dict[str, Any] | None:
    """Lets pytest find and run the test with its fixtures. `begin` gets the test functions once their modules are
    loaded, and returns the tally for the run; None: nothing is run."""
    plugin = _Runs(begin)
    # Executions of other processes could not be seen.
    alone = ["-n0"] if importlib.util.find_spec("xdist") is not None else []
    code = int(pytest.main([*_QUIET, "--rootdir", folder, node, *alone], plugins=[plugin]))
    if not plugin.found:
        reason = "; ".join(plugin.reasons) or f"pytest ended with exit code {code}"
        hint = "its name begins with test, unless pytest is configured otherwise; name a function as file.py:function"
        raise LawfulError("explain-pytest", f"pytest does not find this test: {reason}", where=node, hint=hint)
    if plugin.tally is None:
        return None
    return plugin.tally.end(complete=False, notes=plugin.notes, drawn=plugin.drew)


class _Runs:
    """Watches tests. An execution is the call of a test. pytest decides whether it fails: an expected failure passes.
    An error in a fixture is one of the test, with the events of the fixture."""

    def __init__(self, begin: Callable[[list[Any]], RunTally | None]) -> None:
        self._begin = begin
        self.tally: RunTally | None = None
        self.found = False
        self.notes: list[str] = []
        self.reasons: list[str] = []
        self._held: list[tuple[ExecutionResult, str]] = []  # executions of which pytest has not had its say
        self._around = ExecutionResult([], "done")  # what happened while a test was prepared, or cleared away
        self._drawn = False  # the test is one of Hypothesis
        self.drew = False  # and some were

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.reasons.append(str(report.longrepr).strip().rpartition("\n")[2])

    def pytest_collection_finish(self, session: Any) -> None:
        functions = [item.obj for item in session.items if callable(getattr(item, "obj", None))]
        if functions:
            self.found = True
            self.tally = self._begin(functions)
        if self.tally is None:
            session.items.clear()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: Any) -> bool | None:
        """Begins a test, or leaves it out when a limit is reached."""
        self._held, self._drawn = [], False
        self._now.beat(self._now.ran)
        return True if self._now.limit_reached() else None

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> _Hook:
        yield from self._watched()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self) -> _Hook:
        yield from self._watched()

    def _watched(self) -> _Hook:
        self._now.runner.begin()
        outcome = yield
        self._around = self._now.runner.finish(outcome.exception if outcome.excinfo is not None else None)

    def pytest_pyfunc_call(self, pyfuncitem: Any) -> Any:
        """In place of pytest's own call: each execution is recorded."""
        test = pyfuncitem.obj
        given = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
        inner = getattr(test, "hypothesis", None)
        if inner is not None and hasattr(inner, "inner_test"):
            self._hypothesis(test, given, expecting=any(pyfuncitem.iter_markers("xfail")))
        else:
            self._execute(lambda: run_to_end(test(**given)), _parameters(pyfuncitem))
        return True

    def pytest_runtest_call(self, item: Any) -> None:
        """Tests of unittest's classes are not called by pytest itself."""
        if isinstance(getattr(item, "_instance", None) or getattr(item, "instance", None), unittest.TestCase):
            original = item.obj
            item.obj = functools.wraps(original)(lambda: self._execute(original, item.name))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> _Hook:
        """Takes pytest's report on each part of a test. Recorded failures become passes, so that all is run."""
        outcome = yield
        report = outcome.get_result()
        raised = None if call.excinfo is None else call.excinfo.value
        if report.skipped and hasattr(report, "wasxfail"):
            self._expected(report.when, item, raised)
        elif report.failed:
            known = self._failed(report.when, item, raised)
            if not known:
                last = str(report.longrepr).strip().rpartition("\n")[2]
                self.notes.append(f"{report.nodeid}: {report.when} failed: {last}")
            elif report.when != "setup":  # or pytest would go on with the test
                report.outcome, report.longrepr = "passed", None
        if report.when == "teardown":
            self._add_held()

    def _add_held(self) -> None:
        for result, name in self._held:
            self._now.add(result, name)
        self._held = []

    @property
    def _now(self) -> RunTally:
        assert self.tally is not None
        return self.tally

    def _expected(self, when: str, item: Any, raised: BaseException | None) -> None:
        """The test said that it would fail, and did."""
        if when == "setup" and not isinstance(raised, pytest.xfail.Exception):  # which says that it is not run at all
            self._held.append((self._around, _parameters(item)))
        self._held = [(_passed(result), name) for result, name in self._held]

    def _failed(self, when: str, item: Any, raised: BaseException | None) -> bool:
        """A part of the test failed. Is that an execution, or part of one?"""
        place, runner = self._place(item), self._now.runner
        if when == "call":
            if any(result.end != "done" for result, _ in self._held):
                return True  # the test itself, as was seen
            if raised is None:
                unexpected = ExecutionResult([], "error", runner.judge.other(), "XPASS(strict)", place)
                self._held = [(_ending(result, unexpected), name) for result, name in self._held]
                return bool(self._held)
            if self._drawn:
                return False
            # Before or after the method of a unittest's class.
            judge = runner.judge
            around = ExecutionResult([], "error", judge.raised(raised), type(raised).__name__, judge.place(raised))
        elif isinstance(raised, pytest.FixtureLookupError):
            return False
        else:
            around = self._around
        around = replace(around, place=around.place or place)
        before, name = self._held.pop() if self._held else (ExecutionResult([], "done"), _parameters(item))
        if before.end != "done":
            self._held.append((before, name))
            return False
        self._held.append((_ending(before, around), name))
        return True

    def _place(self, item: Any) -> tuple[str, int] | None:
        """Where a test stands."""
        line = item.location[1]
        return None if line is None else (self._now.runner.scope.event_file(str(item.path)), line + 1)

    def _hypothesis(self, test: Any, given: dict[str, Any], *, expecting: bool) -> None:
        original = test.hypothesis.inner_test
        raised: list[BaseException] = []
        self._drawn = self.drew = True

        def observed(*positional: Any, **keywords: Any) -> None:
            drawn = {name: each for name, each in keywords.items() if name not in ("self", *given)}
            shown = [f"{name}={value_text(each)}" for name, each in drawn.items()]
            if self._now.limit_reached():
                return
            try:
                self._execute(lambda: run_to_end(original(*positional, **keywords)), ", ".join(shown))
            except BaseException as error:
                if _is_control(error):
                    raise
                raised.append(error)  # hidden from Hypothesis, which would look for a smaller one
            if not expecting:
                self._add_held()

        test.hypothesis.inner_test = observed
        try:
            test(**given)
        finally:
            test.hypothesis.inner_test = original
        if expecting and raised:
            raise raised[0]

    def _execute(self, body: Callable[[], object], name: str) -> None:
        """Runs a test, and lets pytest know how it ended."""
        tally = self._now
        tally.beat(tally.ran)
        raised: list[BaseException] = []

        def watched() -> None:
            try:
                body()
            except BaseException as error:
                raised.append(error)
                raise

        result = tally.runner.run(watched)
        if raised and _is_control(raised[0]):
            raise raised[0]
        self._held.append((result, name))
        # These would end pytest.
        if raised and not isinstance(raised[0], ExecutionCut | KeyboardInterrupt):
            raise raised[0]


def _parameters(item: Any) -> str:
    chosen = getattr(item, "callspec", None)
    if chosen is None:
        return str(item.name)
    return ", ".join(f"{key}={value_text(value)}" for key, value in chosen.params.items())


def _passed(result: ExecutionResult) -> ExecutionResult:
    """The same execution, but it counts as passed."""
    return replace(result, end="done", failed=False, error="", place=None) if result.end == "error" else result


def _ending(result: ExecutionResult, error: ExecutionResult) -> ExecutionResult:
    """An execution that goes on, and ends otherwise."""
    size = len(result.word)
    places = {**result.places, **{size + position: place for position, place in error.places.items()}}
    return replace(error, word=[*result.word, *error.word], places=places)


def _is_control(error: BaseException) -> bool:
    """Do pytest or Hypothesis signal with this that nothing was executed: a skipped test, or a rejected example?"""
    skipped = (pytest.skip.Exception, pytest.exit.Exception, unittest.SkipTest)
    return isinstance(error, skipped) or type(error).__module__.startswith("hypothesis")
