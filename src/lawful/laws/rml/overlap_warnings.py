"""
Warnings about operands that take an event another operand needs: RML commits to the leftmost.

This approximation prefers silence to false alarms. It assumes that variables with different names have different
values and that event types with different guards do not overlap, and it skips event types that are too complex.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, assert_never

from lawful.diagnostics import Diagnostic
from lawful.laws.rml import patterns, syntax, terms
from lawful.laws.rml.compiler import compile_event_types, named_ref
from lawful.laws.rml.equations import flatten, free_variables, nullability, nullable, own_variables, postorder, solve
from lawful.laws.rml.patterns import Direct, PatternTree
from lawful.laws.rml.printer import format_data, format_event, format_expression
from lawful.laws.rml.recursion import deep
from lawful.laws.rml.syntax import CONCAT, OR, SHUFFLE, Argument, EventUse, Expression, Infix, Specification
from lawful.laws.rml.terms import Ref

MAX_ITEMS = 64  # events an expression can begin with, and alternatives of one event type, that are looked at

OPAQUE: Ref = ("opaque",)
"""An argument nothing is known about: it is taken to differ from all others, and from itself."""

Unbound = frozenset[str] | None
"""The variables that may still take any value; ``None`` for all of them."""


class Item(NamedTuple):
    """An event an expression can take: an event type with its arguments. Without a name: any at all.

    A computed argument is known only by its text: ``(OPERATION, text)``.
    """

    name: str
    args: tuple[Ref, ...] = ()
    text: str = ""


EVERYTHING = Item("", (), "all")
Items = frozenset[Item] | None
"""Events an expression can take; ``None`` when there are too many to tell."""

NOTHING: frozenset[Item] = frozenset()


class Alternative(NamedTuple):
    """One way to match an event type: a pattern, or everything outside some patterns."""

    tree: PatternTree | None
    excluded: tuple[PatternTree, ...] = ()
    guards: frozenset[object] = frozenset()


class _TooComplex(Exception):
    """The event type is too complex to compare: no warning mentions it."""


class _Facts(NamedTuple):
    """What an expression can take: at first, where it might also halt, ever, and at first without what is harmless."""

    first: Items
    going_on: Items
    ever: Items
    needed: Items


_NO_FACTS = _Facts(NOTHING, NOTHING, NOTHING, NOTHING)
_EVERY_FACT = _Facts(*[frozenset((EVERYTHING,))] * 4)


@deep
def overlap_warnings(specification: Specification) -> list[Diagnostic]:
    """Warnings for a law without errors."""
    return list(_OverlapChecker(specification).warnings())


def _union(*sets: Items) -> Items:
    found: frozenset[Item] = NOTHING
    for items in sets:
        if items is None:
            return None
        found = found | items if found else items
    return found if len(found) <= MAX_ITEMS else None


class _OverlapChecker:
    def __init__(self, specification: Specification) -> None:
        self.specification = specification
        self.clauses = compile_event_types(specification)
        self.free = free_variables(specification)
        self.compared: dict[tuple[Item, Item, Unbound], bool] = {}
        self.trees = {equation.name: postorder(equation.body) for equation in specification.equations}
        halting = nullable(specification)
        self.may = {name: nullability(tree, halting) for name, tree in self.trees.items()}
        self.params = {equation.name: equation.params for equation in specification.equations}
        self.exported = dict.fromkeys(self.trees, _NO_FACTS)
        self.facts: dict[str, dict[int, _Facts]] = {}
        solve(specification, self._update)  # sets only grow, and are finite

    # -- what an expression can take --------------------------------------------------------------

    def _update(self, name: str) -> bool:
        """Find the facts of an equation from those of the equations that it calls: are they new?"""
        found = self.facts[name] = {}
        for node in self.trees[name]:
            found[id(node)] = self._node_facts(node, [found[id(child)] for child in node.children], self.may[name])
        exported = _seen_from_outside(found[id(self.trees[name][-1])], dict.fromkeys(self.free[name], terms.WILDCARD))
        changed, self.exported[name] = exported != self.exported[name], exported
        return changed

    def _node_facts(self, node: Expression, inner: list[_Facts], may: Mapping[int, bool]) -> _Facts:
        ever = _union(*(each.ever for each in inner))
        match node:
            case syntax.Empty():
                return _NO_FACTS
            case syntax.All():
                return _EVERY_FACT._replace(needed=NOTHING)
            case syntax.Event(use):
                one = frozenset((_item(use),))
                return _Facts(one, NOTHING, one, one)
            case syntax.EquationCall(name, args):
                return _seen_from_outside(
                    self.exported[name], dict(zip(self.params[name], map(_ref, args), strict=True))
                )
            case Infix(syntax.CONCAT):
                left, right = inner
                left_may, right_may = (may[id(child)] for child in node.children)
                return _Facts(
                    _union(left.first, right.first) if left_may else left.first,
                    _union(left.going_on, right.first, right.going_on) if right_may else right.going_on,
                    ever,
                    _union(left.needed, right.needed) if left_may else left.needed,
                )
            case Infix(syntax.AND):
                left, right = inner
                first = self._both(left.first, right.first)
                return _Facts(first, self._both(left.going_on, right.going_on), ever, first)
            case Infix() | syntax.If():
                first = _union(*(each.first for each in inner))
                going_on = _union(*(each.going_on for each in inner), first if may[id(node)] else NOTHING)
                return _Facts(first, going_on, ever, first)
            case syntax.Postfix(syntax.CLOSURE):
                return _Facts(inner[0].first, ever, ever, inner[0].first)
            case syntax.Postfix(op, body):
                # `a* a?` and `a* a*` lose nothing.
                harmless = isinstance(body, syntax.Event) and op != syntax.PLUS
                first, going_on = inner[0].first, inner[0].going_on
                return _Facts(first, _union(first, going_on), ever, NOTHING if harmless else first)
            case syntax.Times(_, count):
                return inner[0] if count else _NO_FACTS
            case syntax.Let(names, body):
                unbound, bound = (
                    dict.fromkeys(names, terms.WILDCARD),
                    _seen_from_outside(inner[0], dict.fromkeys(names, OPAQUE)),
                )
                first, _, _, needed = _seen_from_outside(inner[0], unbound)
                going_on = _union(bound.going_on, first if may[id(body)] else NOTHING)
                return _Facts(first, going_on, bound.ever, needed)
            case syntax.Filter(use, _, _):
                gate = frozenset((_item(use),))
                chosen, rest = (*inner, _EVERY_FACT)[:2]
                first = _union(self._both(gate, chosen.first), rest.first)
                going_on = _union(self._both(gate, chosen.going_on), rest.going_on)
                return _Facts(first, going_on, _union(ever, rest.ever), first)
            case _:
                assert_never(node)

    def _both(self, left: Items, right: Items) -> Items:
        """What two operands can take together: of each pair that can be the same event, the narrower one."""
        if left is None or right is None or len(left) * len(right) > 8 * MAX_ITEMS:
            return None
        found: set[Item] = set()
        for one in left:
            for other in right:
                if one == EVERYTHING:
                    found.add(other)
                elif other == EVERYTHING or self._overlap(one, other, None):
                    found.add(one)
        return frozenset(found) if len(found) <= MAX_ITEMS else None

    # -- can two event types match the same event? ------------------------------------------------

    def _overlap(self, left: Item, right: Item, unbound: Unbound) -> bool:
        key = (left, right, unbound)
        if key not in self.compared:
            self.compared[key] = EVERYTHING in (left, right) or self._compare(left, right, unbound)
        return self.compared[key]

    def _compare(self, left: Item, right: Item, unbound: Unbound) -> bool:
        try:
            one, other = (
                self._alternatives(item.name, tuple(_tree(ref, unbound) for ref in item.args)) for item in (left, right)
            )
        except _TooComplex:
            return (left.name, left.args) == (right.name, right.args)
        return any(_alternatives_overlap(a, b) for a in one for b in other)

    def _alternatives(self, name: str, args: tuple[PatternTree, ...]) -> list[Alternative]:
        found: list[Alternative] = []
        for clause in self.clauses[name, len(args)]:
            scope = dict(zip(clause.params, args, strict=True))
            own: list[Alternative] = []
            for option in clause.options:
                if isinstance(option, Direct):
                    trees = [scope.get(name, terms.WILDCARD) for name in option.names]
                    own.append(Alternative(patterns.fill(option.tree, trees.__getitem__)))
                else:
                    own += self._alternatives(option.name, tuple(_in_scope(ref, scope) for ref in option.args))
            guards = frozenset(((id(clause), args),)) if clause.guard is not None else frozenset()
            if clause.negated:
                found += _negated(own)
            else:
                found += (each._replace(guards=each.guards | guards) for each in own)
            if len(own) > MAX_ITEMS or len(found) > MAX_ITEMS:
                raise _TooComplex
        return found

    # -- the warnings -----------------------------------------------------------------------------

    def warnings(self) -> Iterator[Diagnostic]:
        for equation in self.specification.equations:
            facts, binds = self.facts[equation.name], self._binds(equation.name)
            stack: list[tuple[Expression, frozenset[str], str]] = [
                (equation.body, self.free[equation.name] - set(equation.params), "")
            ]
            while stack:
                node, unbound, parent = stack.pop()
                op = node.op if isinstance(node, Infix) else ""
                if isinstance(node, Infix) and op in (OR, SHUFFLE) and op != parent:
                    yield from self._operand_overlaps(node, facts, unbound)
                inner = unbound | set(node.names) if isinstance(node, syntax.Let) else unbound
                if isinstance(node, Infix) and op == CONCAT:
                    yield from self._sequence_overlaps(node, facts, unbound)
                    stack += ((node.right, unbound - binds[id(node.left)], op), (node.left, unbound, op))
                else:
                    stack.extend((child, inner, op) for child in reversed(node.children))

    def _binds(self, name: str) -> dict[int, frozenset[str]]:
        """For each expression the variables that have a value once it is over."""
        found: dict[int, frozenset[str]] = {}
        for node in self.trees[name]:
            own = frozenset(each.name for each in own_variables(node))
            inner = [found[id(child)] for child in node.children]
            found[id(node)] = own.union(*inner) if own or len(inner) != 1 else inner[0]
        return found

    def _sequence_overlaps(
        self, node: Infix, facts: Mapping[int, _Facts], unbound: frozenset[str]
    ) -> Iterator[Diagnostic]:
        taken, needed = facts[id(node.left)].going_on, facts[id(node.right)].needed
        pair = self._pair(taken or NOTHING, needed or NOTHING, unbound)
        if pair is None:
            return
        left, right = map(_quote, pair)
        message = f"this takes every {left} it can, so the expression after it may never get its {right}"
        hint = "Lawful never undoes a choice: use event types that differ"
        note = node.right.span, f"waits for {right}"
        yield Diagnostic("warning", "rml-swallowed", message, node.left.span, hint, (note,))

    def _operand_overlaps(
        self, root: Infix, facts: Mapping[int, _Facts], unbound: frozenset[str]
    ) -> Iterator[Diagnostic]:
        """Operands of a chain against those on their left; equal operands do not mind who takes the event."""
        earlier: dict[Item, list[tuple[str, Expression]]] = {}
        seen: set[tuple[Item, Item]] = set()
        for operand in flatten(root):
            first = facts[id(operand)].first
            if first is None or len(earlier) > MAX_ITEMS:
                return
            text = format_expression(operand)
            ordered = sorted(first, key=_item_order)
            for item in ordered:
                if item == EVERYTHING or item.name == "any":
                    continue  # a catch-all on the right should get the other events
                for other, owners in earlier.items():
                    owner = next((owner for owner_text, owner in owners if owner_text != text), None)
                    if owner is None or (other, item) in seen or not self._overlap(other, item, unbound):
                        continue
                    if root.op == SHUFFLE and _generalises(item, other, unbound):
                        continue  # an instance takes its own events, and the others start new instances
                    seen.add((other, item))
                    yield _overlap_warning(root, owner, operand, other, item)
                    break
                else:
                    continue
                break
            for item in ordered:
                owners = earlier.setdefault(item, [])
                if len(owners) < 2 and text not in (each for each, _ in owners):
                    owners.append((text, operand))

    def _pair(self, left: Iterable[Item], right: Iterable[Item], unbound: frozenset[str]) -> tuple[Item, Item] | None:
        ordered = sorted(right, key=_item_order)
        for one in sorted(left, key=_item_order):
            for other in ordered:
                if other != EVERYTHING and self._overlap(one, other, unbound):
                    return one, other
        return None


def _overlap_warning(root: Infix, owner: Expression, operand: Expression, one: Item, other: Item) -> Diagnostic:
    if one.text == other.text:
        what = f"both operands can begin with {_quote(one)}"
    else:
        what = f"an event can be both {_quote(one)} here and {_quote(other)} in a later operand"
    how = "the left operand then gets it, and the other does not"
    hint = "put the operand that needs the event on the left, or use event types that differ"
    if root.op == OR:
        how = "Lawful then follows the left one and drops the other"
        hint = r"write the common beginning once, as in `a (b \/ c)`"
    note = operand.span, f"also begins with {_quote(other)}"
    return Diagnostic("warning", "rml-swallowed", f"{what}; {how}", owner.span, hint, (note,))


def _generalises(general: Item, special: Item, unbound: Unbound) -> bool:
    """Are they the same event type, the one with any value where the other has one that is known?"""
    if (general.name, len(general.args)) != (special.name, len(special.args)) or general.args == special.args:
        return False
    return all(
        one == other or (one == terms.WILDCARD and not _has_free(other, unbound))
        for one, other in zip(general.args, special.args, strict=True)
    )


def _quote(item: Item) -> str:
    return f"`{item.text}`"


def _item_order(item: Item) -> tuple[str, str]:
    return item.name, item.text


def _item(use: EventUse) -> Item:
    return Item(use.name, tuple(map(_ref, use.args)), format_event(use))


def _seen_from_outside(facts: _Facts, renaming: Mapping[str, Ref]) -> _Facts:
    """Facts outside the scope of some variables."""

    def renamed(item: Item) -> Item:
        args = tuple(_renamed(ref, renaming) for ref in item.args)
        return item if args == item.args else Item(item.name, args, _describe(item.name, args))

    return _Facts(*(items and frozenset(map(renamed, items)) for items in facts))


# -- arguments and patterns ----------------------------------------------------------------------


def _ref(value: Argument) -> Ref:
    computed = isinstance(value, syntax.Unary | syntax.Binary | syntax.Apply)
    return (terms.OPERATION, format_data(value)) if computed else named_ref(value)


def _renamed(ref: Ref, renaming: Mapping[str, Ref]) -> Ref:
    if ref[0] == terms.VARIABLE:
        ref = renaming.get(ref[1], ref)
    return OPAQUE if ref[0] == terms.OPERATION else terms.rebuild(ref, lambda part: _renamed(part, renaming))


def _describe(name: str, args: tuple[Ref, ...]) -> str:
    """An event type as seen from outside its scope: constants, and `_` for values that only the scope knows."""

    def show(ref: Ref) -> str:
        if ref[0] == terms.VARIABLE:
            return str(ref[1])
        return format_data(syntax.Literal(ref[2])) if ref[0] == terms.CONSTANT else "_"

    return f"{name}({', '.join(map(show, args))})" if args else name


def _is_free(ref: Ref, unbound: Unbound) -> bool:
    return ref == terms.WILDCARD or (ref[0] == terms.VARIABLE and (unbound is None or ref[1] in unbound))


def _has_free(ref: Ref, unbound: Unbound) -> bool:
    return _is_free(ref, unbound) or any(_has_free(part, unbound) for part in terms.parts(ref))


def _tree(ref: Ref, unbound: Unbound) -> PatternTree:
    """An argument as a pattern; a variable with a value equals only itself."""

    def other(part: Ref) -> PatternTree:
        if _is_free(part, unbound):
            return "capture", part[1]
        return "literal", object() if part == OPAQUE else part

    return patterns.of_ref(ref, other)


def _in_scope(ref: Ref, scope: Mapping[str, PatternTree]) -> PatternTree:
    """An argument in a declaration: a parameter stands for what it was given, another variable for anything."""

    def other(part: Ref) -> PatternTree:
        return scope.get(part[1], terms.WILDCARD) if part[0] == terms.VARIABLE else ("literal", object())

    return patterns.of_ref(ref, other)


def _negated(own: list[Alternative]) -> list[Alternative]:
    if len(own) == 1 and own[0].tree is None and not own[0].guards:
        return [Alternative(tree) for tree in own[0].excluded]  # not not
    if any(each.tree is None for each in own):
        raise _TooComplex
    return [Alternative(None, tuple(each.tree for each in own if each.tree is not None))]


def _alternatives_overlap(left: Alternative, right: Alternative) -> bool:
    if left.guards and right.guards and left.guards != right.guards:
        return False
    if left.tree is not None and right.tree is not None:
        return not patterns.disjoint(left.tree, right.tree)
    excluded = left.excluded + right.excluded
    inside = left.tree or right.tree
    if inside is None:
        # Two complements have something in common unless one of them is empty.
        return not any(map(patterns.is_universal, excluded))
    return all(patterns.satisfiable((inside,), (tree,)) for tree in excluded)
