"""The report of `lawful laws explain`: a law's parts as text or JSON, and its automaton as a drawing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import msgspec

from lawful.diagnostics import Source, encodable, printable, quoted, render_all
from lawful.engine.wording import count
from lawful.errors import LawfulError
from lawful.laws.protocol import Law
from lawful.laws.rml.automaton import Automaton, Manner, NotFiniteError, automaton
from lawful.laws.rml.law import RmlLaw
from lawful.laws.rml.outline import Growth, Outline
from lawful.laws.rml.printer import format_scalar
from lawful.laws.rml.recursion import with_deep_recursion
from lawful.reports.drawing import Cluster, Drawing, Edge, Node, Role, listed, shortened

_VIOLATED = "violated"
_REFUSED = "not for this part"  # where others may take the event

_GROWTH: dict[Growth, str] = {
    "beside": "beside {}: one more of that each time",
    "and": "together with {}: one more of that each time",
    "before": "before {}, which piles up",
    "repeated": "inside a repetition, which piles up",
    "filter": "inside a filter, which piles up",
}

_INSTANCES: dict[Manner, str] = {
    "and": "one instance of",
    "beside": "one instance of",
    "then": "what follows:",
    "filter": "what passes the filter:",
    "otherwise": "what does not pass the filter:",
}


# -- text --------------------------------------------------------------------------------------------------------------


def text(law: RmlLaw, outline: Outline, automaton: Automaton | NotFiniteError) -> str:
    """Everything about a law, for a terminal."""
    sections = [
        ("Event types", [each.text for kind in outline.event_types for each in kind.declarations]),
        ("Equations", [each.text for each in outline.equations]),
        ("Recursion", list(_recursion(outline))),
        ("Events it looks at", list(_watches(outline))),
        ("Automaton", list(_automaton(automaton))),
    ]
    lines = [printable(law.name)]
    for title, body in sections:
        if body:
            lines += ["", title, *(f"  {printable(line)}" for line in body)]
    if law.warnings:
        lines += ["", render_all(law.warnings, Source(law.source, law.name))]
    return "".join(f"{line}\n" for line in lines)


def _recursion(outline: Outline) -> Iterator[str]:
    for equation in outline.equations:
        for each in equation.recursion:
            through = "itself" if each.callee == equation.name else f"itself through {each.callee}"
            how = "at the end: it does not grow"
            if each.growth is not None:
                how = _GROWTH[each.growth].format(quoted(each.beside or ""))
            yield f"{equation.name} calls {through} {how}"


def _watches(outline: Outline) -> Iterator[str]:
    if outline.everything:
        yield "every event"
    for watch in outline.watches:
        given = [f"{_key(key)} {_alternatives(values)}" for key, values in watch.keys if values is not None]
        rest = [_key(key) for key, values in watch.keys if values is None]
        yield ", ".join([*given, f"with {', '.join(rest)}"] if rest else given)


def _alternatives(values: tuple[Any, ...]) -> str:
    return " or ".join(map(format_scalar, values))


def _key(key: str) -> str:
    return key if key.isidentifier() else format_scalar(key)


def _automaton(automaton: Automaton | NotFiniteError) -> Iterator[str]:
    if isinstance(automaton, NotFiniteError):
        yield f"no finite automaton within {count(automaton.most, 'state')} (--max-states looks further)"
        return
    memory = f", apart from the values of {', '.join(automaton.remembered)}" if automaton.remembered else ""
    if automaton.finite:
        yield f"finite-state{memory}: {count(len(automaton.states), 'state')}"
    else:
        yield f"not finite-state: the law grows; each of its parts is{memory}"
        for part, title in enumerate(_titles(automaton)):
            yield f"  {count(sum(state.part == part for state in automaton.states), 'state')}: {title}"
    lost = sum(state.dead for state in automaton.states)
    if lost:
        yield f"{count(lost, 'state')} from which nothing can be accepted any more"


def _titles(automaton: Automaton) -> list[str]:
    """What each part is."""
    manners: dict[int, Manner] = {}
    for spawn in automaton.spawns:
        manners.setdefault(automaton.states[spawn.target].part, spawn.manner)
    titles = []
    for part, start in enumerate(automaton.starts):
        what = automaton.states[start].text
        titles.append(what if part == 0 else f"{_INSTANCES[manners[part]]} {what}")
    return titles


# -- JSON --------------------------------------------------------------------------------------------------------------


def json(law: RmlLaw, outline: Outline, automaton: Automaton | NotFiniteError) -> bytes:
    """Everything about a law, for programs."""
    source = Source(law.source, law.name)
    warnings = []
    for each in law.warnings:
        line, column = source.position(each.span[0])
        warnings.append({"slug": each.slug, "message": each.message, "line": line, "column": column, "hint": each.hint})
    data = {
        "law": encodable(law.name),
        "event_types": [asdict(each) for each in outline.event_types],
        "equations": [asdict(each) for each in outline.equations],
        "warnings": warnings,
        "watches": {"everything": outline.everything, "events": [dict(each.keys) for each in outline.watches]},
        "automaton": None if isinstance(automaton, NotFiniteError) else _automaton_data(automaton),
    }
    return msgspec.json.encode(data)


def _automaton_data(automaton: Automaton) -> dict[str, Any]:
    titles = _titles(automaton)
    return {
        "finite_state": automaton.finite and not automaton.remembered,
        "grows": not automaton.finite,
        "remembers": automaton.remembered,
        "parts": [{"title": title, "start": start} for title, start in zip(titles, automaton.starts, strict=True)],
        "states": [asdict(each) for each in automaton.states],
        "transitions": [asdict(each) for each in automaton.transitions if each.target is not None],
        "violations": [
            {"source": each.source, "labels": each.labels} for each in automaton.transitions if each.target is None
        ],
        "spawns": [asdict(each) for each in automaton.spawns],
    }


# -- drawing -----------------------------------------------------------------------------------------------------------


def drawing(title: str, automaton: Automaton, *, with_failures: bool = False) -> Drawing:
    """The automaton; steps that break the law are left out unless asked for."""
    nodes = []
    for number, state in enumerate(automaton.states):
        label = [shortened(state.text)]
        if state.is_true:
            label.append("true")
        if state.dead:
            label.append("too late")
        if state.ends_if:
            label.append(f"may end if {' or '.join(state.ends_if)}")
        role: Role = "good" if state.is_true else "lost" if state.dead else "plain"
        nodes.append(
            Node(
                str(number),
                "\n".join(label),
                start=number == automaton.starts[0],
                accepting=state.may_end,
                role=role,
                detail=state.text,
            )
        )
    edges = []
    for step in automaton.transitions:
        if step.target is not None:
            edges.append(Edge(str(step.source), str(step.target), listed(step.labels)))
        elif with_failures:
            edges.append(Edge(str(step.source), _VIOLATED, listed(step.labels), role="bad"))
    for spawn in automaton.spawns:
        edges.append(Edge(str(spawn.source), str(spawn.target), listed(spawn.labels), dashed=True))
    if any(edge.target == _VIOLATED for edge in edges):
        alone = all(spawn.manner == "and" for spawn in automaton.spawns)
        nodes.append(Node(_VIOLATED, _VIOLATED if alone else _REFUSED, role="bad"))
    clusters = [
        Cluster(shortened(name, 60), tuple(str(i) for i, state in enumerate(automaton.states) if state.part == part))
        for part, name in enumerate(_titles(automaton))
        if part
    ]
    return Drawing(title, tuple(nodes), tuple(edges), tuple(clusters))


def picture(law: Law, most_states: int) -> str | None:
    """The automaton of a law as SVG; None if it has none, or a larger one."""
    if not isinstance(law, RmlLaw):
        return None
    from lawful.reports import automaton_svg  # only this draws

    def draw() -> str:
        return automaton_svg.beside([drawing(law.name, automaton(law, most_states))])

    try:
        return with_deep_recursion(draw)
    except LawfulError:  # the law has no finite automaton, or a large one
        return None
