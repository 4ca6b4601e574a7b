"""One step of a term, run symbolically: what it would ask of an event, and what each answer leads to.

This is the table of the language's semantics. A step yields its solutions in order; what commits takes the first,
and only an intersection whose bindings disagree comes back for another (`solutions`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import msgspec

from lawful.laws.rml import terms
from lawful.laws.rml.compiler import CompiledLaw
from lawful.laws.rml.event_matcher import NO_BINDINGS, NO_VALUE, SAME, Bindings, EventMatcher
from lawful.laws.rml.terms import Ref, Term

Solution = tuple[Term, Bindings]


class _Tail(msgspec.Struct, frozen=True):
    """The operand that steps for a term, what makes a term of the result, and the bindings so far."""

    term: Term
    rebuild: Callable[[Term], Term]
    bindings: Bindings = NO_BINDINGS


def _unchanged(term: Term) -> Term:
    return term


class Stepper(EventMatcher):
    """Runs one step along a path of given answers, up to the first question without one."""

    def __init__(self, compiled: CompiledLaw, answers: Sequence[bool], *, most_ahead: int = 0) -> None:
        super().__init__(compiled, answers, most_ahead=most_ahead)
        self.terms = compiled.terms
        self._next_binder = compiled.variables
        self.names: dict[Ref, str] = {}  # what the law calls the data that this step handles

    # -- trace expressions: may it end here? ------------------------------------------------------

    def may_halt(self, term: Term) -> bool:
        while term.op == terms.CONCAT:
            if not self.may_halt(term.args[0]):
                return False
            term = term.args[1]
        op, args = term.op, term.args
        if op in (terms.EMPTY, terms.ALL, terms.STAR, terms.OPTIONAL, terms.CLOSURE):
            return True
        if op == terms.EVENT:
            return False
        if op in terms.NARY:
            # Loops, not any() and all(): recursion through C has a limit of its own.
            for part in args:
                if self.may_halt(part) is (op == terms.OR):
                    return op == terms.OR
            return op != terms.OR
        if op == terms.CALL:
            return self.may_halt(self.unfold(term))
        if op == terms.LET:
            return self.may_halt(args[1])
        if op == terms.FILTER:
            return self.may_halt(args[2]) and self.may_halt(args[3])
        if op == terms.IF:
            return self.may_halt(args[1] if self.holds(args[0]) else args[2])
        if op == terms.TIMES:
            return not self.holds(_more(args[1])) or self.may_halt(args[0])
        return self.may_halt(args[0])  # A+

    # -- trace expressions: the step --------------------------------------------------------------

    def first(self, term: Term) -> Solution | None:
        """The first solution of a step."""
        if term.op == terms.CONCAT:
            tail = self._concat_tail(term)
            if not isinstance(tail, _Tail):
                return tail
            term = tail.term
        op, args = term.op, term.args
        if op == terms.EVENT:
            for bindings in self.matches(*args):
                return self.terms.empty, bindings
            return None
        if op == terms.ALL:
            return term, NO_BINDINGS
        if op == terms.LET:
            solution = self.first(args[1])
            return None if solution is None else self._bind(term, *solution)
        if op == terms.AND:
            return self._first_of_all(term)
        tail = self._tail(term)
        if not isinstance(tail, _Tail):
            return tail
        solution = self.first(tail.term)
        if solution is None:
            return None
        merged = self._merge(tail.bindings, solution[1])
        return next(self.solutions(term), None) if merged is None else (tail.rebuild(solution[0]), merged)

    def _first_of_all(self, term: Term) -> Solution | None:
        """The first step of each operand, which is the answer unless their bindings disagree."""
        results = []
        bindings = NO_BINDINGS
        for part in term.args:
            solution = self.first(part)
            if solution is None:
                return None
            merged = self._merge(bindings, solution[1])
            if merged is None:
                return next(self.solutions(term), None)
            bindings = merged
            results.append(solution[0])
        return self.terms.both(*results), bindings

    def solutions(self, term: Term) -> Iterator[Solution]:
        """All solutions of a step, in order; what commits has one."""
        op, args = term.op, term.args
        if op == terms.EVENT:
            for bindings in self.matches(*args):
                yield self.terms.empty, bindings
            return
        if op == terms.AND:
            for parts, bindings in self._agreeing(args, NO_BINDINGS):
                yield self.terms.both(*parts), bindings
            return
        tail = self.first(term) if op in (terms.ALL, terms.LET) else self._tail(term)
        if isinstance(tail, _Tail):
            for result, bound in self.solutions(tail.term):
                merged = self._merge(tail.bindings, bound)
                if merged is not None:
                    yield tail.rebuild(result), merged
        elif tail is not None:
            yield tail

    def _tail(self, term: Term) -> Solution | _Tail | None:
        """The step to which a term commits, if one of its operands but the last takes it; otherwise its tail."""
        op, args = term.op, term.args
        if op == terms.CONCAT:
            return self._concat_tail(term)
        if op in (terms.OR, terms.SHUFFLE):
            for index, part in enumerate(args[:-1]):
                solution = self.first(part)
                if solution is not None:
                    result, bindings = solution
                    if op == terms.SHUFFLE:
                        result = self.terms.shuffle(*args[:index], result, *args[index + 1 :])
                    return result, bindings
            return _Tail(args[-1], partial(self.terms.shuffle, *args[:-1]) if op == terms.SHUFFLE else _unchanged)
        if op == terms.FILTER:
            return self._filter_tail(term)
        inner = self._inner(term)
        return None if inner is None else _Tail(inner, partial(self._after, term))

    def _concat_tail(self, term: Term) -> Solution | _Tail | None:
        while term.op == terms.CONCAT:  # a loop, because concatenations are long
            left, right = term.args
            solution = self.first(left)
            if solution is not None:
                return self.terms.concat(solution[0], right), solution[1]
            if not self.may_halt(left):
                return None
            term = right
        return _Tail(term, _unchanged)

    def _filter_tail(self, term: Term) -> Solution | _Tail:
        name, refs, body, otherwise = term.args
        if body is otherwise is self.terms.all and not any(map(terms.ref_variables, refs)):
            return term, NO_BINDINGS  # `e >> all : all` does not depend on the event, so nothing needs to be asked
        make = partial(self.terms.make, terms.FILTER, name, refs)
        matched = next(self.matches(name, refs), None)
        if matched is None:
            return _Tail(otherwise, partial(make, body))
        return _Tail(body, lambda result: make(result, otherwise), matched)

    def _agreeing(self, operands: tuple[Term, ...], bindings: Bindings) -> Iterator[tuple[tuple[Term, ...], Bindings]]:
        r"""``A /\ B``: a step of each, with bindings that agree."""
        if not operands:
            yield (), bindings
            return
        for result, bound in self.solutions(operands[0]):
            merged = self._merge(bindings, bound)
            if merged is not None:
                for rest, all_bound in self._agreeing(operands[1:], merged):
                    yield (result, *rest), all_bound

    def _merge(self, a: Bindings, b: Bindings) -> Bindings | None:
        for variable, ref in b.items():
            other = a.get(variable, ref)
            if other != ref and not self.ask((SAME, other, ref)):
                return None
        return {**a, **b}

    def _inner(self, term: Term) -> Term | None:
        """The operand that steps for a term of one operand (A*, A+, A?, A!, A{n}, a call, if)."""
        op, args = term.op, term.args
        if op in (terms.STAR, terms.PLUS, terms.OPTIONAL, terms.CLOSURE):
            return args[0]  # type: ignore[no-any-return]
        if op == terms.CALL:
            return self.unfold(term)
        if op == terms.IF:
            return args[1] if self.holds(args[0]) else args[2]  # type: ignore[no-any-return]
        if op == terms.TIMES and self.holds(_more(args[1])):
            return args[0]  # type: ignore[no-any-return]
        return None

    def _after(self, term: Term, result: Term) -> Term:
        """What a term of one operand becomes when that operand became `result`."""
        op, args = term.op, term.args
        if op == terms.STAR:
            return self.terms.concat(result, term)
        if op == terms.PLUS:
            return self.terms.concat(result, self.terms.make(terms.STAR, args[0]))
        if op == terms.CLOSURE:
            return self.terms.make(terms.CLOSURE, result)
        if op == terms.TIMES:
            count = args[1]
            less: Ref = (terms.OPERATION, "-", count, terms.constant(1))
            if count[0] == terms.CONSTANT:
                less = terms.constant(count[2] - 1)
            return self.terms.concat(result, self.terms.make(terms.TIMES, args[0], less))
        return result

    def _bind(self, let: Term, term: Term, bindings: Bindings) -> Solution:
        variable, _, name = let.args
        ref = bindings.get(variable)
        if ref is None:
            return self.terms.make(terms.LET, variable, term, name), bindings
        self.names.setdefault(ref, name)
        rest = {other: value for other, value in bindings.items() if other != variable}
        return self.terms.substitute(term, {variable: ref}), rest

    def unfold(self, call: Term) -> Term:
        """The body of the called equation with its arguments; its binders get ids that occur nowhere else."""
        name, args = call.args
        equation = self.compiled.equations[name]
        # Arguments are evaluated now: arithmetic over a variable that has no value yet has none either.
        args = tuple(NO_VALUE if ref[0] == terms.OPERATION and not terms.is_ground(ref) else ref for ref in args)
        values: dict[int, Ref] = dict(zip(equation.params, args, strict=True))
        for ref, param in zip(args, equation.names, strict=True):
            self.names.setdefault(ref, param)

        def binder(variable: int) -> int:
            ref = values.get(variable)
            if ref is None:
                ref = values[variable] = (terms.VARIABLE, self._next_binder)
                self._next_binder += 1
            return ref[1]  # type: ignore[no-any-return]

        return self.terms.map_refs(equation.body, lambda ref, op: terms.replace(ref, values), binder)


def _more(count: Ref) -> Ref:
    """The condition of ``A{n}`` to step: n > 0."""
    return terms.OPERATION, ">", count, terms.constant(0)
