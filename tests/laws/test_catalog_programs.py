"""The programs of the catalogue, under watch on every core: one keeps its law, the other breaks it where it says."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lawful.laws import catalog
from lawful.sources.python import cores

CORES = cores.available()

Watch = Callable[..., list[tuple[str, int]]]


@pytest.fixture(scope="module")
def server() -> Iterator[subprocess.Popen[str]]:
    script = Path(__file__).with_name("program_server.py")
    with subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait() == 0


@pytest.fixture
def watched(server: subprocess.Popen[str], tmp_path: Path) -> Watch:
    def watched(program: Path, core: str, *laws: str) -> list[tuple[str, int]]:
        """The law and the line of each finding. The program runs in a copy: what lies in Lawful is not watched."""
        copy = tmp_path / "program.py"
        shutil.copy(program, copy)
        report, output = tmp_path / "report.json", tmp_path / "output.txt"
        options = [word for law in laws for word in ("--law", law)]
        how = ["--core", core, "--format", "json", "--output", str(report), "--fail-on", "never"]
        command = ["run", *options, *how, str(copy)]
        assert server.stdin is not None
        assert server.stdout is not None
        request = {"folder": str(tmp_path), "output": str(output), "arguments": command}
        server.stdin.write(json.dumps(request) + "\n")
        server.stdin.flush()
        code = int(server.stdout.readline())
        assert code == 0, output.read_text(encoding="utf-8")
        found = json.loads(report.read_text(encoding="utf-8"))
        assert (found["warnings"], found["faults"]) == ([], [])
        assert {finding["file"] for finding in found["findings"]} <= {"program.py"}
        return sorted((finding["law"], finding["line"]) for finding in found["findings"])

    return watched


def marked(program: Path) -> list[int]:
    lines = program.read_text(encoding="utf-8").splitlines()
    return [number for number, line in enumerate(lines, 1) if line.endswith("# violation")]


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("name", catalog.names())
def test_a_program_that_keeps_the_law(name: str, core: str, watched: Watch) -> None:
    law = catalog.load(name)
    assert marked(law.keeps) == []
    # It keeps the laws that raise no false alarms all the more; what they say is the same on all cores.
    assert watched(law.keeps, core, *(["std"] if core == CORES[0] else []), name) == []


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("name", catalog.names())
def test_a_program_that_breaks_the_law(name: str, core: str, watched: Watch) -> None:
    law = catalog.load(name)
    lines = marked(law.breaks)
    assert lines
    assert watched(law.breaks, core, name) == [(name, line) for line in lines]
