"""Base patterns: what an event must look like, with the places whose values are taken out of it.

A pattern is a tree of tuples, the form in which both cores take it:
``("object", ((key, tree), ...))``, ``("list", (tree, ...), open)``, ``("literal", value)``, ``("wildcard",)``,
``("capture", i)``, ``("choice", (tree, ...))`` (no captures inside).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lawful.laws.rml import syntax, terms
from lawful.laws.rml.equations import pattern_variables
from lawful.laws.rml.terms import Ref
from lawful.laws.rml.values import identical

PatternTree = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Direct:
    """A pattern of a declaration, all its variables being captures; one name may stand at several captures."""

    tree: PatternTree
    names: tuple[str, ...]  # the variable of each capture


def match(tree: PatternTree, value: Any, captures: list[Any]) -> bool:
    """Match one value; fills in the captures."""
    kind = tree[0]
    if kind == "object":
        if not isinstance(value, dict):
            return False
        for key, part in tree[1]:
            if key not in value or not match(part, value[key], captures):
                return False
        return True
    if kind == "literal":
        return identical(tree[1], value)
    if kind == "capture":
        captures[tree[1]] = value
        return True
    if kind == "list":
        items = tree[1]
        if not isinstance(value, list) or not _fits(len(items), tree[2], len(value)):
            return False
        return all(match(part, item, captures) for part, item in zip(items, value, strict=False))
    if kind == "choice":
        return any(match(part, value, captures) for part in tree[1])
    return True


def _fits(wanted: int, is_open: bool, found: int) -> bool:
    return found >= max(wanted, 1) if is_open else found == wanted


def fill(tree: PatternTree, of_capture: Callable[[int], PatternTree]) -> PatternTree:
    """The pattern with other patterns in the places of its captures, which never stand inside a choice."""
    kind = tree[0]
    if kind == "capture":
        return of_capture(tree[1])
    if kind == "object":
        return "object", tuple((key, fill(part, of_capture)) for key, part in tree[1])
    if kind == "list":
        return "list", tuple(fill(part, of_capture) for part in tree[1]), tree[2]
    return tree


def of_ref(ref: Ref, of_other: Callable[[Ref], PatternTree]) -> PatternTree:
    """A reference as a pattern; `of_other` makes the pattern of what is neither a constant nor a pattern."""
    kind = ref[0]
    if kind == terms.CONSTANT:
        return "literal", ref[2]
    if kind == terms.OBJECT:
        return "object", tuple((key, of_ref(part, of_other)) for key, part in ref[1])
    if kind == terms.LIST:
        return "list", tuple(of_ref(part, of_other) for part in ref[1]), ref[2]
    if kind == terms.CHOICE:
        return "choice", tuple(of_ref(part, of_other) for part in ref[1])
    return ref if ref == terms.WILDCARD else of_other(ref)


def alternatives(pattern: syntax.Pattern) -> Iterable[syntax.Pattern]:
    """The pattern without choices that bind anything: one for each way, the choice written first varying slowest."""
    if isinstance(pattern, syntax.AnyOf):
        if not pattern_variables(pattern):
            yield pattern
            return
        for option in pattern.options:
            yield from alternatives(option)
    elif isinstance(pattern, syntax.ObjectPattern):
        for values in _product([part for _, part in pattern.fields]):
            keys = (key for key, _ in pattern.fields)
            yield syntax.ObjectPattern(tuple(zip(keys, values, strict=True)), span=pattern.span)
    elif isinstance(pattern, syntax.ListPattern):
        for values in _product(pattern.items):
            yield syntax.ListPattern(values, pattern.open, span=pattern.span)
    else:
        yield pattern


def _product(patterns: Iterable[syntax.Pattern]) -> Iterable[tuple[syntax.Pattern, ...]]:
    results: list[tuple[syntax.Pattern, ...]] = [()]
    for pattern in patterns:
        options = tuple(alternatives(pattern))
        results = [(*done, option) for done in results for option in options]
    return results


def disjoint(a: PatternTree, b: PatternTree) -> bool:
    """Can no value match both? False where that is not plain to see."""
    if "wildcard" in (a[0], b[0]) or "capture" in (a[0], b[0]):
        return False
    if a[0] == "choice":
        return all(disjoint(part, b) for part in a[1])
    if b[0] == "choice":
        return disjoint(b, a)
    if a[0] != b[0]:
        return True
    if a[0] == "literal":
        return not identical(a[1], b[1])
    if a[0] == "object":
        other = dict(b[1])
        return any(key in other and disjoint(part, other[key]) for key, part in a[1])
    shorter, longer = sorted((a, b), key=lambda tree: len(tree[1]))
    if len(shorter[1]) < len(longer[1]) and not shorter[2]:
        return True
    if not longer[1] and longer[2] != shorter[2]:
        return True  # `[]` and `[...]`
    return any(disjoint(x, y) for x, y in zip(a[1], b[1], strict=False))


def is_universal(tree: PatternTree) -> bool:
    """Does every event, which is an object, match without anything to take out of it?"""
    return tree[0] == "wildcard" or tree == ("object", ())


def satisfiable(positive: Sequence[PatternTree], negative: Sequence[PatternTree]) -> bool:
    """Is there a value that matches all of the first and none of the second? (Captures count as wildcards.)

    Exact, but for a great many combinations, where it says yes.
    """
    for index, tree in enumerate(positive):
        if tree[0] == "choice":
            others = [*positive[:index], *positive[index + 1 :]]
            return any(satisfiable([*others, option], negative) for option in tree[1])
    wanted = [tree for tree in positive if tree[0] not in ("wildcard", "capture")]
    unwanted: list[PatternTree] = []
    pending = list(negative)
    while pending:
        tree = pending.pop()
        if tree[0] in ("wildcard", "capture"):
            return False
        if tree[0] == "choice":
            pending += tree[1]
        else:
            unwanted.append(tree)
    if not wanted:
        return True  # a string that nobody mentions
    kind = wanted[0][0]
    if any(tree[0] != kind for tree in wanted):
        return False
    unwanted = [tree for tree in unwanted if tree[0] == kind]
    if kind == "literal":
        value = wanted[0][1]
        return all(identical(value, tree[1]) for tree in wanted) and not any(
            identical(value, tree[1]) for tree in unwanted
        )
    if kind == "object":
        parts: dict[Any, list[PatternTree]] = {}
        for tree in wanted:
            for key, part in tree[1]:
                parts.setdefault(key, []).append(part)
        # A key that nothing wants can be left out, and then whatever names it does not match.
        bad = [tree[1] for tree in unwanted if all(key in parts for key, _ in tree[1])]
        return _separable(parts, bad)
    longest = max(len(tree[1]) for tree in (*wanted, *unwanted)) + 1
    return any(_list_of(length, wanted, unwanted) for length in range(longest + 1))


def _list_of(length: int, wanted: Sequence[PatternTree], unwanted: Sequence[PatternTree]) -> bool:
    if not all(_fits(len(tree[1]), tree[2], length) for tree in wanted):
        return False
    parts: dict[Any, list[PatternTree]] = {place: [] for place in range(length)}
    for tree in wanted:
        for place, part in enumerate(tree[1]):
            parts[place].append(part)
    bad = [tuple(enumerate(tree[1])) for tree in unwanted if _fits(len(tree[1]), tree[2], length)]
    return _separable(parts, bad)


_MOST_COMBINATIONS = 2000


def _separable(parts: Mapping[Any, list[PatternTree]], bad: Sequence[Sequence[tuple[Any, PatternTree]]]) -> bool:
    """Can each unwanted structure be missed at one of its places, with all the wanted parts still there?"""
    if not all(bad):
        return False
    if math.prod(map(len, bad)) > _MOST_COMBINATIONS:
        return True
    for choice in itertools.product(*bad):
        missed: dict[Any, list[PatternTree]] = {}
        for place, tree in choice:
            missed.setdefault(place, []).append(tree)
        if all(satisfiable(wanted, missed.get(place, ())) for place, wanted in parts.items()):
            return True
    return False


class PatternTable:
    """The distinct base patterns that a law has asked about so far, by number."""

    def __init__(self) -> None:
        self.trees: list[PatternTree] = []
        self.captures: list[int] = []  # how many each takes out
        self._numbers: dict[str, int] = {}
        self._of_option: dict[int, int] = {}
        self._disjoint: dict[tuple[int, int], bool] = {}

    def number(self, tree: PatternTree, captures: int) -> int:
        key = repr(tree)  # a literal's repr tells 1, 1.0 and True apart
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.trees)
            self.trees.append(tree)
            self.captures.append(captures)
        return number

    def number_of(self, option: Direct) -> int:
        """The number of a declaration's own pattern; declarations live as long as this table."""
        number = self._of_option.get(id(option))
        if number is None:
            number = self._of_option[id(option)] = self.number(option.tree, len(option.names))
        return number

    def disjoint(self, a: int, b: int) -> bool:
        key = (a, b)
        answer = self._disjoint.get(key)
        if answer is None:
            answer = self._disjoint[key] = disjoint(self.trees[a], self.trees[b])
        return answer
