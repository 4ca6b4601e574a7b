"""
Where RML's left commitment would surprise: an operand that takes an event another operand needs.

An approximation that prefers silence to false alarms: variables bound to different values are taken to differ, and so
are event types with different guards; what is too large to look at is passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, assert_never

from lawful.diagnostics import Diagnostic
from lawful.laws.rml import syntax
from lawful.laws.rml.equations import (
    declared,
    flatten,
    free_variables,
    nullability,
    nullable,
    own_variables,
    postorder,
    solve,
    values,
)
from lawful.laws.rml.printer import format_data, format_event, format_expression
from lawful.laws.rml.recursion import with_deep_recursion
from lawful.laws.rml.syntax import Argument, Concat, EventUse, Expression, Literal, Or, Pattern, Shuffle, Specification

MAX_ITEMS = 64  # events an expression can begin with, and alternatives of one event type, that are looked at
MAX_PATTERN = 200  # values in one pattern

Path = tuple[str | int, ...]
Atom = tuple[Any, ...]
Flat = tuple[tuple[Path, Atom], ...]
"""A pattern taken apart: what it asks for at each place inside the event."""

ANY: Atom = ("any",)  # any value, or a variable not bound yet
OPAQUE: Atom = ("opaque",)  # some value nothing is known about: taken to differ from all others
OBJECT: Atom = ("object",)


class Item(NamedTuple):
    """An event an expression can take: an event type with its arguments taken apart. Without a name: any at all."""

    name: str
    args: tuple[Flat, ...] = ()
    text: str = ""


EVERYTHING = Item("", (), "all")
Items = frozenset[Item] | None
"""Events an expression can take; ``None`` when there are too many to tell."""

NOTHING: frozenset[Item] = frozenset()


class Alternative(NamedTuple):
    """One way to match an event type: a pattern, or everything outside some patterns."""

    flat: Flat | None
    excluded: tuple[Flat, ...] = ()
    guards: frozenset[object] = frozenset()


class _TooComplex(Exception):
    """This event type is passed over."""


class _Facts(NamedTuple):
    """What an expression can take: at first, where it might also halt, ever, and at first without what is harmless."""

    first: Items
    going_on: Items
    ever: Items
    needed: Items


_NO_FACTS = _Facts(NOTHING, NOTHING, NOTHING, NOTHING)
_EVERY_FACT = _Facts(*[frozenset((EVERYTHING,))] * 4)


def overlap_warnings(specification: Specification) -> Iterator[Diagnostic]:
    """Warnings for a law without errors."""
    return _OverlapChecker(specification).warnings()


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
        self.declared = declared(specification)
        self.free = free_variables(specification)
        self.expanded: dict[tuple[str, tuple[Flat, ...]], tuple[Alternative, ...] | None] = {}
        self.compared: dict[tuple[Item, Item, frozenset[str] | None], bool] = {}
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
        exported = self._renamed(found[id(self.trees[name][-1])], dict.fromkeys(self.free[name], ANY))
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
                one = frozenset((self._item(use),))
                return _Facts(one, NOTHING, one, one)
            case syntax.EquationCall(name, args):
                return self._renamed(self.exported[name], dict(zip(self.params[name], map(_atom, args), strict=True)))
            case Concat():
                left, right = inner
                left_may, right_may = (may[id(child)] for child in node.children)
                return _Facts(
                    _union(left.first, right.first) if left_may else left.first,
                    _union(left.going_on, right.first, right.going_on) if right_may else right.going_on,
                    ever,
                    _union(left.needed, right.needed) if left_may else left.needed,
                )
            case syntax.And():
                left, right = inner
                first = self._both(left.first, right.first)
                return _Facts(first, self._both(left.going_on, right.going_on), ever, first)
            case syntax.Infix() | syntax.If():
                first = _union(*(each.first for each in inner))
                going_on = _union(*(each.going_on for each in inner), first if may[id(node)] else NOTHING)
                return _Facts(first, going_on, ever, first)
            case syntax.Closure():
                return _Facts(inner[0].first, ever, ever, inner[0].first)
            case syntax.Postfix(body):
                # `a* a?` and `a* a*` lose nothing.
                harmless = isinstance(body, syntax.Event) and not isinstance(node, syntax.Plus)
                first, going_on = inner[0].first, inner[0].going_on
                return _Facts(first, _union(first, going_on), ever, NOTHING if harmless else first)
            case syntax.Times(_, count):
                return inner[0] if count else _NO_FACTS
            case syntax.Let(names, body):
                unbound, bound = dict.fromkeys(names, ANY), self._renamed(inner[0], dict.fromkeys(names, OPAQUE))
                first, _, _, needed = self._renamed(inner[0], unbound)
                going_on = _union(bound.going_on, first if may[id(body)] else NOTHING)
                return _Facts(first, going_on, bound.ever, needed)
            case syntax.Filter(use, _, _):
                gate = frozenset((self._item(use),))
                chosen, rest = (*inner, _EVERY_FACT)[:2]
                first = _union(self._both(gate, chosen.first), rest.first)
                going_on = _union(self._both(gate, chosen.going_on), rest.going_on)
                return _Facts(first, going_on, _union(ever, rest.ever), first)
            case _:
                assert_never(node)

    def _renamed(self, facts: _Facts, renaming: Mapping[str, Atom]) -> _Facts:
        return _Facts(*(self._rename(each, renaming) for each in facts))

    def _item(self, use: EventUse) -> Item:
        return Item(use.name, tuple(_flatten_argument(arg) for arg in use.args), format_event(use))

    def _rename(self, items: Items, renaming: Mapping[str, Atom]) -> Items:
        """Items as seen from outside the scope of some variables."""
        if not items:
            return items
        renamed: set[Item] = set()
        for item in items:
            args = tuple(tuple((path, _renamed(atom, renaming)) for path, atom in flat) for flat in item.args)
            renamed.add(item if args == item.args else Item(item.name, args, _describe(item.name, args)))
        return frozenset(renamed)

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

    def _overlap(self, left: Item, right: Item, unbound: frozenset[str] | None) -> bool:
        """``unbound``: the variables that may still take any value; ``None`` for all of them."""
        key = (left, right, unbound)
        if key not in self.compared:
            self.compared[key] = self._compare(left, right, unbound)
        return self.compared[key]

    def _compare(self, left: Item, right: Item, unbound: frozenset[str] | None) -> bool:
        if EVERYTHING in (left, right):
            return True
        one, other = self._alternatives(left), self._alternatives(right)
        if one is None or other is None:
            return (left.name, left.args) == (right.name, right.args)
        return any(_alternatives_overlap(a, b, unbound) for a in one for b in other)

    def _alternatives(self, item: Item) -> tuple[Alternative, ...] | None:
        key = (item.name, item.args)
        if key not in self.expanded:
            try:
                with_deep_recursion(lambda: self._expand(item.name, item.args))
            except _TooComplex:
                self.expanded[key] = None
        return self.expanded[key]

    def _expand(self, name: str, args: tuple[Flat, ...]) -> tuple[Alternative, ...]:
        key = (name, args)
        if key in self.expanded:
            known = self.expanded[key]
            if known is None:
                raise _TooComplex
            return known
        found: list[Alternative] = []
        if key == ("any", ()):
            found.append(Alternative((((), OBJECT),)))
        for declaration in self.declared.get((name, len(args)), ()):
            env = dict(zip(declaration.params, args, strict=True))
            own: list[Alternative] = []
            for use in declaration.uses:
                inner_args = tuple(_flatten_argument(arg, env) for arg in use.args)
                own += self._expand(use.name, inner_args)
                if len(own) > MAX_ITEMS:
                    raise _TooComplex
            if not isinstance(declaration.body, tuple):
                own += (Alternative(flat) for flat in _flatten(declaration.body, env))
            guards = frozenset(((id(declaration), args),)) if declaration.guard is not None else frozenset()
            if declaration.negated:
                found += _negated(own)
            else:
                found += (each._replace(guards=each.guards | guards) for each in own)
        if len(found) > MAX_ITEMS:
            raise _TooComplex
        self.expanded[key] = tuple(found)
        return tuple(found)

    # -- the warnings -----------------------------------------------------------------------------

    def warnings(self) -> Iterator[Diagnostic]:
        for equation in self.specification.equations:
            facts, binds = self.facts[equation.name], self._binds(equation.name)
            stack: list[tuple[Expression, frozenset[str], type | None]] = [
                (equation.body, self.free[equation.name] - set(equation.params), None)
            ]
            while stack:
                node, unbound, parent = stack.pop()
                if isinstance(node, Or | Shuffle) and type(node) is not parent:
                    yield from self._operand_overlaps(node, facts, unbound)
                inner = unbound | set(node.names) if isinstance(node, syntax.Let) else unbound
                if isinstance(node, Concat):
                    yield from self._sequence_overlaps(node, facts, unbound)
                    stack.append((node.right, unbound - binds[id(node.left)], type(node)))
                    stack.append((node.left, unbound, type(node)))
                else:
                    stack.extend((child, inner, type(node)) for child in reversed(node.children))

    def _binds(self, name: str) -> dict[int, frozenset[str]]:
        """For each expression the variables that have a value once it is over."""
        found: dict[int, frozenset[str]] = {}
        for node in self.trees[name]:
            own = frozenset(each.name for each in own_variables(node))
            inner = [found[id(child)] for child in node.children]
            found[id(node)] = own.union(*inner) if own or len(inner) != 1 else inner[0]
        return found

    def _sequence_overlaps(
        self, node: Concat, facts: Mapping[int, _Facts], unbound: frozenset[str]
    ) -> Iterator[Diagnostic]:
        taken, needed = facts[id(node.left)].going_on, facts[id(node.right)].needed
        pair = self._pair(taken or NOTHING, needed or NOTHING, unbound)
        if pair is None:
            return
        left, right = map(_quote, pair)
        message = f"this goes on taking {left} while it can, so what follows may never get its {right}"
        hint = "a choice once made is never undone: let the two differ in their event types"
        note = node.right.span, f"waits for {right}"
        yield Diagnostic("warning", "rml-swallowed", message, node.left.span, hint, (note,))

    def _operand_overlaps(
        self, root: Or | Shuffle, facts: Mapping[int, _Facts], unbound: frozenset[str]
    ) -> Iterator[Diagnostic]:
        """Operands of a chain against those on their left; equal operands do not mind who takes the event."""
        earlier: dict[Item, list[tuple[str, Expression]]] = {}
        seen: set[tuple[Item, Item]] = set()
        for operand in flatten(root):
            first = facts[id(operand)].first
            if first is None or len(earlier) > MAX_ITEMS:
                return
            text = format_expression(operand)
            for item in sorted(first, key=_item_order):
                if item == EVERYTHING or item.name == "any":
                    continue  # a catch-all on the right should get the other events
                for other, owners in earlier.items():
                    owner = next((owner for owner_text, owner in owners if owner_text != text), None)
                    if owner is None or (other, item) in seen or not self._overlap(other, item, unbound):
                        continue
                    if isinstance(root, Shuffle) and _generalises(item, other, unbound):
                        continue  # what has an instance goes to it, and a new one begins with what is left
                    seen.add((other, item))
                    yield _overlap_warning(root, owner, operand, other, item)
                    break
                else:
                    continue
                break
            for item in first:
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


def _overlap_warning(root: Or | Shuffle, owner: Expression, operand: Expression, one: Item, other: Item) -> Diagnostic:
    if one.text == other.text:
        what = f"both operands can begin with {_quote(one)}"
    else:
        what = f"an event can be both {_quote(one)} here and {_quote(other)} in a later operand"
    how = "the left one then gets it, and the other goes without"
    hint = "put the operand that needs the event on the left, or let the event types differ"
    if isinstance(root, Or):
        how = "the left one is then taken and the other dropped for good"
        hint = r"write the common beginning once, as in `a (b \/ c)`"
    note = operand.span, f"also begins with {_quote(other)}"
    return Diagnostic("warning", "rml-swallowed", f"{what}; {how}", owner.span, hint, (note,))


def _generalises(general: Item, special: Item, unbound: frozenset[str]) -> bool:
    """Are they the same event type, the one with any value where the other has one that is known?"""
    if (general.name, len(general.args)) != (special.name, len(special.args)) or general.args == special.args:
        return False
    return all(
        one == other or (one == (((), ANY),) and not any(_is_free(atom, unbound) for _, atom in other))
        for one, other in zip(general.args, special.args, strict=True)
    )


def _quote(item: Item) -> str:
    return f"`{item.text}`"


def _item_order(item: Item) -> tuple[str, str]:
    return item.name, item.text


# -- patterns taken apart ------------------------------------------------------------------------


def _atom(value: Argument) -> Atom:
    """A single value; a computed one is known only by its text."""
    match value:
        case syntax.Wildcard():
            return ANY
        case syntax.Name(name):
            return ("var", name)
        case Literal(constant):
            return ("is", type(constant).__name__, constant)
        case _:
            return ("computed", format_data(value))


def _renamed(atom: Atom, renaming: Mapping[str, Atom]) -> Atom:
    if atom[0] == "var":
        atom = renaming.get(atom[1], atom)
    return OPAQUE if atom[0] == "computed" else atom


def _describe(name: str, args: tuple[Flat, ...]) -> str:
    """An event type as seen from outside its scope: constants, and `_` for what is not known there."""

    def show(flat: Flat) -> str:
        (_, atom), *more = flat
        if atom[0] == "var":
            return f"{atom[1]}"
        return format_data(Literal(atom[2])) if atom[0] == "is" and not more else "_"

    return f"{name}({', '.join(map(show, args))})" if args else name


def _flatten_argument(arg: Argument, env: Mapping[str, Flat] | None = None) -> Flat:
    """An argument; in a declaration its parameters stand for what they were given, other variables for anything."""
    if isinstance(arg, syntax.ObjectPattern | syntax.ListPattern | syntax.AnyOf):
        try:
            found = _flatten(arg, env)
        except _TooComplex:
            return (((), OPAQUE),)
        return found[0] if len(found) == 1 else (((), OPAQUE),)
    atom = _atom(arg)
    if atom[0] == "var" and env is not None:
        return env.get(atom[1], (((), ANY),))
    return (((), OPAQUE if atom[0] == "computed" and env is not None else atom),)


def _flatten(pattern: Pattern, env: Mapping[str, Flat] | None) -> list[Flat]:
    """A pattern's alternatives, each as a list of what it asks for at which place."""
    if sum(1 for _ in zip(values(pattern), range(MAX_PATTERN + 1), strict=False)) > MAX_PATTERN:
        raise _TooComplex
    done: list[Flat] = []
    # What was found so far, and what is left to look at.
    stack: list[tuple[tuple[tuple[Path, Atom], ...], tuple[tuple[Path, Pattern], ...]]] = [((), (((), pattern),))]
    while stack:
        found, todo = stack.pop()
        if not todo:
            done.append(found)
            if len(done) > MAX_ITEMS:
                raise _TooComplex
            continue
        (path, node), todo = todo[0], todo[1:]
        match node:
            case syntax.AnyOf(options):
                if len(stack) > MAX_ITEMS:
                    raise _TooComplex
                stack.extend((found, ((path, option), *todo)) for option in reversed(options))
            case syntax.ObjectPattern(fields):
                fresh = tuple(((*path, key), value) for key, value in fields)
                stack.append(((*found, (path, OBJECT)), fresh + todo))
            case syntax.ListPattern(items, is_open):
                fresh = tuple(((*path, index), item) for index, item in enumerate(items))
                length = max(len(items), 1 if is_open and not items else 0)
                stack.append(((*found, (path, ("list", length, is_open))), fresh + todo))
            case _:
                inner = _flatten_argument(node, env)
                stack.append((found + tuple(((*path, *rest), atom) for rest, atom in inner), todo))
    return done


def _negated(own: list[Alternative]) -> list[Alternative]:
    if len(own) == 1 and own[0].flat is None and not own[0].guards:
        return [Alternative(flat) for flat in own[0].excluded]  # not not
    if any(each.flat is None for each in own):
        raise _TooComplex
    return [Alternative(None, tuple(each.flat for each in own if each.flat is not None))]


def _alternatives_overlap(left: Alternative, right: Alternative, unbound: frozenset[str] | None) -> bool:
    if left.guards and right.guards and left.guards != right.guards:
        return False
    if left.flat is not None and right.flat is not None:
        return _compatible(left.flat, right.flat, unbound)
    if left.flat is None and right.flat is None:
        # Two complements have something in common unless one of them is empty.
        return not any(_is_everything(flat) for flat in (*left.excluded, *right.excluded))
    inside, outside = (left.flat, right.excluded) if left.flat is not None else (right.flat, left.excluded)
    return inside is not None and not any(_covers(flat, inside, unbound) for flat in outside)


def _is_everything(flat: Flat) -> bool:
    return len(flat) == 1 and flat[0][0] == () and flat[0][1] in (ANY, OBJECT)


def _is_free(atom: Atom, unbound: frozenset[str] | None) -> bool:
    return atom == ANY or (atom[0] == "var" and (unbound is None or atom[1] in unbound))


def _compatible(left: Flat, right: Flat, unbound: frozenset[str] | None) -> bool:
    """Can one event have all that both ask for?"""
    wanted = dict(left)
    for path, atom in right:
        other = wanted.get(path)
        if other is None or _is_free(atom, unbound) or _is_free(other, unbound):
            continue
        if atom[0] == other[0] == "list":
            (_, shorter, is_open), (_, longer, _) = sorted((atom, other))
            if shorter != longer and not is_open:
                return False
        elif atom != other or atom == OPAQUE:
            return False
    return True


def _covers(general: Flat, special: Flat, unbound: frozenset[str] | None) -> bool:
    """Does everything that matches the special pattern match the general one?"""
    given = dict(special)
    for path, atom in general:
        other = given.get(path)
        if other is None:
            if path == () and atom == OBJECT:
                continue  # every event is an object
            return False
        longer = atom[0] == other[0] == "list" and atom[2] and atom[1] <= other[1]
        if not (_is_free(atom, unbound) or longer or (atom == other and atom != OPAQUE)):
            return False
    return True
