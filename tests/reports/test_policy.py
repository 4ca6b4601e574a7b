"""Policies drawn: gold files for every form, and nothing of a policy is left out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given

import check_docs
from confidence.random_policies import policies
from lawful.confidence.policies import named
from lawful.confidence.policy_automaton import Policy
from lawful.confidence.policy_parser import parse
from lawful.reports.policy import Form, drawing, render

GOLD = Path(__file__).parent / "gold"
FORMS: tuple[Form, ...] = ("text", "dot", "mermaid")

OWN = """
policy own-one
start watch
state watch: sample 2 in 3
  after 1000 clean samples go hold
  on violation go watch
state hold: sample by overhead 2.5% at most 1 in 8
  on violation go watch
  on new code go watch
  on rare code go watch
  on overhead above 10% go sleep
state sleep: sample none
  after 10 minutes go hold
"""

POLICIES = {"off": named("off"), "taper": named("taper(3)"), "coverage": named("coverage"), "own": parse(OWN)}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", POLICIES)
def test_drawings(name: str, form: Form) -> None:
    assert render(POLICIES[name], form) == (GOLD / f"policy_{name}_{form}.txt").read_text(encoding="utf-8")


@given(policies())
def test_every_state_and_every_way_is_drawn(policy: Policy) -> None:
    picture = drawing(policy)
    assert [node.name for node in picture.nodes] == [state.name for state in policy.states]
    assert [node.name for node in picture.nodes if node.start] == [policy.start]
    drawn = {
        (edge.source, edge.target, label.strip())
        for edge in picture.edges
        for label in edge.label.replace("\n", " ").split(",")
    }
    assert drawn == {(way.source, way.target, way.when) for way in policy.transitions}
    text = render(policy)
    for state in policy.states:
        assert state.name in text
    for form in FORMS:
        assert render(policy, form).endswith("\n")


def test_the_drawings_of_the_page_are_those_of_the_policies() -> None:
    page = (check_docs.ROOT / "docs" / "policies.md").read_text(encoding="utf-8")
    shown = re.findall(r"^```mermaid\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert shown == [render(named(name), "mermaid") for name in ("off", "taper(3)", "coverage", "overhead")]
