"""What a step asks of an event: whether it matches the patterns of event types, and whether conditions hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lawful.laws.rml import patterns, terms
from lawful.laws.rml.compiler import CompiledLaw, Use
from lawful.laws.rml.patterns import Direct
from lawful.laws.rml.terms import Ref
from lawful.laws.rml.values import UNDEFINED, NoValue, evaluate

Question = tuple[Any, ...]
MATCH = "match"  # (MATCH, pattern, ((capture, ref), ...)): does it match, these captures matching these values?
SUB = "sub"  # (SUB, a, b): does the value a, as a pattern, match b?
SAME = "same"  # (SAME, a, b): are two bindings of one variable the same?
GUARD = "guard"  # (GUARD, ref): does the condition hold?

Bindings = Mapping[int, Ref]
NO_BINDINGS: Bindings = {}
NO_VALUE: Ref = terms.constant(UNDEFINED)


class Unanswered(Exception):
    """The step needs the answer to a question that was not asked before."""

    def __init__(self, question: Question) -> None:
        self.question = question


class EventMatcher:
    """Answers questions along a path of given answers, up to the first question without one.

    It can go on from there for a while as if the answer were no: most events concern only a few of many questions, and
    to run the step once for each of them would take long. What it asks so is in `ahead`.
    """

    def __init__(self, compiled: CompiledLaw, answers: Sequence[bool], *, most_ahead: int = 0) -> None:
        self.compiled = compiled
        self.ahead: list[Question] = []
        self._most_ahead = most_ahead
        self._answers = iter(answers)
        self._known: dict[Question, bool] = {}
        self._matched: list[int] = []
        self._next_local = -1

    # -- asking -----------------------------------------------------------------------------------

    def ask(self, question: Question) -> bool:
        answer = self._known.get(question)
        if answer is None:
            answer = next(self._answers, None)
            if answer is None:
                if len(self.ahead) == self._most_ahead:
                    raise Unanswered(question)
                self.ahead.append(question)
                answer = False
            self._known[question] = answer
        return answer

    def _ask_match(self, pattern: int, constraints: tuple[tuple[int, Ref], ...]) -> bool:
        table = self.compiled.patterns
        if patterns.is_universal(table.trees[pattern]):
            return True
        if any(table.disjoint(pattern, other) for other in self._matched):
            return False
        matched = self.ask((MATCH, pattern, constraints))
        if matched and pattern not in self._matched:
            self._matched.append(pattern)
        return matched

    def holds(self, condition: Ref) -> bool:
        """Does a condition hold? A variable that is not bound has no value there, and neither has a pattern."""
        if not terms.is_ground(condition):
            condition = _without_unknowns(condition)
        if not terms.is_plain(condition):
            return self.ask((GUARD, condition))
        try:
            return evaluate(terms.operand(condition), lambda part: part[1]) is True
        except NoValue:
            return False

    # -- event types ------------------------------------------------------------------------------

    def matches(self, name: str, args: tuple[Ref, ...]) -> Iterator[Bindings]:
        """The ways in which the event is of this type, in order, each with the argument variables it binds."""
        wanted = {variable for arg in args for variable in terms.ref_variables(arg)}
        for clause in self.compiled.clauses[name, len(args)]:
            scope = {
                name: self._anonymous() if ref == terms.WILDCARD else ref
                for name, ref in zip(clause.params, args, strict=True)
            }
            if clause.negated:
                found = any(True for option in clause.options for _ in self._option(option, dict(scope)))
                if not found and (clause.guard is None or self.holds(_resolve(clause.guard, scope, NO_BINDINGS))):
                    yield NO_BINDINGS
                continue
            for option in clause.options:
                names = dict(scope)
                for bindings in self._option(option, names):
                    if clause.guard is None or self.holds(_resolve(clause.guard, names, bindings)):
                        yield {variable: ref for variable, ref in bindings.items() if variable in wanted}

    def _behind(self, name: str, names: dict[str, Ref]) -> Ref:
        """What a name of a declaration stands for; names other than parameters are new variables."""
        ref = names.get(name)
        if ref is None:
            ref = names[name] = self._anonymous()
        return ref

    def _anonymous(self) -> Ref:
        """A variable that nothing else can name."""
        self._next_local -= 1
        return terms.VARIABLE, self._next_local

    def _option(self, option: Direct | Use, names: dict[str, Ref]) -> Iterator[Bindings]:
        if isinstance(option, Use):

            def resolve(ref: Ref) -> Ref:
                if ref[0] == terms.VARIABLE:
                    return self._behind(ref[1], names)
                return terms.rebuild(ref, resolve)

            yield from self.matches(option.name, tuple(map(resolve, option.args)))
            return
        bindings = self._direct(option, names)
        if bindings is not None:
            yield bindings

    def _direct(self, option: Direct, names: dict[str, Ref]) -> Bindings | None:
        refs = [self._behind(name, names) for name in option.names]
        if any(ref[0] in (terms.OBJECT, terms.LIST, terms.CONSTANT) for ref in refs):
            tree, refs = _with_patterns(option.tree, refs)
            pattern = self.compiled.patterns.number(tree, len(refs))
        else:
            pattern = self.compiled.patterns.number_of(option)
        constraints: list[tuple[int, Ref]] = []
        repeated: list[tuple[Ref, Ref]] = []
        bindings: dict[int, Ref] = {}
        for index, ref in enumerate(refs):
            capture: Ref = (terms.CAPTURE, pattern, index)
            if ref[0] == terms.VARIABLE:
                if ref[1] in bindings:
                    repeated.append((bindings[ref[1]], capture))
                else:
                    bindings[ref[1]] = capture
            elif terms.is_ground(ref):
                constraints.append((index, ref))
            elif ref != terms.WILDCARD:
                return None  # arithmetic over a variable without a value
        if not self._ask_match(pattern, tuple(constraints)):
            return None
        return bindings if all(self.ask((SUB, first, other)) for first, other in repeated) else None


def _without_unknowns(condition: Ref) -> Ref:
    if condition[0] == terms.OPERATION:
        return terms.rebuild(condition, _without_unknowns)
    return condition if terms.is_ground(condition) else NO_VALUE


def _resolve(ref: Ref, names: Mapping[str, Ref], bindings: Bindings) -> Ref:
    """A guard of a declaration over what stands behind its names."""
    if ref[0] == terms.VARIABLE:
        behind = names.get(ref[1], ref)
        return bindings.get(behind[1], behind) if behind[0] == terms.VARIABLE else behind
    return terms.rebuild(ref, lambda part: _resolve(part, names, bindings))


def _with_patterns(tree: patterns.PatternTree, refs: Sequence[Ref]) -> tuple[patterns.PatternTree, list[Ref]]:
    """Put arguments that are patterns or constants into the tree itself, and number the captures anew."""
    kept: list[Ref] = []

    def capture(ref: Ref) -> patterns.PatternTree:
        kept.append(ref)
        return "capture", len(kept) - 1

    def of_capture(index: int) -> patterns.PatternTree:
        # A wildcard keeps its capture, so that `add(x, _)` and `add(x, y)` ask the same pattern.
        ref = refs[index]
        return capture(ref) if ref == terms.WILDCARD else patterns.of_ref(ref, capture)

    return patterns.fill(tree, of_capture), kept
