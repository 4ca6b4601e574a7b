"""Where tests ask for an error."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lawful.engine.expected import expected_lines
from lawful.engine.suppressions import Suppressions

SOURCE = b"""
import io, pytest, unittest
file = io.StringIO()
file.close()
with pytest.raises(ValueError, match="closed"):
    file.read()                                     # yes
    if file:
        file.write(                                 # yes
            "x")
file.read()
class Tests(unittest.TestCase):
    def test(self):
        with open("x") as f, self.assertRaisesRegex(ValueError, "closed"):
            file.read()                             # yes
        self.assertRaises(ValueError, file.read)    # yes
        try:
            file.read()
        except ValueError:
            pass
        with pytest.warns(UserWarning):
            file.read()
"""


def test_what_a_test_asks_for_is_meant(tmp_path: Path) -> None:
    marked = {number for number, line in enumerate(SOURCE.splitlines(), 1) if b"# yes" in line}
    assert expected_lines(SOURCE) >= marked
    assert expected_lines(SOURCE) - marked == {7, 9}  # further lines of the first block
    (tmp_path / "test_it.py").write_bytes(SOURCE)
    suppressions = Suppressions(folder=tmp_path, in_tests=True)
    assert {line for line in range(1, 22) if suppressions.cover("files/x", "test_it.py", line)} == {*marked, 7, 9}


@pytest.mark.parametrize("content", [b"", b"with raises(x:\n", b"raises(\0", b"\xff raises(", b"x = raises(1)\n"])
def test_what_cannot_be_read_says_nothing(content: bytes) -> None:
    assert expected_lines(content) == frozenset()


def test_a_suite_that_asks_for_errors_has_no_findings(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import io, pytest\n"
        "def test_closed():\n"
        "    file = io.StringIO()\n"
        "    file.close()\n"
        "    with pytest.raises(ValueError):\n"
        "        file.read()\n",
        encoding="utf-8",
    )
    words = ["-q", "-p", "pytest_lawful", "-p", "no:cacheprovider", "-c", "pytest.ini", "--lawful-law=files"]
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, "--lawful-fail"],
        cwd=tmp_path,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0 and "0 findings" in done.stdout, done.stdout
