"""A pytest test as the program: each of its parametrisations, or each example of a Hypothesis test, is an execution."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import unittest
from collections.abc import Callable
from typing import Any

from lawful.errors import LawfulError
from lawful.explain.teachers.python.exploring import Tally
from lawful.explain.teachers.python.inputs import written
from lawful.explain.teachers.python.running import Result

_QUIET = ["-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--no-header"]


class Named:
    """An input of a test, by what pytest or Hypothesis says of it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def arguments(self) -> Any:
        raise NotImplementedError

    def text(self) -> str:
        return self._name


def prepare() -> None:
    """Loads pytest, once for all the processes in which it will run."""
    if importlib.util.find_spec("pytest") is None:
        message = "pytest is not installed"
        raise LawfulError("explain-pytest", message, hint="a function is named as file.py:function")
    importlib.import_module("pytest")


def run(
    node: str, folder: str, begin: Callable[[list[Any]], Tally | None], beat: Callable[[int], None]
) -> dict[str, Any] | None:
    """Lets pytest find the test and run it with all that belongs to it. `begin` is told of the functions that were
    found, while their modules are loaded, and says how to go on; if it does not, nothing is run."""
    plugin = _Runs(begin, beat)
    code = _main([*_QUIET, "--rootdir", folder, node], plugin)
    if not plugin.found:
        reason = "; ".join(plugin.reasons) or f"pytest ended with exit code {code}"
        raise LawfulError("explain-pytest", f"pytest finds no such test: {reason}", where=node)
    return None if plugin.tally is None else plugin.tally.end(complete=False, notes=plugin.notes)


def _main(arguments: list[str], plugin: object) -> int:
    import pytest

    if importlib.util.find_spec("xdist") is not None:
        arguments = [*arguments, "-n0"]  # executions of other processes could not be seen
    return int(pytest.main(arguments, plugins=[plugin]))


class _Runs:
    def __init__(self, begin: Callable[[list[Any]], Tally | None], beat: Callable[[int], None]) -> None:
        self._begin = begin
        self._beat = beat
        self.tally: Tally | None = None
        self.found = False
        self.notes: list[str] = []
        self.reasons: list[str] = []

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

    def pytest_pyfunc_call(self, pyfuncitem: Any) -> Any:
        """In place of pytest's own call: each execution is recorded, and none fails towards pytest."""
        if self._now.full():
            return True
        test = pyfuncitem.obj
        given = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
        inner = getattr(test, "hypothesis", None)
        if inner is not None and hasattr(inner, "inner_test"):
            self._hypothesis(test, given)
        else:
            chosen = getattr(pyfuncitem, "callspec", None)
            name = (
                ", ".join(f"{key}={written(value)}" for key, value in chosen.params.items())
                if chosen
                else pyfuncitem.name
            )
            self._execute(lambda: test(**given), name)
        return True

    def pytest_runtest_call(self, item: Any) -> None:
        """Tests of unittest's classes are not called by pytest itself."""
        if isinstance(getattr(item, "_instance", None) or getattr(item, "instance", None), unittest.TestCase):
            original = item.obj
            item.obj = functools.wraps(original)(lambda: self._execute(original, item.name))

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:  # not by the test itself: that was recorded, and hidden from pytest
            last = str(report.longrepr).strip().rpartition("\n")[2]
            self.notes.append(f"{report.nodeid}: {report.when} failed: {last}")

    @property
    def _now(self) -> Tally:
        assert self.tally is not None
        return self.tally

    def _hypothesis(self, test: Any, given: dict[str, Any]) -> None:
        original = test.hypothesis.inner_test

        def observed(*positional: Any, **keywords: Any) -> None:
            given_by_hypothesis = {name: each for name, each in keywords.items() if name not in ("self", *given)}
            shown = [f"{name}={written(each)}" for name, each in given_by_hypothesis.items()]
            if not self._now.full():
                self._execute(lambda: original(*positional, **keywords), ", ".join(shown))

        test.hypothesis.inner_test = observed
        try:
            test(**given)
        finally:
            test.hypothesis.inner_test = original

    def _execute(self, body: Callable[[], object], name: str) -> None:
        tally = self._now
        self._beat(tally.ran)
        passed_on: list[BaseException] = []

        def watched() -> None:
            try:
                body()
            except BaseException as error:
                if _is_control(error):
                    passed_on.append(error)
                raise

        result: Result = tally.runner.run(watched)
        if passed_on:
            raise passed_on[0]
        tally.add(result, Named(name), tally.ran)


def _is_control(error: BaseException) -> bool:
    """Is it how pytest or Hypothesis say that this is no execution: skipped, or an example that was not wanted?"""
    import pytest

    skipped = (pytest.skip.Exception, pytest.exit.Exception, unittest.SkipTest)
    return isinstance(error, skipped) or type(error).__module__.startswith("hypothesis")
