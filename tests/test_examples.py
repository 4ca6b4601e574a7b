"""The examples keep the promise of their names: ``LAW.accepted[.note].jsonl``, ``LAW.rejected.N[.note].jsonl``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import lawful
from lawful import Law, Outcome, Verdict
from lawful.events import open_trace

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
LAWS = sorted(EXAMPLES.rglob("*.rml"))
TRACES = sorted(EXAMPLES.rglob("*.jsonl"))

# N is the number of the event that the law rejects, or `end` where the trace must not end.
NAME = re.compile(r"(?P<law>\w+)\.(?:accepted|rejected\.(?P<at>[1-9][0-9]*|end))(?:\.[\w-]+)?\.jsonl")


def named(path: Path) -> str:
    return path.relative_to(EXAMPLES).as_posix()


def promise(trace: Path) -> tuple[Path, int | str | None]:
    """The law that a trace belongs to, and where its name says that the law rejects it."""
    name = NAME.fullmatch(trace.name)
    assert name is not None, f"{trace.name} does not say what to expect"
    at = name["at"]
    return trace.with_name(f"{name['law']}.rml"), int(at) if at and at != "end" else at


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
            assert monitor.rejected_at in (None, number) or monitor.rejected_at < number
    assert monitor.end() is (Verdict.TRUE if monitor.rejected_at is None else Verdict.FALSE)
    return monitor.outcome()


@pytest.mark.parametrize("path", LAWS, ids=named)
def test_a_law_has_no_warnings_and_shows_both_sides(path: Path) -> None:
    assert lawful.rml.compile(path.read_text(encoding="utf-8")).warnings == ()
    promises = [promise(trace)[1] for trace in TRACES if promise(trace)[0] == path]
    assert None in promises, "nothing shows what the law accepts"
    assert any(at is not None for at in promises), "nothing shows what the law rejects"


def test_the_index_leads_to_every_law_and_every_trace() -> None:
    index = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", index) if not link.startswith("..")]
    assert sorted(set(links)) == sorted(map(named, (*LAWS, *TRACES)))
    assert all((EXAMPLES / link).exists() for link in re.findall(r"\]\((\.\.[^)\s]+)\)", index))
