"""The programs of the catalogue, under watch on every core: one keeps its law, the other breaks it where it says."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lawful.cli import law_examples
from lawful.laws import catalog
from lawful.sources.python import tracer_choice


@pytest.fixture(scope="module")
def run() -> Iterator[law_examples.Run]:
    """Each program in a fork of a process that has Lawful loaded: that is faster."""
    script = Path(__file__).with_name("program_server.py")
    with subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        asked, answered = process.stdin, process.stdout

        def run(folder: Path, words: list[str]) -> tuple[int, str]:
            output = folder / "output.txt"
            asked.write(json.dumps({"folder": str(folder), "output": str(output), "arguments": words}) + "\n")
            asked.flush()
            return int(answered.readline()), output.read_text(encoding="utf-8", errors="replace")

        yield run
        asked.close()
        assert process.wait() == 0


@pytest.mark.parametrize("core", tracer_choice.available())
@pytest.mark.parametrize("name", catalog.names())
def test_a_law_finds_what_its_programs_say(name: str, core: str, run: law_examples.Run) -> None:
    law = catalog.load(name)
    assert law_examples.expected_lines(law.keeps) == []
    assert law_examples.problems(name, law.path, core, run) == []
