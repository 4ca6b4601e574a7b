"""Which places of a C program are events: `Learn()` calls, entries, branches, calls of chosen functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from pycparser import c_ast, c_generator

from lawful.errors import LawfulError
from lawful.explain.teacher import MOST_EVENTS
from lawful.explain.teachers.c.c_program import (
    ABORTS,
    ASSUMPTIONS,
    CONDITIONS,
    EXITS,
    FAILURES,
    CAssertion,
    CProgram,
    NodePlace,
    arguments,
    below,
    file_of,
    line_of,
)

LEARN = "Learn"
KINDS = ("learn", "entries", "branches", "calls")
_LONGEST = 40
_NOT_BY_ITSELF = {*CONDITIONS, *FAILURES, *ASSUMPTIONS, *EXITS, *ABORTS}
_NO_CALLS = ("__VERIFIER_", "__CPROVER_", "__builtin_", "nondet_")

Insert = Callable[[c_ast.FuncCall], None]


@dataclass(frozen=True)
class EventCandidate:
    """A place that can be made an event: `insert` puts a call there."""

    kind: str
    label: str
    function: str
    file: str
    line: int
    insert: Insert


def candidates(program: CProgram, among: Sequence[str]) -> list[EventCandidate]:
    """All places of these functions that can be made events, in the order of the source."""
    found: list[EventCandidate] = []
    for name in among:
        definition = program.functions[name]
        if not program.own(definition):
            continue
        first = _first(definition.body, "block_items")
        found.append(EventCandidate("entries", name, name, file_of(definition), line_of(definition.decl), first))
        for child in _executed_nodes(definition.body):
            found += _candidates_at(program, name, child)
    return _distinct_labels(found)


def _executed_nodes(body: c_ast.Node) -> Iterator[NodePlace]:
    """The nodes below a function's body that run: no sizes, no initial values of static variables, no types."""
    skipped: set[int] = set()
    for child in below(body):
        if id(child.parent) in skipped or _constant(child):
            skipped.add(id(child.node))
        else:
            yield child


def _constant(child: NodePlace) -> bool:
    parent = child.parent
    if isinstance(parent, c_ast.Decl):
        return child.slot != "init" or "static" in (parent.storage or [])
    if isinstance(parent, c_ast.UnaryOp):
        return parent.op in ("sizeof", "_Alignof")
    return isinstance(parent, c_ast.Case) and child.slot == "expr"


def _candidates_at(program: CProgram, function: str, child: NodePlace) -> Iterator[EventCandidate]:
    node, place = child.node, (file_of(child.node), line_of(child.node))
    name = program.calls(node)
    if name == LEARN:
        given = arguments(node)
        label = _text(given[0]).strip('"') if given else LEARN
        yield EventCandidate("learn", label, function, *place, child.replace)
    elif name is not None and not program.asserts(node) and not name.startswith(_NO_CALLS):
        yield EventCandidate("calls", name, function, *place, _before(child))
    elif isinstance(node, c_ast.If | c_ast.TernaryOp):
        join = _statement if isinstance(node, c_ast.If) else _expression
        yield EventCandidate("branches", _text(node.cond), function, *place, join(node, "iftrue"))
        yield EventCandidate("branches", f"not {_text(node.cond)}", function, *place, join(node, "iffalse"))
    elif isinstance(node, c_ast.While | c_ast.DoWhile | c_ast.For):
        word = {"While": "while", "DoWhile": "do while", "For": "for"}[type(node).__name__]
        label = f"{word} {_text(node.cond)}" if node.cond is not None else word
        yield EventCandidate("branches", label, function, *place, _statement(node, "stmt"))
    elif isinstance(node, c_ast.Case | c_ast.Default):
        label = f"case {_text(node.expr)}" if isinstance(node, c_ast.Case) else "default"
        yield EventCandidate("branches", label, function, *place, _first(node, "stmts"))


def _text(node: c_ast.Node) -> str:
    text = " ".join(str(c_generator.CGenerator(reduce_parentheses=True).visit(node)).split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _distinct_labels(found: list[EventCandidate]) -> list[EventCandidate]:
    """Branches with the same text get their line, and if that does not tell them apart either, a number."""
    labels = Counter(one.label for one in found if one.kind == "branches")
    taken = {one.label for one in found if one.kind != "branches"}
    result = []
    for one in found:
        label = one.label
        if one.kind == "branches":
            if labels[label] > 1 or label in taken:
                label = f"{label} (line {one.line})"
            number, first = 1, label
            while label in taken:
                number += 1
                label = f"{first} #{number}"
            taken.add(label)
        result.append(replace(one, label=label))
    return result


def _first(node: c_ast.Node, slot: str) -> Insert:
    return lambda call: setattr(node, slot, [call, *(getattr(node, slot) or [])])


def _before(child: NodePlace) -> Insert:
    return lambda call: child.replace(c_ast.ExprList([call, child.node], child.node.coord))


def _statement(node: c_ast.Node, slot: str) -> Insert:
    def insert(call: c_ast.FuncCall) -> None:
        there = getattr(node, slot)
        setattr(node, slot, c_ast.Compound([call] if there is None else [call, there], node.coord))

    return insert


def _expression(node: c_ast.Node, slot: str) -> Insert:
    return lambda call: setattr(node, slot, c_ast.ExprList([call, getattr(node, slot)], node.coord))


def choose(
    program: CProgram,
    found: Sequence[EventCandidate],
    target: str,
    failing: CAssertion | None,
    among: Sequence[str],
    kinds: Sequence[str],
    patterns: Sequence[str],
    most: int,
) -> list[EventCandidate]:
    """The events: of these kinds, matching a pattern; without, the nearest to the error in the graph of calls."""
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        message = f"unknown kind of event {unknown[0]!r}"
        raise LawfulError("c-event-kind", message, hint=f"kinds are {', '.join(KINDS)}")
    if patterns:
        taken = [one for one in found if _wanted(program, one, kinds) and _matches(one, patterns)]
        for pattern in patterns:
            if not any(_matches(one, [pattern]) for one in taken):
                raise LawfulError("c-no-events", f"no event matches {pattern!r}", hint=_possible(found, kinds))
        return taken
    home = file_of(program.functions[target])
    alone = [one for one in found if one.kind == "entries" and one.function == target]
    for tried in [kinds] if kinds else [("learn",), (), ("branches",)]:
        taken = [
            one
            for one in found
            if _wanted(program, one, tried)
            and not (one.kind == "entries" and one.function == target and not _recursive(program, target))
            and not (one.kind == "calls" and one.label in program.foreign)
            and (one.kind == "learn" or (one.file == home and one.label not in _NOT_BY_ITSELF))
        ]
        if taken:
            break
    else:
        if kinds or not alone:
            message = f"{program.path} has nothing that can be an event"
            raise LawfulError("c-no-events", message, hint=_possible(found, kinds))
        return alone
    if {one.kind for one in taken} == {"learn"}:
        return taken
    distances = program.distances(target if failing is None else failing.function, among)

    def distance(one: EventCandidate) -> tuple[int, int]:
        steps = distances.get(one.function, len(distances))
        if one.kind == "calls":
            steps = distances.get(one.label, steps + 1)
        return steps, 0 if failing is None else abs(one.line - failing.line)

    labels = list(dict.fromkeys(one.label for one in sorted(taken, key=distance)))[:most]
    return [one for one in taken if one.label in labels]


def _wanted(program: CProgram, one: EventCandidate, kinds: Sequence[str]) -> bool:
    """Without kinds: a function is seen where it is entered, or where it is called if it has no body to enter."""
    if kinds:
        return one.kind in kinds
    return one.kind in ("learn", "entries") or (one.kind == "calls" and one.label not in program.functions)


def _matches(one: EventCandidate, patterns: Sequence[str]) -> bool:
    names = [one.label, *([one.function] if one.kind == "branches" else [])]
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)


def _recursive(program: CProgram, function: str) -> bool:
    return any(function in program.mentioned(name) for name in program.reachable(function))


def _possible(found: Sequence[EventCandidate], kinds: Sequence[str]) -> str:
    labels = list(dict.fromkeys(one.label for one in found if not kinds or one.kind in kinds))
    return f"there are {', '.join(labels[:MOST_EVENTS])}" if labels else "nothing in it can be one"
