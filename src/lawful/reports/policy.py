"""Sampling policies drawn: as text, for Graphviz and for Mermaid, with the rates in the states."""

from __future__ import annotations

from typing import Literal

from lawful.confidence.policy_automaton import Policy, PolicyState, Trigger
from lawful.reports import dot, mermaid
from lawful.reports.drawing import Drawing, Edge, Node, Role, listed

Form = Literal["text", "dot", "mermaid"]


def render(policy: Policy, form: Form = "text") -> str:
    """The policy in one of the forms, with a newline at its end."""
    if form == "text":
        return _text(policy)
    return dot.render(drawing(policy)) if form == "dot" else mermaid.render(drawing(policy))


def _text(policy: Policy) -> str:
    """States with their rates, below each where it goes and when; an arrow marks the start."""
    name = max(len(state.name) for state in policy.states)
    when = max((len(each.when) for each in policy.transitions), default=0)
    lines = [policy.name]
    for state in policy.states:
        mark = "-> " if state.name == policy.start else "   "
        lines += ["", f"{mark}{state.name:<{name}}  {_rate(state)}"]
        lines += [f"     {each.when:<{when}}  -> {each.target}" for each in policy.leaving(state.name)]
    return "".join(f"{line}\n" for line in lines)


def drawing(policy: Policy) -> Drawing:
    """States as boxes, and what leads from one to another on the arrows; violations stand out."""
    nodes = [
        # Where nothing is sampled, nothing will be seen: that should look different.
        Node(
            state.name,
            f"{state.name}\n{_rate(state)}",
            state.name == policy.start,
            role="plain" if state.rate else "lost",
        )
        for state in policy.states
    ]
    labels: dict[tuple[str, str, Role], list[str]] = {}
    for each in policy.transitions:
        role: Role = "bad" if each.trigger is Trigger.VIOLATION else "plain"
        labels.setdefault((each.source, each.target, role), []).append(each.when)
    edges = [Edge(source, target, listed(when), role=role) for (source, target, role), when in labels.items()]
    return Drawing(f"policy {policy.name}", tuple(nodes), tuple(edges))


def _rate(state: PolicyState) -> str:
    return {"all": "all objects", "none": "no objects"}.get(state.sample, state.sample)
