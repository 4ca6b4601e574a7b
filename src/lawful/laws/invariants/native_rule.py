"""Rules as the C core takes them: plans and expressions as plain tuples, in which fields and keys are numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lawful.laws.invariants.expressions import Expression, Tree

if TYPE_CHECKING:
    from lawful.laws.invariants.rules import Rule

_MOST_KEYS: Final = 64  # bits of a word

NativeRule = tuple[tuple[Any, ...], tuple[str, ...], tuple[Tree, ...], bool, int, float]
"""A rule: plans by key, names of fields, expressions, whether it has a `from`, its `on`, its time."""


def native_rule(rule: Rule) -> NativeRule | None:
    """A rule as the C core takes it; None if the core cannot judge it."""
    if len(rule.keys) > _MOST_KEYS:
        return None
    keys = {key: number for number, key in enumerate(sorted(rule.keys))}
    expressions = list(rule.expressions.values())
    names = {name: number for number, name in enumerate(dict.fromkeys(n for each in expressions for n in each.fields))}

    def place(expression: Expression | None) -> int:
        return next((number for number, each in enumerate(expressions) if each is expression), -1)

    def numbered(tree: Tree) -> Tree:
        kind, parts, more = tree
        if kind in ("new", "old"):
            more = names[more]
        elif kind == "key":
            more = sum(1 << keys[key] for key in more)
        return kind, tuple(map(numbered, parts)), more

    plans = []
    for key in keys:
        writes, *judged = rule.plans[key]
        plans.append((key, names.get(writes, -1), *map(place, judged)))
    trees = tuple(numbered(each.tree) for each in expressions)
    return tuple(plans), tuple(names), trees, rule.from_ is not None, place(rule.on), rule.within or 0.0
