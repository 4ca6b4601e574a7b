"""Every case of the original tools: verdict, position, and whether each prefix may end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lawful import rml
from laws.rml.cores import CORES, using

CASES: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "data" / "rml-conformance.jsonl").read_text(encoding="utf-8").splitlines()
]


def test_all_cases_are_here() -> None:
    assert len(CASES) == 82


@pytest.mark.parametrize("which", CORES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_as_the_original(case: dict[str, Any], which: str) -> None:
    law = rml.compile(case["spec"])
    with using(which):
        outcome = law.check(case["trace"])
        monitor = law.monitor()
    assert outcome.accepted is (case["verdict"] == "accept")
    assert outcome.rejected_at == case.get("reject_at")
    assert outcome.events == len(case["trace"])
    prefixes = ["t" if monitor.outcome().accepted else "f"]
    for event in case["trace"]:
        verdict = monitor.step(event)
        if monitor.rejected_at is not None:
            assert verdict == "false"
            prefixes.append("x")
            break
        prefixes.append("t" if verdict.accepts else "f")
    assert "".join(prefixes) == case["prefix_may_halt"]
