"""Where tests ask for an error, and where programs have an answer to one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lawful.engine.expected_errors import answered_lines, expected_lines
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


ANSWERING = b"""
import io
def gone(stream):
    try:
        return stream.read()                        # ValueError, OSError
    except (OSError, io.ValueError) as error:
        return str(error)
def passed_over(stream):
    try:
        stream.read()
    except ValueError:
        pass
    try:
        stream.read()                               # OSError
    except ValueError:
        "not now"
        raise
    except OSError:
        return None
    try:
        def later():
            stream.read()
        with stream:                                # UnsupportedOperation
            stream.write(                           # UnsupportedOperation
                "x")                                # UnsupportedOperation
    except io.UnsupportedOperation:
        raise RuntimeError("read only") from None
    finally:
        stream.read()
    for _ in "x":
        try:
            stream.read()
        except ValueError:
            print("closed")
            continue
    try:
        stream.read()
    except:
        print()
"""


def test_errors_that_are_turned_into_something_else_are_answered(tmp_path: Path) -> None:
    marked = {
        number: {word.strip() for word in line.decode().split("#")[1].split(",")}
        for number, line in enumerate(ANSWERING.splitlines(), 1)
        if b"#" in line
    }
    found = answered_lines(ANSWERING)
    assert found.pop(21) == {"UnsupportedOperation"}  # the line in which a function is made
    assert found == marked
    (tmp_path / "program.py").write_bytes(ANSWERING)
    suppressions = Suppressions(folder=tmp_path)
    covered = {line for line in range(1, 45) if suppressions.cover("files/use-after-close", "program.py", line)}
    assert covered == {5}
    assert not any(suppressions.cover("files/left-open", "program.py", line) for line in range(1, 45))


@pytest.mark.parametrize("content", [b"", b"except", b"try:\n  x\nexcept (:\n", b"except \0", b"\xff except"])
def test_what_cannot_be_read_answers_nothing(content: bytes) -> None:
    assert answered_lines(content) == {}


@pytest.mark.parametrize(
    ("answer", "code"), [("return 0", 0), ("raise EOFError from None", 0), ("print()", 1), ("pass", 1)]
)
def test_a_program_that_has_an_answer_breaks_no_law(tmp_path: Path, answer: str, code: int) -> None:
    (tmp_path / "program.py").write_text(
        "import contextlib, io\n"
        "def take(stream):\n"
        "    try:\n"
        "        return stream.readinto(bytearray(3))\n"
        "    except (OSError, ValueError):\n"
        f"        {answer}\n"
        "stream = io.BytesIO()\n"
        "stream.close()\n"
        "with contextlib.suppress(EOFError):\n"
        "    take(stream)\n"
    )
    command = [sys.executable, "-m", "lawful", "run", "--law", "std", "--on-violation", "report", "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stderr
    assert ("use-after-close" in done.stderr) == bool(code)
