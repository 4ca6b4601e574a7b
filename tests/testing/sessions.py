"""Sessions of pytest under `--lawful`, each in a process of its own."""

from __future__ import annotations

import re

import pytest


def isolated(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project whose sessions have the same plugins and the same width wherever these tests run."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("COLUMNS", "120")
    for name in ("PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "PYTEST_XDIST_TESTRUNUID"):
        monkeypatch.delenv(name, raising=False)
    return pytester


def run(project: pytest.Pytester, *words: str) -> pytest.RunResult:
    return project.runpytest_subprocess("-p", "pytest_lawful", "-p", "no:cacheprovider", *words, timeout=120)


def section(result: pytest.RunResult) -> list[str]:
    """The lines of the summary's section."""
    lines = result.outlines
    starts = [at for at, line in enumerate(lines) if re.fullmatch(r"=+ lawful =+", line)]
    assert len(starts) == 1, result.stdout.str() + result.stderr.str()
    after = lines[starts[0] + 1 :]
    end = next(at for at, line in enumerate(after) if re.match(r"=+ .* =+$", line))
    return after[:end]
