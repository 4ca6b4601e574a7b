"""The engine's terms and references as RML text, for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from lawful.laws.rml import syntax, terms
from lawful.laws.rml.compiler import CompiledLaw
from lawful.laws.rml.printer import format_data, format_event, format_expression
from lawful.laws.rml.terms import Ref, Term
from lawful.laws.rml.values import UNDEFINED

_UNARY = {"neg": "-"}
_FUNCTIONS = frozenset(("abs", "sin", "cos", "tan", "min", "max"))
_NEGATION = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}

LARGEST = 200
"""Terms made of more than this are not written out: nobody would read it."""


class TermPrinter:
    """Writes terms as RML; ``names`` says what stands for registers, captures and variables."""

    def __init__(self, compiled: CompiledLaw, params: Mapping[str, int], names: Mapping[Ref, syntax.Data]) -> None:
        self._compiled = compiled
        self._params = params  # how many parameters an equation has as written
        self._names = names

    def term(self, term: Term) -> str:
        return f"… ({term.size} operations)" if term.size > LARGEST else format_expression(self._expression(term, {}))

    def event(self, name: str, refs: tuple[Ref, ...]) -> str:
        return format_event(self._use(name, refs, {}))

    def condition(self, ref: Ref, holds: bool = True) -> str:
        if holds:
            return self._shown(ref)
        if ref[0] == terms.OPERATION and ref[1] in _NEGATION:
            return self._shown((terms.OPERATION, _NEGATION[ref[1]], *ref[2:]))
        return f"not ({self._shown(ref)})"

    def operand(self, operand: tuple[Any, ...]) -> str | None:
        """An operand as the machines take it; none where the event's data have no name."""
        ref = _ref(operand)
        nameless = any(part[0] == terms.CAPTURE and part not in self._names for part in _all(ref))
        return None if nameless else self._shown(ref)

    def _shown(self, ref: Ref) -> str:
        return format_data(self._data(ref, {}))

    def _use(self, name: str, refs: tuple[Ref, ...], bound: Mapping[int, str]) -> syntax.EventUse:
        return syntax.EventUse(name, tuple(self._data(ref, bound) for ref in refs))

    def _data(self, ref: Ref, bound: Mapping[int, str]) -> Any:
        kind = ref[0]
        if kind == terms.VARIABLE and ref[1] in bound:
            return syntax.Name(bound[ref[1]])
        if kind in (terms.SLOT, terms.CAPTURE, terms.VARIABLE):
            return self._names.get(ref, syntax.Wildcard())
        if kind == terms.CONSTANT:
            return syntax.Name("undefined") if ref[2] is UNDEFINED else syntax.Literal(ref[2])
        if kind == terms.OPERATION:
            op, *operands = ref[1:]
            parts = [self._data(part, bound) for part in operands]
            if op in _UNARY:
                return syntax.Unary(_UNARY[op], parts[0])
            return syntax.Apply(op, tuple(parts)) if op in _FUNCTIONS else syntax.Binary(op, *parts)
        if kind == terms.OBJECT:
            return syntax.ObjectPattern(tuple((key, self._data(part, bound)) for key, part in ref[1]))
        if kind == terms.LIST:
            return syntax.ListPattern(tuple(self._data(part, bound) for part in ref[1]), ref[2])
        return syntax.Wildcard()

    def _expression(self, term: Term, bound: Mapping[int, str]) -> syntax.Expression:
        op, args = term.op, term.args
        if op == terms.EMPTY:
            return syntax.Empty()
        if op == terms.ALL:
            return syntax.All()
        if op == terms.EVENT:
            return syntax.Event(self._use(args[0], args[1], bound))
        if op == terms.TEST:
            return syntax.Filter(self._use(args[0], args[1], bound), syntax.All(), None)
        if op in terms.NARY or op == terms.CONCAT:
            result, *rest = (self._expression(part, bound) for part in args)
            for part in rest:
                result = syntax.Infix(op, result, part)
            return result
        if op in terms.POSTFIX:
            return syntax.Postfix(op, self._expression(args[0], bound))
        if op == terms.TIMES:
            # Where the number stands in a register without a name its text takes the number's place.
            return syntax.Times(self._expression(args[0], bound), cast(int, format_data(self._data(args[1], bound))))
        if op == terms.LET:
            return syntax.Let((args[2],), self._expression(args[1], {**bound, args[0]: args[2]}))
        if op == terms.FILTER:
            otherwise = None if args[3] is self._compiled.terms.all else self._expression(args[3], bound)
            return syntax.Filter(self._use(args[0], args[1], bound), self._expression(args[2], bound), otherwise)
        if op == terms.CALL:
            written = args[1][: self._params[args[0]]]  # without what dynamic scope hands on
            return syntax.EquationCall(args[0], tuple(self._data(ref, bound) for ref in written))
        condition, then, otherwise = args
        return syntax.If(
            self._data(condition, bound), self._expression(then, bound), self._expression(otherwise, bound)
        )


def _ref(operand: tuple[Any, ...]) -> Ref:
    if operand[0] == terms.CONSTANT:
        return terms.constant(operand[1])
    if operand[0] == terms.OPERATION:
        return (terms.OPERATION, operand[1], *map(_ref, operand[2]))
    return operand


def _all(ref: Ref) -> Iterator[Ref]:
    yield ref
    for part in terms.parts(ref):
        yield from _all(part)
