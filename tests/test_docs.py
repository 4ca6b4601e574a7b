"""The documentation is true: its links lead somewhere, each command has its page, and its sessions replay."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import check_docs
from lawful.cli.main import COMMANDS


def test_no_dead_links() -> None:
    assert check_docs.dead_links() == []


def test_every_command_has_a_page_and_every_page_a_command() -> None:
    documented = {page.stem for page in (check_docs.ROOT / "docs" / "commands").glob("*.md")}
    assert documented - {"index", "README"} == {entry.name for entry in COMMANDS}


@pytest.mark.parametrize("page", check_docs.pages(), ids=lambda page: str(page.relative_to(check_docs.ROOT)))
def test_the_sessions_of_a_page_replay(page: Path, tmp_path: Path) -> None:
    # A page is one session: what a command writes, a later one may read. It runs on a copy of the examples.
    ours = [command for command in check_docs.commands(page) if runs_lawful(command.text)]
    if ours and (check_docs.ROOT / "examples").exists():
        shutil.copytree(check_docs.ROOT / "examples", tmp_path / "examples")
    for command in ours:
        output = run(command.text, tmp_path)
        if not matches(command.output, output):
            place = f"{page.relative_to(check_docs.ROOT)}:{command.line}"
            shown, got = "\n".join(command.output), "\n".join(output)
            pytest.fail(f"{place}: $ {command.text}\n--- the page shows\n{shown}\n--- the command prints\n{got}")


def runs_lawful(command: str) -> bool:
    """Whether ``lawful`` is what a command, or a part of its pipeline, calls."""
    return re.search(r"(^|[|;&]\s*)lawful\b", command) is not None


def run(command: str, directory: Path) -> list[str]:
    """What a command prints on an 80-column terminal without colours, error output included."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    settings = {"PATH": path, "COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb", "PYTHONUTF8": "1"}
    done = subprocess.run(
        command,
        shell=True,
        cwd=directory,
        env=os.environ | settings,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=120,
    )
    return trimmed(done.stdout.splitlines())


def matches(shown: list[str], printed: list[str]) -> bool:
    """Whether the lines are the same; a line of only ``...`` stands for any number of lines."""
    pattern = "".join(
        r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line.rstrip()) + r"\n" for line in trimmed(shown)
    )
    return re.fullmatch(pattern, "".join(line.rstrip() + "\n" for line in printed)) is not None


def trimmed(lines: list[str]) -> list[str]:
    """Without the empty lines at the end, which a page need not show."""
    end = len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    return lines[:end]


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a b", "a b", True),
        ("a b", "a c", False),
        ("a b", "a b c", False),
        ("a ... d", "a b c d", True),
        ("a ... d", "a d", True),
        ("a ...", "a b c", True),
        ("... c", "a b", False),
        ("", "", True),
        ("", "a", False),
        ("a.", "ab", False),
    ],
)
def test_matching(shown: str, printed: str, same: bool) -> None:
    assert matches(shown.split(), printed.split()) is same


def test_commands_are_read_from_console_blocks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("Text\n\n```console\n$ lawful a \\\n>   b\nout 1\n\nout 2\n$ ls\n```\n\n```sh\n$ lawful no\n```\n")
    assert list(check_docs.commands(page)) == [
        check_docs.Command(4, "lawful a b", ["out 1", "", "out 2"]),
        check_docs.Command(9, "ls", []),
    ]
    assert [runs_lawful(text) for text in ("lawful x", "cat y | lawful -", "make lawful", "ls")] == [
        True,
        True,
        False,
        False,
    ]


def test_dead_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# The `first` part!\n\n## Same\n\n## Same\n")
    (tmp_path / "README.md").write_text(
        "[fine](docs/a.md#the-first-part) [fine](docs/a.md#same-1) [web](https://example.org) `[code](no.md)`\n"
        "[dead](docs/b.md)\n\n[dead](docs/a.md#second) [out](../x.md) ![dead](x.png) [here](#nowhere)\n\n"
        "[r]\n\n[r]: r.md\n"
    )
    assert check_docs.dead_links(tmp_path) == [
        "README.md:1: no such file: docs/b.md",
        "README.md:4: no such heading: docs/a.md#second",
        "README.md:4: leads out of the project: ../x.md",
        "README.md:4: no such file: x.png",
        "README.md:4: no such heading: #nowhere",
        "README.md:6: no such file: r.md",
    ]
