"""Which events an event type stands for, as patterns: from outside, and from inside."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from lawful.laws.rml import patterns, terms
from lawful.laws.rml.compiler import CompiledLaw
from lawful.laws.rml.patterns import Direct
from lawful.laws.rml.terms import Ref

WILDCARD: patterns.PatternTree = ("wildcard",)

_Scope = Mapping[str, Ref]
Ground = Callable[[Ref], patterns.PatternTree]
"""What stands in a pattern for a value that only the running law knows."""


class Extent(msgspec.Struct, frozen=True):
    """An event of the type matches one of ``outer``; what matches one of ``inner`` is of the type.

    What matches one of ``never`` is not: the other side of an event type that ``not matches``.
    """

    outer: tuple[patterns.PatternTree, ...]
    inner: tuple[patterns.PatternTree, ...]
    never: tuple[patterns.PatternTree, ...] = ()


def anything(ref: Ref) -> patterns.PatternTree:
    return WILDCARD


def named(ref: Ref) -> patterns.PatternTree:
    """Each unknown value as a string of its own that no event holds."""
    return "literal", f"\0{ref!r}"


def extent(compiled: CompiledLaw, name: str, args: tuple[Ref, ...], ground: Ground = anything) -> Extent:
    """The extent of an event type with these arguments.

    Guards are left out of ``outer``, and what has a guard or a negation out of ``inner``. Values that ``ground``
    turns into wildcards make ``inner`` and ``never`` too wide: those who want them name the values.
    """
    outer: list[patterns.PatternTree] = []
    inner: list[patterns.PatternTree] = []
    never: list[patterns.PatternTree] = []
    clauses = compiled.clauses[name, len(args)]
    for clause in clauses:
        if clause.negated:
            outer.append(WILDCARD)
        scope = dict(zip(clause.params, args, strict=True))
        for option in clause.options:
            if isinstance(option, Direct):
                found = _direct(option, scope, ground)
            else:
                found = extent(compiled, option.name, tuple(_resolved(ref, scope) for ref in option.args), ground)
            if not clause.negated:
                outer += found.outer
                inner += found.inner if clause.guard is None else ()
            elif len(clauses) == 1:
                never += found.inner
    return Extent(tuple(outer), tuple(inner), tuple(never))


def _resolved(ref: Ref, scope: _Scope) -> Ref:
    """A reference of a derived declaration; a name other than a parameter can be anything."""
    if ref[0] == terms.VARIABLE:
        return scope.get(ref[1], ref)
    return terms.rebuild(ref, lambda part: _resolved(part, scope))


def _direct(option: Direct, scope: _Scope, ground: Ground) -> Extent:
    refs = [scope.get(name, (terms.VARIABLE, name)) for name in option.names]
    if any(ref[0] == terms.OPERATION and not terms.is_ground(ref) for ref in refs):
        return Extent((), ())  # arithmetic over a variable without a value
    trees = [patterns.of_ref(ref, lambda part: ground(part) if terms.is_ground(part) else WILDCARD) for ref in refs]
    tree = patterns.fill(option.tree, lambda index: trees[index])
    free = [ref for ref in refs if terms.ref_variables(ref)]
    return Extent((tree,), (tree,) if len(free) == len(set(free)) else ())  # `p(x, x)` compares two places


def disjoint(a: Extent, b: Extent) -> bool:
    """Can no event be of both types? (Extents whose unknown values are wildcards.)"""
    return not patterns.satisfiable([("choice", a.outer), ("choice", b.outer)], [])


def includes(whole: Extent, *parts: Extent) -> bool:
    """Is every event that is of all these types of that one too? (Extents whose unknown values are named.)"""
    return _cover(whole.inner, parts)


def denies(one: Extent, *parts: Extent) -> bool:
    """Can no event of all these types be of that one, which is a negation? (As for `includes`.)"""
    return _cover(one.never, parts)


def _cover(trees: tuple[patterns.PatternTree, ...], parts: tuple[Extent, ...]) -> bool:
    positive: list[patterns.PatternTree] = [("object", ()), *(("choice", part.outer) for part in parts)]
    # Two values with different names may still be equal, so types that only differ by name may have common events.
    return patterns.satisfiable(positive, []) and not patterns.satisfiable(positive, trees)
