"""Which events a law can match, and which ends of objects concern it: what the engine must hand to its monitor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from lawful.laws.protocol import Watch
from lawful.laws.rml import patterns, syntax, terms
from lawful.laws.rml.compiler import CompiledLaw, named_ref
from lawful.laws.rml.equations import call_graph, calls, derivations, pattern_variables, preorder, reachable, uses
from lawful.laws.rml.event_types import extent
from lawful.laws.rml.patterns import Direct
from lawful.laws.rml.recursion import deep
from lawful.laws.rml.terms import Ref

_GONE: Final = "gone"
# Kinds of events whose ids are all in fields that the engine looks at, and fields that hold no other ids.
_KINDS: Final = frozenset(
    "func_pre func_post func_raise new born gone field_write field_read iter_next yield resume".split()
)
_FIELDS: Final = frozenset(
    "event name class targetId target args argIds kwargs kwargIds res resultId exception excId thread task".split()
)


# -- events it can match --------------------------------------------------------------------------


@deep
def watches(compiled: CompiledLaw, specification: syntax.Specification) -> tuple[Watch, ...] | None:
    """As the protocol of laws has it."""
    found, everything = named_watches(compiled, specification)
    if not everything:
        return found
    # A law is also about the events that its negated event types exclude.
    denied = (_watch(tree) for tree in _flat(_denied(compiled)) if tree[0] == "object" and tree[1])
    found = tuple(dict.fromkeys((*found, *denied)))
    return (*found, Watch(())) if found else None


def named_watches(compiled: CompiledLaw, specification: syntax.Specification) -> tuple[tuple[Watch, ...], bool]:
    """What event types that `Main` leads to can match, with their arguments there; and: can one match any event?"""
    found: dict[Watch, None] = {}
    everything = False
    for use in uses(*_reached_bodies(specification)):
        args = tuple(_static(named_ref(arg)) for arg in use.args)
        for tree in _flat(extent(compiled, use.name, args).outer):
            if patterns.is_universal(tree):
                everything = True
            elif tree[0] == "object":  # an event is nothing else
                found.setdefault(_watch(tree))
    return tuple(found), everything


@deep
def named_patterns(compiled: CompiledLaw, specification: syntax.Specification) -> tuple[Direct, ...]:
    """The patterns behind the event types that `Main` leads to, each once."""
    found: dict[str, Direct] = {}
    named = (use.key for use in uses(*_reached_bodies(specification)))
    for key in reachable(named, derivations(specification)):
        for clause in compiled.clauses[key]:
            for option in clause.options:
                if isinstance(option, Direct):
                    found.setdefault(repr(option.tree), option)  # a literal's repr tells 1, 1.0 and True apart
    return tuple(found.values())


def _reached_bodies(specification: syntax.Specification) -> list[syntax.Expression]:
    reached = reachable(("Main",), call_graph(specification))
    return [equation.body for equation in specification.equations if equation.name in reached]


def _watch(tree: patterns.PatternTree) -> Watch:
    return Watch(tuple((key, _literals(part)) for key, part in tree[1]))


def _denied(compiled: CompiledLaw) -> Iterator[patterns.PatternTree]:
    """The patterns behind event types that `not matches`."""
    pending = [clause for group in compiled.clauses.values() for clause in group if clause.negated]
    seen: set[tuple[str, int]] = set()
    while pending:
        for option in pending.pop().options:
            if isinstance(option, Direct):
                yield option.tree
            elif (key := (option.name, len(option.args))) not in seen:
                seen.add(key)
                pending += compiled.clauses[key]


def _static(ref: Ref) -> Ref:
    """The reference with wildcards for values that are computed when the law runs."""
    return terms.WILDCARD if ref[0] == terms.OPERATION else terms.rebuild(ref, _static)


def _flat(trees: Iterable[patterns.PatternTree]) -> Iterator[patterns.PatternTree]:
    for tree in trees:
        if tree[0] == "choice":
            yield from _flat(tree[1])
        else:
            yield tree


def _literals(tree: patterns.PatternTree) -> tuple[syntax.Scalar, ...] | None:
    values = list(_flat((tree,)))
    return tuple(each[1] for each in values) if all(each[0] == "literal" for each in values) else None


# -- events that it ignores -----------------------------------------------------------------------


def is_selective(specification: syntax.Specification) -> bool:
    """As the protocol of laws has it: is `Main` a filter that lets everything else pass, or an intersection of such?

    A filter stays around what becomes of its body. So, once `Main` has been replaced by what it stands for, which the
    first event does, an event that it does not match leaves the very same state. The names of what it matches are among
    the law's watches.
    """
    bodies = {equation.name: equation.body for equation in specification.equations}
    pending: list[syntax.Expression] = [bodies.pop("Main")]
    while pending:
        match pending.pop():
            case syntax.Filter(_, _, None | syntax.All()) | syntax.All():
                pass
            case syntax.Infix(syntax.AND, left, right):
                pending += (left, right)
            case syntax.Let(_, body):
                pending.append(body)
            case syntax.EquationCall(name):
                if name in bodies:  # not seen yet
                    pending.append(bodies.pop(name))
            case _:
                return False
    return True


def tracks_objects(specification: syntax.Specification, watched: tuple[Watch, ...] | None) -> bool:
    """Does the end of an object concern the law, by its id alone, and is the id never computed with?

    Then the ends of all objects that it has not seen are the same to it, whatever state it is in.
    """
    if watched is None or not any(_GONE in (dict(watch.keys).get("event") or ()) for watch in watched):
        return False
    return all(map(_has_plain_ids, watched)) and not _computes_with_ids(specification)


def _has_plain_ids(watch: Watch) -> bool:
    keys = dict(watch.keys)
    kinds = keys.get("event")
    if not kinds or not _KINDS.issuperset(map(str, kinds)) or not _FIELDS.issuperset(keys):
        return False
    return _GONE not in kinds or (
        set(kinds) == {_GONE} and keys.keys() == {"event", "targetId"} and not keys["targetId"]
    )


def _computes_with_ids(specification: syntax.Specification) -> bool:
    """Does a condition depend on a variable that events give a value to, by whatever name it has there?"""
    if any(each.guard is not None for each in specification.declarations):
        return True
    bodies = specification.bodies
    tested = {
        name for node in preorder(*bodies) if isinstance(node, syntax.If) for name in pattern_variables(node.condition)
    }
    if not tested:
        return False
    params = {equation.name: equation.params for equation in specification.equations}
    passed: dict[str, set[str]] = {}  # to each variable the parameters that get its value
    for call in calls(*bodies):
        for argument, param in zip(call.args, params[call.name], strict=True):
            for name in pattern_variables(argument):
                passed.setdefault(name, set()).add(param)
    given: set[str] = {name for use in uses(*bodies) for name in pattern_variables(*use.args)}
    given = reachable(given, passed)
    return not tested.isdisjoint(given)
