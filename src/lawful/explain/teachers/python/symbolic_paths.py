"""All paths of a function, one after the other: where a symbolic value is asked, execution forks (z3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import z3

from lawful.explain.teachers.python.recorder import ExecutionCut
from lawful.explain.teachers.python.symbolic_values import SymbolicBool, SymbolicInt

_SOLVER_MILLISECONDS = 2000
_FURTHER = 64


class OutOfBounds(ExecutionCut):
    """The path needs a number outside the bounds."""


class TooManyForks(ExecutionCut):
    """The path forks more often than paths that end do."""


class Diverged(ExecutionCut):
    """The same decisions led elsewhere than before: the program is not deterministic."""


@dataclass
class Decision:
    """A fork: the question, the choice, and the choices still to be tried, with a model for each."""

    asked: Any  # a term, or the number of alternatives
    chosen: Any
    rest: list[tuple[Any, Any]]  # the choice, and a model of the path if it needs one

    @property
    def constrained(self) -> bool:
        """Whether the solver knows of it."""
        return not isinstance(self.asked, int)


@dataclass
class PathNotes:
    """What keeps an exploration from being complete, and how often it came up."""

    unsupported: Counter[str] = field(default_factory=Counter)
    unknown: int = 0
    texts: int = 0
    diverged: int = 0
    differs: str | None = None  # an input on which the program behaves differently with real numbers

    def named(self) -> list[str]:
        """The notes as sentences."""
        found = []
        if self.unsupported:
            names = ", ".join(sorted(self.unsupported))
            found.append(f"no symbolic form of {names}: one value stands for all others there")
        if self.unknown:
            found.append(f"the solver gave up {self.unknown} times")
        if self.texts:
            found.append("texts were made of symbolic values, and one stands for all others there")
        if self.diverged:
            found.append("the same decisions led to other questions: the program is not deterministic")
        if self.differs is not None:
            found.append(f"symbolic and real numbers behave differently, e.g. for {self.differs}")
        return found


class SymbolicPaths:
    """Depth-first search with replay. It also is the `Leaves` of which symbolic inputs are built."""

    def __init__(self, bound: int, *, small: bool, deepest: int, beat: Callable[[], None]) -> None:
        self.bound = bound
        self.notes = PathNotes()
        self.checks = 0
        self._small = small  # numbers are kept within the bound
        self._deepest = deepest
        self._beat = beat
        self._solver = z3.Solver()
        self._solver.set("timeout", _SOLVER_MILLISECONDS)
        self._decisions: list[Decision] = []
        self._at = 0
        self._model: Any = None
        self._found: Any = None  # of the last question
        self._leaves: list[tuple[Any, int, int]] = []  # each with its least and its greatest value within the bounds
        self._texted: int | None = None  # at which decision a text was made of a symbolic value
        self._steps = 0

    def start(self) -> None:
        """The next path begins: the decisions are those of the stack, and then new ones."""
        self._at = 0
        self._leaves = []
        self._texted = None
        self._steps = 0
        if self._model is None:
            self._check()

    def next(self) -> bool:
        """Goes back to the last decision with another choice. False: all paths were tried."""
        while self._decisions:
            last = self._decisions[-1]
            if last.constrained:
                self._solver.pop()
            if last.rest:
                last.chosen, model = last.rest.pop()
                self._constrain(last)
                if model is not None:
                    self._model = model
                elif last.constrained:
                    self._check()
                return True
            self._decisions.pop()
        return False

    def ended(self, *, raised: bool) -> None:
        """A path has ended. A text made of a symbolic value may have decided something, if it is not the message of the
        exception that ended it: then nothing was asked and nothing happened in between."""
        if self._texted is not None and not (raised and self._texted == self._at + self._steps):
            self.notes.texts += 1

    def restore(self) -> None:
        """Puts the solver in order after a path that was cut off anywhere."""
        self._solver.reset()
        self._solver.set("timeout", _SOLVER_MILLISECONDS)
        for each in self._decisions:
            self._constrain(each)

    def solution(self) -> ConcreteLeaves:
        """A concrete input for the path, of small numbers if there is one."""
        near = self._near()
        model = self._model
        if near and self._solve(*near) == z3.sat:
            model = self._found
        choices = [each.chosen for each in self._decisions if not each.constrained]
        return ConcreteLeaves(choices, [_value(model.eval(leaf, model_completion=True)) for leaf, _, _ in self._leaves])

    def choice(self, count: int) -> int:
        return int(self._decide(count, lambda: [(each, None) for each in range(count)]))

    def integer(self, values: Sequence[int]) -> Any:
        low, high = min(values), max(values)
        leaf = z3.Int(f"n{len(self._leaves)}")
        self._leaves.append((leaf, low, high))
        if self._small:
            inside = z3.And(leaf >= low, leaf <= high)
            self._decide(inside, lambda: self._feasible(inside, [True]))
        return SymbolicInt(leaf, self)

    def boolean(self) -> Any:
        leaf = z3.Bool(f"b{len(self._leaves)}")
        self._leaves.append((leaf, 0, 1))
        return SymbolicBool(leaf, self)

    def fork(self, condition: Any) -> bool:
        """Which way a condition goes: both, one after the other, if both can be."""
        condition = z3.simplify(condition)
        if z3.is_true(condition):
            return True
        if z3.is_false(condition):
            return False
        return bool(self._decide(condition, lambda: self._feasible(condition, [True, False])))

    def value(self, term: Any) -> int:
        """A number where Python needs a real one: each that the bounds allow, one after the other. These are the small
        ones, and what small inputs make of it."""
        term = z3.simplify(term)
        if z3.is_int_value(term):
            return int(term.as_long())
        near = [0, *(value * sign for value in range(1, self.bound + 1) for sign in (1, -1))]
        return int(self._decide(term, lambda: [*self._feasible(term, near), *self._further(term, near)]))

    def _further(self, term: Any, known: list[int]) -> list[tuple[Any, Any]]:
        """Other values that a term has for inputs within the bounds, with a model for each."""
        found: list[tuple[Any, Any]] = []
        assumed = [*self._near(), *(term != value for value in known)]
        while (answer := self._solve(*assumed)) == z3.sat:
            if len(found) == _FURTHER:
                self.notes.unsupported[f"a number with more than {_FURTHER} values"] += 1
                break
            value = _value(self._found.eval(term, model_completion=True))
            found.append((value, self._found))
            assumed.append(term != value)
        if answer == z3.unknown:
            self.notes.unknown += 1
        return found

    def _near(self) -> list[Any]:
        """That inputs are within their bounds."""
        return [z3.And(leaf >= low, leaf <= high) for leaf, low, high in self._leaves if z3.is_int(leaf)]

    def concretise(self, term: Any, operation: str) -> int:
        """One value of a term, for an operation that has no symbolic form. The others are given up."""
        term = z3.simplify(term)
        if z3.is_int_value(term):
            return int(term.as_long())
        self.notes.unsupported[operation] += 1
        return int(self._decide(term, lambda: [(_value(self._model.eval(term, model_completion=True)), self._model)]))

    def text(self, term: Any) -> str:
        """A text for a value: that of one of its values."""
        term = z3.simplify(term)
        if not (z3.is_int_value(term) or z3.is_true(term) or z3.is_false(term)):
            self._texted = self._at + self._steps
        return str(_value(self._model.eval(term, model_completion=True)))

    def on_event(self, letter: int) -> None:
        """An event was recorded."""
        self._steps += 1

    def _decide(self, asked: Any, choices: Callable[[], list[tuple[Any, Any]]]) -> Any:
        if self._at < len(self._decisions):
            known = self._decisions[self._at]
            if not _same(known.asked, asked):
                raise Diverged
            self._at += 1
            return known.chosen
        if len(self._decisions) >= self._deepest:
            raise TooManyForks
        found = choices()
        if not found:
            raise OutOfBounds
        (chosen, model), *rest = found
        self._decisions.append(Decision(asked, chosen, rest[::-1]))
        self._at += 1
        self._constrain(self._decisions[-1])
        if model is not None:  # an empty model is false
            self._model = model
        return chosen

    def _constrain(self, decision: Decision) -> None:
        if decision.constrained:
            self._solver.push()
            self._solver.add(_constraint(decision.asked, decision.chosen))

    def _feasible(self, asked: Any, values: list[Any]) -> list[tuple[Any, Any]]:
        """The values that a term can have, with a model for each; the one of the model that is at hand first."""
        now = _value(self._model.eval(asked, model_completion=True))
        found = [(now, self._model)] if now in values else []
        for each in values:
            if each != now:
                answer = self._solve(_constraint(asked, each))
                if answer == z3.sat:
                    found.append((each, self._found))
                elif answer == z3.unknown:
                    self.notes.unknown += 1
        return found

    def _check(self) -> None:
        if self._solve() != z3.sat:
            raise OutOfBounds
        self._model = self._found

    def _solve(self, *assumed: Any) -> Any:
        self.checks += 1
        self._beat()
        self._solver.push()
        try:
            self._solver.add(*assumed)
            answer = self._solver.check()
            if answer == z3.sat:
                self._found = self._solver.model()
            return answer
        finally:
            self._solver.pop()


class ConcreteLeaves:
    """The decisions of a path with concrete numbers: builds the input that takes it."""

    def __init__(self, choices: list[int], values: list[Any]) -> None:
        self._known = choices, values
        self._choices, self._values = iter(choices), iter(values)

    def again(self) -> ConcreteLeaves:
        return ConcreteLeaves(*self._known)

    def choice(self, count: int) -> int:
        return next(self._choices)

    def integer(self, values: Sequence[int]) -> int:
        return int(next(self._values))

    def boolean(self) -> bool:
        return bool(next(self._values))


def _value(term: Any) -> Any:
    return term.as_long() if z3.is_int_value(term) else z3.is_true(term)


def _constraint(asked: Any, chosen: Any) -> Any:
    if z3.is_bool(asked):
        return asked if chosen else z3.Not(asked)
    return asked == chosen


def _same(one: Any, other: Any) -> bool:
    if z3.is_expr(one) and z3.is_expr(other):
        return bool(one.eq(other))
    return type(one) is type(other) and one == other
