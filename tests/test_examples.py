"""The examples keep the promise of their names: ``LAW.accepted[.note].jsonl``, ``LAW.rejected.N[.note].jsonl``."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import lawful
from lawful import Law, Outcome, Verdict
from lawful.events import open_trace

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
LAWS = sorted((*EXAMPLES.rglob("*.rml"), *EXAMPLES.rglob("*.view")))
TRACES = sorted(EXAMPLES.rglob("*.jsonl"))
OTHERS = (
    "dashboard/*.py",
    "explain/c/[bdmst]*_*.c",
    "explain/c/docking.c",
    "explain/c/tcas.c",
    "explain/python/*.py",
    "programs/*.py",
    "replication/*.g",
    "replication/*.py",
    "replication/*.toml",
    "watching/*.py",
    "watching/*.toml",
    "invariants/*",
    "sampling/bank*",
    "sampling/*.policy",
)
PROGRAMS = sorted((*(path for each in OTHERS for path in EXAMPLES.glob(each)), EXAMPLES / "vfs" / "README.md"))

LANGUAGES = (".rml", ".view")

# N is the number of the event that the law rejects, or `end` where the trace must not end.
NAME = re.compile(r"(?P<law>\w+)\.(?:accepted|rejected\.(?P<at>[1-9][0-9]*|end))(?:\.[\w-]+)?\.jsonl")


def named(path: Path) -> str:
    return path.relative_to(EXAMPLES).as_posix()


def promise(trace: Path) -> tuple[Path, int | str | None]:
    """The law that a trace belongs to, and where its name says that the law rejects it."""
    name = NAME.fullmatch(trace.name)
    assert name is not None, f"{trace.name} does not say what to expect"
    at = name["at"]
    laws = [law for suffix in LANGUAGES if (law := trace.with_name(name["law"] + suffix)).exists()]
    assert len(laws) == 1, f"{trace.name} belongs to one law"
    return laws[0], int(at) if at and at != "end" else at


def test_there_are_examples() -> None:
    assert LAWS
    assert TRACES


@pytest.mark.parametrize("trace", TRACES, ids=named)
def test_a_trace_is_accepted_or_rejected_as_its_name_says(trace: Path) -> None:
    path, expected = promise(trace)
    law = lawful.load_law(path)
    with open_trace(trace) as events:
        outcome = law.check(events)
    assert (outcome.accepted, outcome.rejected_at) == (expected is None, expected)
    assert stepped(law, trace) == outcome


def stepped(law: Law, trace: Path) -> Outcome:
    """The outcome of taking the events one by one, with the verdicts on the way looked at."""
    monitor = law.monitor()
    with open_trace(trace) as events:
        for number, event in enumerate(events, 1):
            verdict = monitor.step(event)
            broken = isinstance(monitor.rejected_at, int) or monitor.doomed_at is not None
            assert (verdict is Verdict.FALSE) == broken
            assert monitor.rejected_at in (None, number) or monitor.rejected_at < number  # type: ignore[operator]
    assert monitor.end() is (Verdict.TRUE if monitor.rejected_at is None else Verdict.FALSE)
    return monitor.outcome()


@pytest.mark.parametrize("path", LAWS, ids=named)
def test_a_law_has_no_warnings_and_shows_both_sides(path: Path) -> None:
    assert not lawful.load_law(path).warnings
    promises = [promise(trace)[1] for trace in TRACES if promise(trace)[0] == path]
    assert None in promises, "nothing shows what the law accepts"
    assert any(at is not None for at in promises), "nothing shows what the law rejects"


def test_the_index_leads_to_every_law_every_trace_and_every_program() -> None:
    index = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", index) if not link.startswith("..")]
    assert sorted(set(links)) == sorted(map(named, (*LAWS, *TRACES, *PROGRAMS)))
    assert all((EXAMPLES / link).exists() for link in re.findall(r"\]\((\.\.[^)\s]+)\)", index))


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLES / "watching", tmp_path / "watching"))


def ran(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    settings = {"COLUMNS": "80", "NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_ADDOPTS": ""}
    command = [sys.executable, "-m", *words]
    return subprocess.run(
        command, cwd=folder, env=os.environ | settings, capture_output=True, encoding="utf-8", timeout=120
    )


def test_the_recorded_trace_is_what_the_shop_does(shop: Path) -> None:
    assert ran(shop, "lawful", "record", "-q", "-o", "now.jsonl", "--law", "cart.rml", "shop.py").returncode == 0
    with open_trace(shop / "now.jsonl") as now, open_trace(shop / "cart.rejected.8.jsonl") as kept:
        assert [event | {"time": 0} for event in now] == [event | {"time": 0} for event in kept]


def test_the_shop_runs_under_watch_as_it_does_alone(shop: Path) -> None:
    alone, watched = ran(shop, "shop"), ran(shop, "lawful", "run", "shop.py")
    assert alone.stdout == watched.stdout != ""
    assert (alone.returncode, watched.returncode) == (0, 1)
    assert "shop.py:22: cart.rml: shop.Cart.add on object 2" in watched.stderr


def test_the_tests_of_the_shop_pass_and_one_breaks_the_law(shop: Path) -> None:
    done = ran(shop, "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", "--lawful")
    assert done.returncode == 0, done.stdout
    # The tutorial shows this section as it is.
    shown = (EXAMPLES.parent / "docs" / "tutorial.md").read_text(encoding="utf-8")
    section = done.stdout[done.stdout.index(" lawful ===") :]
    assert section[: section.index("1 finding in")].partition("\n")[2] in shown
