"""How the plugin is loaded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EARLY = """
import pytest
pytest.register_assert_rewrite("lawful")  # as pytest does for the distribution of an installed plugin
"""
TESTS = """
import lawful.config, lawful.testing.plugin

def test_it():
    for module in (lawful.config, lawful.testing.plugin):
        assert "Rewriting" not in type(module.__loader__).__name__
"""
COLLECTING = """
import gc

def test_it():
    assert gc.isenabled() is {wanted}
"""


def passes(folder: Path, code: str, words: list[str]) -> None:
    """Run pytest by this code, with these words."""
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=folder,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("wanted", [True, False])
def test_the_collector_is_left_as_it_was(wanted: bool, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(COLLECTING.format(wanted=wanted), encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    code = f"import gc, pytest, sys; gc.{'enable' if wanted else 'disable'}(); sys.exit(pytest.main(sys.argv[1:]))"
    words = ["-q", "-p", "pytest_lawful", "-p", "no:cacheprovider", "--lawful-law=threads"]
    passes(tmp_path, code, words)


def test_pytest_does_not_rewrite_lawful(tmp_path: Path) -> None:
    (tmp_path / "early.py").write_text(EARLY, encoding="utf-8")
    (tmp_path / "test_it.py").write_text(TESTS, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    code = "import sys; sys.path.insert(0, '.'); import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    words = ["-q", "-p", "early", "-p", "pytest_lawful", "-p", "no:cacheprovider", "--lawful-law=threads"]
    passes(tmp_path, code, words)
