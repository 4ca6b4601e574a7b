"""Hash-consed trace expressions: equal terms are one object, so that comparing them costs nothing.

A term's data are *references*, small tuples: a register of the running instance, a capture of the present event, a
constant, an unbound variable, an operation on references, or a pattern holding references.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from lawful.laws.rml import syntax

Ref = tuple[Any, ...]

# The first item of a reference says what it is.
SLOT: Final = "slot"  # (SLOT, i): register i of the instance
CAPTURE: Final = "capture"  # (CAPTURE, pattern, i): what the present event has there
CONSTANT: Final = "constant"  # (CONSTANT, type name, value); the type keeps 1, 1.0 and true apart
VARIABLE: Final = "variable"  # (VARIABLE, id): not bound yet
WILDCARD: Final[Ref] = ("wildcard",)
OPERATION: Final = "operation"  # (OPERATION, op, ref...)
OBJECT: Final = "object"  # (OBJECT, ((key, ref), ...)), a pattern
LIST: Final = "list"  # (LIST, (ref, ...), open), a pattern
CHOICE: Final = "choice"  # (CHOICE, (ref, ...)), a pattern of a declaration


def constant(value: Any) -> Ref:
    return CONSTANT, type(value).__name__, value


def parts(ref: Ref) -> Iterator[Ref]:
    """The references directly inside a reference."""
    kind = ref[0]
    if kind == OPERATION:
        yield from ref[2:]
    elif kind == OBJECT:
        for _, part in ref[1]:
            yield part
    elif kind == LIST:
        yield from ref[1]


def rebuild(ref: Ref, change: Callable[[Ref], Ref]) -> Ref:
    """The same reference with its parts changed."""
    kind = ref[0]
    if kind == OPERATION:
        return (OPERATION, ref[1], *map(change, ref[2:]))
    if kind == OBJECT:
        return OBJECT, tuple((key, change(part)) for key, part in ref[1])
    if kind == LIST:
        return LIST, tuple(map(change, ref[1])), ref[2]
    return ref


def ref_variables(ref: Ref) -> frozenset[int]:
    if ref[0] == VARIABLE:
        return frozenset((ref[1],))
    found: frozenset[int] = frozenset()
    for part in parts(ref):
        found |= ref_variables(part)
    return found


def is_ground(ref: Ref) -> bool:
    """Has it a value, given the registers and the present event?"""
    kind = ref[0]
    if kind in (SLOT, CAPTURE, CONSTANT):
        return True
    return kind == OPERATION and all(map(is_ground, ref[2:]))


def is_plain(ref: Ref) -> bool:
    """Does it hold nothing but constants and wildcards?"""
    if ref[0] in (SLOT, CAPTURE, VARIABLE):
        return False
    return all(map(is_plain, parts(ref)))


def operand(ref: Ref) -> tuple[Any, ...]:
    """A ground reference in the form in which machines take it."""
    if ref[0] == CONSTANT:
        return "constant", ref[2]
    if ref[0] == OPERATION:
        return "operation", ref[1], tuple(map(operand, ref[2:]))
    return ref


# The operators. `args` of a Term by operator:
EMPTY: Final = "empty"  #
ALL: Final = "all"  #
EVENT: Final = "event"  # name, refs
OR: Final = syntax.OR  # terms...
SHUFFLE: Final = syntax.SHUFFLE  # terms...
AND: Final = syntax.AND  # terms...
CONCAT: Final = syntax.CONCAT  # left, right; right-associated
STAR: Final = syntax.STAR  # term
PLUS: Final = syntax.PLUS  # term
OPTIONAL: Final = syntax.OPTIONAL  # term
TIMES: Final = "times"  # term, ref
CLOSURE: Final = syntax.CLOSURE  # term
LET: Final = "let"  # variable id, term, name
FILTER: Final = "filter"  # name, refs, term, term
CALL: Final = "call"  # equation, refs
IF: Final = "if"  # ref, term, term
TEST: Final = "test"  # name, refs: the condition of a filter that is kept in parts
NARY: Final = (OR, SHUFFLE, AND)
POSTFIX: Final = (STAR, PLUS, OPTIONAL, CLOSURE)
WITH_REFS: Final = (EVENT, FILTER, CALL, TEST)

Change = Callable[[Ref, str], Ref]
"""A change of references; its second argument is the operator of the term that holds the reference."""


class Term:
    """One node; made by `Terms` only."""

    __slots__ = ("args", "grows", "op", "plain", "size", "variables")

    def __init__(self, op: str, args: tuple[Any, ...], variables: frozenset[int], grows: bool, plain: bool) -> None:
        self.op = op
        self.args = args
        self.variables = variables  # free variables
        self.grows = grows  # calls an equation whose terms can grow without bound
        self.size = 1  # how many terms it is made of
        self.plain = plain  # no registers, captures, binders or call arguments inside: canonical as it is

    @property
    def children(self) -> tuple[Term, ...]:
        return tuple(arg for arg in self.args if isinstance(arg, Term))

    @property
    def refs(self) -> tuple[Ref, ...]:
        if self.op in WITH_REFS:
            return self.args[1]  # type: ignore[no-any-return]
        if self.op == TIMES:
            return (self.args[1],)
        return (self.args[0],) if self.op == IF else ()


class Terms:
    """The table of all terms of one law."""

    def __init__(self, growing: frozenset[str]) -> None:
        self._growing = growing  # equations from which a growing one can be reached
        self._table: dict[tuple[Any, ...], Term] = {}
        self.empty = self.make(EMPTY)
        self.all = self.make(ALL)

    def make(self, op: str, *args: Any) -> Term:
        """The term as written: not simplified, except that nested associative operators become one."""
        if op in NARY:
            args = tuple(part for arg in args for part in (arg.args if arg.op == op else (arg,)))
            if len(args) == 1:
                return args[0]  # type: ignore[no-any-return]
        elif op == CONCAT and args[0].op == CONCAT:
            return self._right_associated(*args)
        key = (op, *args)
        term = self._table.get(key)
        if term is None:
            term = self._table[key] = self._new(op, args)
        return term

    def _right_associated(self, left: Term, right: Term) -> Term:
        lefts = []
        while left.op == CONCAT:
            lefts.append(left.args[0])
            left = left.args[1]
        result = self.make(CONCAT, left, right)
        for item in reversed(lefts):
            result = self.make(CONCAT, item, result)
        return result

    def _new(self, op: str, args: tuple[Any, ...]) -> Term:
        term = Term(op, args, frozenset(), False, True)
        variables: frozenset[int] = frozenset()
        for child in term.children:
            variables |= child.variables
            term.grows |= child.grows
            term.size += child.size
            term.plain &= child.plain
        for ref in term.refs:
            variables |= ref_variables(ref)
            term.plain &= is_plain(ref)
        if op == LET:
            variables -= {args[0]}
            term.plain = False
        elif op == CALL:
            term.grows = args[0] in self._growing
            term.plain &= not args[1]
        elif op == TIMES:
            term.plain = False  # its count may have to become a register
        term.variables = variables
        return term

    # -- what a step leaves behind, simplified as in the original ---------------------------------

    def concat(self, left: Term, right: Term) -> Term:
        if left is self.empty:
            return right
        if right is self.empty:
            return left
        return self.make(CONCAT, left, right)

    def shuffle(self, *terms: Term) -> Term:
        kept = [term for term in terms if term is not self.empty]
        return self.make(SHUFFLE, *kept) if kept else self.empty

    def both(self, *terms: Term) -> Term:
        kept = [term for term in terms if term is not self.all]
        return self.make(AND, *kept) if kept else self.all

    # -- changing references ----------------------------------------------------------------------

    def map_refs(self, term: Term, change: Change, binder: Callable[[int], int] | None = None) -> Term:
        """The same term with every reference changed; long concatenations are walked, not recursed into."""
        lefts = []
        while term.op == CONCAT:
            lefts.append(self.map_refs(term.args[0], change, binder))
            term = term.args[1]
        result = self._map_one(term, change, binder)
        for left in reversed(lefts):
            result = self.make(CONCAT, left, result)
        return result

    def _map_one(self, term: Term, change: Change, binder: Callable[[int], int] | None) -> Term:
        op, args = term.op, term.args
        if term.plain and not term.variables:
            return term
        new: list[Any] = list(args)
        if op == LET and binder is not None:  # before its scope is walked
            new[0] = binder(args[0])
        if op in WITH_REFS:
            new[1] = tuple(change(ref, op) for ref in args[1])
        elif op == TIMES:
            new[1] = change(args[1], op)
        elif op == IF:
            new[0] = change(args[0], op)
        for index, arg in enumerate(args):
            if isinstance(arg, Term):
                new[index] = self.map_refs(arg, change, binder)
        return self.make(op, *new)

    def substitute(self, term: Term, values: Mapping[int, Ref]) -> Term:
        """Put references in the place of free variables; binders never clash, their ids are unique in a term."""
        if term.variables.isdisjoint(values):
            return term
        return self.map_refs(term, lambda ref, op: replace(ref, values))


def replace(ref: Ref, values: Mapping[int, Ref]) -> Ref:
    """A reference with other references in the place of variables."""
    if ref[0] == VARIABLE:
        return values.get(ref[1], ref)
    return rebuild(ref, lambda part: replace(part, values))
